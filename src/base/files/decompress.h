/* SPDX-License-Identifier: MIT */
#ifndef PERCH_BASE_DECOMPRESS_H
#define PERCH_BASE_DECOMPRESS_H

#include <stddef.h>
#include <stdint.h>

enum compression {
	COMPRESSION_ZLIB,
	COMPRESSION_GZIP,
	COMPRESSION_ZSTD,
	COMPRESSION_XZ,
};

/*
 * Decompresses `size` bytes at an offset of one file, and writes at most `most` bytes at an offset
 * of another: gzip, zstd and xz. *written is their number. Returns 0; -EBADMSG: damaged; -EFBIG:
 * more than `most` bytes; -ENOTSUP: another format, or perch was built without the library;
 * -ENOMEM; or the errno of reading or writing.
 */
int perch__decompress_range(enum compression compression, int from, uint64_t offset, uint64_t size,
			    int to, uint64_t to_offset, uint64_t most, uint64_t *written);

/*
 * Decompresses in memory: zlib and zstd. Returns 0; -EBADMSG: damaged, or not of to_size bytes;
 * -ENOTSUP: another format, or perch was built without the library; or -ENOMEM.
 */
int perch__decompress_memory(enum compression compression, const void *from, size_t size, void *to,
			     size_t to_size);

/* A part of a file, and the memory for what it has. */
struct compressed_part {
	enum compression compression;
	int fd;
	uint64_t offset;
	size_t size;
	void *to;
	size_t to_size;
};
/* The same for a part of a file; or the errno of reading. */
int perch__decompress_part(const struct compressed_part *part);

/* Returns the CRC-32 of bytes that follow those of another one; 0 at first. */
uint32_t perch__crc32(uint32_t crc, const void *bytes, size_t size);

#endif

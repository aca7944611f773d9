/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "compressed_file.h"
#include "io.h"

/* The limit of the output: recordings and texts have ratios below 100. */
#define MIN_OUTPUT (UINT64_C(64) << 20)
#define MAX_RATIO  256
#define BLOCK	   (1u << 16) /* the decompressor writes whole blocks */

bool perch__find_compression(const void *bytes, size_t size, enum compression *compression)
{
	static const struct {
		const char *magic;
		size_t size;
		enum compression compression;
	} formats[] = {
		{ "\x1f\x8b\x08", 3, COMPRESSION_GZIP },
		{ "\xfd"
		  "7zXZ",
		  6, COMPRESSION_XZ },
		{ "\x28\xb5\x2f\xfd", 4, COMPRESSION_ZSTD },
	};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (size < formats[i].size || memcmp(bytes, formats[i].magic, formats[i].size))
			continue;
		*compression = formats[i].compression;
		return true;
	}
	return false;
}

const char *perch__temporary_directory(void)
{
	const char *directory = secure_getenv("TMPDIR");

	return directory && directory[0] ? directory : "/var/tmp";
}

int perch__open_temporary(void)
{
	const char *directory = perch__temporary_directory();
	char path[PATH_MAX];
	int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);

	if (fd >= 0)
		return fd;
	/* for file systems without O_TMPFILE */
	if (snprintf(path, sizeof(path), "%s/perch-XXXXXX", directory) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(path);
	return fd;
}

/* The free space of a disk but what is left to other programs. */
static uint64_t space_of(int fd)
{
	struct statvfs space;
	uint64_t bytes;

	if (fstatvfs(fd, &space) || !space.f_blocks)
		return UINT64_MAX;
	bytes = (uint64_t)space.f_bavail * space.f_frsize;
	return bytes > PERCH__MIN_FREE ? bytes - PERCH__MIN_FREE : 0;
}

/* Returns the descriptor of a temporary file, and the size of the compressed one. */
static int open_output(int fd, uint64_t *size)
{
	struct stat status;

	if (fstat(fd, &status))
		return -errno;
	*size = (uint64_t)status.st_size;
	return perch__open_temporary();
}

int perch__decompress_file(int fd, enum compression compression, uint64_t *most)
{
	uint64_t size, written, space;
	int to = open_output(fd, &size), rc;

	*most = 0;
	if (to < 0)
		return to;
	*most = MIN_OUTPUT + MAX_RATIO * size;
	space = space_of(to);
	rc = perch__decompress_range(compression, fd, 0, size, to, 0, space < *most ? space : *most,
				     &written);
	if (rc == -EFBIG && space < *most)
		rc = -ENOSPC;
	if (!rc)
		return to;
	close(to);
	return rc;
}

int perch__decompress_first(int fd, enum compression compression, void *bytes, size_t size)
{
	uint64_t compressed, written;
	int to = open_output(fd, &compressed), rc;

	if (to < 0)
		return to;
	rc = perch__decompress_range(compression, fd, 0, compressed, to, 0, BLOCK, &written);
	if (rc == -EFBIG)
		rc = 0;
	if (written < size)
		size = written;
	if (!rc)
		rc = perch__pread_all(to, bytes, size, 0);
	close(to);
	return rc ? rc : (int)size;
}

const char *perch__decompress_message(int error, const char **remedy)
{
	*remedy = "Decompress it first: gzip -d, xz -d, zstd -d";
	switch (-error) {
	case EBADMSG:
		*remedy = "Copy the file again; it may be cut";
		return "it is compressed, and damaged";
	case EFBIG:
		return "it is compressed, and would become more than 256 times as large";
	case ENOSPC:
		*remedy = "Set TMPDIR to a directory with more free space";
		return "it is compressed, and there is too little free space for a temporary file";
	case ENOTSUP:
		return "it is compressed, and this perch lacks the library for it";
	default:
		*remedy = "Set TMPDIR to a writable directory";
		return strerror(-error);
	}
}

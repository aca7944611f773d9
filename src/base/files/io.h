/* SPDX-License-Identifier: MIT */
/* Reads and writes all bytes, where read(2) and write(2) may stop before. */
#ifndef PERCH_BASE_IO_H
#define PERCH_BASE_IO_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* Returns 0, or a negative errno; -ENODATA: the file ends before. */
static inline int perch__pread_all(int fd, void *bytes, size_t size, uint64_t offset)
{
	char *at = bytes;

	while (size) {
		ssize_t got = pread(fd, at, size, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -ENODATA;
		at += got;
		offset += (uint64_t)got;
		size -= (size_t)got;
	}
	return 0;
}

/* Returns 0, or a negative errno. */
static inline int perch__write_all(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		ssize_t put = write(fd, at, size);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		at += put;
		size -= (size_t)put;
	}
	return 0;
}

/* The same, at an offset. */
static inline int perch__pwrite_all(int fd, const void *bytes, size_t size, uint64_t offset)
{
	const char *at = bytes;

	while (size) {
		ssize_t put = pwrite(fd, at, size, (off_t)offset);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		at += put;
		offset += (uint64_t)put;
		size -= (size_t)put;
	}
	return 0;
}

#endif

/* SPDX-License-Identifier: MIT */
/* Reads and writes all bytes, where read(2) and write(2) may stop before. */
#ifndef PERCH_BASE_IO_H
#define PERCH_BASE_IO_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* Reads until the bytes are full or the file ends. Returns their number, or a negative errno. */
static inline ssize_t perch__pread_upto(int fd, void *bytes, size_t size, uint64_t offset)
{
	size_t have = 0;

	while (have < size) {
		ssize_t got = pread(fd, (char *)bytes + have, size - have, (off_t)(offset + have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : (ssize_t)have;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

/* The same at the position of the descriptor. */
static inline ssize_t perch__read_upto(int fd, void *bytes, size_t size)
{
	size_t have = 0;

	while (have < size) {
		ssize_t got = read(fd, (char *)bytes + have, size - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : (ssize_t)have;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

/* Returns 0, or a negative errno; -ENODATA: the file ends before. */
static inline int perch__pread_all(int fd, void *bytes, size_t size, uint64_t offset)
{
	ssize_t got = perch__pread_upto(fd, bytes, size, offset);

	return got < 0 ? (int)got : (size_t)got < size ? -ENODATA : 0;
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

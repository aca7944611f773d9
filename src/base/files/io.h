/* SPDX-License-Identifier: MIT */
/* Reads and writes all bytes, where read(2) and write(2) may stop before. */
#ifndef PERCH_BASE_IO_H
#define PERCH_BASE_IO_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* Reads until the bytes are full or the file ends. Returns their number, or a negative errno.
 * offset: NULL is the position of the descriptor. */
static inline ssize_t perch__read_parts(int fd, void *bytes, size_t size, const uint64_t *offset)
{
	size_t have = 0;

	while (have < size) {
		char *to = (char *)bytes + have;
		ssize_t got = offset ? pread(fd, to, size - have, (off_t)(*offset + have))
				     : read(fd, to, size - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : (ssize_t)have;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

static inline ssize_t perch__read_upto(int fd, void *bytes, size_t size)
{
	return perch__read_parts(fd, bytes, size, NULL);
}

static inline ssize_t perch__pread_upto(int fd, void *bytes, size_t size, uint64_t offset)
{
	return perch__read_parts(fd, bytes, size, &offset);
}

/* Returns 0, or a negative errno; -ENODATA: the file ends before. */
static inline int perch__pread_all(int fd, void *bytes, size_t size, uint64_t offset)
{
	ssize_t got = perch__pread_upto(fd, bytes, size, offset);

	return got < 0 ? (int)got : (size_t)got < size ? -ENODATA : 0;
}

/* Returns 0, or a negative errno. offset: as above. */
static inline int perch__write_parts(int fd, const void *bytes, size_t size, const uint64_t *offset)
{
	size_t done = 0;

	while (done < size) {
		const char *from = (const char *)bytes + done;
		ssize_t put = offset ? pwrite(fd, from, size - done, (off_t)(*offset + done))
				     : write(fd, from, size - done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put < 0 ? -errno : -EIO;
		done += (size_t)put;
	}
	return 0;
}

static inline int perch__write_all(int fd, const void *bytes, size_t size)
{
	return perch__write_parts(fd, bytes, size, NULL);
}

static inline int perch__pwrite_all(int fd, const void *bytes, size_t size, uint64_t offset)
{
	return perch__write_parts(fd, bytes, size, &offset);
}

#endif

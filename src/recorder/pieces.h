/* SPDX-License-Identifier: MIT */
/* Records of a ring, which may be in two pieces. */
#ifndef PERCH_RECORDER_PIECES_H
#define PERCH_RECORDER_PIECES_H

#include <stdint.h>
#include <sys/uio.h>

/* Returns the byte at an offset of records that may be in two pieces. */
static inline const char *recorder_byte_at(const struct iovec pieces[2], size_t offset)
{
	if (offset < pieces[0].iov_len)
		return (const char *)pieces[0].iov_base + offset;
	return (const char *)pieces[1].iov_base + (offset - pieces[0].iov_len);
}

/* Words are aligned, so none is in two pieces. */
static inline uint64_t recorder_word_at(const struct iovec pieces[2], size_t offset)
{
	return *(const uint64_t *)recorder_byte_at(pieces, offset);
}

#endif

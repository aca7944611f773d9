/* SPDX-License-Identifier: MIT */
/* Finds records in pieces: a record may lie in several of them. */
#include "writer.h"

static void advance(struct perch__position *position, uint64_t size)
{
	while (size >= position->iov->iov_len - position->offset) {
		size -= position->iov->iov_len - position->offset;
		position->iov++;
		position->offset = 0;
		if (!size)
			return;
	}
	position->offset += size;
}

/* Copies bytes that the pieces have. */
static void copy_from(struct perch__position position, void *to, size_t size)
{
	char *at = to;

	while (size) {
		size_t part = position.iov->iov_len - position.offset;

		part = part < size ? part : size;
		if (part) /* an empty piece may be NULL */
			memcpy(at, (const char *)position.iov->iov_base + position.offset, part);
		at += part;
		size -= part;
		position.iov++;
		position.offset = 0;
	}
}

size_t perch__whole_records(struct perch__position position, size_t bytes)
{
	size_t whole = 0;

	while (bytes - whole >= sizeof(struct perch_record_header)) {
		struct {
			struct perch_record_header header;
			uint64_t following;
		} start = { .following = 0 };
		size_t left = bytes - whole;

		copy_from(position, &start, left < sizeof(start) ? left : sizeof(start));
		/* the bytes of an AUX area are no part of the size of their record */
		if (start.header.type != PERCH_RECORD_AUXTRACE)
			start.following = 0;
		if (start.header.size < sizeof(start.header) || start.header.size > left ||
		    start.following > left - start.header.size)
			break;
		whole += start.header.size + start.following;
		if (whole < bytes)
			advance(&position, start.header.size + start.following);
	}
	return whole;
}

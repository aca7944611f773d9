/* SPDX-License-Identifier: MIT */
/* Decodes records that are in several pieces or not aligned. */
#include "internal.h"

static size_t total_size(const struct iovec *pieces, size_t nr)
{
	size_t total = 0;

	for (size_t i = 0; i < nr; i++)
		if (__builtin_add_overflow(total, pieces[i].iov_len, &total))
			return SIZE_MAX;
	return total;
}

/* Copies the first bytes of the pieces, which have at least `size`. */
static void copy_pieces(void *to, const struct iovec *pieces, size_t size)
{
	char *at = to;

	for (; size; pieces++) {
		size_t part = pieces->iov_len < size ? pieces->iov_len : size;

		if (part)
			memcpy(at, pieces->iov_base, part);
		at += part;
		size -= part;
	}
}

static bool is_aligned(const void *bytes)
{
	return (uintptr_t)bytes % sizeof(uint64_t) == 0;
}

const void *perch__gather(const struct iovec *pieces, size_t nr, bool swap,
			  const struct iovec *scratch, size_t *size, struct perch_error *err)
{
	const size_t total = total_size(pieces, nr);
	const size_t padding = -(uintptr_t)scratch->iov_base % sizeof(uint64_t);
	uint64_t first = 0;
	size_t need;
	char *copy;

	*size = total;
	if (total < PERCH__HEADER_BYTES)
		return ""; /* the decoder reports this and reads nothing */
	copy_pieces(&first, pieces, PERCH__HEADER_BYTES);
	need = perch__header(&first, swap).size;
	if (need <= pieces[0].iov_len && is_aligned(pieces[0].iov_base) &&
	    pieces[0].iov_len >= PERCH__HEADER_BYTES) {
		*size = pieces[0].iov_len;
		return pieces[0].iov_base;
	}
	/* a record with an invalid size is copied too: the decoder reports it */
	need = need > total ? total : need < PERCH__HEADER_BYTES ? PERCH__HEADER_BYTES : need;
	if (scratch->iov_len < padding || scratch->iov_len - padding < need) {
		perch_error_set(err, ENOSPC, PERCH_ERROR_USAGE,
				"a record of %zu bytes does not fit in the scratch of %zu bytes",
				need, scratch->iov_len);
		perch_error_remedy(err, "pass PERCH_SCRATCH_BYTES bytes");
		return NULL;
	}
	copy = (char *)scratch->iov_base + padding;
	copy_pieces(copy, pieces, need);
	*size = need;
	return copy;
}

int perch_record_decode_pieces(struct perch_record *record,
			       const struct perch_parse_info *parse_info,
			       const struct iovec *pieces, size_t nr, void *scratch,
			       size_t scratch_size, struct perch_error *err)
{
	const struct iovec space = { scratch, scratch_size };
	size_t size;
	const void *bytes = perch__gather(pieces, nr, parse_info->swapped, &space, &size, err);

	if (bytes)
		return perch_record_decode(record, parse_info, bytes, size, err);
	memset(record, 0, sizeof(*record));
	record->parse_info = parse_info;
	return -ENOSPC;
}

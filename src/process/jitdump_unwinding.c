/* SPDX-License-Identifier: MIT */
/* Unwinding information of functions of a jitdump. It is read when a caller needs it. */
#include "internal.h"

enum {
	PREFIX_SIZE = 16, /* type, size and time of the record */
	SIZES_SIZE = 24,  /* sizes of all, of .eh_frame_hdr, of the mapping */
	MAX_RECORD = 1 << 20,
};

int perch_jitdump_read_eh_frame(const struct perch_jitdump *jitdump, uint64_t offset,
				struct perch_jit_function *found, void **bytes, size_t *size,
				bool *swapped)
{
	const struct jit_function *function;
	uint64_t all, table;
	uint8_t *start;
	int rc = perch_jitdump_find(jitdump, offset, found);

	*bytes = NULL;
	*size = 0;
	*swapped = jitdump->swapped;
	if (rc)
		return rc;
	function = &jitdump->function[found->number];
	if (!function->unwinding_at)
		return -ENOENT;
	if (function->unwinding_size < PREFIX_SIZE + SIZES_SIZE ||
	    function->unwinding_size > MAX_RECORD)
		return -EBADMSG;
	start = perch__jitdump_bytes(jitdump, function->unwinding_at + PREFIX_SIZE, SIZES_SIZE,
				     &rc);
	if (!start)
		return rc;
	all = perch__jitdump_u64(jitdump, start);
	table = perch__jitdump_u64(jitdump, start + 8);
	free(start);
	/* the table of .eh_frame_hdr comes last */
	if (all > function->unwinding_size - PREFIX_SIZE - SIZES_SIZE || table > all)
		return -EBADMSG;
	if (all == table)
		return -ENOENT;
	*bytes = perch__jitdump_bytes(jitdump, function->unwinding_at + PREFIX_SIZE + SIZES_SIZE,
				      all - table, &rc);
	*size = all - table;
	return rc;
}

/* SPDX-License-Identifier: MIT */
/* The code of functions of a jitdump. It is read when a caller needs it. */
#include "internal.h"

enum { MACHINE_AT = 12 }; /* in the header of the file */

int perch_jitdump_read_code(const struct perch_jitdump *jitdump, uint64_t offset, size_t most,
			    struct perch_jit_function *function, void **bytes, size_t *size,
			    uint32_t *machine, bool *swapped)
{
	uint8_t *word;
	int rc = perch_jitdump_find(jitdump, offset, function);

	*bytes = NULL;
	*size = 0;
	*machine = 0;
	*swapped = jitdump->swapped;
	if (rc)
		return rc;
	word = perch__jitdump_bytes(jitdump, MACHINE_AT, sizeof(uint32_t), &rc);
	if (!word)
		return rc;
	*machine = perch__jitdump_u32(jitdump, word);
	free(word);
	*size = function->size < most ? (size_t)function->size : most;
	*bytes = perch__jitdump_bytes(jitdump, function->offset, *size, &rc);
	if (!*bytes)
		*size = 0;
	return rc;
}

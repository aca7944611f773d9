/* SPDX-License-Identifier: MIT */
/*
 * Rules of a function of a JIT compiler: the .eh_frame that its jitdump has. Most such functions
 * have one entry, so it is read for each address again.
 */
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

enum { MAX_BYTES = 1 << 20 };

int perch__jit_rules_find(const struct perch_dso *dso, uint64_t offset,
			  const struct architecture *architecture, struct cfi_rules *rules)
{
	struct perch_jit_function function;
	struct cfi cfi;
	size_t size;
	void *eh_frame;
	bool swapped;
	int rc = -EBADMSG;

	if (architecture->word != sizeof(uint64_t) ||
	    perch_jitdump_read_eh_frame(dso->jitdump, offset, &function, &eh_frame, &size,
					&swapped))
		return 0;
	/* the addresses are those of a file that begins with the function */
	if (size > MAX_BYTES)
		free(eh_frame);
	else if (perch__cfi_take(&cfi, eh_frame, size, (function.size + 7) & ~7ull, swapped))
		rc = perch__cfi_find(&cfi, architecture, offset - function.offset, rules);
	if (size <= MAX_BYTES)
		perch__cfi_close(&cfi);
	return rc;
}

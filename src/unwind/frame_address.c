/* SPDX-License-Identifier: MIT */
/* Where the frame of a function is, for programs that read variables in it. */
#include <stdlib.h>

#include "base/no_memory.h"
#include "internal.h"

int perch_unwind_frame_address(struct perch_symbols *symbols, const struct perch_dso *dso,
			       uint64_t offset, enum perch_arch arch, unsigned *number,
			       int64_t *frame_offset, struct perch_error *err)
{
	const struct architecture *architecture = perch__architecture(arch);
	struct rules *rules;
	struct row row;
	uint64_t end;

	if (!architecture)
		return perch_error_set(err, ENOTSUP, PERCH_ERROR_NOT_SUPPORTED,
				       "the registers of this architecture are not known");
	rules = perch__rules_open(symbols, dso, architecture);
	if (!rules)
		return PERCH__NO_MEMORY(err, "for unwinding rules");
	perch__row_make(&row, rules, offset, &end);
	*number = row.cfa_register;
	*frame_offset = row.cfa_offset;
	free(row.rules);
	if (row.kind != ROW_FAST)
		perch_error_set(err, ENODATA, PERCH_ERROR_FORMAT, "%s",
				rules->has_error
					? rules->error
					: "there is no rule for the frame of the function");
	perch__rules_close(rules);
	return row.kind == ROW_FAST ? 0 : -ENODATA;
}

const char *perch_unwind_register_name(enum perch_arch arch, unsigned number)
{
	const struct architecture *architecture = perch__architecture(arch);

	return architecture && number < architecture->nr
		       ? perch_register_name(arch, architecture->bit[number])
		       : NULL;
}

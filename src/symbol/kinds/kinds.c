/* SPDX-License-Identifier: MIT */
/* The list of the kinds of DSOs, and the kind without a DSO. */
#include "symbol/symbols.h"

static const struct dso_kind unknown = {
	.no_functions = "no mapping was recorded at the address",
	.fixed_name = "[unknown]",
};

const struct dso_kind *perch__kind_of(const struct perch_dso *dso)
{
	static const struct dso_kind *const kinds[] = {
		[PERCH_DSO_FILE] = &perch__kind_file,
		[PERCH_DSO_KERNEL] = &perch__kind_kernel,
		[PERCH_DSO_MODULE] = &perch__kind_module,
		[PERCH_DSO_VDSO] = &perch__kind_vdso,
		[PERCH_DSO_ANON] = &perch__kind_memory,
		[PERCH_DSO_UNKNOWN] = &unknown,
		[PERCH_DSO_KERNEL_CODE] = &perch__kind_bpf,
		[PERCH_DSO_JIT] = &perch__kind_jit,
	};

	return kinds[dso->kind];
}

/* SPDX-License-Identifier: MIT */
/* What the kinds of DSOs have in common. How symbols are found by kind is in symbol/kinds/. */
#include "internal.h"

bool perch_dso_is(const struct perch_dso *dso, enum perch_dso_property property)
{
	static const unsigned properties[] = {
		[PERCH_DSO_FILE] = PERCH_DSO_IS_MAPPED | PERCH_DSO_IS_FILE | PERCH_DSO_IS_ON_DISK |
				   PERCH_DSO_IS_ELF,
		[PERCH_DSO_KERNEL] = PERCH_DSO_IS_MAPPED | PERCH_DSO_IS_KERNEL |
				     PERCH_DSO_IS_IN_KERNEL,
		[PERCH_DSO_MODULE] = PERCH_DSO_IS_MAPPED | PERCH_DSO_IS_MODULE |
				     PERCH_DSO_IS_IN_KERNEL | PERCH_DSO_IS_ON_DISK |
				     PERCH_DSO_IS_ELF,
		[PERCH_DSO_VDSO] = PERCH_DSO_IS_MAPPED | PERCH_DSO_IS_ELF,
		[PERCH_DSO_ANON] = PERCH_DSO_IS_MAPPED | PERCH_DSO_IS_MEMORY |
				   PERCH_DSO_IS_GENERATED,
		[PERCH_DSO_UNKNOWN] = 0,
		[PERCH_DSO_KERNEL_CODE] = PERCH_DSO_IS_MAPPED | PERCH_DSO_IS_IN_KERNEL,
		[PERCH_DSO_JIT] = PERCH_DSO_IS_MAPPED | PERCH_DSO_IS_GENERATED,
	};

	return properties[dso->kind] & property;
}

/* SPDX-License-Identifier: MIT */
/* The kernel without its modules. */
#include <perch/file.h>

#include "symbol/code.h"

static int load_kernel(struct perch_symbols *symbols, struct dso_symbols *cached)
{
	return perch__load_kernel(&cached->table, &symbols->sources, cached->dso, &cached->error,
				  &cached->proof);
}

/* The kernel is unknown if it has neither a map in the recording nor symbols on this machine. */
static const char *kernel_name(const struct dso_symbols *cached, char *buffer, size_t size)
{
	(void)buffer;
	(void)size;
	if (!cached->dso->length && !perch__table_has_functions(&cached->table))
		return "[unknown]";
	return cached->dso->kernel_image ? "[kernel.vmlinux]" : "[kernel.kallsyms]";
}

const struct dso_kind perch__kind_kernel = {
	.load = load_kernel,
	.name = kernel_name,
	.open_lines = perch__open_debug_lines,
	.code = perch__code_of_kernel,
	.recorded = 1 << PERCH_RECORDED_KERNEL,
};

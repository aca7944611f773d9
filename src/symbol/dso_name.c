/* SPDX-License-Identifier: MIT */
/* The displayed names of DSOs. */
#include <stdio.h>
#include <stdlib.h>

#include "symbols.h"

enum { MAX_SHORT_NAME = 4096 };

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool is_module_file(const char *name)
{
	static const char *const ends[] = { ".ko", ".ko.gz", ".ko.xz", ".ko.zst" };
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t end = strlen(ends[i]);

		if (length > end && !strcmp(name + length - end, ends[i]))
			return true;
	}
	return false;
}

/* The kernel is unknown if it has neither a map in the recording nor symbols on this machine. */
static const char *kernel_name(struct perch_symbols *symbols, struct dso_symbols *cached)
{
	const struct perch_dso *dso = cached->dso;

	if (!dso->length)
		perch__symbols_load(symbols, cached);
	if (!dso->length && !perch__table_has_functions(&cached->table))
		return "[unknown]";
	return dso->kernel_image ? "[kernel.vmlinux]" : "[kernel.kallsyms]";
}

/* Returns the name that perf displays for a DSO. */
static const char *short_name(const struct perch_dso *dso, char *buffer, size_t size)
{
	const char *base = base_name(dso->path);
	unsigned pid;

	switch (dso->kind) {
	case PERCH_DSO_VDSO:
		return "[vdso]";
	case PERCH_DSO_UNKNOWN:
		return "[unknown]";
	case PERCH_DSO_KERNEL_CODE:
		return dso->path;
	case PERCH_DSO_MODULE:
		if (*base == '[' || !is_module_file(base))
			return base;
		snprintf(buffer, size, "[%.*s]", (int)strcspn(base, "."), base);
		for (char *at = buffer; *at; at++)
			if (*at == '-')
				*at = '_';
		return buffer;
	default:
		break;
	}
	if (sscanf(base, dso->kind == PERCH_DSO_JIT ? "jit-%u.dump" : "perf-%u.map", &pid) == 1) {
		snprintf(buffer, size, "[JIT] tid %u", pid);
		return buffer;
	}
	return base;
}

const char *perch_symbols_dso_name(struct perch_symbols *symbols, const struct perch_dso *dso)
{
	struct dso_symbols *cached = perch__symbols_of_dso(symbols, dso);
	char buffer[MAX_SHORT_NAME];
	const char *name;
	size_t size;

	if (!cached)
		return "?";
	if (cached->name)
		return cached->name;
	name = dso->kind == PERCH_DSO_KERNEL ? kernel_name(symbols, cached)
					     : short_name(dso, buffer, sizeof(buffer));
	size = strlen(name) + 1;
	cached->name = perch__malloc(size);
	if (!cached->name)
		return "?";
	perch_clean_text(name, cached->name, size);
	return cached->name;
}

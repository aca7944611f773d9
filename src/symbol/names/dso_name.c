/* SPDX-License-Identifier: MIT */
/* The displayed names of DSOs. */
#include <stdlib.h>

#include "symbol/symbols.h"

enum { MAX_SHORT_NAME = 4096 };

const char *perch_symbols_dso_name(struct perch_symbols *symbols, const struct perch_dso *dso)
{
	struct dso_symbols *cached = perch__symbols_of_dso(symbols, dso);
	const struct dso_kind *kind = perch__kind_of(dso);
	char buffer[MAX_SHORT_NAME];
	const char *name;
	size_t size;

	if (!cached)
		return "?";
	if (cached->name)
		return cached->name;
	if (kind == &perch__kind_kernel && !dso->length) /* its name depends on the table */
		perch__symbols_load(symbols, cached);
	name = kind->fixed_name ? kind->fixed_name
	       : kind->name	? kind->name(cached, buffer, sizeof(buffer))
				: perch__base_name(dso->path);
	size = strlen(name) + 1;
	cached->name = perch__malloc(size);
	if (!cached->name)
		return "?";
	perch_clean_text(name, cached->name, size);
	return cached->name;
}

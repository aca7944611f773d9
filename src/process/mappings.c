/* SPDX-License-Identifier: MIT */
/* What is mapped at one moment. */
#include "mappings.h"

/*
 * Recorders map the kernel up to the end of its text. Its data and init text follow, and the call
 * chain of every idle CPU ends in init text. Modules are farther away.
 */
#define KERNEL_BEHIND_TEXT (256u << 20)
static bool is_after_text(const struct unmapped *unmapped, uint64_t address)
{
	return unmapped->kernel_text_end && address >= unmapped->kernel_text_end &&
	       address - unmapped->kernel_text_end < KERNEL_BEHIND_TEXT;
}

struct perch_dso *perch__map_resolve(const struct map *map, const struct unmapped *unmapped,
				     bool kernel, uint64_t address, uint64_t *offset)
{
	*offset = map ? address - map->start + map->offset : address;
	if (map)
		return map->dso;
	/* without a recorded map of the kernel, all its addresses belong to its DSO */
	return kernel && (!unmapped->kernel_mapped || is_after_text(unmapped, address))
		       ? unmapped->kernel_dso
		       : unmapped->unknown;
}

bool perch__mappings_hold(struct perch__mappings *mappings, struct perch_processes *processes,
			  const struct perch_thread *thread, unsigned cpumode)
{
	bool kernel = cpumode == PERCH_MISC_KERNEL;
	struct space *space = kernel ? processes->kernel : thread->process->space;

	if ((!kernel && cpumode != PERCH_MISC_USER) || space->before)
		return false;
	*mappings = (struct perch__mappings){
		.root = perch__map_node_get(space->root),
		.code = perch__map_node_get(space->code),
		.unmapped = processes->unmapped,
		.kernel = kernel,
	};
	return true;
}

void perch__mappings_drop(struct perch__mappings *mappings)
{
	perch__map_node_put(mappings->root);
	perch__map_node_put(mappings->code);
	*mappings = (struct perch__mappings){ .root = NULL };
}

const struct perch_dso *perch__mappings_resolve(const struct perch__mappings *mappings,
						uint64_t address, uint64_t *offset)
{
	const struct map *map = perch__map_find(mappings->code, address);

	if (!map || !map->dso)
		map = perch__map_find(mappings->root, address);
	return perch__map_resolve(map, &mappings->unmapped, mappings->kernel, address, offset);
}

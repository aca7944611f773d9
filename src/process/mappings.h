/* SPDX-License-Identifier: MIT */
/*
 * What is mapped at one moment. Other threads resolve addresses with it while records after that
 * moment are applied: the trees that it refers to do not change.
 */
#ifndef PERCH_PROCESS_MAPPINGS_H
#define PERCH_PROCESS_MAPPINGS_H

#include "internal.h"

struct perch__mappings {
	struct map_node *root, *code;
	struct unmapped unmapped;
	bool kernel;
};

/*
 * Takes the mappings of the kernel or of a thread's process, for addresses of this mode. Returns
 * false where the next address decides what is mapped (after exec), and for other modes: then
 * addresses are to be resolved at once.
 */
bool perch__mappings_hold(struct perch__mappings *mappings, struct perch_processes *processes,
			  const struct perch_thread *thread, unsigned cpumode);
/* In the thread of the processes. */
void perch__mappings_drop(struct perch__mappings *mappings);
/* In any thread: as perch_processes_resolve(), but the DSO is not marked as used. */
const struct perch_dso *perch__mappings_resolve(const struct perch__mappings *mappings,
						uint64_t address, uint64_t *offset);
/* Marks a DSO as used, in any thread. */
static inline void perch__dso_use(const struct perch_dso *dso)
{
	__atomic_store_n((bool *)(uintptr_t)&dso->used, true, __ATOMIC_RELAXED);
}

#endif

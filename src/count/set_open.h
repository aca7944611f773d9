/* SPDX-License-Identifier: MIT */
#ifndef PERCH_COUNT_SET_OPEN_H
#define PERCH_COUNT_SET_OPEN_H

#include "set.h"

/* A set with room for these events, which are still to be filled in, on these targets; none is
 * open. */
int perch__set_make(struct perch_set **set, const struct perch_events *events,
		    const struct perch_targets *targets, struct perch_machine *machine,
		    struct perch_error *err);
int perch__set_no_memory(struct perch_error *err);
/* The machine to ask for facts: the caller's, or one of the set's own. */
int perch__set_machine(struct perch_set *set, struct perch_machine **machine,
		       struct perch_error *err);

#endif

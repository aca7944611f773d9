/* SPDX-License-Identifier: MIT */
#ifndef PERCH_COUNT_SET_OPEN_H
#define PERCH_COUNT_SET_OPEN_H

#include "set.h"

/* Room for a set of these events on these targets, with no event in it yet. */
int perch__set_make(struct perch_set **set, const struct perch_events *events, const struct perch_targets *targets,
		    struct perch_machine *machine, struct perch_error *err);
/*
 * Puts an event into the set: right before it is opened, for by the time the kernel has opened thousands of others the
 * caches have forgotten it.
 */
void perch__set_take(struct perch_set *set, size_t number, const struct perch_event *event);
/* The machine to ask for facts: the caller's, or one of the set's own. */
int perch__set_machine(struct perch_set *set, struct perch_machine **machine, struct perch_error *err);

#endif

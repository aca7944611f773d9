/* SPDX-License-Identifier: MIT */
/* What the parts of a set share. */
#ifndef PERCH_COUNT_SET_H
#define PERCH_COUNT_SET_H

#include <perch/explain.h>

#include "internal.h"

/* What few events have: kept apart, so that thousands of the others take less memory, and time to
 * fill it. */
struct perch__cold {
	struct perch_attr missing_features;
	struct perch_error reason;
	/* the call that made the kernel refuse an event that is skipped */
	struct perch_target target;
	int group_fd;
	int errnum; /* 0: not refused by the kernel */
	/* forbidden, and user space alone cannot be counted in its place */
	bool cannot_exclude_kernel;
};
/* To advise user space alone would be wrong then. */
static inline void perch__advise_privilege(struct perch_error *err)
{
	perch_error_remedy(
		err,
		"as root: sysctl kernel.perf_event_paranoid=1, or give the program CAP_PERFMON; its PMU cannot "
		"count user space alone");
}

/* Events [first, end) may be one group: they were, when parsed. */
struct perch__group_range {
	size_t first, end;
	/* open on every target: nothing to look for when it is read */
	bool whole;
};

struct perch_set {
	const struct perch_syscalls *calls;
	struct perch_machine *machine; /* as given; may be NULL */
	struct perch_machine *own;     /* made when facts are needed and none was given */
	size_t nr_events, nr_targets;
	struct perch_set_event *event;
	struct perch__cold **cold; /* of each event; NULL: it has nothing to tell */
	/* of all that is open, in order; at the array's end, those to be opened */
	struct perch__group_range *range;
	size_t nr_ranges, first_group;
	struct perch_target *target;
	bool *gone;		  /* of each target: its thread has ended */
	int *fd;		  /* [event * nr_targets + target]; -1: not open there */
	struct perch__base *base; /* the same way; NULL until the first reset */
	struct perch__words words;
	/* the kernel lets inherited events be read one by one alone */
	bool single_reads;
};

/* The first event of the range that is open on a target, which leads there; end when none is. */
size_t perch__leader_at(const struct perch_set *set, struct perch__group_range range,
			size_t target);

static inline int perch__fd_at(const struct perch_set *set, size_t event, size_t target)
{
	return set->fd[event * set->nr_targets + target];
}

/* An event of the set as that which leads others on a target, for the explanation of their refusal.
 */
void perch__describe_leader(const struct perch_set *set, size_t event,
			    const struct perch_target *at, size_t members,
			    struct perch_open_call_leader *leader);

/* What is told of an event beside its attr; NULL: no memory. */
struct perch__cold *perch__set_cold(struct perch_set *set, size_t event);

/* Puts the names of an event and a target in front of an error. Returns rc. */
int perch__set_blame(const struct perch_set *set, size_t event, size_t target,
		     struct perch_error *err, int rc);

#endif

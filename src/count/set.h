/* SPDX-License-Identifier: MIT */
/* The set, shared by the files that make, open, and read it. */
#ifndef PERCH_COUNT_SET_H
#define PERCH_COUNT_SET_H

#include <perch/explain.h>

#include "internal.h"
#include "open/user_only.h"
#include "user_pages.h"

/* Cold data that few events have. It is allocated separately, so large sets take less memory and
 * time. */
struct perch__cold {
	struct perch_attr missing_features;
	struct perch_error reason;
	/* the open call that the kernel refused, if the event was skipped for that */
	struct perch_target target;
	int group_fd;
	int errnum; /* 0 if the kernel did not refuse the event */
	enum perch__user_only_state user_only;
};

/* Events [first, end), which were one group when they were parsed. */
struct perch__group_range {
	size_t first, end;
	/* all events are open on all targets, so reads need not look for gaps */
	bool whole;
};

struct perch_set {
	const struct perch_syscalls *calls;
	uint32_t generation;	       /* of the process that opened it */
	struct perch_machine *machine; /* of the caller; may be NULL */
	struct perch_machine *own;     /* made when facts are needed and machine is NULL */
	size_t nr_events, nr_targets;
	struct perch_set_event *event;
	struct perch__cold **cold; /* by event; may be NULL */
	/* [0, nr_ranges): opened groups; [first_group, nr_events): groups still to open */
	struct perch__group_range *range;
	size_t nr_ranges, first_group;
	struct perch_target *target;
	bool *ended;		  /* by target: its thread has ended */
	int *fd;		  /* [event * nr_targets + target]; -1 if not open there */
	struct perch__base *base; /* same index; NULL until the first reset */
	struct perch__read_buffer buffer;
	struct perch__user_pages pages; /* same index */
	/* same index; NULL without self_monitoring: a state of the last read, enum
	 * perch__rdpmc_state */
	unsigned char *rdpmc_state;
	uint64_t *id; /* same index; NULL unless pages are read with PERCH_FORMAT_ID */
	/* an old kernel refuses PERCH_FORMAT_GROUP with inherit: each member is read separately */
	bool single_reads;
};

/*
 * Returns the first event of the range that is open on a target: it leads the group there. Returns
 * range.end if none is open.
 */
size_t perch__leader_at(const struct perch_set *set, struct perch__group_range range,
			size_t target);

static inline int perch__fd_at(const struct perch_set *set, size_t event, size_t target)
{
	return set->fd[event * set->nr_targets + target];
}

/* Describes an event as the leader on a target, to explain why a member was refused. */
void perch__describe_leader(const struct perch_set *set, size_t event,
			    const struct perch_target *at, size_t members,
			    struct perch_open_call_leader *leader);

/* Describes an open call of a set, to explain its refusal. */
struct perch_open_call perch__describe_call(const struct perch_attr *attr,
					    const struct perch_target *at, int group_fd,
					    int errnum);

/* Returns the cold data of an event, allocated on the first use; NULL if out of memory. */
struct perch__cold *perch__set_cold(struct perch_set *set, size_t event);

/* Prefixes an error with the names of an event and a target. Returns rc. */
int perch__set_prefix_error(const struct perch_set *set, size_t event, size_t target,
			    struct perch_error *err, int rc);
/* Maps the pages of each group on the targets that are the calling thread. A group of which a page
 * cannot be mapped is read by read(2). */
int perch__set_map_pages(struct perch_set *set, struct perch_error *err);
/* Reads the range on the target without a system call. Returns false if it must be read by read(2).
 * Needs set->rdpmc_state. */
bool perch__set_read_pages(struct perch_set *set, const struct perch__group_range *range,
			   size_t target, struct perch_count *counts);
/* Makes a set of these events and targets with nothing open. The caller fills in the events. */
int perch__set_make(struct perch_set **set, const struct perch_events *events,
		    const struct perch_targets *targets, struct perch_machine *machine,
		    struct perch_error *err);
/*
 * Provides the machine to read facts from: that of the caller, or one that the set owns. Returns 0
 * or a negative errno.
 */
int perch__set_machine(struct perch_set *set, struct perch_machine **machine,
		       struct perch_error *err);

#endif

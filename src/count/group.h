/* SPDX-License-Identifier: MIT */
/* The group, shared by the files that open and read it. */
#ifndef PERCH_COUNT_GROUP_H
#define PERCH_COUNT_GROUP_H

#include "internal.h"

struct perch_group {
	const struct perch_syscalls *calls;
	uint32_t generation; /* of the process that opened it */
	/* without PERCH_FORMAT_GROUP each member is read separately */
	uint64_t read_format;
	struct perch__read_buffer buffer; /* read buffer */
	size_t nr;
	struct perch__base *base; /* by member */
	/* by member; allocated one by one, because names and attrs stay valid when members join */
	struct perch__opened **member;
	struct perch__group_constraints constraints;
	struct perch_target target;
	bool adopted;		       /* from descriptors: the target is unknown */
	struct perch_machine *machine; /* the caller's, or NULL */
};

/* Returns -ESTALE in a child of the process that opened the group. */
int perch__group_check_fork(const struct perch_group *group, struct perch_error *err);

#endif

/* SPDX-License-Identifier: MIT */
/* The group, shared by the files that open and read it. */
#ifndef PERCH_COUNT_GROUP_H
#define PERCH_COUNT_GROUP_H

#include "internal.h"
#include "user_pages.h"

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
	bool adopted;			     /* from descriptors: the target is unknown */
	struct perch_machine *machine;	     /* the caller's, or NULL */
	struct perch__user_pages pages;	     /* by member */
	enum perch__rdpmc_state rdpmc_state; /* of the last read */
	size_t rdpmc_member;		     /* the member that rdpmc_state is about */
};

/* Returns -ESTALE in a child of the process that opened the group. */
int perch__group_check_fork(const struct perch_group *group, struct perch_error *err);

/* Maps the page of a member. If that fails, the whole group is read by read(2). */
void perch__group_map_page(struct perch_group *group, size_t member);
/* Reads the whole group by read(2) from now on, because of that member. */
void perch__group_drop_pages(struct perch_group *group, size_t member,
			     enum perch__rdpmc_state reason);

#endif

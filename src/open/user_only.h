/* SPDX-License-Identifier: MIT */
/*
 * PERCH_MAY_EXCLUDE_KERNEL, for all objects: an open call that is refused because kernel profiling
 * is not permitted (EACCES) is repeated with exclude_kernel, with exclude_callchain_kernel if it
 * samples call chains, and without text_poke.
 *
 *	fd = open(attr);
 *	if (fd < 0 && perch__user_only_begin(&user_only, may, fd, attr, name, machine))
 *		fd = perch__user_only_end(&user_only, attr, open(attr));
 *	if (fd < 0)
 *		... explain the refusal of attr with -fd, then perch__user_only_explain()
 */
#ifndef PERCH_OPEN_USER_ONLY_H
#define PERCH_OPEN_USER_ONLY_H

#include <perch/open.h>

enum perch__user_only_state {
	PERCH__USER_ONLY_UNUSED,
	PERCH__USER_ONLY_OPENED,	 /* opened with exclude_kernel */
	PERCH__USER_ONLY_REFUSED,	 /* refused with exclude_kernel for another reason */
	PERCH__USER_ONLY_CANNOT_EXCLUDE, /* the PMU refuses exclude_kernel */
	PERCH__USER_ONLY_COUNTS_NOTHING, /* the event occurs only in the kernel */
};

struct perch__user_only {
	enum perch__user_only_state state;
	struct perch_attr before; /* the attr that was refused */
};

/*
 * After an open call of the attr was refused with rc (-EACCES...): excludes the kernel and returns
 * true if the call may be repeated. name is the name of the event, see perch__kernel_only(). Always
 * sets the state.
 */
bool perch__user_only_begin(struct perch__user_only *user_only, unsigned may, int rc,
			    struct perch_attr *attr, const char *name,
			    struct perch_machine *machine);
/*
 * After the second open call: returns its result fd, a descriptor or the errno to explain. If the
 * PMU cannot exclude the kernel, it returns -EACCES with the attr as before, so that the first
 * refusal is explained.
 */
int perch__user_only_end(struct perch__user_only *user_only, struct perch_attr *attr, int fd);
/* Whether the event needs a privilege that the caller lacks: PERCH_MAY_SKIP skips it. */
bool perch__user_only_impossible(enum perch__user_only_state state);
/* Adds to the explanation of the first refusal why exclude_kernel is no remedy. */
void perch__user_only_explain(enum perch__user_only_state state, struct perch_error *err);

#endif

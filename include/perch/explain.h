/* SPDX-License-Identifier: MIT */
/* A refused perf_event_open(2) -> cause, field, since, remedy. */
#ifndef PERCH_EXPLAIN_H
#define PERCH_EXPLAIN_H

#include <stdbool.h>
#include <perch/abi.h>
#include <perch/error.h>
#include <perch/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The raw call, as it was made, so that any program's call can be explained. */
struct perch_call {
	const struct perch_attr *attr;
	pid_t pid;
	int cpu;
	int group_fd;
	unsigned long flags;
	int errnum;			/* the positive errno it failed with */
	bool pid_is_cgroup_fd;		/* pid is perch_target.cgroup_fd, and called so in what is told */
};

/*
 * Fills err from static rules (a table walked in the kernel's order of checks) and the facts of the machine; makes no
 * call of perf_event_open. machine NULL: rules that need no fact only. Returns -call->errnum.
 */
PERCH_API int perch_explain(const struct perch_call *call, struct perch_machine *machine, struct perch_error *err);

#ifdef __cplusplus
}
#endif
#endif

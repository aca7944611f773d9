/* SPDX-License-Identifier: MIT */
/* Events that occur only while the CPU runs the kernel: with exclude_kernel they count 0. */
#ifndef PERCH_EVENT_KERNEL_ONLY_H
#define PERCH_EVENT_KERNEL_ONLY_H

#include <perch/event.h>

enum perch__kernel_only {
	PERCH__KERNEL_ONLY_NO,
	PERCH__KERNEL_ONLY_YES,
	PERCH__KERNEL_ONLY_UNKNOWN, /* a tracepoint that nothing is known of */
};

/*
 * name is the name of a tracepoint's event ("sched:sched_switch:u"), or NULL: then it is found by
 * its id in the tracefs of the machine, if this user may read it. The machine may be NULL.
 */
enum perch__kernel_only perch__kernel_only(const struct perch_attr *attr, const char *name,
					   struct perch_machine *machine);

#endif

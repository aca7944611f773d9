/* SPDX-License-Identifier: MIT */
/* Why an event cannot join a group: the kernel has one errno for all of it. */
#include <errno.h>
#include <inttypes.h>

#include "internal.h"

/* 0: the kernel counts it itself, in any constraints. */
static uint32_t pmu_of(const struct perch_attr *attr)
{
	switch (attr->type) {
	case PERCH_TYPE_SOFTWARE:
	case PERCH_TYPE_TRACEPOINT:
	case PERCH_TYPE_BREAKPOINT:
		return 0;
	case PERCH_TYPE_HARDWARE:
	case PERCH_TYPE_HW_CACHE:
		/* hybrid machines name a PMU there */
		return attr->config >> PERCH_PMU_TYPE_SHIFT ? attr->config >> PERCH_PMU_TYPE_SHIFT
							    : PERCH_TYPE_RAW;
	}
	return attr->type;
}

void perch__group_constraints_add(struct perch__group_constraints *constraints,
				  const struct perch_attr *attr)
{
	uint32_t pmu = pmu_of(attr);

	if (!pmu)
		return;
	if (!constraints->counters++)
		constraints->pmu = pmu;
	constraints->mixed |= pmu != constraints->pmu;
}

bool perch__explain_group_member(const struct perch__group_constraints *constraints,
				 const struct perch_attr *attr, const struct perch_target *target,
				 struct perch_machine *machine, struct perch_error *err)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(machine);
	struct perch__group_constraints with = *constraints;
	struct perch_attr alone = *attr;
	struct perch_error said;
	int fd;

	alone.disabled = 1;
	fd = perch_open(&alone, target, -1, 0, machine, &said);
	if (fd == -EINVAL && err)
		*err = said; /* the group is not to blame */
	if (fd < 0)
		return fd == -EINVAL;
	calls->close(calls->context, fd);
	perch__group_constraints_add(&with, attr);
	if (!constraints->counters || with.counters == constraints->counters)
		return false;
	if (with.mixed) {
		perch_error_set(
			err, EINVAL, PERCH_ERROR_BAD_GROUP,
			"the event opens alone, and not in a group with the %zu before it, which are another "
			"PMU's or leave it no counter",
			constraints->counters);
		perch_error_remedy(err, "open the events of each PMU as a group of their own");
	} else {
		perch_error_set(
			err, EINVAL, PERCH_ERROR_BAD_GROUP,
			"the group is too large: its members count all at once, and beside the %zu before this "
			"one the PMU has no counter left that can count it",
			constraints->counters);
		perch_error_remedy(
			err,
			"put no more than %zu of them into a group, or let it break up ({...}:W); "
			"while kernel.nmi_watchdog is 1, it may hold one of the counters",
			constraints->counters);
	}
	perch_error_field(err, "group_fd", NULL);
	return true;
}

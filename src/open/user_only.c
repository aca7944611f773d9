/* SPDX-License-Identifier: MIT */
/* Repeats a refused open call without the kernel. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "event/kernel_only.h"
#include "user_only.h"

/*
 * Newer kernels check the same permission for the kernel part of call chains, and for TEXT_POKE
 * records, even if the event excludes the kernel: Linux 7.3, and stable kernels with that change
 * (7.2.10, 6.12.113).
 */
static bool samples_kernel_chains(const struct perch_attr *attr)
{
	return attr->sample_type & PERCH_SAMPLE_CALLCHAIN && !attr->exclude_callchain_kernel;
}

bool perch__user_only_begin(struct perch__user_only *user_only, unsigned may, int rc,
			    struct perch_attr *attr, const char *name,
			    struct perch_machine *machine)
{
	user_only->state = PERCH__USER_ONLY_UNUSED;
	if (rc != -EACCES || !(may & PERCH_MAY_EXCLUDE_KERNEL) || attr->exclude_user)
		return false;
	if (attr->exclude_kernel && !samples_kernel_chains(attr) && !attr->text_poke)
		return false;
	if (!attr->exclude_kernel &&
	    perch__kernel_only(attr, name, machine) != PERCH__KERNEL_ONLY_NO) {
		user_only->state = PERCH__USER_ONLY_COUNTS_NOTHING;
		return false;
	}
	user_only->before = *attr;
	if (!attr->exclude_kernel)
		attr->exclude_kernel = attr->exclude_hv = 1;
	if (samples_kernel_chains(attr))
		attr->exclude_callchain_kernel = 1;
	attr->text_poke = 0;
	return true;
}

/*
 * The kernel checks permission first, so only the second call shows what else it refuses. Other
 * PMUs than the core's refuse exclude_kernel with EINVAL: then the privilege is what is missing.
 */
int perch__user_only_end(struct perch__user_only *user_only, struct perch_attr *attr, int fd)
{
	if (fd >= 0) {
		user_only->state = PERCH__USER_ONLY_OPENED;
		return fd;
	}
	if (fd != -EINVAL || attr->type < PERCH_TYPE_MAX) {
		user_only->state = PERCH__USER_ONLY_REFUSED;
		return fd;
	}
	user_only->state = PERCH__USER_ONLY_CANNOT_EXCLUDE;
	*attr = user_only->before;
	return -EACCES;
}

bool perch__user_only_impossible(enum perch__user_only_state state)
{
	return state == PERCH__USER_ONLY_CANNOT_EXCLUDE || state == PERCH__USER_ONLY_COUNTS_NOTHING;
}

void perch__user_only_explain(enum perch__user_only_state state, struct perch_error *err)
{
	if (!err || !perch__user_only_impossible(state) ||
	    (err->cause != PERCH_CAUSE_KERNEL_PROFILING &&
	     err->cause != PERCH_CAUSE_USER_NAMESPACE))
		return;
	perch_error_remedy(
		err,
		"as root: sysctl kernel.perf_event_paranoid=1, or give the program CAP_PERFMON%s",
		state == PERCH__USER_ONLY_CANNOT_EXCLUDE
			? "; the PMU of the event cannot exclude the kernel"
			: "");
}

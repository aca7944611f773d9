/* SPDX-License-Identifier: MIT */
/* Attr + target -> file descriptor: the one place that calls perf_event_open(2). */
#include <errno.h>

#include <perch/explain.h>
#include <perch/open.h>

const struct perch_target perch_self = PERCH_SELF_INIT;
const struct perch_target perch_all_cpus = { -1, -1, 0 };

/*
 * E2BIG makes the kernel write its own size into the attr. That tells which field is too new, unless the size was
 * absurd to begin with: then the size itself is what must be explained.
 */
static bool absurd_size(const struct perch_attr *attr)
{
	return attr->size && (attr->size < PERCH_ATTR_SIZE_VER0 || attr->size > sizeof(*attr));
}

int perch_open(const struct perch_attr *attr, const struct perch_target *target, int group_fd, unsigned long flags,
	       struct perch_machine *machine, struct perch_error *err)
{
	const struct perch_calls *calls = perch_machine_calls(machine);
	struct perch_attr given;	/* the kernel may write into it, the caller's is const */
	struct perch_call call = { .attr = &given, .group_fd = group_fd, .flags = flags | PERCH_FLAG_FD_CLOEXEC };
	int fd;

	if (!attr)
		return perch_error_set(err, EINVAL, PERCH_CAUSE_USAGE, "no attr to open an event with");
	if (absurd_size(attr)) {
		perch_error_set(err, E2BIG, PERCH_CAUSE_BAD_FIELD, "attr.size is %u, which is no size of struct perch_attr",
				attr->size);
		perch_error_field(err, "size", NULL);
		perch_error_remedy(err, "set it to sizeof(struct perch_attr), or fill the attr by perch_attr_build()");
		return -E2BIG;
	}
	if (!target)
		target = &PERCH_SELF;
	call.pid = target->pid;
	call.cpu = target->cpu;
	if (target->cgroup_fd > 0) {
		call.pid = target->cgroup_fd;
		call.flags |= PERCH_FLAG_PID_CGROUP;
	}
	given = *attr;
	fd = calls->open_event(calls->context, &given, call.pid, call.cpu, call.group_fd, call.flags);
	if (fd >= 0)
		return fd;
	call.errnum = errno;
	return perch_explain(&call, machine, err);
}

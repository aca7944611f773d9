/* SPDX-License-Identifier: MIT */
/* Opens an attr on a target: the only call of perf_event_open(2). */
#include <errno.h>
#include <fcntl.h>

#include "base/reserved.h"
#include "machine/breakpoints.h"
#include "internal.h"

const struct perch_target perch_self = { .cpu = -1 };
static struct perch_target all_processes = { .tid = -1, .cpu = -1 };
const struct perch_targets perch_all_cpus = { .nr = 1, .target = &all_processes };

/*
 * With E2BIG the kernel writes its own size into the attr, which shows the fields that are too new.
 * That works only if the size was valid before.
 */
static bool invalid_size(const struct perch_attr *attr)
{
	return attr->size && (attr->size < PERCH_ATTR_SIZE_VER0 || attr->size > sizeof(*attr));
}

int perch__check_call(const struct perch_attr *attr, struct perch_error *err)
{
	if (!attr)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "the attr is NULL");
	if (!invalid_size(attr))
		return 0;
	perch_error_set(err, E2BIG, PERCH_ERROR_BAD_FIELD,
			"attr.size must be %d..%zu (currently %u)", PERCH_ATTR_SIZE_VER0,
			sizeof(*attr), attr->size);
	perch_error_cause(err, PERCH_CAUSE_ATTR_SIZE);
	perch_error_field(err, "size", NULL);
	perch_error_remedy(
		err,
		"set it to sizeof(struct perch_attr), or fill the attr with perch_attr_build()");
	return -E2BIG;
}

static int cgroup_error(const struct perch_target *target, struct perch_error *err)
{
	int errnum = target->cgroup_fd < 0 ? EBADF : EINVAL;

	if (target->cgroup_fd < 0) {
		perch_error_set(
			err, errnum, PERCH_ERROR_BAD_TARGET,
			"cgroup_fd is %d: it must be the descriptor of a cgroup's directory",
			target->cgroup_fd);
		perch_error_remedy(
			err, "check the result of open(2), or use perch_targets_add_cgroup()");
	} else {
		perch_error_set(err, errnum, PERCH_ERROR_BAD_TARGET,
				"cgroup_fd needs use_cgroup (currently 0, and cgroup_fd is %d)",
				target->cgroup_fd);
		perch_error_remedy(err, "set use_cgroup to measure the cgroup");
	}
	if (target->use_cgroup)
		perch_error_cause(err, PERCH_CAUSE_CGROUP_FD);
	perch_error_field(err, "cgroup_fd", NULL);
	return -errnum;
}

int perch__check_target(const struct perch_target *target, struct perch_error *err)
{
	bool valid = !target || (target->use_cgroup ? target->cgroup_fd >= 0 : !target->cgroup_fd);

	if (PERCH__CHECK_RESERVED(target, "perch_target", err))
		return -EINVAL;
	return __builtin_expect(valid, 1) ? 0 : cgroup_error(target, err);
}

int perch__check_listed_target(const struct perch_target *target, struct perch_error *err)
{
	if (target->tid < -1)
		return perch_error_set(err, EINVAL, PERCH_ERROR_BAD_TARGET, "%d is not a thread",
				       (int)target->tid);
	if (target->cpu < -1)
		return perch_error_set(err, EINVAL, PERCH_ERROR_NO_CPU, "%d is not a CPU",
				       target->cpu);
	return perch__check_target(target, err);
}

void perch__apply_cloexec(int fd, const struct perch_options *options)
{
	if (options->no_cloexec)
		fcntl(fd, F_SETFD, 0);
}

int perch__attempt_open(struct perch__attempt *attempt, const struct perch_attr *attr,
			const struct perch_target *target, int group_fd, unsigned long flags,
			struct perch_machine *machine)
{
	const struct perch_syscalls *calls = perch_machine_syscalls(machine);
	struct perch_open_call *call = &attempt->call;
	/* asked first: the event may take the last debug register */
	bool never_fires = attr->type == PERCH_TYPE_BREAKPOINT &&
			   perch__breakpoints_never_fire(machine);
	int fd;

	if (!target)
		target = &perch_self;
	attempt->attr = *attr;
	attempt->size = attr->size;
	*call = (struct perch_open_call){ .pid = target->tid,
					  .cpu = target->cpu,
					  .group_fd = group_fd,
					  .flags = flags | PERCH_FLAG_FD_CLOEXEC };
	if (target->use_cgroup) {
		call->pid = target->cgroup_fd;
		call->flags |= PERCH_FLAG_PID_CGROUP;
		call->pid_is_cgroup_fd = true;
	}
	fd = calls->perf_event_open(calls->context, &attempt->attr, call->pid, call->cpu,
				    call->group_fd, call->flags);
	call->errnum = fd < 0 ? errno : 0;
	if (fd < 0 || __builtin_expect(!never_fires, 1))
		return fd;
	/* the kernel's own refusals come first; a count of 0 would be wrong */
	calls->close(calls->context, fd);
	call->errnum = EOPNOTSUPP;
	return -1;
}

int perch__explain_attempt(struct perch__attempt *attempt, struct perch_machine *machine,
			   struct perch_error *err)
{
	struct perch_attr passed = attempt->attr;
	struct perch_open_call call = attempt->call;

	call.attr = &passed;
	if (call.errnum == E2BIG) {
		call.kernel_size = passed.size;
		passed.size = attempt->size;
	}
	return perch_explain(&call, machine, err);
}

int perch_open(const struct perch_attr *attr, const struct perch_target *target, int group_fd,
	       unsigned long flags, struct perch_machine *machine, struct perch_error *err)
{
	struct perch__attempt attempt;
	int fd = perch__check_call(attr, err);

	if (!fd)
		fd = perch__check_target(target, err);
	if (fd)
		return fd;
	fd = perch__attempt_open(&attempt, attr, target, group_fd, flags, machine);
	return fd >= 0 ? fd : perch__explain_attempt(&attempt, machine, err);
}

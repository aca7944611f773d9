/* SPDX-License-Identifier: MIT */
/* Mutations of groups and of output redirection. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mutations.h"

CHANGE(group_closed)
{
	call->group_fd = 1000000 + (int)build_below(rng, 1000000);
	call->has_leader = false;
	return true;
}

CHANGE(group_negative)
{
	call->group_fd = -2 - (int)build_below(rng, 1 << 30);
	call->has_leader = false;
	return true;
}

CHANGE(group_no_event)
{
	call->group_fd = build_percent(rng, 50) ? env->null_fd : env->directory_fd;
	call->has_leader = false;
	return true;
}

/* Uses a member as the leader. */
CHANGE(member_for_leader)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
				   .size = sizeof(attr),
				   .config = PERCH_COUNT_SW_DUMMY };
	int fd;

	if (call->flags & PERCH_FLAG_FD_NO_GROUP)
		return false;
	attr.exclude_kernel = 1;
	attr.inherit = call->leader_attr.inherit;
	attr.use_clockid = call->leader_attr.use_clockid;
	attr.clockid = call->leader_attr.clockid;
	fd = syscall(SYS_perf_event_open, &attr, call->pid, call->cpu, call->group_fd,
		     call->leader.flags);
	if (fd < 0)
		return false;
	generated_keep(call, fd);
	call->group_fd = fd;
	call->leader_attr = attr;
	call->leader.is_member = true;
	call->leader.members = 0;
	call->leader.has_ring = false;
	call->flags &= ~PERCH_FLAG_FD_OUTPUT;
	return true;
}

static bool other_leader(struct generated_call *call, pid_t pid, int cpu)
{
	struct perch_attr attr = call->leader_attr;
	int fd;

	fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERCH_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return false;
	generated_keep(call, fd);
	call->group_fd = fd;
	call->flags &= ~PERCH_FLAG_FD_OUTPUT;
	call->leader.pid = pid;
	call->leader.cpu = cpu;
	call->leader.flags = PERCH_FLAG_FD_CLOEXEC;
	call->leader.has_ring = false;
	call->leader.members = 1;
	return true;
}

/* ---- Members with another target than the leader ---- */

CHANGE(member_on_other_cpu)
{
	for (size_t i = 0; i < env->nr_cpus; i++) {
		if (env->cpu[i] == call->leader.cpu)
			continue;
		call->cpu = env->cpu[i];
		call->flags &= ~PERCH_FLAG_FD_OUTPUT;
		return true;
	}
	return false;
}

CHANGE(member_of_another)
{
	if (call->leader.flags & PERCH_FLAG_PID_CGROUP || call->leader.pid == -1)
		return false;
	call->pid = call->leader.pid == env->child ? 0 : env->child;
	call->flags &= ~PERCH_FLAG_FD_OUTPUT;
	return true;
}

CHANGE(member_of_all_processes)
{
	if (call->leader.pid == -1 || call->leader.cpu == -1 ||
	    call->leader.flags & PERCH_FLAG_PID_CGROUP)
		return false;
	call->pid = -1;
	call->flags &= ~PERCH_FLAG_FD_OUTPUT;
	ATTR->sigtrap = 0;
	return true;
}

CHANGE(leader_on_other_cpu)
{
	int cpu = call->cpu == -1 ? env->cpu[0] : -1;

	if (call->pid == -1 || call->flags & PERCH_FLAG_PID_CGROUP)
		return false;
	return other_leader(call, call->pid, cpu);
}

CHANGE(leader_of_another)
{
	if (call->pid == -1 || call->flags & PERCH_FLAG_PID_CGROUP)
		return false;
	return other_leader(call, call->pid == env->child ? 0 : env->child, call->cpu);
}

CHANGE(member_of_another_cgroup)
{
	if (env->cgroup[1] < 0)
		return false;
	call->pid = env->cgroup[1];
	return true;
}

/* ---- Members with other settings than the leader ---- */

CHANGE(member_inherits)
{
	ATTR->inherit = 1;
	if (ATTR->sample_type & PERCH_SAMPLE_READ)
		ATTR->sample_type |= PERCH_SAMPLE_TID;
	return !call->leader_attr.inherit && call->pid != -1 &&
	       !(call->flags & PERCH_FLAG_PID_CGROUP);
}

CHANGE(member_does_not_inherit)
{
	ATTR->inherit = ATTR->inherit_thread = 0;
	return call->leader_attr.inherit && call->pid != -1 &&
	       !(call->flags & PERCH_FLAG_PID_CGROUP);
}

CHANGE(member_has_a_clock)
{
	if (call->leader_attr.use_clockid || call->flags & PERCH_FLAG_FD_OUTPUT)
		return false;
	ATTR->use_clockid = 1;
	ATTR->clockid = build_percent(rng, 50) ? CLOCK_MONOTONIC : CLOCK_MONOTONIC_RAW;
	return true;
}

CHANGE(member_has_no_clock)
{
	if (call->flags & PERCH_FLAG_FD_OUTPUT)
		return false;
	ATTR->use_clockid = ATTR->clockid = 0;
	return call->leader_attr.use_clockid;
}

CHANGE(member_has_another_clock)
{
	if (call->flags & PERCH_FLAG_FD_OUTPUT)
		return false;
	ATTR->clockid = ATTR->clockid == CLOCK_MONOTONIC ? CLOCK_MONOTONIC_RAW : CLOCK_MONOTONIC;
	return call->leader_attr.use_clockid;
}

CHANGE(member_pinned)
{
	ATTR->pinned = 1;
	return true;
}

CHANGE(member_exclusive)
{
	ATTR->exclusive = 1;
	return true;
}

CHANGE(group_full)
{
	if (env->full_leader < 0 || (call->pid && call->pid != env->self) || call->cpu != -1 ||
	    ATTR->inherit || ATTR->use_clockid || call->subject == SUBJECT_UPROBE)
		return false;
	call->group_fd = env->full_leader;
	call->flags &= PERCH_FLAG_FD_CLOEXEC;
	ATTR->pinned = ATTR->exclusive = 0;
	return true;
}

/* ---- Output ---- */

CHANGE(output_without_ring)
{
	if (call->ring)
		return false;
	call->flags |= PERCH_FLAG_FD_OUTPUT;
	return true;
}

CHANGE(output_backward)
{
	if (!call->ring)
		return false;
	ATTR->write_backward = !ATTR->write_backward;
	return true;
}

CHANGE(output_with_a_clock)
{
	if (!call->ring || ATTR->use_clockid)
		return false;
	call->flags |= PERCH_FLAG_FD_NO_GROUP;
	ATTR->use_clockid = 1;
	ATTR->clockid = CLOCK_MONOTONIC_RAW;
	return true;
}

CHANGE(output_of_another_cpu)
{
	if (!call->ring || call->cpu == -1 || call->flags & PERCH_FLAG_PID_CGROUP)
		return false;
	call->flags |= PERCH_FLAG_FD_NO_GROUP;
	for (size_t i = 0; i < env->nr_cpus; i++)
		if (env->cpu[i] != call->cpu) {
			call->cpu = env->cpu[i];
			return true;
		}
	return false;
}

#define MEMBER_TASK (REQUIRE_GROUP | REQUIRE_TASK)

static const struct mutation table[] = {
	{ .name = "group_fd closed", .fields = "group_fd", .change = group_closed },
	{ .name = "group_fd below -1", .fields = "group_fd", .change = group_negative },
	{ .name = "group_fd is not an event", .fields = "group_fd", .change = group_no_event },
	{ .name = "a member as the leader",
	  .fields = "group_fd",
	  .requirements = REQUIRE_GROUP,
	  .change = member_for_leader },
	{ .name = "a member on another CPU",
	  .fields = "cpu,group_fd",
	  .requirements = REQUIRE_GROUP,
	  .change = member_on_other_cpu },
	{ .name = "a member of another process",
	  .fields = "pid,group_fd",
	  .requirements = MEMBER_TASK,
	  .change = member_of_another },
	{ .name = "a member that measures all processes",
	  .fields = "pid,group_fd",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_GROUP,
	  .change = member_of_all_processes },
	{ .name = "a leader on another CPU",
	  .fields = "group_fd,cpu",
	  .requirements = REQUIRE_GROUP,
	  .change = leader_on_other_cpu },
	{ .name = "a leader of another process",
	  .fields = "group_fd,pid",
	  .requirements = REQUIRE_GROUP,
	  .change = leader_of_another },
	{ .name = "a member of another cgroup",
	  .fields = "pid,group_fd",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_GROUP | REQUIRE_CGROUP,
	  .change = member_of_another_cgroup },
	{ .name = "a member that inherits",
	  .fields = "inherit",
	  .requirements = MEMBER_TASK,
	  .change = member_inherits },
	{ .name = "a member that does not inherit",
	  .fields = "inherit",
	  .requirements = MEMBER_TASK,
	  .change = member_does_not_inherit },
	{ .name = "a member with a clock",
	  .fields = "clockid,use_clockid",
	  .requirements = REQUIRE_GROUP,
	  .change = member_has_a_clock },
	{ .name = "a member without the clock",
	  .fields = "clockid,use_clockid",
	  .requirements = REQUIRE_GROUP,
	  .change = member_has_no_clock },
	{ .name = "a member with another clock",
	  .fields = "clockid,use_clockid",
	  .requirements = REQUIRE_GROUP,
	  .change = member_has_another_clock },
	{ .name = "a member pinned",
	  .fields = "pinned",
	  .requirements = REQUIRE_GROUP,
	  .change = member_pinned },
	{ .name = "a member exclusive",
	  .fields = "exclusive",
	  .requirements = REQUIRE_GROUP,
	  .change = member_exclusive },
	{ .name = "a group too large to read",
	  .fields = "group_fd,read_format",
	  .requirements = REQUIRE_TASK | REQUIRE_NO_GROUP,
	  .change = group_full },
	{ .name = "output to an event without a ring",
	  .fields = "flags,group_fd",
	  .requirements = REQUIRE_GROUP,
	  .change = output_without_ring },
	{ .name = "output in the other direction",
	  .fields = "write_backward,flags,group_fd",
	  .requirements = REQUIRE_GROUP,
	  .change = output_backward },
	{ .name = "output with another clock",
	  .fields = "clockid,use_clockid,flags,group_fd",
	  .requirements = REQUIRE_GROUP,
	  .change = output_with_a_clock },
	{ .name = "output of another CPU",
	  .fields = "cpu,flags,group_fd",
	  .requirements = REQUIRE_GROUP,
	  .change = output_of_another_cpu },
};

const struct mutations group_mutations = { table, COUNT_OF(table) };

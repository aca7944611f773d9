/* SPDX-License-Identifier: MIT */
/* Breakages of groups and of output redirection. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "breakages.h"

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
	call->group_fd = build_percent(rng, 50) ? world->null_fd : world->directory_fd;
	call->has_leader = false;
	return true;
}

/* A member is used as the leader. */
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

/* ---- Another target than that of the leader ---- */

CHANGE(member_on_other_cpu)
{
	for (size_t i = 0; i < world->nr_cpus; i++) {
		if (world->cpu[i] == call->leader.cpu)
			continue;
		call->cpu = world->cpu[i];
		call->flags &= ~PERCH_FLAG_FD_OUTPUT;
		return true;
	}
	return false;
}

CHANGE(member_of_another)
{
	if (call->leader.flags & PERCH_FLAG_PID_CGROUP || call->leader.pid == -1)
		return false;
	call->pid = call->leader.pid == world->child ? 0 : world->child;
	call->flags &= ~PERCH_FLAG_FD_OUTPUT;
	return true;
}

CHANGE(member_of_everyone)
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
	int cpu = call->cpu == -1 ? world->cpu[0] : -1;

	if (call->pid == -1 || call->flags & PERCH_FLAG_PID_CGROUP)
		return false;
	return other_leader(call, call->pid, cpu);
}

CHANGE(leader_of_another)
{
	if (call->pid == -1 || call->flags & PERCH_FLAG_PID_CGROUP)
		return false;
	return other_leader(call, call->pid == world->child ? 0 : world->child, call->cpu);
}

CHANGE(member_of_another_cgroup)
{
	if (world->cgroup[1] < 0)
		return false;
	call->pid = world->cgroup[1];
	return true;
}

/* ---- Other settings than those of the leader ---- */

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
	if (world->full_leader < 0 || (call->pid && call->pid != world->self) || call->cpu != -1 ||
	    ATTR->inherit || ATTR->use_clockid || call->subject == SUBJECT_UPROBE)
		return false;
	call->group_fd = world->full_leader;
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
	for (size_t i = 0; i < world->nr_cpus; i++)
		if (world->cpu[i] != call->cpu) {
			call->cpu = world->cpu[i];
			return true;
		}
	return false;
}

#define MEMBER_TASK (WISH_MEMBER | WISH_TASK)

static const struct breakage table[] = {
	{ .name = "group_fd closed", .fields = "group_fd", .change = group_closed },
	{ .name = "group_fd below -1", .fields = "group_fd", .change = group_negative },
	{ .name = "group_fd no event", .fields = "group_fd", .change = group_no_event },
	{ .name = "a member for a leader",
	  .fields = "group_fd",
	  .wish = WISH_MEMBER,
	  .change = member_for_leader },
	{ .name = "a member on another CPU",
	  .fields = "cpu,group_fd",
	  .wish = WISH_MEMBER,
	  .change = member_on_other_cpu },
	{ .name = "a member of another process",
	  .fields = "pid,group_fd",
	  .wish = MEMBER_TASK,
	  .change = member_of_another },
	{ .name = "a member of every process",
	  .fields = "pid,group_fd",
	  .users = FOR_ROOT,
	  .wish = WISH_MEMBER,
	  .change = member_of_everyone },
	{ .name = "a leader on another CPU",
	  .fields = "group_fd,cpu",
	  .wish = WISH_MEMBER,
	  .change = leader_on_other_cpu },
	{ .name = "a leader of another process",
	  .fields = "group_fd,pid",
	  .wish = WISH_MEMBER,
	  .change = leader_of_another },
	{ .name = "a member of another cgroup",
	  .fields = "pid,group_fd",
	  .users = FOR_ROOT,
	  .wish = WISH_MEMBER | WISH_CGROUP,
	  .change = member_of_another_cgroup },
	{ .name = "a member that inherits",
	  .fields = "inherit",
	  .wish = MEMBER_TASK,
	  .change = member_inherits },
	{ .name = "a member that does not inherit",
	  .fields = "inherit",
	  .wish = MEMBER_TASK,
	  .change = member_does_not_inherit },
	{ .name = "a member with a clock",
	  .fields = "clockid,use_clockid",
	  .wish = WISH_MEMBER,
	  .change = member_has_a_clock },
	{ .name = "a member without the clock",
	  .fields = "clockid,use_clockid",
	  .wish = WISH_MEMBER,
	  .change = member_has_no_clock },
	{ .name = "a member with another clock",
	  .fields = "clockid,use_clockid",
	  .wish = WISH_MEMBER,
	  .change = member_has_another_clock },
	{ .name = "a member pinned",
	  .fields = "pinned",
	  .wish = WISH_MEMBER,
	  .change = member_pinned },
	{ .name = "a member exclusive",
	  .fields = "exclusive",
	  .wish = WISH_MEMBER,
	  .change = member_exclusive },
	{ .name = "a group too large to read",
	  .fields = "group_fd,read_format",
	  .wish = WISH_TASK | WISH_ALONE,
	  .change = group_full },
	{ .name = "output into no ring",
	  .fields = "flags,group_fd",
	  .wish = WISH_MEMBER,
	  .change = output_without_ring },
	{ .name = "output in the other direction",
	  .fields = "write_backward,flags,group_fd",
	  .wish = WISH_MEMBER,
	  .change = output_backward },
	{ .name = "output with another clock",
	  .fields = "clockid,use_clockid,flags,group_fd",
	  .wish = WISH_MEMBER,
	  .change = output_with_a_clock },
	{ .name = "output of another CPU",
	  .fields = "cpu,flags,group_fd",
	  .wish = WISH_MEMBER,
	  .change = output_of_another_cpu },
};

const struct breakages group_breakages = { table, COUNT_OF(table) };

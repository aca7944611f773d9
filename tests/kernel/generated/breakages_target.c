/* SPDX-License-Identifier: MIT */
/* Breakages of target and flags. */
#include <sys/resource.h>
#include <unistd.h>

#include "breakages.h"

#define CGROUP_TARGET (call->flags & PERCH_FLAG_PID_CGROUP)

CHANGE(call_flags)
{
	call->flags |= UINT64_C(1) << (4 + build_below(rng, 60));
	return true;
}

/* ---- Threads ---- */

static bool measure(struct generated_call *call, pid_t pid)
{
	call->pid = pid;
	return pid && !CGROUP_TARGET;
}

CHANGE(pid_gone)
{
	return measure(call, world->gone);
}

CHANGE(pid_zombie)
{
	return measure(call, world->zombie);
}

CHANGE(pid_absent)
{
	return measure(call, 1000000000 + (pid_t)build_below(rng, 1000000000));
}

CHANGE(pid_negative)
{
	return measure(call, -2 - (pid_t)build_below(rng, 1 << 30));
}

CHANGE(pid_foreign)
{
	return measure(call, world->foreign);
}

CHANGE(pid_first)
{
	return measure(call, 1);
}

CHANGE(pid_undumpable)
{
	return measure(call, world->undumpable);
}

/* ---- CPUs ---- */

CHANGE(cpu_absent)
{
	call->cpu = world->first_absent_cpu + (build_random(rng) >> (33 + build_below(rng, 31)));
	return call->cpu >= world->first_absent_cpu;
}

CHANGE(cpu_negative)
{
	call->cpu = -2 - (int)build_below(rng, 1 << 30);
	return !CGROUP_TARGET;
}

/* Every process on every CPU: from either argument. */
CHANGE(everything_by_pid)
{
	call->pid = -1;
	ATTR->sigtrap = 0;
	return call->cpu == -1 && !CGROUP_TARGET;
}

CHANGE(everything_by_cpu)
{
	call->cpu = -1;
	return call->pid == -1;
}

CHANGE(cpu_wide)
{
	call->pid = -1;
	call->cpu = world->cpu[build_below(rng, world->nr_cpus)];
	ATTR->sigtrap = 0;
	return !CGROUP_TARGET;
}

CHANGE(sigtrap_everywhere)
{
	ATTR->sigtrap = ATTR->remove_on_exec = 1;
	ATTR->enable_on_exec = 0;
	return true;
}

/* ---- cgroups ---- */

CHANGE(cgroup_every_cpu)
{
	call->cpu = -1;
	return CGROUP_TARGET;
}

CHANGE(cgroup_none)
{
	call->pid = -1;
	return CGROUP_TARGET;
}

CHANGE(cgroup_closed)
{
	call->pid = 1000000 + (int)build_below(rng, 1000000);
	return CGROUP_TARGET;
}

CHANGE(cgroup_other_directory)
{
	call->pid = world->directory_fd;
	return CGROUP_TARGET;
}

CHANGE(cgroup_no_directory)
{
	call->pid = world->null_fd;
	return CGROUP_TARGET;
}

/* A pid where a descriptor belongs: PERF_FLAG_PID_CGROUP is set by mistake. */
CHANGE(cgroup_flag)
{
	call->flags |= PERCH_FLAG_PID_CGROUP;
	ATTR->sigtrap = 0;
	return call->pid > 0 && call->cpu != -1;
}

CHANGE(cgroup_as_user)
{
	call->flags |= PERCH_FLAG_PID_CGROUP;
	call->pid = world->cgroup[0];
	call->cpu = world->cpu[0];
	ATTR->sigtrap = 0;
	return world->cgroup[0] >= 0;
}

/* ---- What an unprivileged user must not measure ---- */

CHANGE(kernel_included)
{
	ATTR->exclude_kernel = 0;
	return true;
}

CHANGE(kernel_by_user_excluded)
{
	ATTR->exclude_kernel = 0;
	ATTR->exclude_user = 1;
	return true;
}

CHANGE(kernel_address)
{
	ATTR->bp_addr = UINT64_C(0xffffffff81000000);
	ATTR->exclude_kernel = 0;
	return true;
}

CHANGE(sigtrap_to_foreign)
{
	sigtrap_everywhere(world, rng, call);
	return measure(call, world->foreign);
}

/* Lowers RLIMIT_NOFILE so that no descriptor is free. */
CHANGE(descriptors)
{
	struct rlimit limit;
	int lowest = dup(world->null_fd);

	if (lowest < 0)
		return false;
	close(lowest);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = lowest;
	call->few_descriptors = !setrlimit(RLIMIT_NOFILE, &limit);
	return call->few_descriptors;
}

static const struct breakage table[] = {
	{ .name = "an unknown flag", .fields = "flags", .change = call_flags },
	{ .name = "pid of a process that is gone",
	  .fields = "pid",
	  .wish = WISH_ALONE,
	  .change = pid_gone },
	{ .name = "pid of a zombie", .fields = "pid", .wish = WISH_ALONE, .change = pid_zombie },
	{ .name = "pid that never was", .fields = "pid", .change = pid_absent },
	{ .name = "pid below -1", .fields = "pid", .change = pid_negative },
	{ .name = "pid of another user",
	  .fields = "pid",
	  .users = FOR_USER,
	  .wish = WISH_ALONE,
	  .change = pid_foreign },
	{ .name = "pid 1",
	  .fields = "pid",
	  .users = FOR_USER,
	  .wish = WISH_ALONE,
	  .change = pid_first },
	{ .name = "pid of a process that may not be dumped",
	  .fields = "pid",
	  .users = FOR_USER,
	  .wish = WISH_ALONE,
	  .change = pid_undumpable },
	{ .name = "cpu that is not there", .fields = "cpu", .change = cpu_absent },
	{ .name = "cpu below -1", .fields = "cpu", .change = cpu_negative },
	{ .name = "pid -1 and cpu -1",
	  .fields = "pid,cpu",
	  .wish = WISH_TASK | WISH_ALONE,
	  .change = everything_by_pid },
	{ .name = "cpu -1 for every process",
	  .fields = "pid,cpu",
	  .users = FOR_ROOT,
	  .wish = WISH_CPU,
	  .change = everything_by_cpu },
	{ .name = "every process of a CPU",
	  .fields = "pid,cpu",
	  .users = FOR_USER,
	  .wish = WISH_ALONE,
	  .change = cpu_wide },
	{ .name = "sigtrap for every process",
	  .fields = "sigtrap,pid",
	  .users = FOR_ROOT,
	  .wish = WISH_CPU,
	  .change = sigtrap_everywhere },
	{ .name = "sigtrap in a cgroup",
	  .fields = "sigtrap,flags",
	  .users = FOR_ROOT,
	  .wish = WISH_CGROUP,
	  .change = sigtrap_everywhere },
	{ .name = "a cgroup on every CPU",
	  .fields = "cpu",
	  .users = FOR_ROOT,
	  .wish = WISH_CGROUP,
	  .change = cgroup_every_cpu },
	{ .name = "a cgroup and pid -1",
	  .fields = "pid",
	  .users = FOR_ROOT,
	  .wish = WISH_CGROUP,
	  .change = cgroup_none },
	{ .name = "a cgroup's descriptor closed",
	  .fields = "pid",
	  .users = FOR_ROOT,
	  .wish = WISH_CGROUP | WISH_ALONE,
	  .change = cgroup_closed },
	{ .name = "a directory that is no cgroup",
	  .fields = "pid",
	  .users = FOR_ROOT,
	  .wish = WISH_CGROUP | WISH_ALONE,
	  .change = cgroup_other_directory },
	{ .name = "a cgroup that is no directory",
	  .fields = "pid",
	  .users = FOR_ROOT,
	  .wish = WISH_CGROUP | WISH_ALONE,
	  .change = cgroup_no_directory },
	{ .name = "PID_CGROUP with a process's number",
	  .fields = "pid,flags",
	  .users = FOR_ROOT,
	  .wish = WISH_ALONE,
	  .change = cgroup_flag },
	{ .name = "a cgroup as a user",
	  .fields = "pid,flags,cpu",
	  .users = FOR_USER,
	  .wish = WISH_ALONE,
	  .change = cgroup_as_user },
	{ .name = "exclude_kernel cleared",
	  .fields = "exclude_kernel",
	  .users = FOR_USER,
	  .weight = 300,
	  .change = kernel_included },
	{ .name = "exclude_user for exclude_kernel",
	  .fields = "exclude_kernel",
	  .users = FOR_USER,
	  .change = kernel_by_user_excluded },
	{ .name = "a breakpoint in the kernel",
	  .fields = "exclude_kernel,bp_addr",
	  .users = FOR_USER,
	  .wish = WISH_BREAKPOINT,
	  .change = kernel_address },
	{ .name = "sigtrap to another user's process",
	  .fields = "pid,sigtrap",
	  .users = FOR_USER,
	  .wish = WISH_ALONE,
	  .change = sigtrap_to_foreign },
	{ .name = "no descriptor left",
	  .cause = PERCH_CAUSE_DESCRIPTORS,
	  .alone = true,
	  .change = descriptors },
};

const struct breakages target_breakages = { table, COUNT_OF(table) };

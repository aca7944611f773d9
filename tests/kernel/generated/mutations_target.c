/* SPDX-License-Identifier: MIT */
/* Mutations of target and flags. */
#include <sys/resource.h>
#include <unistd.h>

#include "mutations.h"

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
	return measure(call, env->gone);
}

CHANGE(pid_zombie)
{
	return measure(call, env->zombie);
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
	return measure(call, env->foreign);
}

CHANGE(pid_first)
{
	return measure(call, 1);
}

CHANGE(pid_not_dumpable)
{
	return measure(call, env->not_dumpable);
}

/* ---- CPUs ---- */

CHANGE(cpu_absent)
{
	call->cpu = env->first_absent_cpu + (build_random(rng) >> (33 + build_below(rng, 31)));
	return call->cpu >= env->first_absent_cpu;
}

CHANGE(cpu_negative)
{
	call->cpu = -2 - (int)build_below(rng, 1 << 30);
	return !CGROUP_TARGET;
}

/* All processes on all CPUs: one mutation changes pid, the other one cpu. */
CHANGE(all_processes_by_pid)
{
	call->pid = -1;
	ATTR->sigtrap = 0;
	return call->cpu == -1 && !CGROUP_TARGET;
}

CHANGE(all_processes_by_cpu)
{
	call->cpu = -1;
	return call->pid == -1;
}

CHANGE(all_processes_of_cpu)
{
	call->pid = -1;
	call->cpu = env->cpu[build_below(rng, env->nr_cpus)];
	ATTR->sigtrap = 0;
	return !CGROUP_TARGET;
}

CHANGE(set_sigtrap)
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
	call->pid = env->directory_fd;
	return CGROUP_TARGET;
}

CHANGE(cgroup_no_directory)
{
	call->pid = env->null_fd;
	return CGROUP_TARGET;
}

/* Sets PERF_FLAG_PID_CGROUP although pid is not a descriptor. */
CHANGE(cgroup_flag)
{
	call->flags |= PERCH_FLAG_PID_CGROUP;
	ATTR->sigtrap = 0;
	return call->pid > 0 && call->cpu != -1;
}

CHANGE(cgroup_as_user)
{
	call->flags |= PERCH_FLAG_PID_CGROUP;
	call->pid = env->cgroup[0];
	call->cpu = env->cpu[0];
	ATTR->sigtrap = 0;
	return env->cgroup[0] >= 0;
}

/* ---- Targets that need privilege ---- */

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
	set_sigtrap(env, rng, call);
	return measure(call, env->foreign);
}

/* Lowers RLIMIT_NOFILE so that no descriptor is free. */
CHANGE(descriptors)
{
	struct rlimit limit;
	int lowest = dup(env->null_fd);

	if (lowest < 0)
		return false;
	close(lowest);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = lowest;
	call->few_descriptors = !setrlimit(RLIMIT_NOFILE, &limit);
	return call->few_descriptors;
}

static const struct mutation table[] = {
	{ .name = "an unknown flag", .fields = "flags", .change = call_flags },
	{ .name = "pid of a process that has exited",
	  .fields = "pid",
	  .requirements = REQUIRE_NO_GROUP,
	  .change = pid_gone },
	{ .name = "pid of a zombie",
	  .fields = "pid",
	  .requirements = REQUIRE_NO_GROUP,
	  .change = pid_zombie },
	{ .name = "pid that was never used", .fields = "pid", .change = pid_absent },
	{ .name = "pid below -1", .fields = "pid", .change = pid_negative },
	{ .name = "pid of another user",
	  .fields = "pid",
	  .users = FOR_USER,
	  .requirements = REQUIRE_NO_GROUP,
	  .change = pid_foreign },
	{ .name = "pid 1",
	  .fields = "pid",
	  .users = FOR_USER,
	  .requirements = REQUIRE_NO_GROUP,
	  .change = pid_first },
	{ .name = "pid of a process that is not dumpable",
	  .fields = "pid",
	  .users = FOR_USER,
	  .requirements = REQUIRE_NO_GROUP,
	  .change = pid_not_dumpable },
	{ .name = "cpu that does not exist", .fields = "cpu", .change = cpu_absent },
	{ .name = "cpu below -1", .fields = "cpu", .change = cpu_negative },
	{ .name = "pid -1 and cpu -1",
	  .fields = "pid,cpu",
	  .requirements = REQUIRE_TASK | REQUIRE_NO_GROUP,
	  .change = all_processes_by_pid },
	{ .name = "cpu -1 for all processes",
	  .fields = "pid,cpu",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_CPU,
	  .change = all_processes_by_cpu },
	{ .name = "all processes of a CPU",
	  .fields = "pid,cpu",
	  .users = FOR_USER,
	  .requirements = REQUIRE_NO_GROUP,
	  .change = all_processes_of_cpu },
	{ .name = "sigtrap for all processes",
	  .fields = "sigtrap,pid",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_CPU,
	  .uses = FEATURE_REMOVE_ON_EXEC | FEATURE_SIGTRAP,
	  .change = set_sigtrap },
	{ .name = "sigtrap in a cgroup",
	  .fields = "sigtrap,flags",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_CGROUP,
	  .uses = FEATURE_REMOVE_ON_EXEC | FEATURE_SIGTRAP,
	  .change = set_sigtrap },
	{ .name = "a cgroup on every CPU",
	  .fields = "cpu",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_CGROUP,
	  .change = cgroup_every_cpu },
	{ .name = "a cgroup and pid -1",
	  .fields = "pid",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_CGROUP,
	  .change = cgroup_none },
	{ .name = "a cgroup's descriptor closed",
	  .fields = "pid",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_CGROUP | REQUIRE_NO_GROUP,
	  .change = cgroup_closed },
	{ .name = "a directory that is not a cgroup",
	  .fields = "pid",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_CGROUP | REQUIRE_NO_GROUP,
	  .change = cgroup_other_directory },
	{ .name = "a cgroup descriptor that is not a directory",
	  .fields = "pid",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_CGROUP | REQUIRE_NO_GROUP,
	  .change = cgroup_no_directory },
	{ .name = "PID_CGROUP with the pid of a process",
	  .fields = "pid,flags",
	  .users = FOR_ROOT,
	  .requirements = REQUIRE_NO_GROUP,
	  .change = cgroup_flag },
	{ .name = "a cgroup as a user",
	  .fields = "pid,flags,cpu",
	  .users = FOR_USER,
	  .requirements = REQUIRE_NO_GROUP,
	  .change = cgroup_as_user },
	{ .name = "exclude_kernel cleared",
	  .fields = "exclude_kernel",
	  .users = FOR_USER,
	  .weight = 300,
	  .change = kernel_included },
	{ .name = "exclude_user instead of exclude_kernel",
	  .fields = "exclude_kernel",
	  .users = FOR_USER,
	  .change = kernel_by_user_excluded },
	{ .name = "a breakpoint in the kernel",
	  .fields = "exclude_kernel,bp_addr",
	  .users = FOR_USER,
	  .requirements = REQUIRE_BREAKPOINT,
	  .change = kernel_address },
	{ .name = "sigtrap to another user's process",
	  .fields = "pid,sigtrap",
	  .users = FOR_USER,
	  .requirements = REQUIRE_NO_GROUP,
	  .uses = FEATURE_REMOVE_ON_EXEC | FEATURE_SIGTRAP,
	  .change = sigtrap_to_foreign },
	{ .name = "no descriptor left",
	  .cause = PERCH_CAUSE_DESCRIPTORS,
	  .alone = true,
	  .change = descriptors },
};

const struct mutations target_mutations = { table, COUNT_OF(table) };

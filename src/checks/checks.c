/* SPDX-License-Identifier: MIT */
/* The table of the checks. */
#include <errno.h>
#include <stdlib.h>

#include "base/reserved.h"
#include "base/no_memory.h"
#include "internal.h"

/* Groups, in the order of the output. */
#define GROUP_PROGRAMS	  "Your own programs"
#define GROUP_SYSTEM_WIDE "The whole system"
#define GROUP_PROBES	  "Probes and programs in the kernel"
#define GROUP_KERNEL	  "Kernel"
#define GROUP_PERMISSIONS "Permissions"
#define GROUP_LIMITS	  "Limits"
#define GROUP_SYSTEM	  "System settings"

static const struct {
	const char *id, *group, *title;
	perch__check *check;
} table[] = {
	{ "count-user", GROUP_PROGRAMS, "count in user space", perch__check_count_user },
	{ "count-kernel", GROUP_PROGRAMS, "count in the kernel", perch__check_count_kernel },
	{ "clock", GROUP_PROGRAMS, "sample by a software clock", perch__check_clock },
	{ "cycles", GROUP_PROGRAMS, "hardware events (cycles)", perch__check_cycles },
	{ "sample", GROUP_PROGRAMS, "profile in user space", perch__check_sample },
	{ "sample-kernel", GROUP_PROGRAMS, "profile in the kernel", perch__check_sample_kernel },
	{ "callchains", GROUP_PROGRAMS, "call chains", perch__check_callchains },
	{ "off-cpu", GROUP_PROGRAMS, "time off the CPU", perch__check_off_cpu },
	{ "precise", GROUP_PROGRAMS, "precise samples", perch__check_precise },
	{ "branch-stacks", GROUP_PROGRAMS, "branch stacks", perch__check_branches },
	{ "breakpoints", GROUP_PROGRAMS, "data breakpoints", perch__check_breakpoint_user },
	{ "system-wide", GROUP_SYSTEM_WIDE, "all processes on a CPU", perch__check_system_wide },
	{ "other-users", GROUP_SYSTEM_WIDE, "processes of other users", perch__check_other_users },
	{ "cgroups", GROUP_SYSTEM_WIDE, "cgroups", perch__check_cgroups },
	{ "tracepoints", GROUP_PROBES, "count tracepoints", perch__check_tracepoint_count },
	{ "tracepoint-data", GROUP_PROBES, "tracepoint data", perch__check_tracepoint_raw },
	{ "uprobes", GROUP_PROBES, "uprobes", perch__check_uprobes },
	{ "kprobes", GROUP_PROBES, "kprobes", perch__check_kprobes },
	{ "kernel-breakpoints", GROUP_PROBES, "kernel breakpoints",
	  perch__check_breakpoint_kernel },
	{ "bpf", GROUP_PROBES, "BPF programs on events", perch__check_bpf },
	{ "kernel", GROUP_KERNEL, "release", perch__check_release },
	{ "attr-size", GROUP_KERNEL, "perf_event_attr size", perch__check_attr_size },
	{ "pmus", GROUP_KERNEL, "PMUs", perch__check_pmus },
	{ "core-pmu", GROUP_KERNEL, "core PMU", perch__check_core_pmu },
	{ "paranoid", GROUP_PERMISSIONS, "perf_event_paranoid", perch__check_paranoid },
	{ "capabilities", GROUP_PERMISSIONS, "capabilities", perch__check_capabilities },
	{ "seccomp", GROUP_PERMISSIONS, "seccomp", perch__check_seccomp },
	{ "container", GROUP_PERMISSIONS, "container", perch__check_container },
	{ "user-namespace", GROUP_PERMISSIONS, "user namespace", perch__check_user_namespace },
	{ "lockdown", GROUP_PERMISSIONS, "lockdown", perch__check_lockdown },
	{ "security-modules", GROUP_PERMISSIONS, "security modules",
	  perch__check_security_modules },
	{ "rings", GROUP_LIMITS, "ring memory", perch__check_rings },
	{ "descriptors", GROUP_LIMITS, "file descriptors", perch__check_descriptors },
	{ "sample-rate", GROUP_LIMITS, "sample rate", perch__check_sample_rate },
	{ "sample-cost", GROUP_LIMITS, "cost of a sample", perch__check_sample_cost },
	{ "stack-depth", GROUP_LIMITS, "call chain depth", perch__check_stack_depth },
	{ "tracefs", GROUP_SYSTEM, "tracefs", perch__check_tracefs },
	{ "kernel-symbols", GROUP_SYSTEM, "kernel symbols", perch__check_kernel_symbols },
	{ "bpf-settings", GROUP_SYSTEM, "BPF settings", perch__check_bpf_settings },
	{ "nmi-watchdog", GROUP_SYSTEM, "NMI watchdog", perch__check_watchdog },
	{ "cpus", GROUP_SYSTEM, "CPUs", perch__check_cpus },
	{ "vdso", GROUP_SYSTEM, "vDSO", perch__check_vdso },
};
_Static_assert(PERCH__NR(table) <= PERCH__CHECKS_MAX, "each check needs a result");

static void run_all(struct perch_checks *checks)
{
	for (size_t i = 0; i < PERCH__NR(table); i++) {
		struct perch_check *result = &checks->result[i];

		*result = (struct perch_check){
			.id = table[i].id,
			.group = table[i].group,
			.title = table[i].title,
		};
		table[i].check(checks, result);
		checks->nr++; /* later checks read the results so far */
	}
	perch__check_merge_capabilities(checks);
}

int perch_checks_run(struct perch_checks **checks, const struct perch_checks_options *options,
		     struct perch_error *err)
{
	struct perch_checks *new = calloc(1, sizeof(*new));
	struct perch_machine *own = NULL;
	int rc;

	*checks = NULL;
	if (PERCH__CHECK_RESERVED(options, "perch_checks_options", err)) {
		free(new);
		return -EINVAL;
	}
	if (!new)
		return PERCH__NO_MEMORY(err, "for the results");
	if (options)
		new->options = *options;
	if (!new->options.program)
		new->options.program = "perch";
	rc = new->options.machine ? 0 : perch_machine_new(&own, NULL, NULL, err);
	if (rc) {
		free(new);
		return rc;
	}
	new->machine = own ? own : new->options.machine;
	run_all(new);
	new->machine = NULL; /* the caller may free it */
	perch_machine_free(own);
	*checks = new;
	return 0;
}

void perch_checks_free(struct perch_checks *checks)
{
	free(checks);
}

size_t perch_checks_results(const struct perch_checks *checks, const struct perch_check **results)
{
	*results = checks->result;
	return checks->nr;
}

/* As perch doctor's summary and exit status have it. */
bool perch_checks_usable(const struct perch_checks *checks)
{
	const struct perch_check *sample = perch_checks_find(checks, "sample");

	return sample &&
	       (sample->status == PERCH_CHECK_OK || sample->status == PERCH_CHECK_LIMITED);
}

const char *perch_check_status_name(enum perch_check_status status)
{
	static const char *const names[PERCH_CHECK_STATUSES] = {
		[PERCH_CHECK_OK] = "ok",
		[PERCH_CHECK_LIMITED] = "limited",
		[PERCH_CHECK_NO] = "no",
		[PERCH_CHECK_UNKNOWN] = "unknown",
	};

	return (unsigned)status < PERCH__NR(names) ? names[status] : "unknown";
}

/* SPDX-License-Identifier: MIT */
/* The table of the checks of perch doctor. */
#include "doctor.h"
#include "options.h"

static const struct {
	const char *id, *group, *title;
	doctor_check *check;
} checks[] = {
	{ "count-user", DOCTOR_GROUP_PROGRAMS, "count in user space", doctor_count_user },
	{ "count-kernel", DOCTOR_GROUP_PROGRAMS, "count in the kernel", doctor_count_kernel },
	{ "clock", DOCTOR_GROUP_PROGRAMS, "sample by a software clock", doctor_clock },
	{ "cycles", DOCTOR_GROUP_PROGRAMS, "hardware events (cycles)", doctor_cycles },
	{ "sample", DOCTOR_GROUP_PROGRAMS, "profile in user space", doctor_sample },
	{ "sample-kernel", DOCTOR_GROUP_PROGRAMS, "profile in the kernel", doctor_sample_kernel },
	{ "callchains", DOCTOR_GROUP_PROGRAMS, "call chains", doctor_callchains },
	{ "precise", DOCTOR_GROUP_PROGRAMS, "precise samples", doctor_precise },
	{ "branch-stacks", DOCTOR_GROUP_PROGRAMS, "branch stacks", doctor_branches },
	{ "breakpoints", DOCTOR_GROUP_PROGRAMS, "data breakpoints", doctor_breakpoint_user },
	{ "system-wide", DOCTOR_GROUP_SYSTEM_WIDE, "all processes on a CPU", doctor_system_wide },
	{ "other-users", DOCTOR_GROUP_SYSTEM_WIDE, "processes of other users", doctor_other_users },
	{ "cgroups", DOCTOR_GROUP_SYSTEM_WIDE, "cgroups", doctor_cgroups },
	{ "tracepoints", DOCTOR_GROUP_PROBES, "count tracepoints", doctor_tracepoint_count },
	{ "tracepoint-data", DOCTOR_GROUP_PROBES, "tracepoint data", doctor_tracepoint_raw },
	{ "uprobes", DOCTOR_GROUP_PROBES, "uprobes", doctor_uprobes },
	{ "kprobes", DOCTOR_GROUP_PROBES, "kprobes", doctor_kprobes },
	{ "kernel-breakpoints", DOCTOR_GROUP_PROBES, "kernel breakpoints",
	  doctor_breakpoint_kernel },
	{ "bpf", DOCTOR_GROUP_PROBES, "BPF programs on events", doctor_bpf },
	{ "kernel", DOCTOR_GROUP_KERNEL, "release", doctor_release },
	{ "attr-size", DOCTOR_GROUP_KERNEL, "perf_event_attr size", doctor_attr_size },
	{ "pmus", DOCTOR_GROUP_KERNEL, "PMUs", doctor_pmus },
	{ "core-pmu", DOCTOR_GROUP_KERNEL, "core PMU", doctor_core_pmu },
	{ "paranoid", DOCTOR_GROUP_PERMISSIONS, "perf_event_paranoid", doctor_paranoid },
	{ "capabilities", DOCTOR_GROUP_PERMISSIONS, "capabilities", doctor_capabilities },
	{ "seccomp", DOCTOR_GROUP_PERMISSIONS, "seccomp", doctor_seccomp },
	{ "container", DOCTOR_GROUP_PERMISSIONS, "container", doctor_container },
	{ "user-namespace", DOCTOR_GROUP_PERMISSIONS, "user namespace", doctor_user_namespace },
	{ "lockdown", DOCTOR_GROUP_PERMISSIONS, "lockdown", doctor_lockdown },
	{ "security-modules", DOCTOR_GROUP_PERMISSIONS, "security modules",
	  doctor_security_modules },
	{ "rings", DOCTOR_GROUP_LIMITS, "ring memory", doctor_rings },
	{ "descriptors", DOCTOR_GROUP_LIMITS, "file descriptors", doctor_descriptors },
	{ "sample-rate", DOCTOR_GROUP_LIMITS, "sample rate", doctor_sample_rate },
	{ "stack-depth", DOCTOR_GROUP_LIMITS, "call chain depth", doctor_stack_depth },
	{ "tracefs", DOCTOR_GROUP_SYSTEM, "tracefs", doctor_tracefs },
	{ "kernel-symbols", DOCTOR_GROUP_SYSTEM, "kernel symbols", doctor_kernel_symbols },
	{ "bpf-settings", DOCTOR_GROUP_SYSTEM, "BPF settings", doctor_bpf_settings },
	{ "nmi-watchdog", DOCTOR_GROUP_SYSTEM, "NMI watchdog", doctor_watchdog },
	{ "cpus", DOCTOR_GROUP_SYSTEM, "CPUs", doctor_cpus },
	{ "vdso", DOCTOR_GROUP_SYSTEM, "vDSO", doctor_vdso },
};
_Static_assert(CLI_NR(checks) <= DOCTOR_MAX, "each check needs a result");

void doctor_run_checks(struct doctor *doctor)
{
	const struct doctor_result *sample;

	for (size_t i = 0; i < CLI_NR(checks); i++) {
		struct doctor_result *result = &doctor->result[i];

		*result = (struct doctor_result){
			.id = checks[i].id,
			.group = checks[i].group,
			.title = checks[i].title,
		};
		checks[i].check(doctor, result);
		doctor->nr++; /* later checks read the results so far */
	}
	doctor_merge_capabilities(doctor);
	sample = doctor_find_result(doctor, "sample");
	doctor->usable = sample &&
			 (sample->status == DOCTOR_OK || sample->status == DOCTOR_LIMITED);
}

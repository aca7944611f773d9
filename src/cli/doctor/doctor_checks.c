/* SPDX-License-Identifier: MIT */
/* The checks of perch doctor, and what they put their findings into. */
#include <stdarg.h>
#include <string.h>

#include "doctor.h"
#include "options.h"

static const struct {
	const char *id, *group, *title;
	doctor_look *look;
} checks[] = {
	{ "count-user", DOCTOR_OWN, "count in user space", doctor_count_user },
	{ "count-kernel", DOCTOR_OWN, "count with the kernel's side", doctor_count_kernel },
	{ "clock", DOCTOR_OWN, "sample by the clock", doctor_clock },
	{ "cycles", DOCTOR_OWN, "hardware events (cycles)", doctor_cycles },
	{ "sample", DOCTOR_OWN, "profile in user space", doctor_sample },
	{ "sample-kernel", DOCTOR_OWN, "profile with the kernel's side", doctor_sample_kernel },
	{ "callchains", DOCTOR_OWN, "callchains", doctor_callchains },
	{ "precise", DOCTOR_OWN, "precise samples", doctor_precise },
	{ "branch-stacks", DOCTOR_OWN, "branch stacks", doctor_branches },
	{ "breakpoints", DOCTOR_OWN, "breakpoints on data", doctor_breakpoint_user },
	{ "system-wide", DOCTOR_WIDE, "every process of a CPU", doctor_system_wide },
	{ "other-users", DOCTOR_WIDE, "other users' processes", doctor_other_users },
	{ "cgroups", DOCTOR_WIDE, "cgroups", doctor_cgroups },
	{ "tracepoints", DOCTOR_PROBES, "count tracepoints", doctor_tracepoint_count },
	{ "tracepoint-data", DOCTOR_PROBES, "data of tracepoints", doctor_tracepoint_raw },
	{ "uprobes", DOCTOR_PROBES, "uprobes", doctor_uprobes },
	{ "kprobes", DOCTOR_PROBES, "kprobes", doctor_kprobes },
	{ "kernel-breakpoints", DOCTOR_PROBES, "breakpoints in the kernel",
	  doctor_breakpoint_kernel },
	{ "bpf", DOCTOR_PROBES, "BPF programs on events", doctor_bpf },
	{ "kernel", DOCTOR_KERNEL, "release", doctor_release },
	{ "attr-size", DOCTOR_KERNEL, "size of perf_event_attr", doctor_attr_size },
	{ "pmus", DOCTOR_KERNEL, "PMUs", doctor_pmus },
	{ "core-pmu", DOCTOR_KERNEL, "PMU of the cores", doctor_core_pmu },
	{ "paranoid", DOCTOR_RIGHTS, "perf_event_paranoid", doctor_paranoid },
	{ "capabilities", DOCTOR_RIGHTS, "capabilities", doctor_capabilities },
	{ "seccomp", DOCTOR_RIGHTS, "seccomp", doctor_seccomp },
	{ "container", DOCTOR_RIGHTS, "container", doctor_container },
	{ "user-namespace", DOCTOR_RIGHTS, "user namespace", doctor_user_namespace },
	{ "lockdown", DOCTOR_RIGHTS, "lockdown", doctor_lockdown },
	{ "security-modules", DOCTOR_RIGHTS, "security modules", doctor_security_modules },
	{ "rings", DOCTOR_LIMITS, "memory for rings", doctor_rings },
	{ "descriptors", DOCTOR_LIMITS, "descriptors", doctor_descriptors },
	{ "sample-rate", DOCTOR_LIMITS, "samples a second", doctor_sample_rate },
	{ "stack-depth", DOCTOR_LIMITS, "callchain depth", doctor_stack_depth },
	{ "tracefs", DOCTOR_SYSTEM, "tracefs", doctor_tracefs },
	{ "kernel-symbols", DOCTOR_SYSTEM, "kernel symbols", doctor_kernel_symbols },
	{ "bpf-settings", DOCTOR_SYSTEM, "BPF settings", doctor_bpf_settings },
	{ "nmi-watchdog", DOCTOR_SYSTEM, "NMI watchdog", doctor_watchdog },
	{ "cpus", DOCTOR_SYSTEM, "CPUs", doctor_cpus },
	{ "vdso", DOCTOR_SYSTEM, "vDSO", doctor_vdso },
};
_Static_assert(CLI_NR(checks) <= DOCTOR_MAX, "a result for each check");

void doctor_examine(struct doctor *doctor)
{
	const struct doctor_result *sample;

	for (size_t i = 0; i < CLI_NR(checks); i++) {
		struct doctor_result *result = &doctor->result[i];

		*result = (struct doctor_result){
			.id = checks[i].id,
			.group = checks[i].group,
			.title = checks[i].title,
		};
		checks[i].look(doctor, result);
		doctor->nr++; /* seen by those that follow */
	}
	sample = doctor_result_of(doctor, "sample");
	doctor->usable = sample &&
			 (sample->status == DOCTOR_OK || sample->status == DOCTOR_LIMITED);
}

const struct doctor_result *doctor_result_of(const struct doctor *doctor, const char *id)
{
	for (size_t i = 0; i < doctor->nr; i++)
		if (!strcmp(doctor->result[i].id, id))
			return &doctor->result[i];
	return NULL;
}

__attribute__((format(printf, 3, 0))) static void put(char *text, size_t size, const char *format,
						      va_list list)
{
	char raw[640];

	vsnprintf(raw, sizeof(raw), format, list);
	perch_clean_text(text, size, raw);
}

void doctor_value(struct doctor_result *result, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	put(result->value, sizeof(result->value), format, list);
	va_end(list);
}

void doctor_reason(struct doctor_result *result, enum doctor_status status, const char *format, ...)
{
	va_list list;

	result->status = status;
	va_start(list, format);
	put(result->reason, sizeof(result->reason), format, list);
	va_end(list);
}

void doctor_change(struct doctor_result *result, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	put(result->change, sizeof(result->change), format, list);
	va_end(list);
}

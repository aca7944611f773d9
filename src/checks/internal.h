/* SPDX-License-Identifier: MIT */
/*
 * A table of checks. Each check fills one result, and may read those before it. A file calls only
 * files below its own:
 *
 *	checks.c	the table of checks; runs them in its order
 *	probes.c	uprobes, kprobes, BPF programs
 *	cgroups.c	cgroups
 *	rights.c	perf_event_paranoid, capabilities, sandboxes, lockdown
 *	events.c	checks that open events
 *	system.c	tracefs, kernel symbols, BPF settings, watchdog, CPUs
 *	limits.c	ring memory, descriptors, sample rate and cost, stack depth
 *	kernel.c	release, attr size, PMUs, the kernel log
 *	changes.c	changes that would permit an operation
 *	result.c	texts of a result, lookup of a result
 */
#ifndef PERCH_CHECKS_INTERNAL_H
#define PERCH_CHECKS_INTERNAL_H

#include <stdio.h>
#include <perch/checks.h>
#include <perch/explain.h>

#define PERCH__NR(array)  (sizeof(array) / sizeof((array)[0]))
#define PERCH__CHECKS_MAX 64

struct perch_checks {
	struct perch_checks_options options; /* with what NULL stands for */
	struct perch_machine *machine;
	size_t nr;
	struct perch_check result[PERCH__CHECKS_MAX];
};

typedef void perch__check(struct perch_checks *checks, struct perch_check *result);

/* probes.c */
perch__check perch__check_uprobes, perch__check_kprobes, perch__check_bpf;

/* rights.c */
perch__check perch__check_paranoid, perch__check_capabilities, perch__check_seccomp,
	perch__check_container, perch__check_user_namespace;
perch__check perch__check_lockdown, perch__check_security_modules;

/* events.c */
perch__check perch__check_count_user, perch__check_count_kernel, perch__check_clock,
	perch__check_sample_kernel, perch__check_callchains, perch__check_off_cpu,
	perch__check_cycles;
perch__check perch__check_precise, perch__check_branches, perch__check_breakpoint_user,
	perch__check_sample;
perch__check perch__check_system_wide, perch__check_other_users;
perch__check perch__check_breakpoint_kernel, perch__check_tracepoint_count,
	perch__check_tracepoint_raw;
/* Opens an event that lockdown refuses, where the level of lockdown cannot be read. */
perch__check perch__check_detect_lockdown;
/* Fills the result for lockdown at the level confidentiality. */
void perch__check_set_locked_down(struct perch_check *result);

/* Returns 0 or the errno of the open call, which it stores in call too. */
int perch__check_open_and_close(struct perch_checks *checks, struct perch_open_call *call);
int perch__check_first_cpu(struct perch_checks *checks); /* online; 0 if unknown */

/* cgroups.c */
perch__check perch__check_cgroups;

/* system.c */
perch__check perch__check_tracefs, perch__check_kernel_symbols, perch__check_bpf_settings,
	perch__check_watchdog, perch__check_cpus, perch__check_vdso;

/* limits.c */
perch__check perch__check_rings, perch__check_descriptors, perch__check_sample_rate,
	perch__check_sample_cost, perch__check_stack_depth;

/* kernel.c */
perch__check perch__check_release, perch__check_attr_size, perch__check_pmus, perch__check_core_pmu;
/*
 * Copies the last message of the kernel log that contains one of the words. Returns 0, -ENOENT if
 * there is none, or the errno of a log that cannot be read.
 */
int perch__check_find_in_log(const struct perch_checks *checks, const char *const *words, size_t nr,
			     char *text, size_t size);

/* changes.c */
#define PERCH__CAP_BPF	39 /* since Linux 5.8 */
#define PERCH__NO_LEVEL 9  /* no level of kernel.perf_event_paranoid permits it */
/* above it, kernels of some distributions refuse every event without CAP_SYS_ADMIN */
#define PERCH__LEVEL_OF_ANY_EVENT 2

/* Either of both permits an operation. */
struct perch__privilege {
	long level; /* the highest kernel.perf_event_paranoid that permits it, or PERCH__NO_LEVEL */
	const char *capability; /* "perfmon", "sys_admin", "syslog", "bpf" (with perfmon) */
};

/*
 * Whether kernel.perf_event_paranoid refuses every event to this process, as the check count-user
 * has found: then CAP_PERFMON does not help.
 */
bool perch__check_level_refuses_all(const struct perch_checks *checks);
/* Fills cause, reason and change of a refused open call. */
void perch__check_explain_refusal(struct perch_checks *checks, struct perch_check *result,
				  const struct perch_open_call *call,
				  const struct perch__privilege *privilege);
/* Sets the change to the level and the capability, as far as this process can get them. */
void perch__check_suggest_privilege(struct perch_checks *checks, struct perch_check *result,
				    const struct perch__privilege *privilege);
/*
 * setcap replaces all capabilities of a file: gives every setcap command of the results all
 * capabilities that one of them has or that this process has.
 */
void perch__check_merge_capabilities(struct perch_checks *checks);
void perch__check_suggest_pmu(struct perch_checks *checks, struct perch_check *result);
void perch__check_suggest_filter(const struct perch_checks *checks, struct perch_check *result);
void perch__check_suggest_lockdown(struct perch_check *result);
/* Whether the process has a capability in the initial user namespace. */
bool perch__check_has_capability(struct perch_checks *checks, int capability);

/* result.c. Formats a text of a result and replaces control characters. */
void perch__check_value(struct perch_check *result, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void perch__check_reason(struct perch_check *result, enum perch_check_status status,
			 const char *format, ...) __attribute__((format(printf, 3, 4)));
void perch__check_change(struct perch_check *result, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
#endif

/* SPDX-License-Identifier: MIT */
/*
 * perch doctor: a table of checks. Each check fills one result; the results are printed as text or
 * as JSON. A file calls only files below its own:
 *
 *   doctor.c           the command: options, output file, exit status
 *   doctor_print.c     text and JSON
 *   doctor_checks.c    the table of checks; runs them in its order
 *   doctor_probes.c    uprobes, kprobes, BPF programs
 *   doctor_cgroups.c   cgroups
 *   doctor_rights.c    perf_event_paranoid, capabilities, sandboxes, lockdown
 *   doctor_events.c    checks that open events
 *   doctor_system.c    tracefs, kernel symbols, BPF settings, watchdog, CPUs
 *   doctor_limits.c    ring memory, descriptors, sample rate, stack depth
 *   doctor_kernel.c    release, attr size, PMUs, the kernel log
 *   doctor_changes.c   changes that would permit an operation
 *   doctor_result.c    texts of a result, lookup of a result
 */
#ifndef PERCH_CLI_DOCTOR_H
#define PERCH_CLI_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>
#include <perch/explain.h>

#define DOCTOR_COMMAND "doctor"
#define DOCTOR_MAX     64

enum doctor_status {
	DOCTOR_OK,
	DOCTOR_LIMITED, /* a part works, or less than usual */
	DOCTOR_NO,
	DOCTOR_UNKNOWN, /* the check could not find out */
	DOCTOR_STATUSES
};

struct doctor_result {
	const char *id, *group, *title; /* from the table; ids are stable */
	enum doctor_status status;
	const char *cause; /* a slug of perch-causes(7), or NULL */
	char value[256];   /* what the check found; may be empty */
	char reason[640];  /* why the status is not DOCTOR_OK */
	char change[640];  /* the smallest change that would help */
};

struct doctor {
	struct perch_machine *machine;
	/* loads a BPF program for events and unloads it; returns 0 or -errno */
	int (*load_program)(void);
	/* a seccomp filter ends the process at perf_event_open(2): the machine refuses it */
	bool filter_kills;
	size_t nr;
	struct doctor_result result[DOCTOR_MAX];
	bool usable; /* the user's own programs can be sampled */
};

typedef void doctor_check(struct doctor *doctor, struct doctor_result *result);

/* Groups, in the order of the output. */
#define DOCTOR_GROUP_PROGRAMS	 "Your own programs"
#define DOCTOR_GROUP_SYSTEM_WIDE "The whole system"
#define DOCTOR_GROUP_PROBES	 "Probes and programs in the kernel"
#define DOCTOR_GROUP_KERNEL	 "Kernel"
#define DOCTOR_GROUP_PERMISSIONS "Permissions"
#define DOCTOR_GROUP_LIMITS	 "Limits"
#define DOCTOR_GROUP_SYSTEM	 "System settings"

/* doctor_print.c: false after a write error. width 0 does not wrap lines. */
bool doctor_print_text(const struct doctor *doctor, FILE *out, bool colours, unsigned width);
bool doctor_print_json(const struct doctor *doctor, FILE *out);

/* doctor_checks.c */
void doctor_run_checks(struct doctor *doctor);

/* doctor_probes.c */
doctor_check doctor_uprobes, doctor_kprobes, doctor_bpf;

/* doctor_rights.c */
doctor_check doctor_paranoid, doctor_capabilities, doctor_seccomp, doctor_container,
	doctor_user_namespace;
doctor_check doctor_lockdown, doctor_security_modules;

/* doctor_events.c */
doctor_check doctor_count_user, doctor_count_kernel, doctor_clock, doctor_sample_kernel,
	doctor_callchains, doctor_cycles;
doctor_check doctor_precise, doctor_branches, doctor_breakpoint_user, doctor_sample;
doctor_check doctor_system_wide, doctor_other_users;
doctor_check doctor_breakpoint_kernel, doctor_tracepoint_count, doctor_tracepoint_raw;
/* Opens an event that lockdown refuses, where the level of lockdown cannot be read. */
doctor_check doctor_detect_lockdown;
/* Fills the result for lockdown at the level confidentiality. */
void doctor_set_locked_down(struct doctor_result *result);

/* Returns 0 or the errno of the open call, which it stores in call too. */
int doctor_open_and_close(struct doctor *doctor, struct perch_open_call *call);
int doctor_first_cpu(struct doctor *doctor); /* online; 0 if unknown */

/* doctor_cgroups.c */
doctor_check doctor_cgroups;

/* doctor_system.c */
doctor_check doctor_tracefs, doctor_kernel_symbols, doctor_bpf_settings, doctor_watchdog,
	doctor_cpus, doctor_vdso;

/* doctor_limits.c */
doctor_check doctor_rings, doctor_descriptors, doctor_sample_rate, doctor_stack_depth;

/* doctor_kernel.c */
doctor_check doctor_release, doctor_attr_size, doctor_pmus, doctor_core_pmu;
/*
 * Copies the last message of the kernel log that contains one of the words. Returns 0, -ENOENT if
 * there is none, or the errno of a log that cannot be read.
 */
int doctor_find_in_log(const struct doctor *doctor, const char *const *words, size_t nr, char *text,
		       size_t size);

/* doctor_changes.c */
#define DOCTOR_CAP_BPF	39 /* since Linux 5.8 */
#define DOCTOR_NO_LEVEL 9  /* no level of kernel.perf_event_paranoid permits it */
/* above it, kernels of some distributions refuse every event without CAP_SYS_ADMIN */
#define DOCTOR_LEVEL_OF_ANY_EVENT 2

/* Either of both permits an operation. */
struct doctor_privilege {
	long level; /* the highest kernel.perf_event_paranoid that permits it, or DOCTOR_NO_LEVEL */
	const char *capability; /* "perfmon", "sys_admin", "syslog", "bpf" (with perfmon) */
};

/*
 * Whether kernel.perf_event_paranoid refuses every event to this process, as the check count-user
 * has found: then CAP_PERFMON does not help.
 */
bool doctor_level_refuses_all(const struct doctor *doctor);
/* Fills cause, reason and change of a refused open call. */
void doctor_explain_refusal(struct doctor *doctor, struct doctor_result *result,
			    const struct perch_open_call *call,
			    const struct doctor_privilege *privilege);
/* Sets the change to the level and the capability, as far as this process can get them. */
void doctor_suggest_privilege(struct doctor *doctor, struct doctor_result *result,
			      const struct doctor_privilege *privilege);
/*
 * setcap replaces all capabilities of a file: gives every setcap command of the results all
 * capabilities that one of them has or that this process has.
 */
void doctor_merge_capabilities(struct doctor *doctor);
void doctor_suggest_pmu(struct doctor *doctor, struct doctor_result *result);
void doctor_suggest_filter(struct doctor_result *result);
void doctor_suggest_lockdown(struct doctor_result *result);
/* Whether the process has a capability in the initial user namespace. */
bool doctor_has_capability(struct doctor *doctor, int capability);

/* doctor_result.c. Formats a text of a result and replaces control characters. */
void doctor_set_value(struct doctor_result *result, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void doctor_set_reason(struct doctor_result *result, enum doctor_status status, const char *format,
		       ...) __attribute__((format(printf, 3, 4)));
void doctor_set_change(struct doctor_result *result, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Returns the result of an earlier check, or NULL. */
const struct doctor_result *doctor_find_result(const struct doctor *doctor, const char *id);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * perch doctor: a table of checks, each of which fills a result. Checks that open events are in
 * doctor_try.c, those that read facts in doctor_kernel.c, doctor_rights.c, doctor_limits.c and
 * doctor_system.c.
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
	DOCTOR_LIMITED, /* a part of it, or less than it could be */
	DOCTOR_NO,
	DOCTOR_UNKNOWN, /* nothing tells */
	DOCTOR_STATUSES
};

struct doctor_result {
	const char *id, *group, *title; /* of the table; ids are stable */
	enum doctor_status status;
	const char *cause; /* a slug of perch-causes(7); NULL: none */
	char value[256];   /* what there is; "": nothing to tell */
	char reason[640];  /* why it is not ok */
	char change[640];  /* the smallest change that would help */
};

struct doctor {
	struct perch_machine *machine;
	/* loads a BPF program for events and unloads it: 0 or -errno */
	int (*load_program)(void);
	size_t nr;
	struct doctor_result result[DOCTOR_MAX];
	bool usable; /* own programs can be sampled */
};

typedef void doctor_check(struct doctor *doctor, struct doctor_result *result);

/* Groups in the order in which they are shown. */
#define DOCTOR_GROUP_PROGRAMS	 "Your own programs"
#define DOCTOR_GROUP_SYSTEM_WIDE "The whole machine"
#define DOCTOR_GROUP_PROBES	 "Probes and programs in the kernel"
#define DOCTOR_GROUP_KERNEL	 "The kernel"
#define DOCTOR_GROUP_PERMISSIONS "Rights"
#define DOCTOR_GROUP_LIMITS	 "Limits"
#define DOCTOR_GROUP_SYSTEM	 "The system"

/* doctor_checks.c: does all checks; each is named in the table there. */
void doctor_run_checks(struct doctor *doctor);
/* The result of a check done before; NULL. */
const struct doctor_result *doctor_find_result(const struct doctor *doctor, const char *id);

/* Texts of a result, formatted and cleaned. The last two set the status too. */
void doctor_set_value(struct doctor_result *result, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void doctor_set_reason(struct doctor_result *result, enum doctor_status status, const char *format,
		       ...) __attribute__((format(printf, 3, 4)));
void doctor_set_change(struct doctor_result *result, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* doctor_try.c */
doctor_check doctor_count_user, doctor_count_kernel, doctor_clock, doctor_sample_kernel,
	doctor_callchains, doctor_cycles;
doctor_check doctor_precise, doctor_branches, doctor_breakpoint_user, doctor_sample;
doctor_check doctor_system_wide, doctor_other_users, doctor_cgroups;
doctor_check doctor_breakpoint_kernel, doctor_tracepoint_count, doctor_tracepoint_raw;
/* Finds by an event that lockdown forbids whether it does. */
doctor_check doctor_detect_lockdown;
void doctor_set_locked_down(struct doctor_result *result); /* at the level confidentiality */
/* doctor_probes.c: by permission alone, for a probe that opens changes the program's text. */
doctor_check doctor_uprobes, doctor_kprobes, doctor_bpf;
/* doctor_kernel.c */
doctor_check doctor_release, doctor_attr_size, doctor_pmus, doctor_core_pmu;
/* doctor_rights.c */
doctor_check doctor_paranoid, doctor_capabilities, doctor_seccomp, doctor_container,
	doctor_user_namespace;
doctor_check doctor_lockdown, doctor_security_modules;
/* doctor_limits.c */
doctor_check doctor_rings, doctor_descriptors, doctor_sample_rate, doctor_stack_depth;
/* doctor_system.c */
doctor_check doctor_tracefs, doctor_kernel_symbols, doctor_bpf_settings, doctor_watchdog,
	doctor_cpus, doctor_vdso;

/* doctor_changes.c: what stands in the way, put into a result. */
#define DOCTOR_NO_LEVEL 9 /* no level of kernel.perf_event_paranoid helps */
struct doctor_privilege {
	long level;		/* kernel.perf_event_paranoid at most; DOCTOR_NO_LEVEL */
	const char *capability; /* "perfmon", "sys_admin", "syslog", "bpf" (with perfmon) */
};
/* Of a refused call: cause, reason and change. */
void doctor_explain_refusal(struct doctor *doctor, struct doctor_result *result,
			    const struct perch_open_call *call,
			    const struct doctor_privilege *privilege);
/* How somebody gets the right: by a level, by a capability, each as far as it helps this process.
 */
void doctor_suggest_privilege(struct doctor *doctor, struct doctor_result *result,
			      const struct doctor_privilege *privilege);
/* How a machine gets a PMU, how a process gets rid of a filter. */
void doctor_suggest_pmu(struct doctor *doctor, struct doctor_result *result);
void doctor_suggest_filter(struct doctor_result *result);
/* Whether the process has a capability that counts. */
bool doctor_has_capability(struct doctor *doctor, int capability);
/* The last sentence of the kernel's log that has one of the words. 0, -ENOENT or why the log cannot
 * be read. */
int doctor_find_in_log(const struct doctor *doctor, const char *const *words, size_t nr, char *text,
		       size_t size);

/* doctor_print.c. False: it could not be written. */
bool doctor_print_text(const struct doctor *doctor, FILE *out, bool colours, unsigned width);
bool doctor_print_json(const struct doctor *doctor, FILE *out);

#endif

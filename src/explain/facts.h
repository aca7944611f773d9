/* SPDX-License-Identifier: MIT */
/*
 * Facts for the rules. Most are an enum perch__match, which is UNKNOWN if the fact cannot be read.
 */
#ifndef PERCH_EXPLAIN_FACTS_H
#define PERCH_EXPLAIN_FACTS_H

#include "internal.h"

/* These rely on NO < UNKNOWN < YES. */
static inline enum perch__match perch__and(enum perch__match a, enum perch__match b)
{
	return a < b ? a : b;
}

static inline enum perch__match perch__or(enum perch__match a, enum perch__match b)
{
	return a > b ? a : b;
}

static inline enum perch__match perch__not(enum perch__match match)
{
	return PERCH__YES - match;
}

static inline enum perch__match perch__yes_if(bool fact)
{
	return fact ? PERCH__YES : PERCH__NO;
}

static inline bool perch__sysctl(const struct perch__case *c, enum perch_sysctl which, long *value)
{
	return c->machine && !perch_machine_sysctl(c->machine, which, value, NULL);
}

/* The text of a file that does not change while the machine is used; NULL if it cannot be read. */
static inline const char *perch__file_text(const struct perch__case *c, const char *path)
{
	const char *text;

	return c->machine && perch_machine_read_cached(c->machine, path, &text) > 0 ? text : NULL;
}

/* ---- Privilege. Capabilities in a user namespace do not count. ---- */
/* neither CAP_PERFMON nor CAP_SYS_ADMIN */
enum perch__match perch__unprivileged(const struct perch__case *c);
enum perch__match perch__lacks(const struct perch__case *c, unsigned capability);
/* has these capabilities, but only in a user namespace */
enum perch__match perch__namespace_capabilities(const struct perch__case *c);
enum perch__match perch__paranoid_above(const struct perch__case *c, long level);
/* a distribution refuses every event at this level */
enum perch__match perch__paranoid_refuses_all(const struct perch__case *c);
/*
 * The highest level at which a distribution kernel allows unprivileged users; -1 for other kernels.
 */
long perch__refuse_all_level(const struct perch__case *c);
enum perch__match perch__seccomp_filters(const struct perch__case *c);
/* lockdown=confidentiality */
enum perch__match perch__locked_down(const struct perch__case *c);
enum perch__match perch__selinux_enforces(const struct perch__case *c);

/* ---- The kernel. A release proves nothing: distributions backport changes. ---- */
enum perch__match perch__older_than(const struct perch__case *c, const char *release);
/* UNKNOWN if the release is known and older; NO if it is unknown */
enum perch__match perch__may_lack_change(const struct perch__case *c, const char *release);
/* built without perf events */
enum perch__match perch__no_perf(const struct perch__case *c);
/* built without CONFIG_CGROUP_PERF */
enum perch__match perch__no_cgroup_events(const struct perch__case *c);
/*
 * Whether the kernel has a change of that release. UNKNOWN for older releases that returned the
 * errno of the change.
 */
enum perch__match perch__has_change(const struct perch__case *c, const char *release, int errnum);
enum perch__match perch__above_max_rate(const struct perch__case *c);
enum perch__match perch__above_max_stack(const struct perch__case *c);

/* ---- CPUs and processes ---- */
/* above the highest possible number */
enum perch__match perch__cpu_absent(const struct perch__case *c);
enum perch__match perch__cpu_offline(const struct perch__case *c);
enum perch__match perch__process_absent(const struct perch__case *c);
/* of another user, or with more privileges */
enum perch__match perch__process_foreign(const struct perch__case *c);

/* ---- PMUs ---- */
/* The PMU of attr.type. If it is NULL and is_known is true, the machine has no PMU of that type. */
const struct perch_pmu *perch__pmu_of_case(const struct perch__case *c, bool *is_known);
/* the PMU that counts the event: a core PMU for generic types and RAW */
const struct perch_pmu *perch__counting_pmu(const struct perch__case *c);
/* a core PMU with that prefix */
enum perch__match perch__core_pmu_is(const struct perch__case *c, const char *prefix);
enum perch__match perch__bare_metal(const struct perch__case *c); /* not a virtual machine */
enum perch__match perch__no_core_pmu(const struct perch__case *c);
enum perch__match perch__type_unregistered(const struct perch__case *c);
/* by prefix of the name */
enum perch__match perch__pmu_is(const struct perch__case *c, const char *prefix);
enum perch__match perch__pmu_is_core(const struct perch__case *c);
enum perch__match perch__pmu_cannot_exclude(const struct perch__case *c);
enum perch__match perch__pmu_only_counts(const struct perch__case *c);
enum perch__match perch__pmu_refuses_tasks(const struct perch__case *c);
enum perch__match perch__pmu_not_on_cpu(const struct perch__case *c);
enum perch__match perch__above_max_precise(const struct perch__case *c);
enum perch__match perch__no_branches(const struct perch__case *c);

/* NO if the PMU is unknown */
enum perch__match perch__pmu_is_certainly(const struct perch__case *c, const char *prefix);
enum perch__match perch__pmu_may_trace(const struct perch__case *c); /* it may have an AUX area */
enum perch__match perch__pmu_event_absent(const struct perch__case *c);
/* the type in the upper half of config */
enum perch__match perch__extended_type_is_core(const struct perch__case *c);
enum perch__match perch__pmu_differs_from_leader(const struct perch__case *c);
/* of /proc/cpuinfo, on x86 */
enum perch__match perch__cpu_lacks(const struct perch__case *c, const char *flag);

/* ---- Tracepoints and probes ---- */
/* "SYSTEM/NAME" */
enum perch__match perch__tracepoint_is(const struct perch__case *c, const char *name);
/* no tracepoint that perf can open has the id */
enum perch__match perch__tracepoint_absent(const struct perch__case *c);
/* the id of a tracepoint that every kernel has; 0 if unknown */
uint64_t perch__existing_tracepoint(const struct perch__case *c);
enum perch__match perch__function_tracing_locked(const struct perch__case *c);
enum perch__match perch__path_is(const struct perch__case *c, enum perch__path what);
/* writes ": /bin/true"; returns false if unknown */
bool perch__write_path(const struct perch__case *c, char *buffer, size_t size);

/* How root permits the frequency: ", or as root: sysctl ..." */
void perch__write_or_raise_rate(const struct perch__case *c, uint64_t rate, char *buffer,
				size_t size);

/* ---- Lists: texts of placeholders ---- */
void perch__write_present_cpus(const struct perch__case *c, char *buffer, size_t size);
void perch__write_online_cpus(const struct perch__case *c, char *buffer, size_t size);
/* "bit 40", "bits 41, 60-63": the bits that are set, the lowest of which has the number first */
void perch__write_bits(uint64_t value, unsigned first, char *buffer, size_t size);
void perch__write_pmu_cpus(const struct perch__case *c, char *buffer, size_t size);
void perch__write_pmu_types(const struct perch__case *c, char *buffer, size_t size);
void perch__write_pmu_events(const struct perch__case *c, char *buffer, size_t size);

/* ---- Cgroups: texts of placeholders ---- */
void perch__write_cgroup_mount(const struct perch__case *c, char *buffer, size_t size);
void perch__write_descriptor(const struct perch__case *c, int fd, char *buffer, size_t size);
void perch__write_cgroup_owner(const struct perch__case *c, char *buffer, size_t size);
void perch__write_use_cgroup(const struct perch__case *c, char *buffer, size_t size);

/* ---- Values for remedies and fixes ---- */
uint64_t perch__highest_rate(const struct perch__case *c);
unsigned perch__highest_precise(const struct perch__case *c);
int perch__first_cpu(const struct perch__case *c);  /* online; 0 if unknown */
int perch__cpu_of_pmu(const struct perch__case *c); /* one that the PMU serves */

#endif

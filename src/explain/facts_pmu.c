/* SPDX-License-Identifier: MIT */
/* Facts of the PMU that attr.type names: from its name, from sysfs, and from its type. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "facts.h"

enum {
	NO_EXCLUDE = 1 << 0,  /* any exclude bit is refused */
	ONLY_COUNTS = 1 << 1, /* a period is refused */
	NO_TASKS = 1 << 2,    /* counts whole CPUs, packages or the machine */
	UNCORE = NO_EXCLUDE | ONLY_COUNTS | NO_TASKS,
};

/* The traits of PMUs by prefix of the name. Those of other PMUs are unknown. */
static const struct {
	const char *prefix;
	unsigned traits;
} pmu_traits[] = {
	{ "software", 0 },
	{ "tracepoint", 0 },
	{ "breakpoint", 0 },
	{ "kprobe", 0 },
	{ "uprobe", 0 },
	{ "cpu", 0 },
	{ "intel_pt", 0 },
	{ "intel_bts", 0 },
	{ "arm_spe", 0 },
	{ "cs_etm", 0 },
	{ "msr", NO_EXCLUDE | ONLY_COUNTS },
	{ "power", UNCORE },
	{ "cstate_", UNCORE },
	{ "uncore", UNCORE },
	{ "amd_df", UNCORE },
	{ "amd_l3", UNCORE },
	{ "amd_umc", UNCORE },
	{ "amd_iommu", UNCORE },
};

const struct perch_pmu *perch__pmu_of_case(const struct perch__case *c, bool *is_known)
{
	const struct perch_pmu *pmus;
	size_t nr;

	*is_known = c->machine && !perch_machine_pmus(c->machine, &pmus, &nr, NULL) && nr;
	if (!*is_known)
		return NULL;
	for (size_t i = 0; i < nr; i++)
		if (pmus[i].type == c->attr.type)
			return &pmus[i];
	return NULL;
}

static enum perch__match has_trait(const struct perch__case *c, unsigned trait)
{
	bool is_known;
	const struct perch_pmu *pmu = perch__pmu_of_case(c, &is_known);

	if (c->attr.type < PERCH_TYPE_MAX)
		return PERCH__NO;
	if (!pmu)
		return is_known ? PERCH__NO : PERCH__UNKNOWN;
	if (pmu->core)
		return PERCH__NO;
	for (size_t i = 0; i < sizeof(pmu_traits) / sizeof(*pmu_traits); i++)
		if (!strncmp(pmu->name, pmu_traits[i].prefix, strlen(pmu_traits[i].prefix)))
			return perch__yes_if(pmu_traits[i].traits & trait);
	return PERCH__UNKNOWN;
}

enum perch__match perch__pmu_cannot_exclude(const struct perch__case *c)
{
	return has_trait(c, NO_EXCLUDE);
}

enum perch__match perch__pmu_only_counts(const struct perch__case *c)
{
	return has_trait(c, ONLY_COUNTS);
}

enum perch__match perch__pmu_refuses_tasks(const struct perch__case *c)
{
	return has_trait(c, NO_TASKS);
}

/* False for PMUs that cannot count cycles. */
static bool may_be_core(const struct perch_pmu *pmu)
{
	static const char *const others[] = { "software", "tracepoint", "breakpoint", "kprobe",
					      "uprobe",	  "msr",	"power",      "cstate",
					      "uncore",	  "i915",	"xe_",	      "intel_",
					      "amd_",	  "ibs_" };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strncmp(pmu->name, others[i], strlen(others[i])))
			return false;
	return true;
}

enum perch__match perch__no_core_pmu(const struct perch__case *c)
{
	const struct perch_pmu *pmus;
	size_t nr;

	if (!c->machine || perch_machine_pmus(c->machine, &pmus, &nr, NULL) || !nr)
		return PERCH__UNKNOWN;
	for (size_t i = 0; i < nr; i++)
		if (pmus[i].core || may_be_core(&pmus[i]))
			return PERCH__NO;
	return PERCH__YES;
}

enum perch__match perch__type_unregistered(const struct perch__case *c)
{
	bool is_known;

	if (perch__pmu_of_case(c, &is_known))
		return PERCH__NO;
	return is_known ? PERCH__YES : PERCH__UNKNOWN;
}

enum perch__match perch__pmu_is(const struct perch__case *c, const char *prefix)
{
	bool is_known;
	const struct perch_pmu *pmu;

	pmu = perch__pmu_of_case(c, &is_known);
	if (pmu)
		return perch__yes_if(!strncmp(pmu->name, prefix, strlen(prefix)));
	return is_known || c->attr.type < PERCH_TYPE_MAX ? PERCH__NO : PERCH__UNKNOWN;
}

enum perch__match perch__pmu_is_core(const struct perch__case *c)
{
	bool is_known;
	const struct perch_pmu *pmu;

	if (c->attr.type == PERCH_TYPE_HARDWARE || c->attr.type == PERCH_TYPE_HW_CACHE ||
	    c->attr.type == PERCH_TYPE_RAW)
		return PERCH__YES;
	if (c->attr.type < PERCH_TYPE_MAX)
		return PERCH__NO;
	pmu = perch__pmu_of_case(c, &is_known);
	if (pmu)
		return perch__yes_if(pmu->core);
	return is_known ? PERCH__NO : PERCH__UNKNOWN;
}

/*
 * Returns the PMU that counts the event, NULL if there is none or it is unknown. HARDWARE and
 * HW_CACHE may have the type of a PMU in the upper half of config. Without it, and for RAW, the
 * core PMU counts the event, on hybrid machines the PMU of the performance cores.
 */
const struct perch_pmu *perch__counting_pmu(const struct perch__case *c)
{
	struct perch__case other = *c;
	const struct perch_pmu *pmus;
	bool is_known;
	size_t nr;

	if (c->attr.type >= PERCH_TYPE_MAX)
		return perch__pmu_of_case(c, &is_known);
	if (!c->machine || perch_machine_pmus(c->machine, &pmus, &nr, NULL))
		return NULL;
	if (c->attr.type != PERCH_TYPE_RAW && c->attr.config >> 32) {
		other.attr.type = c->attr.config >> 32;
		return perch__pmu_of_case(&other, &is_known);
	}
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(pmus[i].name, "cpu") || !strcmp(pmus[i].name, "cpu_core"))
			return &pmus[i];
	for (size_t i = 0; i < nr; i++)
		if (pmus[i].core)
			return &pmus[i];
	return NULL;
}

enum perch__match perch__core_pmu_is(const struct perch__case *c, const char *prefix)
{
	const struct perch_pmu *pmu;

	if (perch__pmu_is_core(c) == PERCH__NO)
		return PERCH__NO;
	pmu = perch__counting_pmu(c);
	return pmu ? perch__yes_if(pmu->core && !strncmp(pmu->name, prefix, strlen(prefix)))
		   : PERCH__UNKNOWN;
}

/* A PMU without a CPU list serves all CPUs. An uncore PMU accepts other CPUs and counts on one of
 * its own. */
enum perch__match perch__pmu_not_on_cpu(const struct perch__case *c)
{
	const struct perch_pmu *pmu = perch__counting_pmu(c);
	bool is_known;

	if (c->cpu < 0)
		return PERCH__NO;
	if (!pmu) {
		perch__pmu_of_case(c, &is_known);
		return is_known || c->attr.type < PERCH_TYPE_MAX ? PERCH__NO : PERCH__UNKNOWN;
	}
	if (!pmu->cpus.nr || perch_cpus_contains(&pmu->cpus, c->cpu))
		return PERCH__NO;
	return pmu->core ? PERCH__YES : PERCH__UNKNOWN;
}

enum perch__match perch__above_max_precise(const struct perch__case *c)
{
	const struct perch_pmu *pmu;
	long max_precise;

	if (!c->attr.precise_ip || perch__pmu_is_core(c) == PERCH__NO)
		return PERCH__NO;
	pmu = perch__counting_pmu(c);
	if (!pmu || perch_machine_pmu_cap(c->machine, pmu, "max_precise", &max_precise, NULL))
		return PERCH__UNKNOWN;
	return perch__yes_if(c->attr.precise_ip > max_precise);
}

/* caps/branches exists if the PMU has branch records (since 5.13). */
enum perch__match perch__no_branches(const struct perch__case *c)
{
	const struct perch_pmu *pmu;
	long nr;

	if (c->attr.type == PERCH_TYPE_SOFTWARE || c->attr.type == PERCH_TYPE_TRACEPOINT ||
	    c->attr.type == PERCH_TYPE_BREAKPOINT || has_trait(c, ONLY_COUNTS) == PERCH__YES ||
	    perch__pmu_is(c, "uprobe") == PERCH__YES || perch__pmu_is(c, "kprobe") == PERCH__YES)
		return PERCH__YES;
	pmu = perch__counting_pmu(c);
	if (!pmu || perch_machine_pmu_cap(c->machine, pmu, "branches", &nr, NULL))
		return PERCH__UNKNOWN;
	return perch__yes_if(nr == 0);
}

enum perch__match perch__pmu_is_certainly(const struct perch__case *c, const char *prefix)
{
	return perch__pmu_is(c, prefix) == PERCH__YES ? PERCH__YES : PERCH__NO;
}

enum perch__match perch__pmu_may_trace(const struct perch__case *c)
{
	bool is_known;

	if (c->attr.type < PERCH_TYPE_MAX ||
	    (perch__pmu_of_case(c, &is_known) && has_trait(c, ~0u) == PERCH__YES))
		return PERCH__NO;
	return perch__pmu_is(c, "uprobe") == PERCH__YES || perch__pmu_is(c, "kprobe") == PERCH__YES
		       ? PERCH__NO
		       : PERCH__UNKNOWN;
}

/* Returns the number of "event=0x1f" or "event=0x1f,umask=2", -1 if there is none. */
static long long number_of_event(const char *text)
{
	long long number;

	return sscanf(text, "event=%lli", &number) == 1 ? number : -1;
}

/* Returns the number of the event with that name in sysfs, -1 if there is none. */
static long long listed_event(const struct perch__case *c, const char *directory, const char *name,
			      size_t length)
{
	char path[PATH_MAX];
	const char *text;

	snprintf(path, sizeof(path), "%s/%.*s", directory, (int)length, name);
	text = perch__file_text(c, path);
	return text ? number_of_event(text) : -1;
}

/* Only msr lists all its events in sysfs and refuses all others. */
enum perch__match perch__pmu_event_absent(const struct perch__case *c)
{
	static const char directory[] = "/sys/bus/event_source/devices/msr/events";
	const char *names;
	size_t length, nr = 0;
	long long number;

	if (perch__pmu_is(c, "msr") != PERCH__YES)
		return perch__pmu_is(c, "uprobe") == PERCH__NO &&
				       perch__pmu_is(c, "kprobe") == PERCH__NO
			       ? PERCH__UNKNOWN
			       : PERCH__NO;
	names = perch__file_text(c, directory);
	for (; names && *names; names += length + (names[length] == '\n')) {
		length = strcspn(names, "\n");
		number = listed_event(c, directory, names, length);
		if (number >= 0 && (uint64_t)number == c->attr.config)
			return PERCH__NO;
		nr += number >= 0;
	}
	return nr ? PERCH__YES : PERCH__UNKNOWN;
}

enum perch__match perch__extended_type_is_core(const struct perch__case *c)
{
	uint32_t type = c->attr.config >> 32;
	const struct perch_pmu *pmus;
	size_t nr;

	if (type < PERCH_TYPE_MAX && type != PERCH_TYPE_RAW)
		return PERCH__NO;
	if (!c->machine || perch_machine_pmus(c->machine, &pmus, &nr, NULL) || !nr)
		return PERCH__UNKNOWN;
	for (size_t i = 0; i < nr; i++)
		if (pmus[i].type == type)
			return perch__yes_if(pmus[i].core);
	return PERCH__NO;
}

/* Software events and similar ones can join every group. */
static bool can_join_any_group(const struct perch__case *c, const struct perch_pmu *pmu)
{
	static const char *const names[] = { "msr", "uprobe", "kprobe" };

	if (c->attr.type == PERCH_TYPE_SOFTWARE || c->attr.type == PERCH_TYPE_TRACEPOINT ||
	    c->attr.type == PERCH_TYPE_BREAKPOINT)
		return true;
	for (size_t i = 0; pmu && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(pmu->name, names[i]))
			return true;
	return false;
}

enum perch__match perch__pmu_differs_from_leader(const struct perch__case *c)
{
	struct perch__case leader = *c;
	const struct perch_pmu *own, *leader_pmu;

	leader.attr.type = c->call->leader->attr->type;
	leader.attr.config = c->call->leader->attr->config;
	own = perch__counting_pmu(c);
	leader_pmu = perch__counting_pmu(&leader);
	if (can_join_any_group(c, own) || can_join_any_group(&leader, leader_pmu) ||
	    (own && own == leader_pmu))
		return PERCH__NO;
	return own && leader_pmu ? PERCH__YES : PERCH__UNKNOWN;
}

unsigned perch__highest_precise(const struct perch__case *c)
{
	const struct perch_pmu *pmu = perch__counting_pmu(c);
	long max_precise;

	if (!pmu || perch_machine_pmu_cap(c->machine, pmu, "max_precise", &max_precise, NULL) ||
	    max_precise < 0 || max_precise > 3)
		return 0;
	return max_precise < c->attr.precise_ip ? max_precise : 0;
}

int perch__first_cpu(const struct perch__case *c)
{
	const struct perch_cpus *cpus;

	if (!c->machine || perch_machine_cpus(c->machine, &cpus, NULL) || !cpus->nr)
		return 0;
	return cpus->cpu[0];
}

int perch__cpu_of_pmu(const struct perch__case *c)
{
	const struct perch_pmu *pmu = perch__counting_pmu(c);

	return pmu && pmu->cpus.nr ? pmu->cpus.cpu[0] : perch__first_cpu(c);
}

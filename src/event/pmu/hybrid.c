/* SPDX-License-Identifier: MIT */
/* Hybrid machines, which have several core PMUs: a generic name is one event on each of them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "event/config.h"

/* PMUs of most machines that are not core PMUs. */
static bool is_usual(const char *name)
{
	static const char *const names[] = { "breakpoint", "kprobe",	 "msr",	  "power",
					     "software",   "tracepoint", "uprobe" };

	for (size_t i = 0; i < PERCH__NR(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static bool has_cpus(int devices, const char *name)
{
	char file[NAME_MAX + sizeof("/cpus")];

	snprintf(file, sizeof(file), "%s/cpus", name);
	return !faccessat(devices, file, F_OK, 0);
}

/*
 * Checks only names and reads no files, because most events are generic names and most machines are
 * not hybrid.
 */
static bool may_be_hybrid(const struct perch_machine *machine)
{
	char directory[PATH_MAX], cpu[PATH_MAX];
	struct dirent *entry;
	unsigned cores = 0;
	DIR *devices;

	if (perch_machine_path(machine, PERCH__PMUS, directory, sizeof(directory)) < 0 ||
	    perch_machine_path(machine, PERCH__PMUS "/cpu", cpu, sizeof(cpu)) < 0 ||
	    !access(cpu, F_OK))
		return false;
	devices = opendir(directory);
	if (!devices)
		return false;
	while (cores < 2 && (entry = readdir(devices)))
		cores += entry->d_name[0] != '.' && !is_usual(entry->d_name) &&
			 has_cpus(dirfd(devices), entry->d_name);
	closedir(devices);
	return cores == 2;
}

/* Returns the next core PMU from index *i on, or NULL. */
static const struct perch_pmu *next_core(const struct perch_pmu *pmus, size_t nr, size_t *i)
{
	while (*i < nr)
		if (pmus[(*i)++].core)
			return &pmus[*i - 1];
	return NULL;
}

static bool is_hybrid(struct perch__parser *parser)
{
	const struct perch_pmu *pmus;
	size_t nr, i = 0;

	if (parser->hybrid != PERCH__HYBRID_UNKNOWN)
		return parser->hybrid == PERCH__HYBRID_YES;
	parser->hybrid = PERCH__HYBRID_NO;
	if (may_be_hybrid(parser->machine) && !perch__need_machine(parser) &&
	    !perch_machine_pmus(parser->machine, &pmus, &nr, NULL) && next_core(pmus, nr, &i) &&
	    next_core(pmus, nr, &i))
		parser->hybrid = PERCH__HYBRID_YES;
	return parser->hybrid == PERCH__HYBRID_YES;
}

/*
 * True if the kernel supports a PMU type in the upper half of config: on x86 every kernel for
 * hybrid machines, on arm Linux 6.6 and later.
 */
static bool kernel_has_pmu_bits(struct perch__parser *parser, const struct perch_pmu *pmu)
{
	struct perch_release release;

	return !strncmp(pmu->name, "cpu", 3) ||
	       perch_machine_release(parser->machine, &release, NULL) ||
	       perch_release_rank(release.text) >= perch_release_rank("6.6");
}

/* The events of arm PMUs in sysfs that the kernel's driver uses for hardware events. */
static const char *const arm_names[PERCH_COUNT_HW_MAX][2] = {
	[PERCH_COUNT_HW_CPU_CYCLES] = { "cpu_cycles" },
	[PERCH_COUNT_HW_INSTRUCTIONS] = { "inst_retired" },
	[PERCH_COUNT_HW_CACHE_REFERENCES] = { "l1d_cache" },
	[PERCH_COUNT_HW_CACHE_MISSES] = { "l1d_cache_refill" },
	[PERCH_COUNT_HW_BRANCH_INSTRUCTIONS] = { "br_retired", "pc_write_retired" },
	[PERCH_COUNT_HW_BRANCH_MISSES] = { "br_mis_pred" },
	[PERCH_COUNT_HW_BUS_CYCLES] = { "bus_cycles" },
	[PERCH_COUNT_HW_STALLED_CYCLES_FRONTEND] = { "stall_frontend" },
	[PERCH_COUNT_HW_STALLED_CYCLES_BACKEND] = { "stall_backend" },
};

/* Applies the PMU's event for a generic event. Returns 1; 0 when it has none; or -errno. */
static int set_own_event(struct perch__parser *parser, const struct perch_attr *attr,
			 const struct perch_pmu *pmu, size_t at, struct perch_event *event)
{
	int rc = 0;

	if (attr->type != PERCH_TYPE_HARDWARE || attr->config >= PERCH_COUNT_HW_MAX)
		return 0;
	for (size_t i = 0; i < PERCH__NR(arm_names[0]) && arm_names[attr->config][i] && !rc; i++) {
		event->attr.type = pmu->type;
		event->attr.config = 0;
		rc = perch__apply_pmu_event(parser, pmu, arm_names[attr->config][i], at, NULL,
					    event);
	}
	return rc;
}

/*
 * Sets the event for a generic attr on one core PMU. A raw event gets the type of the PMU; others
 * have it in the upper half of config. Returns 1; 0 when the kernel cannot express it; or a
 * negative errno.
 */
static int set_on_pmu(struct perch__parser *parser, const struct perch_attr *attr,
		      const struct perch_pmu *pmu, size_t at, struct perch_event *event)
{
	if (perch__has_pmu_bits(attr->type) && !kernel_has_pmu_bits(parser, pmu))
		return set_own_event(parser, attr, pmu, at, event);
	event->attr.type = perch__has_pmu_bits(attr->type) ? attr->type : pmu->type;
	event->attr.config = attr->config;
	if (perch__has_pmu_bits(attr->type))
		event->attr.config |= (uint64_t)pmu->type << PERCH_PMU_TYPE_SHIFT;
	return 1;
}

static int add_plain(struct perch__parser *parser, const struct perch_attr *attr)
{
	struct perch_event *event;
	int rc = perch__add_event(parser, &event);

	if (rc)
		return rc;
	event->attr.type = attr->type;
	event->attr.config = attr->config;
	return 0;
}

/* Adds one event for each core PMU; as perf does, a single event if one of them cannot be
 * selected. */
static int add_on_cores(struct perch__parser *parser, const struct perch_attr *attr, size_t at)
{
	size_t first = parser->events->nr, nr, i = 0;
	const struct perch_pmu *pmus, *pmu;

	perch_machine_pmus(parser->machine, &pmus, &nr, NULL);
	while ((pmu = next_core(pmus, nr, &i))) {
		struct perch_event *event;
		int rc = perch__add_event(parser, &event);

		if (rc)
			return rc;
		event->first = first;
		rc = set_on_pmu(parser, attr, pmu, at, event);
		if (rc < 0)
			return rc;
		if (!rc) {
			perch__drop_events(parser->events, first);
			return add_plain(parser, attr);
		}
	}
	return 0;
}

int perch__add_generic_events(struct perch__parser *parser, const struct perch_attr *attr,
			      size_t at)
{
	if ((!perch__has_pmu_bits(attr->type) && attr->type != PERCH_TYPE_RAW) ||
	    !is_hybrid(parser))
		return add_plain(parser, attr);
	return add_on_cores(parser, attr, at);
}

int perch__apply_core_event(struct perch__parser *parser, const struct perch_pmu *pmu,
			    const char *name, size_t at, struct perch_event *event)
{
	struct perch_attr generic = { 0 };
	int rc;

	if (!pmu->core || !perch__find_generic_event(name, &generic) ||
	    !perch__has_pmu_bits(generic.type))
		return 0;
	if (!is_hybrid(parser)) {
		event->attr.type = generic.type;
		event->attr.config = generic.config;
		return 1;
	}
	rc = set_on_pmu(parser, &generic, pmu, at, event);
	if (rc)
		return rc;
	perch__parse_error(parser, at, EOPNOTSUPP, PERCH_ERROR_TOO_NEW,
			   "this kernel cannot count '%s' only on PMU '%s'", name, pmu->name);
	perch_error_field(parser->err, "config", "6.6");
	perch_error_remedy(
		parser->err,
		"use an event of the PMU: its directory in /sys/bus/event_source/devices lists them");
	return -EOPNOTSUPP;
}

const struct perch_cpus *perch_attr_cpus(const struct perch_attr *attr,
					 struct perch_machine *machine)
{
	uint32_t type = perch__pmu_type(attr);
	const struct perch_pmu *pmu = NULL;

	/* type 0 is a hardware event on any core PMU; the kernel counts software events,
	 * tracepoints and breakpoints on every CPU */
	if (machine && type > PERCH_TYPE_HW_CACHE && type != PERCH_TYPE_BREAKPOINT)
		pmu = perch_machine_pmu_of_type(machine, type);
	return pmu && pmu->cpus.nr ? &pmu->cpus : NULL;
}

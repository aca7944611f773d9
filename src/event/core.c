/* SPDX-License-Identifier: MIT */
/* Machines whose CPUs are not all alike: a generic name is then one event on each PMU of cores. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define PMUS "/sys/bus/event_source/devices"

/* PMUs that every kernel has, or nearly: no need to look into them. */
static bool known(const char *name)
{
	static const char *const names[] = { "breakpoint", "kprobe", "msr", "power",
					    "software", "tracepoint", "uprobe" };

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

/* Without opening a PMU's files: generic names are used most, and nearly all machines have one kind of core. */
static bool look_for_cores(const struct perch_machine *machine)
{
	char folder[PATH_MAX], cpu[PATH_MAX];
	struct dirent *entry;
	unsigned cores = 0;
	DIR *devices;

	if (perch_machine_path(machine, folder, sizeof(folder), PMUS) < 0 ||
	    perch_machine_path(machine, cpu, sizeof(cpu), PMUS "/cpu") < 0 || !access(cpu, F_OK))
		return false;
	devices = opendir(folder);
	if (!devices)
		return false;
	while (cores < 2 && (entry = readdir(devices)))
		cores += entry->d_name[0] != '.' && !known(entry->d_name) && has_cpus(dirfd(devices), entry->d_name);
	closedir(devices);
	return cores == 2;
}

/* The next PMU of cores, from number *i on; NULL at the end. */
static const struct perch_pmu *next_core(const struct perch_pmu *pmus, size_t nr, size_t *i)
{
	while (*i < nr)
		if (pmus[(*i)++].core)
			return &pmus[*i - 1];
	return NULL;
}

bool perch__hybrid(struct perch__parser *parser)
{
	const struct perch_pmu *pmus;
	size_t nr, i = 0;

	if (parser->hybrid != PERCH__HYBRID_UNKNOWN)
		return parser->hybrid == PERCH__HYBRID_YES;
	parser->hybrid = PERCH__HYBRID_NO;
	if (look_for_cores(parser->machine) && !perch__need_machine(parser) &&
	    !perch_machine_pmus(parser->machine, &pmus, &nr, NULL) && next_core(pmus, nr, &i) &&
	    next_core(pmus, nr, &i))
		parser->hybrid = PERCH__HYBRID_YES;
	return parser->hybrid == PERCH__HYBRID_YES;
}

static bool extends(uint32_t type)
{
	return type == PERCH_TYPE_HARDWARE || type == PERCH_TYPE_HW_CACHE;
}

/* A raw event is one of the PMU's own type; the others keep theirs and say the PMU above bit 32. */
static void put_on(struct perch_attr *attr, const struct perch_pmu *pmu)
{
	if (extends(attr->type))
		attr->config |= (uint64_t)pmu->type << PERCH_PMU_TYPE_SHIFT;
	else
		attr->type = pmu->type;
}

static int add(struct perch__parser *parser, const struct perch_attr *attr, const struct perch_pmu *pmu, size_t first)
{
	struct perch_event *event;
	int rc = perch__new_event(parser, &event);

	if (rc)
		return rc;
	event->attr.type = attr->type;
	event->attr.config = attr->config;
	event->first = first;
	if (pmu)
		put_on(&event->attr, pmu);
	return 0;
}

int perch__generic_events(struct perch__parser *parser, const struct perch_attr *attr)
{
	size_t first = parser->events->nr, nr, i = 0;
	const struct perch_pmu *pmus, *pmu;
	int rc = 0;

	if ((!extends(attr->type) && attr->type != PERCH_TYPE_RAW) || !perch__hybrid(parser))
		return add(parser, attr, NULL, first);
	perch_machine_pmus(parser->machine, &pmus, &nr, NULL);
	while (!rc && (pmu = next_core(pmus, nr, &i)))
		rc = add(parser, attr, pmu, first);
	return rc;
}

bool perch__core_event(struct perch__parser *parser, const struct perch_pmu *pmu, const char *name,
		       struct perch_attr *attr)
{
	struct perch_attr generic = { 0 };

	if (!pmu->core || !perch__generic_event(name, &generic) || !extends(generic.type))
		return false;
	attr->type = generic.type;
	attr->config = generic.config;
	if (perch__hybrid(parser))
		put_on(attr, pmu);
	return true;
}

const struct perch_cpus *perch_attr_cpus(const struct perch_attr *attr, struct perch_machine *machine)
{
	uint32_t type = extends(attr->type) ? attr->config >> PERCH_PMU_TYPE_SHIFT : attr->type;
	const struct perch_pmu *pmu = NULL;

	/* 0: hardware events of any core; software, tracepoints and breakpoints are every CPU's */
	if (machine && type > PERCH_TYPE_HW_CACHE && type != PERCH_TYPE_BREAKPOINT)
		pmu = perch_machine_pmu_of_type(machine, type);
	return pmu && pmu->cpus.nr ? &pmu->cpus : NULL;
}

/* SPDX-License-Identifier: MIT */
/* Lists of CPUs, PMUs and events in words, cut where they grow long. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "placeholders.h"

#define LONGEST 120

void perch__write_cpus_present(const struct perch__case *c, char *buffer, size_t size)
{
	size_t nr;

	if (c->machine && !perch_machine_cpus_present(c->machine, &nr, NULL))
		snprintf(buffer, size, "%zu CPU%s", nr, nr == 1 ? "" : "s");
	else
		snprintf(buffer, size, "its CPUs");
}

/* Ranges, as the kernel writes them; cut before a range for which no room is left. */
static void cpus_text(const struct perch_cpus *cpus, char *buffer, size_t size)
{
	size_t used = 0, last;

	for (size_t first = 0; first < cpus->nr && used + 24 < size && used < LONGEST;
	     first = last + 1) {
		last = first;
		while (last + 1 < cpus->nr && cpus->cpu[last + 1] == cpus->cpu[last] + 1)
			last++;
		used += snprintf(buffer + used, size - used, "%s%d", used ? "," : "",
				 cpus->cpu[first]);
		if (last > first)
			used += snprintf(buffer + used, size - used, "-%d", cpus->cpu[last]);
	}
}

void perch__write_online(const struct perch__case *c, char *buffer, size_t size)
{
	const struct perch_cpus *cpus;

	if (c->machine && !perch_machine_cpus(c->machine, &cpus, NULL) && cpus->nr)
		cpus_text(cpus, buffer, size);
	else
		snprintf(buffer, size, "see /sys/devices/system/cpu/online");
}

void perch__write_pmu_cpus(const struct perch__case *c, char *buffer, size_t size)
{
	const struct perch_pmu *pmu = perch__counting_pmu(c);

	if (pmu && pmu->cpus.nr)
		cpus_text(&pmu->cpus, buffer, size);
	else
		snprintf(buffer, size, "those of its folder in /sys/bus/event_source/devices");
}

void perch__write_types(const struct perch__case *c, char *buffer, size_t size)
{
	const struct perch_pmu *pmus;
	size_t nr, used = 0;

	if (!c->machine || perch_machine_pmus(c->machine, &pmus, &nr, NULL)) {
		snprintf(buffer, size, "they differ from boot to boot");
		return;
	}
	for (size_t i = 0; i < nr && used < LONGEST && used + 80 < size; i++)
		used += snprintf(buffer + used, size - used, "%s%.48s %" PRIu32, used ? ", " : "",
				 pmus[i].name, pmus[i].type);
}

void perch__write_pmu_events(const struct perch__case *c, char *buffer, size_t size)
{
	bool is_known;
	const struct perch_pmu *pmu = perch__pmu_of_case(c, &is_known);
	const char *names = NULL;
	size_t used = 0, length;
	char path[128];

	if (pmu && (size_t)snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/events",
				    pmu->name) < sizeof(path))
		names = perch__file_text(c, path);
	for (; names && *names && used < LONGEST && used + 80 < size;
	     names += length + (names[length] == '\n')) {
		length = strcspn(names, "\n");
		used += snprintf(buffer + used, size - used, "%s%.*s", used ? ", " : "",
				 (int)(length < 60 ? length : 60), names);
	}
	if (!used)
		snprintf(buffer, size, "none is listed there");
}

void perch__write_cgroups(const struct perch__case *c, char *buffer, size_t size)
{
	char path[PATH_MAX];

	if (c->machine && !perch_machine_cgroups(c->machine, path, sizeof(path), NULL))
		snprintf(buffer, size, "%.200s", path);
	else
		snprintf(buffer, size, "/sys/fs/cgroup");
}

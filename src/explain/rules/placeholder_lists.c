/* SPDX-License-Identifier: MIT */
/* Lists of limited length in messages and remedies: CPUs, bits, PMUs, events. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "predicates.h"

#define MAX_LIST 120

void perch__write_present_cpus(const struct perch__case *c, char *buffer, size_t size)
{
	size_t nr;

	if (c->machine && !perch_machine_cpus_present(c->machine, &nr, NULL))
		snprintf(buffer, size, "%zu CPU%s", nr, nr == 1 ? "" : "s");
	else
		snprintf(buffer, size, "its CPUs");
}

/* Writes ranges of CPUs as the kernel does. The list ends before a range that does not fit. */
static void cpus_text(const struct perch_cpus *cpus, char *buffer, size_t size)
{
	size_t used = 0, last;

	for (size_t first = 0; first < cpus->nr && used + 24 < size && used < MAX_LIST;
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

void perch__write_online_cpus(const struct perch__case *c, char *buffer, size_t size)
{
	const struct perch_cpus *cpus;

	if (c->machine && !perch_machine_cpus(c->machine, &cpus, NULL) && cpus->nr)
		cpus_text(cpus, buffer, size);
	else
		snprintf(buffer, size, "see /sys/devices/system/cpu/online");
}

void perch__write_bits(uint64_t value, unsigned first, char *buffer, size_t size)
{
	size_t used = (size_t)snprintf(buffer, size, "%s", value & (value - 1) ? "bits " : "bit ");
	const char *between = "";

	for (unsigned bit = 0, last; bit < 64 && used < size; bit = last + 1) {
		last = bit;
		if (!(value >> bit & 1))
			continue;
		while (last < 63 && value >> (last + 1) & 1)
			last++;
		used += (size_t)snprintf(buffer + used, size - used, "%s%u", between, first + bit);
		if (last > bit && used < size)
			used += (size_t)snprintf(buffer + used, size - used, "-%u", first + last);
		between = ", ";
	}
}

void perch__write_pmu_cpus(const struct perch__case *c, char *buffer, size_t size)
{
	const struct perch_pmu *pmu = perch__counting_pmu(c);

	if (pmu && pmu->cpus.nr)
		cpus_text(&pmu->cpus, buffer, size);
	else
		snprintf(buffer, size,
			 "the CPUs that its directory in /sys/bus/event_source/devices lists");
}

void perch__write_pmu_types(const struct perch__case *c, char *buffer, size_t size)
{
	const struct perch_pmu *pmus;
	size_t nr, used = 0;

	if (!c->machine || perch_machine_pmus(c->machine, &pmus, &nr, NULL)) {
		snprintf(buffer, size, "types change from boot to boot");
		return;
	}
	for (size_t i = 0; i < nr && used < MAX_LIST && used + 80 < size; i++)
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
	for (; names && *names && used < MAX_LIST && used + 80 < size;
	     names += length + (names[length] == '\n')) {
		length = strcspn(names, "\n");
		used += snprintf(buffer + used, size - used, "%s%.*s", used ? ", " : "",
				 (int)(length < 60 ? length : 60), names);
	}
	if (!used)
		snprintf(buffer, size, "it lists none");
}

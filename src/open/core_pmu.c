/* SPDX-License-Identifier: MIT */
/* Core PMUs, and the bit that requests user-space access to their counters. */
#include <stdio.h>

#include "internal.h"

const struct perch_pmu *perch__core_pmu(const struct perch_attr *attr,
					struct perch_machine *machine)
{
	bool generic = attr->type == PERCH_TYPE_HARDWARE || attr->type == PERCH_TYPE_HW_CACHE;
	uint32_t type = generic ? (uint32_t)(attr->config >> PERCH_PMU_TYPE_SHIFT) : attr->type;
	const struct perch_pmu *pmus, *pmu;
	size_t nr;

	if (!generic && type != PERCH_TYPE_RAW && type < PERCH_TYPE_MAX)
		return NULL;
	pmu = type ? perch_machine_pmu_of_type(machine, type) : NULL;
	if (pmu)
		return pmu->core ? pmu : NULL;
	if (type >= PERCH_TYPE_MAX || perch_machine_pmus(machine, &pmus, &nr, NULL))
		return NULL;
	for (size_t i = 0; i < nr; i++)
		if (pmus[i].core)
			return &pmus[i];
	return NULL;
}

/*
 * On arm64 the format file rdpmc has "config1:1". The bit of the format file long is not changed:
 * 32-bit counters can be read too, and a 64-bit counter takes two of them on CPUs without long
 * counters.
 */
static uint64_t format_bit(const struct perch_pmu *pmu, const struct perch_machine *machine)
{
	char path[192], text[64];
	unsigned bit;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/format/rdpmc", pmu->name);
	if (perch_machine_read(machine, path, text, sizeof(text)) <= 0 ||
	    sscanf(text, "config1:%3u", &bit) != 1 || bit > 63)
		return 0;
	return UINT64_C(1) << bit;
}

uint64_t perch__rdpmc_bit(const struct perch_attr *attr, struct perch_machine *machine)
{
	struct perch_machine *own = NULL;
	const struct perch_pmu *pmu;
	uint64_t bit = 0;

	if (!machine && perch_machine_new(&own, NULL, NULL, NULL))
		return 0;
	if (own)
		machine = own;
	pmu = perch__core_pmu(attr, machine);
	if (pmu)
		bit = format_bit(pmu, machine);
	perch_machine_free(own);
	return bit;
}

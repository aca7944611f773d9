/* SPDX-License-Identifier: MIT */
/*
 * A hybrid CPU has a PMU for each kind of core, and one command opens an event of each:
 * cpu_core/cycles/ and cpu_atom/cycles/ count the same, so they are one event.
 */
#ifndef PERCH_BASE_CORE_EVENTS_H
#define PERCH_BASE_CORE_EVENTS_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <perch/abi.h>

enum { PERCH__EVENT_NAME = 512 };

/* Makes the common name of events of the PMUs of a hybrid CPU, "cycles:u" of "cpu_atom/cycles/u".
 * Returns false for another event. */
static inline bool perch__joined_name(const char *name, char *joined, size_t size)
{
	static const char *const pmus[] = { "cpu_core/", "cpu_atom/", "cpu_lowpower/" };
	const char *slash;

	for (size_t i = 0; i < sizeof(pmus) / sizeof(pmus[0]); i++) {
		size_t length = strlen(pmus[i]);

		if (strncmp(name, pmus[i], length))
			continue;
		name += length;
		slash = strchr(name, '/');
		if (!slash || slash == name)
			return false;
		if (memchr(name, '=', (size_t)(slash - name)))
			snprintf(joined, size, "cpu/%s", name);
		else
			snprintf(joined, size, "%.*s%s%s", (int)(slash - name), name,
				 slash[1] ? ":" : "", slash + 1);
		return true;
	}
	return false;
}

/* The PMU of an event: its type, and of generic events of a hybrid CPU the upper half of config. */
static inline uint64_t perch__pmu_of_event(const struct perch_attr *attr)
{
	bool generic = attr->type == PERCH_TYPE_HARDWARE || attr->type == PERCH_TYPE_HW_CACHE;

	return (uint64_t)attr->type << 32 | (generic ? attr->config >> 32 : 0);
}

/* True for the events that one name opened on two kinds of cores. */
static inline bool perch__are_one_event(const char *a, const struct perch_attr *a_attr,
					const char *b, const struct perch_attr *b_attr)
{
	char left[PERCH__EVENT_NAME], right[PERCH__EVENT_NAME];

	if (!strcmp(a, b))
		return perch__pmu_of_event(a_attr) != perch__pmu_of_event(b_attr);
	return perch__joined_name(a, left, sizeof(left)) &&
	       perch__joined_name(b, right, sizeof(right)) && !strcmp(left, right);
}

#endif

/* SPDX-License-Identifier: MIT */
#include "base/kernel/core_events.h"
#include "base/kernel/dummy_event.h"
#include "main_event.h"

static bool are_one(const struct perch_file_event *a, const struct perch_file_event *b)
{
	return a == b || perch__are_one_event(a->name, &a->attr, b->name, &b->attr);
}

uint32_t cli_main_event(const struct perch_file_event *events, size_t nr,
			cli_samples_of *samples_of, const void *context)
{
	uint64_t most = 0;
	uint32_t found = 0;

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t sum = 0, most_of_kind = 0;
		uint32_t kind = i;

		if (perch__is_dummy(&events[i].attr) || !samples_of(context, i))
			continue;
		for (uint32_t j = 0; j < nr; j++) {
			uint64_t samples = samples_of(context, j);

			if (!samples || !are_one(&events[i], &events[j]))
				continue;
			sum += samples;
			if (samples > most_of_kind) {
				most_of_kind = samples;
				kind = j;
			}
		}
		if (sum > most) {
			most = sum;
			found = kind;
		}
	}
	return found;
}

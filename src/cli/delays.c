/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "delays.h"

enum { SUB_BITS = 5, EXACT = 2 << SUB_BITS }; /* below EXACT each number is a class of its own */

static uint32_t class_of(uint64_t ns)
{
	unsigned power;

	if (ns < EXACT)
		return (uint32_t)ns;
	power = 63 - (unsigned)__builtin_clzll(ns);
	return EXACT + (power - SUB_BITS - 1) * (1u << SUB_BITS) +
	       (uint32_t)(ns >> (power - SUB_BITS) & ((1u << SUB_BITS) - 1));
}

/* The middle of a class. */
static uint64_t time_of(uint32_t class)
{
	unsigned shift;
	uint64_t sub;

	if (class < EXACT)
		return class;
	shift = (class - EXACT) / (1u << SUB_BITS) + 1;
	sub = (class - EXACT) % (1u << SUB_BITS) + (1u << SUB_BITS);
	return (sub << shift) + (UINT64_C(1) << shift) / 2;
}

/* Makes the classes from one to another part of .count. Returns 0 or -ENOMEM. */
static int include_classes(struct cli_delays *delays, uint32_t first, uint32_t end)
{
	uint32_t before, nr = delays->nr_classes, *count;

	if (nr && first > delays->first)
		first = delays->first;
	if (nr && end < delays->first + nr)
		end = delays->first + nr;
	if (end - first == nr)
		return 0;
	before = nr ? delays->first - first : 0;
	count = perch__reallocarray(delays->count, end - first, sizeof(*count));
	if (!count)
		return -ENOMEM;
	memmove(count + before, count, nr * sizeof(*count));
	memset(count, 0, before * sizeof(*count));
	memset(count + before + nr, 0, (end - first - before - nr) * sizeof(*count));
	delays->first = first;
	delays->nr_classes = end - first;
	delays->count = count;
	return 0;
}

int cli_delays_add(struct cli_delays *delays, uint64_t ns)
{
	uint32_t class = class_of(ns);

	if (__builtin_expect(class - delays->first >= delays->nr_classes, 0) &&
	    include_classes(delays, class, class + 1))
		return -ENOMEM;
	delays->count[class - delays->first]++;
	delays->nr++;
	return 0;
}

int cli_delays_merge(struct cli_delays *delays, struct cli_delays *from)
{
	if (from->nr_classes &&
	    include_classes(delays, from->first, from->first + from->nr_classes))
		return -ENOMEM;
	for (uint32_t i = 0; i < from->nr_classes; i++)
		delays->count[from->first - delays->first + i] += from->count[i];
	delays->nr += from->nr;
	cli_delays_clear(from);
	return 0;
}

uint64_t cli_delays_percentile(const struct cli_delays *delays, double percent)
{
	double wanted = (double)delays->nr * percent / 100;
	uint64_t seen = 0;

	for (uint32_t i = 0; i < delays->nr_classes; i++) {
		seen += delays->count[i];
		if (delays->count[i] && (double)seen >= wanted)
			return time_of(delays->first + i);
	}
	return 0;
}

void cli_delays_clear(struct cli_delays *delays)
{
	free(delays->count);
	*delays = (struct cli_delays){ 0 };
}

/* SPDX-License-Identifier: MIT */
/* Percentiles of many delays in constant memory: counts of classes that grow with the delay. */
#include <errno.h>
#include <stdlib.h>

#include "sched.h"

/* Delays below SCHED_CLASSES are exact, in octave 0; an octave is the place of the highest bit. */
static size_t octave_of(uint64_t ns, size_t *class)
{
	size_t high = ns < SCHED_CLASSES ? 0 : 63 - (size_t)__builtin_clzll(ns);

	*class = high ? ns >> (high - 5) & (SCHED_CLASSES - 1) : ns;
	return high;
}

int sched_delays_add(struct sched_delays *delays, uint64_t ns)
{
	size_t class, octave = octave_of(ns, &class);

	if (!delays->octave[octave])
		delays->octave[octave] = calloc(SCHED_CLASSES, sizeof(uint32_t));
	if (!delays->octave[octave])
		return -ENOMEM;
	delays->octave[octave][class]++;
	delays->nr++;
	return 0;
}

void sched_delays_merge(struct sched_delays *delays, struct sched_delays *from)
{
	for (size_t i = 0; i < SCHED_OCTAVES; i++) {
		if (!delays->octave[i]) {
			delays->octave[i] = from->octave[i];
			from->octave[i] = NULL;
		}
		for (size_t k = 0; from->octave[i] && k < SCHED_CLASSES; k++)
			delays->octave[i][k] += from->octave[i][k];
	}
	delays->nr += from->nr;
	sched_delays_clear(from);
}

/* The middle of a class. */
static uint64_t delay_of(size_t octave, size_t class)
{
	uint64_t width;

	if (!octave)
		return class;
	width = 1ull << (octave - 5);
	return (SCHED_CLASSES + class) * width + width / 2;
}

uint64_t sched_delays_percentile(const struct sched_delays *delays, double percent)
{
	double wanted = (double)delays->nr * percent / 100;
	uint64_t seen = 0;

	for (size_t i = 0; i < SCHED_OCTAVES; i++)
		for (size_t k = 0; delays->octave[i] && k < SCHED_CLASSES; k++) {
			seen += delays->octave[i][k];
			if (delays->octave[i][k] && (double)seen >= wanted)
				return delay_of(i, k);
		}
	return 0;
}

void sched_delays_clear(struct sched_delays *delays)
{
	for (size_t i = 0; i < SCHED_OCTAVES; i++)
		free(delays->octave[i]);
	*delays = (struct sched_delays){ 0 };
}

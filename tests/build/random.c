/* SPDX-License-Identifier: MIT */
/* Pseudo-random numbers: the same for the same seed on every machine. */
#include <stdlib.h>

#include "build.h"

/* splitmix64: adjacent seeds give unrelated numbers. */
uint64_t build_random(struct build_rng *rng)
{
	uint64_t mixed = rng->state += UINT64_C(0x9e3779b97f4a7c15);

	mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
	return mixed ^ mixed >> 31;
}

uint64_t build_below(struct build_rng *rng, uint64_t bound)
{
	return bound ? build_random(rng) % bound : 0;
}

bool build_percent(struct build_rng *rng, unsigned percent)
{
	return build_below(rng, 100) < percent;
}

uint64_t build_number(struct build_rng *rng)
{
	switch (build_below(rng, 8)) {
	case 0:
		return 0;
	case 1:
		return build_below(rng, 256);
	case 2:
		return UINT64_MAX - build_below(rng, 256);
	case 3:
		return UINT64_C(1) << build_below(rng, 64);
	case 4:
		return build_random(rng) >> 32;
	case 5:
		return build_random(rng) | UINT64_C(1) << 63;
	default:
		return build_random(rng);
	}
}

uint64_t build_number_from(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/* SPDX-License-Identifier: MIT */
/*
 * The load of a node, for simulations of perch agent. Services have call chains of 12 to 43 frames
 * in a tree that branches towards the leaves; the chain at rank n has 1/n of the samples, and so
 * has the service.
 */
#ifndef PERCH_BENCH_AGENT_LOAD_H
#define PERCH_BENCH_AGENT_LOAD_H

#include <math.h>
#include <stdint.h>

enum {
	HZ = 19,
	WINDOW_SECONDS = 15,
	HISTORY_SECONDS = 300,
	STACKS = 400,	 /* of a service */
	FUNCTIONS = 600, /* that its call chains have */
	DEPTH_MAX = 44,
	PROGRAMS = 20, /* that services run */
};

static inline uint32_t random_below(uint32_t limit)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state >> 32) * limit >> 32);
}

/* Rank 1 is twice as likely as rank 2, and so on, up to the limit; about. */
static inline uint32_t random_rank(uint32_t limit)
{
	return (uint32_t)pow((double)limit, random_below(1u << 24) / (double)(1u << 24)) - 1;
}

/*
 * The functions of chain `rank` of a service, outermost first: from its number the frames follow,
 * so that it is the same each time. Returns their number.
 */
static inline uint32_t chain_of(uint32_t service, uint32_t rank, uint32_t function[DEPTH_MAX])
{
	uint32_t depth = 12 + (rank * 7 + service) % 32, at = service;

	for (uint32_t i = 0; i < depth; i++) {
		/* near the root there is one way, at the leaves there are many */
		uint32_t bits = i < depth / 2 ? 0 : (i - depth / 2) / 2;

		at = at * 1664525u + 1013904223u + rank % (1u << (bits < 10 ? bits : 10));
		function[i] = (at >> 8) % FUNCTIONS;
	}
	return depth;
}

#endif

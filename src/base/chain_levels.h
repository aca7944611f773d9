/* SPDX-License-Identifier: MIT */
/*
 * Walks many call chains level by level, from their outermost address on. The stacks of a level are
 * looked up at the same time, because their memory is mostly not in the CPU's cache. A chain may
 * begin with the addresses of an earlier chain, whose stacks are known: of them only the innermost
 * one is walked.
 */
#ifndef PERCH_BASE_CHAIN_LEVELS_H
#define PERCH_BASE_CHAIN_LEVELS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	PERCH__CHAINS = 64,	  /* that are walked together: a bit of a word each */
	PERCH__MAX_LEVELS = 1024, /* of a chain: PERCH_MAX_CALL_CHAIN */
};

struct perch__chain_part {
	uint32_t shared; /* outer addresses that the earlier chain has */
	uint32_t nr;	 /* addresses, with the shared ones */
};

/*
 * Finds the stacks of a level, the outermost of which is 0. chains has a bit for each chain with
 * this level; shared has those of them whose stack is that of the earlier chain.
 */
typedef void perch__add_level(void *context, size_t level, uint64_t chains, uint64_t shared);

#define PERCH__FOR_EACH_BIT(bit, bits)                                                           \
	for (uint64_t rest_ = (bits), bit; rest_ && (bit = (uint64_t)__builtin_ctzll(rest_), 1); \
	     rest_ &= rest_ - 1)

/* nr: at most PERCH__CHAINS parts, each with at most PERCH__MAX_LEVELS addresses. */
static inline __attribute__((always_inline)) void perch__walk_levels(
	const struct perch__chain_part *part, size_t nr, perch__add_level *add, void *context)
{
	uint64_t begin[PERCH__MAX_LEVELS + 1], end[PERCH__MAX_LEVELS + 1], chains = 0;
	size_t levels = 0;

	for (size_t i = 0; i < nr; i++)
		levels = part[i].nr > levels ? part[i].nr : levels;
	/* most chains are much shorter than the longest ones may be */
	memset(begin, 0, (levels + 1) * sizeof(*begin));
	memset(end, 0, (levels + 1) * sizeof(*end));
	/* the level of the innermost shared stack is the first one of a chain */
	for (size_t i = 0; i < nr; i++) {
		begin[part[i].shared ? part[i].shared - 1 : 0] |= 1ull << i;
		end[part[i].nr] |= 1ull << i;
	}
	for (size_t level = 0; level < levels; level++) {
		uint64_t shared = 0;

		PERCH__FOR_EACH_BIT(i, begin[level])
		shared |= (uint64_t)(part[i].shared > 0) << i;
		chains = (chains | begin[level]) & ~end[level];
		add(context, level, chains, shared);
	}
}

#endif

/* SPDX-License-Identifier: MIT */
/* Hardware cache events: CACHE[-OPERATION][-RESULT], in all of perf's spellings. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "internal.h"

#define SPELLINGS 5

/* Names are written with the first spelling; an operation without a result with the second, its
 * plural. */
static const char *const caches[PERCH_COUNT_HW_CACHE_MAX][SPELLINGS] = {
	[PERCH_COUNT_HW_CACHE_L1D] = { "L1-dcache", "l1-d", "l1d", "L1-data" },
	[PERCH_COUNT_HW_CACHE_L1I] = { "L1-icache", "l1-i", "l1i", "L1-instruction" },
	[PERCH_COUNT_HW_CACHE_LL] = { "LLC", "L2" },
	[PERCH_COUNT_HW_CACHE_DTLB] = { "dTLB", "d-tlb", "Data-TLB" },
	[PERCH_COUNT_HW_CACHE_ITLB] = { "iTLB", "i-tlb", "Instruction-TLB" },
	[PERCH_COUNT_HW_CACHE_BPU] = { "branch", "branches", "bpu", "btb", "bpc" },
	[PERCH_COUNT_HW_CACHE_NODE] = { "node" },
};
static const char *const operations[PERCH_COUNT_HW_CACHE_OP_MAX][SPELLINGS] = {
	[PERCH_COUNT_HW_CACHE_OP_READ] = { "load", "loads", "read" },
	[PERCH_COUNT_HW_CACHE_OP_WRITE] = { "store", "stores", "write" },
	[PERCH_COUNT_HW_CACHE_OP_PREFETCH] = { "prefetch", "prefetches", "speculative-read",
					       "speculative-load" },
};
static const char *const results[PERCH_COUNT_HW_CACHE_RESULT_MAX][SPELLINGS] = {
	[PERCH_COUNT_HW_CACHE_RESULT_ACCESS] = { "refs", "Reference", "ops", "access" },
	[PERCH_COUNT_HW_CACHE_RESULT_MISS] = { "misses", "miss" },
};

#define READ	 (1 << PERCH_COUNT_HW_CACHE_OP_READ)
#define WRITE	 (1 << PERCH_COUNT_HW_CACHE_OP_WRITE)
#define PREFETCH (1 << PERCH_COUNT_HW_CACHE_OP_PREFETCH)

/* The operations that each cache has, as in perf. */
static const unsigned char legal_operations[PERCH_COUNT_HW_CACHE_MAX] = {
	[PERCH_COUNT_HW_CACHE_L1D] = READ | WRITE | PREFETCH,
	[PERCH_COUNT_HW_CACHE_L1I] = READ | PREFETCH,
	[PERCH_COUNT_HW_CACHE_LL] = READ | WRITE | PREFETCH,
	[PERCH_COUNT_HW_CACHE_DTLB] = READ | WRITE | PREFETCH,
	[PERCH_COUNT_HW_CACHE_ITLB] = READ,
	[PERCH_COUNT_HW_CACHE_BPU] = READ,
	[PERCH_COUNT_HW_CACHE_NODE] = READ | WRITE | PREFETCH,
};

/*
 * Finds the row with the longest spelling that the word begins with, up to its end or a '-'. Sets
 * *length to the length of that spelling. Returns -1 if there is none.
 */
static int find_spelling(const char *const (*rows)[SPELLINGS], size_t nr, const char *word,
			 size_t *length)
{
	int found = -1;

	*length = 0;
	for (size_t row = 0; row < nr; row++)
		for (size_t i = 0; i < SPELLINGS && rows[row][i]; i++) {
			size_t bytes = strlen(rows[row][i]);

			if (bytes <= *length || strncasecmp(word, rows[row][i], bytes) ||
			    (word[bytes] && word[bytes] != '-'))
				continue;
			found = row;
			*length = bytes;
		}
	return found;
}

bool perch__find_cache_event(const char *word, uint64_t *config, bool *legal)
{
	int cache, operation = -1, result = -1;
	size_t length;

	cache = find_spelling(caches, PERCH__NR(caches), word, &length);
	if (cache < 0)
		return false;
	for (word += length; *word; word += length) {
		int found;

		word++;
		found = operation < 0
				? find_spelling(operations, PERCH__NR(operations), word, &length)
				: -1;
		if (found >= 0) {
			operation = found;
			continue;
		}
		found = result < 0 ? find_spelling(results, PERCH__NR(results), word, &length) : -1;
		if (found < 0)
			return false;
		result = found;
	}
	operation = operation < 0 ? PERCH_COUNT_HW_CACHE_OP_READ : operation;
	result = result < 0 ? PERCH_COUNT_HW_CACHE_RESULT_ACCESS : result;
	*config = (uint64_t)cache | (uint64_t)operation << 8 | (uint64_t)result << 16;
	*legal = legal_operations[cache] & 1 << operation;
	return true;
}

const char *perch_cache_event_name(uint64_t config, char *buffer, size_t size)
{
	unsigned cache = config & 0xff, operation = config >> 8 & 0xff,
		 result = config >> 16 & 0xff;

	/* the upper half may be the PMU of a hybrid machine */
	if ((config & PERCH_HW_EVENT_MASK) >> 24 || cache >= PERCH_COUNT_HW_CACHE_MAX ||
	    operation >= PERCH_COUNT_HW_CACHE_OP_MAX || result >= PERCH_COUNT_HW_CACHE_RESULT_MAX ||
	    !(legal_operations[cache] & 1 << operation))
		return NULL;
	if (result == PERCH_COUNT_HW_CACHE_RESULT_ACCESS)
		snprintf(buffer, size, "%s-%s", caches[cache][0], operations[operation][1]);
	else
		snprintf(buffer, size, "%s-%s-%s", caches[cache][0], operations[operation][0],
			 results[result][0]);
	return buffer;
}

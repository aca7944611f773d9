/* SPDX-License-Identifier: MIT */
/* Basic blocks of branch stacks (perch/blocks.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <perch/blocks.h>
#include <perch/profile.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "base/no_memory.h"

struct block {
	uint32_t event, last; /* last: number of the address of the last instruction */
	uint32_t next;	      /* index + 1 of the block of the event before it; 0: none */
	uint64_t start;
	uint64_t count, cycles;
};

struct event_blocks {
	uint32_t first; /* index + 1; 0: none */
	uint32_t nr;
};

struct perch_blocks {
	struct perch_processes *processes;
	struct perch_addresses *addresses;
	struct block *block;
	size_t nr, capacity;
	struct perch__hash_table by_last; /* event and last -> block */
	struct event_blocks *event;
	size_t nr_events;
	uint64_t total; /* cycles of all branches */
	struct perch_block *rows;
};

int perch_blocks_new(struct perch_blocks **blocks, struct perch_processes *processes,
		     struct perch_symbols *symbols, struct perch_error *err)
{
	struct perch_blocks *new = calloc(1, sizeof(*new));

	*blocks = NULL;
	if (!new)
		return PERCH__NO_MEMORY(err, "for blocks");
	new->processes = processes;
	new->by_last.seed = perch__hash_seed(new);
	if (perch_addresses_new(&new->addresses, processes, symbols, err)) {
		free(new);
		return -ENOMEM;
	}
	*blocks = new;
	return 0;
}

void perch_blocks_free(struct perch_blocks *blocks)
{
	if (!blocks)
		return;
	free(blocks->block);
	perch__hash_clear(&blocks->by_last);
	free(blocks->event);
	free(blocks->rows);
	perch_addresses_free(blocks->addresses);
	free(blocks);
}

/* ---- counting ---- */

static bool same_end(const void *items, uint32_t index, const void *key)
{
	const struct block *block = &((const struct block *)items)[index], *wanted = key;

	return block->event == wanted->event && block->last == wanted->last;
}

/* Returns the block that ends at an address, or NULL if out of memory. */
static struct block *block_at(struct perch_blocks *blocks, uint32_t event, uint32_t last)
{
	const struct block wanted = { .event = event, .last = last };
	uint64_t hash = perch__hash_pair(blocks->by_last.seed, event, last);
	uint32_t found = perch__hash_find(&blocks->by_last, hash, same_end, blocks->block, &wanted);
	struct event_blocks *of;

	if (found != PERCH__HASH_NONE)
		return &blocks->block[found];
	if (PERCH__ARRAY_RESERVE_ZEROED(blocks->event, blocks->nr_events, (size_t)event + 1) ||
	    PERCH__ARRAY_RESERVE(blocks->block, blocks->capacity, blocks->nr + 1) ||
	    perch__hash_add(&blocks->by_last, hash, blocks->nr))
		return NULL;
	of = &blocks->event[event];
	blocks->block[blocks->nr] = wanted;
	blocks->block[blocks->nr].next = of->first;
	of->first = (uint32_t)++blocks->nr;
	of->nr++;
	return &blocks->block[blocks->nr - 1];
}

/* Finds an address of a branch, which has the sample's mode unless it is in the other half. */
static int find_address(struct perch_blocks *blocks, struct perch_thread *thread,
			const struct perch_record *record, uint64_t ip, uint32_t *number)
{
	unsigned mode = record->misc & PERCH_MISC_CPUMODE_MASK;
	const struct perch_dso *dso;
	struct perch_record at = *record;

	if (mode == PERCH_MISC_USER || mode == PERCH_MISC_KERNEL)
		mode = ip >> 63 ? PERCH_MISC_KERNEL : PERCH_MISC_USER;
	at.misc = (uint16_t)((record->misc & ~PERCH_MISC_CPUMODE_MASK) | mode);
	at.sample.ip = ip;
	return perch_addresses_sampled(blocks->addresses, thread, &at, number, &dso);
}

/* Returns where a block starts: at the target of the branch before, in the same function. */
static uint64_t start_of(struct perch_blocks *blocks, uint32_t target, uint32_t last)
{
	/* the second lookup may move the first address */
	struct perch_address start = *perch_addresses_at(blocks->addresses, target);
	const struct perch_address *end = perch_addresses_at(blocks->addresses, last);

	return start.symbol == end->symbol && start.offset <= end->offset ? start.offset
									  : PERCH_BLOCK_NO_START;
}

static void add_block(struct block *block, uint64_t start, uint64_t cycles)
{
	if (!block->count || start < block->start)
		block->start = start;
	block->count++;
	block->cycles += cycles;
}

/* Adds the branches of a sample, the oldest first. Returns 0 or -ENOMEM. */
static int add_branches(struct perch_blocks *blocks, struct perch_thread *thread,
			const struct perch_record *record)
{
	bool any = record->parse_info->branch_sample_type & PERCH_SAMPLE_BRANCH_ANY;
	struct perch_branch_entry branch;
	uint32_t target = 0, last;
	bool has_target = false;

	for (uint64_t i = record->sample.branches.nr; i-- > 0;) {
		struct block *block;

		perch_branch_at(record, i, &branch);
		blocks->total += branch.cycles;
		if (find_address(blocks, thread, record, branch.from, &last))
			return -ENOMEM;
		if (branch.cycles && perch_addresses_at(blocks->addresses, last)->symbol) {
			block = block_at(blocks, record->event, last);
			if (!block)
				return -ENOMEM;
			add_block(block,
				  has_target && any ? start_of(blocks, target, last)
						    : PERCH_BLOCK_NO_START,
				  branch.cycles);
		}
		if (find_address(blocks, thread, record, branch.to, &target))
			return -ENOMEM;
		has_target = true;
	}
	return 0;
}

int perch_blocks_add(struct perch_blocks *blocks, const struct perch_record *record,
		     struct perch_error *err)
{
	struct perch_branch_entry newest;
	struct perch_thread *thread;

	if (record->type != PERCH_RECORD_SAMPLE || !record->sample.branches.nr)
		return 0;
	perch_branch_at(record, 0, &newest);
	if (!newest.cycles) /* the CPU does not count them */
		return 0;
	thread = perch_processes_thread(blocks->processes, record->sample.pid, record->sample.tid);
	if (!thread || add_branches(blocks, thread, record))
		return PERCH__NO_MEMORY(err, "for blocks");
	return 0;
}

/* ---- results ---- */

uint64_t perch_blocks_total(const struct perch_blocks *blocks)
{
	return blocks->total;
}

/* Of equal blocks the one that was sampled first is first. */
static int compare_blocks(const void *left, const void *right)
{
	const struct perch_block *a = left, *b = right;

	if (a->cycles != b->cycles)
		return a->cycles < b->cycles ? 1 : -1;
	return a->reserved[0] < b->reserved[0] ? -1 : a->reserved[0] > b->reserved[0];
}

int perch_blocks_rows(struct perch_blocks *blocks, unsigned event, const struct perch_block **rows,
		      size_t *nr, struct perch_error *err)
{
	const struct event_blocks none = { 0 };
	const struct event_blocks *of = event < blocks->nr_events ? &blocks->event[event] : &none;

	free(blocks->rows);
	*nr = 0;
	*rows = blocks->rows = calloc((size_t)of->nr + 1, sizeof(*blocks->rows));
	if (!blocks->rows)
		return PERCH__NO_MEMORY(err, "for blocks");
	for (uint32_t i = of->first; i; i = blocks->block[i - 1].next) {
		const struct block *block = &blocks->block[i - 1];
		const struct perch_address *last =
			perch_addresses_at(blocks->addresses, block->last);

		blocks->rows[(*nr)++] = (struct perch_block){
			.dso = last->dso,
			.symbol = last->symbol,
			.start = block->start,
			.end = last->offset,
			.count = block->count,
			.cycles = block->cycles,
			.reserved = { block->last }, /* the order of equal blocks */
		};
	}
	qsort(blocks->rows, *nr, sizeof(*blocks->rows), compare_blocks);
	for (size_t i = 0; i < *nr; i++)
		blocks->rows[i].reserved[0] = 0;
	return 0;
}

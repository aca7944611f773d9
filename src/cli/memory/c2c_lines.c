/* SPDX-License-Identifier: MIT */
/* perch c2c: accesses, added up by line of the cache, and within it by thread and instruction. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "memory.h"

/* ---- what an access is ---- */

/* As perf c2c does: HITM counts where the level is the last cache, or a remote one. */
static void add_load(struct c2c_sums *sums, union perch_mem_data_src source)
{
	bool remote = source.mem_remote ||
		      source.mem_lvl & (PERCH_MEM_LVL_REM_CCE1 | PERCH_MEM_LVL_REM_CCE2);
	bool last_cache = source.mem_lvl & PERCH_MEM_LVL_HIT && source.mem_lvl & PERCH_MEM_LVL_L3;

	sums->loads++;
	if (source.mem_snoop & PERCH_MEM_SNOOP_HITM) {
		sums->remote_hitm += remote;
		sums->local_hitm += !remote && last_cache;
	}
	if (source.mem_snoopx & PERCH_MEM_SNOOPX_PEER) {
		sums->remote_peer += remote;
		sums->local_peer += !remote;
	}
}

static void add_store(struct c2c_sums *sums, union perch_mem_data_src source)
{
	sums->stores++;
	sums->stores_l1_hit += source.mem_lvl & PERCH_MEM_LVL_HIT &&
			       source.mem_lvl & PERCH_MEM_LVL_L1;
	sums->stores_l1_miss += source.mem_lvl & PERCH_MEM_LVL_MISS &&
				source.mem_lvl & PERCH_MEM_LVL_L1;
}

/* A breakpoint that only writes trigger samples stores. */
static bool is_write_breakpoint(const struct perch_attr *attr)
{
	return attr->type == PERCH_TYPE_BREAKPOINT && attr->bp_type == PERCH_BREAKPOINT_W;
}

static struct c2c_sums sums_of(const struct perch_session_sample *sample)
{
	const struct perch_attr *attr = &sample->event->attr;
	struct c2c_sums sums = { .records = 1 };
	union perch_mem_data_src source;

	if (!(attr->sample_type & PERCH_SAMPLE_DATA_SRC)) {
		sums.stores = is_write_breakpoint(attr);
		return sums;
	}
	source.val = sample->record->sample.data_src;
	if (source.mem_op & PERCH_MEM_OP_LOAD)
		add_load(&sums, source);
	if (source.mem_op & PERCH_MEM_OP_STORE)
		add_store(&sums, source);
	if (is_write_breakpoint(attr))
		sums.stores = 1;
	return sums;
}

static void add_sums(struct c2c_sums *to, const struct c2c_sums *from)
{
	to->records += from->records;
	to->loads += from->loads;
	to->stores += from->stores;
	to->local_hitm += from->local_hitm;
	to->remote_hitm += from->remote_hitm;
	to->local_peer += from->local_peer;
	to->remote_peer += from->remote_peer;
	to->stores_l1_hit += from->stores_l1_hit;
	to->stores_l1_miss += from->stores_l1_miss;
}

/* ---- lines and accesses ---- */

static bool same_line(const void *lines, uint32_t index, const void *key)
{
	const struct c2c_line *line = (const struct c2c_line *)lines + index, *wanted = key;

	return line->pid == wanted->pid && line->address == wanted->address;
}

static bool same_access(const void *accesses, uint32_t index, const void *key)
{
	const struct c2c_access *access = (const struct c2c_access *)accesses + index;
	const struct c2c_access *wanted = key;

	return access->line == wanted->line && access->address == wanted->address &&
	       access->tid == wanted->tid && access->offset == wanted->offset;
}

/* Returns the index of a line; UINT32_MAX without memory. All processes share the lines of the
 * kernel, and those of memory that they share if its physical address was recorded. */
static uint32_t find_line(struct c2c *c2c, const struct perch_session_sample *sample)
{
	const struct perch_sample *values = &sample->record->sample;
	bool physical = sample->event->attr.sample_type & PERCH_SAMPLE_PHYS_ADDR &&
			values->phys_addr;
	bool shared = physical || values->addr >> 63;
	const struct c2c_line wanted = {
		.pid = shared ? 0 : perch_thread_pid(sample->thread),
		.address = (physical ? values->phys_addr : values->addr) & ~(c2c->line_size - 1),
		.shown = values->addr & ~(c2c->line_size - 1),
		.first_tid = UINT32_MAX,
		.first_writer = UINT32_MAX,
	};
	uint64_t hash = perch__hash_pair(perch__hash_integer(c2c->lines.seed, wanted.address),
					 wanted.pid, 0);
	uint32_t index = perch__hash_find(&c2c->lines, hash, same_line, c2c->line, &wanted);

	if (index != PERCH__HASH_NONE)
		return index;
	if (PERCH__ARRAY_RESERVE_BY_NR(c2c->line, c2c->nr_lines, 1) ||
	    perch__hash_add(&c2c->lines, hash, c2c->nr_lines))
		return UINT32_MAX;
	c2c->line[c2c->nr_lines] = wanted;
	return (uint32_t)c2c->nr_lines++;
}

static struct c2c_access *find_access(struct c2c *c2c, const struct perch_session_sample *sample,
				      uint32_t line)
{
	const struct perch_sample *values = &sample->record->sample;
	struct c2c_access wanted = {
		.line = line,
		.address = sample->chain[0],
		.pid = perch_thread_pid(sample->thread),
		.tid = perch_thread_tid(sample->thread),
		.offset = (uint32_t)(values->addr & (c2c->line_size - 1)),
	};
	uint64_t hash = perch__hash_pair(perch__hash_integer(c2c->accesses.seed,
							     (uint64_t)line << 32 | wanted.address),
					 wanted.tid, wanted.offset);
	uint32_t index = perch__hash_find(&c2c->accesses, hash, same_access, c2c->access, &wanted);

	if (index != PERCH__HASH_NONE)
		return &c2c->access[index];
	if (PERCH__ARRAY_RESERVE_BY_NR(c2c->access, c2c->nr_accesses, 1) ||
	    perch__hash_add(&c2c->accesses, hash, c2c->nr_accesses))
		return NULL;
	perch_clean_text(perch_thread_comm(sample->thread), wanted.comm, sizeof(wanted.comm));
	c2c->access[c2c->nr_accesses] = wanted;
	return &c2c->access[c2c->nr_accesses++];
}

/* Two threads, of which one writes, take the line from each other. */
static void note_thread(struct c2c_line *line, uint32_t tid, bool writes)
{
	if (line->first_tid == UINT32_MAX)
		line->first_tid = tid;
	line->several |= line->first_tid != tid;
	if (writes && line->first_writer == UINT32_MAX)
		line->first_writer = tid;
	line->shared = line->several && line->first_writer != UINT32_MAX;
}

int c2c_add(struct c2c *c2c, const struct perch_session_sample *sample)
{
	const struct perch_sample *values = &sample->record->sample;
	struct c2c_sums sums;
	struct c2c_access *access;
	uint32_t line;

	if (!c2c->lines.seed)
		c2c->lines.seed = c2c->accesses.seed = perch__hash_seed(c2c);
	if (!(sample->event->attr.sample_type & PERCH_SAMPLE_ADDR))
		return 0;
	sums = sums_of(sample);
	c2c->has_sources |= (sample->event->attr.sample_type & PERCH_SAMPLE_DATA_SRC) != 0;
	add_sums(&c2c->sums, &sums);
	if (!values->addr) {
		c2c->without_address++;
		return 0;
	}
	line = find_line(c2c, sample);
	access = line == UINT32_MAX ? NULL : find_access(c2c, sample, line);
	if (!access)
		return -ENOMEM;
	add_sums(&access->sums, &sums);
	add_sums(&c2c->line[line].sums, &sums);
	if (sample->event->attr.sample_type & PERCH_SAMPLE_CPU)
		access->cpus |= 1ull << values->cpu % 64;
	note_thread(&c2c->line[line], access->tid, sums.stores > 0);
	return 0;
}

/* ---- order ---- */

uint64_t c2c_weight(const struct c2c *c2c, const struct c2c_sums *sums)
{
	switch (c2c->display[0]) {
	case 'l':
		return sums->local_hitm;
	case 'r':
		return sums->remote_hitm;
	case 'p':
		return sums->local_peer + sums->remote_peer;
	default:
		return sums->local_hitm + sums->remote_hitm;
	}
}

static int compare_sums(const struct c2c *c2c, const struct c2c_sums *one,
			const struct c2c_sums *other)
{
	uint64_t a = c2c_weight(c2c, one), b = c2c_weight(c2c, other);

	if (a != b)
		return a > b ? -1 : 1;
	return (one->records < other->records) - (one->records > other->records);
}

static int compare_lines(const void *left, const void *right, void *context)
{
	const struct c2c_line *a = left, *b = right;
	int order;

	if (a->shared != b->shared)
		return a->shared ? -1 : 1;
	order = compare_sums(context, &a->sums, &b->sums);
	return order ? order : (a->address > b->address) - (a->address < b->address);
}

/* By line, then by offset, as the fields of a struct. */
static int compare_accesses(const void *left, const void *right, void *context)
{
	const struct c2c_access *a = left, *b = right;
	int order;

	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	order = compare_sums(context, &a->sums, &b->sums);
	return order ? order : (a->tid > b->tid) - (a->tid < b->tid);
}

void c2c_sort(struct c2c *c2c)
{
	if (c2c->nr_accesses)
		qsort_r(c2c->access, c2c->nr_accesses, sizeof(*c2c->access), compare_accesses, c2c);
	for (size_t i = 0; i < c2c->nr_accesses; i++) {
		struct c2c_line *line = &c2c->line[c2c->access[i].line];

		if (!line->nr++)
			line->first = i;
	}
	if (c2c->nr_lines)
		qsort_r(c2c->line, c2c->nr_lines, sizeof(*c2c->line), compare_lines, c2c);
}

void c2c_clear(struct c2c *c2c)
{
	free(c2c->line);
	free(c2c->access);
	perch__hash_clear(&c2c->lines);
	perch__hash_clear(&c2c->accesses);
}

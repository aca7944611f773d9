/* SPDX-License-Identifier: MIT */
/*
 * The data block of a page. It is a sequence of numbers (LEB128: 7 bits a byte, low ones first)
 * and the bytes of the texts. Tables are written column by column, which compresses best.
 * data.js reads it:
 *
 *	version
 *	texts      bytes, then the texts, each with its NUL; elsewhere a text is its number in them
 *	title, old title, number of notes, notes
 *	events     number, then names, 1 if periods are nanoseconds
 *	threads    number, then pids, tids, names
 *	functions  number, then names, DSOs, kinds
 *	locations  number, then functions, files, lines
 *	nodes      number without the root, then for each how many levels its parent is above the
 *	           node before it, then locations
 *	entries    number, then differences of nodes, threads, 16 * events + 2 * states + old,
 *	           samples, periods
 *	flags      see enum block_flags
 *	digits     behind the point: numbers of samples and periods are / 10^digits
 *	times      first time and duration in ns, number of slices (equal parts of the duration)
 *	groups     for each entry a number of groups: samples of one slice and CPU
 *	           then differences of slices, CPUs + 1, numbers of samples, with
 *	           BLOCK_PERIODS periods; without, each sample of an entry has the same period
 *	states     see page_states.c
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/array.h"
#include "base/wide.h"
#include "export/states.h"
#include "page.h"

#define VERSION 3

enum block_flags {
	BLOCK_CPUS = 1,
	BLOCK_TIMES = 2,
	BLOCK_PERIODS = 4,
	BLOCK_AVERAGES = 8, /* periods differ: each sample has the average of its entry */
	BLOCK_COUNTS = 16,  /* numbers of samples are those of folded stacks */
};

/* Above these numbers of samples a page has fewer slices, and averages of periods. */
#define MANY_SAMPLES	200000
#define SLICES		2048
#define SLICES_IF_LARGE 1024

#define LEVEL		4 /* of zlib; 9 takes 20 times as long for 4 % fewer bytes */

/* ---- tables ---- */

/* Writes the texts. number: by offset their number, from 0. */
static void put_texts(struct page_block *block, const struct page *page, uint32_t *number)
{
	uint32_t nr = 0;

	for (size_t at = 0; at < page->nr_bytes; at += strlen(page->text + at) + 1)
		number[at] = nr++;
	perch__page_put_number(block, page->nr_bytes);
	perch__page_put_bytes(block, page->text, page->nr_bytes);
}

static void put_tables(struct page_block *block, const struct page *page, const uint32_t *number)
{
	perch__page_put_number(block, number[page->title.nr]);
	perch__page_put_number(block, number[page->old_title.nr]);
	perch__page_put_number(block, page->nr_notes);
	PUT_COLUMN(block, page->nr_notes, number[page->note[i].nr]);
	perch__page_put_number(block, page->nr_events);
	PUT_COLUMN(block, page->nr_events, number[page->event[i].name.nr]);
	PUT_COLUMN(block, page->nr_events, page->event[i].is_clock);
	perch__page_put_number(block, page->nr_threads);
	PUT_COLUMN(block, page->nr_threads, page->thread[i].pid);
	PUT_COLUMN(block, page->nr_threads, page->thread[i].tid);
	PUT_COLUMN(block, page->nr_threads, number[page->thread[i].comm.nr]);
	perch__page_put_number(block, page->nr_functions);
	PUT_COLUMN(block, page->nr_functions, number[page->function[i].name.nr]);
	PUT_COLUMN(block, page->nr_functions, number[page->function[i].dso.nr]);
	PUT_COLUMN(block, page->nr_functions, page->function[i].kind);
	perch__page_put_number(block, page->nr_locations);
	PUT_COLUMN(block, page->nr_locations, page->location[i].function.nr);
	PUT_COLUMN(block, page->nr_locations, number[page->location[i].file.nr]);
	PUT_COLUMN(block, page->nr_locations, page->location[i].line);
}

/* Writes the nodes but the root. Each is a child of the node before it or of a parent of that. */
static void put_nodes(struct page_block *block, const struct page *page)
{
	perch__page_put_number(block, page->nr_nodes - 1);
	for (size_t i = 1; i < page->nr_nodes; i++) {
		uint32_t levels = 0;

		for (size_t at = i - 1; at != page->node[i].parent.nr;
		     at = page->node[at].parent.nr)
			levels++;
		perch__page_put_number(block, levels);
	}
	PUT_COLUMN(block, page->nr_nodes - 1, page->node[i + 1].location.nr);
}

static void put_entries(struct page_block *block, const struct page *page)
{
	const struct page_entry *entry = page->entry;
	size_t nr = page->nr_entries;

	perch__page_put_number(block, nr);
	PUT_COLUMN(block, nr, entry[i].node.nr - (i ? entry[i - 1].node.nr : 0));
	PUT_COLUMN(block, nr, entry[i].thread.nr);
	PUT_COLUMN(block, nr, 16 * entry[i].event.nr + 2 * entry[i].state + entry[i].old);
	PUT_COLUMN(block, nr, entry[i].samples);
	PUT_COLUMN(block, nr, entry[i].period);
}

/* ---- samples ---- */

/* Samples of one entry, slice and CPU, which follow each other. */
struct page_group {
	uint32_t entry, slice, cpu, samples;
	uint64_t period;
};

struct groups {
	struct page_group *group;
	size_t nr, capacity;
	uint64_t first, duration;
	uint32_t slices;
	unsigned flags;
};

static void find_times(struct groups *groups, const struct page *page)
{
	uint64_t last = 0;

	groups->first = UINT64_MAX;
	for (size_t i = 0; i < page->nr_samples; i++) {
		if (page->sample[i].time < groups->first)
			groups->first = page->sample[i].time;
		if (page->sample[i].time > last)
			last = page->sample[i].time;
	}
	if (!page->nr_samples)
		groups->first = 0;
	if (page->states && page->states->first < groups->first)
		groups->first = page->states->first;
	if (page->states && page->states->last > last)
		last = page->states->last;
	groups->duration = page->nr_samples ? last - groups->first + 1 : 1;
	if (!groups->duration) /* from 0 to UINT64_MAX */
		groups->duration = UINT64_MAX;
	groups->slices = page->nr_samples > MANY_SAMPLES ? SLICES_IF_LARGE : SLICES;
	if (!page->has_times)
		groups->slices = 1;
}

/* Whether all samples of an entry have one period. */
static bool has_equal_periods(const struct page *page)
{
	for (size_t i = 0; i < page->nr_samples; i++) {
		const struct page_entry *entry = &page->entry[page->sample[i].entry.nr];

		if (page->sample[i].period * entry->samples != entry->period)
			return false;
	}
	return true;
}

static int compare_groups(const void *left, const void *right)
{
	const struct page_group *a = left, *b = right;

	if (a->slice != b->slice)
		return a->slice < b->slice ? -1 : 1;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

/* Joins groups of one slice and CPU among those of one entry, from start on. */
static void join_groups(struct groups *groups, size_t start)
{
	size_t nr = start;

	if (start == groups->nr)
		return;
	qsort(groups->group + start, groups->nr - start, sizeof(*groups->group), compare_groups);
	for (size_t i = start + 1; i < groups->nr; i++) {
		struct page_group *to = &groups->group[nr], *from = &groups->group[i];

		if (compare_groups(to, from)) {
			groups->group[++nr] = *from;
		} else {
			to->samples += from->samples;
			to->period += from->period;
		}
	}
	groups->nr = nr + 1;
}

static int make_groups(struct groups *groups, const struct page *page)
{
	size_t start = 0;

	find_times(groups, page);
	groups->flags = page->has_cpus * BLOCK_CPUS | page->has_times * BLOCK_TIMES |
			page->has_counts * BLOCK_COUNTS;
	if (!has_equal_periods(page))
		groups->flags |= page->nr_samples > MANY_SAMPLES ? BLOCK_AVERAGES : BLOCK_PERIODS;
	groups->group = calloc(page->nr_samples + 1, sizeof(*groups->group));
	if (!groups->group)
		return -ENOMEM;
	for (size_t i = 0; i < page->nr_samples; i++) {
		const struct page_sample *sample = &page->sample[i];
		uint64_t slice = perch__divide_product(sample->time - groups->first, groups->slices,
						       0, groups->duration);

		groups->group[groups->nr++] = (struct page_group){
			.entry = sample->entry.nr,
			.slice = (uint32_t)(slice < groups->slices ? slice : groups->slices - 1),
			.cpu = page->has_cpus ? sample->cpu + 1 : 0,
			.samples = 1,
			.period = sample->period,
		};
		if (i + 1 == page->nr_samples || sample[1].entry.nr != sample->entry.nr) {
			join_groups(groups, start);
			start = groups->nr;
		}
	}
	return 0;
}

static void put_groups(struct page_block *block, const struct groups *groups,
		       const struct page *page)
{
	const struct page_group *group = groups->group;
	size_t at = 0;

	perch__page_put_number(block, groups->flags);
	perch__page_put_number(block, page->digits);
	perch__page_put_number(block, groups->first);
	perch__page_put_number(block, groups->duration);
	perch__page_put_number(block, groups->slices);
	for (size_t i = 0; i < page->nr_entries; i++) {
		size_t start = at;

		while (at < groups->nr && group[at].entry == i)
			at++;
		perch__page_put_number(block, at - start);
	}
	PUT_COLUMN(block, groups->nr,
		   group[i].slice -
			   (i && group[i].entry == group[i - 1].entry ? group[i - 1].slice : 0));
	if (groups->flags & BLOCK_CPUS)
		PUT_COLUMN(block, groups->nr, group[i].cpu);
	PUT_COLUMN(block, groups->nr, group[i].samples);
	if (groups->flags & BLOCK_PERIODS)
		PUT_COLUMN(block, groups->nr, group[i].period);
}

static int put_block(struct page_block *block, const struct page *page)
{
	struct groups groups = { 0 };
	uint32_t *number = calloc(page->nr_bytes, sizeof(*number));
	int rc = number ? make_groups(&groups, page) : -ENOMEM;

	if (!rc) {
		perch__page_put_number(block, VERSION);
		put_texts(block, page, number);
		put_tables(block, page, number);
		put_nodes(block, page);
		put_entries(block, page);
		put_groups(block, &groups, page);
		perch__page_put_states(block, page, number, groups.first);
	}
	free(groups.group);
	free(number);
	return block->failed ? -ENOMEM : rc;
}

/* ---- output ---- */

/* Returns the length of the text. Only the last part of the data may be no multiple of 3. */
static size_t to_base64(const unsigned char *byte, size_t nr, char *text)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t length = 0;

	for (size_t i = 0; i < nr; i += 3) {
		uint32_t group = (uint32_t)byte[i] << 16;

		group |= i + 1 < nr ? (uint32_t)byte[i + 1] << 8 : 0;
		group |= i + 2 < nr ? byte[i + 2] : 0;
		text[length++] = digits[group >> 18];
		text[length++] = digits[group >> 12 & 63];
		text[length++] = i + 1 < nr ? digits[group >> 6 & 63] : '=';
		text[length++] = i + 2 < nr ? digits[group & 63] : '=';
	}
	return length;
}

static int put_base64(const unsigned char *byte, size_t nr, FILE *out)
{
	char text[4096];
	int rc = 0;

	for (size_t i = 0, part, length; i < nr && !rc; i += part) {
		part = nr - i < sizeof(text) / 4 * 3 ? nr - i : sizeof(text) / 4 * 3;
		length = to_base64(byte + i, part, text);
		rc = perch__page_put(text, length, out);
	}
	return rc;
}

int perch__page_put(const void *bytes, size_t nr, FILE *out)
{
	errno = 0;
	if (fwrite(bytes, 1, nr, out) == nr)
		return 0;
	return errno ? -errno : -EIO;
}

int perch__page_put_data(const struct page *page, FILE *out)
{
	struct page_block block = { 0 };
	unsigned char *compressed = NULL;
	uLongf size = 0;
	int rc = put_block(&block, page);

	if (!rc) {
		size = compressBound(block.nr);
		compressed = malloc(size);
		if (!compressed ||
		    compress2(compressed, &size, block.byte, block.nr, LEVEL) != Z_OK)
			rc = -ENOMEM;
	}
	if (!rc)
		rc = put_base64(compressed, size, out);
	free(compressed);
	free(block.byte);
	return rc;
}

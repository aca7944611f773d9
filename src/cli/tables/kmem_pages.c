/* SPDX-License-Identifier: MIT */
/* perch kmem --page: the page allocator. A row of callers is a caller with what it asks for. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "kmem.h"

/* Fields of mm_page_alloc. Until Linux 4.0 it has the address of the page, and no pfn. */
enum { PFN, ORDER, FLAGS, MIGRATE_TYPE };

/* Numbers of a row. */
enum { HITS, BYTES, ROW_ORDER, ROW_TYPE, ADDRESS, NUMBER_OF_PAGE };

/* Values of pages. */
enum { CALLER_ROW, PAGE_ROW, PAGE_BYTES };

enum { PAGE_BITS = 12, MOST_ORDER = 20, MIN_ORDERS = 11 };

/* The functions between a caller and the tracepoint begin with one of these. */
static const char *const allocators[] = {
	"__alloc_pages",      "alloc_pages",	 "__alloc_frozen_pages", "alloc_frozen_pages",
	"__folio_alloc",      "folio_alloc",	 "vma_alloc_folio",	 "__get_free_pages",
	"get_free_pages",     "get_zeroed_page", "alloc_page",		 "__alloc_page",
	"__page_cache_alloc",
};

static bool is_allocator(const struct perch_address *address)
{
	if (!address->symbol)
		return false;
	for (size_t i = 0; i < CLI_NR(allocators); i++)
		if (!strncmp(address->symbol->name, allocators[i], strlen(allocators[i])))
			return true;
	return false;
}

/* Finds the number of the caller's address. Returns UINT32_MAX without a call chain. */
static uint32_t find_caller(const struct tables *tables, const struct tables_sample *sample)
{
	struct perch_session_sample resolved;

	if (perch_session_resolve(tables->input.session, sample->record, &resolved, NULL))
		return UINT32_MAX;
	for (size_t i = 0; i < resolved.nr; i++)
		if (!is_allocator(perch_session_address(tables->input.session, resolved.chain[i])))
			return resolved.chain[i];
	return resolved.nr ? resolved.chain[resolved.nr - 1] : UINT32_MAX;
}

static uint64_t bytes_of(uint64_t order)
{
	return UINT64_C(1) << (order < MOST_ORDER ? order + PAGE_BITS : PAGE_BITS);
}

/* Copies the flags, as the kernel prints them. */
static void put_flags(struct tables *tables, const struct tables_sample *sample, char *text,
		      size_t size)
{
	char whole[TABLES_CELL];
	const char *flags;

	snprintf(text, size, "%#" PRIx64, sample->value[FLAGS]);
	if (perch_session_tracepoint_text(tables->input.session, sample->record, whole,
					  sizeof(whole), NULL) < 0)
		return;
	flags = strstr(whole, "gfp_flags=");
	if (flags)
		snprintf(text, size, "%.*s", (int)strcspn(flags + strlen("gfp_flags="), " "),
			 flags + strlen("gfp_flags="));
}

/* The name of a row is flags, a NUL, and the caller. Returns 0 or -ENOMEM. */
static int name_row(struct tables *tables, const struct tables_sample *sample,
		    struct tables_row *row, uint32_t caller)
{
	char flags[TABLES_CELL], name[TABLES_CELL] = "";
	size_t length;

	if (row->name)
		return 0;
	put_flags(tables, sample, flags, sizeof(flags));
	if (caller != UINT32_MAX)
		tables_frame_name(tables, caller, name, sizeof(name));
	length = strlen(flags) + 1;
	row->name = perch__reallocarray(NULL, 1, length + strlen(name) + 1);
	if (!row->name)
		return -ENOMEM;
	memcpy(row->name, flags, length);
	memcpy(row->name + length, name, strlen(name) + 1);
	return 0;
}

/* Returns the number of the row, or UINT64_MAX without memory. */
static uint64_t add_to_row(struct tables *tables, unsigned table,
			   const struct tables_sample *sample, uint32_t caller)
{
	const uint64_t key[TABLES_KEYS] = {
		table == KMEM_BY_CALLER ? caller : sample->value[PFN],
		sample->value[ORDER],
		sample->value[FLAGS],
		sample->value[MIGRATE_TYPE],
	};
	struct tables_row *row = tables_row(&tables->table[table], key);

	if (!row || name_row(tables, sample, row, caller))
		return UINT64_MAX;
	row->number[HITS]++;
	row->number[BYTES] += bytes_of(sample->value[ORDER]);
	row->number[ROW_ORDER] = sample->value[ORDER];
	row->number[ROW_TYPE] = sample->value[MIGRATE_TYPE];
	row->number[NUMBER_OF_PAGE] = sample->value[PFN];
	return (uint64_t)(row - tables->table[table].row);
}

static void remove_from_row(struct tables_row *row, uint64_t bytes)
{
	row->number[HITS]--;
	row->number[BYTES] -= bytes;
}

/* With --live, takes pages that were freed from their rows. */
static void remove_pages(struct tables *tables, const struct perch_pair *pages)
{
	const struct kmem *kmem = kmem_of(tables);

	if (!kmem->live)
		return;
	remove_from_row(&tables->table[KMEM_BY_CALLER].row[pages->value[CALLER_ROW]],
			pages->value[PAGE_BYTES]);
	if (kmem->by_allocation)
		remove_from_row(&tables->table[KMEM_BY_ALLOCATION].row[pages->value[PAGE_ROW]],
				pages->value[PAGE_BYTES]);
}

static int add_pages(struct tables *tables, const struct tables_sample *sample)
{
	struct perch_pair pages = { .key = { .word = { sample->value[PFN] } },
				    .start = sample->time };
	struct kmem *kmem = kmem_of(tables);
	const struct perch_pair *before;
	uint32_t caller;

	kmem->sums.allocations++;
	kmem->sums.allocated += bytes_of(sample->value[ORDER]);
	if (sample->value[PFN] == UINT64_MAX || !sample->value[PFN]) {
		kmem->sums.failed++;
		return 0;
	}
	/* what is allocated again was freed, by an event that is missing */
	before = perch_pairs_find(tables->pairs[0], &pages.key);
	if (before)
		remove_pages(tables, before);
	caller = find_caller(tables, sample);
	pages.value[CALLER_ROW] = add_to_row(tables, KMEM_BY_CALLER, sample, caller);
	pages.value[PAGE_ROW] =
		kmem->by_allocation ? add_to_row(tables, KMEM_BY_ALLOCATION, sample, caller) : 0;
	if (pages.value[CALLER_ROW] == UINT64_MAX || pages.value[PAGE_ROW] == UINT64_MAX)
		return -ENOMEM;
	pages.value[PAGE_BYTES] = bytes_of(sample->value[ORDER]);
	return perch_pairs_begin(tables->pairs[0], &pages, NULL) < 0 ? -ENOMEM : 0;
}

static int free_pages(struct tables *tables, const struct tables_sample *sample)
{
	const struct perch_pair_key key = { .word = { sample->value[PFN] } };
	struct kmem *kmem = kmem_of(tables);
	struct perch_pair pages;

	kmem->sums.frees++;
	kmem->sums.freed += bytes_of(sample->value[ORDER]);
	if (!perch_pairs_end(tables->pairs[0], &key, sample->time, &pages)) {
		kmem->sums.other_frees++;
		return 0;
	}
	kmem->sums.matched += pages.value[PAGE_BYTES];
	remove_pages(tables, &pages);
	return 0;
}

const struct tables_event kmem_page_events[] = {
	{ "kmem:mm_page_alloc", { "pfn", "order", "gfp_flags", "migratetype" }, add_pages },
	{ "kmem:mm_page_free", { "pfn", "order" }, free_pages },
	{ 0 },
};

/* ---- columns ---- */

static uint64_t kibibytes(const struct tables *tables, const struct tables_row *row)
{
	(void)tables;
	return row->number[BYTES] >> 10;
}

/* enum migratetype since Linux 4.0; perf(1) has the order before. */
static const char *const types[] = { "UNMOVABLE",  "MOVABLE", "RECLAIMABLE",
				     "HIGHATOMIC", "CMA",     "ISOLATE" };

static void put_type(const struct tables *tables, const struct tables_row *row,
		     char text[TABLES_CELL])
{
	(void)tables;
	snprintf(text, TABLES_CELL, "%s",
		 row->number[ROW_TYPE] < CLI_NR(types) ? types[row->number[ROW_TYPE]] : "unknown");
}

static void put_caller(const struct tables *tables, const struct tables_row *row,
		       char text[TABLES_CELL])
{
	(void)tables;
	snprintf(text, TABLES_CELL, "%s", row->name + strlen(row->name) + 1);
}

#define SUMS                                                                      \
	{ "page", "Total alloc (KB)", TABLES_COUNT, .number = kibibytes },        \
		{ "hit", "Hits", TABLES_COUNT, TABLES_AT(number[HITS]) },         \
		{ "order", "Order", TABLES_COUNT, TABLES_AT(number[ROW_ORDER]) }, \
		{ "migtype", "Mig.type", TABLES_TEXT, .text = put_type },         \
		{ "gfp", "GFP flags", TABLES_TEXT, .text = tables_name },         \
	{                                                                         \
		"callsite", "Callsite", TABLES_TEXT, .text = put_caller           \
	}

static const struct tables_column caller_columns[] = { SUMS, { 0 } };
static const struct tables_column page_columns[] = {
	{ "pfn", "PFN", TABLES_COUNT, true, TABLES_AT(number[NUMBER_OF_PAGE]) },
	SUMS,
	{ 0 },
};

#define FIELDS "page,hit,order,migtype,gfp,callsite"

const struct tables_view kmem_page_views[KMEM_TABLES] = {
	{ "caller", caller_columns, FIELDS, "page,hit" },
	{ "alloc", page_columns, "pfn," FIELDS, "page,hit" },
};

static void put_sum(const char *what, uint64_t number, uint64_t bytes)
{
	printf("%-30s: %12" PRIu64 "   [ %12" PRIu64 " KB ]\n", what, number, bytes >> 10);
}

/* How many blocks of each order and type the rows have. */
static void print_orders(const struct tables_table *table)
{
	uint64_t hits[MOST_ORDER][CLI_NR(types)] = { 0 };
	size_t orders = MIN_ORDERS;

	for (size_t i = 0; i < table->nr; i++) {
		const uint64_t *number = table->row[i].number;

		if (number[ROW_ORDER] >= MOST_ORDER || number[ROW_TYPE] >= CLI_NR(types))
			continue;
		hits[number[ROW_ORDER]][number[ROW_TYPE]] += number[HITS];
		if (orders <= number[ROW_ORDER])
			orders = number[ROW_ORDER] + 1;
	}
	printf("\nOrder");
	for (size_t type = 0; type < CLI_NR(types); type++)
		printf("  %12s", types[type]);
	for (size_t order = 0; order < orders; order++) {
		printf("\n%5zu", order);
		for (size_t type = 0; type < CLI_NR(types); type++)
			if (hits[order][type])
				printf("  %12" PRIu64, hits[order][type]);
			else
				printf("  %12c", '.');
	}
	putchar('\n');
}

void kmem_print_pages(const struct tables *tables)
{
	const struct kmem_sums *sums = &const_kmem_of(tables)->sums;
	uint64_t matched = sums->frees - sums->other_frees;

	puts("\nSUMMARY (page allocator)\n========================");
	put_sum("Total allocation requests", sums->allocations, sums->allocated);
	put_sum("Total free requests", sums->frees, sums->freed);
	put_sum("Total alloc+freed requests", matched, sums->matched);
	put_sum("Total alloc-only requests", sums->allocations - matched - sums->failed,
		sums->allocated - sums->matched);
	put_sum("Total free-only requests", sums->other_frees, sums->freed - sums->matched);
	printf("%-30s: %12" PRIu64 "\n", "Total allocation failures", sums->failed);
	print_orders(&tables->table[KMEM_BY_CALLER]);
}

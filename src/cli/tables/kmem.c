/* SPDX-License-Identifier: MIT */
/*
 * perch kmem: what the kernel allocates, by caller and by object.
 *
 * An object is known from its allocation to its free. A free by another CPU is a ping-pong: its
 * memory went from the cache of one CPU to that of another.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "commands.h"
#include "kmem.h"

#define COMMAND "kmem"

/* Numbers of a row. */
enum { HITS, REQUESTED, ALLOCATED, PINGPONG, ADDRESS };

/* Values of an object. */
enum { CALLER_ROW, OBJECT_ROW, ON_CPU, BYTES };

int kmem_name_row(struct kmem *kmem, struct tables_row *row, uint64_t address)
{
	char text[TABLES_CELL];

	if (row->name)
		return 0;
	if (kmem->raw_ip)
		snprintf(text, sizeof(text), "%#" PRIx64, address);
	else
		tables_kernel_name(&kmem->tables, address, true, text, sizeof(text));
	row->name = perch__strdup(text);
	return row->name ? 0 : -ENOMEM;
}

/* ---- objects ---- */

/* Adds an allocation to a row of a table. Returns its number, or UINT64_MAX without memory. */
static uint64_t add_to_row(struct kmem *kmem, unsigned table, uint64_t key,
			   const struct tables_sample *sample)
{
	const uint64_t keys[TABLES_KEYS] = { key };
	struct tables_row *row = tables_row(&kmem->tables.table[table], keys);

	if (!row)
		return UINT64_MAX;
	/* an object has the name of the caller that allocates it last */
	if (row->name && row->number[ADDRESS] != sample->value[0]) {
		free(row->name);
		row->name = NULL;
	}
	row->number[ADDRESS] = sample->value[0];
	row->number[HITS]++;
	row->number[REQUESTED] += sample->value[2];
	row->number[ALLOCATED] += sample->value[3];
	return (uint64_t)(row - kmem->tables.table[table].row);
}

static int add_object(struct tables *tables, const struct tables_sample *sample)
{
	struct kmem *kmem = kmem_of(tables);
	struct perch_pair object = { .key = { .word = { sample->value[1] } },
				     .start = sample->time };

	object.value[CALLER_ROW] = add_to_row(kmem, KMEM_BY_CALLER, sample->value[0], sample);
	object.value[OBJECT_ROW] =
		kmem->by_allocation ? add_to_row(kmem, KMEM_BY_ALLOCATION, sample->value[1], sample)
				    : 0;
	if (object.value[CALLER_ROW] == UINT64_MAX || object.value[OBJECT_ROW] == UINT64_MAX)
		return -ENOMEM;
	object.value[ON_CPU] = sample->cpu;
	object.value[BYTES] = sample->value[3];
	kmem->sums.allocations++;
	kmem->sums.requested += sample->value[2];
	kmem->sums.allocated += sample->value[3];
	return perch_pairs_begin(tables->pairs[0], &object, NULL) < 0 ? -ENOMEM : 0;
}

static int free_object(struct tables *tables, const struct tables_sample *sample)
{
	const struct perch_pair_key key = { .word = { sample->value[1] } };
	struct kmem *kmem = kmem_of(tables);
	struct perch_pair object;

	if (!sample->value[1] || !perch_pairs_end(tables->pairs[0], &key, sample->time, &object))
		return 0;
	kmem->sums.frees++;
	kmem->sums.freed += object.value[BYTES];
	/* a later allocation of the same memory, which was lost, may be what is freed here */
	if (object.uncertain || object.value[ON_CPU] == sample->cpu)
		return 0;
	kmem->sums.remote++;
	tables->table[KMEM_BY_CALLER].row[object.value[CALLER_ROW]].number[PINGPONG]++;
	if (kmem->by_allocation)
		tables->table[KMEM_BY_ALLOCATION].row[object.value[OBJECT_ROW]].number[PINGPONG]++;
	return 0;
}

#define ALLOCATION                                             \
	{                                                      \
		"call_site", "ptr", "bytes_req", "bytes_alloc" \
	}

static const struct tables_event slab_events[] = {
	{ "kmem:kmalloc", ALLOCATION, add_object },
	{ "kmem:kmalloc_node", ALLOCATION, add_object }, /* until Linux 6.1 */
	{ "kmem:kmem_cache_alloc", ALLOCATION, add_object },
	{ "kmem:kmem_cache_alloc_node", ALLOCATION, add_object }, /* until Linux 6.1 */
	{ "kmem:kfree", { "call_site", "ptr" }, free_object },
	{ "kmem:kmem_cache_free", { "call_site", "ptr" }, free_object },
	{ 0 },
};

/* ---- columns ---- */

static uint64_t allocated_each(const struct tables *tables, const struct tables_row *row)
{
	(void)tables;
	return row->number[HITS] ? row->number[ALLOCATED] / row->number[HITS] : 0;
}

static uint64_t requested_each(const struct tables *tables, const struct tables_row *row)
{
	(void)tables;
	return row->number[HITS] ? row->number[REQUESTED] / row->number[HITS] : 0;
}

/* What is allocated and was not requested, in 1/1000 %. */
static uint64_t fragmentation(uint64_t requested, uint64_t allocated)
{
	double part = allocated ? 1 - (double)requested / allocated : 0;

	return part > 0 ? (uint64_t)(part * 100000 + 0.5) : 0;
}

static uint64_t row_fragmentation(const struct tables *tables, const struct tables_row *row)
{
	(void)tables;
	return fragmentation(row->number[REQUESTED], row->number[ALLOCATED]);
}

static void put_name(const struct tables *tables, const struct tables_row *row,
		     char text[TABLES_CELL])
{
	/* only rows that are printed get a name */
	if (kmem_name_row((struct kmem *)tables, (struct tables_row *)row, row->number[ADDRESS]))
		snprintf(text, TABLES_CELL, "%#" PRIx64, row->number[ADDRESS]);
	else
		tables_name(tables, row, text);
}

#define SUMS                                                                              \
	{ "bytes", "Total_alloc", TABLES_COUNT, TABLES_AT(number[ALLOCATED]) },           \
		{ "bytes_per", "Per", TABLES_COUNT, .number = allocated_each },           \
		{ "bytes_req", "Total_req", TABLES_COUNT, TABLES_AT(number[REQUESTED]) }, \
		{ "bytes_req_per", "Per", TABLES_COUNT, .number = requested_each },       \
		{ "hit", "Hit", TABLES_COUNT, TABLES_AT(number[HITS]) },                  \
		{ "pingpong", "Ping-pong", TABLES_COUNT, TABLES_AT(number[PINGPONG]) },   \
		{ "frag", "Frag", TABLES_PERCENT, .number = row_fragmentation },          \
	{                                                                                 \
		"callsite", "Callsite", TABLES_TEXT, .text = put_name                     \
	}

static const struct tables_column caller_columns[] = { SUMS, { 0 } };
static const struct tables_column object_columns[] = {
	{ "ptr", "Alloc Ptr", TABLES_HEX, true, TABLES_AT(key[0]) },
	SUMS,
	{ 0 },
};

#define FIELDS "bytes,bytes_per,bytes_req,bytes_req_per,hit,pingpong,frag"

static const struct tables_view slab_views[KMEM_TABLES] = {
	{ "caller", caller_columns, FIELDS ",callsite", "frag,hit,bytes" },
	{ "alloc", object_columns, "ptr," FIELDS ",callsite", "frag,hit,bytes" },
};

static void print_slab(const struct tables *tables)
{
	const struct kmem_sums *sums = &const_kmem_of(tables)->sums;

	puts("\nSUMMARY (SLAB allocator)\n========================");
	printf("Total bytes requested: %" PRIu64 "\n", sums->requested);
	printf("Total bytes allocated: %" PRIu64 "\n", sums->allocated);
	printf("Total bytes freed:     %" PRIu64 "\n", sums->freed);
	printf("Net total bytes allocated: %" PRIu64 "\n", sums->allocated - sums->freed);
	printf("Total bytes wasted on internal fragmentation: %" PRIu64 "\n",
	       sums->allocated > sums->requested ? sums->allocated - sums->requested : 0);
	printf("Internal fragmentation: %.6f%%\n",
	       sums->allocated > sums->requested ? 100 - 100.0 * sums->requested / sums->allocated
						 : 0);
	printf("Objects freed by another CPU: %" PRIu64 "/%" PRIu64 "\n", sums->remote,
	       sums->frees);
}

/* ---- command ---- */

static void print_summary(const struct tables *tables)
{
	if (const_kmem_of(tables)->page)
		kmem_print_pages(tables);
	else
		print_slab(tables);
}

static void restart_kmem(struct tables *tables)
{
	kmem_of(tables)->sums = (struct kmem_sums){ 0 };
}

/* With --live a row may have no pages any more. */
static bool leaves_out(const struct tables *tables, const struct tables_row *row)
{
	return const_kmem_of(tables)->live && !row->number[HITS];
}

static const char *const *record_arguments(const struct tables *tables)
{
	static const char *const pages[] = {
		"-e", "kmem:mm_page_alloc,kmem:mm_page_free", "-g", "-m", "1024", NULL,
	};
	static const char *const slab[] = {
		"-e", "kmem:kmalloc,kmem:kfree,kmem:kmem_cache_alloc,kmem:kmem_cache_free",
		"-m", "1024",
		NULL,
	};
	static const char *const nodes[] = {
		"-e", "kmem:kmalloc,kmem:kfree,kmem:kmem_cache_alloc,kmem:kmem_cache_free",
		"-e", "kmem:kmalloc_node,kmem:kmem_cache_alloc_node",
		"-m", "1024",
		NULL,
	};
	struct perch_tracepoint_format *format;

	if (const_kmem_of(tables)->page)
		return pages;
	/* only kernels until 6.1 have them */
	if (perch_tracepoint_format_read(&format, "kmem:kmalloc_node", NULL, NULL))
		return slab;
	perch_tracepoint_format_free(format);
	return nodes;
}

static int choose_stat(struct tables *tables)
{
	struct kmem *kmem = kmem_of(tables);

	if (kmem->slab && kmem->page)
		return cli_refuse_both(COMMAND, "--slab", "--page");
	if (kmem->live && !kmem->page)
		return cli_usage_error(COMMAND, "--live is about pages: add --page");
	tables->events = kmem->page ? kmem_page_events : slab_events;
	tables->nr_tables = KMEM_TABLES;
	for (unsigned i = 0; i < KMEM_TABLES; i++)
		tables->table[i].view = kmem->page ? &kmem_page_views[i] : &slab_views[i];
	tables->table[KMEM_BY_CALLER].hidden = !kmem->by_caller && kmem->by_allocation;
	tables->table[KMEM_BY_ALLOCATION].hidden = !kmem->by_allocation;
	return 0;
}

/* ---- options that are about the table that --caller or --alloc has chosen before ---- */

static int choose_caller(const struct cli_given *given)
{
	struct kmem *kmem = given->state;

	kmem->by_caller = !given->negated;
	kmem->chosen = &kmem->tables.table[KMEM_BY_CALLER];
	return 0;
}

static int choose_allocation(const struct cli_given *given)
{
	struct kmem *kmem = given->state;

	kmem->by_allocation = !given->negated;
	kmem->chosen = &kmem->tables.table[KMEM_BY_ALLOCATION];
	return 0;
}

static int set_sort(const struct cli_given *given)
{
	struct kmem *kmem = given->state;

	*(kmem->chosen ? &kmem->chosen->sort : &kmem->tables.sort) = given->text;
	return 0;
}

static int set_lines(const struct cli_given *given)
{
	struct kmem *kmem = given->state;
	uint64_t lines = 0;

	if (given->text && (!cli_parse_number(given->text, &lines) || !lines))
		return cli_usage_error(COMMAND, "-l %s: use a number from 1 on", given->text);
	*(kmem->chosen ? &kmem->chosen->entries : &kmem->tables.entries) = lines;
	return 0;
}

#define AT(member)   offsetof(struct kmem, member)
#define SETS(member) CLI_SETS(struct kmem, member)

static const struct cli_option options[] = {
	CLI_ROW(.name = "slab", SETS(slab), .help = "objects of the slab allocator (default)"),
	CLI_ROW(.name = "page", SETS(page), .help = "pages of the page allocator"),
	CLI_ROW(.name = "caller", .set = choose_caller, .help = "a row for each caller (default)"),
	CLI_ROW(.name = "alloc", .set = choose_allocation,
		.help = "a row for each object or page, by its address or number"),
	CLI_ROW(.name = "live", SETS(live),
		.help = "only pages that were not freed in the recording"),
	CLI_ROW(.name = "raw-ip", SETS(raw_ip), .help = "print addresses of callers, not names"),
	CLI_ROW(.letter = 'l', .name = "line", .argument = "N", .set = set_lines,
		.help = "print at most N rows of the table of --caller or --alloc before it, or of "
			"both"),
	CLI_ROW(.letter = 's', .name = "sort", .argument = "COLUMNS", .set = set_sort,
		.help = "sort this table by these columns (frag,hit,bytes)"),
	CLI_ROW(.table = tables_options, .at = AT(tables)),
	{ 0 },
};

static const struct cli_subcommand first_words[] = {
	{ "record", &cli_record_usage },
	{ "stat", NULL },
	{ 0 },
};

static const struct cli_word *column_words(void)
{
	return tables_column_words((const struct tables_column *const[]){
		caller_columns, object_columns, kmem_page_views[0].columns,
		kmem_page_views[1].columns, NULL });
}

const struct cli_usage cli_kmem_usage = {
	.name = COMMAND,
	.operands = "record|stat [OPTIONS] [PROGRAM]",
	.summary = "Shows who allocates memory in the kernel.",
	.options = options,
	.subcommands = first_words,
	.columns = column_words,
};

int perch_cmd_kmem(int argc, char **argv)
{
	static const struct tables_subcommand subcommands[] = {
		{ .name = "stat", .choose = choose_stat },
		{ 0 },
	};
	static const struct tables_command command = {
		.usage = &cli_kmem_usage,
		.subcommands = subcommands,
		.record = record_arguments,
		.system_wide = true,
		.summary = print_summary,
		.counts_missing = true,
		.uncertain = "frees are in no column Ping-pong: events were lost after the "
			     "allocations. What was freed meanwhile counts as not freed",
		.leaves_out = leaves_out,
		.restart = restart_kmem,
	};
	struct kmem kmem = { 0 };

	return tables_run(&kmem.tables, &command, argc, argv);
}

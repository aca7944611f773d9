/* SPDX-License-Identifier: MIT */
/*
 * --total-cycles: basic blocks, from branch stacks whose branches have cycles. A block is the code
 * between the target of a branch and the next branch. Blocks differ by their last
 * instruction; of blocks with the same one the longest is shown, as in perf.
 */
#define _GNU_SOURCE /* reallocarray */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "report.h"

#define NO_START UINT64_MAX

struct block {
	uint64_t start; /* offset in the DSO, or NO_START: it is in another function */
	uint64_t count, cycles;
};

struct report_blocks {
	struct perch_session *session;
	struct perch_addresses *addresses;
	/* by event, then by the number of the address of the last instruction */
	struct event_blocks {
		struct block *block;
		size_t nr;
	} * event;
	size_t nr_events;
	uint64_t total; /* cycles of all branches */
};

static int no_memory(struct perch_error *err)
{
	return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory for blocks");
}

int report_blocks_new(struct report *report)
{
	struct perch_session *session = report->input.session;
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(session), &events);
	struct report_blocks *blocks = calloc(1, sizeof(*blocks));
	struct perch_error err;

	report->blocks = blocks;
	if (blocks)
		blocks->event = calloc(nr + 1, sizeof(*blocks->event));
	if (!blocks || !blocks->event) {
		no_memory(&err);
		return cli_error(report->input.command, &err);
	}
	blocks->session = session;
	blocks->nr_events = nr;
	return perch_addresses_new(&blocks->addresses, perch_session_processes(session),
				   perch_session_symbols(session), &err)
		       ? cli_error(report->input.command, &err)
		       : 0;
}

void report_blocks_free(struct report_blocks *blocks)
{
	if (!blocks)
		return;
	for (size_t i = 0; blocks->event && i < blocks->nr_events; i++)
		free(blocks->event[i].block);
	free(blocks->event);
	perch_addresses_free(blocks->addresses);
	free(blocks);
}

/* ---- counting ---- */

/* Returns the block that ends at an address, or NULL if out of memory. */
static struct block *block_at(struct event_blocks *event, uint32_t number)
{
	if (number >= event->nr) {
		size_t nr = 2 * (size_t)number + 256;
		struct block *block = reallocarray(event->block, nr, sizeof(*block));

		if (!block)
			return NULL;
		memset(block + event->nr, 0, (nr - event->nr) * sizeof(*block));
		event->block = block;
		event->nr = nr;
	}
	return &event->block[number];
}

/* Finds an address of a branch, which has the sample's mode unless it is in the other half. */
static int find_address(struct report_blocks *blocks, struct perch_thread *thread,
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
static uint64_t start_of(struct report_blocks *blocks, uint32_t target, uint32_t last)
{
	/* the second lookup may move the first address */
	struct perch_address start = *perch_addresses_at(blocks->addresses, target);
	const struct perch_address *end = perch_addresses_at(blocks->addresses, last);

	return start.symbol == end->symbol && start.offset <= end->offset ? start.offset : NO_START;
}

static void add_block(struct block *block, uint64_t start, uint64_t cycles)
{
	if (!block->count || start < block->start)
		block->start = start;
	block->count++;
	block->cycles += cycles;
}

/* Adds the branches of a sample, the oldest first. Returns 0 or -ENOMEM. */
static int add_branches(struct report_blocks *blocks, struct perch_thread *thread,
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
			block = block_at(&blocks->event[record->event], last);
			if (!block)
				return -ENOMEM;
			add_block(block,
				  has_target && any ? start_of(blocks, target, last) : NO_START,
				  branch.cycles);
		}
		if (find_address(blocks, thread, record, branch.to, &target))
			return -ENOMEM;
		has_target = true;
	}
	return 0;
}

int report_blocks_add(struct report_blocks *blocks, const struct perch_record *record,
		      struct perch_error *err)
{
	struct perch_branch_entry newest;
	struct perch_thread *thread;

	if (record->event >= blocks->nr_events || !record->sample.branches.nr)
		return 0;
	perch_branch_at(record, 0, &newest);
	if (!newest.cycles) /* the CPU does not count them */
		return 0;
	thread = perch_processes_thread(perch_session_processes(blocks->session),
					record->sample.pid, record->sample.tid);
	if (!thread || add_branches(blocks, thread, record))
		return no_memory(err);
	return 0;
}

/* ---- printing ---- */

struct item {
	uint32_t number; /* of the last address */
	uint64_t cycles, average;
};

static int compare_items(const void *left, const void *right)
{
	const struct item *a = left, *b = right;

	if (a->cycles != b->cycles)
		return a->cycles < b->cycles ? 1 : -1;
	return a->number < b->number ? -1 : a->number > b->number;
}

static void put_cycles(char *text, size_t size, uint64_t cycles)
{
	if (cycles >= 1000000)
		snprintf(text, size, "%.1fM", (double)cycles / 1000000);
	else if (cycles >= 1000)
		snprintf(text, size, "%.1fK", (double)cycles / 1000);
	else
		snprintf(text, size, "%" PRIu64, cycles);
}

/* The source line of an offset, or the function and the offset in it. */
static void put_position(struct report_blocks *blocks, const struct perch_dso *dso,
			 const struct perch_symbol *symbol, uint64_t offset, char *text,
			 size_t size)
{
	struct perch_symbols *symbols = perch_session_symbols(blocks->session);
	const struct perch_symbol_frame *frames;
	const char *slash;

	if (offset == NO_START) {
		snprintf(text, size, "?");
	} else if (perch_symbols_frames(symbols, dso, offset, &frames) > 0 && frames->file) {
		slash = strrchr(frames->file, '/');
		snprintf(text, size, "%s:%" PRIu32, slash ? slash + 1 : frames->file, frames->line);
	} else {
		snprintf(text, size, "%s+%" PRIu64, perch_symbols_name(symbols, symbol),
			 offset - symbol->start);
	}
}

static void put_block(const struct report_table *table, const struct item *item,
		      const struct block *block, uint64_t averages)
{
	struct report_blocks *blocks = table->report->blocks;
	const struct perch_address *last = perch_addresses_at(blocks->addresses, item->number);
	char cycles[32], average[32], start[512], end[512], range[1040];

	put_cycles(cycles, sizeof(cycles), item->cycles);
	put_cycles(average, sizeof(average), item->average);
	put_position(blocks, last->dso, last->symbol, block->start, start, sizeof(start));
	put_position(blocks, last->dso, last->symbol, last->offset, end, sizeof(end));
	snprintf(range, sizeof(range), "[%s -> %s]", start, end);
	fprintf(table->out, "  %14.2f%%  %14s  %10.2f%%  %10s  %70s  %20s\n",
		100.0 * (double)item->cycles / (double)blocks->total, cycles,
		100.0 * (double)item->average / (double)averages, average, range,
		perch_symbols_dso_name(perch_session_symbols(blocks->session), last->dso));
}

static void put_titles(FILE *out)
{
	static const struct {
		const char *title;
		int width;
	} columns[] = { { "Sampled Cycles%", 15 },	 { "Sampled Cycles", 14 },
			{ "Avg Cycles%", 11 },		 { "Avg Cycles", 10 },
			{ "[Program Block Range]", 70 }, { "Shared Object", 20 } };

	for (size_t i = 0; i < CLI_NR(columns); i++)
		fprintf(out, "%s%*s", i ? "  " : "# ", columns[i].width, columns[i].title);
	putc('\n', out);
	for (size_t i = 0; i < CLI_NR(columns); i++) {
		fputs(i ? "  " : "# ", out);
		for (int dots = 0; dots < columns[i].width; dots++)
			putc('.', out);
	}
	fputs("\n#\n", out);
}

int report_print_blocks(const struct report_table *table, unsigned event)
{
	struct report_blocks *blocks = table->report->blocks;
	const struct event_blocks *of = &blocks->event[event];
	struct item *items = calloc(of->nr + 1, sizeof(*items));
	uint64_t averages = 0;
	struct perch_error err;
	size_t nr = 0;

	if (!items) {
		no_memory(&err);
		return cli_error(table->report->input.command, &err);
	}
	for (size_t i = 0; i < of->nr; i++) {
		const struct block *block = &of->block[i];

		if (!block->count)
			continue;
		items[nr] =
			(struct item){ (uint32_t)i, block->cycles, block->cycles / block->count };
		averages += items[nr++].average;
	}
	qsort(items, nr, sizeof(*items), compare_items);
	if (!table->report->quiet)
		put_titles(table->out);
	for (size_t i = 0; i < nr; i++)
		if (100.0 * (double)items[i].cycles / (double)blocks->total >=
		    table->report->percent_limit)
			put_block(table, &items[i], &of->block[items[i].number],
				  averages ? averages : 1);
	free(items);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* perch sched latency: how long threads waited for a CPU. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "sched.h"
#include "terminal/pager.h"

#define LATENCY_COMMAND "sched latency"

struct latency {
	struct sched_reading reading;
	struct sched_rows rows;
	bool per_thread; /* -p */
	/* threads that live, by perch_timeline_thread.index */
	struct latency_thread {
		struct sched_row row;
		bool unknown; /* what it did before it runs is unknown, or it is new */
	} * thread;
	size_t nr_threads;
	size_t rows_capacity;
	struct perch__hash_table by_name;
	bool no_memory;
};

static struct latency_thread *get_thread(struct latency *latency,
					 const struct perch_timeline_thread *thread)
{
	if (__builtin_expect(thread->index >= latency->nr_threads, 0) &&
	    PERCH__ARRAY_RESERVE_ZEROED(latency->thread, latency->nr_threads,
					(size_t)thread->index + 1)) {
		latency->no_memory = true;
		return NULL;
	}
	return &latency->thread[thread->index];
}

/* ---- rows ---- */

struct row_key {
	const char *name;
	uint32_t tid;
};

static bool same_row(const void *items, uint32_t index, const void *wanted)
{
	const struct sched_row *row = &((const struct sched_row *)items)[index];
	const struct row_key *key = wanted;

	return row->tid == key->tid && !strcmp(row->name, key->name);
}

static struct sched_row *get_row(struct latency *latency, const char *name, uint32_t tid)
{
	const struct row_key key = { name, tid };
	struct sched_rows *rows = &latency->rows;
	uint64_t hash = perch__hash_pair(latency->by_name.seed,
					 perch__hash_text(latency->by_name.seed, name), tid);
	uint32_t index = perch__hash_find(&latency->by_name, hash, same_row, rows->row, &key);
	struct sched_row *row;

	if (index != PERCH__HASH_NONE)
		return &rows->row[index];
	row = perch__hash_add(&latency->by_name, hash, rows->nr)
		      ? NULL
		      : PERCH__ARRAY_APPEND(rows->row, rows->nr, latency->rows_capacity);
	if (!row) {
		latency->no_memory = true;
		return NULL;
	}
	snprintf(row->name, sizeof(row->name), "%s", name);
	row->tid = tid;
	return row;
}

/* Rows of one name are one row, with the id of its first thread. */
static void add_to_row(struct latency *latency, const struct perch_timeline_thread *thread,
		       struct sched_row *from)
{
	struct sched_row *row;
	char name[SCHED_NAME_BYTES];

	if (!thread->tid || (!from->counted && !from->runtime && !from->uncertain))
		return;
	sched_put_name(name, sizeof(name), thread);
	row = get_row(latency, name, latency->per_thread ? thread->tid : 0);
	if (!row)
		return;
	if (!row->threads++)
		row->first_tid = thread->tid;
	row->counted += from->counted;
	row->runtime += from->runtime;
	row->total += from->total;
	row->uncertain += from->uncertain;
	row->uncertain_ns += from->uncertain_ns;
	row->migrations += from->migrations;
	row->preemptions += from->preemptions;
	if (row->max < from->max) {
		row->max = from->max;
		row->max_start = from->max_start;
		row->max_end = from->max_end;
	}
	if (cli_delays_merge(&row->delays, &from->delays))
		latency->no_memory = true;
}

/* A thread that begins later may get the index of the one that has ended. */
static void end_thread(struct latency *latency, const struct perch_timeline_thread *thread)
{
	struct latency_thread *ended = get_thread(latency, thread);

	if (!ended)
		return;
	add_to_row(latency, thread, &ended->row);
	cli_delays_clear(&ended->row.delays);
	*ended = (struct latency_thread){ 0 };
}

/* ---- the timeline ---- */

static void add_delay(struct latency *latency, struct sched_row *row,
		      const struct perch_timeline_interval *interval)
{
	uint64_t ns = interval->end - interval->start;

	if (interval->flags & PERCH_TIMELINE_UNCERTAIN) {
		row->uncertain++;
		row->uncertain_ns += ns;
		return;
	}
	row->counted++;
	row->total += ns;
	row->preemptions += interval->state == PERCH_TIMELINE_PREEMPTED;
	if (row->max < ns) {
		row->max = ns;
		row->max_start = interval->start;
		row->max_end = interval->end;
	}
	if (cli_delays_add(&row->delays, ns))
		latency->no_memory = true;
}

static int take_interval(void *context, const struct perch_timeline_interval *interval)
{
	struct latency *latency = context;
	struct latency_thread *thread;

	if (!interval->thread->tid || !sched_is_wanted(&latency->reading, interval->thread))
		return 0;
	thread = get_thread(latency, interval->thread);
	if (!thread)
		return 0;
	switch (interval->state) {
	case PERCH_TIMELINE_WOKEN:
	case PERCH_TIMELINE_PREEMPTED:
		if (!(interval->flags & PERCH_TIMELINE_UNFINISHED))
			add_delay(latency, &thread->row, interval);
		break;
	case PERCH_TIMELINE_RUNNING:
		/* as perf, which counts the first time on a CPU as a delay of 0 */
		thread->row.counted += thread->unknown;
		if (!latency->reading.has_runtimes)
			thread->row.runtime += interval->end - interval->start;
		break;
	default:
		break;
	}
	thread->unknown = interval->state == PERCH_TIMELINE_UNKNOWN ||
			  interval->state == PERCH_TIMELINE_NEW;
	return 0;
}

static int take_edge(void *context, const struct perch_timeline_edge *edge)
{
	struct latency *latency = context;
	struct latency_thread *thread;

	if (edge->event == PERCH_TIMELINE_END) {
		end_thread(latency, edge->thread);
		return 0;
	}
	if ((edge->event != PERCH_TIMELINE_RUNTIME && edge->event != PERCH_TIMELINE_MIGRATION) ||
	    !sched_is_wanted(&latency->reading, edge->thread))
		return 0;
	thread = get_thread(latency, edge->thread);
	if (!thread)
		return 0;
	thread->row.runtime += edge->ns;
	thread->row.migrations += edge->event == PERCH_TIMELINE_MIGRATION;
	return 0;
}

/* ---- the command ---- */

static int set_keys(const struct cli_given *given)
{
	struct latency *latency = given->state;
	const char *at = given->text;

	for (latency->rows.nr_keys = 0;; at++) {
		size_t length = strcspn(at, ",");
		const struct cli_word *word = cli_word_find(sched_key_words, at, length);
		uint64_t value;
		char text[64];

		snprintf(text, sizeof(text), "%.*s", (int)length, at);
		if (!word)
			return cli_options_find_words(LATENCY_COMMAND, given->option, text, &value);
		if (latency->rows.nr_keys < SCHED_KEYS)
			latency->rows.key[latency->rows.nr_keys++] = (enum sched_key)word->value;
		at += length;
		if (!*at)
			return 0;
	}
}

#define SETS(member) CLI_SETS(struct latency, member)

static const struct cli_option options[] = {
	CLI_ROW(.letter = 's', .name = "sort", .argument = "KEYS", .set = set_keys,
		.words = sched_key_words, .open = true, .not_negated = true,
		.help = "sort by avg, max, switch, runtime, p50, p90 or p99 "
			"(avg,max,switch,runtime)"),
	CLI_ROW(.letter = 'p', .name = "pids", SETS(per_thread),
		.help = "a row for each thread, not for each name"),
	CLI_ROW(.letter = 'C', .name = "CPU", .argument = "CPUS", SETS(reading.filter.options.cpus),
		.help = "only what ends on these CPUs (0,2-5)"),
	CLI_ROW(.table = sched_filter_options, .at = offsetof(struct latency, reading)),
	CLI_ROW(.table = sched_read_options, .at = offsetof(struct latency, reading)),
	{ 0 },
};

const struct cli_usage sched_latency_usage = {
	.name = LATENCY_COMMAND,
	.operands = "[OPTIONS]",
	.summary = "Shows how long threads waited for a CPU.",
	.options = options,
};

static void clear_latency(struct latency *latency)
{
	for (size_t i = 0; i < latency->nr_threads; i++)
		cli_delays_clear(&latency->thread[i].row.delays);
	for (size_t i = 0; i < latency->rows.nr; i++)
		cli_delays_clear(&latency->rows.row[i].delays);
	free(latency->thread);
	free(latency->rows.row);
	perch__hash_clear(&latency->by_name);
	sched_close(&latency->reading);
}

int sched_latency(const struct cli_input *input, int argc, char **argv)
{
	static struct latency latency = {
		.rows = { .key = { SCHED_KEY_AVG, SCHED_KEY_MAX, SCHED_KEY_SWITCH,
				   SCHED_KEY_RUNTIME },
			  .nr_keys = 4 },
	};
	const char *operand;
	int status;

	latency.reading.input = *input;
	latency.reading.input.command = LATENCY_COMMAND;
	if (cli_options_parse_operand(&sched_latency_usage, &latency, argc, argv, &operand) ||
	    operand)
		return cli_usage_error(LATENCY_COMMAND,
				       "'%s' is not an option; name a file with -i", operand);
	latency.reading.options = (struct perch_timeline_options){ .interval = take_interval,
								   .edge = take_edge,
								   .context = &latency };
	latency.reading.shows_delays = true;
	latency.rows.reading = &latency.reading;
	latency.by_name.seed = perch__hash_seed(&latency);
	status = sched_open(&latency.reading);
	if (!status)
		status = sched_read(&latency.reading);
	if (!status && latency.no_memory)
		status = cli_no_memory(LATENCY_COMMAND);
	if (!status) {
		cli_start_pager();
		sched_rows_print(&latency.rows);
		status = sched_finish(&latency.reading, status);
	}
	clear_latency(&latency);
	return status;
}

/* SPDX-License-Identifier: MIT */
/* perch sched map: a column for each CPU, and a line for each switch. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "sched.h"
#include "terminal/pager.h"

#define MAP_COMMAND "sched map"
#define MAP_CPUS    4096

struct map {
	struct sched_reading reading;
	bool compact;
	uint32_t nr_names; /* that were given */
	uint32_t columns;
	/* by index of the thread: number of its short name + 1; 0: none */
	uint32_t *name;
	size_t nr_threads;
	struct map_cpu {
		uint32_t name; /* of the thread that runs: number + 1; 0: idle */
		uint32_t cpu;  /* --compact: of the column */
		bool seen;
	} cpu[MAP_CPUS];
	bool no_memory;
};

/* "A0" to "Z9", then "a0" to "z9", then again. */
static void put_short_name(char text[3], uint32_t number)
{
	uint32_t letter = number / 10 % 52;

	text[0] = (char)(letter < 26 ? 'A' + letter : 'a' + letter - 26);
	text[1] = (char)('0' + number % 10);
	text[2] = '\0';
}

/* Returns the number of the short name + 1; 0 for an idle thread. *is_new: it was given now. */
static uint32_t name_of(struct map *map, const struct perch_timeline_thread *thread, bool *is_new)
{
	*is_new = false;
	if (!thread->tid ||
	    PERCH__ARRAY_RESERVE_ZEROED(map->name, map->nr_threads, (size_t)thread->index + 1)) {
		map->no_memory |= thread->tid != 0;
		return 0;
	}
	if (!map->name[thread->index]) {
		map->name[thread->index] = ++map->nr_names;
		*is_new = true;
	}
	return map->name[thread->index];
}

/* The column of a CPU, or MAP_CPUS if there is none left. */
static uint32_t column_of(struct map *map, uint32_t cpu)
{
	uint32_t column = cpu;

	if (map->compact)
		for (column = 0; column < map->columns && map->cpu[column].cpu != cpu; column++)
			;
	if (column >= MAP_CPUS)
		return MAP_CPUS;
	if (map->columns <= column)
		map->columns = column + 1;
	map->cpu[column].cpu = cpu;
	map->cpu[column].seen = true;
	return column;
}

static void print_columns(struct map *map, uint32_t changed)
{
	char *at = perch__output_reserve(&map->reading.out, 4 + 4 * (size_t)map->columns);

	*at++ = ' ';
	for (uint32_t i = 0; i < map->columns; i++) {
		char text[3] = "  ";

		if (map->cpu[i].seen && !map->cpu[i].name)
			memcpy(text, ". ", 3);
		else if (map->cpu[i].name)
			put_short_name(text, map->cpu[i].name - 1);
		*at++ = i == changed ? '*' : ' ';
		*at++ = text[0];
		*at++ = text[1];
		*at++ = ' ';
	}
	perch__output_end(&map->reading.out, at);
}

static void print_json(struct map *map, uint64_t time, uint32_t cpu,
		       const struct perch_timeline_thread *thread)
{
	struct perch__json_writer *json = &map->reading.writer;
	char name[SCHED_NAME_BYTES];

	sched_put_field(&map->reading, name, thread);
	if (!map->reading.json) {
		const char *between = map->reading.separator;

		sched_printf(&map->reading, "%" PRIu64 "%s%" PRIu32 "%s%s%s%" PRIu32 "\n", time,
			     between, cpu, between, name, between, thread->tid);
		return;
	}
	perch__json_put_object(json, NULL);
	perch__json_put_integer(json, "time", time);
	perch__json_put_number(json, "cpu", cpu);
	perch__json_put_text(json, "comm", name);
	perch__json_put_number(json, "tid", thread->tid);
	perch__json_end(json);
}

static void print_switch(struct map *map, uint64_t time, uint32_t cpu,
			 const struct perch_timeline_thread *thread)
{
	uint32_t column = column_of(map, cpu);
	char text[3], task[SCHED_NAME_BYTES];
	bool is_new;

	if (column == MAP_CPUS)
		return;
	map->cpu[column].name = name_of(map, thread, &is_new);
	print_columns(map, column);
	sched_printf(&map->reading, " %7" PRIu64 ".%06" PRIu64 " secs ", time / 1000000000,
		     time / 1000 % 1000000);
	if (is_new) {
		put_short_name(text, map->cpu[column].name - 1);
		sched_put_name(task, sizeof(task), thread);
		sched_printf(&map->reading, "%s => %s:%" PRIu32, text, task, thread->tid);
	}
	sched_printf(&map->reading, "\n");
}

static int take_interval(void *context, const struct perch_timeline_interval *interval)
{
	struct map *map = context;
	const struct perch_timeline_thread *next;
	struct perch_timeline_thread unknown = { .tid = interval->next_tid };

	if (interval->state != PERCH_TIMELINE_RUNNING || interval->next_tid == UINT32_MAX)
		return 0;
	next = perch_timeline_find(map->reading.timeline, interval->next_tid, interval->cpu);
	if (!next)
		next = &unknown;
	if (!sched_is_wanted(&map->reading, next))
		return 0;
	if (map->reading.json || map->reading.separator)
		print_json(map, interval->end, interval->cpu, next);
	else
		print_switch(map, interval->end, interval->cpu, next);
	return 0;
}

static int take_edge(void *context, const struct perch_timeline_edge *edge)
{
	struct map *map = context;

	if (edge->event == PERCH_TIMELINE_END && edge->thread->index < map->nr_threads)
		map->name[edge->thread->index] = 0;
	return 0;
}

/* ---- the command ---- */

#define SETS(member) CLI_SETS(struct map, member)

static const struct cli_option options[] = {
	CLI_ROW(.name = "compact", SETS(compact), .help = "only columns of CPUs with switches"),
	CLI_ROW(.name = "cpus", .argument = "CPUS", SETS(reading.filter.options.cpus),
		.help = "only these CPUs (0,2-5)"),
	CLI_ROW(.name = "task-name", .argument = "NAMES", SETS(reading.comms),
		.help = "only switches to threads with these names"),
	CLI_ROW(.table = sched_filter_options, .at = offsetof(struct map, reading)),
	CLI_ROW(.table = sched_read_options, .at = offsetof(struct map, reading)),
	{ 0 },
};

const struct cli_usage sched_map_usage = {
	.name = MAP_COMMAND,
	.operands = "[OPTIONS]",
	.summary = "Shows which thread each CPU runs, with a line for each switch.",
	.options = options,
};

int sched_map(const struct cli_input *input, int argc, char **argv)
{
	static struct map map;
	struct sched_reading *reading = &map.reading;
	const char *operand;
	int status;

	reading->input = *input;
	reading->input.command = MAP_COMMAND;
	if (cli_options_parse_operand(&sched_map_usage, &map, argc, argv, &operand) || operand)
		return cli_usage_error(MAP_COMMAND, "'%s' is not an option; name a file with -i",
				       operand);
	reading->options = (struct perch_timeline_options){ .interval = take_interval,
							    .edge = take_edge,
							    .context = &map };
	status = sched_open(reading);
	if (!status) {
		cli_start_pager();
		if (reading->json)
			perch__json_begin_array(&reading->writer);
		else if (reading->separator)
			sched_printf(reading, "time%scpu%scomm%stid\n", reading->separator,
				     reading->separator, reading->separator);
		status = sched_read(reading);
		if (reading->json)
			perch__json_end(&reading->writer);
	}
	if (!status && map.no_memory)
		status = cli_no_memory(MAP_COMMAND);
	if (!status)
		status = sched_finish(reading, status);
	free(map.name);
	sched_close(reading);
	return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * perch stat report. The file is read twice: for its events, CPUs and threads, which become the
 * events and targets of a stat_job, and for their counts. What prints the counts is that of perch
 * stat.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <perch/session.h>

#include "stat.h"
#include "stat_file.h"
#include "stat_report.h"
#include "terminal/pager.h"

#define MAX_COUNTS (1u << 22) /* events times targets: 1000 CPUs with 4000 events */

/* An id of the file: an event on a target. */
struct cell {
	uint64_t id;
	size_t event;
	uint32_t cpu, thread; /* as in STAT */
	bool seen;	      /* has counts */
	size_t target;
};

struct reading {
	struct stat_job *stat;
	struct perch_reader *reader;
	struct cell *cell; /* by id */
	size_t nr_cells;
	bool swapped, ended; /* ended: there is a STAT_ROUND */
	uint64_t last_ns;
};

static uint64_t word64(const struct reading *reading, uint64_t value)
{
	return reading->swapped ? __builtin_bswap64(value) : value;
}

static uint32_t word32(const struct reading *reading, uint32_t value)
{
	return reading->swapped ? __builtin_bswap32(value) : value;
}

/* Copies the body of a record, and zeros where it is shorter. Returns its size. */
static size_t take_body(const struct perch_record *record, void *body, size_t size)
{
	const size_t head = sizeof(struct perch_record_header);
	size_t has = record->size > head ? record->size - head : 0;

	memset(body, 0, size);
	memcpy(body, (const char *)record->bytes + head, has < size ? has : size);
	return has;
}

/* ---- the first time: what was counted ---- */

static int compare_ids(const void *a, const void *b)
{
	const struct cell *one = a, *other = b;

	return (one->id > other->id) - (one->id < other->id);
}

static struct cell *find_cell(const struct reading *reading, uint64_t id)
{
	return bsearch(&(struct cell){ .id = word64(reading, id) }, reading->cell,
		       reading->nr_cells, sizeof(*reading->cell), compare_ids);
}

/* Events of one name, as those of several PMUs, have one line. */
static int first_of_name(const struct perch_events *list, size_t nr)
{
	const struct perch_event *event = &list->event[nr];

	for (size_t i = 0; i < nr; i++) {
		const struct perch_event *other = &list->event[i];

		if (!strcmp(other->name, event->name) && (other->attr.type != event->attr.type ||
							  other->attr.config != event->attr.config))
			return other->first;
	}
	return (int)nr;
}

static int take_events(struct reading *reading)
{
	struct perch_events *list = &reading->stat->events.list;
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(reading->reader, &events), ids = 0;

	for (size_t i = 0; i < nr; i++)
		ids += events[i].nr_ids;
	list->event = calloc(nr + 1, sizeof(*list->event));
	reading->cell = calloc(ids + 1, sizeof(*reading->cell));
	if (!list->event || !reading->cell)
		return cli_no_memory(STAT_COMMAND);
	for (size_t i = 0; i < nr; i++) {
		struct perch_event *event = &list->event[i];

		perch_clean_text(events[i].name, event->name, sizeof(event->name));
		event->attr = events[i].attr;
		event->scale = 1;
		event->leader = (int)i;
		event->first = first_of_name(list, i);
		for (size_t k = 0; k < events[i].nr_ids; k++)
			reading->cell[reading->nr_cells++] =
				(struct cell){ .id = events[i].ids[k], .event = i };
	}
	list->nr = nr;
	qsort(reading->cell, reading->nr_cells, sizeof(*reading->cell), compare_ids);
	return 0;
}

/* Units are from 2^-32 Joules to 64 MiB. */
static void set_scale(struct perch_event *event, double scale)
{
	if (scale >= 1e-30 && scale <= 1e30) /* and a number */
		event->scale = scale;
	else
		cli_note(STAT_COMMAND, "the file is damaged: the scale %g of %s is not used", scale,
			 event->name);
}

static void take_update(struct reading *reading, const struct perch_record *record)
{
	struct {
		uint64_t kind, id;
		char text[sizeof(((struct perch_event *)0)->unit)];
	} update;
	size_t size = take_body(record, &update, sizeof(update));
	struct cell *cell = find_cell(reading, update.id);
	uint64_t bits;
	double scale;

	if (!cell || size <= offsetof(__typeof__(update), text))
		return;
	if (word64(reading, update.kind) == STAT_UPDATE_UNIT) {
		update.text[sizeof(update.text) - 1] = 0;
		perch_clean_text(update.text, reading->stat->events.list.event[cell->event].unit,
				 sizeof(update.text));
	} else if (word64(reading, update.kind) == STAT_UPDATE_SCALE) {
		memcpy(&bits, update.text, sizeof(bits));
		bits = word64(reading, bits);
		memcpy(&scale, &bits, sizeof(scale));
		set_scale(&reading->stat->events.list.event[cell->event], scale);
	}
}

/* perf 6.5 and 6.9 gave aggregations other numbers. */
static enum stat_file_release find_release(const struct reading *reading)
{
	const char *version = perch_reader_text(reading->reader, PERCH_FEATURE_VERSION);
	unsigned major, minor;

	if (!version || sscanf(version, "%u.%u", &major, &minor) != 2 || major == 0)
		return STAT_FILE_NEWEST; /* perch */
	if (major < 6 || (major == 6 && minor < 5))
		return STAT_FILE_FIRST;
	return major == 6 && minor < 9 ? STAT_FILE_CACHE : STAT_FILE_NEWEST;
}

static void take_config(struct reading *reading, const struct perch_record *record)
{
	struct stat_options *options = &reading->stat->options;
	struct stat_config config;
	size_t size = take_body(record, &config, sizeof(config));
	uint64_t nr = word64(reading, config.nr);

	for (size_t i = 0;
	     i < nr && offsetof(struct stat_config, term[i + 1]) <= size && i < CLI_NR(config.term);
	     i++) {
		uint64_t value = word64(reading, config.term[i].value);

		switch (word64(reading, config.term[i].tag)) {
		case STAT_CONFIG_AGGREGATION:
			if (reading->stat->aggregation == STAT_GLOBAL)
				reading->stat->aggregation =
					stat_aggregation_of(value, find_release(reading));
			break;
		case STAT_CONFIG_INTERVAL:
			options->interval_ms = value;
			break;
		case STAT_CONFIG_SCALE:
			options->scale = value;
			break;
		default:
			break;
		}
	}
}

static int take_threads(struct reading *reading, const struct perch_record *record)
{
	struct stat_job *stat = reading->stat;
	struct stat_thread_map map;
	size_t size = take_body(record, &map, sizeof(map));
	uint64_t nr = word64(reading, map.nr);

	if (stat->thread || size < sizeof(map))
		return 0;
	if (nr > (size - sizeof(map)) / sizeof(*stat->thread))
		nr = (size - sizeof(map)) / sizeof(*stat->thread);
	stat->thread = calloc(nr + 1, sizeof(*stat->thread));
	if (!stat->thread)
		return cli_no_memory(STAT_COMMAND);
	memcpy(stat->thread,
	       (const char *)record->bytes + sizeof(struct perch_record_header) + sizeof(map),
	       nr * sizeof(*stat->thread));
	for (size_t i = 0; i < nr; i++)
		stat->thread[i].tid = word64(reading, stat->thread[i].tid);
	stat->nr_threads = nr;
	return 0;
}

static void note_cell(struct reading *reading, const struct perch_record *record)
{
	struct stat_count count;
	size_t size = take_body(record, &count, sizeof(count));
	struct cell *cell = find_cell(reading, count.id);

	if (!cell || size < sizeof(count) || cell->seen)
		return;
	cell->seen = true;
	cell->cpu = word32(reading, count.cpu);
	cell->thread = word32(reading, count.thread);
}

static int take_description(struct reading *reading, const struct perch_record *record)
{
	switch (record->type) {
	case PERCH_RECORD_STAT:
		note_cell(reading, record);
		return 0;
	case PERCH_RECORD_EVENT_UPDATE:
		take_update(reading, record);
		return 0;
	case PERCH_RECORD_STAT_CONFIG:
		take_config(reading, record);
		return 0;
	case PERCH_RECORD_THREAD_MAP:
		return take_threads(reading, record);
	default:
		return 0;
	}
}

typedef int take_record(struct reading *reading, const struct perch_record *record);

static int for_each_record(struct reading *reading, take_record *take)
{
	struct perch_record record;
	int status = 0, rc;

	while ((rc = cli_input_next(&reading->stat->input, &record)) > 0) {
		status = take(reading, &record);
		if (status)
			return status;
	}
	return rc < 0 ? CLI_EXIT_FAILURE : 0;
}

/* ---- targets ---- */

static int compare_targets(const void *a, const void *b)
{
	const struct cell *one = *(struct cell *const *)a, *other = *(struct cell *const *)b;

	if (one->cpu != other->cpu)
		return (int32_t)one->cpu < (int32_t)other->cpu ? -1 : 1;
	return (one->thread > other->thread) - (one->thread < other->thread);
}

static int add_target(struct reading *reading, const struct cell *cell)
{
	struct stat_job *stat = reading->stat;
	struct perch_target target = { .cpu = (int32_t)cell->cpu, .tid = -1 };
	struct perch_error err;

	if (target.cpu < 0)
		target.cpu = -1; /* a thread, or a CPU that no kernel has */
	if (target.cpu < 0 && cell->thread < stat->nr_threads)
		target.tid = (pid_t)stat->thread[cell->thread].tid;
	if (target.tid < -1)
		target.tid = -1;
	if (perch_targets_add(&stat->part[0].targets, &target, &err) < 0)
		return cli_error(STAT_COMMAND, &err);
	return 0;
}

/* Makes a target of each CPU and thread that has counts. */
static int make_targets(struct reading *reading)
{
	struct stat_part *part = &reading->stat->part[0];
	struct cell **sorted = calloc(reading->nr_cells + 1, sizeof(struct cell *));
	int status = 0;
	size_t nr = 0;

	if (!sorted)
		return cli_no_memory(STAT_COMMAND);
	for (size_t i = 0; i < reading->nr_cells; i++)
		if (reading->cell[i].seen)
			sorted[nr++] = &reading->cell[i];
	qsort(sorted, nr, sizeof(*sorted), compare_targets);
	for (size_t i = 0; i < nr && !status; i++) {
		if (!i || compare_targets(&sorted[i - 1], &sorted[i]))
			status = add_target(reading, sorted[i]);
		sorted[i]->target = part->targets.nr - 1;
	}
	free(sorted);
	if (!status && part->targets.nr > MAX_COUNTS / part->events.nr) {
		cli_note(STAT_COMMAND, "the file has too many counts: %zu events on %zu targets",
			 part->events.nr, part->targets.nr);
		status = CLI_EXIT_FAILURE;
	}
	return status;
}

static int check_targets(const struct reading *reading)
{
	const struct stat_job *stat = reading->stat;
	const struct perch_targets *targets = &stat->part[0].targets;

	if (!targets->nr) {
		cli_note(STAT_COMMAND, "%s has no counts", stat->input.path);
		return CLI_EXIT_FAILURE;
	}
	if (stat->aggregation == STAT_GLOBAL ||
	    (stat->aggregation == STAT_THREAD) == (targets->target[0].cpu < 0))
		return 0;
	return cli_usage_error(STAT_COMMAND, "%s: %s has the counts of %s",
			       stat_aggregation_option(stat->aggregation), stat->input.path,
			       targets->target[0].cpu < 0 ? "threads, not of CPUs"
							  : "CPUs, not of threads");
}

/* The text of each line is that of the recorder. */
static int make_lines(struct reading *reading)
{
	struct stat_job *stat = reading->stat;
	int status;

	stat->options.null = stat->options.no_inherit = true; /* no other events, no probes */
	status = stat_complete_events(stat);
	for (size_t i = 0; !status && i < stat->nr_lines; i++) {
		snprintf(stat->line[i].name, sizeof(stat->line[i].name), "%s",
			 stat->line[i].event->name);
	}
	/* as in perf, an event without a record was not supported */
	for (size_t i = 0; !status && i < reading->nr_cells; i++) {
		struct stat_line *line = &stat->line[reading->cell[i].event];

		if (reading->cell[i].seen)
			line->supported = stat->line[line->merged_into].supported = true;
	}
	return status;
}

static int prepare(struct reading *reading)
{
	struct stat_job *stat = reading->stat;
	const char *const *arguments;
	size_t nr = perch_reader_command_line(reading->reader, &arguments);
	int status;

	stat->argv = calloc(nr + 1, sizeof(*stat->argv));
	if (!stat->argv ||
	    perch_reader_topology(reading->reader, &stat->topology, &stat->nr_topology))
		return cli_no_memory(STAT_COMMAND);
	if (nr)
		memcpy(stat->argv, arguments, nr * sizeof(*stat->argv));
	status = take_events(reading);
	if (!status)
		status = for_each_record(reading, take_description);
	if (!status)
		status = make_lines(reading);
	if (!status)
		status = make_targets(reading);
	if (!status)
		status = check_targets(reading);
	return status ? status : stat_group_targets(stat);
}

/* ---- the second time: counts ---- */

static void take_count(struct reading *reading, const struct perch_record *record)
{
	struct stat_part *part = &reading->stat->part[0];
	struct stat_count from;
	size_t size = take_body(record, &from, sizeof(from));
	const struct cell *cell = find_cell(reading, from.id);
	struct perch_count *count;

	if (!cell || size < sizeof(from))
		return;
	count = &part->now[cell->event * part->targets.nr + cell->target];
	*count = (struct perch_count){
		.value = word64(reading, from.value),
		.enabled_ns = word64(reading, from.enabled),
		.running_ns = word64(reading, from.running),
	};
	count->scaled = perch_scale(count->value, count->enabled_ns, count->running_ns);
	count->state = !count->enabled_ns		       ? PERCH_COUNT_STATE_NOT_ENABLED
		       : !count->running_ns		       ? PERCH_COUNT_STATE_NEVER_RAN
		       : count->running_ns < count->enabled_ns ? PERCH_COUNT_STATE_SCALED
							       : PERCH_COUNT_STATE_EXACT;
}

/* Prints the counts of an interval, or of all of it. */
static int print_round(struct reading *reading, enum stat_round_kind kind, uint64_t ns)
{
	struct stat_job *stat = reading->stat;
	struct stat_part *part = &stat->part[0];
	bool interval = kind == STAT_ROUND_INTERVAL;
	/* the times of a damaged file may go back */
	uint64_t before = interval && reading->last_ns < ns ? reading->last_ns : 0;
	struct perch_error err;

	stat->interval_ns = interval ? ns : 0;
	stat->wall_ns = (double)(ns - before);
	stat->elapsed_ns = (struct perch__mean){ .nr = 1, .mean = (double)ns };
	reading->last_ns = ns;
	reading->ended = true;
	stat_clear_cells(stat);
	if (stat_add_counts(stat, interval, &err))
		return cli_error(STAT_COMMAND, &err);
	memcpy(part->before, part->now, part->events.nr * part->targets.nr * sizeof(*part->before));
	return stat_print(stat);
}

static int take_counts(struct reading *reading, const struct perch_record *record)
{
	struct stat_round round;

	if (record->type == PERCH_RECORD_STAT)
		take_count(reading, record);
	if (record->type != PERCH_RECORD_STAT_ROUND)
		return 0;
	take_body(record, &round, sizeof(round));
	return print_round(reading,
			   word64(reading, round.kind) == STAT_ROUND_INTERVAL ? STAT_ROUND_INTERVAL
									      : STAT_ROUND_FINAL,
			   word64(reading, round.ns));
}

/* A recorder that was killed has written no end. */
static int print_rounds(struct reading *reading)
{
	struct stat_job *stat = reading->stat;
	struct stat_part *part = &stat->part[0];
	struct perch_error err;
	int status;

	for (size_t i = 0; i < part->events.nr * part->targets.nr; i++)
		part->now[i].state = PERCH_COUNT_STATE_NOT_OPEN;
	if (perch_session_rewind(stat->input.session, &err) < 0)
		return cli_error(STAT_COMMAND, &err);
	status = for_each_record(reading, take_counts);
	return status || reading->ended ? status : print_round(reading, STAT_ROUND_FINAL, 0);
}

static int print_counts(struct stat_job *stat)
{
	struct reading reading = {
		.stat = stat,
		.reader = perch_session_reader(stat->input.session),
	};
	int status;

	reading.swapped = perch_reader_byte_order(reading.reader) != PERCH_BYTES_NATIVE;
	status = prepare(&reading);
	if (!status)
		status = print_rounds(&reading);
	free(reading.cell);
	free(stat->argv);
	free(stat->topology);
	free(stat->thread);
	return status;
}

int stat_report(struct stat_job *stat)
{
	int status = cli_input_open(&stat->input);

	if (status)
		return status;
	if (!cli_input_has_counts(&stat->input)) {
		cli_note(STAT_COMMAND, "%s has samples and no counts: perch report prints them",
			 stat->input.path);
		status = CLI_EXIT_FAILURE;
	} else {
		cli_start_pager();
		stat->output = stdout;
		status = print_counts(stat);
		if (cli_check_stdout(STAT_COMMAND, 0))
			status = CLI_EXIT_FAILURE;
		cli_input_print_notes(&stat->input);
	}
	cli_input_close(&stat->input);
	return status;
}

int cli_print_counts(FILE *out, const struct cli_input *input)
{
	struct stat_job stat = STAT_DEFAULTS;
	int status;

	stat.input = *input;
	stat.options.report = true;
	stat.output = out;
	cli_start_pager();
	status = print_counts(&stat);
	stat_free_events(&stat);
	return status;
}

/* SPDX-License-Identifier: MIT */
/* Reads a recording into a timeline. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "sched.h"
#include "shared_options.h"

#define READING(member) CLI_SETS(struct sched_reading, member)

const struct cli_option sched_read_options[] = {
	CLI_ROW(.table = cli_input_options, .at = offsetof(struct sched_reading, input)),
	CLI_ROW(.letter = 'v', .name = "verbose", READING(input.verbose),
		.help = "print also what is missing in the recording"),
	CLI_ROW(.letter = 'j', .name = "json", READING(json), .help = "print JSON"),
	CLI_ROW(.letter = 'x', .name = "field-separator", .argument = "SEPARATOR",
		READING(separator), .help = "print fields with this separator, for programs"),
	CLI_ROW(.table = cli_refused_dump_option),
	CLI_ROW(.table = cli_no_pager_option),
	{ 0 },
};

const struct cli_option sched_filter_options[] = {
	CLI_ROW(.name = "comms", .argument = "NAMES", READING(comms),
		.help = "only threads with these names"),
	CLI_ROW(.letter = 't', .name = "tid", .argument = "IDS", READING(tids),
		.help = "only these threads"),
	CLI_ROW(.name = "time", .argument = "TIMES", READING(filter.options.time),
		.help = "only what ends in START,STOP or 10%-20%"),
	{ 0 },
};

/* ---- names ---- */

void sched_put_name(char *name, size_t size, const struct perch_timeline_thread *thread)
{
	if (!thread->tid)
		snprintf(name, size, "<idle>");
	else if (thread->name[0])
		perch_clean_text(thread->name, name, size);
	else
		snprintf(name, size, ":%" PRIu32, thread->tid);
}

void sched_put_field(const struct sched_reading *reading, char name[SCHED_NAME_BYTES],
		     const struct perch_timeline_thread *thread)
{
	sched_put_name(name, SCHED_NAME_BYTES, thread);
	if (!reading->json)
		cli_make_field(name, reading->separator);
}

void sched_put_task(char task[SCHED_TASK_BYTES], const struct perch_timeline_thread *thread)
{
	size_t length;

	sched_put_name(task, SCHED_NAME_BYTES, thread);
	length = strlen(task);
	if (thread->tid && thread->pid && thread->pid != thread->tid)
		snprintf(task + length, SCHED_TASK_BYTES - length, "[%" PRIu32 "/%" PRIu32 "]",
			 thread->tid, thread->pid);
	else if (thread->tid)
		snprintf(task + length, SCHED_TASK_BYTES - length, "[%" PRIu32 "]", thread->tid);
}

void sched_printf(struct sched_reading *reading, const char *format, ...)
{
	char *at = perch__output_reserve(&reading->out, 4096);
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(at, 4096, format, list);
	va_end(list);
	if (length > 0)
		perch__output_end(&reading->out, at + (length < 4096 ? length : 4095));
}

/* ---- the recording ---- */

static void note_event(struct sched_reading *reading, const char *name)
{
	reading->has_switches |= !strcmp(name, "sched_switch");
	reading->has_runtimes |= !strcmp(name, "sched_stat_runtime");
	reading->has_wakeups |= !strcmp(name, "sched_waking") || !strcmp(name, "sched_wakeup");
}

static int add_events(struct sched_reading *reading)
{
	struct perch_session *session = reading->input.session;
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(session), &events);
	const struct perch_tracepoint_format *format;
	struct perch_error err;

	for (size_t i = 0; i < nr && i <= UINT16_MAX; i++) {
		if (events[i].attr.type != PERCH_TYPE_TRACEPOINT ||
		    perch_session_format(session, &events[i], &format, NULL))
			continue;
		if (perch_timeline_add_event(reading->timeline, (uint16_t)i, format, &err) < 0)
			return cli_error(reading->input.command, &err);
		if (!strcmp(perch_tracepoint_format_system(format), "sched"))
			note_event(reading, perch_tracepoint_format_name(format));
	}
	return 0;
}

static int refuse_file(const struct sched_reading *reading)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(reading->input.session), &events);

	for (size_t i = 0; i < nr; i++)
		if (events[i].attr.context_switch)
			return 0;
	fprintf(stderr,
		"perch %s: %s has no switches of threads. Record them first: perch sched record, "
		"or perch record --switch-events\n",
		reading->input.command, reading->input.path);
	return CLI_EXIT_FAILURE;
}

/* Of the header, as "nrcpus online : N" prints it. A pipe may not have it. */
static uint32_t count_cpus(const struct sched_reading *reading)
{
	struct perch_reader *reader = perch_session_reader(reading->input.session);
	const void *data;
	uint32_t nr = 0;
	size_t size;

	if (!perch_reader_feature(reader, PERCH_FEATURE_NRCPUS, &data, &size) &&
	    size >= sizeof(nr)) {
		memcpy(&nr, data, sizeof(nr));
		if (perch_reader_byte_order(reader) != PERCH_BYTES_NATIVE)
			nr = __builtin_bswap32(nr);
	}
	return nr && nr <= SCHED_MAX_CPUS ? nr : 1;
}

/* Returns 0, or an exit status after a message. */
static int check_ids(const struct sched_reading *reading, const char *option, const char *list)
{
	uint32_t id;

	for (const char *rest = list; rest;)
		if (!cli_take_id(&rest, &id))
			return cli_usage_error(reading->input.command,
					       "%s %s: expected numbers such as 12,34", option,
					       list);
	return 0;
}

int sched_open(struct sched_reading *reading)
{
	struct perch_error err;
	int status = check_ids(reading, "-t", reading->tids);

	if (!status)
		status = check_ids(reading, "-p", reading->pids);
	if (status)
		return status;
	reading->input.options.keep_stacks = true;
	status = cli_input_open(&reading->input);
	if (status)
		return status;
	status = cli_filter_open(&reading->filter, &reading->input);
	if (status)
		return status;
	if (perch_timeline_new(&reading->timeline, &reading->options, &err))
		return cli_error(reading->input.command, &err);
	status = add_events(reading);
	if (!status && !reading->has_switches)
		status = refuse_file(reading);
	if (!status && perch__output_open(&reading->out, stdout))
		status = cli_no_memory(reading->input.command);
	reading->writer.out = &reading->out;
	reading->takes_all = !cli_filter_is_given(&reading->filter) && !reading->tids &&
			     !reading->pids && !reading->comms;
	reading->nr_cpus = count_cpus(reading);
	return status;
}

/* list: NULL is all. */
static bool has_id(const char *list, uint32_t id)
{
	bool all = !list, found = false;

	for (uint32_t other; list && !found && cli_take_id(&list, &other);)
		found = other == id;
	return all || found;
}

static bool has_name(const char *list, const char *name)
{
	size_t length;

	for (; list; list = list[length] ? list + length + 1 : NULL) {
		length = strcspn(list, ",");
		if (strlen(name) == length && !strncmp(list, name, length))
			return true;
		if (!list[length])
			return false;
	}
	return true;
}

bool sched_passes(struct sched_reading *reading, const struct perch_timeline_thread *thread)
{
	if (reading->wanted < 0)
		reading->wanted = cli_filter_match(&reading->filter, &reading->record) > 0;
	return reading->wanted && has_id(reading->tids, thread->tid) &&
	       has_id(reading->pids, thread->pid) && has_name(reading->comms, thread->name);
}

static int read_records(struct sched_reading *reading)
{
	int rc;

	while ((rc = cli_input_next(&reading->input, &reading->record)) > 0) {
		rc = sched_take(reading);
		if (rc)
			return rc;
	}
	return rc < 0 ? SCHED_FAILED : 0;
}

int sched_read(struct sched_reading *reading)
{
	int rc = sched_queue_is_useful(reading) ? sched_queue_read(reading) : read_records(reading);

	if (rc < 0)
		return cli_error(reading->input.command, &reading->err);
	/* what ends with the file is in no record */
	reading->wanted = !cli_filter_is_given(&reading->filter);
	perch_timeline_finish(reading->timeline, 0);
	return rc == SCHED_FAILED ? CLI_EXIT_FAILURE : 0;
}

/* ---- notes ---- */

int sched_finish(struct sched_reading *reading, int status)
{
	const char *command = reading->input.command;
	struct perch_timeline_stats stats;

	perch__output_flush(&reading->out);
	if (cli_check_stdout(command, reading->out.error))
		return CLI_EXIT_FAILURE;
	cli_input_print_notes(&reading->input);
	if (reading->shows_delays && !reading->has_wakeups)
		cli_note(command, "the recording has no wakeups: delays after them are missing, "
				  "only those of preempted threads are known. 'perch sched record' "
				  "has them as root, or with CAP_PERFMON and a readable tracefs");
	perch_timeline_get_stats(reading->timeline, &stats);
	if (stats.uncertain)
		cli_note(command, "%" PRIu64 " of %" PRIu64 " intervals may be wrong (%.3f ms): %s",
			 stats.uncertain, stats.intervals, (double)stats.uncertain_ns / 1e6,
			 stats.lost ? "records were lost"
				    : "switches or wakeups are missing, although no record was "
				      "lost");
	if (reading->input.verbose && (stats.missing_switches || stats.missing_wakeups))
		cli_note(command,
			 "missing are %" PRIu64 " switches and %" PRIu64
			 " wakeups of threads that ran again",
			 stats.missing_switches, stats.missing_wakeups);
	if (stats.backwards)
		cli_note(command, "the time went backwards in %" PRIu64 " records",
			 stats.backwards);
	if (stats.left_out)
		cli_note(command, "%" PRIu64 " records of further threads are left out",
			 stats.left_out);
	cli_filter_print_notes(&reading->filter, &reading->input);
	return status;
}

void sched_close(struct sched_reading *reading)
{
	perch_timeline_free(reading->timeline);
	perch__output_close(&reading->out);
	cli_filter_close(&reading->filter);
	cli_input_close(&reading->input);
}

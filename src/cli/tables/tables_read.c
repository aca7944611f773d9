/* SPDX-License-Identifier: MIT */
/* Fields are found once for each event of the file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tables.h"

enum { MOST_CPUS = 1 << 16 };

/* What an event of the file is for the command. */
struct tables_format {
	const struct tables_event *event; /* NULL: nothing */
	const struct perch_tracepoint_field *field[TABLES_FIELDS];
};

void tables_text_of(const struct tables_sample *sample, unsigned field, char *text, size_t size)
{
	const char *found;
	size_t length;

	*text = 0;
	if (sample->field[field] &&
	    !perch_tracepoint_get_text(sample->field[field], sample->record, &found, &length))
		snprintf(text, size, "%.*s", (int)(length < size ? length : size), found);
}

/* ---- events ---- */

/* perf names an event of a file with its modifiers: "lock:contention_begin:k". */
static bool is_named(const char *name, const char *event)
{
	size_t length = strlen(event);

	return !strncmp(name, event, length) && (!name[length] || name[length] == ':');
}

static const struct tables_event *find_event(const struct tables *tables, const char *name)
{
	for (const struct tables_event *event = tables->events; event->name; event++)
		if (is_named(name, event->name))
			return event;
	return NULL;
}

bool tables_has_event(const struct tables *tables, const char *name)
{
	for (size_t i = 0; i < tables->nr_formats; i++)
		if (tables->format[i].event && !strcmp(tables->format[i].event->name, name))
			return true;
	return false;
}

/* Finds the events of the file. Returns 0 or the exit status. */
static int find_formats(struct tables *tables)
{
	const struct perch_file_event *events;
	const struct perch_tracepoint_format *format;
	struct perch_error err;
	bool found = false;

	tables->nr_formats =
		perch_reader_events(perch_session_reader(tables->input.session), &events);
	tables->format = perch__calloc(tables->nr_formats + 1, sizeof(*tables->format));
	if (!tables->format)
		return cli_no_memory(tables->input.command);
	for (size_t i = 0; i < tables->nr_formats; i++) {
		struct tables_format *own = &tables->format[i];

		if (events[i].attr.type != PERCH_TYPE_TRACEPOINT || !events[i].name)
			continue;
		own->event = find_event(tables, events[i].name);
		if (!own->event)
			continue;
		if (perch_session_format(tables->input.session, &events[i], &format, &err))
			return cli_error(tables->input.command, &err);
		for (size_t j = 0; j < TABLES_FIELDS && own->event->field[j]; j++)
			own->field[j] = perch_tracepoint_format_find(format, own->event->field[j]);
		found |= !own->event->optional;
	}
	if (found)
		return 0;
	perch_error_set(&err, ENOENT, PERCH_ERROR_FILE, "%s has no event %s", tables->input.path,
			tables->events->name);
	perch_error_remedy(&err, "'perch %s record PROGRAM' records what is needed",
			   tables->recorder ? tables->recorder : tables->input.command);
	return cli_error(tables->input.command, &err);
}

/* ---- losses ---- */

/* Returns where the time of a CPU is, or NULL. */
static uint64_t *time_of_cpu(struct tables *tables, uint32_t cpu)
{
	if (cpu >= MOST_CPUS ||
	    PERCH__ARRAY_RESERVE_ZEROED(tables->cpu_time, tables->nr_cpus, (size_t)cpu + 1))
		return NULL;
	return &tables->cpu_time[cpu];
}

/* What was lost is between the record before on the same CPU and this one. */
static int add_loss(struct tables *tables, const struct perch_record *record)
{
	const uint64_t *before = time_of_cpu(tables, record->sample_id.cpu);
	int rc = 0;

	tables->losses++;
	for (size_t i = 0; i < TABLES_PAIRS && !rc; i++)
		if (tables->pairs[i])
			rc = perch_pairs_add_loss(tables->pairs[i], before ? *before : 0,
						  record->sample_id.time ? record->sample_id.time
									 : UINT64_MAX);
	return rc;
}

/* ---- records ---- */

static int add_sample(struct tables *tables, const struct perch_record *record)
{
	const struct tables_format *format =
		record->event < tables->nr_formats ? &tables->format[record->event] : NULL;
	struct tables_sample sample = {
		.record = record,
		.time = record->sample.time,
		.cpu = record->sample.cpu,
		.pid = record->sample.pid,
		.tid = record->sample.tid,
	};
	int rc;

	if (!format || !format->event)
		return 0;
	rc = cli_filter_match(&tables->filter, record);
	if (rc <= 0)
		return rc;
	sample.field = format->field;
	for (size_t i = 0; i < TABLES_FIELDS && format->event->field[i]; i++)
		if (format->field[i])
			perch_tracepoint_get_u64(format->field[i], record, &sample.value[i]);
	tables->samples++;
	return format->event->add(tables, &sample);
}

static int add_record(struct tables *tables, const struct perch_record *record, bool again)
{
	uint64_t *time;

	if (record->type == PERCH_RECORD_LOST && !again)
		return add_loss(tables, record);
	time = record->sample_id.time ? time_of_cpu(tables, record->sample_id.cpu) : NULL;
	if (time)
		*time = record->sample_id.time;
	return record->type == PERCH_RECORD_SAMPLE && tables->counting ? add_sample(tables, record)
								       : 0;
}

/* Reads all records. again: what was lost is known. Returns 0 or the exit status. */
static int read_records(struct tables *tables, bool again)
{
	struct perch_record record;
	int rc;

	while ((rc = cli_input_next(&tables->input, &record)) > 0)
		if (add_record(tables, &record, again))
			return cli_no_memory(tables->input.command);
	return rc ? CLI_EXIT_FAILURE : 0;
}

/* Discards all but what was lost. Returns 0 or the exit status. */
static int read_again(struct tables *tables)
{
	struct perch_error err;

	for (size_t i = 0; i < tables->nr_tables; i++)
		tables_clear(&tables->table[i]);
	for (size_t i = 0; i < TABLES_PAIRS; i++)
		if (tables->pairs[i])
			perch_pairs_restart(tables->pairs[i]);
	if (tables->command->restart)
		tables->command->restart(tables);
	tables->samples = tables->missing_ends = 0;
	cli_filter_close(&tables->filter);
	if (perch_session_rewind(tables->input.session, &err))
		return cli_error(tables->input.command, &err);
	return cli_filter_open(&tables->filter, &tables->input);
}

int tables_read(struct tables *tables)
{
	int status = find_formats(tables);

	tables->counting = !tables->lists;
	if (!status)
		status = read_records(tables, false);
	if (status || !(tables->losses || tables->lists || tables->twice))
		return status;
	status = read_again(tables);
	tables->counting = true;
	return status ? status : read_records(tables, true);
}

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <perch/fields.h>

#include "base/array.h"
#include "functions.h"

enum { NO_ENTRY = UINT32_MAX, TEXT = 512, MOST_MEMBERS = PERCH__OUTPUT_BYTES / 8 };

/* ---- events ---- */

/* Returns the index of the row of a name, or UINT32_MAX without memory. */
static uint32_t find_row(struct functions *functions, const char *name)
{
	struct functions_row *row;

	for (size_t i = 0; i < functions->nr_rows; i++)
		if (!strcmp(functions->row[i].name, name))
			return (uint32_t)i;
	row = PERCH__ARRAY_APPEND(functions->row, functions->nr_rows, functions->rows_capacity);
	if (!row)
		return UINT32_MAX;
	*row = (struct functions_row){ .name = strdup(name) };
	return row->name ? (uint32_t)functions->nr_rows - 1 : UINT32_MAX;
}

/* "uprobe:PATH:FUNCTION" and "uretprobe:PATH:FUNCTION" have one row. */
static int take_event(struct functions *functions, const struct perch_file_event *file_event,
		      struct functions_event *event)
{
	const char *name = file_event->name;
	char clean[256];

	if (!name || file_event->attr.type != PERCH_TYPE_TRACEPOINT)
		return 0;
	event->returns = !strncmp(name, "uretprobe:", 10);
	if (!event->returns && strncmp(name, "uprobe:", 7))
		return 0;
	name += event->returns ? 10 : 7;
	snprintf(clean, sizeof(clean), "%s", name);
	perch_clean_text(clean, clean, sizeof(clean));
	event->row = find_row(functions, clean);
	if (event->row == UINT32_MAX)
		return -ENOMEM;
	if (perch_session_format(functions->input.session, file_event, &event->format, NULL))
		event->format = NULL;
	else
		event->sp = perch_tracepoint_format_find(event->format, "sp");
	return 0;
}

static int find_events(struct functions *functions)
{
	const struct perch_file_event *events;
	const size_t nr =
		perch_reader_events(perch_session_reader(functions->input.session), &events);

	functions->event = calloc(nr + 1, sizeof(*functions->event));
	if (!functions->event)
		return -ENOMEM;
	functions->nr_events = nr;
	for (size_t i = 0; i < nr; i++)
		if (take_event(functions, &events[i], &functions->event[i]))
			return -ENOMEM;
	return 0;
}

/* ---- arguments ---- */

struct text {
	char *at;
	size_t used;
};

/* Returns the length of the text, which may be longer than the buffer. */
static int put_value(const struct perch_field *field, char *text, size_t size)
{
	switch (field->kind) {
	case PERCH_FIELD_TEXT:
		return snprintf(text, size, "%s=\"%.*s\"", field->name, (int)field->length,
				field->text);
	case PERCH_FIELD_SIGNED:
		return snprintf(text, size, "%s=%" PRId64, field->name, (int64_t)field->value);
	case PERCH_FIELD_HEX:
	case PERCH_FIELD_ADDRESS:
		return snprintf(text, size, "%s=%#" PRIx64, field->name, field->value);
	default:
		return snprintf(text, size, "%s=%" PRIu64, field->name, field->value);
	}
}

/* True for what the kernel and the command add. */
static bool is_added(const struct perch_field *field)
{
	return field->name && (!strncmp(field->name, "__probe", 7) ||
			       !strncmp(field->name, "common_", 7) || !strcmp(field->name, "sp"));
}

/* Adds "name=value". */
static int add_field(void *context, const struct perch_field *field)
{
	struct text *text = context;

	if (!field->name || is_added(field))
		return 0;
	if (text->used)
		text->used += (size_t)snprintf(text->at + text->used, TEXT - text->used, ", ");
	if (text->used < TEXT)
		text->used += (size_t)put_value(field, text->at + text->used, TEXT - text->used);
	return text->used >= TEXT;
}

/* A text is at most six times the 4096 bytes that the kernel copies, so the buffer has space. */
static int add_member(void *context, const struct perch_field *field)
{
	struct perch__json_writer *json = context;

	if (json->out->used > MOST_MEMBERS)
		return 1;
	return is_added(field) ? 0 : perch__json_trace_field(json, field);
}

/* Returns the arguments, which free(3) frees; NULL without memory. */
static char *read_arguments(struct functions *functions, const struct functions_event *event,
			    const struct perch_record *record)
{
	struct perch__json_writer json = { .out = &functions->members };
	char arguments[TEXT] = "", clean[TEXT];
	struct text text = { arguments, 0 };

	if (!functions->json) {
		perch_tracepoint_visit(event->format, record, add_field, &text);
		perch_clean_text(arguments, clean, sizeof(clean));
		return strdup(clean);
	}
	json.out->used = 0;
	perch__json_begin_object(&json);
	perch_tracepoint_visit(event->format, record, add_member, &json);
	while (json.depth)
		perch__json_end(&json);
	return strndup(json.out->buffer, json.out->used);
}

/* Stores the arguments of an entry. Returns their number, or NO_ENTRY without memory. */
static uint32_t store_entry(struct functions *functions, const struct functions_event *event,
			    const struct perch_record *record)
{
	uint32_t index = functions->first_free;

	if (index == NO_ENTRY) {
		if (!PERCH__ARRAY_APPEND(functions->entry, functions->nr_entries,
					 functions->entries_capacity))
			return NO_ENTRY;
		index = (uint32_t)functions->nr_entries - 1;
	} else {
		functions->first_free = functions->entry[index].next_free;
	}
	functions->entry[index].text = read_arguments(functions, event, record);
	return functions->entry[index].text ? index : NO_ENTRY;
}

/* ---- calls ---- */

static int take_call(void *context, const struct perch_function_call *call)
{
	struct functions *functions = context;
	struct functions_row *row = &functions->row[call->function];
	const uint64_t ns = call->end - call->start;

	if (functions->verbose) {
		struct functions_entry *entry = &functions->entry[call->value];

		functions_print_call(functions, call, entry->text);
		free(entry->text);
		entry->text = NULL;
		entry->next_free = functions->first_free;
		functions->first_free = (uint32_t)call->value;
	}
	if (call->flags) {
		row->lost++;
		return 0;
	}
	row->calls++;
	row->total += ns;
	if (ns > row->max)
		row->max = ns;
	return cli_delays_add(&row->delays, ns);
}

static int take_sample(struct functions *functions, const struct perch_record *record)
{
	const struct functions_event *event =
		record->event < functions->nr_events ? &functions->event[record->event] : NULL;
	char *returned = NULL;
	struct perch_function_event next = { .tid = record->sample_id.tid,
					     .time = record->sample_id.time };

	int rc;

	if (!event || !event->format)
		return 0;
	if (!functions->first_time)
		functions->first_time = next.time;
	next.function = event->row;
	if (event->sp)
		perch_tracepoint_get_u64(event->sp, record, &next.sp);
	if (event->returns) {
		if (functions->verbose)
			returned = read_arguments(functions, event, record);
		if (functions->verbose && !returned)
			return -ENOMEM;
		functions->returned = returned ? returned : "";
		rc = perch_function_calls_leave(functions->calls, &next);
		free(returned);
		return rc;
	}
	functions->returned = "";
	if (functions->verbose)
		next.value = store_entry(functions, event, record);
	if (functions->verbose && next.value == NO_ENTRY)
		return -ENOMEM;
	return perch_function_calls_enter(functions->calls, &next, NULL);
}

static int take_record(struct functions *functions, const struct perch_record *record)
{
	switch (record->type) {
	case PERCH_RECORD_SAMPLE:
		return take_sample(functions, record);
	case PERCH_RECORD_EXIT:
		functions->returned = "";
		return perch_function_calls_end_thread(functions->calls, record->task.tid,
						       record->task.time);
	case PERCH_RECORD_LOST:
	case PERCH_RECORD_LOST_SAMPLES:
		functions->losses++;
		perch_function_calls_add_loss(functions->calls);
		return 0;
	default:
		return 0;
	}
}

int functions_read(struct functions *functions)
{
	const struct perch_function_calls_options options = { .call = take_call,
							      .context = functions };
	struct perch_record record;
	struct perch_error err;
	uint64_t last = 0;
	int status = cli_input_open(&functions->input), rc;

	if (status)
		return status;
	if (perch_function_calls_new(&functions->calls, &options, &err))
		return cli_error(FUNCTIONS_COMMAND, &err);
	if (find_events(functions))
		return cli_no_memory(FUNCTIONS_COMMAND);
	while ((rc = cli_input_next(&functions->input, &record)) > 0) {
		if (record.sample_id.time > last && record.type == PERCH_RECORD_SAMPLE)
			last = record.sample_id.time;
		if (take_record(functions, &record))
			return cli_no_memory(FUNCTIONS_COMMAND);
	}
	functions->returned = "";
	if (rc < 0 || perch_function_calls_finish(functions->calls, last))
		return CLI_EXIT_FAILURE;
	return 0;
}

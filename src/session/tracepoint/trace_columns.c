/* SPDX-License-Identifier: MIT */
/* Columns of profiles for tracepoints: finds them by the names of events and fields. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/edit_distance.h"
#include "base/no_memory.h"
#include "trace_columns.h"

#define ALL_EVENTS SIZE_MAX

/* As in perf: a number is as wide as its hexadecimal digits. */
static unsigned width_of(const struct perch_tracepoint_field *field)
{
	if (field->kind == PERCH_TRACEPOINT_TEXT)
		return field->size < 64 ? field->size : 64;
	return field->size <= 8 ? 2 * field->size + 2 : 18;
}

/* Returns the column with this name, which is added if it is new, or NULL if out of memory. */
static struct trace_column *get_column(struct perch_trace_columns *columns, const char *name,
				       bool raw, size_t event)
{
	struct trace_column *column, **added;

	for (size_t i = 0; i < columns->nr; i++)
		if (!strcmp(columns->column[i]->name, name) && columns->column[i]->raw == raw &&
		    columns->column[i]->event == event)
			return columns->column[i];
	column = calloc(1, sizeof(*column));
	if (!column)
		return NULL;
	column->name = strdup(name);
	column->field = calloc(columns->nr_events + 1, sizeof(*column->field));
	added = PERCH__ARRAY_APPEND(columns->column, columns->nr, columns->capacity);
	if (!column->name || !column->field || !added) {
		columns->nr -= added != NULL;
		perch__trace_column_free(column);
		return NULL;
	}
	column->owner = columns;
	column->raw = raw;
	column->event = event;
	column->table.seed = perch__hash_seed(column);
	column->column = (struct perch_column){ .name = column->name,
						.scope = PERCH_COLUMN_SAMPLE,
						.type = PERCH_COLUMN_TEXT,
						.value = perch__trace_value,
						.compare = perch__trace_compare,
						.format = perch__trace_format,
						.data = column };
	*added = column;
	return column;
}

static int add_found(struct perch_trace_columns *columns, size_t *nr,
		     const struct perch_column *column)
{
	if (PERCH__ARRAY_RESERVE(columns->found, columns->found_capacity, *nr + 1))
		return -ENOMEM;
	columns->found[(*nr)++] = column;
	return 0;
}

static int find_whole(struct perch_trace_columns *columns, bool raw, size_t *nr)
{
	struct trace_column *column = get_column(columns, "trace", raw, ALL_EVENTS);

	if (!column)
		return -ENOMEM;
	column->whole = true;
	column->column.header = "Trace output";
	column->column.summary = "text of the tracepoint's sample";
	return add_found(columns, nr, &column->column);
}

/* Sets the field of an event in a column. */
static void set_field(struct trace_column *column, size_t event,
		      const struct perch_tracepoint_field *field)
{
	unsigned width = width_of(field);

	column->field[event] = field;
	column->column.header = field->name;
	column->column.summary = "field of a tracepoint";
	column->column.right = true;
	if (column->column.width < width)
		column->column.width = width;
}

/* Finds the field of one event. */
static int find_field(struct perch_trace_columns *columns, size_t event,
		      const struct perch_tracepoint_field *field, bool raw, size_t *nr)
{
	const char *of = columns->events[event].name;
	struct trace_column *column;
	char name[256];

	snprintf(name, sizeof(name), "%s.%s", of, field->name);
	column = get_column(columns, name, raw, event);
	if (!column)
		return -ENOMEM;
	set_field(column, event, field);
	return add_found(columns, nr, &column->column);
}

/* Finds all fields of an event. */
static int find_fields(struct perch_trace_columns *columns, size_t event, bool raw, size_t *nr)
{
	const struct perch_tracepoint_field *fields;
	size_t count = perch_tracepoint_format_fields(columns->format[event], &fields);
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++)
		if (!fields[i].is_common)
			rc = find_field(columns, event, &fields[i], raw, nr);
	return rc;
}

/* Finds a field of any event: one column. */
static int find_name(struct perch_trace_columns *columns, const char *name, bool raw, size_t *nr)
{
	struct trace_column *column = NULL;

	for (size_t event = 0; event < columns->nr_events; event++) {
		const struct perch_tracepoint_field *field =
			columns->format[event]
				? perch_tracepoint_format_find(columns->format[event], name)
				: NULL;

		if (!field)
			continue;
		if (!column)
			column = get_column(columns, name, raw, ALL_EVENTS);
		if (!column)
			return -ENOMEM;
		set_field(column, event, field);
	}
	return column ? add_found(columns, nr, &column->column) : 0;
}

/* The field with the most similar name, or NULL. */
static const char *similar_field(const struct perch_trace_columns *columns, const char *name)
{
	unsigned least = (unsigned)strlen(name) / 3 + 1;
	const char *similar = NULL;

	for (size_t event = 0; event < columns->nr_events; event++) {
		const struct perch_tracepoint_field *fields;
		size_t nr =
			columns->format[event]
				? perch_tracepoint_format_fields(columns->format[event], &fields)
				: 0;

		for (size_t i = 0; i < nr && strlen(name) <= PERCH__EDIT_MAX_LENGTH; i++) {
			unsigned distance = perch__edit_distance(name, fields[i].name);

			if (distance < least) {
				least = distance;
				similar = fields[i].name;
			}
		}
	}
	return similar;
}

static int no_field(const struct perch_trace_columns *columns, const char *name,
		    struct perch_error *err)
{
	const char *similar = similar_field(columns, name);
	char text[256];

	perch_clean_text(name, text, sizeof(text));
	perch_error_set(err, ENOENT, PERCH_ERROR_USAGE,
			"no tracepoint of the recording has a field '%s'", text);
	if (similar) {
		char clean[128];

		perch_clean_text(similar, clean, sizeof(clean));
		perch_error_remedy(err, "use '%s', which is similar", clean);
	}
	return -ENOENT;
}

/*
 * Finds the event of a name: its number from 1 on after '%', its name, or a part of its name that
 * only one has. Returns a negative errno if there is none.
 */
static int find_event(const struct perch_trace_columns *columns, const char *name, size_t *event,
		      struct perch_error *err)
{
	bool whole = strchr(name, ':');
	size_t found = 0;
	char text[256];

	perch_clean_text(name, text, sizeof(text));
	for (size_t i = 0; i < columns->nr_events; i++) {
		const char *of = columns->events[i].name;
		bool matches = name[0] == '%' ? strtoul(name + 1, NULL, 10) == i + 1
			       : whole	      ? !strcmp(of, name)
					      : strstr(of, name) != NULL;

		if (!matches || (whole && found))
			continue;
		*event = i;
		found++;
	}
	if (found > 1)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "'%s' is a part of the names of %zu events", text, found);
	if (!found)
		return perch_error_set(err, ENOENT, PERCH_ERROR_USAGE,
				       "the recording has no event '%s'", text);
	if (!columns->format[*event])
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "'%s' is no tracepoint, or the recording lacks its format",
				       text);
	return 0;
}

/* Finds "EVENT.FIELD" or "EVENT.*". */
static int find_of_event(struct perch_trace_columns *columns, const char *name,
			 const char *field_name, bool raw, size_t *nr, struct perch_error *err)
{
	const struct perch_tracepoint_field *field;
	size_t event;
	int rc = find_event(columns, name, &event, err);

	if (rc)
		return rc;
	if (!strcmp(field_name, "*"))
		return find_fields(columns, event, raw, nr) ? PERCH__NO_MEMORY(err, "for columns")
							    : 0;
	field = perch_tracepoint_format_find(columns->format[event], field_name);
	if (!field)
		return no_field(columns, field_name, err);
	return find_field(columns, event, field, raw, nr) ? PERCH__NO_MEMORY(err, "for columns")
							  : 0;
}

/* Finds the columns of a name, which is changed. */
static int find_column(struct perch_trace_columns *columns, char *name, size_t *nr,
		       struct perch_error *err)
{
	char *field = strchr(name, '.'), *option;
	bool raw = false;
	int rc = 0;

	option = strchr(field ? field : name, '/');
	if (option) {
		*option++ = 0;
		raw = !strcmp(option, "raw");
		if (!raw)
			return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
					       "a field has no option other than 'raw'");
	}
	if (!strcmp(name, "trace"))
		return find_whole(columns, raw, nr) ? PERCH__NO_MEMORY(err, "for columns") : 0;
	if (field) {
		*field++ = 0;
		return find_of_event(columns, name, field, raw, nr, err);
	}
	if (strcmp(name, "trace_fields"))
		rc = find_name(columns, name, raw, nr);
	for (size_t i = 0; i < columns->nr_events && !strcmp(name, "trace_fields") && !rc; i++)
		if (columns->format[i])
			rc = find_fields(columns, i, raw, nr);
	if (rc)
		return PERCH__NO_MEMORY(err, "for columns");
	return *nr ? 0 : no_field(columns, name, err);
}

int perch_trace_columns_find(struct perch_trace_columns *columns, const char *name, size_t length,
			     const struct perch_column *const **found, size_t *nr,
			     struct perch_error *err)
{
	char *copy = strndup(name, length);
	int rc;

	*found = NULL;
	*nr = 0;
	if (!copy)
		return PERCH__NO_MEMORY(err, "for columns");
	rc = find_column(columns, copy, nr, err);
	free(copy);
	*found = columns->found;
	return rc;
}

bool perch_trace_columns_is_of(const struct perch_trace_columns *columns,
			       const struct perch_column *column, unsigned event)
{
	for (size_t i = 0; i < columns->nr; i++) {
		const struct trace_column *own = columns->column[i];

		if (&own->column == column)
			return own->whole || (event < columns->nr_events && own->field[event]);
	}
	return true;
}

int perch_trace_columns_new(struct perch_trace_columns **result, struct perch_session *session,
			    struct perch_error *err)
{
	struct perch_trace_columns *columns = calloc(1, sizeof(*columns));

	*result = NULL;
	if (!columns)
		return PERCH__NO_MEMORY(err, "for columns");
	columns->session = session;
	columns->nr_events = perch_reader_events(perch_session_reader(session), &columns->events);
	columns->format = calloc(columns->nr_events + 1, sizeof(*columns->format));
	if (!columns->format) {
		free(columns);
		return PERCH__NO_MEMORY(err, "for columns");
	}
	for (size_t i = 0; i < columns->nr_events; i++)
		if (perch_session_format(session, &columns->events[i], &columns->format[i], NULL))
			columns->format[i] = NULL;
	*result = columns;
	return 0;
}

void perch_trace_columns_free(struct perch_trace_columns *columns)
{
	if (!columns)
		return;
	for (size_t i = 0; i < columns->nr; i++)
		perch__trace_column_free(columns->column[i]);
	free(columns->column);
	free(columns->found);
	free(columns->format);
	free(columns);
}

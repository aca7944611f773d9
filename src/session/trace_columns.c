/* SPDX-License-Identifier: MIT */
/* Columns of profiles for tracepoints: the text of a sample, and its fields. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <perch/session.h>

#include "base/array.h"
#include "base/edit_distance.h"
#include "base/hash_table.h"

#define TEXT_BYTES   4096 /* of a value; longer texts are cut */
#define MAX_ELEMENTS 64	  /* of an array that are shown */
#define ALL_EVENTS   SIZE_MAX

/* A distinct value. Its key is the bytes of the field, or the text. */
struct value {
	char *text;
	const void *key;
	size_t key_size;
	uint64_t number; /* of fields of numbers */
	uint16_t event;
	bool is_number, is_signed;
	bool settled; /* the text does not change any more */
};

struct trace_column {
	struct perch_column column;
	struct perch_trace_columns *owner;
	char *name;
	bool whole; /* the text of the sample, not a field */
	bool raw;   /* the value as it is recorded, not as the sample prints it */
	size_t event;
	const struct perch_tracepoint_field **field; /* by event; NULL: it lacks the field */
	struct perch__hash_table table;		     /* key -> value[] */
	struct value *value;
	size_t nr, capacity;
};

struct perch_trace_columns {
	struct perch_session *session;
	const struct perch_file_event *events;
	size_t nr_events;
	const struct perch_tracepoint_format **format; /* by event; NULL: none */
	struct trace_column **column;
	size_t nr, capacity;
	const struct perch_column **found; /* of the last call */
	size_t found_capacity;
};

static int no_memory(struct perch_error *err)
{
	return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory for columns");
}

/* ---- values ---- */

struct key {
	const struct trace_column *column;
	const void *bytes;
	size_t size;
	uint16_t event;
};

static bool same_key(const void *items, uint32_t index, const void *wanted)
{
	const struct value *value = &((const struct value *)items)[index];
	const struct key *key = wanted;

	return value->event == key->event && value->key_size == key->size &&
	       !memcmp(value->key, key->bytes, key->size);
}

/* Returns the index of a value, which is added without a text if it is new; or PERCH__HASH_NONE. */
static uint32_t add_value(struct trace_column *column, const struct key *key)
{
	uint64_t hash =
		perch__hash_pair(column->table.seed, key->event,
				 perch__hash_bytes(column->table.seed, key->bytes, key->size));
	uint32_t index = perch__hash_find(&column->table, hash, same_key, column->value, key);
	char *copy;

	if (index != PERCH__HASH_NONE)
		return index;
	copy = malloc(key->size + 1);
	if (!copy || PERCH__ARRAY_RESERVE(column->value, column->capacity, column->nr + 1) ||
	    perch__hash_add(&column->table, hash, column->nr)) {
		free(copy);
		return PERCH__HASH_NONE;
	}
	memcpy(copy, key->bytes, key->size);
	column->value[column->nr] =
		(struct value){ .key = copy, .key_size = key->size, .event = key->event };
	return (uint32_t)column->nr++;
}

static int set_text(struct value *value, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return -ENOMEM;
	free(value->text);
	value->text = copy;
	return 0;
}

/* ---- texts of fields ---- */

static void put_bytes(const struct perch_tracepoint_field *field, const struct perch_record *record,
		      char *text, size_t size)
{
	size_t used = (size_t)snprintf(text, size, "ARRAY["), length;
	const uint8_t *bytes;
	const void *start;

	if (perch_tracepoint_get_bytes(field, record, &start, &length))
		length = 0;
	bytes = start;
	for (size_t i = 0; i < length && i < MAX_ELEMENTS && used + 16 < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%02x", i ? ", " : "",
					 bytes[i]);
	snprintf(text + used, size - used, length > MAX_ELEMENTS ? ", ...]" : "]");
}

/* A value as libtraceevent prints it without a print fmt. */
static void put_raw(const struct perch_tracepoint_field *field, const struct perch_record *record,
		    char *text, size_t size)
{
	uint64_t number;

	if (field->kind != PERCH_TRACEPOINT_NUMBER && field->kind != PERCH_TRACEPOINT_POINTER) {
		put_bytes(field, record, text, size);
		return;
	}
	text[0] = 0;
	if (perch_tracepoint_get_u64(field, record, &number))
		return;
	if (field->kind == PERCH_TRACEPOINT_POINTER ||
	    (!field->is_signed && strstr(field->type, "long")))
		snprintf(text, size, "0x%" PRIx64, number);
	else if (field->is_signed)
		snprintf(text, size, "%" PRId64, (int64_t)number);
	else
		snprintf(text, size, "%" PRIu64, number);
}

/* True if a text of the sample may look like another field. */
static bool has_ambiguous_text(const struct perch_tracepoint_format *format,
			       const struct perch_record *record)
{
	const struct perch_tracepoint_field *fields;
	size_t nr = perch_tracepoint_format_fields(format, &fields), length;
	const char *text;

	for (size_t i = 0; i < nr; i++)
		if (fields[i].kind == PERCH_TRACEPOINT_TEXT &&
		    !perch_tracepoint_get_text(&fields[i], record, &text, &length) &&
		    (memchr(text, ' ', length) || memchr(text, '=', length)))
			return true;
	return false;
}

/* True if another field, an arrow or the end follows. */
static bool ends_value(const char *after)
{
	size_t length;

	while (*after == ' ')
		after++;
	if (!*after || !strncmp(after, "==>", 3) || !strncmp(after, "=>", 2))
		return true;
	length = strcspn(after, " =");
	return after[length] == '=';
}

/*
 * Finds "name=value" in the text of a sample, so that flags have their names. Returns false if
 * there is none, or if it is not clear where the value ends.
 */
static bool find_in_text(const char *line, const char *name, char *text, size_t size)
{
	size_t length = strlen(name);

	for (const char *word = line; *word; word += strcspn(word, " ")) {
		const char *value, *end;

		word += strspn(word, " ");
		if (strncmp(word, name, length) || word[length] != '=')
			continue;
		value = word + length + 1;
		end = value + strcspn(value, " ");
		if (!ends_value(end))
			return false;
		while (end > value && end[-1] == ',')
			end--;
		snprintf(text, size, "%.*s", (int)(end - value), value);
		return end > value;
	}
	return false;
}

static int set_field_text(struct trace_column *column, struct value *value,
			  const struct perch_record *record)
{
	const struct perch_tracepoint_field *field = column->field[record->event];
	char text[TEXT_BYTES], line[TEXT_BYTES];

	value->settled = true;
	if (!column->raw) {
		int rc = perch_session_tracepoint_text(column->owner->session, record, line,
						       sizeof(line), NULL);

		if (rc == -ENOMEM)
			return rc;
		if (rc >= 0 && has_ambiguous_text(column->owner->format[record->event], record))
			value->settled = false;
		else if (rc >= 0 && find_in_text(line, field->name, text, sizeof(text)))
			return set_text(value, text);
	}
	if (value->text)
		return 0;
	put_raw(field, record, text, sizeof(text));
	return set_text(value, text);
}

/* ---- the functions of columns: a value is its index + 1, and 0 is N/A ---- */

static int whole_value(struct trace_column *column, const struct perch_record *record,
		       uint64_t *result)
{
	char text[TEXT_BYTES];
	struct key key = { column, text, 0, record->event };
	uint32_t index;
	int rc;

	if (!column->owner->format[record->event])
		return 0;
	rc = perch_session_tracepoint_text(column->owner->session, record, text, sizeof(text),
					   NULL);
	if (rc < 0)
		return rc == -ENOMEM ? rc : 0;
	key.size = strlen(text);
	index = add_value(column, &key);
	if (index == PERCH__HASH_NONE)
		return -ENOMEM;
	*result = (uint64_t)index + 1;
	return column->value[index].text ? 0 : set_text(&column->value[index], text);
}

static int text_value(struct trace_column *column, const struct perch_record *record,
		      uint64_t *result)
{
	struct key key = { .column = column, .event = record->event };
	char text[TEXT_BYTES];
	const char *start;
	uint32_t index;

	if (perch_tracepoint_get_text(column->field[record->event], record, &start, &key.size))
		return 0;
	key.bytes = start;
	index = add_value(column, &key);
	if (index == PERCH__HASH_NONE)
		return -ENOMEM;
	*result = (uint64_t)index + 1;
	if (column->value[index].text)
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)(key.size < TEXT_BYTES ? key.size : TEXT_BYTES),
		 start);
	return set_text(&column->value[index], text);
}

static int field_value(struct trace_column *column, const struct perch_record *record,
		       uint64_t *result)
{
	const struct perch_tracepoint_field *field = column->field[record->event];
	struct key key = { .column = column, .event = record->event };
	struct value *value;
	uint32_t index;

	if (perch_tracepoint_get_bytes(field, record, &key.bytes, &key.size))
		return 0;
	index = add_value(column, &key);
	if (index == PERCH__HASH_NONE)
		return -ENOMEM;
	*result = (uint64_t)index + 1;
	value = &column->value[index];
	if (value->settled)
		return 0;
	value->is_number = !perch_tracepoint_get_u64(field, record, &value->number);
	value->is_signed = field->is_signed;
	return set_field_text(column, value, record);
}

static int value_of(void *data, const struct perch_record *record,
		    const struct perch_thread *thread, uint64_t *value)
{
	struct trace_column *column = data;

	(void)thread;
	*value = 0;
	if (record->event >= column->owner->nr_events)
		return 0;
	if (column->whole)
		return whole_value(column, record, value);
	if (!column->field[record->event])
		return 0;
	return column->field[record->event]->kind == PERCH_TRACEPOINT_TEXT
		       ? text_value(column, record, value)
		       : field_value(column, record, value);
}

static int compare_values(void *data, uint64_t a, uint64_t b)
{
	const struct trace_column *column = data;
	const struct value *left, *right;

	if (a == b || !a || !b)
		return (a > b) - (a < b);
	left = &column->value[a - 1];
	right = &column->value[b - 1];
	if (!left->is_number || !right->is_number)
		return strcmp(left->text, right->text);
	if (left->is_signed)
		return ((int64_t)left->number > (int64_t)right->number) -
		       ((int64_t)left->number < (int64_t)right->number);
	return (left->number > right->number) - (left->number < right->number);
}

static void format_value(void *data, uint64_t value, char *buffer, size_t size)
{
	const struct trace_column *column = data;

	snprintf(buffer, size, "%s", value ? column->value[value - 1].text : "N/A");
}

/* ---- making columns ---- */

static void free_column(struct trace_column *column)
{
	for (size_t i = 0; i < column->nr; i++) {
		free(column->value[i].text);
		free((void *)(uintptr_t)column->value[i].key);
	}
	free(column->value);
	perch__hash_clear(&column->table);
	free(column->field);
	free(column->name);
	free(column);
}

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
		free_column(column);
		return NULL;
	}
	column->owner = columns;
	column->raw = raw;
	column->event = event;
	column->table.seed = perch__hash_seed(column);
	column->column = (struct perch_column){ .name = column->name,
						.scope = PERCH_COLUMN_SAMPLE,
						.type = PERCH_COLUMN_TEXT,
						.value = value_of,
						.compare = compare_values,
						.format = format_value,
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

static int find_whole(struct perch_trace_columns *columns, size_t *nr)
{
	struct trace_column *column = get_column(columns, "trace", false, ALL_EVENTS);

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
		return find_fields(columns, event, raw, nr) ? no_memory(err) : 0;
	field = perch_tracepoint_format_find(columns->format[event], field_name);
	if (!field)
		return no_field(columns, field_name, err);
	return find_field(columns, event, field, raw, nr) ? no_memory(err) : 0;
}

/* Finds the columns of a name, which is changed. */
static int find(struct perch_trace_columns *columns, char *name, size_t *nr,
		struct perch_error *err)
{
	char *field = strchr(name, '.'), *option;
	bool raw = false;
	int rc = 0;

	if (!strcmp(name, "trace"))
		return find_whole(columns, nr) ? no_memory(err) : 0;
	option = strchr(field ? field : name, '/');
	if (option) {
		*option++ = 0;
		raw = !strcmp(option, "raw");
		if (!raw)
			return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
					       "a field has no option other than 'raw'");
	}
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
		return no_memory(err);
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
		return no_memory(err);
	rc = find(columns, copy, nr, err);
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
		return no_memory(err);
	columns->session = session;
	columns->nr_events = perch_reader_events(perch_session_reader(session), &columns->events);
	columns->format = calloc(columns->nr_events + 1, sizeof(*columns->format));
	if (!columns->format) {
		free(columns);
		return no_memory(err);
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
		free_column(columns->column[i]);
	free(columns->column);
	free(columns->found);
	free(columns->format);
	free(columns);
}

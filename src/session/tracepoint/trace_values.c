/* SPDX-License-Identifier: MIT */
/* The values of columns of tracepoints, and their texts. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "trace_columns.h"

#define TEXT_BYTES   4096 /* of a value; longer texts are cut */
#define MAX_ELEMENTS 64	  /* of an array that are shown */

/* ---- values ---- */

struct value_key {
	const struct trace_column *column;
	const void *bytes;
	size_t size;
	uint16_t event;
};

static bool same_key(const void *items, uint32_t index, const void *wanted)
{
	const struct value *value = &((const struct value *)items)[index];
	const struct value_key *key = wanted;

	return value->event == key->event && value->key_size == key->size &&
	       !memcmp(value->key, key->bytes, key->size);
}

/* Returns the index of a value, which is added without a text if it is new; or PERCH__HASH_NONE. */
static uint32_t add_value(struct trace_column *column, const struct value_key *key)
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

/* ---- the functions of columns ---- */

/* Prints the fields as they are recorded: "name=value name=value". */
static void put_raw_line(const struct perch_tracepoint_format *format,
			 const struct perch_record *record, char *line, size_t size)
{
	const struct perch_tracepoint_field *fields;
	size_t nr = perch_tracepoint_format_fields(format, &fields), used = 0, length;

	line[0] = '\0';
	for (size_t i = 0; i < nr && used < size; i++) {
		char value[TEXT_BYTES];
		const char *text;

		if (fields[i].is_common)
			continue;
		if (fields[i].kind != PERCH_TRACEPOINT_TEXT)
			put_raw(&fields[i], record, value, sizeof(value));
		else if (perch_tracepoint_get_text(&fields[i], record, &text, &length))
			value[0] = '\0';
		else
			snprintf(value, sizeof(value), "%.*s",
				 (int)(length < TEXT_BYTES ? length : TEXT_BYTES), text);
		used += (size_t)snprintf(line + used, size - used, "%s%s=%s", used ? " " : "",
					 fields[i].name, value);
	}
}

/* Prints the text of a sample. Returns 0, or a negative errno. */
static int put_line(const struct trace_column *column, const struct perch_record *record,
		    char *line, size_t size)
{
	int rc;

	if (column->raw) {
		put_raw_line(column->owner->format[record->event], record, line, size);
		return 0;
	}
	rc = perch_session_tracepoint_text(column->owner->session, record, line, size, NULL);
	return rc < 0 ? rc : 0;
}

static int whole_value(struct trace_column *column, const struct perch_record *record,
		       uint64_t *result)
{
	char text[TEXT_BYTES];
	struct value_key key = { column, text, 0, record->event };
	uint32_t index;
	int rc;

	if (!column->owner->format[record->event])
		return 0;
	rc = put_line(column, record, text, sizeof(text));
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
	struct value_key key = { .column = column, .event = record->event };
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
	struct value_key key = { .column = column, .event = record->event };
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

int perch__trace_value(void *data, const struct perch_record *record,
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

int perch__trace_compare(void *data, uint64_t a, uint64_t b)
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

void perch__trace_format(void *data, uint64_t value, char *buffer, size_t size)
{
	const struct trace_column *column = data;

	snprintf(buffer, size, "%s", value ? column->value[value - 1].text : "N/A");
}

void perch__trace_column_free(struct trace_column *column)
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

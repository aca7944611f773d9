/* SPDX-License-Identifier: MIT */
/*
 * One JSON object per line. The JSON type of a field depends only on the kind of the field, so that
 * programs can rely on it: addresses, masks and times are strings, because readers that store
 * numbers as doubles lose digits above 2^53.
 */
#include <string.h>

#include "dump.h"
#include "base/json_writer.h"

static void put_flags(struct perch__json_writer *json, uint64_t value, const char *names,
		      size_t length)
{
	perch__json_begin_object(json);
	perch__json_key(json, "value");
	perch__json_hex(json, value);
	perch__json_key(json, "words");
	perch__json_string(json, names, length);
	perch__json_end(json);
}

static void put_value(struct perch__json_writer *json, const struct perch_field *field)
{
	switch (field->kind) {
	case PERCH_FIELD_SIGNED:
		perch__json_signed(json, (int64_t)field->value);
		break;
	case PERCH_FIELD_HEX:
	case PERCH_FIELD_ADDRESS:
		perch__json_hex(json, field->value);
		break;
	case PERCH_FIELD_TIME:
		perch__json_decimal(json, field->value);
		break;
	case PERCH_FIELD_FLAGS:
		/* all values of an array have one type: a context marker in a callchain is a
		 * string, as the addresses are */
		if (json->array[json->depth])
			perch__json_hex(json, field->value);
		else
			put_flags(json, field->value, field->text, field->text ? field->length : 0);
		break;
	case PERCH_FIELD_TEXT:
		perch__json_string(json, field->text, field->length);
		break;
	case PERCH_FIELD_BYTES:
		perch__json_hex_bytes(json, field->text, field->length);
		break;
	case PERCH_FIELD_LIST:
		perch__json_begin_array(json);
		break;
	case PERCH_FIELD_GROUP:
		perch__json_begin_object(json);
		break;
	default:
		perch__json_number(json, field->value);
	}
}

static int put_field(void *context, const struct perch_field *field)
{
	struct perch__json_writer *json = context;

	if (field->kind == PERCH_FIELD_END) {
		perch__json_end(json);
		return 0;
	}
	if (json->depth + 2 >= PERCH__JSON_MAX_DEPTH)
		return -1;
	perch__json_key(json, field->name);
	put_value(json, field);
	return 0;
}

static void put_bytes(struct perch__json_writer *json, const char *name, const void *bytes,
		      size_t size)
{
	perch__json_key(json, name);
	perch__json_hex_bytes(json, bytes, size);
}

static void end_line(struct perch__json_writer *json)
{
	perch__json_end(json);
	perch__output_bytes(json->out, "\n", 1);
}

static void put_start(struct perch__json_writer *json, const struct dump *dump,
		      const struct perch_record *record)
{
	const char *type = perch_record_name(record->type), *event = dump_event_name(dump, record);
	char misc[128];

	perch_format_misc(record->type, record->misc, misc, sizeof(misc));
	perch__json_put_number(json, "offset", record->offset);
	perch__json_put_text(json, "type", type ? type : DUMP_UNNAMED);
	perch__json_put_number(json, "type_number", record->type);
	perch__json_put_number(json, "size", record->size);
	perch__json_key(json, "misc");
	put_flags(json, record->misc, misc, strlen(misc));
	if (event) {
		perch__json_put_text(json, "event", event);
		perch__json_put_number(json, "event_index", record->event);
	}
}

struct tracepoint {
	struct perch__json_writer *json;
	const struct perch_tracepoint_field *fields;
	size_t nr, next; /* of fields: the first one that was not visited */
	unsigned depth;	 /* in the value: 1 in an array */
};

/* name is that of one of the fields, which are visited in their order. A damaged file may have two
 * fields of one name. */
static void begin_typed(struct tracepoint *tracepoint, const char *name)
{
	const char *type = NULL;

	while (!type && tracepoint->next < tracepoint->nr) {
		const struct perch_tracepoint_field *field =
			&tracepoint->fields[tracepoint->next++];

		if (field->name == name)
			type = field->type;
	}
	perch__json_put_object(tracepoint->json, name);
	if (type)
		perch__json_put_text(tracepoint->json, "type", type);
}

/* Each field is an object with its C type and its value. */
static int put_tracepoint_field(void *context, const struct perch_field *field)
{
	struct tracepoint *tracepoint = context;
	struct perch__json_writer *json = tracepoint->json;

	if (field->kind == PERCH_FIELD_END) {
		perch__json_end(json);
	} else {
		if (field->name)
			begin_typed(tracepoint, field->name);
		perch__json_key(json, field->name ? "value" : NULL);
		put_value(json, field);
	}
	tracepoint->depth += field->kind == PERCH_FIELD_LIST;
	tracepoint->depth -= field->kind == PERCH_FIELD_END;
	if (!tracepoint->depth)
		perch__json_end(json);
	return 0;
}

static void put_tracepoint(struct perch__json_writer *json, const struct dump *dump,
			   const struct perch_record *record)
{
	const struct perch_tracepoint_format *format = dump_tracepoint(dump, record);
	struct tracepoint tracepoint = { .json = json };

	if (!format)
		return;
	tracepoint.nr = perch_tracepoint_format_fields(format, &tracepoint.fields);
	perch__json_put_object(json, "tracepoint");
	perch_tracepoint_visit(format, record, put_tracepoint_field, &tracepoint);
	perch__json_end(json);
}

void dump_json_record(struct dump *dump, const struct perch_record *record, const char *error)
{
	struct perch__json_writer json = { .out = &dump->out };

	perch__json_begin_object(&json);
	put_start(&json, dump, record);
	if (error) {
		perch__json_put_text(&json, "error", error);
	} else {
		perch__json_put_object(&json, "fields");
		perch_file_record_fields(dump->reader, record, put_field, &json);
		while (json.depth > 1) /* put_field() has refused a field that is too deep */
			perch__json_end(&json);
		put_tracepoint(&json, dump, record);
	}
	if (dump->raw || error)
		put_bytes(&json, "raw", record->bytes, record->size);
	end_line(&json);
}

/* ---- the header ---- */

static void put_event(struct perch__json_writer *json, const struct perch_file_event *event,
		      size_t index)
{
	perch__json_begin_object(json);
	perch__json_put_text(json, "header", "event");
	perch__json_put_number(json, "event_index", index);
	perch__json_put_text(json, "event", event->name);
	perch__json_put_object(json, "attr");
	perch_attr_each_field(&event->attr, put_field, json);
	perch__json_end(json);
	perch__json_put_array(json, "ids");
	for (size_t i = 0; i < event->nr_ids; i++)
		perch__json_put_number(json, NULL, event->ids[i]);
	perch__json_end(json);
	end_line(json);
}

static void put_feature(struct perch__json_writer *json, struct perch_reader *reader,
			enum perch_feature feature, const void *data, size_t size)
{
	const char *name = perch_feature_name(feature), *text = perch_reader_text(reader, feature);

	perch__json_begin_object(json);
	perch__json_put_text(json, "header", "feature");
	perch__json_put_text(json, "feature", name ? name : DUMP_UNNAMED);
	perch__json_put_number(json, "number", feature);
	perch__json_put_number(json, "size", size);
	if (text)
		perch__json_put_text(json, "text", text);
	else
		put_bytes(json, "data", data, size);
	end_line(json);
}

void dump_json_header(struct dump *dump)
{
	struct perch__json_writer json = { .out = &dump->out };
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(dump->reader, &events), size;
	const void *data;

	for (size_t i = 0; i < nr; i++)
		put_event(&json, &events[i], i);
	for (int feature = 1; feature <= PERCH_FEATURE_RECORDING_COST; feature++)
		if (!perch_reader_feature(dump->reader, feature, &data, &size))
			put_feature(&json, dump->reader, feature, data, size);
}

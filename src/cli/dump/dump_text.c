/* SPDX-License-Identifier: MIT */
/*
 * Each record is a paragraph. Each line has the full path of its field ("sample_id.time",
 * "callchain[3]"), so that grep(1) finds it. A list item that is a group is one line.
 */
#include <string.h>

#include "dump.h"

#define NAME_COLUMNS 18
#define MAX_BYTES    64 /* most bytes of a field that are printed without -x */
#define MAX_DEPTH    16

struct text_writer {
	struct perch__output *out;
	char path[512]; /* of the current field: "read.values" */
	size_t depth;
	struct text_level {
		size_t length; /* of the path before this level */
		bool list;
		uint64_t next; /* index of the next item */
	} level[MAX_DEPTH];
	/* depth of the list item whose fields are on one line; 0 if each field has a line */
	size_t line_depth;
	size_t prefix;	    /* bytes of the path on this line that the fields do not repeat */
	size_t line_fields; /* fields on the line so far */
};

static void add_to_path(struct text_writer *writer, const char *text)
{
	size_t length = strlen(writer->path), more = strlen(text);
	size_t space = sizeof(writer->path) - 1 - length;

	if (more > space)
		more = space;
	memcpy(writer->path + length, text, more);
	writer->path[length + more] = 0;
}

/* Adds a field or list item to the path. Returns the previous length of the path. */
static size_t enter_path(struct text_writer *writer, const char *name)
{
	struct text_level *level = &writer->level[writer->depth];
	size_t length = strlen(writer->path);
	char index[32];

	if (writer->depth && level->list) {
		snprintf(index, sizeof(index), "[%llu]", (unsigned long long)level->next++);
		add_to_path(writer, index);
	} else {
		if (length > writer->prefix)
			add_to_path(writer, ".");
		add_to_path(writer, name ? name : "");
	}
	return length;
}

static void put_name(struct text_writer *writer)
{
	size_t length = strlen(writer->path);

	if (writer->line_depth) {
		perch__output_bytes(writer->out, " ", writer->line_fields++ > 0);
		perch__output_text(writer->out, writer->path + writer->prefix);
		perch__output_bytes(writer->out, " ", 1);
		return;
	}
	perch__output_bytes(writer->out, "  ", 2);
	perch__output_bytes(writer->out, writer->path, length);
	perch__output_spaces(writer->out, length < NAME_COLUMNS ? NAME_COLUMNS - length : 1);
}

static void put_bytes(struct perch__output *out, const char *bytes, size_t length)
{
	perch__output_hex_bytes(out, bytes, length < MAX_BYTES ? length : MAX_BYTES);
	if (!length)
		perch__output_text(out, "-");
	if (length <= MAX_BYTES)
		return;
	perch__output_text(out, "... (");
	perch__output_number(out, length);
	perch__output_text(out, " bytes)");
}

/* Writes seconds with nine decimals. */
static void put_time(struct perch__output *out, uint64_t time)
{
	char text[16];

	perch__output_number(out, time / 1000000000);
	perch__output_bytes(out, text,
			    snprintf(text, sizeof(text), ".%09u", (unsigned)(time % 1000000000)));
}

static void put_flags(struct perch__output *out, uint64_t value, const char *names, size_t length)
{
	perch__output_hex(out, value);
	if (!length)
		return;
	perch__output_bytes(out, " ", 1);
	perch__output_clean(out, names, length);
}

static void put_value(struct perch__output *out, const struct perch_field *field)
{
	switch (field->kind) {
	case PERCH_FIELD_SIGNED:
		perch__output_signed(out, (int64_t)field->value);
		break;
	case PERCH_FIELD_HEX:
	case PERCH_FIELD_ADDRESS:
		perch__output_hex(out, field->value);
		break;
	case PERCH_FIELD_TIME:
		put_time(out, field->value);
		break;
	case PERCH_FIELD_FLAGS:
		put_flags(out, field->value, field->text, field->text ? field->length : 0);
		break;
	case PERCH_FIELD_TEXT:
		if (field->length)
			perch__output_clean(out, field->text, field->length);
		else
			perch__output_text(out, "\"\"");
		break;
	case PERCH_FIELD_BYTES:
		put_bytes(out, field->text, field->length);
		break;
	default:
		perch__output_number(out, field->value);
	}
}

static void end_line(struct text_writer *writer)
{
	if (!writer->line_depth)
		perch__output_bytes(writer->out, "\n", 1);
}

/* A group has no line of its own. If it is a list item, all its fields are on one line. */
static int open_level(struct text_writer *writer, const struct perch_field *field)
{
	bool item = writer->depth && writer->level[writer->depth].list &&
		    field->kind == PERCH_FIELD_GROUP;
	size_t before;

	if (writer->depth + 1 >= MAX_DEPTH)
		return -1;
	before = enter_path(writer, field->name);
	if (field->kind == PERCH_FIELD_LIST) {
		put_name(writer);
		perch__output_number(writer->out, field->value);
		end_line(writer);
	} else if (item && !writer->line_depth) {
		put_name(writer);
	}
	writer->depth++;
	writer->level[writer->depth] =
		(struct text_level){ .length = before, .list = field->kind == PERCH_FIELD_LIST };
	if (item && !writer->line_depth) {
		writer->line_depth = writer->depth;
		writer->prefix = strlen(writer->path);
		writer->line_fields = 0;
	}
	return 0;
}

static void close_level(struct text_writer *writer)
{
	writer->path[writer->level[writer->depth].length] = 0;
	if (writer->line_depth == writer->depth) {
		writer->line_depth = 0;
		writer->prefix = 0;
		perch__output_bytes(writer->out, "\n", 1);
	}
	writer->depth--;
}

static int put_field(void *context, const struct perch_field *field)
{
	struct text_writer *writer = context;
	size_t before;

	if (field->kind == PERCH_FIELD_END) {
		if (writer->depth)
			close_level(writer);
		return 0;
	}
	if (field->kind == PERCH_FIELD_LIST || field->kind == PERCH_FIELD_GROUP)
		return open_level(writer, field);
	before = enter_path(writer, field->name);
	put_name(writer);
	put_value(writer->out, field);
	end_line(writer);
	writer->path[before] = 0;
	return 0;
}

/* Writes "  0010  00 ff ..  |..|", 16 bytes per line. */
static void put_dump_line(struct perch__output *out, const uint8_t *bytes, size_t at, size_t size)
{
	char text[32], shown[16];
	size_t nr = size - at < 16 ? size - at : 16;

	perch__output_bytes(out, text, snprintf(text, sizeof(text), "  %04zx ", at));
	for (size_t i = 0; i < nr; i++) {
		uint8_t byte = bytes[at + i];

		perch__output_bytes(out, " ", 1);
		perch__output_hex_bytes(out, &byte, 1);
		shown[i] = byte >= ' ' && byte < 0x7f ? byte : '.';
	}
	perch__output_spaces(out, 3 * (16 - nr) + 2);
	perch__output_bytes(out, "|", 1);
	perch__output_bytes(out, shown, nr);
	perch__output_bytes(out, "|\n", 2);
}

static void put_line(struct perch__output *out, const char *name, const char *text)
{
	size_t length = strlen(name);

	perch__output_text(out, "  ");
	perch__output_text(out, name);
	perch__output_spaces(out, length < NAME_COLUMNS ? NAME_COLUMNS - length : 1);
	perch__output_clean(out, text, strlen(text));
	perch__output_bytes(out, "\n", 1);
}

/* Writes "0x1d0 SAMPLE 120 bytes, misc 0x1 KERNEL, cpu-clock". */
static void put_start(const struct dump *dump, struct perch__output *out,
		      const struct perch_record *record)
{
	const char *type = perch_record_name(record->type), *event = dump_event_name(dump, record);
	char misc[128];

	perch__output_hex(out, record->offset);
	perch__output_bytes(out, " ", 1);
	if (type) {
		perch__output_text(out, type);
	} else {
		perch__output_text(out, DUMP_UNNAMED " ");
		perch__output_number(out, record->type);
	}
	perch__output_bytes(out, " ", 1);
	perch__output_number(out, record->size);
	perch__output_text(out, " bytes");
	if (record->misc) {
		perch_format_misc(record->type, record->misc, misc, sizeof(misc));
		perch__output_text(out, ", misc ");
		put_flags(out, record->misc, misc, strlen(misc));
	}
	if (event) {
		perch__output_text(out, ", ");
		perch__output_clean(out, event, strlen(event));
	}
	perch__output_bytes(out, "\n", 1);
}

static void separate_items(struct dump *dump)
{
	if (dump->any)
		perch__output_bytes(&dump->out, "\n", 1);
	dump->any = true;
}

/* Writes the fields of the tracepoint as "tracepoint.prev_pid". */
static void put_tracepoint(struct text_writer *writer, const struct dump *dump,
			   const struct perch_record *record)
{
	const struct perch_tracepoint_format *format = dump_tracepoint(dump, record);

	if (!format)
		return;
	put_field(writer, &(struct perch_field){ .name = "tracepoint", .kind = PERCH_FIELD_GROUP });
	perch_tracepoint_visit(format, record, put_field, writer);
	put_field(writer, &(struct perch_field){ .kind = PERCH_FIELD_END });
}

static void put_fields(struct dump *dump, const struct perch_record *record)
{
	struct text_writer writer = { .out = &dump->out };

	perch_file_record_fields(dump->reader, record, put_field, &writer);
	put_tracepoint(&writer, dump, record);
}

void dump_text_record(struct dump *dump, const struct perch_record *record, const char *error)
{
	separate_items(dump);
	put_start(dump, &dump->out, record);
	if (error)
		put_line(&dump->out, "damaged", error);
	else
		put_fields(dump, record);
	if (dump->raw || error)
		for (size_t at = 0; at < record->size; at += 16)
			put_dump_line(&dump->out, record->bytes, at, record->size);
}

/* ---- the header ---- */

/* Prints the header as report --header-only does, then each event. */
void dump_text_header(struct dump *dump)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(dump->reader, &events);
	int rc;

	perch__output_flush(&dump->out);
	rc = perch_reader_print_header(dump->reader, dump->out.stream);
	if (rc < 0)
		dump->out.error = -rc;
	for (size_t i = 0; i < nr; i++) {
		struct text_writer writer = { .out = &dump->out };

		separate_items(dump);
		perch__output_text(&dump->out, "event ");
		perch__output_number(&dump->out, i);
		perch__output_bytes(&dump->out, " ", 1);
		perch__output_clean(&dump->out, events[i].name, strlen(events[i].name));
		perch__output_bytes(&dump->out, "\n", 1);
		perch_attr_each_field(&events[i].attr, put_field, &writer);
		for (size_t id = 0; id < events[i].nr_ids; id++) {
			put_field(&writer, &(struct perch_field){ .name = "id",
								  .kind = PERCH_FIELD_NUMBER,
								  .value = events[i].ids[id] });
		}
	}
}

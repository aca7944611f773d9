/* SPDX-License-Identifier: MIT */
/*
 * A paragraph a record. Each line says by itself which field it is of ("sample_id.time",
 * "callchain[3]"), so that grep finds it; an entry of a list that has parts is one line.
 */
#include <string.h>

#include "dump.h"

#define NAMES	   18 /* columns */
#define MOST_BYTES 64 /* of a field, without -x */
#define DEEPEST	   16

struct writer {
	struct dump_out *out;
	char path[512]; /* "read.values" */
	size_t depth;
	struct level {
		size_t length; /* of the path outside of it */
		bool list;
		uint64_t next; /* index of the next entry */
	} level[DEEPEST];
	/* depth of the entry whose parts stand in one line; 0: none */
	size_t inside;
	size_t shown; /* how much of the path such a line began with, */
	size_t parts; /* and how many stand in it */
};

static void add_to_path(struct writer *writer, const char *text)
{
	size_t length = strlen(writer->path), more = strlen(text),
	       room = sizeof(writer->path) - 1 - length;

	if (more > room)
		more = room;
	memcpy(writer->path + length, text, more);
	writer->path[length + more] = 0;
}

/* The path of the field or entry that comes now is made the current one; returns how long the one
 * before was. */
static size_t enter_path(struct writer *writer, const char *name)
{
	struct level *level = &writer->level[writer->depth];
	size_t length = strlen(writer->path);
	char index[32];

	if (writer->depth && level->list) {
		snprintf(index, sizeof(index), "[%llu]", (unsigned long long)level->next++);
		add_to_path(writer, index);
	} else {
		if (length > writer->shown)
			add_to_path(writer, ".");
		add_to_path(writer, name ? name : "");
	}
	return length;
}

static void put_name(struct writer *writer)
{
	size_t length = strlen(writer->path);

	if (writer->inside) {
		dump_put(writer->out, " ", writer->parts++ > 0);
		dump_puts(writer->out, writer->path + writer->shown);
		dump_put(writer->out, " ", 1);
		return;
	}
	dump_put(writer->out, "  ", 2);
	dump_put(writer->out, writer->path, length);
	dump_spaces(writer->out, length < NAMES ? NAMES - length : 1);
}

static void put_bytes(struct dump_out *out, const char *bytes, size_t length)
{
	dump_bytes(out, bytes, length < MOST_BYTES ? length : MOST_BYTES);
	if (!length)
		dump_puts(out, "-");
	if (length <= MOST_BYTES)
		return;
	dump_puts(out, "... (");
	dump_number(out, length);
	dump_puts(out, " bytes)");
}

/* Seconds, to the nanosecond. */
static void put_time(struct dump_out *out, uint64_t time)
{
	char text[16];

	dump_number(out, time / 1000000000);
	dump_put(out, text, snprintf(text, sizeof(text), ".%09u", (unsigned)(time % 1000000000)));
}

static void put_words(struct dump_out *out, uint64_t value, const char *words, size_t length)
{
	dump_hex(out, value);
	if (!length)
		return;
	dump_put(out, " ", 1);
	dump_clean(out, words, length);
}

static void put_value(struct dump_out *out, const struct perch_field *field)
{
	switch (field->kind) {
	case PERCH_FIELD_SIGNED:
		dump_signed(out, (int64_t)field->value);
		break;
	case PERCH_FIELD_HEX:
	case PERCH_FIELD_ADDRESS:
		dump_hex(out, field->value);
		break;
	case PERCH_FIELD_TIME:
		put_time(out, field->value);
		break;
	case PERCH_FIELD_FLAGS:
		put_words(out, field->value, field->text, field->text ? field->length : 0);
		break;
	case PERCH_FIELD_TEXT:
		if (field->length)
			dump_clean(out, field->text, field->length);
		else
			dump_puts(out, "\"\"");
		break;
	case PERCH_FIELD_BYTES:
		put_bytes(out, field->text, field->length);
		break;
	default:
		dump_number(out, field->value);
	}
}

static void end_line(struct writer *writer)
{
	if (!writer->inside)
		dump_put(writer->out, "\n", 1);
}

/* A GROUP has no line of its own, unless it is an entry: then all of it stands in one. */
static int open_level(struct writer *writer, const struct perch_field *field)
{
	bool entry = writer->depth && writer->level[writer->depth].list &&
		     field->kind == PERCH_FIELD_GROUP;
	size_t before;

	if (writer->depth + 1 >= DEEPEST)
		return -1;
	before = enter_path(writer, field->name);
	if (field->kind == PERCH_FIELD_LIST) {
		put_name(writer);
		dump_number(writer->out, field->value);
		end_line(writer);
	} else if (entry && !writer->inside) {
		put_name(writer);
	}
	writer->depth++;
	writer->level[writer->depth] =
		(struct level){ .length = before, .list = field->kind == PERCH_FIELD_LIST };
	if (entry && !writer->inside) {
		writer->inside = writer->depth;
		writer->shown = strlen(writer->path);
		writer->parts = 0;
	}
	return 0;
}

static void close_level(struct writer *writer)
{
	writer->path[writer->level[writer->depth].length] = 0;
	if (writer->inside == writer->depth) {
		writer->inside = 0;
		writer->shown = 0;
		dump_put(writer->out, "\n", 1);
	}
	writer->depth--;
}

static int put_field(void *context, const struct perch_field *field)
{
	struct writer *writer = context;
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

/* "  0010  00 ff ..  |..|", 16 bytes a line. */
static void put_dump_line(struct dump_out *out, const uint8_t *bytes, size_t at, size_t size)
{
	char text[32], shown[16];
	size_t nr = size - at < 16 ? size - at : 16;

	dump_put(out, text, snprintf(text, sizeof(text), "  %04zx ", at));
	for (size_t i = 0; i < nr; i++) {
		uint8_t byte = bytes[at + i];

		dump_put(out, " ", 1);
		dump_bytes(out, &byte, 1);
		shown[i] = byte >= ' ' && byte < 0x7f ? byte : '.';
	}
	dump_spaces(out, 3 * (16 - nr) + 2);
	dump_put(out, "|", 1);
	dump_put(out, shown, nr);
	dump_put(out, "|\n", 2);
}

static void put_line(struct dump_out *out, const char *name, const char *text)
{
	size_t length = strlen(name);

	dump_puts(out, "  ");
	dump_puts(out, name);
	dump_spaces(out, length < NAMES ? NAMES - length : 1);
	dump_clean(out, text, strlen(text));
	dump_put(out, "\n", 1);
}

/* "0x1d0 SAMPLE 120 bytes, misc 0x1 KERNEL, cpu-clock" */
static void put_start(const struct dump *dump, struct dump_out *out,
		      const struct perch_record *record)
{
	const char *type = perch_record_name(record->type), *event = dump_event_name(dump, record);
	char words[128];

	dump_hex(out, record->offset);
	dump_put(out, " ", 1);
	if (type) {
		dump_puts(out, type);
	} else {
		dump_puts(out, DUMP_UNNAMED " ");
		dump_number(out, record->type);
	}
	dump_put(out, " ", 1);
	dump_number(out, record->size);
	dump_puts(out, " bytes");
	if (record->misc) {
		perch_format_misc(record->type, record->misc, words, sizeof(words));
		dump_puts(out, ", misc ");
		put_words(out, record->misc, words, strlen(words));
	}
	if (event) {
		dump_puts(out, ", ");
		dump_clean(out, event, strlen(event));
	}
	dump_put(out, "\n", 1);
}

static void separate(struct dump *dump)
{
	if (dump->any)
		dump_put(&dump->out, "\n", 1);
	dump->any = true;
}

void dump_text_record(struct dump *dump, const struct perch_record *record, const char *trouble)
{
	struct writer writer = { .out = &dump->out };

	separate(dump);
	put_start(dump, &dump->out, record);
	if (trouble)
		put_line(&dump->out, "damaged", trouble);
	else
		perch_file_record_fields(dump->reader, record, put_field, &writer);
	if (dump->raw || trouble)
		for (size_t at = 0; at < record->size; at += 16)
			put_dump_line(&dump->out, record->bytes, at, record->size);
}

/* ---- the header ---- */

/* What perf report --header-only tells, then each event. */
void dump_text_header(struct dump *dump)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(dump->reader, &events);

	dump_out_flush(&dump->out);
	if (perch_reader_print_header(dump->reader, dump->out.stream))
		dump->out.failed = true;
	for (size_t i = 0; i < nr; i++) {
		struct writer writer = { .out = &dump->out };

		separate(dump);
		dump_puts(&dump->out, "event ");
		dump_number(&dump->out, i);
		dump_put(&dump->out, " ", 1);
		dump_clean(&dump->out, events[i].name, strlen(events[i].name));
		dump_put(&dump->out, "\n", 1);
		perch_attr_each_field(&events[i].attr, put_field, &writer);
		for (size_t id = 0; id < events[i].nr_ids; id++) {
			put_field(&writer, &(struct perch_field){ .name = "id",
								  .kind = PERCH_FIELD_NUMBER,
								  .value = events[i].ids[id] });
		}
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * An object a line. Which type of JSON a field has is said by its kind alone, so that a reader need
 * not look at values: addresses, masks and times are strings, because readers that keep numbers as
 * doubles lose what is above 2^53.
 */
#include <string.h>

#include "dump.h"

#define DEEPEST	   16
#define MOST_EXACT (1ull << 53)

struct writer {
	struct dump_out *out;
	size_t depth;
	bool list[DEEPEST]; /* which brackets are open */
	bool more[DEEPEST]; /* something stands between them */
};

static void comma(struct writer *writer)
{
	if (writer->more[writer->depth])
		dump_put(writer->out, ",", 1);
	writer->more[writer->depth] = true;
}

static void key(struct writer *writer, const char *name)
{
	comma(writer);
	if (writer->list[writer->depth])
		return;
	dump_json_string(writer->out, name ? name : "", name ? strlen(name) : 0);
	dump_put(writer->out, ":", 1);
}

static void begin(struct writer *writer, bool list)
{
	dump_put(writer->out, list ? "[" : "{", 1);
	writer->depth++;
	writer->list[writer->depth] = list;
	writer->more[writer->depth] = false;
}

static void end(struct writer *writer)
{
	dump_put(writer->out, writer->list[writer->depth] ? "]" : "}", 1);
	writer->depth--;
}

static void put_number(struct dump_out *out, uint64_t number)
{
	const char *quote = number <= MOST_EXACT ? "" : "\"";

	dump_puts(out, quote);
	dump_number(out, number);
	dump_puts(out, quote);
}

static void put_quoted(struct dump_out *out, void (*put)(struct dump_out *out, uint64_t number),
		       uint64_t number)
{
	dump_put(out, "\"", 1);
	put(out, number);
	dump_put(out, "\"", 1);
}

static void put_signed(struct dump_out *out, int64_t number)
{
	bool exact = number <= (int64_t)MOST_EXACT && number >= -(int64_t)MOST_EXACT;

	dump_puts(out, exact ? "" : "\"");
	dump_signed(out, number);
	dump_puts(out, exact ? "" : "\"");
}

static void put_words(struct writer *writer, uint64_t value, const char *words, size_t length)
{
	begin(writer, false);
	key(writer, "value");
	put_quoted(writer->out, dump_hex, value);
	key(writer, "words");
	dump_json_string(writer->out, words, length);
	end(writer);
}

static int put_field(void *context, const struct perch_field *field)
{
	struct writer *writer = context;
	struct dump_out *out = writer->out;

	if (field->kind == PERCH_FIELD_END) {
		end(writer);
		return 0;
	}
	if (writer->depth + 2 >= DEEPEST)
		return -1;
	key(writer, field->name);
	switch (field->kind) {
	case PERCH_FIELD_SIGNED:
		put_signed(out, (int64_t)field->value);
		break;
	case PERCH_FIELD_HEX:
	case PERCH_FIELD_ADDRESS:
		put_quoted(out, dump_hex, field->value);
		break;
	case PERCH_FIELD_TIME:
		put_quoted(out, dump_number, field->value);
		break;
	case PERCH_FIELD_FLAGS:
		/* a marker in a callchain: the entries of a list are of one type */
		if (writer->list[writer->depth])
			put_quoted(out, dump_hex, field->value);
		else
			put_words(writer, field->value, field->text,
				  field->text ? field->length : 0);
		break;
	case PERCH_FIELD_TEXT:
		dump_json_string(out, field->text, field->length);
		break;
	case PERCH_FIELD_BYTES:
		dump_put(out, "\"", 1);
		dump_bytes(out, field->text, field->length);
		dump_put(out, "\"", 1);
		break;
	case PERCH_FIELD_LIST:
	case PERCH_FIELD_GROUP:
		begin(writer, field->kind == PERCH_FIELD_LIST);
		break;
	default:
		put_number(out, field->value);
	}
	return 0;
}

static void put_text(struct writer *writer, const char *name, const char *text)
{
	key(writer, name);
	dump_json_string(writer->out, text, strlen(text));
}

static void put_raw(struct writer *writer, const char *name, const void *bytes, size_t size)
{
	key(writer, name);
	dump_put(writer->out, "\"", 1);
	dump_bytes(writer->out, bytes, size);
	dump_put(writer->out, "\"", 1);
}

static void put_start(struct writer *writer, const struct dump *dump,
		      const struct perch_record *record)
{
	const char *type = perch_record_name(record->type), *event = dump_event_name(dump, record);
	char words[128];

	perch_format_misc(record->type, record->misc, words, sizeof(words));
	key(writer, "offset");
	put_number(writer->out, record->offset);
	put_text(writer, "type", type ? type : DUMP_UNNAMED);
	key(writer, "type_number");
	dump_number(writer->out, record->type);
	key(writer, "size");
	dump_number(writer->out, record->size);
	key(writer, "misc");
	put_words(writer, record->misc, words, strlen(words));
	if (event) {
		put_text(writer, "event", event);
		key(writer, "event_index");
		dump_number(writer->out, record->event);
	}
}

void dump_json_record(struct dump *dump, const struct perch_record *record, const char *trouble)
{
	struct writer writer = { .out = &dump->out };

	begin(&writer, false);
	put_start(&writer, dump, record);
	if (trouble) {
		put_text(&writer, "error", trouble);
	} else {
		key(&writer, "fields");
		begin(&writer, false);
		perch_file_record_fields(dump->reader, record, put_field, &writer);
		while (writer.depth > 1) /* a field was deeper than there is room for */
			end(&writer);
	}
	if (dump->raw || trouble)
		put_raw(&writer, "raw", record->bytes, record->size);
	end(&writer);
	dump_put(&dump->out, "\n", 1);
}

/* ---- the header ---- */

static void put_event(struct writer *writer, const struct perch_file_event *event, size_t index)
{
	begin(writer, false);
	put_text(writer, "header", "event");
	key(writer, "event_index");
	dump_number(writer->out, index);
	put_text(writer, "event", event->name);
	key(writer, "attr");
	begin(writer, false);
	perch_attr_each_field(&event->attr, put_field, writer);
	end(writer);
	key(writer, "ids");
	begin(writer, true);
	for (size_t i = 0; i < event->nr_ids; i++) {
		comma(writer);
		put_number(writer->out, event->ids[i]);
	}
	end(writer);
	end(writer);
	dump_put(writer->out, "\n", 1);
}

static void put_feature(struct writer *writer, struct perch_reader *reader,
			enum perch_feature feature, const void *data, size_t size)
{
	const char *name = perch_feature_name(feature), *text = perch_reader_text(reader, feature);

	begin(writer, false);
	put_text(writer, "header", "feature");
	put_text(writer, "feature", name ? name : "UNKNOWN");
	key(writer, "number");
	dump_number(writer->out, feature);
	key(writer, "size");
	dump_number(writer->out, size);
	if (text)
		put_text(writer, "text", text);
	else
		put_raw(writer, "data", data, size);
	end(writer);
	dump_put(writer->out, "\n", 1);
}

void dump_json_header(struct dump *dump)
{
	struct writer writer = { .out = &dump->out };
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(dump->reader, &events), size;
	const void *data;

	for (size_t i = 0; i < nr; i++)
		put_event(&writer, &events[i], i);
	for (int feature = 1; feature < PERCH_FEATURE_MAX; feature++)
		if (!perch_reader_feature(dump->reader, feature, &data, &size))
			put_feature(&writer, dump->reader, feature, data, size);
}

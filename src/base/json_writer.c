/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/text.h"
#include "base/json_writer.h"

#define MAX_EXACT (1ull << 53)

static void put_indentation(const struct perch__json_writer *json)
{
	if (!json->indented)
		return;
	perch__output_char(json->out, '\n');
	perch__output_spaces(json->out, 2 * json->depth);
}

void perch__json_key(struct perch__json_writer *json, const char *name)
{
	if (json->not_empty[json->depth])
		perch__output_char(json->out, ',');
	json->not_empty[json->depth] = true;
	if (json->depth)
		put_indentation(json);
	if (json->array[json->depth])
		return;
	perch__json_string(json, name ? name : "", name ? strlen(name) : 0);
	perch__output_char(json->out, ':');
	if (json->indented)
		perch__output_char(json->out, ' ');
}

static void begin_value(struct perch__json_writer *json, bool array)
{
	perch__output_char(json->out, array ? '[' : '{');
	json->depth++;
	json->array[json->depth] = array;
	json->not_empty[json->depth] = false;
}

void perch__json_begin_object(struct perch__json_writer *json)
{
	begin_value(json, false);
}

void perch__json_begin_array(struct perch__json_writer *json)
{
	begin_value(json, true);
}

void perch__json_end(struct perch__json_writer *json)
{
	bool array = json->array[json->depth], not_empty = json->not_empty[json->depth];

	json->depth--;
	if (not_empty)
		put_indentation(json);
	perch__output_char(json->out, array ? ']' : '}');
}

static void quote_if(struct perch__output *out, bool quoted)
{
	if (quoted)
		perch__output_char(out, '"');
}

void perch__json_number(struct perch__json_writer *json, uint64_t number)
{
	quote_if(json->out, number > MAX_EXACT);
	perch__output_number(json->out, number);
	quote_if(json->out, number > MAX_EXACT);
}

void perch__json_signed(struct perch__json_writer *json, int64_t number)
{
	bool exact = number <= (int64_t)MAX_EXACT && number >= -(int64_t)MAX_EXACT;

	quote_if(json->out, !exact);
	perch__output_signed(json->out, number);
	quote_if(json->out, !exact);
}

void perch__json_hex(struct perch__json_writer *json, uint64_t number)
{
	quote_if(json->out, true);
	perch__output_hex(json->out, number);
	quote_if(json->out, true);
}

void perch__json_decimal(struct perch__json_writer *json, uint64_t number)
{
	quote_if(json->out, true);
	perch__output_number(json->out, number);
	quote_if(json->out, true);
}

void perch__json_hex_bytes(struct perch__json_writer *json, const void *bytes, size_t length)
{
	quote_if(json->out, true);
	perch__output_hex_bytes(json->out, bytes, length);
	quote_if(json->out, true);
}

/* Returns the number of bytes at the start that need no escape: for most texts, all. */
static size_t plain_length(const char *text, size_t length)
{
	size_t nr = 0;

	while (nr < length && text[nr] >= ' ' && text[nr] < 0x7f && text[nr] != '"' &&
	       text[nr] != '\\')
		nr++;
	return nr;
}

static void put_escape(struct perch__output *out, uint32_t code)
{
	static const char digits[] = "0123456789abcdef";
	const char escape[] = { '\\',
				'u',
				digits[code >> 12],
				digits[code >> 8 & 15],
				digits[code >> 4 & 15],
				digits[code & 15] };

	perch__output_bytes(out, escape, sizeof(escape));
}

void perch__json_string(struct perch__json_writer *json, const char *text, size_t length)
{
	size_t start = plain_length(text, length);
	struct perch__output *out = json->out;

	quote_if(out, true);
	perch__output_bytes(out, text, start);
	text += start;
	length -= start;
	while (length) {
		struct perch__character character = perch__next_character(text, length);

		if (!character.valid) {
			perch__output_text(out, "\xef\xbf\xbd");
		} else if (!character.printable) {
			put_escape(out, character.code); /* all of them are below U+10000 */
		} else {
			if (character.code == '"' || character.code == '\\')
				perch__output_char(out, '\\');
			perch__output_bytes(out, text, character.size);
		}
		text += character.size;
		length -= character.size;
	}
	quote_if(out, true);
}

void perch__json_put_text(struct perch__json_writer *json, const char *name, const char *text)
{
	perch__json_key(json, name);
	perch__json_string(json, text, strlen(text));
}

void perch__json_put_number(struct perch__json_writer *json, const char *name, uint64_t number)
{
	perch__json_key(json, name);
	perch__json_number(json, number);
}

void perch__json_put_signed(struct perch__json_writer *json, const char *name, int64_t number)
{
	perch__json_key(json, name);
	perch__json_signed(json, number);
}

void perch__json_put_hex(struct perch__json_writer *json, const char *name, uint64_t number)
{
	perch__json_key(json, name);
	perch__json_hex(json, number);
}

void perch__json_put_integer(struct perch__json_writer *json, const char *name, uint64_t number)
{
	perch__json_key(json, name);
	perch__output_number(json->out, number);
}

void perch__json_put_flag(struct perch__json_writer *json, const char *name, bool flag)
{
	perch__json_key(json, name);
	perch__output_text(json->out, flag ? "true" : "false");
}

void perch__json_put_null(struct perch__json_writer *json, const char *name)
{
	perch__json_key(json, name);
	perch__output_text(json->out, "null");
}

void perch__json_put_object(struct perch__json_writer *json, const char *name)
{
	perch__json_key(json, name);
	perch__json_begin_object(json);
}

void perch__json_put_array(struct perch__json_writer *json, const char *name)
{
	perch__json_key(json, name);
	perch__json_begin_array(json);
}

void perch__json_print_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

int perch__json_trace_field(void *context, const struct perch_field *field)
{
	struct perch__json_writer *json = context;

	if (field->kind == PERCH_FIELD_END) {
		perch__json_end(json);
		return 0;
	}
	if (field->name && !strncmp(field->name, "common_", 7) && field->kind != PERCH_FIELD_LIST)
		return 0;
	perch__json_key(json, field->name);
	switch (field->kind) {
	case PERCH_FIELD_LIST:
		perch__json_begin_array(json);
		break;
	case PERCH_FIELD_SIGNED:
		perch__json_signed(json, (int64_t)field->value);
		break;
	case PERCH_FIELD_HEX:
	case PERCH_FIELD_ADDRESS:
	case PERCH_FIELD_FLAGS:
		perch__json_hex(json, field->value);
		break;
	case PERCH_FIELD_TEXT:
		perch__json_string(json, field->text, field->length);
		break;
	case PERCH_FIELD_BYTES:
		perch__json_hex_bytes(json, field->text, field->length);
		break;
	default:
		perch__json_number(json, field->value);
	}
	return 0;
}

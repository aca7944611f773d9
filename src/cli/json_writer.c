/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/text.h"
#include "json_writer.h"

#define MAX_EXACT (1ull << 53)

void cli_json_key(struct cli_json_writer *json, const char *name)
{
	if (json->not_empty[json->depth])
		cli_output_bytes(json->out, ",", 1);
	json->not_empty[json->depth] = true;
	if (json->array[json->depth])
		return;
	cli_json_string(json, name ? name : "", name ? strlen(name) : 0);
	cli_output_bytes(json->out, ":", 1);
}

static void begin(struct cli_json_writer *json, bool array)
{
	cli_output_bytes(json->out, array ? "[" : "{", 1);
	json->depth++;
	json->array[json->depth] = array;
	json->not_empty[json->depth] = false;
}

void cli_json_begin_object(struct cli_json_writer *json)
{
	begin(json, false);
}

void cli_json_begin_array(struct cli_json_writer *json)
{
	begin(json, true);
}

void cli_json_end(struct cli_json_writer *json)
{
	cli_output_bytes(json->out, json->array[json->depth] ? "]" : "}", 1);
	json->depth--;
}

static void quote_if(struct cli_output *out, bool quoted)
{
	if (quoted)
		cli_output_bytes(out, "\"", 1);
}

void cli_json_number(struct cli_json_writer *json, uint64_t number)
{
	quote_if(json->out, number > MAX_EXACT);
	cli_output_number(json->out, number);
	quote_if(json->out, number > MAX_EXACT);
}

void cli_json_signed(struct cli_json_writer *json, int64_t number)
{
	bool exact = number <= (int64_t)MAX_EXACT && number >= -(int64_t)MAX_EXACT;

	quote_if(json->out, !exact);
	cli_output_signed(json->out, number);
	quote_if(json->out, !exact);
}

void cli_json_hex(struct cli_json_writer *json, uint64_t number)
{
	quote_if(json->out, true);
	cli_output_hex(json->out, number);
	quote_if(json->out, true);
}

void cli_json_decimal(struct cli_json_writer *json, uint64_t number)
{
	quote_if(json->out, true);
	cli_output_number(json->out, number);
	quote_if(json->out, true);
}

void cli_json_hex_bytes(struct cli_json_writer *json, const void *bytes, size_t length)
{
	quote_if(json->out, true);
	cli_output_hex_bytes(json->out, bytes, length);
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

static void put_escape(struct cli_output *out, uint32_t code)
{
	static const char digits[] = "0123456789abcdef";
	const char escape[] = { '\\',
				'u',
				digits[code >> 12],
				digits[code >> 8 & 15],
				digits[code >> 4 & 15],
				digits[code & 15] };

	cli_output_bytes(out, escape, sizeof(escape));
}

void cli_json_string(struct cli_json_writer *json, const char *text, size_t length)
{
	size_t start = plain_length(text, length);
	struct cli_output *out = json->out;

	quote_if(out, true);
	cli_output_bytes(out, text, start);
	text += start;
	length -= start;
	while (length) {
		struct perch__character character = perch__next_character(text, length);

		if (!character.valid) {
			cli_output_text(out, "\xef\xbf\xbd");
		} else if (!character.printable) {
			put_escape(out, character.code); /* all of them are below U+10000 */
		} else {
			if (character.code == '"' || character.code == '\\')
				cli_output_bytes(out, "\\", 1);
			cli_output_bytes(out, text, character.size);
		}
		text += character.size;
		length -= character.size;
	}
	quote_if(out, true);
}

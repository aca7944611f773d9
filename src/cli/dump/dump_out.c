/* SPDX-License-Identifier: MIT */
/* One large buffer: a file has many millions of fields, and printf would cost more than reading
 * them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "dump.h"

#define BUFFER (256u << 10)

int dump_out_open(struct dump_out *out, FILE *stream)
{
	*out = (struct dump_out){ .stream = stream, .buffer = malloc(BUFFER) };
	return out->buffer ? 0 : -ENOMEM;
}

void dump_out_flush(struct dump_out *out)
{
	if (out->used && fwrite(out->buffer, 1, out->used, out->stream) != out->used)
		out->failed = true;
	out->used = 0;
}

void dump_out_close(struct dump_out *out)
{
	free(out->buffer);
	out->buffer = NULL;
}

/* Room for `length` bytes, at most a few dozen, at the returned place. */
static char *room(struct dump_out *out, size_t length)
{
	if (out->used + length > BUFFER)
		dump_out_flush(out);
	return out->buffer + out->used;
}

void dump_put(struct dump_out *out, const void *text, size_t length)
{
	const char *at = text;

	while (length) {
		size_t some = length < BUFFER ? length : BUFFER;

		memcpy(room(out, some), at, some);
		out->used += some;
		at += some;
		length -= some;
	}
}

void dump_puts(struct dump_out *out, const char *text)
{
	dump_put(out, text, strlen(text));
}

void dump_spaces(struct dump_out *out, size_t nr)
{
	static const char spaces[] =
		"                                                                ";

	for (size_t some; nr; nr -= some) {
		some = nr < sizeof(spaces) - 1 ? nr : sizeof(spaces) - 1;
		dump_put(out, spaces, some);
	}
}

void dump_number(struct dump_out *out, uint64_t number)
{
	char text[24], *at = text + sizeof(text);

	do {
		*--at = '0' + number % 10;
		number /= 10;
	} while (number);
	dump_put(out, at, text + sizeof(text) - at);
}

void dump_signed(struct dump_out *out, int64_t number)
{
	if (number < 0)
		dump_put(out, "-", 1);
	dump_number(out, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

static const char digits[] = "0123456789abcdef";

void dump_hex(struct dump_out *out, uint64_t number)
{
	char text[20], *at = text + sizeof(text);

	do {
		*--at = digits[number & 15];
		number >>= 4;
	} while (number);
	*--at = 'x';
	*--at = '0';
	dump_put(out, at, text + sizeof(text) - at);
}

void dump_bytes(struct dump_out *out, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;

	for (; length; length--, at++) {
		char *to = room(out, 2);

		to[0] = digits[*at >> 4];
		to[1] = digits[*at & 15];
		out->used += 2;
	}
}

void dump_clean(struct dump_out *out, const char *text, size_t length)
{
	while (length) {
		struct perch__character character = perch__next_character(text, length);

		if (character.printable)
			dump_put(out, text, character.size);
		else
			dump_put(out, "?", 1);
		text += character.size;
		length -= character.size;
	}
}

/* How many bytes at the start stand for themselves in JSON: most texts are made of such alone. */
static size_t plain(const char *text, size_t length)
{
	size_t nr = 0;

	while (nr < length && text[nr] >= ' ' && text[nr] < 0x7f && text[nr] != '"' &&
	       text[nr] != '\\')
		nr++;
	return nr;
}

void dump_json_string(struct dump_out *out, const char *text, size_t length)
{
	size_t start = plain(text, length);

	dump_put(out, "\"", 1);
	dump_put(out, text, start);
	text += start;
	length -= start;
	while (length) {
		struct perch__character character = perch__next_character(text, length);
		uint32_t code = character.code;

		if (!character.valid) {
			dump_puts(out, "\xef\xbf\xbd");
		} else if (!character.printable) {
			char escape[] = { '\\',
					  'u',
					  digits[code >> 12],
					  digits[code >> 8 & 15],
					  digits[code >> 4 & 15],
					  digits[code & 15] };

			dump_put(out, escape, sizeof(escape));
		} else {
			if (code == '"' || code == '\\')
				dump_put(out, "\\", 1);
			dump_put(out, text, character.size);
		}
		text += character.size;
		length -= character.size;
	}
	dump_put(out, "\"", 1);
}

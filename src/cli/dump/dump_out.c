/* SPDX-License-Identifier: MIT */
/* One large buffer: a file has many millions of fields, and printf would cost more than reading them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
	static const char spaces[] = "                                                                ";

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

/* How many bytes the character at `text` has, and which it is; 0 when it is no UTF-8. */
static size_t character(const char *text, size_t length, uint32_t *code)
{
	const uint8_t *at = (const uint8_t *)text;
	size_t size;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };

	if (at[0] < 0x80) {
		*code = at[0];
		return 1;
	}
	size = at[0] >= 0xf0 && at[0] < 0xf8 ? 4 : at[0] >= 0xe0 ? 3 : 2;
	if (at[0] < 0xc0 || at[0] >= 0xf8 || size > length)
		return 0;
	*code = at[0] & (0x7f >> size);
	for (size_t i = 1; i < size; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (at[i] & 0x3f);
	}
	return *code < least[size] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000) ? 0 : size;
}

/* Controls of a terminal, and what turns the direction of a line, so that a name could pose as another. */
static bool is_control(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x200e || code == 0x200f ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

void dump_clean(struct dump_out *out, const char *text, size_t length)
{
	for (size_t at = 0, size; at < length; at += size ? size : 1) {
		uint32_t code = 0;

		size = character(text + at, length - at, &code);
		if (!size || is_control(code))
			dump_put(out, "?", 1);
		else
			dump_put(out, text + at, size);
	}
}

/* How many bytes at the start stand for themselves in JSON: most texts are made of such alone. */
static size_t plain(const char *text, size_t length)
{
	size_t nr = 0;

	while (nr < length && text[nr] >= ' ' && text[nr] < 0x7f && text[nr] != '"' && text[nr] != '\\')
		nr++;
	return nr;
}

void dump_json_string(struct dump_out *out, const char *text, size_t length)
{
	size_t start = plain(text, length);

	dump_put(out, "\"", 1);
	dump_put(out, text, start);
	for (size_t at = start, size; at < length; at += size ? size : 1) {
		uint32_t code = 0;

		size = character(text + at, length - at, &code);
		if (!size) {
			dump_puts(out, "\xef\xbf\xbd");
		} else if (is_control(code)) {
			char escape[] = { '\\', 'u', digits[code >> 12], digits[code >> 8 & 15], digits[code >> 4 & 15],
					  digits[code & 15] };

			dump_put(out, escape, sizeof(escape));
		} else {
			if (code == '"' || code == '\\')
				dump_put(out, "\\", 1);
			dump_put(out, text + at, size);
		}
	}
	dump_put(out, "\"", 1);
}

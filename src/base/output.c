/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/output.h"

int perch__output_open(struct perch__output *out, FILE *stream)
{
	*out = (struct perch__output){
		.stream = stream, .buffer = malloc(PERCH__OUTPUT_BYTES + PERCH__OUTPUT_SLACK)
	};
	return out->buffer ? 0 : -ENOMEM;
}

void perch__output_flush(struct perch__output *out)
{
	errno = 0;
	if (out->used && fwrite(out->buffer, 1, out->used, out->stream) != out->used && !out->error)
		out->error = errno ? errno : EIO;
	out->used = 0;
}

void perch__output_close(struct perch__output *out)
{
	free(out->buffer);
	out->buffer = NULL;
}

void perch__output_bytes(struct perch__output *out, const void *text, size_t length)
{
	const char *at = text;

	while (length) {
		size_t some = length < PERCH__OUTPUT_BYTES ? length : PERCH__OUTPUT_BYTES;

		memcpy(perch__output_reserve(out, some), at, some);
		out->used += some;
		at += some;
		length -= some;
	}
}

void perch__output_text(struct perch__output *out, const char *text)
{
	perch__output_bytes(out, text, strlen(text));
}

void perch__output_spaces(struct perch__output *out, size_t nr)
{
	static const char spaces[] =
		"                                                                ";

	for (size_t some; nr; nr -= some) {
		some = nr < sizeof(spaces) - 1 ? nr : sizeof(spaces) - 1;
		perch__output_bytes(out, spaces, some);
	}
}

enum { NUMBER_BYTES = 24 }; /* the digits of any number */

/* Writes at least `digits` digits, which are at most 20. It copies a fixed number of bytes, because
 * this is faster than memcpy() of some. */
static inline void put_number(struct perch__output *out, uint64_t number, size_t digits)
{
	char text[2 * NUMBER_BYTES], *at = text + NUMBER_BYTES, *first = at - digits;

	do {
		*--at = '0' + number % 10;
		number /= 10;
	} while (number);
	while (at > first)
		*--at = '0';
	memcpy(perch__output_reserve(out, NUMBER_BYTES), at, NUMBER_BYTES);
	out->used += text + NUMBER_BYTES - at;
}

void perch__output_number(struct perch__output *out, uint64_t number)
{
	put_number(out, number, 1);
}

void perch__output_padded(struct perch__output *out, uint64_t number, size_t digits)
{
	put_number(out, number, digits);
}

void perch__output_signed(struct perch__output *out, int64_t number)
{
	if (number < 0)
		perch__output_bytes(out, "-", 1);
	perch__output_number(out, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

static const char digits[] = "0123456789abcdef";

void perch__output_hex(struct perch__output *out, uint64_t number)
{
	char text[20], *at = text + sizeof(text);

	do {
		*--at = digits[number & 15];
		number >>= 4;
	} while (number);
	*--at = 'x';
	*--at = '0';
	perch__output_bytes(out, at, text + sizeof(text) - at);
}

void perch__output_hex_bytes(struct perch__output *out, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;

	for (; length; length--, at++) {
		char *to = perch__output_reserve(out, 2);

		to[0] = digits[*at >> 4];
		to[1] = digits[*at & 15];
		out->used += 2;
	}
}

void perch__output_clean(struct perch__output *out, const char *text, size_t length)
{
	while (length) {
		struct perch__character character = perch__next_character(text, length);

		if (character.printable)
			perch__output_bytes(out, text, character.size);
		else
			perch__output_bytes(out, "?", 1);
		text += character.size;
		length -= character.size;
	}
}

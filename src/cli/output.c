/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "output.h"

int cli_output_open(struct cli_output *out, FILE *stream)
{
	*out = (struct cli_output){ .stream = stream,
				    .buffer = malloc(CLI_OUTPUT_BYTES + CLI_OUTPUT_SLACK) };
	return out->buffer ? 0 : -ENOMEM;
}

void cli_output_flush(struct cli_output *out)
{
	errno = 0;
	if (out->used && fwrite(out->buffer, 1, out->used, out->stream) != out->used && !out->error)
		out->error = errno ? errno : EIO;
	out->used = 0;
}

void cli_output_close(struct cli_output *out)
{
	free(out->buffer);
	out->buffer = NULL;
}

void cli_output_bytes(struct cli_output *out, const void *text, size_t length)
{
	const char *at = text;

	while (length) {
		size_t some = length < CLI_OUTPUT_BYTES ? length : CLI_OUTPUT_BYTES;

		memcpy(cli_output_reserve(out, some), at, some);
		out->used += some;
		at += some;
		length -= some;
	}
}

void cli_output_text(struct cli_output *out, const char *text)
{
	cli_output_bytes(out, text, strlen(text));
}

void cli_output_spaces(struct cli_output *out, size_t nr)
{
	static const char spaces[] =
		"                                                                ";

	for (size_t some; nr; nr -= some) {
		some = nr < sizeof(spaces) - 1 ? nr : sizeof(spaces) - 1;
		cli_output_bytes(out, spaces, some);
	}
}

void cli_output_number(struct cli_output *out, uint64_t number)
{
	char text[24], *at = text + sizeof(text);

	do {
		*--at = '0' + number % 10;
		number /= 10;
	} while (number);
	cli_output_bytes(out, at, text + sizeof(text) - at);
}

void cli_output_signed(struct cli_output *out, int64_t number)
{
	if (number < 0)
		cli_output_bytes(out, "-", 1);
	cli_output_number(out, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

static const char digits[] = "0123456789abcdef";

void cli_output_hex(struct cli_output *out, uint64_t number)
{
	char text[20], *at = text + sizeof(text);

	do {
		*--at = digits[number & 15];
		number >>= 4;
	} while (number);
	*--at = 'x';
	*--at = '0';
	cli_output_bytes(out, at, text + sizeof(text) - at);
}

void cli_output_hex_bytes(struct cli_output *out, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;

	for (; length; length--, at++) {
		char *to = cli_output_reserve(out, 2);

		to[0] = digits[*at >> 4];
		to[1] = digits[*at & 15];
		out->used += 2;
	}
}

void cli_output_clean(struct cli_output *out, const char *text, size_t length)
{
	while (length) {
		struct perch__character character = perch__next_character(text, length);

		if (character.printable)
			cli_output_bytes(out, text, character.size);
		else
			cli_output_bytes(out, "?", 1);
		text += character.size;
		length -= character.size;
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Text output through one large buffer, for commands that print many millions of lines: printf
 * would take longer than reading the file.
 */
#ifndef PERCH_BASE_OUTPUT_H
#define PERCH_BASE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PERCH__OUTPUT_BYTES (256u << 10) /* of the buffer */
#define PERCH__OUTPUT_SLACK 64		 /* bytes after its end that may be overwritten */

struct perch__output {
	FILE *stream;
	char *buffer;
	size_t used;
	int error; /* errno of the first failed write, else 0; later text is discarded or lost */
};

int perch__output_open(struct perch__output *out, FILE *stream); /* 0 or -ENOMEM */
void perch__output_flush(struct perch__output *out);
void perch__output_close(struct perch__output *out);

/*
 * Returns the end of the text in the buffer, with space for `length` bytes, which is at most
 * PERCH__OUTPUT_BYTES. perch__output_end() then sets the end of the text that was written there.
 */
static inline char *perch__output_reserve(struct perch__output *out, size_t length)
{
	if (out->used + length > PERCH__OUTPUT_BYTES)
		perch__output_flush(out);
	return out->buffer + out->used;
}

static inline void perch__output_end(struct perch__output *out, const char *end)
{
	out->used = (size_t)(end - out->buffer);
}

static inline void perch__output_char(struct perch__output *out, char character)
{
	*perch__output_reserve(out, 1) = character;
	out->used++;
}

void perch__output_bytes(struct perch__output *out, const void *text, size_t length);
void perch__output_text(struct perch__output *out, const char *text);
void perch__output_spaces(struct perch__output *out, size_t nr);
void perch__output_number(struct perch__output *out, uint64_t number);
/* With zeros in front of it to make `digits` digits, at most 20. */
void perch__output_padded(struct perch__output *out, uint64_t number, size_t digits);
void perch__output_signed(struct perch__output *out, int64_t number);
void perch__output_hex(struct perch__output *out, uint64_t number); /* "0x1f" */
/* Two digits for each byte: "00ff1f". */
void perch__output_hex_bytes(struct perch__output *out, const void *bytes, size_t length);
/* Writes untrusted text; '?' replaces each character that is not printable or not UTF-8. */
void perch__output_clean(struct perch__output *out, const char *text, size_t length);

#endif

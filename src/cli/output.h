/* SPDX-License-Identifier: MIT */
/*
 * Text output through one large buffer, for commands that print many millions of lines: printf
 * would take longer than reading the file.
 */
#ifndef PERCH_CLI_OUTPUT_H
#define PERCH_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CLI_OUTPUT_BYTES (256u << 10) /* of the buffer */
#define CLI_OUTPUT_SLACK 64	      /* bytes after its end that may be overwritten */

struct cli_output {
	FILE *stream;
	char *buffer;
	size_t used;
	int error; /* errno of the first failed write, else 0; later text is discarded or lost */
};

int cli_output_open(struct cli_output *out, FILE *stream); /* 0 or -ENOMEM */
void cli_output_flush(struct cli_output *out);
void cli_output_close(struct cli_output *out);

/*
 * Returns the end of the text in the buffer, with space for `length` bytes, which is at most
 * CLI_OUTPUT_BYTES. cli_output_end() then sets the end of the text that was written there.
 */
static inline char *cli_output_reserve(struct cli_output *out, size_t length)
{
	if (out->used + length > CLI_OUTPUT_BYTES)
		cli_output_flush(out);
	return out->buffer + out->used;
}

static inline void cli_output_end(struct cli_output *out, const char *end)
{
	out->used = (size_t)(end - out->buffer);
}

void cli_output_bytes(struct cli_output *out, const void *text, size_t length);
void cli_output_text(struct cli_output *out, const char *text);
void cli_output_spaces(struct cli_output *out, size_t nr);
void cli_output_number(struct cli_output *out, uint64_t number);
void cli_output_signed(struct cli_output *out, int64_t number);
void cli_output_hex(struct cli_output *out, uint64_t number); /* "0x1f" */
/* Two digits for each byte: "00ff1f". */
void cli_output_hex_bytes(struct cli_output *out, const void *bytes, size_t length);
/* Writes untrusted text; '?' replaces each character that is not printable or not UTF-8. */
void cli_output_clean(struct cli_output *out, const char *text, size_t length);

#endif

/* SPDX-License-Identifier: MIT */
/* perch dump: every record as it lies in the file. */
#ifndef PERCH_CLI_DUMP_H
#define PERCH_CLI_DUMP_H

#include <stdbool.h>
#include <stdio.h>
#include <perch/file.h>

/* ---- dump_out.c: what is written, through one buffer ---- */

struct dump_out {
	FILE *stream;
	char *buffer;
	size_t used;
	bool failed; /* the stream takes no more */
};
int dump_out_open(struct dump_out *out, FILE *stream); /* 0 or -ENOMEM */
void dump_out_flush(struct dump_out *out);
void dump_out_close(struct dump_out *out);

void dump_put(struct dump_out *out, const void *text, size_t length);
void dump_puts(struct dump_out *out, const char *text);
void dump_spaces(struct dump_out *out, size_t nr);
void dump_number(struct dump_out *out, uint64_t number);
void dump_signed(struct dump_out *out, int64_t number);
void dump_hex(struct dump_out *out, uint64_t number);			 /* "0x1f" */
void dump_bytes(struct dump_out *out, const void *bytes, size_t length); /* "00ff1f" */
/* Text from the file for a terminal: control characters and what is no UTF-8 as '?'. */
void dump_clean(struct dump_out *out, const char *text, size_t length);
/* The same as a string of JSON, with quotes: control characters are escaped, each byte that is no
 * UTF-8 is U+FFFD. */
void dump_json_string(struct dump_out *out, const char *text, size_t length);

/* ---- what is shown ---- */

#define DUMP_MOST_TYPES 64
#define DUMP_UNNAMED	"UNKNOWN" /* stands for all types without a name */

struct dump {
	struct dump_out out;
	struct perch_reader *reader;
	const char *path; /* NULL: what is piped in, or perf.data */
	bool json, raw;
	/* something was shown: a blank line comes before the next */
	bool any;
	bool header, header_only, by_time;
	bool limited;
	uint64_t limit; /* records */
	bool filtered, unnamed;
	size_t nr_types;
	uint32_t types[DUMP_MOST_TYPES]; /* when filtered: the only ones */
};

/* dump_select.c: what of -t is a type is added to the types. NULL, or the word that is none. */
const char *dump_add_types(struct dump *dump, const char *names);
/* The name of a type that one slip made this word of; NULL: none. */
const char *dump_near_type(const char *word, size_t length);
bool dump_wants(const struct dump *dump, uint32_t type);
/* The name of the event that a record belongs to; NULL when it belongs to none. */
const char *dump_event_name(const struct dump *dump, const struct perch_record *record);

/* dump_text.c, dump_json.c: a record; trouble is NULL, or why it could not be decoded. */
void dump_text_record(struct dump *dump, const struct perch_record *record, const char *trouble);
void dump_json_record(struct dump *dump, const struct perch_record *record, const char *trouble);
/* Header, events and features. */
void dump_text_header(struct dump *dump);
void dump_json_header(struct dump *dump);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * `perch dump` prints every record of a file with all its fields. A file calls only files below
 * its own:
 *
 *	dump.c			options, then each record
 *	dump_text.c		a record as a paragraph
 *	dump_json.c		a record as a JSON object
 *	dump_select.c		which records are printed
 */
#ifndef PERCH_CLI_DUMP_H
#define PERCH_CLI_DUMP_H

#include <stdbool.h>
#include <perch/file.h>

#include "base/output.h"

#define DUMP_MAX_TYPES 64
#define DUMP_UNNAMED   "UNKNOWN" /* -t: all types that have no name */

struct dump {
	struct perch__output out;
	struct perch_reader *reader;
	const char *path; /* NULL for standard input if it is a pipe, else perf.data */
	bool json, raw;
	bool any; /* text was printed: a blank line separates the next record */
	bool header, header_only, by_time;
	bool limited;
	uint64_t limit; /* records */
	/* -t: only these types */
	bool filtered, unnamed;
	size_t nr_types;
	uint32_t types[DUMP_MAX_TYPES];
};

struct cli_input;

/*
 * Prints the header and the records of an open file, and messages. Also for `perch script -D`.
 * Returns the exit status.
 */
int dump_run(struct dump *dump, const struct cli_input *input);

/* ---- dump_select.c ---- */

/* Adds the types of a list. Returns NULL, or the rest of the list from the first word that is not a
 * type. */
const char *dump_add_types(struct dump *dump, const char *names);
/* Returns the name of a type that is similar to a word, or NULL. */
const char *dump_similar_type(const char *word, size_t length);
bool dump_wants(const struct dump *dump, uint32_t type);
/* Returns the name of the event of a record, or NULL if it has none. */
const char *dump_event_name(const struct dump *dump, const struct perch_record *record);
/* Returns the format of a sample's tracepoint, or NULL: no raw data, or no format in the file. */
const struct perch_tracepoint_format *dump_tracepoint(const struct dump *dump,
						      const struct perch_record *record);

/* ---- dump_text.c, dump_json.c ---- */

/* error: the reason why the record cannot be decoded; NULL if it can. */
void dump_text_record(struct dump *dump, const struct perch_record *record, const char *error);
void dump_json_record(struct dump *dump, const struct perch_record *record, const char *error);
/* Header, events and features. */
void dump_text_header(struct dump *dump);
void dump_json_header(struct dump *dump);

#endif

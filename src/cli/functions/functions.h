/* SPDX-License-Identifier: MIT */
/*
 * perch trace -u: how long calls of functions take. It records probes at entries and returns, and
 * joins them by perch/function_calls.h. A file calls only files below its own:
 *
 *	functions.c		the command line
 *	functions_record.c	perch record of the probes
 *	functions_read.c	records -> calls
 *	functions_print.c	lines of calls, and the table
 */
#ifndef PERCH_CLI_FUNCTIONS_H
#define PERCH_CLI_FUNCTIONS_H

#include <perch/function_calls.h>
#include <perch/tracepoint.h>

#include "base/json_writer.h"
#include "delays.h"
#include "input/input.h"
#include "options.h"
#include "output_file.h"
#include "program/own_recording.h"

#define FUNCTIONS_COMMAND "trace"

enum { FUNCTIONS_PROBES = 16 };

/* A function, and the calls of it that have returned. */
struct functions_row {
	char *name; /* "libc:malloc" */
	uint64_t calls, total, max, lost;
	struct cli_delays delays;
};

/* An event of the file. */
struct functions_event {
	const struct perch_tracepoint_format *format; /* NULL: it is no probe of the command */
	const struct perch_tracepoint_field *sp;      /* NULL: it has no stack pointer */
	uint32_t row;
	bool returns;
};

/* What an entry had, by perch_function_call.value. */
struct functions_entry {
	char *text; /* arguments; with -j an object of them */
	uint32_t next_free;
};

struct functions {
	struct cli_input input;
	const char *probe[FUNCTIONS_PROBES]; /* "libc:malloc" */
	size_t nr_probes;
	char **options; /* of perch record; NULL terminates them */
	char **program; /* NULL: -i */
	bool verbose;	/* print each call */
	bool json;
	const char *output; /* of -o */
	struct cli_output_file file;
	FILE *stream;
	struct perch__output out; /* of objects */
	struct perch__json_writer writer;
	struct perch__output members; /* with -v -j: the arguments of an event */
	struct cli_own_recording recording;
	struct functions_row *row;
	size_t nr_rows, rows_capacity;
	struct functions_event *event; /* by index of the event in the file */
	size_t nr_events;
	struct functions_entry *entry;
	size_t nr_entries, entries_capacity;
	uint32_t first_free;
	const char *returned; /* the same of the return that ends a call */
	uint64_t first_time;  /* of the samples; 0: none */
	struct perch_function_calls *calls;
	uint64_t losses; /* records of lost samples */
};

/* ---- functions.c ---- */

/* True if an option -u of perch trace names a probe, and no user. */
bool functions_wanted(int argc, char **argv);
int functions_run(int argc, char **argv);

/* ---- functions_record.c ---- */

/* Records into a file that becomes the input. Returns 0 or the exit status. */
int functions_record(struct functions *functions);

/* ---- functions_read.c ---- */

/* Reads the file, and adds up or prints its calls. Returns 0 or the exit status. */
int functions_read(struct functions *functions);

/* ---- functions_print.c ---- */

/* Opens the output, and closes it after the last line. Each returns 0, or the exit status after it
 * has printed an error. */
int functions_open_output(struct functions *functions);
int functions_close_output(struct functions *functions);
void functions_print_call(struct functions *functions, const struct perch_function_call *call,
			  const char *arguments);
/* Sorts the rows. */
void functions_print_table(struct functions *functions);

#endif

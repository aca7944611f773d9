/* SPDX-License-Identifier: MIT */
/*
 * The frame of the commands that add up tracepoints in a table: lock, kwork, kmem and block. A
 * command is tables of events, with the function that takes their samples, and of columns. The
 * frame records, reads, filters, sorts and prints.
 *
 * An interval is made by perch/pairs.h. Where events were lost, the file is read a second time, so
 * that all intervals around the loss are known: they are counted apart. A file calls only files
 * below its own:
 *
 *	block.c			requests to disks
 *	kmem.c			memory of the kernel
 *	  kmem_pages.c		  its pages
 *	kwork.c			interrupts and work in the kernel
 *	  kwork_top.c		  the time of threads without them
 *	lock.c			waits for locks
 *	  lock_waits.c		  begins and ends of waits
 *	  lock_stacks.c		  call chains
 *	  lock_types.c		  types of locks
 *	  lock_functions.c	  the functions that wait
 *	tables.c		a command line, from the recording to the output
 *	tables_read.c		records -> samples of the command
 *	tables_record.c		perch record for a command
 *	tables_print.c		text, CSV and JSON
 *	tables_rows.c		rows, and the times that they add up
 *	tables_names.c		functions and call chains as texts
 *	tables_variables.c	variables of the kernel
 */
#ifndef PERCH_CLI_TABLES_H
#define PERCH_CLI_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <perch/pairs.h>
#include <perch/tracepoint.h>

#include "base/hash_table.h"
#include "delays.h"
#include "input/filter_options.h"
#include "input/input.h"
#include "options.h"
#include "program/own_recording.h"

enum {
	TABLES_FIELDS = 6,  /* of an event, most */
	TABLES_EVENTS = 16, /* of a command, most */
	TABLES_WORDS = 64,  /* names of columns of a command */
	TABLES_KEYS = 4,    /* words of the key of a row */
	TABLES_NUMBERS = 6, /* that a row has beside the times */
	TABLES_MOST = 2,    /* tables of an output */
	TABLES_PAIRS = 2,   /* kinds of intervals */
	TABLES_CELL = 512,  /* bytes of a cell */
};

struct tables;

/* A sample of an event of the command. */
struct tables_sample {
	const struct perch_record *record;
	const struct perch_tracepoint_field *const *field; /* NULL: the format lacks it */
	uint64_t value[TABLES_FIELDS];			   /* of the fields that are numbers */
	uint64_t time;
	uint32_t cpu, pid, tid;
};

/* A tracepoint. A table of them ends with a row of zeros. */
struct tables_event {
	const char *name; /* "lock:contention_begin" */
	const char *field[TABLES_FIELDS];
	int (*add)(struct tables *tables, const struct tables_sample *sample); /* 0 or -ENOMEM */
	bool optional; /* a file with only such events is refused */
};

struct tables_row {
	uint64_t key[TABLES_KEYS];
	/* intervals, in ns; what may be wrong is only in .uncertain and .uncertain_ns */
	uint64_t count, total, max, min, max_start, max_end, uncertain, uncertain_ns;
	struct cli_delays delays;
	uint64_t number[TABLES_NUMBERS]; /* what the command adds up */
	char *name;			 /* the text of the row, not trusted; NULL: none */
	uint32_t *chain;		 /* call chain, for perch_session_address() */
	uint32_t nr_chain;
};

enum tables_kind {
	TABLES_TEXT,
	TABLES_COUNT,
	TABLES_ID,	/* of a process or thread; the kernel has -1 for one that has ended */
	TABLES_NS,	/* "4.30 ms" */
	TABLES_TIME,	/* "37334.091148": s */
	TABLES_PERCENT, /* in 1/1000 % */
	TABLES_HEX,
};

/* A table of columns ends with a row of zeros. */
struct tables_column {
	const char *name;  /* for options and JSON: "wait_total" */
	const char *title; /* "total wait" */
	enum tables_kind kind;
	bool ascending; /* is sorted from the least on */
	size_t at;	/* of a member of struct tables_row, if .number and .text are NULL */
	uint64_t (*number)(const struct tables *tables, const struct tables_row *row);
	void (*text)(const struct tables *tables, const struct tables_row *row,
		     char text[TABLES_CELL]);
	/* false: the file lacks the events, and the column is left out; NULL: it never is */
	bool (*is_known)(const struct tables *tables);
};

/* A member of struct tables_row as a column. */
#define TABLES_AT(member) .at = offsetof(struct tables_row, member)

/* The names of the columns of some tables, which a NULL ends, each once: for .columns of the usage.
 */
const struct cli_word *tables_column_words(const struct tables_column *const *tables);

/* The columns of times, which several commands have under other titles. */
uint64_t tables_average(const struct tables *tables, const struct tables_row *row);
uint64_t tables_p50(const struct tables *tables, const struct tables_row *row);
uint64_t tables_p90(const struct tables *tables, const struct tables_row *row);
uint64_t tables_p99(const struct tables *tables, const struct tables_row *row);
void tables_name(const struct tables *tables, const struct tables_row *row, char text[TABLES_CELL]);

/* What is printed. */
struct tables_view {
	const char *name; /* in JSON, where a command prints several */
	const struct tables_column *columns;
	const char *fields, *sort; /* those without options: "contended,caller" */
};

struct tables_table {
	const struct tables_view *view;
	struct tables_row *row;
	size_t nr, capacity;
	struct perch__hash_table by_key;
	bool hidden;
	const char *sort; /* of this table alone; NULL: that of the command line or the view */
	uint64_t entries; /* of this table alone; 0: that of the command line */
};

/* What a word after the name of the command does. A table of them ends with a row of zeros. */
struct tables_subcommand {
	const char *name;
	int (*choose)(struct tables *tables); /* sets .events and .table; 0 or the exit status */
	bool by_default;		      /* without a word */
};

struct tables_command {
	const struct cli_usage *usage;
	const struct tables_subcommand *subcommands;
	/* returns the arguments of perch record, which a NULL ends */
	const char *const *(*record)(const struct tables *tables);
	bool system_wide;	    /* events are not those of threads: all CPUs are recorded */
	const char *refused, *hint; /* words of perf that are not here, and what to type instead */
	/* prints what is about all rows, after the text; or NULL */
	void (*summary)(const struct tables *tables);
	bool counts_missing; /* and says how many begins and ends are missing */
	/* what a note says of intervals in which events were lost, after their number; NULL: the
	 * columns that they are in */
	const char *uncertain;
	/* true for a row that is not printed; or NULL */
	bool (*leaves_out)(const struct tables *tables, const struct tables_row *row);
	/* discards what is of the command alone, before the file is read again; or NULL */
	void (*restart)(struct tables *tables);
};

/* Variables of the kernel by address. The first lookup reads them. */
struct tables_variables {
	struct tables_variable *variable;
	size_t nr, capacity;
	bool is_read;
};

/* A command with its options. Commands have it as their first member. */
struct tables {
	struct cli_input input;
	struct cli_filter filter;
	const char *fields, *sort, *separator;
	uint64_t entries;
	bool json, all_cpus, quiet;
	bool lists; /* intervals are printed as they end: losses are looked for before */
	bool twice; /* the first reading finds names for the second one */
	const char *pids, *tids, *cpus, *time;

	const struct tables_command *command;
	const struct tables_event *events;
	const char *recorder; /* the command that has "record"; NULL: its name */
	const char *lacking;  /* what a note says of optional events that the file lacks, or NULL */
	const char *if_empty; /* a note if the first table has no rows, or NULL */
	struct tables_table table[TABLES_MOST];
	size_t nr_tables;
	struct perch_pairs *pairs[TABLES_PAIRS];
	bool keep_first[TABLES_PAIRS];
	/* tables_read.c */
	struct tables_format *format; /* by event of the file */
	size_t nr_formats;
	uint64_t *cpu_time; /* of the last record of each CPU */
	size_t nr_cpus;
	uint64_t losses, samples;
	uint64_t missing_ends; /* intervals that are uncertain although no loss was recorded */
	bool counting;	       /* not only losses are looked for */
	struct tables_variables variables;
	struct cli_own_recording recording; /* of a command line without record and -i */
};

/* The options of all these commands: struct tables. */
extern const struct cli_option tables_options[];

/* ---- tables.c ---- */

int tables_run(struct tables *tables, const struct tables_command *command, int argc, char **argv);

/* ---- tables_read.c ---- */

/* Reads the file. Returns 0 or the exit status. */
int tables_read(struct tables *tables);
/* True if the file has this event of the command. */
bool tables_has_event(const struct tables *tables, const char *name);
/* Copies a text of a sample, or "" if there is none. */
void tables_text_of(const struct tables_sample *sample, unsigned field, char *text, size_t size);

/* ---- tables_record.c ---- */

/* Runs perch record with the arguments of a command line. Returns its exit status. */
int tables_record(const struct tables *tables, int argc, char **argv);
/* Records a program, or the targets of the options, into a file that becomes the input. Returns 0
 * or the exit status. */
int tables_record_live(struct tables *tables, char **program);

/* ---- tables_print.c ---- */

/* Returns 0, or CLI_EXIT_USAGE after it has printed which columns there are. */
int tables_check_columns(const struct tables *tables);
/* Prints the tables. Returns 0 or the exit status. */
int tables_print(struct tables *tables);
/* "4.30 ms" */
void tables_put_ns(uint64_t ns, char *text, size_t size);

/* ---- tables_rows.c ---- */

/* Returns the row of a key, a new one with zeros. NULL: out of memory. */
struct tables_row *tables_row(struct tables_table *table, const uint64_t key[TABLES_KEYS]);
/* Returns NULL if there is none. */
struct tables_row *tables_find(const struct tables_table *table, const uint64_t key[TABLES_KEYS]);
/* Adds an interval. Returns 0 or -ENOMEM. */
int tables_add(struct tables_row *row, const struct perch_pair *pair);
void tables_clear(struct tables_table *table);

/* ---- tables_names.c ---- */

/* Stores "function+0x12", or the address in hex. The function is one of the kernel. Returns false
 * if it is not known. */
bool tables_kernel_name(const struct tables *tables, uint64_t address, bool offset, char *text,
			size_t size);
/* The same for an address of a call chain, of any process. */
void tables_frame_name(const struct tables *tables, uint32_t number, char *text, size_t size);
/* The same for a return address: with the function of a program that is inlined there. */
void tables_caller_name(const struct tables *tables, uint32_t number, char *text, size_t size);

/* Stores the variable of a program that is at the address, with an offset, by the call chain of a
 * sample: its functions are of the program and of its libraries. Returns false, and "", if none is
 * known there. */
bool tables_user_variable(const struct tables *tables, const struct tables_sample *sample,
			  uint64_t address, char *text, size_t size);

/* ---- tables_variables.c ---- */

/* Stores the variable of the kernel that is at the address, with an offset. Returns false, and "",
 * if none is known there. */
bool tables_kernel_variable(struct tables *tables, uint64_t address, char *text, size_t size);
void tables_clear_variables(struct tables_variables *variables);

#endif

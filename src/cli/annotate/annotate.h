/* SPDX-License-Identifier: MIT */
/*
 * perch annotate:
 *
 *	annotate.c            options, and the samples
 *	annotate_functions.c  which functions are shown
 *	annotate_listing.c    a function: code, jumps, lines, and rows with their samples
 *	annotate_stdio.c      rows as text, in perf's format
 *	annotate_stdio2.c     rows as text, with labels and arrows
 *	annotate_json.c       rows as JSON
 *	annotate_browser.c    functions on a terminal: keys
 *	  annotate_draw.c     draws them
 *	  annotate_pages.c    the functions
 *	  annotate_view.c     the lines of a function
 *	annotate_notes.c      what was not shown, and why
 *	annotate_style.c      which percentages are shown
 */
#ifndef PERCH_CLI_ANNOTATE_H
#define PERCH_CLI_ANNOTATE_H

#include <stdbool.h>
#include <stdio.h>
#include <perch/annotation.h>
#include <perch/disassembler.h>
#include <perch/source.h>

#include "base/hash_table.h"
#include "input/filter_options.h"
#include "input/input.h"
#include "annotate_style.h"
#include "perf/unsupported.h"

#define ANNOTATE_COMMAND "annotate"

enum annotate_layout { LAYOUT_STDIO, LAYOUT_STDIO2, LAYOUT_JSON, LAYOUT_BROWSER };
enum {
	MAX_COLUMNS = 64, /* events of a group that are shown together */
	MAX_REASONS = 8,
};

/* Functions of a DSO that have no instructions to show, for the same reason. */
struct annotate_missing {
	const struct perch_symbol *first;
	size_t nr;
	struct perch_error err;
};

/* The row of a report that instructions are shown for. */
struct annotate_origin {
	const char *dso; /* its path; NULL: none */
	uint64_t start;	 /* of the function in the DSO */
	unsigned event;
};

struct annotate {
	struct cli_input input;
	struct cli_filter filter;
	struct perch_annotation *annotation;
	const char *symbol; /* NULL: all functions */
	bool only_inlined;  /* only inlined functions of that name are wanted */
	char *unmarked;	    /* the memory of symbol, if it is not an argument */
	bool by_inlined;    /* those with samples in an inlined function of that name */
	struct annotate_origin origin;
	enum annotate_layout layout;
	bool print_line, full_paths, show_samples, show_period, skip_missing;
	bool group, quiet, modules;
	struct cli_unsupported unsupported;
	bool color; /* --stdio-color */
	struct annotate_style style;
	double percent_limit;
	bool no_inline;
	struct perch_sources *sources; /* NULL: no lines are shown */
	const struct perch_file_event *events;
	size_t nr_events;
	/* what was shown, and what not */
	size_t shown, missing;
	struct annotate_missing missing_of[MAX_REASONS]; /* by DSO and reason */
	size_t nr_reasons;
	uint64_t undecoded_bytes, inside_samples, cut_samples;
	uint64_t undecoded_vectors;
	size_t undecoded_functions, inside_functions, functions_without_lines;
};

/* The events of the columns. */
struct annotate_columns {
	uint32_t event[MAX_COLUMNS];
	size_t nr;
	bool is_group; /* recorded as a group */
};

/* The samples of a column in a function or a row. */
struct annotate_sum {
	uint64_t samples, period;
};

/* The row of an instruction. */
struct annotate_row {
	struct perch_instruction instruction;
	bool is_target; /* a jump of the function leads here */
	struct annotate_sum sum[MAX_COLUMNS];
	bool has_samples;
	/* the innermost function and its line; file is NULL if unknown */
	const struct perch_symbol *function; /* an inlined function, or the function itself */
	const char *file;
	uint32_t line;
};

/* A source line of a function. */
struct annotate_line {
	const char *file;
	uint32_t line;
	struct annotate_sum sum[MAX_COLUMNS];
};

/* ---- annotate_functions.c ---- */

/*
 * Finds out after reading if the wanted name is only that of an inlined function: its samples are
 * in the functions that it is inlined into, which are wanted then. note: what to say about it, or
 * "". Returns 0, or the exit status after it has printed an error.
 */
int annotate_find_inlined(struct annotate *annotate, char *note, size_t size);
/* True if a function that is inlined at an offset has the wanted name. */
bool annotate_is_inlined(const struct annotate *annotate, const struct perch_dso *dso,
			 uint64_t offset);
/* True without a wanted name. The name is the one that reports show, or the one in the symbol
 * table. Names with arguments are found without them, too. */
bool annotate_is_wanted(const struct annotate *annotate,
			const struct perch_annotated_function *function);
/* Says what there is instead of what was asked for. Returns the exit status. */
int annotate_explain_nothing(const struct annotate *annotate);

/* Returns 0 to go on. */
typedef int annotate_visit(void *context, struct annotate *annotate,
			   const struct perch_annotated_function *function,
			   const struct annotate_columns *columns);
/*
 * Visits the functions with samples of each event, the hottest first. Groups are in columns, and
 * with --group all events. Returns 0, the exit status after it has printed an error, or what the
 * call returned.
 */
int annotate_visit_functions(struct annotate *annotate, annotate_visit *visit, void *context);

/* ---- annotate_listing.c ---- */

/* A function whose rows are read one after the other. */
struct listing {
	struct annotate *annotate;
	const struct perch_annotated_function *function;
	const struct annotate_columns *columns;
	struct perch_code code;
	struct perch_disassembler *disassembler;
	uint8_t *targets; /* a bit for each byte of the code */
	size_t next_point;
	struct annotate_sum sum[MAX_COLUMNS];	/* of the function */
	struct annotate_sum total[MAX_COLUMNS]; /* of the recording */
	struct annotate_line *line;		/* with -l: those with samples, the hottest first */
	size_t nr_lines, lines_capacity;
	struct perch__hash_table line_table;
	uint64_t undecoded, vectors, inside, cut; /* bytes, instructions, samples, samples */
	bool has_lines;				  /* an instruction has a source line */
};

/* Opens the code of a function. Returns 0, or a negative errno with err: it cannot be shown. */
int listing_open(struct listing *listing, struct annotate *annotate,
		 const struct perch_annotated_function *function,
		 const struct annotate_columns *columns, struct perch_error *err);
/* Reads the next row. */
bool listing_next(struct listing *listing, struct annotate_row *row);
void listing_close(struct listing *listing);
/* The share of a column in percent, by --percent-type. */
double listing_percent(const struct listing *listing, const struct annotate_sum *sum,
		       size_t column);
/* The name of the function of an address in the same DSO, and the offset in it; NULL if unknown. */
const char *listing_target(const struct listing *listing, uint64_t address, uint64_t *inside);
/* The addresses in which calls have functions of the DSO, and where address is in the DSO. */
struct listing_range {
	const struct perch_dso *dso;
	uint64_t start, end, address, offset;
};
struct listing_range listing_range(const struct listing *listing);
/* The function of an address in a range; NULL if unknown. */
const struct perch_symbol *listing_function(struct perch_symbols *symbols,
					    const struct listing_range *range, uint64_t address);
bool listing_has(const struct listing *listing, uint64_t address);
/* The path of a source file as it is shown: the base name, or with -P the path. */
const char *annotate_file_name(const struct annotate *annotate, const char *path);
/* Writes "cpu-clock, page-faults" of the columns. */
void annotate_put_events(FILE *out, const struct annotate *annotate,
			 const struct annotate_columns *columns);
const char *annotate_percent_type(const struct annotate *annotate);
/* Writes an instruction with the names of its targets. */
void annotate_put_instruction(FILE *out, const struct listing *listing,
			      const struct perch_instruction *instruction);
/*
 * Calls put(context, function, line, text) for what is shown before a row: the function, if it is
 * another one than before, and source lines. text is NULL for a function.
 */
struct source_walk {
	const struct perch_symbol *function;
	const char *file;
	uint32_t line;
	struct {
		const char *file;
		uint32_t most;
	} seen[8]; /* the largest line that was shown of a file */
	size_t nr_seen;
	size_t shown;	     /* source lines */
	const char *missing; /* the first file that cannot be shown; NULL: none */
};
typedef void put_source(FILE *out, const struct listing *listing, uint32_t line, const char *text,
			size_t length);
void annotate_walk_source(FILE *out, struct source_walk *walk, const struct listing *listing,
			  const struct annotate_row *row, put_source *put);

/* Writes a line of a source file: tabs become spaces, '?' replaces what is not printable. */
void annotate_put_source(FILE *out, const char *text, size_t length);

void annotate_stdio(FILE *out, struct listing *listing);
void annotate_stdio2(FILE *out, struct listing *listing);
/* The parts of a row of --stdio2, and columns of the sums. */
void annotate_put_sums(FILE *out, const struct listing *listing, const struct annotate_sum *sum);
void annotate_put_row(FILE *out, const struct listing *listing, const struct annotate_row *row);
int annotate_sums_width(const struct listing *listing);
put_source annotate_put_source_line;
/* The two lines above the rows: the samples, and the function with its DSO. The browser gets the
 * DSO in a line of its own. */
void annotate_put_title(FILE *out, const struct listing *listing);
/* missing: the reason why there are no instructions, else NULL. */
void annotate_json(FILE *out, struct listing *listing, const struct perch_error *missing);

/* ---- annotate_browser.c ---- */

/* Shows the functions on a terminal until the user leaves. Returns the exit status. */
int annotate_browse(struct annotate *annotate);
/* Samples that are still read. */
struct annotate_live {
	const struct cli_input *input;
	/* Called when screen_key_or_idle() returns SCREEN_IDLE. Returns false to leave. */
	bool (*refresh)(void *context);
	void *context;
};
/*
 * Shows a function with the samples of an event, on the terminal that is in use. message: why it
 * is not shown, or "".
 */
void annotate_browse_live(const struct annotate_live *live, struct perch_annotation *annotation,
			  const struct perch_symbol *symbol, unsigned event, char *message,
			  size_t size);

/* ---- annotate_notes.c ---- */

/* Counts a function that has no instructions to show. */
void annotate_count_missing(struct annotate *annotate, const struct perch_symbol *symbol,
			    const struct perch_error *err);
/* Counts a function whose rows were all read. */
void annotate_count_shown(struct annotate *annotate, const struct listing *listing);
void annotate_print_notes(const struct annotate *annotate);

#endif

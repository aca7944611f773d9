/* SPDX-License-Identifier: MIT */
/* perch annotate: options, the samples, and which functions are shown. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "annotate.h"
#include "base/edit_distance.h"
#include "options.h"
#include "pager.h"

#define COMMAND "annotate"

enum { MAX_NAMED = 8, MAX_SUGGESTIONS = 3, MAX_COMPARED = 20000, MAX_COMPARED_NAME = 200 };

const struct cli_usage cli_annotate_usage = {
	.name = COMMAND,
	.operands = "[OPTIONS] [SYMBOL]",
	.summary = "Shows the instructions of functions with their samples.",
};

/* ---- which functions ---- */

/*
 * By the name that reports show, or by the name in the symbol table. Names with arguments are found
 * without them, too.
 */
static bool is_named(const struct annotate *annotate, const struct perch_symbol *symbol)
{
	const char *wanted = annotate->symbol, *name;
	size_t length;

	if (!wanted)
		return true;
	name = perch_symbols_name(perch_session_symbols(annotate->input.session), symbol);
	length = strlen(wanted);
	return !strcmp(name, wanted) || !strcmp(symbol->name, wanted) ||
	       (!strncmp(name, wanted, length) && name[length] == '(');
}

/* Copies: names of up to some length are compared. */
static unsigned distance_of(const char *wanted, const char *name)
{
	char left[MAX_COMPARED_NAME], right[MAX_COMPARED_NAME];

	snprintf(left, sizeof(left), "%s", wanted);
	snprintf(right, sizeof(right), "%s", name);
	if (strstr(right, left) || (*right && strstr(left, right)))
		return 1;
	return perch__edit_distance(left, right);
}

/* Names the functions with the most similar names, or else the hottest ones. */
static void suggest_functions(const struct annotate *annotate,
			      const struct perch_annotated_function *function, size_t nr)
{
	struct perch_symbols *symbols = perch_session_symbols(annotate->input.session);
	size_t best[MAX_SUGGESTIONS], nr_best = 0, limit = strlen(annotate->symbol) / 2 + 1;
	bool similar = false;
	char text[1024];
	int used = 0;

	for (unsigned distance = 1; nr_best < MAX_SUGGESTIONS && distance <= limit; distance++) {
		for (size_t i = 0; i < nr && i < MAX_COMPARED && nr_best < MAX_SUGGESTIONS; i++)
			if (distance_of(annotate->symbol,
					perch_symbols_name(symbols, function[i].symbol)) ==
			    distance)
				best[nr_best++] = i;
		similar |= nr_best > 0;
		if (distance >= 3)
			break;
	}
	for (size_t i = 0; !similar && i < nr && nr_best < MAX_SUGGESTIONS; i++)
		best[nr_best++] = i;
	for (size_t i = 0; i < nr_best && used < (int)sizeof(text); i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%.200s",
				 i ? ", " : "",
				 perch_symbols_name(symbols, function[best[i]].symbol));
	cli_note(COMMAND, "no function '%s' has samples%s%s", annotate->symbol,
		 !nr_best  ? ""
		 : similar ? "; similar names: "
			   : "; functions with the most samples: ",
		 nr_best ? text : "");
}

/* Says what there is instead of what was asked for. Returns the exit status. */
static int explain_nothing(const struct annotate *annotate)
{
	const struct perch_annotated_function *function;
	size_t nr;

	if (perch_annotation_functions(annotate->annotation, PERCH_ANNOTATION_ALL_EVENTS, &function,
				       &nr, NULL))
		return CLI_EXIT_FAILURE;
	if (!nr) {
		/* the notes of a filter say what there is */
		if (!annotate->filter.filter)
			cli_note(COMMAND, "%s has no samples in functions with names",
				 annotate->input.path);
		return CLI_EXIT_FAILURE;
	}
	if (annotate->symbol)
		suggest_functions(annotate, function, nr);
	else
		cli_note(COMMAND, "no function has a share of %.2f %% (--percent-limit)",
			 annotate->percent_limit);
	return CLI_EXIT_FAILURE;
}

/* ---- one function ---- */

/* Counts a function that has no instructions to show. */
static void count_missing(struct annotate *annotate, const struct perch_symbol *symbol,
			  const struct perch_error *err)
{
	struct annotate_missing *missing = annotate->missing_of;
	size_t i = 0;

	annotate->missing++;
	while (i < annotate->nr_reasons && (missing[i].first->dso != symbol->dso ||
					    strcmp(missing[i].err.message, err->message)))
		i++;
	if (i == MAX_REASONS)
		return;
	if (i == annotate->nr_reasons) {
		missing[i] = (struct annotate_missing){ .first = symbol, .err = *err };
		annotate->nr_reasons++;
	}
	missing[i].nr++;
}

static void print_missing(const struct annotate *annotate)
{
	struct perch_symbols *symbols = perch_session_symbols(annotate->input.session);
	size_t named = 0;

	for (size_t i = 0; i < annotate->nr_reasons; i++) {
		const struct annotate_missing *missing = &annotate->missing_of[i];
		char others[40] = "";

		named += missing->nr;
		if (missing->nr > 1)
			snprintf(others, sizeof(others), " and %zu others", missing->nr - 1);
		cli_note(COMMAND, "no instructions of %s%s in %s: %s%s%s",
			 perch_symbols_name(symbols, missing->first), others,
			 perch_symbols_dso_name(symbols, missing->first->dso), missing->err.message,
			 missing->err.remedy[0] ? ". " : "", missing->err.remedy);
	}
	if (annotate->missing > named)
		cli_note(COMMAND, "no instructions of %zu other functions",
			 annotate->missing - named);
}

static void count_notes(struct annotate *annotate, const struct listing *listing)
{
	annotate->undecoded_bytes += listing->undecoded;
	annotate->undecoded_functions += listing->undecoded > 0;
	/* both passes have counted them */
	annotate->inside_samples += listing->inside / 2;
	annotate->inside_functions += listing->inside > 0;
}

/* Returns 0, or the exit status after it has printed an error. */
static int print_function(FILE *out, struct annotate *annotate,
			  const struct perch_annotated_function *function,
			  const struct annotate_columns *columns)
{
	struct listing listing;
	struct perch_error err;
	int rc = listing_open(&listing, annotate, function, columns, &err);

	if (rc == -ENOMEM)
		return cli_error(COMMAND, &err);
	if (rc) {
		if (annotate->layout == LAYOUT_JSON && !annotate->skip_missing)
			annotate_json(out, &listing, &err);
		count_missing(annotate, function->symbol, &err);
		return 0;
	}
	if (annotate->layout == LAYOUT_JSON)
		annotate_json(out, &listing, NULL);
	else if (annotate->layout == LAYOUT_STDIO2)
		annotate_stdio2(out, &listing);
	else
		annotate_stdio(out, &listing);
	annotate->shown++;
	count_notes(annotate, &listing);
	listing_close(&listing);
	return 0;
}

/* ---- events ---- */

/* The functions with samples of the first event of the columns come in its order, then the others.
 */
static int print_columns(FILE *out, struct annotate *annotate,
			 const struct annotate_columns *columns, size_t *wanted)
{
	uint32_t event = columns->nr == 1 ? columns->event[0] : PERCH_ANNOTATION_ALL_EVENTS;
	const struct perch_annotated_function *function;
	struct perch_annotation_total total;
	struct perch_error err;
	size_t nr;
	int rc = 0;

	if (perch_annotation_functions(annotate->annotation, event, &function, &nr, &err))
		return cli_error(COMMAND, &err);
	perch_annotation_get_total(annotate->annotation, columns->event[0], &total);
	for (size_t i = 0; i < nr && !rc; i++) {
		bool has_event = columns->nr == 1;

		for (size_t j = 0; j < function[i].nr && !has_event; j++)
			for (size_t k = 0; k < columns->nr && !has_event; k++)
				has_event = function[i].point[j].event == columns->event[k];
		if (!has_event || !is_named(annotate, function[i].symbol))
			continue;
		if (columns->nr == 1 && total.period &&
		    100.0 * (double)function[i].period / (double)total.period <
			    annotate->percent_limit)
			continue;
		++*wanted;
		rc = print_function(out, annotate, &function[i], columns);
	}
	return rc;
}

/* Groups are shown in columns, and with --group all events. */
static int print_events(FILE *out, struct annotate *annotate)
{
	struct annotate_columns columns = { 0 };
	size_t wanted = 0;
	int rc = 0;

	for (size_t i = 0; i < annotate->nr_events && !rc;) {
		size_t members = annotate->group ? annotate->nr_events
						 : annotate->events[i].members;

		if (!members)
			members = 1;
		columns.nr = 0;
		columns.is_group = members > 1 && !annotate->group;
		for (; members && i < annotate->nr_events; members--, i++)
			if (columns.nr < MAX_COLUMNS)
				columns.event[columns.nr++] = (uint32_t)i;
			else if (columns.nr == MAX_COLUMNS && !annotate->quiet)
				cli_note(COMMAND,
					 "event %zu is left out: at most %d are shown together", i,
					 MAX_COLUMNS);
		rc = print_columns(out, annotate, &columns, &wanted);
	}
	if (!rc && !wanted)
		return explain_nothing(annotate);
	return rc ? rc
	       : annotate->shown || annotate->layout == LAYOUT_JSON || !annotate->symbol
		       ? 0
		       : CLI_EXIT_FAILURE;
}

/* ---- notes ---- */

static void print_source_notes(const struct source_text *sources)
{
	if (sources->newer)
		cli_note(COMMAND,
			 "%s%s newer than the binary: the lines shown may not be the compiled "
			 "ones",
			 sources->newer_path,
			 sources->newer > 1 ? " and other source files are" : " is");
	if (sources->missing)
		cli_note(
			COMMAND,
			"%zu source files cannot be read, for example %s: their lines are left out "
			"(--prefix and --prefix-strip change their directories)",
			sources->missing, sources->missing_path);
	if (sources->too_large)
		cli_note(COMMAND, "%zu source files are too large, for example %s",
			 sources->too_large, sources->large_path);
	if (sources->too_many)
		cli_note(
			COMMAND,
			"the functions have more than %d source files: the lines of the others are "
			"left out (name one function to see all)",
			SOURCE_TEXT_MAX_FILES);
}

static void print_notes(const struct annotate *annotate)
{
	uint64_t nameless = 0;

	for (size_t i = 0; i < annotate->nr_events; i++) {
		struct perch_annotation_total total;

		perch_annotation_get_total(annotate->annotation, (unsigned)i, &total);
		nameless += total.nameless_samples;
	}
	if (nameless && !annotate->symbol)
		cli_note(COMMAND, "%" PRIu64 " %s at addresses without a function", nameless,
			 cli_word(nameless, "sample", "samples"));
	if (!annotate->skip_missing)
		print_missing(annotate);
	if (annotate->undecoded_bytes)
		cli_note(COMMAND,
			 "%" PRIu64 " %s of %zu %s shown as .byte: no instructions, or "
			 "instructions that capstone does not know",
			 annotate->undecoded_bytes,
			 cli_word(annotate->undecoded_bytes, "byte", "bytes"),
			 annotate->undecoded_functions,
			 cli_word(annotate->undecoded_functions, "function", "functions"));
	if (annotate->inside_samples)
		cli_note(COMMAND,
			 "%" PRIu64 " %s of %zu %s at addresses inside of an "
			 "instruction, shown with it: there may be data between the instructions",
			 annotate->inside_samples,
			 cli_word(annotate->inside_samples, "sample", "samples"),
			 annotate->inside_functions,
			 cli_word(annotate->inside_functions, "function", "functions"));
	if (annotate->cut_samples)
		cli_note(COMMAND,
			 "%" PRIu64
			 " %s not shown: after the first %u bytes of the function, or after "
			 "the end of its code",
			 annotate->cut_samples,
			 cli_word(annotate->cut_samples, "sample", "samples"), PERCH_MAX_CODE);
	print_source_notes(&annotate->sources);
	cli_input_print_notes(&annotate->input);
}

/* ---- options ---- */

static int set_percent_type(void *value, const char *argument, bool negated)
{
	struct annotate *annotate = value;
	static const char *const types[] = { "local-period", "local-hits", "global-period",
					     "global-hits" };

	for (size_t i = 0; i < CLI_NR(types) && !negated; i++) {
		if (strcmp(types[i], argument))
			continue;
		annotate->global = i >= 2;
		annotate->hits = i & 1;
		return 0;
	}
	return cli_usage_error(COMMAND,
			       "--percent-type '%s': expected local-period, local-hits, "
			       "global-period or global-hits",
			       negated ? "" : argument);
}

static int set_syntax(void *value, const char *argument, bool negated)
{
	struct annotate *annotate = value;

	if (!negated && strcmp(argument, "intel") && strcmp(argument, "att"))
		return cli_usage_error(COMMAND, "-M '%s': expected intel or att", argument);
	annotate->intel = !negated && !strcmp(argument, "intel");
	return 0;
}

static int set_limit(void *value, const char *argument, bool negated)
{
	struct annotate *annotate = value;
	char *end;

	annotate->percent_limit = negated ? 0 : strtod(argument, &end);
	if (!negated && (end == argument || *end ||
			 !(annotate->percent_limit >= 0 && annotate->percent_limit <= 100)))
		return cli_usage_error(COMMAND, "'%s' is not a percentage from 0 to 100", argument);
	return 0;
}

static int set_layout(void *value, enum annotate_layout layout)
{
	((struct annotate *)value)->layout = layout;
	return 0;
}

static int set_stdio(void *value, const char *argument, bool negated)
{
	(void)argument;
	return set_layout(value, negated ? LAYOUT_STDIO2 : LAYOUT_STDIO);
}

static int set_stdio2(void *value, const char *argument, bool negated)
{
	(void)argument;
	return set_layout(value, negated ? LAYOUT_STDIO : LAYOUT_STDIO2);
}

static int set_json(void *value, const char *argument, bool negated)
{
	(void)argument;
	return set_layout(value, negated ? LAYOUT_STDIO : LAYOUT_JSON);
}

static int set_source(void *value, const char *argument, bool negated)
{
	(void)argument;
	((struct annotate *)value)->no_source = negated;
	return 0;
}

static int refuse_objdump(void *value, const char *argument, bool negated)
{
	(void)value, (void)argument, (void)negated;
	return cli_usage_error(COMMAND, "no option --objdump: the library capstone finds the "
					"instructions");
}

static int refuse_tui(void *value, const char *argument, bool negated)
{
	(void)value, (void)argument, (void)negated;
	return cli_usage_error(COMMAND, "there is no interactive display: use --stdio or --stdio2");
}

/* ---- the command ---- */

static int read_samples(struct annotate *annotate)
{
	struct perch_session *session = annotate->input.session;
	struct perch_record record;
	struct perch_error err;
	int rc;

	if (perch_annotation_new(&annotate->annotation, perch_session_processes(session),
				 perch_session_symbols(session), &err))
		return cli_error(COMMAND, &err);
	while ((rc = cli_input_next(&annotate->input, &record)) > 0) {
		int match;

		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		match = cli_filter_match(&annotate->filter, &record);
		if (match < 0) {
			cli_note(COMMAND, "out of memory");
			return CLI_EXIT_FAILURE;
		}
		if (match && perch_annotation_add(annotate->annotation, &record, &err))
			return cli_error(COMMAND, &err);
	}
	if (rc < 0)
		return CLI_EXIT_FAILURE;
	if (perch_annotation_finish(annotate->annotation, &err))
		return cli_error(COMMAND, &err);
	return 0;
}

static int run(struct annotate *annotate)
{
	int status = cli_input_open(&annotate->input);

	if (!status)
		status = cli_filter_open(&annotate->filter, &annotate->input);
	if (status)
		return status;
	annotate->nr_events = perch_reader_events(perch_session_reader(annotate->input.session),
						  &annotate->events);
	annotate->sources.root = annotate->input.options.symbols.root;
	status = read_samples(annotate);
	if (!status) {
		cli_start_pager();
		status = print_events(stdout, annotate);
		if (cli_check_stdout(COMMAND, 0))
			status = CLI_EXIT_FAILURE;
		if (!annotate->quiet)
			print_notes(annotate);
		if (!annotate->quiet)
			cli_filter_print_notes(&annotate->filter, &annotate->input);
	}
	source_text_clear(&annotate->sources);
	perch_annotation_free(annotate->annotation);
	cli_filter_close(&annotate->filter);
	cli_input_close(&annotate->input);
	return status;
}

int perch_cmd_annotate(int argc, char **argv)
{
	static struct annotate annotate = {
		.input.command = COMMAND,
		.input.options.keep_stacks = 1, /* only sampled addresses are counted */
	};
	const char *symbol = NULL, *operand = NULL;
	const struct cli_option options[] = {
		CLI_INPUT_OPTIONS(&annotate.input),
		{ 's', "symbol", "SYMBOL", "the function to show, as the operand", CLI_STRING,
		  &symbol, NULL, false, false },
		{ 0, "stdio", NULL, "rows as those of objdump (the default, except on a terminal)",
		  CLI_CALL, &annotate, set_stdio, false, false },
		{ 0, "stdio2", NULL, "rows with labels and arrows (the default on a terminal)",
		  CLI_CALL, &annotate, set_stdio2, false, false },
		{ 'j', "json", NULL, "print JSON: an object for each function, one in a line",
		  CLI_CALL, &annotate, set_json, false, false },
		{ 'l', "print-line", NULL, "sum up the samples of source lines, too", CLI_FLAG,
		  &annotate.print_line, NULL, false, false },
		{ 'P', "full-paths", NULL, "paths of files instead of their names", CLI_FLAG,
		  &annotate.full_paths, NULL, false, false },
		{ 'n', "show-nr-samples", NULL, "numbers of samples instead of percentages",
		  CLI_FLAG, &annotate.show_samples, NULL, false, false },
		{ 0, "show-total-period", NULL, "sums of periods instead of percentages", CLI_FLAG,
		  &annotate.show_period, NULL, false, false },
		{ 0, "percent-type", "TYPE",
		  "what 100 % is: local-period, local-hits, global-period or global-hits", CLI_CALL,
		  &annotate, set_percent_type, false, false },
		{ 0, "percent-limit", "P", "leave out functions below P percent of the event",
		  CLI_CALL, &annotate, set_limit, false, false },
		{ 0, "group", NULL, "show all events in columns; groups always are", CLI_FLAG,
		  &annotate.group, NULL, false, false },
		{ 'M', "disassembler-style", "SYNTAX", "syntax of x86: att (the default) or intel",
		  CLI_CALL, &annotate, set_syntax, false, false },
		{ 0, "asm-raw", NULL, "show the bytes of instructions", CLI_FLAG, &annotate.asm_raw,
		  NULL, false, false },
		{ 0, "source", NULL, "show source lines between instructions (default)", CLI_CALL,
		  &annotate, set_source, false, false },
		{ 0, "prefix", "DIR", "directory to put before the paths of source files",
		  CLI_STRING, &annotate.sources.prefix, NULL, false, false },
		{ 0, "prefix-strip", "N", "first remove N directories of these paths", CLI_NUMBER,
		  &annotate.sources.strip, NULL, false, false },
		{ 0, "skip-missing", NULL, "say nothing about functions without instructions",
		  CLI_FLAG, &annotate.skip_missing, NULL, false, false },
		{ 0, "kallsyms", "FILE", "kernel symbols (/proc/kallsyms)", CLI_STRING,
		  &annotate.input.options.symbols.kallsyms, NULL, false, false },
		CLI_SYMBOL_OPTIONS(&annotate.input),
		CLI_FILTER_OPTIONS(&annotate.filter, 0, 'd', 'C'),
		{ 'q', "quiet", NULL, "print no messages", CLI_FLAG, &annotate.quiet, NULL, false,
		  false },
		{ 'v', "verbose", NULL, "show the samples of each address first", CLI_COUNT,
		  &annotate.verbose, NULL, false, false },
		{ 'D', "dump-raw-trace", NULL, "", CLI_CALL, (void *)COMMAND, cli_input_refuse_dump,
		  false, true },
		{ 0, "objdump", "PATH", "", CLI_CALL, NULL, refuse_objdump, false, true },
		{ 0, "tui", NULL, "", CLI_CALL, NULL, refuse_tui, false, true },
		CLI_NO_PAGER,
	};
	int next;

	annotate.layout = isatty(STDOUT_FILENO) ? LAYOUT_STDIO2 : LAYOUT_STDIO;
	/* options may follow the symbol, as in perf */
	while ((next = cli_parse(&cli_annotate_usage, options, CLI_NR(options), argc, argv)) <
	       argc) {
		bool last = !strcmp(argv[next - 1], "--");

		if (operand || (last && next + 1 < argc))
			return cli_usage_error(COMMAND, "expected one symbol; '%s' is too much",
					       argv[operand ? next : next + 1]);
		operand = argv[next];
		if (last)
			break;
		argc -= next, argv += next;
	}
	if (operand && symbol)
		return cli_usage_error(COMMAND, "expected one symbol: '%s' (-s) or '%s'", symbol,
				       operand);
	annotate.symbol = operand ? operand : symbol;
	if (annotate.sources.strip && !annotate.sources.prefix)
		return cli_usage_error(COMMAND, "--prefix-strip needs --prefix");
	return run(&annotate);
}

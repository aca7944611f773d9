/* SPDX-License-Identifier: MIT */
/* perch annotate: options, the samples, and which functions are shown. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "annotate.h"
#include "browser/screen.h"
#include "color.h"
#include "options.h"
#include "terminal/pager.h"

#define COMMAND ANNOTATE_COMMAND

const struct cli_usage cli_annotate_usage = {
	.name = COMMAND,
	.operands = "[OPTIONS] [SYMBOL]",
	.summary = "Shows the instructions of functions with their samples.",
};

/* ---- functions as text or JSON ---- */

/* Returns 0, or the exit status after it has printed an error. */
static int print_function(void *context, struct annotate *annotate,
			  const struct perch_annotated_function *function,
			  const struct annotate_columns *columns)
{
	struct listing listing;
	struct perch_error err;
	size_t *wanted = context;
	int rc;

	if (ferror(stdout))
		return CLI_EXIT_FAILURE;
	if (!annotate_is_wanted(annotate, function))
		return 0;
	++*wanted;
	rc = listing_open(&listing, annotate, function, columns, &err);
	if (rc == -ENOMEM)
		return cli_error(COMMAND, &err);
	if (rc) {
		if (annotate->layout == LAYOUT_JSON && !annotate->skip_missing)
			annotate_json(stdout, &listing, &err);
		annotate_count_missing(annotate, function->symbol, &err);
		return 0;
	}
	if (annotate->layout == LAYOUT_JSON)
		annotate_json(stdout, &listing, NULL);
	else if (annotate->layout == LAYOUT_STDIO2)
		annotate_stdio2(stdout, &listing);
	else
		annotate_stdio(stdout, &listing);
	annotate_count_shown(annotate, &listing);
	listing_close(&listing);
	return 0;
}

/* Returns the exit status. */
static int print_functions(struct annotate *annotate)
{
	size_t wanted = 0;
	char note[1000];
	int rc = annotate_find_inlined(annotate, note, sizeof(note));

	if (!rc && *note && !annotate->quiet)
		cli_note(COMMAND, "%s", note);
	if (!rc)
		rc = annotate_visit_functions(annotate, print_function, &wanted);
	if (!rc && !wanted)
		return annotate_explain_nothing(annotate);
	return rc ? rc
	       : annotate->shown || annotate->layout == LAYOUT_JSON || !annotate->symbol
		       ? 0
		       : CLI_EXIT_FAILURE;
}

/* ---- options ---- */

static int set_percent_type(void *value, const char *argument, bool negated)
{
	return annotate_style_set_percent_type(value, COMMAND, argument, negated);
}

static int set_syntax(void *value, const char *argument, bool negated)
{
	return annotate_style_set_syntax(value, COMMAND, argument, negated);
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

static int set_color(void *value, const char *argument, bool negated)
{
	return cli_set_color(&((struct annotate *)value)->color, COMMAND, argument, negated);
}

static int set_json(void *value, const char *argument, bool negated)
{
	(void)argument;
	return set_layout(value, negated ? LAYOUT_STDIO : LAYOUT_JSON);
}

static int set_browser(void *value, const char *argument, bool negated)
{
	(void)argument;
	return set_layout(value, negated ? LAYOUT_STDIO2 : LAYOUT_BROWSER);
}

static int set_inline(void *value, const char *argument, bool negated)
{
	(void)argument;
	((struct annotate *)value)->filter.options.no_inline = negated;
	return 0;
}

/* EVENT:START:DSO, as the browser of a report passes it. */
static int set_origin(void *value, const char *argument, bool negated)
{
	struct annotate_origin *origin = value;
	int length = 0;

	if (negated ||
	    sscanf(argument, "%u:%" SCNx64 ":%n", &origin->event, &origin->start, &length) != 2 ||
	    !length)
		return cli_usage_error(COMMAND, "--origin: expected EVENT:START:DSO");
	origin->dso = argument + length;
	return 0;
}

static int refuse_objdump(void *value, const char *argument, bool negated)
{
	(void)value, (void)argument, (void)negated;
	return cli_usage_error(COMMAND, "no option --objdump: the library capstone finds the "
					"instructions");
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
		if (match < 0)
			return cli_no_memory(COMMAND);
		if (match && perch_annotation_add(annotate->annotation, &record, &err))
			return cli_error(COMMAND, &err);
	}
	if (rc < 0)
		return CLI_EXIT_FAILURE;
	if (perch_annotation_finish(annotate->annotation, &err))
		return cli_error(COMMAND, &err);
	return 0;
}

static int run_annotate(struct annotate *annotate)
{
	int status = cli_input_open(&annotate->input);

	if (!status)
		status = cli_check_unsupported(&annotate->unsupported, &annotate->input);
	if (!status)
		status = cli_filter_open(&annotate->filter, &annotate->input);
	if (status)
		return status;
	annotate->nr_events = perch_reader_events(perch_session_reader(annotate->input.session),
						  &annotate->events);
	annotate->sources.root = annotate->input.options.symbols.root;
	cli_survive_closed_pipe();
	status = read_samples(annotate);
	if (!status) {
		if (annotate->layout != LAYOUT_BROWSER)
			cli_start_pager();
		status = annotate->layout == LAYOUT_BROWSER ? annotate_browse(annotate)
							    : print_functions(annotate);
		if (cli_check_stdout(COMMAND, 0))
			status = CLI_EXIT_FAILURE;
		if (!annotate->quiet)
			annotate_print_notes(annotate);
		if (!annotate->quiet)
			cli_filter_print_notes(&annotate->filter, &annotate->input);
	}
	source_text_clear(&annotate->sources);
	perch_annotation_free(annotate->annotation);
	cli_filter_close(&annotate->filter);
	cli_input_close(&annotate->input);
	return status;
}

/* Sets the function to show. A name may have the mark of inlined functions, as a report prints it.
 */
static int set_symbol(struct annotate *annotate, const char *symbol)
{
	static const char mark[] = " (inlined)";
	size_t length = symbol ? strlen(symbol) : 0, size = sizeof(mark) - 1;

	annotate->symbol = symbol;
	annotate->only_inlined = length > size && !strcmp(symbol + length - size, mark);
	if (!annotate->only_inlined)
		return 0;
	annotate->symbol = annotate->unmarked = strndup(symbol, length - size);
	if (annotate->unmarked)
		return 0;
	return cli_no_memory(COMMAND);
}

static struct annotate annotate = {
	.input.command = COMMAND,
};

static const struct cli_option options[] = {
	CLI_INPUT_OPTIONS(&annotate.input),
	{ 's', "symbol", "SYMBOL", "the function to show, as the operand", CLI_STRING,
	  &annotate.symbol, NULL, false, false },
	{ 0, "stdio", NULL, "rows as those of objdump (the default, except on a terminal)",
	  CLI_CALL, &annotate, set_stdio, false, false },
	{ 0, "stdio2", NULL, "rows with labels and arrows", CLI_CALL, &annotate, set_stdio2, false,
	  false },
	{ 0, "tui", NULL, "a browser of functions (the default on a terminal)", CLI_CALL, &annotate,
	  set_browser, false, false },
	{ 0, "stdio-color", "WHEN", "colors of --stdio: always, never or auto (never)", CLI_CALL,
	  &annotate, set_color, true, false },
	{ 'j', "json", NULL, "print JSON: an object for each function, one in a line", CLI_CALL,
	  &annotate, set_json, false, false },
	{ 'l', "print-line", NULL, "sum up the samples of source lines, too", CLI_FLAG,
	  &annotate.print_line, NULL, false, false },
	{ 'P', "full-paths", NULL, "paths of files instead of their names", CLI_FLAG,
	  &annotate.full_paths, NULL, false, false },
	{ 'n', "show-nr-samples", NULL, "numbers of samples instead of percentages", CLI_FLAG,
	  &annotate.show_samples, NULL, false, false },
	{ 0, "show-total-period", NULL, "sums of periods instead of percentages", CLI_FLAG,
	  &annotate.show_period, NULL, false, false },
	ANNOTATE_STYLE_OPTIONS(&annotate.style, set_percent_type, set_syntax),
	{ 0, "percent-limit", "P", "leave out functions below P percent of the event", CLI_CALL,
	  &annotate, set_limit, false, false },
	{ 0, "group", NULL, "show all events in columns; groups always are", CLI_FLAG,
	  &annotate.group, NULL, false, false },
	{ 0, "skip-missing", NULL, "say nothing about functions without instructions", CLI_FLAG,
	  &annotate.skip_missing, NULL, false, false },
	{ 0, "kallsyms", "FILE", "kernel symbols (/proc/kallsyms)", CLI_STRING,
	  &annotate.input.options.symbols.kallsyms, NULL, false, false },
	CLI_SYMBOL_OPTIONS(&annotate.input),
	CLI_FILTER_OPTIONS(&annotate.filter, 0, 'd', 'C'),
	{ 0, "inline", NULL, "find samples by the names of inlined functions, too (default)",
	  CLI_CALL, &annotate, set_inline, false, false },
	CLI_PARENT_OPTION(&annotate.filter, 0),
	CLI_FILTER_EXPRESSION_OPTION(&annotate.filter),
	{ 0, "origin", "EVENT:START:DSO", "", CLI_CALL, &annotate.origin, set_origin, false, true },
	{ 'q', "quiet", NULL, "print no messages", CLI_FLAG, &annotate.quiet, NULL, false, false },
	{ 'v', "verbose", NULL, "show the samples of each address first", CLI_COUNT,
	  &annotate.input.verbose, NULL, false, false },
	{ 'D', "dump-raw-trace", NULL, "", CLI_CALL, (void *)COMMAND, cli_input_refuse_dump, false,
	  true },
	{ 0, "objdump", "PATH", "", CLI_CALL, NULL, refuse_objdump, false, true },
	CLI_UNSUPPORTED_OPTIONS(&annotate.unsupported),
	/* symbols of modules are always read */
	{ 'm', "modules", NULL, "", CLI_FLAG, &annotate.modules, NULL, false, true },
	CLI_NO_PAGER,
};

/* Parses the arguments. Returns 0 or the exit status. */
static int parse_arguments(int argc, char **argv)
{
	const char *operand, *extra = cli_parse_operand(&cli_annotate_usage, options,
							CLI_NR(options), argc, argv, &operand);

	if (cli_input_refuse_files(COMMAND, operand, extra, "a function with -s"))
		return CLI_EXIT_USAGE;
	if (extra)
		return cli_usage_error(COMMAND, "expected one symbol; '%s' is too much", extra);
	if (operand && annotate.symbol)
		return cli_usage_error(COMMAND, "expected one symbol: '%s' (-s) or '%s'",
				       annotate.symbol, operand);
	if (annotate_style_check(&annotate.style, COMMAND))
		return CLI_EXIT_USAGE;
	if (annotate.layout == LAYOUT_BROWSER && !screen_is_possible())
		return cli_usage_error(COMMAND, "--tui needs a terminal on standard input and "
						"output, and the variable TERM");
	return set_symbol(&annotate, operand ? operand : annotate.symbol);
}

int perch_cmd_annotate(int argc, char **argv)
{
	int status;

	annotate.layout = screen_is_possible()	  ? LAYOUT_BROWSER
			  : isatty(STDOUT_FILENO) ? LAYOUT_STDIO2
						  : LAYOUT_STDIO;
	status = parse_arguments(argc, argv);
	if (status)
		return status;
	/* only sampled addresses are counted */
	annotate.input.options.keep_stacks = !annotate.filter.options.parent;
	annotate.sources.prefix = annotate.style.prefix;
	annotate.sources.strip = annotate.style.strip;
	status = run_annotate(&annotate);
	free(annotate.unmarked);
	return status;
}

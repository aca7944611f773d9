/* SPDX-License-Identifier: MIT */
/* perch annotate: options, the samples, and which functions are shown. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "annotate.h"
#include "browser/screen.h"
#include "terminal/color.h"
#include "options.h"
#include "shared_options.h"
#include "terminal/pager.h"

#define COMMAND ANNOTATE_COMMAND

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

/* The option with the name of a layout; its negation is one for the others. */
static int set_layout(const struct cli_given *given)
{
	static const struct {
		const char *name;
		enum annotate_layout layout, other;
	} layouts[] = {
		{ "stdio", LAYOUT_STDIO, LAYOUT_STDIO2 },
		{ "stdio2", LAYOUT_STDIO2, LAYOUT_STDIO },
		{ "tui", LAYOUT_BROWSER, LAYOUT_STDIO2 },
		{ "json", LAYOUT_JSON, LAYOUT_STDIO },
	};

	for (size_t i = 0; i < CLI_NR(layouts); i++)
		if (!strcmp(layouts[i].name, given->option->name))
			((struct annotate *)given->state)->layout =
				given->negated ? layouts[i].other : layouts[i].layout;
	return 0;
}

/* EVENT:START:DSO, as the browser of a report passes it. */
static int set_origin(const struct cli_given *given)
{
	struct annotate_origin *origin = given->state;
	int length = 0;

	if (sscanf(given->text, "%u:%" SCNx64 ":%n", &origin->event, &origin->start, &length) !=
		    2 ||
	    !length)
		return cli_usage_error(COMMAND, "--origin %s: expected EVENT:START:DSO",
				       given->text);
	origin->dso = given->text + length;
	return 0;
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

static int open_sources(struct annotate *annotate)
{
	const struct perch_sources_options sources = {
		.root = annotate->input.options.symbols.root,
		.prefix = annotate->style.prefix,
		.strip = annotate->style.strip,
	};
	struct perch_error err;

	return perch_sources_new(&annotate->sources, &sources, &err) ? cli_error(COMMAND, &err) : 0;
}

static int run_annotate(struct annotate *annotate)
{
	int status = cli_input_open(&annotate->input);

	if (!status)
		status = cli_check_unsupported(&annotate->unsupported, &annotate->input);
	if (!status)
		status = cli_filter_open(&annotate->filter, &annotate->input);
	if (!status)
		status = open_sources(annotate);
	if (status)
		return status;
	annotate->nr_events = perch_reader_events(perch_session_reader(annotate->input.session),
						  &annotate->events);
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
	perch_sources_free(annotate->sources);
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

/* Parses the arguments. Returns 0 or the exit status. */
static int parse_arguments(int argc, char **argv)
{
	const char *operand, *extra = cli_options_parse_operand(&cli_annotate_usage, &annotate,
								argc, argv, &operand);

	if (cli_input_refuse_files(COMMAND, operand, extra, "a function with -s"))
		return CLI_EXIT_USAGE;
	if (extra)
		return cli_usage_error(COMMAND, "expected one symbol; '%s' is too much", extra);
	if (operand && annotate.symbol)
		return cli_usage_error(COMMAND, "expected one symbol: remove '%s' (-s) or '%s'",
				       annotate.symbol, operand);
	if (annotate_style_check(&annotate.style, COMMAND))
		return CLI_EXIT_USAGE;
	if (annotate.layout == LAYOUT_BROWSER && !screen_is_possible())
		return cli_usage_error(COMMAND, "--tui needs a terminal on standard input and "
						"output, and the variable TERM");
	return set_symbol(&annotate, operand ? operand : annotate.symbol);
}

#define AT(member)   offsetof(struct annotate, member)
#define SETS(member) CLI_SETS(struct annotate, member)

static const struct cli_option options[] = {
	CLI_ROW(.table = cli_input_options, .at = AT(input)),
	CLI_ROW(.letter = 's', .name = "symbol", .argument = "SYMBOL", SETS(symbol),
		.help = "the function to show, as the operand"),
	CLI_ROW(.name = "stdio", .set = set_layout,
		.help = "rows as those of objdump (the default, except on a terminal)"),
	CLI_ROW(.name = "stdio2", .set = set_layout, .help = "rows with labels and arrows"),
	CLI_ROW(.name = "tui", .set = set_layout,
		.help = "a browser of functions (the default on a terminal)"),
	CLI_ROW(.table = cli_color_option, .at = AT(color), .help = "colors of --stdio"),
	CLI_ROW(.letter = 'j', .name = "json", .set = set_layout,
		.help = "print JSON: an object for each function, one in a line"),
	CLI_ROW(.letter = 'l', .name = "print-line", SETS(print_line),
		.help = "sum up the samples of source lines, too"),
	CLI_ROW(.letter = 'P', .name = "full-paths", SETS(full_paths),
		.help = "paths of files instead of their names"),
	CLI_ROW(.letter = 'n', .name = "show-nr-samples", SETS(show_samples),
		.help = "numbers of samples instead of percentages"),
	CLI_ROW(.name = "show-total-period", SETS(show_period),
		.help = "sums of periods instead of percentages"),
	CLI_ROW(.table = annotate_style_options, .at = AT(style)),
	CLI_ROW(.name = "percent-limit", .argument = "P", SETS(percent_limit),
		.help = "leave out functions below P percent of the event"),
	CLI_ROW(.name = "group", SETS(group),
		.help = "show all events in columns; groups always are"),
	CLI_ROW(.name = "skip-missing", SETS(skip_missing),
		.help = "say nothing about functions without instructions"),
	CLI_ROW(.table = cli_symbol_options, .at = AT(input)),
	CLI_ROW(.table = cli_filter_options, .at = AT(filter), .short_names = "-dC"),
	CLI_ROW(.table = cli_inline_option, .at = AT(no_inline),
		.help = "find samples by the names of inlined functions, too (default)"),
	CLI_ROW(.table = cli_parent_option, .at = AT(filter)),
	CLI_ROW(.table = cli_expression_option, .at = AT(filter)),
	CLI_ROW(.name = "origin", .argument = "EVENT:START:DSO", .at = AT(origin),
		.set = set_origin, .not_negated = true, .hidden = true),
	CLI_ROW(.letter = 'q', .name = "quiet", SETS(quiet), .help = "print no messages"),
	CLI_ROW(.letter = 'v', .name = "verbose", SETS(input.verbose),
		.help = "show the samples of each address first"),
	CLI_ROW(.table = cli_refused_dump_option),
	CLI_ROW(.name = "objdump", .argument = "PATH",
		.refusal = "no option --objdump: the library capstone finds the instructions",
		.hidden = true),
	CLI_ROW(.table = cli_unsupported_options, .at = AT(unsupported)),
	/* symbols of modules are always read */
	CLI_ROW(.table = cli_modules_option),
	CLI_ROW(.table = cli_no_pager_option),
	{ 0 },
};

const struct cli_usage cli_annotate_usage = {
	.name = COMMAND,
	.operands = "[OPTIONS] [SYMBOL]",
	.summary = "Shows the instructions of functions with their samples.",
	.options = options,
};

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
	annotate.filter.options.no_inline = annotate.no_inline;
	annotate.input.options.keep_stacks = !annotate.filter.options.parent;
	status = run_annotate(&annotate);
	free(annotate.unmarked);
	return status;
}

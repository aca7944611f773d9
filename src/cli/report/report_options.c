/* SPDX-License-Identifier: MIT */
/* The options of a report that have an argument of their own form. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/edit_distance.h"
#include "terminal/color.h"
#include "options.h"
#include "terminal/pager.h"
#include "report.h"
#include "shared_options.h"

/* ---- -g ---- */

enum graph_part { PART_SHAPE, PART_ORDER, PART_VALUE, PART_KEY, PART_BRANCH };

/* The words of -g: the part of the graph is in the upper bits of their value. */
#define WORD(part, value) ((part) << 8 | (value))

static const struct cli_word graph_words[] = {
	{ "graph", WORD(PART_SHAPE, SHAPE_GRAPH) },
	{ "flat", WORD(PART_SHAPE, SHAPE_FLAT) },
	{ "fractal", WORD(PART_SHAPE, SHAPE_FRACTAL) },
	{ "folded", WORD(PART_SHAPE, SHAPE_FOLDED) },
	{ "none", WORD(PART_SHAPE, SHAPE_NONE) },
	{ "caller", WORD(PART_ORDER, PERCH_CALL_GRAPH_CALLER) },
	{ "callee", WORD(PART_ORDER, PERCH_CALL_GRAPH_CALLEE) },
	{ "function", WORD(PART_KEY, PERCH_CALL_GRAPH_FUNCTION) },
	{ "srcline", WORD(PART_KEY, PERCH_CALL_GRAPH_LINE) },
	{ "address", WORD(PART_KEY, PERCH_CALL_GRAPH_ADDRESS) },
	{ "branch", WORD(PART_BRANCH, 0) },
	{ "percent", WORD(PART_VALUE, VALUE_PERCENT) },
	{ "period", WORD(PART_VALUE, VALUE_PERIOD) },
	{ "count", WORD(PART_VALUE, VALUE_COUNT) },
	{ 0 },
};

/*
 * Sets one of the parts, of which the argument has a bit each, by a word or by the start of one, as
 * perf takes it. False if there is none.
 */
static bool set_part(struct report_graph *graph, unsigned parts, const char *word, size_t length)
{
	const struct cli_word *found = graph_words;
	unsigned value;

	while (found->name && (!length || !(parts >> (found->value >> 8) & 1) ||
			       strncmp(word, found->name, length)))
		found++;
	if (!found->name)
		return false;
	value = found->value & 0xff;
	switch ((enum graph_part)(found->value >> 8)) {
	case PART_SHAPE:
		graph->shape = value;
		break;
	case PART_ORDER:
		graph->order = value;
		graph->order_set = true;
		break;
	case PART_VALUE:
		graph->value = value;
		break;
	case PART_KEY:
		graph->key = value;
		break;
	case PART_BRANCH:
		graph->branches = true;
		break;
	}
	return true;
}

/* The first number is the limit, the second the number of branches. */
static bool set_number(struct report_graph *graph, const char *word, size_t length, int *numbers)
{
	double limit;
	char *end;

	if (word[0] < '0' || word[0] > '9')
		return false;
	if ((*numbers)++ == 0) {
		limit = strtod(word, &end);
		graph->limit = limit;
		return end == word + length && limit <= 100;
	}
	graph->max = strtoul(word, &end, 10);
	return end == word + length && *numbers == 2;
}

/* Returns the word of -g that differs in few characters, or NULL. */
static const char *similar_word(const char *word, size_t length)
{
	unsigned least = (unsigned)length / 2 < 3 ? (unsigned)length / 2 + 1 : 3;
	const char *similar = NULL;
	char wanted[32];

	snprintf(wanted, sizeof(wanted), "%.*s", (int)length, word);
	for (const struct cli_word *listed = graph_words; listed->name; listed++) {
		unsigned distance = perch__edit_distance(wanted, listed->name);

		if (distance < least) {
			least = distance;
			similar = listed->name;
		}
	}
	return similar;
}

static int refuse_word(const char *command, const char *word, size_t length)
{
	const char *similar = similar_word(word, length);

	return cli_usage_error(
		command,
		"no call graph '%.*s'%s%s: use graph, flat, fractal, folded or none; "
		"caller or callee; function, srcline or address; branch; percent, period or "
		"count; and two numbers: the least percentage of a branch, and the "
		"most branches",
		(int)length, word, similar ? ", perhaps " : "", similar ? similar : "");
}

int report_set_graph(const char *command, struct report_graph *graph, const char *text)
{
	int numbers = 0;

	graph->shape = SHAPE_GRAPH;
	while (*text) {
		size_t length = strcspn(text, ",");

		if (length && !set_part(graph, ~0u, text, length) &&
		    !set_number(graph, text, length, &numbers))
			return refuse_word(command, text, length);
		text += length + (text[length] == ',');
	}
	return 0;
}

static int set_graph(const struct cli_given *given)
{
	struct report_graph *graph = given->state;

	if (!given->negated)
		/* as in perf, -g alone is a graph from the callers */
		return report_set_graph(given->command, graph,
					given->text ? given->text
						    : "graph,0.5,caller,function,percent");
	graph->shape = SHAPE_NONE;
	return 0;
}

static int set_inverted(const struct cli_given *given)
{
	struct report_graph *graph = given->state;

	graph->order = given->negated ? PERCH_CALL_GRAPH_CALLEE : PERCH_CALL_GRAPH_CALLER;
	graph->order_set = true;
	return 0;
}

/* ---- others ---- */

static int set_branches(const struct cli_given *given)
{
	struct report *report = given->state;

	report->branches = !given->negated;
	report->branches_set = true;
	return 0;
}

static int set_limit(const struct cli_given *given)
{
	struct report *report = given->state;

	report->percent_limit = given->percent;
	report->graph.limit = given->negated ? 0.5 : given->percent;
	return 0;
}

static int set_quantum(const struct cli_given *given)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
	struct report *report = given->state;
	unsigned long number;
	char *end;

	report->time_quantum = 0;
	if (given->negated)
		return 0;
	number = strtoul(given->text, &end, 10);
	for (size_t i = 0; i < CLI_NR(units); i++)
		if (isdigit((unsigned char)given->text[0]) && !strcmp(end, units[i].name) &&
		    number <= 1000000000)
			report->time_quantum = number * units[i].ns;
	if (!report->time_quantum)
		return cli_usage_error(
			given->command,
			"--time-quantum '%s': expected a number with ns, us, ms or s", given->text);
	return 0;
}

static int set_widths(const struct cli_given *given)
{
	struct report *report = given->state;
	const char *at = given->text;
	size_t nr = 0;

	memset(report->widths, 0, sizeof(report->widths));
	if (given->negated)
		return 0;
	while (true) {
		char *end;
		unsigned long width = strtoul(at, &end, 10);

		if (!isdigit((unsigned char)*at) || (*end && *end != ',') || width > 4096 ||
		    nr == CLI_NR(report->widths))
			return cli_usage_error(given->command,
					       "-w '%s': expected up to %zu widths of 0 to 4096, "
					       "separated by commas",
					       given->text, CLI_NR(report->widths));
		report->widths[nr++] = width;
		if (!*end)
			return 0;
		at = end + 1;
	}
}

static int set_separator(const struct cli_given *given)
{
	struct report *report = given->state;

	report->separator = NULL;
	if (given->negated)
		return 0;
	report->separator = strcmp(given->text, "\\t") ? given->text : "\t";
	if (!given->text[0] || given->text[0] == '.' ||
	    (report->separator[1] && report->separator == given->text))
		return cli_usage_error(given->command,
				       "-t '%s': expected one character other than a dot, or \\t",
				       given->text);
	return 0;
}

static int set_children(const struct cli_given *given)
{
	struct report *report = given->state;

	report->children = !given->negated;
	report->children_set = true;
	return 0;
}

static int set_browser(const struct cli_given *given)
{
	struct report *report = given->state;

	report->tui = !given->negated;
	report->stdio = given->negated;
	return 0;
}

static int set_group(const struct cli_given *given)
{
	struct report *report = given->state;

	report->group = !given->negated;
	report->no_group = given->negated;
	return 0;
}

#define AT(member)   offsetof(struct report, member)
#define SETS(member) CLI_SETS(struct report, member)

const struct cli_option report_row_options[] = {
	CLI_ROW(.name = "fields", .argument = "COLUMNS", SETS(output),
		.help = "columns that are printed; +COLUMNS adds to the others"),
	CLI_ROW(.name = "children", .set = set_children,
		.help = "add the samples of called functions to their callers (default with call chains)"),
	CLI_ROW(.table = cli_max_stack_option, .at = AT(filter)),
	CLI_ROW(.table = cli_ignore_callees_option, .at = AT(ignore_callees)),
	CLI_ROW(.name = "hierarchy", SETS(hierarchy),
		.help = "rows as a tree, whose levels are the columns of -s"),
	CLI_ROW(.name = "group", .set = set_group,
		.help = "the events of a group side by side (default), or all events without groups"),
	CLI_ROW(.name = "percent-limit", .argument = "P", .kind = CLI_PERCENT, .set = set_limit,
		.help = "leave out rows and branches below P percent"),
	CLI_ROW(.table = cli_percentage_option, .at = AT(relative)),
	CLI_ROW(.letter = 'n', .name = "show-nr-samples", SETS(show_samples),
		.help = "print the number of samples"),
	CLI_ROW(.name = "show-total-period", SETS(show_period), .help = "print the sum of periods"),
	CLI_ROW(.letter = 'w', .name = "column-widths", .argument = "WIDTHS", .set = set_widths,
		.help = "widths of the columns, separated by commas; 0 is the width of the text"),
	CLI_ROW(.name = "stdio", SETS(stdio),
		.help = "text on standard output, also on a terminal"),
	CLI_ROW(.name = "tui", .set = set_browser, .help = "a browser (default on a terminal)"),
	{ 0 },
};

const struct cli_option report_options[] = {
	CLI_ROW(.table = cli_input_options, .at = AT(input)),
	CLI_ROW(.table = cli_jobs_option, .at = AT(input)),
	CLI_ROW(.letter = 's', .name = "sort", .argument = "COLUMNS", SETS(sort),
		.help = "columns that group samples (comm,dso,sym)"),
	CLI_ROW(.table = report_row_options, .short_names = "F"),
	CLI_ROW(.letter = 'b', .name = "branch-stack", .set = set_branches,
		.help = "count branches, not samples (default for files with branch stacks)"),
	CLI_ROW(.name = "branch-history", SETS(branch_history),
		.help = "call graphs of addresses, with the branches before each sample"),
	CLI_ROW(.name = "total-cycles", SETS(total_cycles),
		.help = "print the basic blocks of branch stacks with the most cycles"),
	CLI_ROW(.name = "mem-mode", SETS(memory),
		.help = "count accesses to memory by their weight"),
	CLI_ROW(.letter = 'g', .name = "call-graph", .argument = "SHAPE,LIMIT,MAX,ORDER,KEY,VALUE",
		.at = AT(graph), .set = set_graph, .optional = true, .kind = CLI_BITS,
		.words = graph_words, .open = true,
		.help = "call graph below each row: its shape, caller or callee, limits"),
	CLI_ROW(.letter = 'G', .name = "inverted", .at = AT(graph), .set = set_inverted,
		.help = "the same as -g caller"),
	CLI_ROW(.name = "group-sort-idx", .argument = "N", SETS(group_sort),
		.help = "sort the rows of a group by its event N, from 0 on"),
	CLI_ROW(.name = "latency", SETS(latency),
		.help = "sort by latency: periods divided by the number of running threads"),
	CLI_ROW(.letter = 'e', .name = "event", .argument = "EVENT", SETS(event),
		.help = "only samples of this event, by its name"),
	CLI_ROW(.table = cli_filter_options, .at = AT(filter), .short_names = "cdC"),
	CLI_ROW(.table = cli_expression_option, .at = AT(filter)),
	CLI_ROW(.table = cli_switch_options, .at = AT(switching)),
	CLI_ROW(.table = cli_ns_option, .at = AT(ns)),
	CLI_ROW(.table = cli_full_source_path_option, .at = AT(full_paths)),
	CLI_ROW(.name = "raw-trace", SETS(raw_trace),
		.help = "print the fields of tracepoints as they are recorded"),
	CLI_ROW(.table = cli_function_options, .at = AT(filter)),
	CLI_ROW(.letter = 'p', .name = "parent", .argument = "REGEX", SETS(parent),
		.help = "print the column parent: the caller with a name like this"),
	CLI_ROW(.name = "time-quantum", .argument = "TIME", .set = set_quantum,
		.help = "width of the column time: 10ms, 1s... (100ms)"),
	CLI_ROW(.name = "show-cpu-utilization", SETS(show_cpu),
		.help = "print the shares of kernel and user space"),
	CLI_ROW(.letter = 't', .name = "field-separator", .argument = "C", .set = set_separator,
		.help = "print this character between columns, unpadded"),
	CLI_ROW(.letter = 'j', .name = "json", SETS(json),
		.help = "print a JSON object for each row"),
	CLI_ROW(.name = "stats", SETS(stats),
		.help = "print the number of records of each type instead"),
	CLI_ROW(.name = "skip-empty", SETS(show_empty), .inverted = true,
		.help = "with --stats, only types with records (default)"),
	CLI_ROW(.name = "tasks", SETS(tasks), .help = "print the threads of the recording instead"),
	CLI_ROW(.name = "mmaps", SETS(mmaps),
		.help = "print the threads, and the mappings of their processes"),
	CLI_ROW(.letter = 'T', .name = "threads", SETS(show_threads),
		.help = "print the counts of threads, too (record -s)"),
	CLI_ROW(.table = cli_header_option, .at = AT(header)),
	CLI_ROW(.table = cli_header_only_option, .at = AT(header_only)),
	CLI_ROW(.table = cli_show_info_option, .at = AT(long_header)),
	CLI_ROW(.table = cli_symbol_options, .at = AT(input)),
	CLI_ROW(.table = annotate_style_options, .at = AT(style)),
	CLI_ROW(.table = cli_unsupported_options, .at = AT(unsupported)),
	CLI_ROW(.table = cli_modules_option),
	CLI_ROW(.name = "samples", .argument = "N", .kind = CLI_IGNORED, .hidden = true),
	CLI_ROW(.table = cli_inline_option, .at = AT(no_inline)),
	CLI_ROW(.table = cli_color_option, .at = AT(color)),
	CLI_ROW(.table = cli_refused_dump_option),
	CLI_ROW(.letter = 'v', .name = "verbose", SETS(input.verbose),
		.help = "do not fit columns to the terminal, list unverified files"),
	CLI_ROW(.letter = 'q', .name = "quiet", SETS(quiet),
		.help = "print only rows: no comments, no notes"),
	CLI_ROW(.table = cli_no_pager_option),
	{ 0 },
};

/* ---- the user's defaults ---- */

static int set_bool(bool *flag, const char *value)
{
	*flag = !strcmp(value, "true") || !strcmp(value, "yes") || !strcmp(value, "1");
	return *flag || !strcmp(value, "false") || !strcmp(value, "no") || !strcmp(value, "0")
		       ? 0
		       : -EINVAL;
}

static int set_percentage(double *limit, const char *value)
{
	char *end;
	double number = strtod(value, &end);

	if (end == value || *end || !(number >= 0 && number <= 100))
		return -EINVAL;
	*limit = number;
	return 0;
}

static int set_maximum(unsigned long *max, const char *value)
{
	uint64_t number;

	if (!cli_parse_number(value, &number) || number > ULONG_MAX)
		return -EINVAL;
	*max = (unsigned long)number;
	return 0;
}

/* Sets what a variable has. 0, or -EINVAL. */
static int set_variable(struct report *report, const char *name, const char *value)
{
	struct report_graph *graph = &report->graph;
	bool flag = false;
	char unused[256];
	int rc = 0;

	if (!strcmp(name, "report.sort_order")) {
		rc = report_are_columns(NULL, value, unused, sizeof(unused)) ? 0 : -EINVAL;
		report->sort = rc ? report->sort : value;
	} else if (!strcmp(name, "report.percent-limit")) {
		rc = set_percentage(&report->percent_limit, value);
	} else if (!strcmp(name, "report.children")) {
		rc = set_bool(&flag, value);
		if (!rc) {
			report->children = flag;
			report->children_set = !flag; /* true is the default of --children */
		}
	} else if (!strcmp(name, "report.group")) {
		rc = set_bool(&flag, value);
		report->no_group = !rc && !flag;
	} else if (!strcmp(name, "report.skip-empty")) {
		rc = set_bool(&flag, value);
		report->show_empty = !rc && !flag;
	} else if (!strcmp(name, "hist.percentage")) {
		report->relative = !strcmp(value, "relative");
		rc = report->relative || !strcmp(value, "absolute") ? 0 : -EINVAL;
	} else if (!strcmp(name, "call-graph.print-type")) {
		rc = set_part(graph, 1 << PART_SHAPE, value, strlen(value)) ? 0 : -EINVAL;
	} else if (!strcmp(name, "call-graph.order")) {
		rc = set_part(graph, 1 << PART_ORDER, value, strlen(value)) ? 0 : -EINVAL;
	} else if (!strcmp(name, "call-graph.threshold")) {
		rc = set_percentage(&graph->limit, value);
	} else if (!strcmp(name, "call-graph.print-limit")) {
		rc = set_maximum(&graph->max, value);
	} else if (!strcmp(name, "report.queue-size")) {
		rc = set_maximum(&(unsigned long){ 0 }, value);
	} else if (!strcmp(name, "call-graph.sort-key")) {
		rc = set_part(graph, 1 << PART_KEY, value, strlen(value)) ? 0 : -EINVAL;
	}
	return rc;
}

bool report_takes_variable(const char *name, const char *value)
{
	struct report report = { .sort = NULL };

	return !set_variable(&report, name, value);
}

int report_set_defaults(struct report *report)
{
	size_t nr;
	const struct cli_variable *variables = cli_variables(&nr);
	int status = cli_config_read(&report->config, report->input.command);

	for (size_t i = 0; i < nr && !status; i++) {
		const struct cli_config_item *item =
			cli_config_find(&report->config, variables[i].name);

		if (item && set_variable(report, variables[i].name, item->value))
			cli_note(report->input.command,
				 "%s:%u: %s: expected %s; the line is not used",
				 report->config.path, item->line, variables[i].name,
				 variables[i].values);
	}
	return status;
}

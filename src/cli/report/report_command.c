/* SPDX-License-Identifier: MIT */
/* The command line of a report. */
#include <string.h>

#include "options.h"
#include "terminal/pager.h"
#include "report.h"

#define COMMAND "report"

const struct cli_usage cli_report_usage = {
	.name = "report",
	.operands = "[OPTIONS] [TEXT]",
	.summary = "Prints a profile of the samples of a perf.data file.",
};

static struct report report = {
	.input.command = "report",
	.graph = { .shape = SHAPE_GRAPH, .limit = 0.5 },
};

/*
 * Options of perf that need nothing here: symbols of modules are always read, and the browser has
 * no list of single samples.
 */
static struct {
	bool modules;
	uint64_t samples;
} without_effect;

static int set_percent_type(void *style, const char *argument, bool negated)
{
	return annotate_style_set_percent_type(style, COMMAND, argument, negated);
}

static int set_syntax(void *style, const char *argument, bool negated)
{
	return annotate_style_set_syntax(style, COMMAND, argument, negated);
}

static const struct cli_option options[] = {
	CLI_INPUT_OPTIONS(&report.input),
	{ 's', "sort", "COLUMNS", "columns that group samples (comm,dso,sym)", CLI_STRING,
	  &report.sort, NULL, false, false },
	{ 'F', "fields", "COLUMNS", "columns that are printed; +COLUMNS adds to the others",
	  CLI_STRING, &report.output, NULL, false, false },
	{ 'b', "branch-stack", NULL,
	  "count branches, not samples (default for files with branch stacks)", CLI_CALL, &report,
	  report_option_branches, false, false },
	{ 0, "branch-history", NULL,
	  "call graphs of addresses, with the branches before each sample", CLI_FLAG,
	  &report.branch_history, NULL, false, false },
	{ 0, "total-cycles", NULL, "print the basic blocks of branch stacks with the most cycles",
	  CLI_FLAG, &report.total_cycles, NULL, false, false },
	{ 0, "mem-mode", NULL, "count accesses to memory by their weight", CLI_FLAG, &report.memory,
	  NULL, false, false },
	{ 0, "children", NULL,
	  "add the samples of called functions to their callers (default with call chains)",
	  CLI_CALL, &report, report_option_children, false, false },
	{ 'g', "call-graph", "SHAPE,LIMIT,MAX,ORDER,KEY,VALUE",
	  "call graph below each row: its shape, caller or callee, limits", CLI_CALL, &report,
	  report_option_graph, true, false },
	{ 'G', "inverted", NULL, "the same as -g caller", CLI_CALL, &report, report_option_inverted,
	  false, false },
	CLI_CHAIN_OPTIONS(&report.filter, &report.ignore_callees),
	{ 0, "hierarchy", NULL, "rows as a tree, whose levels are the columns of -s", CLI_FLAG,
	  &report.hierarchy, NULL, false, false },
	{ 0, "group", NULL,
	  "the events of a group side by side (default), or all events without groups", CLI_CALL,
	  &report, report_option_group, false, false },
	{ 0, "group-sort-idx", "N", "sort the rows of a group by its event N, from 0 on",
	  CLI_NUMBER, &report.group_sort, NULL, false, false },
	{ 0, "percent-limit", "P", "leave out rows and branches below P percent", CLI_CALL, &report,
	  report_option_limit, false, false },
	{ 0, "latency", NULL, "sort by latency: periods divided by the number of running threads",
	  CLI_FLAG, &report.latency, NULL, false, false },
	CLI_FILTER_OPTIONS(&report.filter, 'c', 'd', 'C'),
	CLI_FILTER_EXPRESSION_OPTION(&report.filter),
	CLI_SWITCH_OPTIONS(&report.switching),
	{ 0, "ns", NULL, "print times with nanoseconds (-s time)", CLI_FLAG, &report.ns, NULL,
	  false, false },
	{ 0, "full-source-path", NULL, "print source files with directories", CLI_FLAG,
	  &report.full_paths, NULL, false, false },
	{ 0, "raw-trace", NULL, "print the fields of tracepoints as they are recorded", CLI_FLAG,
	  &report.raw_trace, NULL, false, false },
	CLI_FUNCTION_OPTIONS(&report.filter),
	{ 'p', "parent", "REGEX", "print the column parent: the caller with a name like this",
	  CLI_STRING, &report.parent, NULL, false, false },
	{ 0, "percentage", "KIND",
	  "of all samples (absolute, default) or of the selected ones (relative)", CLI_CALL,
	  &report, report_option_percentage, false, false },
	{ 0, "time-quantum", "TIME", "width of the column time: 10ms, 1s... (100ms)", CLI_CALL,
	  &report, report_option_quantum, false, false },
	{ 'n', "show-nr-samples", NULL, "print the number of samples", CLI_FLAG,
	  &report.show_samples, NULL, false, false },
	{ 0, "show-total-period", NULL, "print the sum of periods", CLI_FLAG, &report.show_period,
	  NULL, false, false },
	{ 0, "show-cpu-utilization", NULL, "print the shares of kernel and user space", CLI_FLAG,
	  &report.show_cpu, NULL, false, false },
	{ 't', "field-separator", "C", "print this character between columns, unpadded", CLI_CALL,
	  &report, report_option_separator, false, false },
	{ 'j', "json", NULL, "print a JSON object for each row", CLI_FLAG, &report.json, NULL,
	  false, false },
	{ 0, "stats", NULL, "print the number of records of each type instead", CLI_FLAG,
	  &report.stats, NULL, false, false },
	{ 0, "skip-empty", NULL, "with --stats, only types with records (default)", CLI_CALL,
	  &report, report_option_skip_empty, false, false },
	{ 0, "tasks", NULL, "print the threads of the recording instead", CLI_FLAG, &report.tasks,
	  NULL, false, false },
	{ 0, "mmaps", NULL, "print the threads, and the mappings of their processes", CLI_FLAG,
	  &report.mmaps, NULL, false, false },
	{ 'T', "threads", NULL, "print the counts of threads, too (record -s)", CLI_FLAG,
	  &report.show_threads, NULL, false, false },
	{ 0, "header", NULL, "print the header of the file, too", CLI_FLAG, &report.header, NULL,
	  false, false },
	{ 0, "header-only", NULL, "print only the header", CLI_FLAG, &report.header_only, NULL,
	  false, false },
	{ 'I', "show-info", NULL, "print the header with topology, caches and memory, too",
	  CLI_FLAG, &report.long_header, NULL, false, false },
	{ 0, "kallsyms", "FILE", "kernel symbols (/proc/kallsyms)", CLI_STRING,
	  &report.input.options.symbols.kallsyms, NULL, false, false },
	CLI_SYMBOL_OPTIONS(&report.input),
	ANNOTATE_STYLE_OPTIONS(&report.style, set_percent_type, set_syntax),
	CLI_UNSUPPORTED_OPTIONS(&report.unsupported),
	{ 'm', "modules", NULL, "", CLI_FLAG, &without_effect.modules, NULL, false, true },
	{ 0, "samples", "N", "", CLI_NUMBER, &without_effect.samples, NULL, false, true },
	{ 0, "inline", NULL, "show inlined functions in call chains (default)", CLI_CALL, &report,
	  report_option_inline, false, false },
	{ 0, "stdio", NULL, "text on standard output, also on a terminal", CLI_FLAG, &report.stdio,
	  NULL, false, false },
	{ 0, "tui", NULL, "a browser (default on a terminal)", CLI_CALL, &report,
	  report_option_browser, false, false },
	{ 0, "stdio-color", "WHEN", "colors of percentages: always, never or auto (never)",
	  CLI_CALL, &report, report_option_color, true, false },
	{ 'D', "dump-raw-trace", NULL, "", CLI_CALL, (void *)"report", cli_input_refuse_dump, false,
	  true },
	{ 'w', "column-widths", "WIDTHS",
	  "widths of the columns, separated by commas; 0 is the width of the text", CLI_CALL,
	  &report, report_option_widths, false, false },
	{ 'v', "verbose", NULL, "do not fit columns to the terminal, list unverified files",
	  CLI_COUNT, &report.input.verbose, NULL, false, false },
	{ 'q', "quiet", NULL, "print only rows: no comments, no notes", CLI_FLAG, &report.quiet,
	  NULL, false, false },
	CLI_NO_PAGER,
};

/* Refuses options that exclude each other. */
static int check_options(void)
{
	report.full = report.input.verbose;
	if (report.hierarchy && report.json)
		return cli_usage_error(COMMAND, "--hierarchy is not possible with --json");
	if (report.show_threads && report.json)
		return cli_usage_error(COMMAND, "--threads is not possible with --json");
	return annotate_style_check(&report.style, COMMAND);
}

/* Parses the arguments. The operand is the text of --symbol-filter, as in perf. Returns 0 or
 * CLI_EXIT_USAGE. */
static int parse_arguments(int argc, char **argv)
{
	const char *operand, *extra = cli_parse_operand(&cli_report_usage, options, CLI_NR(options),
							argc, argv, &operand);

	if (cli_input_refuse_files(COMMAND, operand, extra,
				   "a part of function names with --symbol-filter"))
		return CLI_EXIT_USAGE;
	if (extra)
		return cli_usage_error(
			COMMAND, "expected one text of function names; '%s' is too much", extra);
	if (operand && report.filter.symbol_part)
		return cli_usage_error(COMMAND, "'%s' and --symbol-filter exclude each other",
				       operand);
	if (operand)
		report.filter.symbol_part = operand;
	return 0;
}

int report_parse(struct report **result, int argc, char **argv)
{
	int status = report_set_defaults(&report);

	if (!status)
		status = parse_arguments(argc, argv);
	if (status)
		return status;
	cli_filter_exclude_other(&report.filter, report.parent);
	if (report.branch_history) {
		report.graph.branches = true;
		report.graph.key = PERCH_CALL_GRAPH_ADDRESS;
	}
	report.input.options.branch_history = report.graph.branches;
	status = check_options();
	if (!status)
		status = report_set_keys(&report);
	if (!status)
		status = report_set_columns(&report); /* reports wrong names before it reads */
	report.header |= report.long_header && !report.header_only;
	report.input.options.file_order = report.stats;
	report.argv = argv;
	*result = &report;
	return status;
}

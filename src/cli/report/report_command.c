/* SPDX-License-Identifier: MIT */
/* The command line of a report. */
#include <string.h>

#include "options.h"
#include "report.h"

#define COMMAND "report"

const struct cli_usage cli_report_usage = {
	.name = "report",
	.operands = "[OPTIONS] [TEXT]",
	.summary = "Prints a profile of the samples of a perf.data file.",
	.options = report_options,
};

static struct report report = {
	.input.command = "report",
	.graph = { .shape = SHAPE_GRAPH, .limit = 0.5 },
};

/* Refuses options that exclude each other. */
static int check_options(void)
{
	report.full = report.input.verbose;
	if (report.hierarchy && report.json)
		return cli_refuse_both(COMMAND, "--hierarchy", "--json");
	if (report.show_threads && report.json)
		return cli_refuse_both(COMMAND, "--threads", "--json");
	return annotate_style_check(&report.style, COMMAND);
}

/* Parses the arguments. The operand is the text of --symbol-filter, as in perf. Returns 0 or
 * CLI_EXIT_USAGE. */
static int parse_arguments(int argc, char **argv)
{
	const char *operand, *extra = cli_options_parse_operand(&cli_report_usage, &report, argc,
								argv, &operand);

	if (cli_input_refuse_files(COMMAND, operand, extra,
				   "a part of function names with --symbol-filter"))
		return CLI_EXIT_USAGE;
	if (extra)
		return cli_usage_error(
			COMMAND, "expected one text of function names; '%s' is too much", extra);
	if (operand && report.filter.symbol_part)
		return cli_usage_error(
			COMMAND,
			"'%s' and --symbol-filter are both a text of function names: remove one",
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

/* SPDX-License-Identifier: MIT */
/* perch report: a profile of the samples of a file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "pager.h"
#include "report_group.h"
#include "report_threads.h"

#define COMMAND REPORT_COMMAND

const struct cli_usage cli_report_usage = {
	.name = COMMAND,
	.operands = "[OPTIONS]",
	.summary = "Prints a profile of the samples of a perf.data file.",
};

/*
 * Sets perf's defaults: with call chains --children and caller graphs; with --no-children callee
 * graphs.
 */
static void set_default_graph(struct report *report, bool chains)
{
	if (!report->children_set)
		report->children = chains;
	if (!chains) {
		report->children = false;
		report->graph.shape = SHAPE_NONE;
	}
	if (!report->graph.order_set)
		report->graph.order = report->children ? PERCH_CALL_GRAPH_CALLER
						       : PERCH_CALL_GRAPH_CALLEE;
	/* as in perf: the graph is that of --children, the rows are not */
	if (report->hierarchy)
		report->children = false;
}

static bool has_samples(const struct perch_profile *profile, unsigned event, size_t nr)
{
	bool found = false;

	for (size_t i = 0; i < nr; i++) {
		struct perch_profile_total total;

		perch_profile_get_total(profile, event + i, &total);
		found |= total.all_samples > 0;
	}
	return found;
}

/* Prints the table of each event. */
static int print_events(FILE *out, struct report *report, struct perch_profile *profile)
{
	struct perch_reader *reader = perch_session_reader(report->input.session);
	const struct perch_file_event *events;
	struct perch_session_stats stats;
	size_t nr = perch_reader_events(reader, &events);
	int status = 0;

	if (!report->quiet)
		report_put_hidden(out, report);
	if (report->header)
		perch_reader_print_header(reader, out);
	else if (!report->quiet)
		fputs("# To display the perf.data header info, please use --header/--header-only options.\n#\n",
		      out);
	perch_session_get_stats(report->input.session, &stats);
	if (!report->quiet)
		fprintf(out, "#\n# Total Lost Samples: %" PRIu64 "\n", stats.lost);
	for (size_t event = 0, members; event < nr && !status; event += members) {
		members = report_group_events(report, events, event, nr - event);
		if (has_samples(profile, event, members)) {
			struct report of_events = report_of_events(report, event, members);

			status = report_print_event(out, &of_events, profile, events, event,
						    members);
		}
	}
	if (report->threads && !status)
		status = report_threads_put(out, report->threads, events);
	return status;
}

/* Prints what the samples of the file lack. */
static void print_notes(const struct report *report, const struct perch_profile *profile)
{
	struct perch_reader *reader = perch_session_reader(report->input.session);
	const struct perch_file_event *events;
	struct perch_session_stats stats;
	const char *without_cpu = NULL;
	size_t nr = perch_reader_events(reader, &events), present = 0;

	for (size_t event = 0; event < nr; event++) {
		struct perch_profile_total total;

		perch_profile_get_total(profile, event, &total);
		if (!total.all_samples)
			continue;
		present++;
		if (report_has_column(&report->keys, perch_column_find("cpu", 3)) &&
		    !(events[event].attr.sample_type & PERCH_SAMPLE_CPU))
			without_cpu = events[event].name;
	}
	if (without_cpu)
		cli_note(COMMAND,
			 "the samples of %s have no CPU, which is shown as -001; record with "
			 "--sample-cpu, -a or -C",
			 without_cpu);
	perch_session_get_stats(report->input.session, &stats);
	if (!present && !report->filter.filter && !report->resolved &&
	    !stats.damage.missing_bytes && !stats.damage.corrupt_bytes)
		cli_note(
			COMMAND,
			"%s has no samples: a program that runs for less than one sample period causes "
			"none; record for longer, or with a higher frequency (-F)",
			report->input.path);
}

static int print_report(FILE *out, struct report *report)
{
	struct perch_profile *profile = NULL;
	bool chains;
	int status = report_read(report, &profile, &chains);

	if (!status) {
		set_default_graph(report, chains);
		status = report_set_columns(report);
	}
	if (!status) {
		cli_start_pager();
		status = report->json ? report_print_json(out, report, profile)
				      : print_events(out, report, profile);
	}
	if (!status && !report->quiet) {
		print_notes(report, profile);
		cli_filter_print_notes(&report->filter, &report->input);
	}
	perch_profile_free(profile);
	return status;
}

/* Prints what the options ask for. */
static int run(struct report *report)
{
	int status = 0;

	if (report->header_only) {
		cli_start_pager();
		perch_reader_print_header(perch_session_reader(report->input.session), stdout);
		return 0;
	}
	if (report->stats)
		return report_print_stats(stdout, report);
	if (report->tasks || report->mmaps)
		return report_print_tasks(stdout, report);
	if (report->exclude_other)
		report->filter.options.parent = report->parent ? report->parent
							       : "^sys_|^do_page_fault";
	status = report_set_mode(report);
	if (!status)
		status = report_set_keys(report);
	if (!status)
		status = cli_filter_open(&report->filter, &report->input);
	if (!status && report->show_threads) {
		report->threads = report_threads_new();
		if (!report->threads) {
			cli_note(COMMAND, "no memory for the counts of threads");
			status = CLI_EXIT_FAILURE;
		}
	}
	if (!status)
		status = print_report(stdout, report);
	report_threads_free(report->threads);
	report->threads = NULL;
	return status;
}

/* Refuses options that exclude each other. */
static int check_options(const struct report *report)
{
	if (report->hierarchy && (report->json || report->output))
		return cli_usage_error(COMMAND, "--hierarchy is not possible with %s",
				       report->json ? "--json" : "--fields");
	if (report->show_threads && report->json)
		return cli_usage_error(COMMAND, "--threads is not possible with --json");
	return 0;
}

int perch_cmd_report(int argc, char **argv)
{
	static struct report report = {
		.input.command = COMMAND,
		.graph = { .shape = SHAPE_GRAPH, .limit = 0.5 },
	};
	bool stdio = true, info = false;
	const struct cli_option options[] = {
		CLI_INPUT_OPTIONS(&report.input),
		{ 's', "sort", "COLUMNS", "columns that group samples (comm,dso,sym)", CLI_STRING,
		  &report.sort, NULL, false, false },
		{ 'F', "fields", "COLUMNS", "columns that are printed; +COLUMNS adds to the others",
		  CLI_STRING, &report.output, NULL, false, false },
		{ 'b', "branch-stack", NULL,
		  "count branches, not samples (default for files with branch stacks)", CLI_CALL,
		  &report, report_option_branches, false, false },
		{ 0, "total-cycles", NULL,
		  "print the basic blocks of branch stacks with the most cycles", CLI_FLAG,
		  &report.total_cycles, NULL, false, false },
		{ 0, "mem-mode", NULL, "count accesses to memory by their weight", CLI_FLAG,
		  &report.memory, NULL, false, false },
		{ 0, "children", NULL,
		  "add the samples of called functions to their callers (default with call chains)",
		  CLI_CALL, &report, report_option_children, false, false },
		{ 'g', "call-graph", "SHAPE,LIMIT,MAX,ORDER,VALUE",
		  "call graph below each row: its shape, caller or callee, limits", CLI_CALL,
		  &report, report_option_graph, true, false },
		{ 'G', "inverted", NULL, "the same as -g caller", CLI_CALL, &report,
		  report_option_inverted, false, false },
		{ 0, "max-stack", "N", "use at most N addresses of call chains", CLI_NUMBER,
		  &report.max_stack, NULL, false, false },
		{ 0, "hierarchy", NULL, "rows as a tree, whose levels are the columns of -s",
		  CLI_FLAG, &report.hierarchy, NULL, false, false },
		{ 0, "group", NULL,
		  "the events of a group side by side (default), or all events without groups",
		  CLI_CALL, &report, report_option_group, false, false },
		{ 0, "group-sort-idx", "N", "sort the rows of a group by its event N, from 0 on",
		  CLI_NUMBER, &report.group_sort, NULL, false, false },
		{ 0, "percent-limit", "P", "leave out rows and branches below P percent", CLI_CALL,
		  &report, report_option_limit, false, false },
		CLI_FILTER_OPTIONS(&report.filter, 'c', 'd', 'C'),
		CLI_FILTER_EXPRESSION_OPTION(&report.filter),
		{ 0, "symbol-filter", "TEXT",
		  "only samples in functions with this text in the name", CLI_STRING,
		  &report.symbol_part, NULL, false, false },
		{ 'U', "hide-unresolved", NULL, "only samples in functions with a name", CLI_FLAG,
		  &report.resolved, NULL, false, false },
		{ 'p', "parent", "REGEX",
		  "print the column parent: the caller with a name like this", CLI_STRING,
		  &report.parent, NULL, false, false },
		{ 'x', "exclude-other", NULL, "only samples with a parent", CLI_FLAG,
		  &report.exclude_other, NULL, false, false },
		{ 0, "ignore-callees", "REGEX",
		  "count samples for the outermost function with a name like this", CLI_STRING,
		  &report.ignore_callees, NULL, false, false },
		{ 0, "percentage", "KIND",
		  "of all samples (absolute, default) or of the selected ones (relative)", CLI_CALL,
		  &report, report_option_percentage, false, false },
		{ 0, "time-quantum", "TIME", "width of the column time: 10ms, 1s... (100ms)",
		  CLI_CALL, &report, report_option_quantum, false, false },
		{ 'n', "show-nr-samples", NULL, "print the number of samples", CLI_FLAG,
		  &report.show_samples, NULL, false, false },
		{ 0, "show-total-period", NULL, "print the sum of periods", CLI_FLAG,
		  &report.show_period, NULL, false, false },
		{ 0, "show-cpu-utilization", NULL, "print the shares of kernel and user space",
		  CLI_FLAG, &report.show_cpu, NULL, false, false },
		{ 't', "field-separator", "C", "print this character between columns, unpadded",
		  CLI_CALL, &report, report_option_separator, false, false },
		{ 'j', "json", NULL, "print a JSON object for each row", CLI_FLAG, &report.json,
		  NULL, false, false },
		{ 0, "stats", NULL, "print the number of records of each type instead", CLI_FLAG,
		  &report.stats, NULL, false, false },
		{ 0, "skip-empty", NULL, "with --stats, only types with records (default)",
		  CLI_CALL, &report, report_option_skip_empty, false, false },
		{ 0, "tasks", NULL, "print the threads of the recording instead", CLI_FLAG,
		  &report.tasks, NULL, false, false },
		{ 0, "mmaps", NULL, "print the threads, and the mappings of their processes",
		  CLI_FLAG, &report.mmaps, NULL, false, false },
		{ 'T', "threads", NULL, "print the counts of threads, too (record -s)", CLI_FLAG,
		  &report.show_threads, NULL, false, false },
		{ 0, "header", NULL, "print the header of the file, too", CLI_FLAG, &report.header,
		  NULL, false, false },
		{ 0, "header-only", NULL, "print only the header", CLI_FLAG, &report.header_only,
		  NULL, false, false },
		{ 'I', "show-info", NULL, "all lines of the header (always so)", CLI_FLAG, &info,
		  NULL, false, true },
		{ 0, "kallsyms", "FILE", "kernel symbols (/proc/kallsyms)", CLI_STRING,
		  &report.input.options.symbols.kallsyms, NULL, false, false },
		CLI_SYMBOL_OPTIONS(&report.input),
		{ 0, "inline", NULL, "show inlined functions in call chains (default)", CLI_CALL,
		  &report, report_option_inline, false, false },
		{ 0, "stdio", NULL, "text on standard output (always so)", CLI_FLAG, &stdio, NULL,
		  false, false },
		{ 0, "stdio-color", "WHEN", "colors of percentages: always, never or auto (never)",
		  CLI_CALL, &report, report_option_color, true, false },
		{ 'D', "dump-raw-trace", NULL, "", CLI_CALL, (void *)COMMAND, cli_input_refuse_dump,
		  false, true },
		{ 'w', "column-widths", "WIDTHS",
		  "widths of the columns, separated by commas; 0 is the width of the text",
		  CLI_CALL, &report, report_option_widths, false, false },
		{ 'v', "verbose", NULL, "do not fit columns to the terminal", CLI_FLAG,
		  &report.full, NULL, false, false },
		{ 'q', "quiet", NULL, "print only rows: no comments, no notes", CLI_FLAG,
		  &report.quiet, NULL, false, false },
		CLI_NO_PAGER,
	};
	int next, status = report_set_defaults(&report);

	if (status)
		return status;
	next = cli_parse(&cli_report_usage, options, CLI_NR(options), argc, argv);

	if (next < argc)
		return cli_usage_error(COMMAND, "'%s' is not an option; name a file with -i",
				       argv[next]);
	status = check_options(&report);
	if (!status)
		status = report_set_keys(&report);
	if (!status)
		status = report_set_columns(&report); /* reports wrong names before it reads */
	if (status)
		return status;
	report.input.options.file_order = report.stats;
	status = cli_input_open(&report.input);
	if (status)
		return status;
	status = run(&report);
	if (cli_check_stdout(COMMAND, 0))
		status = CLI_EXIT_FAILURE;
	if (!report.header_only && !report.quiet)
		cli_input_print_notes(&report.input);
	if (!report.header_only && !report.stats && !report.tasks && !report.mmaps && !report.quiet)
		cli_input_print_chain_notes(&report.input);
	cli_config_clear(&report.config);
	perch_trace_columns_free(report.trace_columns);
	report_blocks_free(report.blocks);
	cli_filter_close(&report.filter);
	cli_input_close(&report.input);
	return status;
}

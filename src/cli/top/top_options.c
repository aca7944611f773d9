/* SPDX-License-Identifier: MIT */
/* The options of `perch top`, with perf's names and meanings. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "event_options.h"
#include "top.h"

const struct cli_usage cli_top_usage = {
	.name = TOP_COMMAND,
	.operands = "[OPTIONS]",
	.summary = "Shows a live profile of the system, processes or threads.",
};

#define DEFAULT_DELAY 2 /* seconds, as in perf */

static int add_events(void *value, const char *text, bool negated)
{
	struct record_options *options = &((struct top *)value)->record;

	(void)negated;
	return cli_add_events(TOP_COMMAND, &options->events, &options->last_events, text,
			      options->machine);
}

static int set_filter(void *value, const char *text, bool negated)
{
	struct record_options *options = &((struct top *)value)->record;

	(void)negated;
	return cli_add_filter(TOP_COMMAND, &options->events, options->last_events, text,
			      options->machine);
}

/* Returns the length of the words that say how call chains are recorded: 0 without them. */
static size_t mode_length(const char *text)
{
	static const char *const modes[] = { "fp", "dwarf", "lbr", "no" };
	size_t length = strcspn(text, ",");

	for (size_t i = 0; i < CLI_NR(modes); i++) {
		if (strlen(modes[i]) != length || strncmp(text, modes[i], length))
			continue;
		/* the size of stacks */
		if (!strcmp(modes[i], "dwarf") && text[length] == ',' &&
		    strspn(text + length + 1, "0123456789") == strcspn(text + length + 1, ",") &&
		    text[length + 1])
			length += 1 + strcspn(text + length + 1, ",");
		return length;
	}
	return 0;
}

/* As in perf: how call chains are recorded, then how they are printed. */
static int set_call_graph(void *value, const char *text, bool negated)
{
	struct top *top = value;
	size_t length;
	char mode[32];
	int rc;

	if (negated || !text)
		return record_set_default_call_graph(&top->record, NULL, negated);
	if (!strncmp(text, "fp,defer", 8))
		return cli_usage_error(TOP_COMMAND,
				       "--call-graph fp,defer: perch top reads call chains at each "
				       "sample: use --call-graph fp");
	length = mode_length(text);
	snprintf(mode, sizeof(mode), "%.*s", (int)length, text);
	rc = length ? record_set_call_graph(&top->record, mode, false)
		    : record_set_default_call_graph(&top->record, NULL, false);
	if (rc || !text[length])
		return rc;
	return report_option_graph(&top->report, text + length + (length > 0), false);
}

static int ask_nothing(void *value, const char *text, bool negated)
{
	(void)value, (void)text, (void)negated;
	return 0;
}

/* -d takes seconds, as perf top. */
static int check_top(struct top *top)
{
	struct record_options *record = &top->record;
	struct report *report = &top->report;
	bool chains;

	if (!top->delay || top->delay > 86400)
		return cli_usage_error(TOP_COMMAND, "-d: expected 1 to 86400 seconds");
	if (top->hide_kernel && top->hide_user)
		return cli_usage_error(TOP_COMMAND, "-K and -U together hide all samples");
	record_choose_inherit(record);
	if (record_check_samples(record))
		return CLI_EXIT_USAGE;
	if (!record->target.pids && !record->target.tids && !record->target.cpu_list)
		record->target.all_cpus = true;
	if (record->cgroups.nr && !cli_target_system_wide(&record->target))
		return cli_usage_error(TOP_COMMAND, "-G needs CPUs: remove -p and -t");
	chains = record->call_graph != PERCH_CALL_GRAPH_UNSET &&
		 record->call_graph != PERCH_CALL_GRAPH_NONE;
	for (size_t i = 0; i < record->events.nr; i++)
		chains |= record->events.event[i].terms.call_graph != PERCH_CALL_GRAPH_UNSET &&
			  record->events.event[i].terms.call_graph != PERCH_CALL_GRAPH_NONE;
	report_set_default_graph(report, chains);
	report->least = top->least;
	return 0;
}

/* The first table has what is recorded, the second one what is printed. */
int top_parse(struct top *top, int argc, char **argv)
{
	struct record_options *record = &top->record;
	struct report *report = &top->report;
	const struct cli_option options[] = {
		{ 'e', "event", "EVENTS", "events to sample (perch list)", CLI_CALL, top,
		  add_events, false, false },
		{ 0, "filter", "EXPR", "filter for the tracepoints of the last -e", CLI_CALL, top,
		  set_filter, false, false },
		{ 'F', "freq", "HZ|max", "samples per second (4000)", CLI_STRING,
		  &record->frequency_text, NULL, false, false },
		{ 'c', "count", "N", "a sample every N events", CLI_CALL, record, record_set_period,
		  false, false },
		CLI_TARGET_OPTIONS_WITHOUT_CGROUPS(&record->target),
		{ 'G', "cgroup", "NAME[,NAME]", "processes of these cgroups", CLI_CALL, record,
		  record_set_cgroups, false, false },
		{ 'i', "no-inherit", NULL,
		  "without new threads and child processes of -p (default with -t; --inherit: with them)",
		  CLI_CALL, record, record_set_no_inherit, false, false },
		{ 'g', NULL, NULL, "call chains by frame pointers", CLI_CALL, record,
		  record_set_default_call_graph, false, false },
		{ 0, "call-graph", "MODE[,SHAPE...]",
		  "call chains: fp, dwarf[,SIZE] or lbr, then as -g of perch report", CLI_CALL, top,
		  set_call_graph, false, false },
		{ 0, "all-user", NULL, "sample only user space", CLI_FLAG,
		  &record->flag[RECORD_ALL_USER], NULL, false, false },
		{ 0, "all-kernel", NULL, "sample only the kernel", CLI_FLAG,
		  &record->flag[RECORD_ALL_KERNEL], NULL, false, false },
		{ 0, "no-bpf-event", NULL, "no records of BPF programs", CLI_FLAG,
		  &record->flag[RECORD_NO_BPF], NULL, false, false },
		{ 'm', "mmap-pages", "PAGES", "size of the ring of each CPU (512K)", CLI_CALL,
		  record, record_set_pages, false, false },
		{ 'd', "delay", "SECONDS", "time between refreshes (2)", CLI_NUMBER, &top->delay,
		  NULL, false, false },
		{ 'z', "zero", NULL, "show only the samples since the last refresh", CLI_FLAG,
		  &top->zero, NULL, false, false },
		{ 's', "sort", "COLUMNS", "columns that group samples (dso,sym)", CLI_STRING,
		  &report->sort, NULL, false, false },
		{ 0, "fields", "COLUMNS", "columns that are printed; +COLUMNS adds to the others",
		  CLI_STRING, &report->output, NULL, false, false },
		{ 'E', "entries", "N", "at most N rows", CLI_NUMBER, &top->entries, NULL, false,
		  false },
		{ 'f', "count-filter", "N", "only rows with at least N samples", CLI_NUMBER,
		  &top->least, NULL, false, false },
		{ 'K', "hide_kernel_symbols", NULL, "without samples in the kernel", CLI_FLAG,
		  &top->hide_kernel, NULL, false, false },
		{ 'U', "hide_user_symbols", NULL, "without samples in user space", CLI_FLAG,
		  &top->hide_user, NULL, false, false },
		{ 0, "comms", "NAMES", "only samples of threads with these names", CLI_STRING,
		  &report->filter.options.comms, NULL, false, false },
		{ 0, "dsos", "NAMES", "only samples in these DSOs", CLI_STRING,
		  &report->filter.options.dsos, NULL, false, false },
		{ 0, "symbols", "NAMES", "only samples in these functions", CLI_STRING,
		  &report->filter.options.symbols, NULL, false, false },
		{ 0, "children", NULL,
		  "add the samples of called functions to their callers (default with -g)",
		  CLI_CALL, report, report_option_children, false, false },
		CLI_CHAIN_OPTIONS(&report->filter, &report->ignore_callees),
		{ 0, "hierarchy", NULL, "rows as a tree, whose levels are the columns of -s",
		  CLI_FLAG, &report->hierarchy, NULL, false, false },
		{ 0, "group", NULL, "all events side by side", CLI_CALL, report,
		  report_option_group, false, false },
		{ 0, "percent-limit", "P", "leave out rows and branches below P percent", CLI_CALL,
		  report, report_option_limit, false, false },
		{ 0, "percentage", "KIND",
		  "of all samples (absolute, default) or of the selected ones (relative)", CLI_CALL,
		  report, report_option_percentage, false, false },
		{ 'n', "show-nr-samples", NULL, "print the number of samples", CLI_FLAG,
		  &report->show_samples, NULL, false, false },
		{ 0, "show-total-period", NULL, "print the sum of periods", CLI_FLAG,
		  &report->show_period, NULL, false, false },
		{ 'w', "column-widths", "WIDTHS",
		  "widths of the columns, separated by commas; 0 is the width of the text",
		  CLI_CALL, report, report_option_widths, false, false },
		{ 'k', "vmlinux", "FILE", "kernel symbols from this ELF file", CLI_STRING,
		  &report->input.options.symbols.vmlinux, NULL, false, false },
		{ 0, "kallsyms", "FILE", "kernel symbols (/proc/kallsyms)", CLI_STRING,
		  &report->input.options.symbols.kallsyms, NULL, false, false },
		{ 0, "demangle", NULL, "print C++ and Rust names demangled (default)", CLI_CALL,
		  &report->input.options.symbols, cli_input_set_demangle, false, false },
		{ 0, "stdio", NULL, "text on standard output, also on a terminal", CLI_FLAG,
		  &report->stdio, NULL, false, false },
		{ 0, "tui", NULL, "a browser (default on a terminal)", CLI_CALL, report,
		  report_option_browser, false, false },
		{ 0, "force", NULL, "", CLI_CALL, top, ask_nothing, false, true },
		{ 'v', "verbose", NULL, "print more; twice: each attr and perf_event_open call",
		  CLI_COUNT, &record->verbose, NULL, false, false },
	};
	int next;

	top->delay = DEFAULT_DELAY;
	record->use_clock = true; /* of the functions in jitdumps */
	record->clock = CLOCK_MONOTONIC;
	report->input.command = TOP_COMMAND;
	report->input.path = "the live profile"; /* in messages */
	report->default_sort = "dso,sym";
	report->graph.shape = SHAPE_GRAPH;
	report->graph.limit = 0.5;
	report->argv = argv;
	next = cli_parse(&cli_top_usage, options, CLI_NR(options), argc, argv);
	if (next < argc)
		return cli_usage_error(TOP_COMMAND,
				       "'%s' is not an option; -p PID shows a running process",
				       argv[next]);
	return check_top(top);
}

void top_clear_options(struct top *top)
{
	record_clear_options(&top->record);
	cli_config_clear(&top->report.config);
}

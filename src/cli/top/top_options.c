/* SPDX-License-Identifier: MIT */
/* The options of `perch top`, with perf's names and meanings. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "browser/screen.h"
#include "event_options.h"
#include "shared_options.h"
#include "top.h"

#define DEFAULT_DELAY 2 /* seconds, as in perf */

/* Returns the length of the words that say how call chains are recorded: 0 without them. */
static size_t mode_length(const char *text)
{
	size_t length = strcspn(text, ",");
	const struct cli_word *mode = cli_word_find(record_call_graphs, text, length);

	if (!mode)
		return 0;
	/* the size of stacks */
	if (mode->value == PERCH_CALL_GRAPH_DWARF && text[length] == ',' &&
	    strspn(text + length + 1, "0123456789") == strcspn(text + length + 1, ",") &&
	    text[length + 1])
		length += 1 + strcspn(text + length + 1, ",");
	return length;
}

/* As in perf: how call chains are recorded, then how they are printed. */
static int set_call_graph(const struct cli_given *given)
{
	struct top *top = given->state;
	struct cli_given record = *given;
	size_t length;
	char mode[32];
	int rc;

	record.state = &top->record;
	record.text = NULL;
	if (given->negated)
		return record_set_default_call_graph(&record);
	if (!strncmp(given->text, "fp,defer", 8))
		return cli_usage_error(TOP_COMMAND,
				       "--call-graph fp,defer: perch top reads call chains at each "
				       "sample: use --call-graph fp");
	length = mode_length(given->text);
	snprintf(mode, sizeof(mode), "%.*s", (int)length, given->text);
	record.text = mode;
	rc = length ? record_set_call_graph(&record) : record_set_default_call_graph(&record);
	if (rc || !given->text[length])
		return rc;
	return report_set_graph(given->command, &top->report.graph,
				given->text + length + (length > 0));
}

/* As of perch record, without its windows. */
static int set_disabled(const struct cli_given *given)
{
	struct top *top = given->state;

	if (strcmp(given->text, "-1") != 0)
		return cli_usage_error(TOP_COMMAND,
				       "-D %s: only -1 is known: no samples until a command of "
				       "--control enables the events",
				       given->text);
	top->record.delayed = true;
	return 0;
}

/* -d takes seconds, as perf top. */
static int check_top(struct top *top)
{
	struct record_options *record = &top->record;
	struct report *report = &top->report;

	if (!top->delay || top->delay > 86400)
		return cli_usage_error(TOP_COMMAND, "-d %" PRIu64 ": expected 1 to 86400 seconds",
				       top->delay);
	if (top->hide_kernel && top->hide_user)
		return cli_usage_error(TOP_COMMAND,
				       "-K and -U together hide all samples: choose one");
	if (report->tui && !report->stdio && !screen_is_possible())
		return cli_usage_error(TOP_COMMAND, "--tui needs a terminal on standard input and "
						    "output, and the variable TERM");
	record_choose_inherit(record);
	if (record_check_samples(record))
		return CLI_EXIT_USAGE;
	if (!cli_target_has_tasks(&record->target) && !record->target.cpu_list)
		record->target.all_cpus = true;
	if (record->cgroups.nr && !cli_target_system_wide(&record->target))
		return cli_usage_error(TOP_COMMAND, "-G needs CPUs: remove -p, -t and -u");
	if (record->inherit_chosen &&
	    cli_target_check_inherit(TOP_COMMAND, &record->target,
				     record->no_inherit ? "-i" : "--inherit"))
		return CLI_EXIT_USAGE;
	report_set_default_graph(report, record_has_chains(record));
	report->least = top->least;
	return 0;
}

#define AT(member)   offsetof(struct top, member)
#define SETS(member) CLI_SETS(struct top, member)

static const struct cli_option options[] = {
	CLI_ROW(.table = record_event_options, .at = AT(record)),
	CLI_ROW(.name = "call-graph", .argument = "MODE[,SHAPE...]", .set = set_call_graph,
		.words = record_call_graphs, .open = true,
		.help = "call chains: fp, dwarf[,SIZE] or lbr, then as -g of perch report"),
	CLI_ROW(.letter = 'D', .argument = "-1", .set = set_disabled,
		.help = "no samples until a command of --control enables the events"),
	CLI_ROW(.letter = 'd', .name = "delay", .argument = "SECONDS", SETS(delay),
		.help = "time between refreshes (2)"),
	CLI_ROW(.letter = 'z', .name = "zero", SETS(zero),
		.help = "show only the samples since the last refresh"),
	CLI_ROW(.letter = 's', .name = "sort", .argument = "COLUMNS", SETS(report.sort),
		.help = "columns that group samples (dso,sym)"),
	CLI_ROW(.table = report_row_options, .at = AT(report)),
	CLI_ROW(.letter = 'E', .name = "entries", .argument = "N", SETS(entries),
		.help = "at most N rows"),
	CLI_ROW(.letter = 'f', .name = "count-filter", .argument = "N", SETS(least),
		.help = "only rows with at least N samples"),
	CLI_ROW(.letter = 'K', .name = "hide_kernel_symbols", SETS(hide_kernel),
		.help = "without samples in the kernel"),
	CLI_ROW(.letter = 'U', .name = "hide_user_symbols", SETS(hide_user),
		.help = "without samples in user space"),
	CLI_ROW(.name = "comms", .argument = "NAMES", SETS(report.filter.options.comms),
		.help = "only samples of threads with these names"),
	CLI_ROW(.name = "dsos", .argument = "NAMES", SETS(report.filter.options.dsos),
		.help = "only samples in these DSOs"),
	CLI_ROW(.name = "symbols", .argument = "NAMES", SETS(report.filter.options.symbols),
		.help = "only samples in these functions"),
	CLI_ROW(.table = cli_kernel_options, .at = AT(report.input)),
	{ 0 },
};

const struct cli_usage cli_top_usage = {
	.name = TOP_COMMAND,
	.operands = "[OPTIONS]",
	.summary = "Shows a live profile of the system, processes or threads.",
	.options = options,
};

int top_parse(struct top *top, int argc, char **argv)
{
	struct record_options *record = &top->record;
	struct report *report = &top->report;
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
	next = cli_options_parse(&cli_top_usage, top, argc, argv);
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

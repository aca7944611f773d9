/* SPDX-License-Identifier: MIT */
/* perch report: a profile of the samples of a file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "pager.h"
#include "report.h"

#define COMMAND "report"

const struct cli_usage cli_report_usage = {
	.name = COMMAND,
	.operands = "[OPTIONS]",
	.summary = "Prints a profile of the samples of a perf.data file.",
};

static bool has_key(const struct report *report, const struct perch_column *key)
{
	for (size_t i = 0; i < report->nr_keys; i++)
		if (report->keys[i] == key)
			return true;
	return false;
}

static int set_keys(void *value, const char *argument, bool negated)
{
	struct report *report = value;
	const char *at = argument;

	if (negated)
		return cli_usage_error(COMMAND, "--sort cannot be negated");
	report->nr_keys = 0;
	while (true) {
		size_t length = strcspn(at, ",");
		const struct perch_column *key = perch_column_find(at, length);

		if (!key || key->scope == PERCH_COLUMN_PERIOD)
			return cli_usage_error(
				COMMAND, "no sort key '%.*s': use comm, dso, sym, pid, tid or cpu",
				(int)length, at);
		if (!has_key(report, key) && report->nr_keys < CLI_NR(report->keys))
			report->keys[report->nr_keys++] = key;
		if (!at[length])
			return 0;
		at += length + 1;
	}
}

/* The argument of perf's -g has more parts ("graph,0.5,caller"). The order and the limit are used,
 * the kind of graph is ignored. */
static int set_graph(void *value, const char *argument, bool negated)
{
	struct report *report = value;
	const char *at = argument ? argument : "";

	report->graph_set = true;
	report->graph = GRAPH_CALLER;
	if (negated) {
		report->graph = GRAPH_NONE;
		return 0;
	}
	report->graph_set = argument;
	while (*at) {
		size_t length = strcspn(at, ",");
		char *end;
		double limit = strtod(at, &end);

		if (length == 4 && !strncmp(at, "none", 4))
			report->graph = GRAPH_NONE;
		else if (length == 6 && !strncmp(at, "caller", 6))
			report->graph = GRAPH_CALLER;
		else if (length == 6 && !strncmp(at, "callee", 6))
			report->graph = GRAPH_CALLEE;
		else if (end == at + length && length && limit >= 0 && limit <= 100)
			report->graph_limit = limit;
		else if (strncmp(at, "graph", length) && strncmp(at, "function", length) &&
			 strncmp(at, "percent", length))
			return cli_usage_error(COMMAND,
					       "no call graph '%.*s': use none, caller or callee",
					       (int)length, at);
		at += length + (at[length] == ',');
	}
	return 0;
}

static int set_limit(void *value, const char *argument, bool negated)
{
	struct report *report = value;
	char *end;

	report->percent_limit = negated ? 0 : strtod(argument, &end);
	if (!negated && (end == argument || *end ||
			 !(report->percent_limit >= 0 && report->percent_limit <= 100)))
		return cli_usage_error(COMMAND, "'%s' is not a percentage from 0 to 100", argument);
	report->graph_limit = negated ? 0.5 : report->percent_limit;
	return 0;
}

static int set_widths(void *value, const char *argument, bool negated)
{
	struct report *report = value;
	const char *at = argument;
	size_t nr = 0;

	memset(report->widths, 0, sizeof(report->widths));
	if (negated)
		return 0;
	while (true) {
		char *end;
		unsigned long width = strtoul(at, &end, 10);

		if (end == at || (*end && *end != ',') || width > 4096 ||
		    nr == CLI_NR(report->widths))
			return cli_usage_error(COMMAND,
					       "-w '%s': expected up to %zu widths of 0 to 4096, "
					       "separated by commas",
					       argument, CLI_NR(report->widths));
		report->widths[nr++] = width;
		if (!*end)
			return 0;
		at = end + 1;
	}
}

static int set_children(void *value, const char *argument, bool negated)
{
	struct report *report = value;

	(void)argument;
	report->children = !negated;
	report->children_set = true;
	return 0;
}

static int set_inline(void *value, const char *argument, bool negated)
{
	(void)argument;
	((struct report *)value)->no_inline = negated;
	return 0;
}

/* True if neither children nor call graphs are printed, or no event has call chains. */
static bool is_flat(const struct report *report)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(report->input.session), &events);
	uint64_t sample_type = 0;

	for (size_t i = 0; i < nr; i++)
		sample_type |= events[i].attr.sample_type;
	return !(sample_type &
		 (PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_STACK_USER | PERCH_SAMPLE_BRANCH_STACK)) ||
	       (report->children_set && !report->children && report->graph_set &&
		report->graph == GRAPH_NONE);
}

/* Adds all samples to a new profile. 0, or a negative number after it has printed an error. */
static int read_samples(struct report *report, struct perch_profile **profile, bool *chains)
{
	struct perch_session *session = report->input.session;
	struct perch_record record;
	struct perch_error err;
	const struct perch_profile_options options = {
		.columns = report->keys,
		.nr_columns = report->nr_keys,
		.inlined = !report->no_inline,
		.flat = is_flat(report),
		.reader = perch_session_reader(session),
	};
	unsigned counter = 0;
	int rc;

	if (perch_profile_new(profile, perch_session_processes(session),
			      perch_session_symbols(session), &options, &err)) {
		cli_error(COMMAND, &err);
		return -1;
	}
	*chains = false;
	while ((rc = cli_input_next(&report->input, &record)) > 0) {
		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		*chains |= record.sample.callchain.nr > 0;
		if (perch_profile_add(*profile, &record, &err)) {
			cli_error(COMMAND, &err);
			return -1;
		}
		if (++counter % 65536 == 0) {
			uint64_t done, total;

			perch_reader_progress(perch_session_reader(session), &done, &total);
			cli_progress("reading samples", done, total + 1);
		}
	}
	cli_progress("reading samples", 1, 1);
	if (rc == 0 && perch_profile_finish(*profile, &err)) {
		cli_error(COMMAND, &err);
		rc = -1;
	}
	return rc;
}

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
		report->graph = GRAPH_NONE;
	} else if (!report->graph_set) {
		report->graph = report->children ? GRAPH_CALLER : GRAPH_CALLEE;
	}
}

static int print_report(FILE *out, struct report *report)
{
	struct perch_session *session = report->input.session;
	struct perch_reader *reader = perch_session_reader(session);
	const struct perch_file_event *events;
	struct perch_profile *profile = NULL;
	struct perch_session_stats stats;
	struct perch_profile_total total;
	const char *without_cpu = NULL;
	size_t nr, printed = 0;
	bool chains;
	int rc = read_samples(report, &profile, &chains);

	if (rc) {
		perch_profile_free(profile);
		return CLI_EXIT_FAILURE;
	}
	set_default_graph(report, chains);
	cli_start_pager();
	if (report->header)
		perch_reader_print_header(reader, out);
	else
		fputs("# To display the perf.data header info, please use --header/--header-only options.\n#\n",
		      out);
	perch_session_get_stats(session, &stats);
	fprintf(out, "#\n# Total Lost Samples: %" PRIu64 "\n", stats.lost);
	nr = perch_reader_events(reader, &events);
	for (size_t event = 0; event < nr && !rc; event++) {
		perch_profile_get_total(profile, event, &total);
		if (!total.samples)
			continue;
		rc = report_print_event(out, report, profile, event, events[event].name);
		if (has_key(report, perch_column_find("cpu", 3)) &&
		    !(events[event].attr.sample_type & PERCH_SAMPLE_CPU))
			without_cpu = events[event].name;
		printed++;
	}
	perch_profile_free(profile);
	if (without_cpu)
		cli_note(COMMAND,
			 "the samples of %s have no CPU, which is shown as -001; record with "
			 "--sample-cpu, -a or -C",
			 without_cpu);
	if (!printed && !stats.damage.missing_bytes && !stats.damage.corrupt_bytes)
		cli_note(
			COMMAND,
			"%s has no samples: a program that runs for less than one sample period causes "
			"none; record for longer, or with a higher frequency (-F)",
			report->input.path);
	return rc;
}

/* ---- --stats ---- */

#define TYPES 256 /* types from here on are counted together */

/* Prints the number of records of each type. */
static void put_counts(FILE *out, const uint64_t *counts)
{
	uint64_t total = 0;

	for (size_t type = 0; type <= TYPES; type++)
		total += counts[type];
	fprintf(out, "%20s events: %10" PRIu64 "\n", "TOTAL", total);
	for (size_t type = 0; type <= TYPES; type++) {
		const char *name = type < TYPES ? perch_record_name(type) : NULL;

		if (counts[type])
			fprintf(out, "%20s events: %10" PRIu64 "  (%4.1f%%)\n",
				name ? name : "UNKNOWN", counts[type],
				100.0 * counts[type] / total);
	}
}

static int print_stats(FILE *out, struct report *report)
{
	static uint64_t counts[TYPES + 1];
	struct perch_reader *reader = perch_session_reader(report->input.session);
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(reader, &events);
	uint64_t *samples = calloc(nr + 1, sizeof(*samples));
	struct perch_record record;
	int rc;

	if (!samples) {
		cli_note(COMMAND, "no memory for %zu events", nr);
		return CLI_EXIT_FAILURE;
	}
	while ((rc = cli_input_next(&report->input, &record)) > 0) {
		counts[record.type < TYPES ? record.type : TYPES]++;
		if (record.type == PERCH_RECORD_SAMPLE && record.event < nr)
			samples[record.event]++;
	}
	cli_start_pager();
	if (report->header)
		perch_reader_print_header(reader, out);
	fputs("\nAggregated stats:\n", out);
	put_counts(out, counts);
	for (size_t i = 0; i < nr; i++) {
		cli_put_clean(out, events[i].name);
		fputs(" stats:\n", out);
		if (samples[i])
			fprintf(out, "%20s events: %10" PRIu64 "\n", "SAMPLE", samples[i]);
	}
	free(samples);
	return rc < 0 ? CLI_EXIT_FAILURE : 0;
}

int perch_cmd_report(int argc, char **argv)
{
	static struct report report = {
		.input.command = COMMAND,
		.graph_limit = 0.5,
	};
	bool stdio = true;
	const struct cli_option options[] = {
		CLI_INPUT_OPTIONS(&report.input),
		{ 's', "sort", "KEYS", "sort keys: comm,dso,sym,pid,tid,cpu (comm,dso,sym)",
		  CLI_CALL, &report, set_keys, false, false },
		{ 0, "children", NULL,
		  "add the samples of called functions to their callers (default with call chains)",
		  CLI_CALL, &report, set_children, false, false },
		{ 'g', "call-graph", "ORDER", "call graph below each row: none, caller or callee",
		  CLI_CALL, &report, set_graph, true, false },
		{ 0, "percent-limit", "P", "leave out rows and branches below P percent", CLI_CALL,
		  &report, set_limit, false, false },
		{ 0, "stats", NULL, "print the number of records of each type instead", CLI_FLAG,
		  &report.stats, NULL, false, false },
		{ 0, "header", NULL, "print the header of the file, too", CLI_FLAG, &report.header,
		  NULL, false, false },
		{ 0, "header-only", NULL, "print only the header", CLI_FLAG, &report.header_only,
		  NULL, false, false },
		{ 0, "kallsyms", "FILE", "kernel symbols (/proc/kallsyms)", CLI_STRING,
		  &report.input.options.symbols.kallsyms, NULL, false, false },
		CLI_SYMBOL_OPTIONS(&report.input),
		{ 0, "inline", NULL, "show inlined functions in call chains (default)", CLI_CALL,
		  &report, set_inline, false, false },
		{ 0, "stdio", NULL, "text on standard output (always so)", CLI_FLAG, &stdio, NULL,
		  false, false },
		{ 'D', "dump-raw-trace", NULL, "", CLI_CALL, (void *)COMMAND, cli_input_refuse_dump,
		  false, true },
		{ 'w', "column-widths", "WIDTHS",
		  "widths of the columns of -s, separated by commas; 0 is the width of the text",
		  CLI_CALL, &report, set_widths, false, false },
		{ 'v', "verbose", NULL, "do not fit columns to the terminal", CLI_FLAG,
		  &report.full, NULL, false, false },
		CLI_NO_PAGER,
	};
	int next, status;

	set_keys(&report, "comm,dso,sym", false);
	next = cli_parse(&cli_report_usage, options, CLI_NR(options), argc, argv);

	if (next < argc)
		return cli_usage_error(COMMAND, "'%s' is not an option; name a file with -i",
				       argv[next]);
	report.input.options.file_order = report.stats;
	status = cli_input_open(&report.input);
	if (status)
		return status;
	if (report.header_only) {
		cli_start_pager();
		perch_reader_print_header(perch_session_reader(report.input.session), stdout);
	}
	if (report.stats)
		status = print_stats(stdout, &report);
	else if (!report.header_only)
		status = print_report(stdout, &report);
	if (cli_check_stdout(COMMAND, 0))
		status = CLI_EXIT_FAILURE;
	if (!report.header_only)
		cli_input_print_notes(&report.input);
	if (!report.header_only && !report.stats)
		cli_input_print_chain_notes(&report.input);
	cli_input_close(&report.input);
	return status;
}

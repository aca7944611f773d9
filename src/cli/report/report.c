/* SPDX-License-Identifier: MIT */
/* perch report: where the samples fell. */
#include <stdlib.h>
#include <string.h>

#include "options.h"
#include "report.h"

const struct cli_usage cli_report_usage = {
	.name = "report",
	.operands = "[OPTIONS]",
	.summary = "Shows where the samples of a perf.data file fell.",
};

static const struct report_key keys[] = {
	{ "comm", NULL, PERCH_KEY_COMM, "Command" },
	{ "dso", NULL, PERCH_KEY_DSO, "Shared Object" },
	{ "sym", "symbol", PERCH_KEY_SYMBOL, "Symbol" },
	{ "pid", NULL, PERCH_KEY_PID, "    Pid:Command" },
	{ "tid", NULL, PERCH_KEY_TID, "    Tid:Command" },
	{ "cpu", NULL, PERCH_KEY_CPU, "CPU" },
};

static int set_keys(void *value, const char *argument, bool negated)
{
	struct report *report = value;
	const char *at = argument;

	if (negated)
		return cli_usage_error("report", "--no-sort makes no sense");
	report->nr_keys = 0;
	while (true) {
		size_t length = strcspn(at, ",");
		const struct report_key *found = NULL;

		for (size_t i = 0; i < CLI_NR(keys); i++)
			if ((strlen(keys[i].name) == length &&
			     !strncmp(keys[i].name, at, length)) ||
			    (keys[i].alias && strlen(keys[i].alias) == length &&
			     !strncmp(keys[i].alias, at, length)))
				found = &keys[i];
		if (!found)
			return cli_usage_error(
				"report",
				"no sort key '%.*s': there are comm, dso, sym, pid, tid and cpu",
				(int)length, at);
		for (size_t i = 0; i < report->nr_keys; i++)
			if (report->keys[i] == found)
				found = NULL;
		if (found)
			report->keys[report->nr_keys++] = found;
		if (!at[length])
			return 0;
		at += length + 1;
	}
}

/* perf's -g has more parts ("graph,0.5,caller"): of those the order and the limit are ours too. */
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
			return cli_usage_error(
				"report", "no call graph '%.*s': there are none, caller and callee",
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
		return cli_usage_error("report", "'%s' is no percentage", argument);
	report->graph_limit = negated ? 0.5 : report->percent_limit;
	return 0;
}

static int set_children(void *value, const char *argument, bool negated)
{
	struct report *report = value;

	(void)argument;
	report->children = !negated;
	report->children_set = true;
	return 0;
}

/* Adds all samples up. Returns 0, or negative when failed and told. */
static int read_samples(const struct report *report, struct cli_recording *recording,
			struct perch_profile **profile, bool *chains)
{
	struct perch_record record;
	struct perch_error err;
	unsigned wanted = 0, counter = 0;
	int rc;

	for (size_t i = 0; i < report->nr_keys; i++)
		wanted |= report->keys[i]->key;
	if (perch_profile_new(profile, recording->processes, recording->symbols, wanted, &err)) {
		cli_error("report", &err);
		return -1;
	}
	*chains = false;
	while ((rc = cli_recording_next(recording, &record)) > 0) {
		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		*chains |= record.sample.callchain.nr > 0;
		if (perch_profile_add(*profile, &record, &err)) {
			cli_error("report", &err);
			return -1;
		}
		if (++counter % 65536 == 0) {
			uint64_t done, total;

			perch_reader_progress(recording->reader, &done, &total);
			cli_progress("reading samples", done, total + 1);
		}
	}
	cli_progress("reading samples", 1, 1);
	if (rc == 0 && perch_profile_finish(*profile, &err)) {
		cli_error("report", &err);
		rc = -1;
	}
	return rc;
}

/* As perf does: children when there are call chains, from the caller down; without children, from
 * the callee up. */
static void settle_graph(struct report *report, bool chains)
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

static int print_report(FILE *out, struct report *report, struct cli_recording *recording)
{
	const struct perch_file_event *events;
	struct perch_profile *profile = NULL;
	struct perch_reader_damage damage;
	struct perch_profile_total total;
	size_t nr, printed = 0;
	bool chains;
	int rc = read_samples(report, recording, &profile, &chains);

	if (rc) {
		perch_profile_free(profile);
		return CLI_EXIT_FAILURE;
	}
	settle_graph(report, chains);
	if (!report->header)
		fputs("# To display the perf.data header info, please use --header/--header-only options.\n#\n",
		      out);
	fprintf(out, "#\n# Total Lost Samples: %llu\n",
		(unsigned long long)cli_recording_lost(recording));
	nr = perch_reader_events(recording->reader, &events);
	for (size_t event = 0; event < nr && !rc; event++) {
		perch_profile_get_total(profile, event, &total);
		if (!total.samples)
			continue;
		rc = report_print_event(out, report, recording, profile, event, events[event].name);
		printed++;
	}
	perch_profile_free(profile);
	perch_reader_get_damage(recording->reader, &damage);
	if (!printed && !damage.missing_bytes && !damage.corrupt_bytes)
		cli_note(
			"report",
			"%s has no samples. A program that ran for less than a sample's period leaves none: record longer or with a higher -F.",
			recording->path);
	return rc;
}

/* record --call-graph dwarf: what is to be unwound from a copy of the stack is not in the call
 * chains. */
static void tell_unwound(const struct cli_recording *recording)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(recording->reader, &events);

	for (size_t i = 0; i < nr; i++)
		if (events[i].attr.sample_type & PERCH_SAMPLE_STACK_USER) {
			cli_note(
				"report",
				"the samples hold copies of user stacks, which this version does not unwind: call "
				"chains are those of the kernel. Record with -g to have user space in them.");
			return;
		}
}

static int refuse_raw(void *value, const char *argument, bool negated)
{
	(void)value, (void)argument, (void)negated;
	return cli_usage_error(
		"report", "there is no -D here: 'perch dump' shows every record with its fields");
}

int perch_cmd_report(int argc, char **argv)
{
	static struct report report = {
		.graph_limit = 0.5,
		.keys = { &keys[0], &keys[1], &keys[2] },
		.nr_keys = 3,
	};
	bool stdio = true;
	const struct cli_option options[] = {
		{ 'i', "input", "FILE",
		  "the file, directory or pipe to read, - for standard input (perf.data)",
		  CLI_STRING, &report.input, NULL, false, false },
		{ 's', "sort", "KEYS",
		  "what tells lines apart: comm,dso,sym,pid,tid,cpu (comm,dso,sym)", CLI_CALL,
		  &report, set_keys, false, false },
		{ 0, "children", NULL,
		  "add the samples of what a function called to it (the default with call chains)",
		  CLI_CALL, &report, set_children, false, false },
		{ 'g', "call-graph", "ORDER", "call graph below each line: none, caller or callee",
		  CLI_CALL, &report, set_graph, true, false },
		{ 0, "percent-limit", "P", "leave lines and branches below P percent out", CLI_CALL,
		  &report, set_limit, false, false },
		{ 0, "stats", NULL, "count the records of each type instead", CLI_FLAG,
		  &report.stats, NULL, false, false },
		{ 0, "header", NULL, "show what the file says of its recording, too", CLI_FLAG,
		  &report.header, NULL, false, false },
		{ 0, "header-only", NULL, "show only that", CLI_FLAG, &report.header_only, NULL,
		  false, false },
		{ 0, "kallsyms", "FILE", "the kernel's symbols (/proc/kallsyms)", CLI_STRING,
		  &report.kallsyms, NULL, false, false },
		{ 0, "stdio", NULL, "text on standard output (the only way)", CLI_FLAG, &stdio,
		  NULL, false, false },
		{ 'D', "dump-raw-trace", NULL, "", CLI_CALL, NULL, refuse_raw, false, true },
	};
	int next = cli_parse(&cli_report_usage, options, CLI_NR(options), argc, argv);
	struct cli_recording recording;
	int status;

	if (next < argc)
		return cli_usage_error("report", "'%s' is no option; a file is named by -i",
				       argv[next]);
	status = cli_recording_open(&recording, "report", report.input,
				    report.stats ? PERCH_ORDER_FILE : PERCH_ORDER_TIME,
				    report.kallsyms);
	if (status)
		return status;
	if (report.header || report.header_only)
		perch_reader_print_header(recording.reader, stdout);
	if (report.stats)
		status = report_stats(stdout, &recording);
	else if (!report.header_only)
		status = print_report(stdout, &report, &recording);
	if (fflush(stdout) || ferror(stdout)) {
		cli_note("report", "standard output cannot take the text: it is cut off");
		status = CLI_EXIT_FAILURE;
	}
	if (!report.header_only && !report.stats)
		tell_unwound(&recording);
	if (!report.header_only)
		cli_recording_tell_damage(&recording);
	cli_recording_close(&recording);
	return status;
}

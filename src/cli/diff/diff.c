/* SPDX-License-Identifier: MIT */
/* perch diff: compares the profiles of two or more files. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/edit_distance.h"
#include "diff.h"
#include "names.h"
#include "terminal/pager.h"

const struct cli_usage cli_diff_usage = {
	.name = DIFF_COMMAND,
	.operands = "[OPTIONS] [BASELINE] [FILE...]",
	.summary = "Compares the profiles of two or more perf.data files.",
};

#define GRAPH_LIMIT 0.5 /* percentage points */

static const struct perch_column *find_key(const char *name, size_t length)
{
	if (length == strlen(diff_trace_key.name) && !strncmp(name, diff_trace_key.name, length))
		return &diff_trace_key;
	return perch_column_find(name, length);
}

static bool can_be_key(const struct perch_column *column)
{
	return !column->of_branches && (!diff_is_sum(column) || diff_has_sum(column));
}

static int refuse_key(const char *name, size_t length)
{
	const struct perch_column *similar = perch_column_similar(name, length), *columns;
	struct cli_names names = { .what = "key" };
	const char *list[128];
	size_t nr;

	columns = perch_columns(&nr);
	for (size_t i = 0; i < nr && names.nr < CLI_NR(list) - 1; i++)
		if (can_be_key(&columns[i]))
			list[names.nr++] = columns[i].name;
	list[names.nr++] = diff_trace_key.name;
	names.name = list;
	names.similar = similar && can_be_key(similar) ? similar->name : NULL;
	return cli_refuse_name(DIFF_COMMAND, "-s", &names, name, length);
}

static int set_keys(void *value, const char *argument, bool negated)
{
	struct diff *diff = value;
	const char *at = argument;

	if (negated)
		return cli_usage_error(DIFF_COMMAND, "--sort cannot be negated");
	for (diff->nr_keys = 0;; at++) {
		size_t length = strcspn(at, ",");
		const struct perch_column *key = find_key(at, length);
		bool repeated = false;

		if (!key)
			return refuse_key(at, length);
		if (key->of_branches)
			return cli_usage_error(DIFF_COMMAND,
					       "-s: '%s' is a column of branches, and perch diff "
					       "compares samples; perch report -b has it",
					       key->name);
		if (!can_be_key(key))
			return cli_usage_error(DIFF_COMMAND,
					       "-s: '%s' is a sum, which -c compares; keys are as "
					       "comm, dso or sym, and of sums overhead, sample and "
					       "period",
					       key->name);
		if (diff->nr_keys == DIFF_MAX_KEYS)
			return cli_usage_error(DIFF_COMMAND, "-s: more than %d keys",
					       DIFF_MAX_KEYS);
		for (size_t i = 0; i < diff->nr_keys; i++)
			repeated |= diff->key[i] == key;
		if (!repeated)
			diff->key[diff->nr_keys++] = key;
		at += length;
		if (!*at)
			return 0;
	}
}

static const char *const methods[] = {
	[DIFF_DELTA] = "delta",
	[DIFF_DELTA_ABS] = "delta-abs",
	[DIFF_RATIO] = "ratio",
	[DIFF_WDIFF] = "wdiff",
};

static int set_weights(struct diff *diff, const char *argument)
{
	char *end = (char *)argument;

	errno = 0;
	if (*argument == ':')
		diff->base_weight = strtoll(argument + 1, &end, 10);
	if (end > argument + 1 && *end == ',') {
		const char *second = end + 1;

		diff->weight = strtoll(second, &end, 10);
		if (end > second && !*end && !errno && diff->base_weight && diff->weight)
			return 0;
	}
	return cli_usage_error(DIFF_COMMAND,
			       "-c wdiff needs the weights of the baseline and of the other file: "
			       "wdiff:1,2; each is a number of 64 bits other than 0");
}

static int set_method(void *value, const char *argument, bool negated)
{
	struct diff *diff = value;
	size_t length = negated ? 0 : strcspn(argument, ":"), near = DIFF_DELTA_ABS;
	unsigned least = 3;
	char name[16];

	diff->method = DIFF_DELTA_ABS;
	if (negated)
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)length, argument);
	for (size_t i = 0; i < CLI_NR(methods); i++) {
		unsigned distance = perch__edit_distance(name, methods[i]);

		if (!strcmp(name, methods[i]) && (i == DIFF_WDIFF || !argument[length])) {
			diff->method = i;
			return i == DIFF_WDIFF ? set_weights(diff, argument + length) : 0;
		}
		if (distance < least) {
			least = distance;
			near = i;
		}
	}
	if (!strcmp(name, "cycles"))
		return cli_usage_error(
			DIFF_COMMAND,
			"-c cycles: the cycles of basic blocks are not compared; "
			"'perch report --total-cycles' prints those of one recording");
	return cli_usage_error(
		DIFF_COMMAND,
		"-c '%s': expected delta, delta-abs, ratio or wdiff:WEIGHT,WEIGHT%s%s%s", argument,
		least < 3 ? "; did you mean " : "", least < 3 ? methods[near] : "",
		least < 3 ? "?" : "");
}

static int set_separator(void *value, const char *argument, bool negated)
{
	struct diff *diff = value;

	if (!negated && (strlen(argument) != 1 || *argument == '.') && strcmp(argument, "\\t"))
		return cli_usage_error(DIFF_COMMAND,
				       "-t needs one character that is not a dot, not '%s'",
				       argument);
	diff->separator = negated ? 0 : *argument == '\\' && argument[1] ? '\t' : *argument;
	return 0;
}

static int set_graph_limit(void *value, const char *argument, bool negated)
{
	struct diff *diff = value;
	char *end = NULL;

	diff->graph = true;
	diff->graph_limit = negated ? GRAPH_LIMIT : strtod(argument, &end);
	if (negated ||
	    (end > argument && !*end && diff->graph_limit >= 0 && diff->graph_limit <= 100))
		return 0;
	return cli_usage_error(
		DIFF_COMMAND,
		"--graph-limit '%s': expected percentage points from 0 to 100, as 0.5", argument);
}

static int set_percentage(void *value, const char *argument, bool negated)
{
	struct diff *diff = value;

	diff->relative = !negated && !strcmp(argument, "relative");
	if (!negated && !diff->relative && strcmp(argument, "absolute"))
		return cli_usage_error(
			DIFF_COMMAND, "--percentage '%s': expected relative or absolute", argument);
	return 0;
}

/* Without names, perf compares the last two files of record. */
static int set_files(struct diff *diff, char *const *files, size_t nr)
{
	size_t pipes = 0;

	diff->nr_files = nr < 2 ? 2 : nr;
	diff->file[0].path = nr > 1 ? files[0] : "perf.data.old";
	diff->file[1].path = nr == 1 ? files[0] : "perf.data";
	for (size_t i = 1; i < nr; i++)
		diff->file[i].path = files[i];
	for (size_t i = 0; i < diff->nr_files; i++)
		pipes += !strcmp(diff->file[i].path, "-");
	for (size_t i = 0; i < diff->nr_files; i++)
		if (strcmp(diff->file[i].path, "-") && access(diff->file[i].path, F_OK) &&
		    errno == ENOENT)
			return cli_usage_error(
				DIFF_COMMAND,
				"there is no file '%s': expected two recordings or "
				"more, the baseline first%s",
				diff->file[i].path,
				nr < 2 ? " (perf.data.old and perf.data without names)" : "");
	if (pipes > 1)
		return cli_usage_error(DIFF_COMMAND, "standard input (-) can be one file only");
	if (diff->order >= diff->nr_files)
		return cli_usage_error(DIFF_COMMAND,
				       "-o %" PRIu64 ": expected 0 (the baseline) to %zu (the last "
				       "file)",
				       diff->order, diff->nr_files - 1);
	return 0;
}

/* Parses options before and behind the names of files. Returns 0 or the exit status. */
static int parse_arguments(struct diff *diff, const struct cli_option *options, size_t nr_options,
			   int argc, char **argv)
{
	char *files[DIFF_MAX_FILES];
	bool all = false;
	size_t nr = 0;

	for (int at = 0; at < argc; at--) {
		at += cli_parse(&cli_diff_usage, options, nr_options, argc - at, argv + at);
		all |= !strcmp(argv[at - 1], "--");
		for (; at < argc && (all || argv[at][0] != '-' || !argv[at][1]); at++) {
			if (nr == DIFF_MAX_FILES)
				return cli_usage_error(DIFF_COMMAND, "expected at most %d files",
						       DIFF_MAX_FILES);
			files[nr++] = argv[at];
		}
		if (at == argc)
			break;
	}
	return set_files(diff, files, nr);
}

/* As in perf, a column is left out if a filter permits only one text in it, unless no other one
 * would be left. */
static void hide_keys(struct diff *diff)
{
	const struct {
		const char *name, *wanted;
	} filters[] = {
		{ "comm", diff->filter.comms },
		{ "dso", diff->filter.dsos },
		{ "sym", diff->inlined ? NULL : diff->filter.symbols },
	};
	size_t hidden = 0;

	for (size_t i = 0; i < diff->nr_keys; i++)
		for (size_t k = 0; k < CLI_NR(filters); k++)
			if (!strcmp(diff->key[i]->name, filters[k].name) && filters[k].wanted &&
			    !strchr(filters[k].wanted, ',') &&
			    strncmp(filters[k].wanted, "file://", 7)) {
				diff->hidden[i] = true;
				hidden++;
			}
	if (hidden == diff->nr_keys)
		memset(diff->hidden, 0, sizeof(diff->hidden));
}

static int run_diff(struct diff *diff)
{
	int status = 0;

	for (size_t i = 0; i < diff->nr_files && !status; i++)
		status = diff_read_file(diff, i);
	if (!status) {
		hide_keys(diff);
		if (!diff->quiet)
			diff_print_differences(diff);
		status = diff_print(diff);
	}
	diff_free(diff);
	return cli_check_stdout(DIFF_COMMAND, 0) ? CLI_EXIT_FAILURE : status;
}

int perch_cmd_diff(int argc, char **argv)
{
	static struct diff diff = { .input.command = DIFF_COMMAND,
				    .method = DIFF_DELTA_ABS,
				    .graph_limit = GRAPH_LIMIT,
				    .order = 1 };
	static struct cli_filter filter;
	bool modules = false;
	const struct cli_option options[] = {
		{ 'c', "compute", "METHOD",
		  "what is compared: delta, delta-abs, ratio, wdiff:WEIGHT,WEIGHT (delta-abs)",
		  CLI_CALL, &diff, set_method, false, false },
		{ 's', "sort", "KEYS", "keys that rows have in common (dso,sym)", CLI_CALL, &diff,
		  set_keys, false, false },
		{ 'o', "order", "N",
		  "sort by what is compared for file N (1), 0 by the share in the baseline",
		  CLI_NUMBER, &diff.order, NULL, false, false },
		{ 'b', "baseline-only", NULL, "only rows of the baseline that another file has",
		  CLI_FLAG, &diff.baseline_only, NULL, false, false },
		{ 'p', "period", NULL, "print the periods, too", CLI_FLAG, &diff.show_period, NULL,
		  false, false },
		{ 'F', "formula", NULL, "print how the difference is computed", CLI_FLAG,
		  &diff.show_formula, NULL, false, false },
		{ 'g', "call-graph", NULL, "print the callers of each row that have changed",
		  CLI_FLAG, &diff.graph, NULL, false, false },
		{ 0, "graph-limit", "POINTS",
		  "with -g, only callers that have changed by these percentage points (0.5)",
		  CLI_CALL, &diff, set_graph_limit, false, false },
		{ 't', "field-separator", "CHARACTER",
		  "print this character between columns, without padding", CLI_CALL, &diff,
		  set_separator, false, false },
		CLI_FILTER_OPTIONS(&filter, 'C', 'd', 0),
		{ 0, "percentage", "OF",
		  "shares of all samples (absolute, the default) or of matching ones (relative)",
		  CLI_CALL, &diff, set_percentage, false, false },
		{ 0, "kallsyms", "FILE", "kernel symbols (/proc/kallsyms)", CLI_STRING,
		  &diff.input.options.symbols.kallsyms, NULL, false, false },
		CLI_SYMBOL_OPTIONS(&diff.input),
		{ 'f', "force", NULL, "read files of another user, too", CLI_FLAG,
		  &diff.input.force, NULL, false, false },
		{ 'q', "quiet", NULL, "print only rows", CLI_FLAG, &diff.quiet, NULL, false,
		  false },
		{ 'v', "verbose", NULL, "print the names of the files", CLI_COUNT, &diff.verbose,
		  NULL, false, false },
		/* symbols of modules are always read */
		{ 'm', "modules", NULL, "", CLI_FLAG, &modules, NULL, false, true },
		{ 'D', "dump-raw-trace", NULL, "", CLI_CALL, (void *)DIFF_COMMAND,
		  cli_input_refuse_dump, false, true },
		CLI_NO_PAGER,
	};
	int status;

	set_keys(&diff, "dso,sym", false);
	status = parse_arguments(&diff, options, CLI_NR(options), argc, argv);
	diff.filter = filter.options;
	diff.input.options.keep_stacks = !diff.graph; /* only call graphs need them unwound */
	return status ? status : run_diff(&diff);
}

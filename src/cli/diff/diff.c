/* SPDX-License-Identifier: MIT */
/* perch diff: compares the profiles of two or more files. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "diff.h"
#include "names.h"
#include "shared_options.h"
#include "terminal/pager.h"

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

static int set_keys(const struct cli_given *given)
{
	struct diff *diff = given->state;
	const char *at = given->text;

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
			return cli_usage_error(DIFF_COMMAND, "-s: more than %d keys: name fewer",
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

static const struct cli_word methods[] = {
	{ "delta", PERCH_COMPARISON_DELTA },
	{ "delta-abs", PERCH_COMPARISON_DELTA_ABS },
	{ "ratio", PERCH_COMPARISON_RATIO },
	{ "wdiff", PERCH_COMPARISON_WDIFF },
	{ 0 },
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

static int set_method(const struct cli_given *given)
{
	struct diff *diff = given->state;
	size_t length = given->negated ? 0 : strcspn(given->text, ":");
	uint64_t method = PERCH_COMPARISON_DELTA_ABS;
	char name[16];

	snprintf(name, sizeof(name), "%.*s", (int)length, given->negated ? "" : given->text);
	if (!strcmp(name, "cycles"))
		return cli_usage_error(
			DIFF_COMMAND,
			"-c cycles: the cycles of basic blocks are not compared; "
			"'perch report --total-cycles' prints those of one recording");
	if (!given->negated &&
	    cli_options_find_words(DIFF_COMMAND, given->option,
				   strncmp(name, "wdiff", 6) ? given->text : name, &method))
		return CLI_EXIT_USAGE;
	diff->method = (enum perch_comparison_method)method;
	return method == PERCH_COMPARISON_WDIFF ? set_weights(diff, given->text + length) : 0;
}

static int set_separator(const struct cli_given *given)
{
	struct diff *diff = given->state;
	const char *text = given->negated ? "" : given->text;

	if (!given->negated && (strlen(text) != 1 || *text == '.') && strcmp(text, "\\t"))
		return cli_usage_error(DIFF_COMMAND,
				       "-t needs one character that is not a dot, not '%s'", text);
	diff->separator = *text == '\\' && text[1] ? '\t' : *text;
	return 0;
}

static int set_graph_limit(const struct cli_given *given)
{
	struct diff *diff = given->state;

	diff->graph = true;
	diff->graph_limit = given->negated ? GRAPH_LIMIT : given->percent;
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

struct diff_command {
	struct diff diff;
	struct cli_filter filter;
};

#define AT(member)   offsetof(struct diff_command, member)
#define SETS(member) CLI_SETS(struct diff_command, member)

static const struct cli_option options[] = {
	CLI_ROW(.letter = 'c', .name = "compute", .argument = "METHOD", .at = AT(diff),
		.set = set_method, .words = methods, .open = true,
		.help = "what is compared: delta, delta-abs (default), ratio or wdiff:WEIGHT,WEIGHT"),
	CLI_ROW(.letter = 's', .name = "sort", .argument = "KEYS", .at = AT(diff), .set = set_keys,
		.not_negated = true, .help = "keys that rows have in common (dso,sym)"),
	CLI_ROW(.letter = 'o', .name = "order", .argument = "N", SETS(diff.order),
		.help = "sort by what is compared for file N (1), 0 by the share in the baseline"),
	CLI_ROW(.letter = 'b', .name = "baseline-only", SETS(diff.baseline_only),
		.help = "only rows of the baseline that another file has"),
	CLI_ROW(.letter = 'p', .name = "period", SETS(diff.show_period),
		.help = "print the periods, too"),
	CLI_ROW(.letter = 'F', .name = "formula", SETS(diff.show_formula),
		.help = "print how the difference is computed"),
	CLI_ROW(.letter = 'g', .name = "call-graph", SETS(diff.graph),
		.help = "print the callers of each row that have changed"),
	CLI_ROW(.name = "graph-limit", .argument = "POINTS", .at = AT(diff), .kind = CLI_PERCENT,
		.set = set_graph_limit,
		.help = "with -g, only callers that have changed by these percentage points (0.5)"),
	CLI_ROW(.letter = 't', .name = "field-separator", .argument = "CHARACTER", .at = AT(diff),
		.set = set_separator,
		.help = "print this character between columns, without padding"),
	CLI_ROW(.table = cli_filter_options, .at = AT(filter), .short_names = "Cd-"),
	CLI_ROW(.table = cli_percentage_option, .at = AT(diff.relative)),
	CLI_ROW(.table = cli_symbol_options, .at = AT(diff.input)),
	CLI_ROW(.table = cli_jobs_option, .at = AT(diff.input)),
	CLI_ROW(.letter = 'f', .name = "force", SETS(diff.input.force),
		.help = "read files of another user, too"),
	CLI_ROW(.letter = 'q', .name = "quiet", SETS(diff.quiet), .help = "print only rows"),
	CLI_ROW(.letter = 'v', .name = "verbose", SETS(diff.verbose),
		.help = "print the names of the files"),
	CLI_ROW(.table = cli_modules_option),
	CLI_ROW(.table = cli_refused_dump_option),
	CLI_ROW(.table = cli_no_pager_option),
	{ 0 },
};

const struct cli_usage cli_diff_usage = {
	.name = DIFF_COMMAND,
	.operands = "[OPTIONS] [BASELINE] [FILE...]",
	.summary = "Compares the profiles of two or more perf.data files.",
	.options = options,
};

/* Parses options before and behind the names of files. Returns 0 or the exit status. */
static int parse_arguments(struct diff_command *command, int argc, char **argv)
{
	char *files[DIFF_MAX_FILES];
	bool all = false;
	size_t nr = 0;

	for (int at = 0; at < argc; at--) {
		at += cli_options_parse(&cli_diff_usage, command, argc - at, argv + at);
		all |= !strcmp(argv[at - 1], "--");
		for (; at < argc && (all || argv[at][0] != '-' || !argv[at][1]); at++) {
			if (nr == DIFF_MAX_FILES)
				return cli_usage_error(
					DIFF_COMMAND, "expected at most %d files; '%s' is too much",
					DIFF_MAX_FILES, argv[at]);
			files[nr++] = argv[at];
		}
		if (at == argc)
			break;
	}
	return set_files(&command->diff, files, nr);
}

int perch_cmd_diff(int argc, char **argv)
{
	static struct diff_command command = { .diff = { .input.command = DIFF_COMMAND,
							 .method = PERCH_COMPARISON_DELTA_ABS,
							 .graph_limit = GRAPH_LIMIT,
							 .order = 1 } };
	struct diff *diff = &command.diff;
	int status;

	set_keys(&(struct cli_given){ .state = diff, .text = "dso,sym" });
	status = parse_arguments(&command, argc, argv);
	diff->filter = command.filter.options;
	diff->input.options.keep_stacks = !diff->graph; /* only call graphs need them unwound */
	return status ? status : run_diff(diff);
}

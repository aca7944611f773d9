/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "filter_options.h"
#include "messages.h"

#define MAX_NOTES 8

/* By part: the option, and what it selects. */
static const struct {
	const char *option, *what;
} parts[PERCH_FILTER_PARTS] = {
	[PERCH_FILTER_CPU] = { "--cpu", "on CPU" },
	[PERCH_FILTER_TIME] = { "--time", "in the time" },
	[PERCH_FILTER_PID] = { "--pid", "of the process" },
	[PERCH_FILTER_TID] = { "--tid", "of the thread" },
	[PERCH_FILTER_COMM] = { "--comms", "of a thread with the name" },
	[PERCH_FILTER_CGROUP] = { "--cgroup", "in the cgroup" },
	[PERCH_FILTER_DSO] = { "--dsos", "in the DSO" },
	[PERCH_FILTER_SYMBOL] = { "--symbols", "in the function" },
	[PERCH_FILTER_PARENT] = { "--parent", "with a function like" },
	[PERCH_FILTER_EXPRESSION] = { "--filter", "for which is true" },
	[PERCH_FILTER_PARALLELISM] = { "--parallelism", "with a number of running threads of" },
};

static bool has_tests(const struct perch_filter_options *options)
{
	return options->pids || options->tids || options->cpus || options->time || options->comms ||
	       options->cgroups || options->dsos || options->symbols || options->parent ||
	       options->expression || options->parallelism;
}

bool cli_filter_is_given(const struct cli_filter *filter)
{
	return has_tests(&filter->options) || filter->symbol_part || filter->resolved;
}

int cli_filter_open(struct cli_filter *filter, const struct cli_input *input)
{
	struct perch_error err;
	int rc;

	rc = cli_filter_open_functions(filter, input);
	if (rc || !has_tests(&filter->options))
		return rc;
	rc = perch_filter_new(&filter->filter, input->session, &filter->options, &err);
	if (rc == -EINVAL)
		return cli_usage_error(input->command, "%s%s%s", err.message,
				       err.remedy[0] ? ". " : "", err.remedy);
	return rc ? cli_error(input->command, &err) : 0;
}

void cli_filter_close(struct cli_filter *filter)
{
	cli_filter_close_functions(filter);
	perch_filter_free(filter->filter);
	filter->filter = NULL;
}

size_t cli_filter_arguments(const struct cli_filter *filter,
			    const char *arguments[CLI_FILTER_MOST_ARGUMENTS])
{
	const struct perch_filter_options *given = &filter->options;
	const struct {
		const char *name, *value;
	} options[CLI_FILTER_MOST_ARGUMENTS / 2] = {
		{ "--comms", given->comms },
		{ "--dsos", given->dsos },
		{ "--symbols", given->symbols },
		{ "--pid", given->pids },
		{ "--tid", given->tids },
		{ "--cpu", given->cpus },
		{ "--cgroup", given->cgroups },
		{ "--time", given->time },
		{ "--parent", given->parent },
		{ "--filter", given->expression },
		{ "--parallelism", given->parallelism },
	};
	size_t nr = 0;

	for (size_t i = 0; i < CLI_NR(options); i++)
		if (options[i].value) {
			arguments[nr++] = options[i].name;
			arguments[nr++] = options[i].value;
		}
	return nr;
}

static void print_missing(const char *command, const struct perch_filter_missing *missing,
			  const struct perch_filter_stats *stats)
{
	const char *all = missing->samples < stats->samples ? " that pass the other options" : "";

	if (missing->similar)
		cli_note(command, "no sample is %s '%s' (%s). Did you mean %s? There are: %s",
			 parts[missing->part].what, missing->wanted, parts[missing->part].option,
			 missing->similar, missing->present);
	else if (missing->part == PERCH_FILTER_PARENT)
		cli_note(command,
			 "no call chain has a function that matches '%s' (--parent); it is a "
			 "regular expression, as for grep -E. There are: %s",
			 missing->wanted, *missing->present ? missing->present : "no functions");
	else if (missing->part == PERCH_FILTER_EXPRESSION)
		cli_note(command,
			 "no sample of a tracepoint%s has fields for which '%s' is true "
			 "(--filter)%s%s",
			 all, missing->wanted,
			 *missing->present ? ". The first one with such fields: " : "",
			 missing->present);
	else if (missing->part == PERCH_FILTER_TIME)
		cli_note(command, "no sample is in the time '%s': samples%s are from %s",
			 missing->wanted, all, missing->present);
	else
		cli_note(command, "no sample is %s '%s' (%s). Samples%s are of: %s",
			 parts[missing->part].what, missing->wanted, parts[missing->part].option,
			 all, missing->present);
}

/* How many samples each option leaves out, after the ones before. */
static void print_left_out(const char *command, const struct perch_filter_stats *stats)
{
	char text[512] = "";
	size_t used = 0;

	for (int part = 0; part < PERCH_FILTER_PARTS; part++)
		if (stats->left_out[part] && used < sizeof(text) - 64)
			used += snprintf(text + used, sizeof(text) - used, "%s%s %" PRIu64,
					 used ? ", " : "", parts[part].option,
					 stats->left_out[part]);
	cli_note(command,
		 "none of %" PRIu64
		 " samples passes all options; they leave out, in this order: %s",
		 stats->samples, text);
}

/* Times are those of the clock of samples, which is not that of the day or of the program. */
static void print_times(const char *command, const struct cli_filter *filter,
			const struct perch_filter_stats *stats)
{
	const uint64_t second = 1000000000;

	if (!filter->options.time || strpbrk(filter->options.time, "%+") ||
	    filter->options.relative_time || stats->left_out[PERCH_FILTER_TIME] ||
	    stats->samples == stats->left_out[PERCH_FILTER_CPU])
		return;
	cli_note(command,
		 "all samples%s are in the time '%s' (--time): they are from %" PRIu64 ".%06" PRIu64
		 " to %" PRIu64 ".%06" PRIu64 "; '+1,+2' is from 1 to 2 s after the first one",
		 stats->left_out[PERCH_FILTER_CPU] ? " of these CPUs" : "", filter->options.time,
		 stats->first_time / second, stats->first_time % second / 1000,
		 stats->last_time / second, stats->last_time % second / 1000);
}

static void print_no_function(const char *command, const struct cli_filter *filter)
{
	if (filter->symbol_part)
		cli_note(command,
			 "no sample is in a function with '%s' in its name (--symbol-filter)",
			 filter->symbol_part);
	else
		cli_note(command, "no sample is in a function with a name (-U)");
}

void cli_filter_print_notes(const struct cli_filter *filter, const struct cli_input *input)
{
	struct perch_filter_missing missing;
	struct perch_filter_stats stats;
	const char *command = input->command;
	size_t nr = 0;

	if (filter->unwanted && !filter->wanted)
		print_no_function(command, filter);
	if (!filter->filter)
		return;
	perch_filter_get_stats(filter->filter, &stats);
	print_times(command, filter, &stats);
	while (perch_filter_get_missing(filter->filter, nr, &missing) > 0)
		if (nr++ < MAX_NOTES)
			print_missing(command, &missing, &stats);
	if (nr > MAX_NOTES)
		cli_note(command, "%zu other %s no samples", nr - MAX_NOTES,
			 cli_word(nr - MAX_NOTES, "word of the options has",
				  "words of the options have"));
	if (!stats.matched && stats.samples)
		print_left_out(command, &stats);
}

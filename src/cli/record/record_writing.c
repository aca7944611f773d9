/* SPDX-License-Identifier: MIT */
/* Arguments of `perch record` options about how the file is written. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

/* Parses "LEVEL", "compressed2", or both. */
int record_set_compression(const struct cli_given *given)
{
	struct record_options *options = given->state;
	const char *text = given->text ? given->text : "1", *word;
	char *end = (char *)text;
	unsigned long level = 1;

	options->compression_level = 0;
	options->compressed2 = false;
	if (given->negated)
		return 0;
	if (isdigit((unsigned char)text[0]))
		level = strtoul(text, &end, 10);
	word = end != text && *end == ',' ? end + 1 : end;
	options->compressed2 = (end == text || word != end) && !strcmp(word, "compressed2");
	if (level >= 1 && level <= 22 && (options->compressed2 || (end != text && !*end))) {
		options->compression_level = (int)level;
		return 0;
	}
	cli_usage_error(options->command,
			"-z %s: use a level from 1 (fast) to 22 (small), 'compressed2', or both: "
			"3,compressed2",
			text);
	return -EINVAL;
}

/* Or lists of CPUs: the library parses both. */
const struct cli_word record_thread_kinds[] = {
	{ "cpu", 0 }, { "core", 0 }, { "package", 0 }, { "numa", 0 }, { 0 },
};

int record_set_threads(const struct cli_given *given)
{
	struct record_options *options = given->state;

	options->threads = given->negated ? NULL : given->text ? given->text : "cpu";
	return 0;
}

/* Where the thread runs that reads a ring. */
const struct cli_word record_affinities[] = {
	{ "sys", 0 },
	{ "node", 1 },
	{ "cpu", 2 },
	{ 0 },
};

/* One thread writes the records of all rings by one call, so it does not move to their CPUs. */
int record_set_affinity(const struct cli_given *given)
{
	if (!given->value)
		return 0;
	return cli_usage_error(given->command,
			       "--affinity=%s: one thread reads all rings: use --threads=%s, whose "
			       "threads run where the rings are that they read",
			       given->text, given->value == 1 ? "numa" : "cpu");
}

/* As in perf, mappings are not without their processes. */
const struct cli_word record_synthesized[] = {
	{ "no", 0 },
	{ "all", ~UINT64_C(0) },
	{ "task", PERCH_RECORDER_WITHOUT_TASKS },
	{ "mmap", PERCH_RECORDER_WITHOUT_TASKS | PERCH_RECORDER_WITHOUT_MAPPINGS },
	{ "cgroup", PERCH_RECORDER_WITHOUT_CGROUPS },
	{ 0 },
};

int record_set_synthesized(const struct cli_given *given)
{
	struct record_options *options = given->state;

	options->without = (PERCH_RECORDER_WITHOUT_TASKS | PERCH_RECORDER_WITHOUT_MAPPINGS |
			    PERCH_RECORDER_WITHOUT_CGROUPS) &
			   ~given->value;
	return 0;
}

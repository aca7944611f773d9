/* SPDX-License-Identifier: MIT */
/* What was counted, to where it is wanted, as it is wanted. */
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "stat.h"

#define HEADER_EVERY 25

/* Again and again: 25 lines fit a screen; perf, and what reads its output, counts intervals. */
static void print_due_header(struct stat_job *stat, FILE *out)
{
	bool clear = stat->terminal && stat->options.interval_clear;
	unsigned shown = stat->terminal ? stat->lines_shown : stat->intervals_shown;

	if (clear)
		fputs("\033[H\033[2J\033[3J", out);
	if (!clear && stat->header_shown && shown < HEADER_EVERY)
		return;
	if (stat->options.metric_only)
		stat_print_metric_header(stat, out);
	else
		stat_print_interval_header(stat, out);
	stat->header_shown = true;
	stat->lines_shown = stat->intervals_shown = 0;
}

static void print_interval(struct stat_job *stat, FILE *out)
{
	print_due_header(stat, out);
	if (stat->options.metric_only)
		stat_print_metric_rows(stat, out);
	else
		stat_for_each_line(stat, stat_print_table_line, out);
	stat->intervals_shown++;
}

/* Whether the user's locale may group digits: C and its like do not, and finding that out costs a
 * dozen files. */
static bool locale_groups(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_NUMERIC", "LANG" };
	const char *name = NULL;

	for (size_t i = 0; i < CLI_NR(variables) && !(name && *name); i++)
		name = getenv(variables[i]);
	return name && *name && strcmp(name, "C") && strncmp(name, "C.", 2) &&
	       strcmp(name, "POSIX");
}

static void print(struct stat_job *stat, FILE *out)
{
	bool group = stat->options.big_num && !stat->options.separator && !stat->options.json &&
		     locale_groups();

	if (stat->options.json) {
		stat_for_each_line(stat, stat_print_json_line, out);
	} else if (stat->options.separator && stat->options.metric_only) {
		if (!stat->header_shown && stat->options.interval_ms)
			stat_print_metric_header(stat, out);
		stat->header_shown = true;
		stat_print_metric_rows(stat, out);
	} else if (stat->options.separator) {
		stat_for_each_line(stat, stat_print_csv_line, out);
	} else {
		/* the locale's way with numbers is for people */
		if (group)
			setlocale(LC_NUMERIC, "");
		if (stat->interval_ns)
			print_interval(stat, out);
		else
			stat_print_table(stat, out);
		if (group)
			setlocale(LC_NUMERIC, "C");
	}
}

static unsigned lines_in(const char *text)
{
	unsigned lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static int write_error(const struct stat_job *stat)
{
	int error = errno ? errno : EIO;
	struct perch_error err;

	if (stat->output == stderr)
		return CLI_EXIT_FAILURE; /* nowhere to tell it */
	perch_error_set(&err, error, PERCH_ERROR_FILE, "cannot write '%s': %s",
			stat->options.output_path ? stat->options.output_path
						  : "the descriptor of --log-fd",
			strerror(error));
	return cli_error(STAT_COMMAND, &err);
}

int stat_print(struct stat_job *stat)
{
	char *text = NULL;
	size_t length = 0;
	FILE *memory;

	if (stat->options.quiet)
		return 0;
	/* in one piece, so that what the program still writes to the same terminal does not fall
	 * between the lines */
	memory = open_memstream(&text, &length);
	if (memory) {
		print(stat, memory);
		if (fclose(memory) || fwrite(text, 1, length, stat->output) != length)
			length = 0;
		stat->lines_shown += length ? lines_in(text) : 0;
		free(text);
	} else {
		print(stat, stat->output);
	}
	return fflush(stat->output) || ferror(stat->output) ? write_error(stat) : 0;
}

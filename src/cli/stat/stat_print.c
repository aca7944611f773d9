/* SPDX-License-Identifier: MIT */
/* Writes the result in the chosen format. */
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_stream.h"
#include "stat.h"

#define HEADER_EVERY 25

/* Repeats the header: every 25 lines on a terminal, else every 25 intervals, as perf does. */
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

/* False for the C locale, which needs no setlocale(): that opens a dozen files. */
static bool locale_groups(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_NUMERIC", "LANG" };
	const char *name = NULL;

	for (size_t i = 0; i < CLI_NR(variables) && !(name && *name); i++)
		name = getenv(variables[i]);
	return name && *name && strcmp(name, "C") && strncmp(name, "C.", 2) &&
	       strcmp(name, "POSIX");
}

static void print_result(struct stat_job *stat, FILE *out)
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
		return CLI_EXIT_FAILURE; /* the error cannot be printed */
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
	/* one write: output of the program on the same terminal does not come between lines */
	memory = perch__open_text(&text, &length);
	if (memory)
		print_result(stat, memory);
	if (memory && perch__close_text(memory, &text)) {
		if (fwrite(text, 1, length, stat->output) == length)
			stat->lines_shown += lines_in(text);
		free(text);
	} else {
		print_result(stat, stat->output);
	}
	return fflush(stat->output) || ferror(stat->output) ? write_error(stat) : 0;
}

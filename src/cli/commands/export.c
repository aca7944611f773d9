/* SPDX-License-Identifier: MIT */
/* perch export: a recording in the formats of other tools. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <perch/export.h>

#include "export_read.h"
#include "input/filter_options.h"
#include "input/input.h"
#include "options.h"

#define COMMAND "export"

const struct cli_usage cli_export_usage = {
	.name = COMMAND,
	.operands = "--format FORMAT [OPTIONS]",
	.summary = "Writes a recording in the format of another tool.",
};

struct export
{
	struct cli_input input;
	struct cli_filter filter;
	const struct perch_export_format_info *info; /* of the format; NULL: none is chosen */
	enum perch_export_format format;
	const char *output; /* of -o; NULL or "-": standard output */
	const char *event;  /* of --event; NULL: the one with the most samples, or all */
	bool no_inline, pid, tid, addresses;
	bool mark[3]; /* by mark_names */
};

/* Returns the names of the formats: "folded, firefox or json". */
static const char *format_names(void)
{
	static char text[128];
	size_t nr, used = 0, last = 0;
	const struct perch_export_format_info *info = perch_export_formats(&nr);

	for (size_t i = 0; i < nr; i++)
		last = info[i].flame_graph ? last : i;
	for (size_t i = 0; i <= last && used < sizeof(text); i++)
		if (!info[i].flame_graph)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
						 !used	    ? ""
						 : i < last ? ", "
							    : " or ",
						 info[i].name);
	return text;
}

static int set_format(void *export, const char *argument, bool negated)
{
	size_t nr;
	const struct perch_export_format_info *info = perch_export_formats(&nr);

	(void)negated;
	for (size_t i = 0; i < nr; i++) {
		if (!info[i].flame_graph && !strcmp(info[i].name, argument)) {
			((struct export *)export)->info = &info[i];
			((struct export *)export)->format = (enum perch_export_format)i;
			return 0;
		}
	}
	cli_usage_error(COMMAND, "unknown format '%s'; expected %s", argument, format_names());
	return -EINVAL;
}

static int set_inline(void *export, const char *argument, bool negated)
{
	(void)argument;
	((struct export *)export)->no_inline = negated;
	return 0;
}

enum { MARK_KERNEL, MARK_INLINED, MARK_JIT };

static const char *const mark_names[] = { "kernel", "inline", "jit" };

/* Sets the marks of a list such as "kernel,inline". */
static int set_marks(void *export, const char *argument, bool negated)
{
	bool *mark = ((struct export *)export)->mark;

	(void)negated;
	for (const char *at = argument;; at++) {
		size_t length = strcspn(at, ","), found = 0;

		for (size_t i = 0; i < CLI_NR(mark_names); i++) {
			bool same = strlen(mark_names[i]) == length &&
				    !strncmp(at, mark_names[i], length);

			if (same || (length == 3 && !strncmp(at, "all", 3))) {
				mark[i] = true;
				found++;
			}
		}
		if (!found) {
			cli_usage_error(
				COMMAND,
				"--mark: unknown kind '%.*s'; expected kernel, inline, jit or all",
				(int)length, at);
			return -EINVAL;
		}
		at += length;
		if (!*at)
			return 0;
	}
}

static int run_export(struct export *export)
{
	struct perch_export_options options = {
		.pid = export->pid,
		.tid = export->tid,
		.mark_kernel = export->mark[MARK_KERNEL],
		.mark_inlined = export->mark[MARK_INLINED],
		.mark_jit = export->mark[MARK_JIT],
		.no_inline = export->no_inline,
		.addresses = export->addresses,
		.event = export->event,
	};
	const char *output = export->output ? export->output : "-";
	struct perch_export *to = NULL;
	int status, refused = 0;

	status = cli_export_new(&to, &export->input, export->format, &options);
	if (!status)
		status = cli_export_add_samples(&export->input, &export->filter, to);
	if (!status && cli_export_has_content(to, export->info->markers, output))
		status = cli_export_write(COMMAND, to, output, false);
	else if (!status)
		status = refused = CLI_EXIT_FAILURE;
	if (to) {
		cli_export_print_notes(&export->input, &export->filter, to);
		cli_export_print_other(&export->input, export->info->markers, to);
	}
	if (refused)
		cli_export_print_refusal(COMMAND, output);
	perch_export_free(to);
	return status;
}

int perch_cmd_export(int argc, char **argv)
{
	static struct export export = { .input.command = COMMAND };
	char format_help[192];
	const struct cli_option options[] = {
		{ 'F', "format", "FORMAT", format_help, CLI_CALL, &export, set_format, false,
		  false },
		CLI_INPUT_OPTIONS(&export.input),
		{ 'o', "output", "FILE", "the file to write (standard output)", CLI_STRING,
		  &export.output, NULL, false, false },
		CLI_FILTER_OPTIONS(&export.filter, 'c', 'd', 'C'),
		CLI_FILTER_EXPRESSION_OPTION(&export.filter),
		CLI_PARENT_OPTION(&export.filter, 'p'),
		CLI_FUNCTION_OPTIONS(&export.filter),
		CLI_CHAIN_OPTIONS(&export.filter, &export.input.options.ignore_callees),
		CLI_SYMBOL_OPTIONS(&export.input),
		CLI_INPUT_VERBOSE_OPTION(&export.input),
		{ 0, "kallsyms", "FILE", "kernel symbols from this file", CLI_STRING,
		  &export.input.options.symbols.kallsyms, NULL, false, false },
		{ 0, "inline", NULL, "inlined functions are frames (default)", CLI_CALL, &export,
		  set_inline, false, false },
		CLI_EVENT_OPTION(&export.event),
		{ 0, "with-pid", NULL, "folded: begin with NAME-PID", CLI_FLAG, &export.pid, NULL,
		  false, false },
		{ 0, "with-tid", NULL, "folded: begin with NAME-PID/TID", CLI_FLAG, &export.tid,
		  NULL, false, false },
		{ 0, "addresses", NULL,
		  "pprof: a location for each address, for -disasm; larger files", CLI_FLAG,
		  &export.addresses, NULL, false, false },
		{ 0, "mark", "KINDS",
		  "folded: mark functions of these kinds: kernel (_[k]), inline (_[i]), jit (_[j]), all",
		  CLI_CALL, &export, set_marks, false, false },
	};
	int next, status;

	snprintf(format_help, sizeof(format_help), "the format: %s", format_names());
	next = cli_parse(&cli_export_usage, options, CLI_NR(options), argc, argv);
	if (next < argc)
		return cli_usage_error(COMMAND, "'%s' is not an option; name a file with -i",
				       argv[next]);
	if (!export.info)
		return cli_usage_error(COMMAND, "--format is missing; expected %s", format_names());
	if (export.info->binary && !export.output && isatty(STDOUT_FILENO))
		return cli_usage_error(COMMAND,
				       "%s is binary and standard output is a terminal; "
				       "name a file with -o",
				       export.info->name);
	export.filter.options.no_inline = export.no_inline;
	status = cli_export_open(&export.input, &export.filter);
	if (!status && export.output)
		status = cli_export_check_output(&export.input, export.output);
	if (!status)
		status = run_export(&export);
	cli_filter_close(&export.filter);
	cli_input_close(&export.input);
	return status;
}

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
#include "shared_options.h"

#define COMMAND "export"

struct export
{
	struct cli_input input;
	struct cli_filter filter;
	const struct perch_export_format_info *info; /* of the format; NULL: none is chosen */
	enum perch_export_format format;
	const char *output; /* of -o; NULL or "-": standard output */
	const char *event;  /* of --event; NULL: the one with the most samples, or all */
	bool no_inline, pid, tid, addresses, timestamps;
	uint64_t marks; /* of --mark */
};

/* The words of --format, with the index of the format. */
static const struct cli_word *format_words(void)
{
	static struct cli_word words[16];
	size_t nr, used = 0;
	const struct perch_export_format_info *info = perch_export_formats(&nr);

	for (size_t i = 0; i < nr && used < CLI_NR(words) - 1; i++)
		if (!info[i].flame_graph)
			words[used++] = (struct cli_word){ info[i].name, i };
	return words;
}

static int set_format(const struct cli_given *given)
{
	struct export *export = given->state;
	size_t nr;

	export->format = (enum perch_export_format)given->value;
	export->info = &perch_export_formats(&nr)[given->value];
	return 0;
}

enum { MARK_KERNEL = 1, MARK_INLINED = 2, MARK_JIT = 4 };

static int run_export(struct export *export)
{
	struct perch_export_options options = {
		.pid = export->pid,
		.tid = export->tid,
		.mark_kernel = !!(export->marks & MARK_KERNEL),
		.mark_inlined = !!(export->marks & MARK_INLINED),
		.mark_jit = !!(export->marks & MARK_JIT),
		.no_inline = export->no_inline,
		.addresses = export->addresses,
		.timestamps = export->timestamps,
		.event = export->event,
	};
	const char *output = export->output ? export->output : "-";
	struct perch_export *to = NULL;
	int status, refused = 0;

	status = cli_export_new(&to, &export->input, &export->filter, export->format, &options);
	if (!status)
		status = cli_export_add_samples(&export->input, &export->filter, to);
	if (!status &&
	    cli_export_has_content(to, export->info->markers || export->info->timeline, output))
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

static const struct cli_word marks[] = {
	{ "kernel", MARK_KERNEL },
	{ "inline", MARK_INLINED },
	{ "jit", MARK_JIT },
	{ "all", MARK_KERNEL | MARK_INLINED | MARK_JIT },
	{ 0 },
};

#define AT(member)   offsetof(struct export, member)
#define SETS(member) CLI_SETS(struct export, member)

static const struct cli_option options[] = {
	CLI_ROW(.letter = 'F', .name = "format", .argument = "FORMAT", .set = set_format,
		.get_words = format_words, .not_negated = true, .help = "the format"),
	CLI_ROW(.table = cli_input_options, .at = AT(input)),
	CLI_ROW(.table = cli_jobs_option, .at = AT(input)),
	CLI_ROW(.letter = 'o', .name = "output", .argument = "FILE", SETS(output),
		.help = "the file to write (standard output)"),
	CLI_ROW(.table = cli_filter_options, .at = AT(filter), .short_names = "cdC"),
	CLI_ROW(.table = cli_expression_option, .at = AT(filter)),
	CLI_ROW(.table = cli_parent_option, .at = AT(filter), .short_names = "p"),
	CLI_ROW(.table = cli_function_options, .at = AT(filter)),
	CLI_ROW(.table = cli_max_stack_option, .at = AT(filter)),
	CLI_ROW(.table = cli_ignore_callees_option, .at = AT(input.options.ignore_callees)),
	CLI_ROW(.table = cli_off_cpu_options, .at = AT(input)),
	CLI_ROW(.table = cli_symbol_options, .at = AT(input)),
	CLI_ROW(.table = cli_input_verbose_option, .at = AT(input)),
	CLI_ROW(.table = cli_inline_option, .at = AT(no_inline)),
	CLI_ROW(.table = cli_event_option, .at = AT(event)),
	CLI_ROW(.name = "with-pid", SETS(pid),
		.help = "folded: begin with NAME-PID; otlp: samples have process.pid"),
	CLI_ROW(.name = "with-tid", SETS(tid),
		.help = "folded: begin with NAME-PID/TID; otlp: samples have thread.id, too"),
	CLI_ROW(.name = "addresses", SETS(addresses),
		.help = "pprof, otlp: a location for each address, for -disasm; larger files"),
	CLI_ROW(.name = "timestamps", SETS(timestamps),
		.help = "otlp: each sample has its time; larger files, not for all engines"),
	CLI_ROW(.name = "mark", .argument = "KINDS", .at = AT(marks), .kind = CLI_BITS,
		.words = marks,
		.help = "folded: mark functions of these kinds as _[k], _[i] and _[j]"),
	{ 0 },
};

const struct cli_usage cli_export_usage = {
	.name = COMMAND,
	.operands = "--format FORMAT [OPTIONS]",
	.summary = "Writes a recording in the format of another tool.",
	.options = options,
};

int perch_cmd_export(int argc, char **argv)
{
	static struct export export = { .input.command = COMMAND };
	char formats[128];
	int next, status;

	next = cli_options_parse(&cli_export_usage, &export, argc, argv);
	if (next < argc)
		return cli_usage_error(COMMAND, "'%s' is not an option; name a file with -i",
				       argv[next]);
	if (!export.info) {
		cli_options_put_words(format_words(), false, formats, sizeof(formats));
		return cli_usage_error(COMMAND, "--format is missing; expected %s", formats);
	}
	if (export.marks && export.format != PERCH_EXPORT_FOLDED)
		return cli_usage_error(COMMAND, "--mark is for --format folded, not for %s",
				       export.info->name);
	if (export.addresses && export.format != PERCH_EXPORT_PPROF &&
	    export.format != PERCH_EXPORT_OTLP)
		return cli_usage_error(COMMAND,
				       "--addresses is for --format pprof or otlp, not for %s",
				       export.info->name);
	if (export.timestamps && export.format != PERCH_EXPORT_OTLP)
		return cli_usage_error(COMMAND, "--timestamps is for --format otlp, not for %s",
				       export.info->name);
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

/* SPDX-License-Identifier: MIT */
/* perch export: a recording in the formats of other tools. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <perch/export.h>

#include "filter_options.h"
#include "input.h"
#include "options.h"

#define COMMAND "export"
#define FORMATS "folded, json, pprof or speedscope"

const struct cli_usage cli_export_usage = {
	.name = COMMAND,
	.operands = "--format FORMAT [OPTIONS]",
	.summary = "Writes a recording in the format of another tool.",
};

static const struct format {
	const char *name;
	enum perch_export_format format;
	bool binary;
} formats[] = {
	{ "folded", PERCH_EXPORT_FOLDED, false },
	{ "json", PERCH_EXPORT_JSON, false },
	{ "pprof", PERCH_EXPORT_PPROF, true },
	{ "speedscope", PERCH_EXPORT_SPEEDSCOPE, false },
};

struct export
{
	struct cli_input input;
	struct cli_filter filter;
	const struct format *format;
	const char *output; /* of -o; NULL or "-": standard output */
	bool no_inline, pid, tid, addresses;
	bool mark[3]; /* by mark_names */
};

static int set_format(void *export, const char *argument, bool negated)
{
	(void)negated;
	for (size_t i = 0; i < CLI_NR(formats); i++) {
		if (!strcmp(formats[i].name, argument)) {
			((struct export *)export)->format = &formats[i];
			return 0;
		}
	}
	cli_usage_error(COMMAND, "unknown format '%s'; expected " FORMATS, argument);
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

/* Adds the samples that the filter selects. Returns the exit status. */
static int add_samples(struct export *export, struct perch_export *to)
{
	struct perch_session *session = export->input.session;
	struct perch_session_sample sample;
	struct perch_record record;
	struct perch_error err;
	unsigned counter = 0;
	int rc, match;

	while ((rc = cli_input_next(&export->input, &record)) > 0) {
		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		match = cli_filter_match(&export->filter, &record);
		if (match > 0) {
			match = perch_session_resolve(session, &record, &sample, &err);
			if (!match)
				match = perch_export_add(to, &sample, &err);
		} else if (match < 0) {
			perch_error_set(&err, -match, PERCH_ERROR_NO_MEMORY, "no memory");
		}
		if (match < 0)
			return cli_error(COMMAND, &err);
		if (++counter % 65536 == 0) {
			uint64_t done, total;

			perch_reader_progress(perch_session_reader(session), &done, &total);
			cli_progress("reading samples", done, total + 1);
		}
	}
	cli_progress("reading samples", 1, 1);
	return rc ? CLI_EXIT_FAILURE : 0;
}

static int write_file(const struct export *export, struct perch_export *from)
{
	bool to_stdout = !export->output || !strcmp(export->output, "-");
	FILE *out = to_stdout ? stdout : fopen(export->output, "we");
	struct perch_error err;
	int rc;

	if (!out) {
		perch_error_set(&err, errno, PERCH_ERROR_FILE, "cannot create %s: %s",
				export->output, strerror(errno));
		return cli_error(COMMAND, &err);
	}
	rc = perch_export_write(from, out, &err);
	if (!to_stdout && fclose(out) && !rc)
		rc = perch_error_set(&err, errno, PERCH_ERROR_FILE, "cannot write: %s",
				     strerror(errno));
	return rc ? cli_error(COMMAND, &err) : 0;
}

static void print_notes(const struct export *export, const struct perch_export *from)
{
	struct perch_export_stats stats;

	perch_export_get_stats(from, &stats);
	cli_filter_print_notes(&export->filter, &export->input);
	if (!stats.samples && !export->filter.filter)
		cli_note(COMMAND, "%s has no samples", export->input.path);
	if (stats.other)
		cli_note(COMMAND,
			 "%" PRIu64 " samples of other events than the first one are left out: "
			 "folded stacks have one number per line",
			 stats.other);
	cli_input_print_notes(&export->input);
	cli_input_print_chain_notes(&export->input);
}

static int run(struct export *export)
{
	const struct perch_export_options options = {
		.pid = export->pid,
		.tid = export->tid,
		.mark_kernel = export->mark[MARK_KERNEL],
		.mark_inlined = export->mark[MARK_INLINED],
		.mark_jit = export->mark[MARK_JIT],
		.no_inline = export->no_inline,
		.addresses = export->addresses,
	};
	struct perch_export *to = NULL;
	struct perch_error err;
	int status = cli_filter_open(&export->filter, &export->input);

	if (!status &&
	    perch_export_new(&to, export->input.session, export->format->format, &options, &err))
		status = cli_error(COMMAND, &err);
	if (!status)
		status = add_samples(export, to);
	if (!status)
		status = write_file(export, to);
	if (to)
		print_notes(export, to);
	perch_export_free(to);
	cli_filter_close(&export->filter);
	return status;
}

int perch_cmd_export(int argc, char **argv)
{
	static struct export export = { .input.command = COMMAND };
	const struct cli_option options[] = {
		{ 'F', "format", "FORMAT", "the format: " FORMATS, CLI_CALL, &export, set_format,
		  false, false },
		CLI_INPUT_OPTIONS(&export.input),
		{ 'o', "output", "FILE", "the file to write (standard output)", CLI_STRING,
		  &export.output, NULL, false, false },
		CLI_FILTER_OPTIONS(&export.filter, 'c', 'd', 'C'),
		CLI_PARENT_OPTION(&export.filter, 'p'),
		CLI_SYMBOL_OPTIONS(&export.input),
		{ 0, "kallsyms", "FILE", "kernel symbols from this file", CLI_STRING,
		  &export.input.options.symbols.kallsyms, NULL, false, false },
		{ 0, "inline", NULL, "inlined functions are frames (default)", CLI_CALL, &export,
		  set_inline, false, false },
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
	int next = cli_parse(&cli_export_usage, options, CLI_NR(options), argc, argv);
	int status;

	if (next < argc)
		return cli_usage_error(COMMAND, "'%s' is not an option; name a file with -i",
				       argv[next]);
	if (!export.format)
		return cli_usage_error(COMMAND, "--format is missing; expected " FORMATS);
	if (export.format->binary && !export.output && isatty(STDOUT_FILENO))
		return cli_usage_error(COMMAND,
				       "%s is binary and standard output is a terminal; "
				       "name a file with -o",
				       export.format->name);
	export.input.options.check_owner = !export.input.force;
	status = cli_input_open(&export.input);
	if (status)
		return status;
	status = run(&export);
	cli_input_close(&export.input);
	return status;
}

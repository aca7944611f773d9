/* SPDX-License-Identifier: MIT */
/* perch flamegraph: a recording, or stacks of a text, as a page or picture with a flame graph. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <perch/export.h>

#include "base/text_stream.h"
#include "export_read.h"
#include "input/filter_options.h"
#include "input/input.h"
#include "options.h"
#include "shared_options.h"

#define COMMAND "flamegraph"

/* A recording or a text. The session must outlive the export. */
struct flamegraph_source {
	struct cli_input input; /* its path is that of the text, too */
	struct cli_filter filter;
	struct perch_export *export;
	bool is_text;
};

struct flamegraph {
	struct flamegraph_source new, old; /* old: of --diff; its path is NULL without */
	const char *output;		   /* of -o; "-": standard output; NULL: by format */
	const char *title;
	const char *event; /* of -e; NULL: the one with the most samples is shown */
	bool svg, no_inline;
};

/* ---- sources ---- */

/* Returns true for a directory, and for a file that begins as perf.data or cannot be read. Bytes of
 * a FIFO are not read: it has a text. "-" is standard input. */
static bool is_recording(const char *path)
{
	struct stat status;

	if (!strcmp(path, "-"))
		path = "/dev/stdin";
	if (stat(path, &status) || S_ISDIR(status.st_mode))
		return true;
	return S_ISREG(status.st_mode) && (access(path, R_OK) || perch_is_recording(path));
}

/* Returns 0, or -EINVAL for a text without samples: its lines are comments, or their numbers are 0.
 */
static int require_stacks(const struct flamegraph_source *source, struct perch_error *err)
{
	struct perch_export_stats stats;
	const char *path = source->input.path;

	perch_export_get_stats(source->export, &stats);
	if (stats.samples)
		return 0;
	perch_error_set(err, EINVAL, PERCH_ERROR_FILE,
			"%s has no stacks; expected folded stacks (NAME;OUTER;INNER 12) or the "
			"output of perf script",
			strcmp(path, "-") ? path : "standard input");
	return -EINVAL;
}

static int read_text(struct flamegraph_source *source)
{
	bool is_stdin = !strcmp(source->input.path, "-");
	FILE *in = is_stdin ? stdin : fopen(source->input.path, "re");
	struct perch_error err;
	int rc;

	if (!in) {
		perch_error_set(&err, errno, PERCH_ERROR_FILE, "cannot open %s: %s",
				source->input.path, strerror(errno));
		return cli_error(COMMAND, &err);
	}
	rc = perch_export_add_text(source->export, in, &err);
	if (!is_stdin)
		fclose(in);
	if (!rc)
		rc = require_stacks(source, &err);
	if (!rc)
		return 0;
	/* the error is all there is to say */
	perch_export_free(source->export);
	source->export = NULL;
	return err.kind == PERCH_ERROR_USAGE ? cli_usage_error(COMMAND, "%s", err.message)
					     : cli_error(COMMAND, &err);
}

/* Makes the export of a source, and reads it. output: where the page will be written. Returns the
 * exit status. */
static int read_source(struct flamegraph_source *source, const char *output,
		       enum perch_export_format format, const struct perch_export_options *options)
{
	int status = source->is_text ? 0 : cli_export_open(&source->input, &source->filter);

	if (!status)
		status = cli_export_check_output(&source->input, output);
	if (!status)
		status = cli_export_new(&source->export, &source->input, &source->filter, format,
					options);
	if (status)
		return status;
	if (source->is_text)
		return read_text(source);
	return cli_export_add_samples(&source->input, &source->filter, source->export);
}

/* of_several: each message has the name of its file. */
static void print_notes(struct flamegraph_source *source, bool of_several)
{
	char several[CLI_INPUT_COMMAND];
	struct perch_export_stats stats;

	if (!source->export)
		return;
	perch_export_get_stats(source->export, &stats);
	if (of_several)
		source->input.command = cli_input_command(&source->input, several);
	if (stats.unreadable)
		cli_note(COMMAND, "%" PRIu64 " %s of %s %s of perf script", stats.unreadable,
			 cli_word(stats.unreadable, "line", "lines"), source->input.path,
			 cli_word(stats.unreadable, "is neither a folded stack nor",
				  "are neither folded stacks nor"));
	if (stats.cut)
		cli_note(source->input.command, "%" PRIu64 " %s below 1024 others %s left out",
			 stats.cut, cli_word(stats.cut, "frame", "frames"),
			 cli_word(stats.cut, "is", "are"));
	if (source->input.session) {
		cli_export_print_notes(&source->input, &source->filter, source->export);
		cli_export_note_switches(&source->input);
	}
	cli_export_print_other(&source->input, false, source->export);
	source->input.command = COMMAND;
}

static void close_source(struct flamegraph_source *source)
{
	perch_export_free(source->export);
	cli_filter_close(&source->filter);
	if (source->input.session)
		cli_input_close(&source->input);
}

static void put_function_options(FILE *out, const struct flamegraph_source *source)
{
	const struct cli_filter *filter = &source->filter;

	if (filter->symbol_part)
		fprintf(out, " --symbol-filter %s", filter->symbol_part);
	if (filter->resolved)
		fputs(" --hide-unresolved", out);
	if (filter->exclude_other)
		fputs(" --exclude-other", out);
	if (filter->max_stack)
		fprintf(out, " --max-stack %" PRIu64, filter->max_stack);
	if (source->input.options.ignore_callees)
		fprintf(out, " --ignore-callees %s", source->input.options.ignore_callees);
	if (source->input.states)
		fputs(" --states", out);
	if (source->input.wakers)
		fputs(" --wakers", out);
}

/* The name of the file, and the options that select samples. NULL without memory. */
static char *title_of(const struct flamegraph_source *source)
{
	const char *arguments[CLI_FILTER_MOST_ARGUMENTS];
	size_t nr = cli_filter_arguments(&source->filter, arguments);
	char *title = NULL;
	size_t size;
	FILE *out = perch__open_text(&title, &size);

	if (!out)
		return NULL;
	fputs(source->input.path, out);
	for (size_t i = 0; i < nr; i++)
		fprintf(out, " %s", arguments[i]);
	put_function_options(out, source);
	perch__close_text(out, &title);
	return title;
}

/* ---- command ---- */

static int run_flamegraph(struct flamegraph *flamegraph)
{
	enum perch_export_format format = flamegraph->svg ? PERCH_EXPORT_SVG : PERCH_EXPORT_PAGE;
	struct perch_export_options options = {
		.title = flamegraph->title,
		.no_inline = flamegraph->no_inline,
		.event = flamegraph->event,
	};
	const char *output = flamegraph->output;
	int status = 0, refused = 0;
	char name[32];
	size_t nr;

	if (!output) {
		snprintf(name, sizeof(name), "flamegraph.%s",
			 perch_export_formats(&nr)[format].extension);
		output = name;
	}
	if (flamegraph->old.input.path) {
		status = read_source(&flamegraph->old, output, format, &options);
		options.old = flamegraph->old.export;
		options.old_title = flamegraph->old.input.path;
	}
	if (!status)
		status = read_source(&flamegraph->new, output, format, &options);
	if (!status && cli_export_has_content(flamegraph->new.export, false, output))
		status = cli_export_write(COMMAND, flamegraph->new.export, output,
					  !flamegraph->output);
	else if (!status)
		status = refused = CLI_EXIT_FAILURE;
	print_notes(&flamegraph->old, true);
	print_notes(&flamegraph->new, flamegraph->old.input.path);
	if (refused)
		cli_export_print_refusal(COMMAND, output);
	if (!status && strcmp(output, "-"))
		fprintf(stderr, "perch " COMMAND ": wrote %s\n", output);
	close_source(&flamegraph->new);
	close_source(&flamegraph->old);
	return status;
}

/* Sets the path of the new source. text: the operand; NULL: none. Returns the exit status. */
static int set_text(struct flamegraph_source *new, const char *text)
{
	if (text && new->input.path)
		return cli_usage_error(COMMAND, "-i names a recording; '%s' is too much", text);
	if (text) {
		new->input.path = text;
		new->is_text = !is_recording(text);
	}
	if (new->is_text && (cli_filter_is_given(&new->filter) || new->filter.exclude_other ||
			     new->filter.max_stack || new->input.options.ignore_callees ||
			     new->input.wakers || new->input.states))
		return cli_usage_error(COMMAND, "options that select samples need a recording; "
						"name it with -i");
	return 0;
}

/* Sets what the old source shares with the new one. */
static void set_old(struct flamegraph_source *old, const struct flamegraph_source *new)
{
	const char *path = old->input.path;

	old->input = new->input;
	old->input.path = path;
	old->filter = new->filter;
	old->is_text = path && !is_recording(path);
}

#define AT(member)   offsetof(struct flamegraph, member)
#define SETS(member) CLI_SETS(struct flamegraph, member)

static const struct cli_option options[] = {
	CLI_ROW(.table = cli_input_options, .at = AT(new.input)),
	CLI_ROW(.table = cli_jobs_option, .at = AT(new.input)),
	CLI_ROW(.table = cli_input_verbose_option, .at = AT(new.input)),
	CLI_ROW(.letter = 'o', .name = "output", .argument = "FILE", SETS(output),
		.help = "the file to write, - for standard output (flamegraph.html or .svg)"),
	CLI_ROW(.name = "svg", SETS(svg), .help = "write a picture without a script"),
	CLI_ROW(.name = "diff", .argument = "OLD", SETS(old.input.path),
		.help = "color frames by how their share has changed since this file"),
	CLI_ROW(.name = "title", .argument = "TEXT", SETS(title),
		.help = "the title (the name of the file)"),
	CLI_ROW(.table = cli_event_option, .at = AT(event)),
	CLI_ROW(.table = cli_filter_options, .at = AT(new.filter), .short_names = "cdC"),
	CLI_ROW(.table = cli_expression_option, .at = AT(new.filter)),
	CLI_ROW(.table = cli_parent_option, .at = AT(new.filter), .short_names = "p"),
	CLI_ROW(.table = cli_function_options, .at = AT(new.filter)),
	CLI_ROW(.table = cli_max_stack_option, .at = AT(new.filter)),
	CLI_ROW(.table = cli_ignore_callees_option, .at = AT(new.input.options.ignore_callees)),
	CLI_ROW(.table = cli_off_cpu_options, .at = AT(new.input)),
	CLI_ROW(.table = cli_symbol_options, .at = AT(new.input)),
	CLI_ROW(.table = cli_inline_option, .at = AT(no_inline)),
	{ 0 },
};

const struct cli_usage cli_flamegraph_usage = {
	.name = COMMAND,
	.operands = "[OPTIONS] [TEXT | -]",
	.summary = "Writes a recording, or stacks of a text, as a page with a flame graph.",
	.options = options,
};

int perch_cmd_flamegraph(int argc, char **argv)
{
	static struct flamegraph flamegraph = { .new.input.command = COMMAND };
	struct flamegraph_source *source = &flamegraph.new;
	const char *text, *extra;
	char *made = NULL;
	int status;

	extra = cli_options_parse_operand(&cli_flamegraph_usage, &flamegraph, argc, argv, &text);
	if (extra)
		return cli_usage_error(COMMAND, "expected one text; '%s' is too much", extra);
	status = set_text(&flamegraph.new, text);
	if (status)
		return status;
	source->filter.options.no_inline = flamegraph.no_inline;
	set_old(&flamegraph.old, &flamegraph.new);
	if (!flamegraph.title && source->input.path && strcmp(source->input.path, "-"))
		flamegraph.title = made = title_of(source);
	status = run_flamegraph(&flamegraph);
	free(made);
	return status;
}

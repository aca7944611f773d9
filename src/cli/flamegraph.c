/* SPDX-License-Identifier: MIT */
/* perch flamegraph: a recording as a page with a flame graph. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <perch/export.h>

#include "export_read.h"
#include "filter_options.h"
#include "input.h"
#include "options.h"

#define COMMAND "flamegraph"

const struct cli_usage cli_flamegraph_usage = {
	.name = COMMAND,
	.operands = "[OPTIONS]",
	.summary = "Writes a recording as a page with a flame graph, for any browser.",
};

struct flamegraph {
	struct cli_input input;
	struct cli_filter filter;
	const char *output; /* of -o; "-": standard output */
	const char *title;
	bool no_inline;
};

static int set_inline(void *flamegraph, const char *argument, bool negated)
{
	(void)argument;
	((struct flamegraph *)flamegraph)->no_inline = negated;
	return 0;
}

static int run(struct flamegraph *flamegraph)
{
	const struct perch_export_options options = {
		.title = flamegraph->title,
		.no_inline = flamegraph->no_inline,
	};
	struct perch_export *page = NULL;
	struct perch_error err;
	int status = cli_filter_open(&flamegraph->filter, &flamegraph->input);

	if (!status &&
	    perch_export_new(&page, flamegraph->input.session, PERCH_EXPORT_PAGE, &options, &err))
		status = cli_error(COMMAND, &err);
	if (!status)
		status = cli_export_add_samples(&flamegraph->input, &flamegraph->filter, page);
	if (!status)
		status = cli_export_write(COMMAND, page, flamegraph->output);
	if (page)
		cli_export_print_notes(&flamegraph->input, &flamegraph->filter, page);
	if (!status && strcmp(flamegraph->output, "-"))
		fprintf(stderr, "perch " COMMAND ": wrote %s\n", flamegraph->output);
	perch_export_free(page);
	cli_filter_close(&flamegraph->filter);
	return status;
}

int perch_cmd_flamegraph(int argc, char **argv)
{
	static struct flamegraph flamegraph = { .input.command = COMMAND,
						.output = "flamegraph.html" };
	const struct cli_option options[] = {
		CLI_INPUT_OPTIONS(&flamegraph.input),
		{ 'o', "output", "FILE",
		  "the file to write, - for standard output (flamegraph.html)", CLI_STRING,
		  &flamegraph.output, NULL, false, false },
		{ 0, "title", "TEXT", "the title of the page", CLI_STRING, &flamegraph.title, NULL,
		  false, false },
		CLI_FILTER_OPTIONS(&flamegraph.filter, 'c', 'd', 'C'),
		CLI_PARENT_OPTION(&flamegraph.filter, 'p'),
		CLI_SYMBOL_OPTIONS(&flamegraph.input),
		{ 0, "kallsyms", "FILE", "kernel symbols from this file", CLI_STRING,
		  &flamegraph.input.options.symbols.kallsyms, NULL, false, false },
		{ 0, "inline", NULL, "inlined functions are frames (default)", CLI_CALL,
		  &flamegraph, set_inline, false, false },
	};
	int next = cli_parse(&cli_flamegraph_usage, options, CLI_NR(options), argc, argv);
	int status;

	if (next < argc)
		return cli_usage_error(COMMAND, "'%s' is not an option; name a file with -i",
				       argv[next]);
	flamegraph.input.options.check_owner = !flamegraph.input.force;
	status = cli_input_open(&flamegraph.input);
	if (status)
		return status;
	status = run(&flamegraph);
	cli_input_close(&flamegraph.input);
	return status;
}

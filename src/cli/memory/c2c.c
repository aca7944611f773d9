/* SPDX-License-Identifier: MIT */
/* perch c2c: lines of the cache that threads take from each other. */
#include <errno.h>
#include <string.h>

#include "memory.h"
#include "names.h"
#include "shared_options.h"
#include "terminal/pager.h"

#define COMMAND	     "c2c"

#define AT(member)   offsetof(struct c2c, member)
#define SETS(member) CLI_SETS(struct c2c, member)

static const struct cli_word displays[] = {
	{ "tot", 0 }, { "lcl", 1 }, { "rmt", 2 }, { "peer", 3 }, { 0 }
};

static int set_display(const struct cli_given *given)
{
	*(const char **)given->state = displays[given->value].name;
	return 0;
}

static const struct cli_option report_table[] = {
	CLI_ROW(.table = cli_input_options, .at = AT(input)),
	CLI_ROW(.letter = 'd', .name = "display", .argument = "KIND", .at = AT(display),
		.set = set_display, .words = displays, .not_negated = true,
		.help = "sort by HITM: all, of this socket, of others, or by peer accesses"),
	CLI_ROW(.name = "show-all", SETS(show_all),
		.help = "print the lines that one thread accesses, too"),
	CLI_ROW(.name = "stats", SETS(only_stats), .help = "print only the sums"),
	CLI_ROW(.name = "no-source", SETS(no_source), .help = "print no source lines"),
	CLI_ROW(.table = cli_filter_options, .at = AT(filter), .short_names = "---"),
	CLI_ROW(.table = cli_symbol_options, .at = AT(input)),
	CLI_ROW(.name = "stdio", .kind = CLI_IGNORED, .hidden = true),
	CLI_ROW(.table = cli_no_pager_option),
	{ 0 },
};

static const struct cli_subcommand first_words[] = {
	{ "record", &cli_record_usage },
	{ "report", NULL },
	{ 0 },
};

const struct cli_usage cli_c2c_usage = {
	.name = COMMAND,
	.operands = "record|report [OPTIONS]",
	.summary = "Shows which threads access the same lines of the cache.",
	.options = report_table,
	.subcommands = first_words,
};

static int read_samples(struct c2c *c2c)
{
	struct perch_session_sample sample;
	struct perch_record record;
	struct perch_error err;
	int rc;

	while ((rc = cli_input_next(&c2c->input, &record)) > 0) {
		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		rc = cli_filter_match(&c2c->filter, &record);
		if (rc > 0 && perch_session_resolve(c2c->input.session, &record, &sample, &err))
			return cli_error(COMMAND, &err);
		if (rc < 0 || (rc > 0 && c2c_add(c2c, &sample)))
			return cli_no_memory(COMMAND);
	}
	return rc < 0 ? CLI_EXIT_FAILURE : 0;
}

/* Returns 0, or the exit status after it has printed what the file lacks. */
static int check_addresses(const struct c2c *c2c)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(c2c->input.session), &events);

	for (size_t i = 0; i < nr; i++)
		if (events[i].attr.sample_type & PERCH_SAMPLE_ADDR)
			return 0;
	return cli_usage_error(COMMAND,
			       "%s has no addresses of data: record it by 'perch c2c record', or "
			       "by 'perch record -d -W' with an event of memory accesses",
			       c2c->input.path);
}

static int print_lines(struct c2c *c2c)
{
	int status = cli_input_open(&c2c->input);

	if (!status)
		status = check_addresses(c2c);
	if (!status)
		status = cli_filter_open(&c2c->filter, &c2c->input);
	if (!status)
		status = read_samples(c2c);
	if (!status) {
		cli_start_pager();
		c2c_sort(c2c);
		c2c_print(c2c);
		cli_filter_print_notes(&c2c->filter, &c2c->input);
		cli_input_print_notes(&c2c->input);
	}
	c2c_clear(c2c);
	cli_filter_close(&c2c->filter);
	cli_input_close(&c2c->input);
	return status;
}

int perch_cmd_c2c(int argc, char **argv)
{
	static const char *const own[] = { "-d", "-W", "--sample-cpu", "--phys-data", NULL };
	const struct mem_events events = { 0 };
	struct c2c c2c = { .input.command = COMMAND,
			   .input.records = true,
			   .display = displays[0].name,
			   .line_size = 64 };
	int first = cli_options_parse(&cli_c2c_usage, &c2c, argc, argv);

	if (first < argc && cli_is_word(argv[first], "record"))
		return mem_record(COMMAND, &events, own, argc - first, argv + first);
	if (first == argc || !cli_is_word(argv[first], "report"))
		return cli_usage_error(COMMAND, "expected record or report%s%s",
				       first < argc ? ", not " : "",
				       first < argc ? argv[first] : "");
	first += cli_options_parse(&cli_c2c_usage, &c2c, argc - first, argv + first);
	if (first < argc)
		return cli_usage_error(COMMAND, "'%s' is not an option; name a file with -i",
				       argv[first]);
	return print_lines(&c2c);
}

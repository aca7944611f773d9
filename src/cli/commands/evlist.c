/* SPDX-License-Identifier: MIT */
/* perch evlist: the events of a perf.data file. */
#include <string.h>

#include "commands/event_list.h"
#include "input/input.h"
#include "options.h"
#include "terminal/pager.h"
#include "shared_options.h"

#define COMMAND "evlist"

struct evlist {
	struct cli_input input;
	struct cli_event_format list;
	bool trace_fields;
};

/* Prints the names of the fields that only this tracepoint has. */
static void put_trace_fields(struct evlist *list, const struct perch_file_event *event)
{
	const struct perch_tracepoint_format *format;
	const struct perch_tracepoint_field *fields;
	bool first = true;
	struct perch_error err;
	size_t nr;

	cli_put_between(&list->list);
	if (event->attr.type != PERCH_TYPE_TRACEPOINT) {
		fputs("(not a tracepoint)", stdout);
		return;
	}
	if (perch_session_format(list->input.session, event, &format, &err)) {
		fputs("(no format in the file)", stdout);
		return;
	}
	nr = perch_tracepoint_format_fields(format, &fields);
	for (size_t i = 0; i < nr; i++) {
		if (fields[i].is_common)
			continue;
		fputs(first ? "trace_fields: " : ",", stdout);
		cli_put_clean(stdout, fields[i].name);
		first = false;
	}
	if (first)
		fputs("(no trace field)", stdout);
}

static void put_event(struct evlist *list, const struct perch_file_event *event)
{
	cli_put_event(&list->list, event);
	if (list->trace_fields)
		put_trace_fields(list, event);
	putchar('\n');
}

static void put_events(struct evlist *list)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(list->input.session), &events);
	bool tracepoints = false, groups = false;

	for (size_t i = 0; i < nr;) {
		tracepoints |= events[i].attr.type == PERCH_TYPE_TRACEPOINT;
		groups |= events[i].members > 1;
		if (list->list.groups) {
			size_t members = cli_put_group(&list->list, &events[i], nr - i);

			for (size_t k = 1; k < members; k++)
				tracepoints |= events[i + k].attr.type == PERCH_TYPE_TRACEPOINT;
			i += members;
		} else {
			put_event(list, &events[i++]);
		}
	}
	if (tracepoints && !list->trace_fields)
		puts("# Tip: use 'perch evlist --trace-fields' to show fields for tracepoint events");
	if (groups && !list->list.groups)
		puts("# Tip: use 'perch evlist -g' to show group information");
	if (!nr)
		cli_note(COMMAND, "%s has no events", list->input.path);
}

#define AT(member)   offsetof(struct evlist, member)
#define SETS(member) CLI_SETS(struct evlist, member)

static const struct cli_option options[] = {
	CLI_ROW(.table = cli_input_options, .at = AT(input)),
	CLI_ROW(.letter = 'F', .name = "freq", SETS(list.frequency),
		.help = "print the frequency or the period of each event"),
	CLI_ROW(.letter = 'v', .name = "verbose", SETS(list.verbose),
		.help = "print all fields of the attrs that are not 0"),
	CLI_ROW(.letter = 'g', .name = "group", SETS(list.groups),
		.help = "print each group in one line"),
	CLI_ROW(.name = "trace-fields", SETS(trace_fields),
		.help = "print the names of the fields of tracepoints"),
	CLI_ROW(.table = cli_no_pager_option),
	{ 0 },
};

const struct cli_usage cli_evlist_usage = {
	.name = COMMAND,
	.operands = "[OPTIONS]",
	.summary = "Lists the events of a perf.data file.",
	.options = options,
};

int perch_cmd_evlist(int argc, char **argv)
{
	static struct evlist list = { .input.command = COMMAND, .input.options.file_order = true };
	int next = cli_options_parse(&cli_evlist_usage, &list, argc, argv);
	int status;

	if (next < argc)
		return cli_usage_error(COMMAND, "'%s' is not an option; name a file with -i",
				       argv[next]);
	if (list.list.groups && (list.list.verbose || list.list.frequency))
		return cli_usage_error(COMMAND, "-g prints no details: it excludes -v and -F");
	status = cli_input_open(&list.input);
	if (status)
		return status;
	cli_start_pager();
	list.list.out = stdout;
	put_events(&list);
	status = cli_check_stdout(COMMAND, 0);
	cli_input_close(&list.input);
	return status;
}

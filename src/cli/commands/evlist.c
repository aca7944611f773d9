/* SPDX-License-Identifier: MIT */
/* perch evlist: the events of a perf.data file. */
#include <inttypes.h>
#include <string.h>

#include "input/input.h"
#include "options.h"
#include "terminal/pager.h"
#include "shared_options.h"

#define COMMAND "evlist"

struct evlist {
	struct cli_input input;
	bool frequency, groups, trace_fields;
	int verbose;
	const char *between; /* ": " before the first detail of an event, then ", " */
	bool failed;
};

static void put_between(struct evlist *list)
{
	fputs(list->between, stdout);
	list->between = ", ";
}

/* The words of the attr with several names. perf prints all of them. */
static const char *shown_name(const char *field)
{
	static const struct {
		const char *field, *shown;
	} names[] = {
		{ "sample_period", "{ sample_period, sample_freq }" },
		{ "sample_freq", "{ sample_period, sample_freq }" },
		{ "wakeup_events", "{ wakeup_events, wakeup_watermark }" },
		{ "wakeup_watermark", "{ wakeup_events, wakeup_watermark }" },
		{ "bp_addr", "{ bp_addr, config1 }" },
		{ "config1", "{ bp_addr, config1 }" },
		{ "bp_len", "{ bp_len, config2 }" },
		{ "config2", "{ bp_len, config2 }" },
	};

	for (size_t i = 0; i < CLI_NR(names); i++)
		if (!strcmp(names[i].field, field))
			return names[i].shown;
	return field;
}

static int put_attr_field(void *context, const struct perch_field *field)
{
	if (!field->value)
		return 0;
	put_between(context);
	printf("%s: ", shown_name(field->name));
	if (field->kind == PERCH_FIELD_FLAGS)
		fputs(field->text, stdout);
	else if (field->kind == PERCH_FIELD_HEX || !strcmp(field->name, "bp_len"))
		printf("%#" PRIx64, field->value);
	else if (field->kind == PERCH_FIELD_SIGNED)
		printf("%" PRId64, (int64_t)field->value);
	else
		printf("%" PRIu64, field->value);
	return 0;
}

/* Prints the names of the fields that only this tracepoint has. */
static void put_trace_fields(struct evlist *list, const struct perch_file_event *event)
{
	const struct perch_tracepoint_format *format;
	const struct perch_tracepoint_field *fields;
	bool first = true;
	struct perch_error err;
	size_t nr;

	put_between(list);
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

/* Prints a group in one line. Returns how many events it has. */
static size_t put_group(const struct perch_file_event *events, size_t nr)
{
	size_t members = events->members > 1 && events->members <= nr ? events->members : 1;

	if (members > 1)
		putchar('{');
	for (size_t i = 0; i < members; i++) {
		if (i)
			putchar(',');
		cli_put_clean(stdout, events[i].name);
	}
	if (members > 1)
		putchar('}');
	putchar('\n');
	return members;
}

static void put_event(struct evlist *list, const struct perch_file_event *event)
{
	cli_put_clean(stdout, event->name);
	list->between = ": ";
	if (list->verbose) {
		perch_attr_each_field(&event->attr, put_attr_field, list);
	} else if (list->frequency) {
		put_between(list);
		printf("sample_%s=%" PRIu64, event->attr.freq ? "freq" : "period",
		       event->attr.sample_period);
	}
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
		if (list->groups) {
			size_t members = put_group(&events[i], nr - i);

			for (size_t k = 1; k < members; k++)
				tracepoints |= events[i + k].attr.type == PERCH_TYPE_TRACEPOINT;
			i += members;
		} else {
			put_event(list, &events[i++]);
		}
	}
	if (tracepoints && !list->trace_fields)
		puts("# Tip: use 'perch evlist --trace-fields' to show fields for tracepoint events");
	if (groups && !list->groups)
		puts("# Tip: use 'perch evlist -g' to show group information");
	if (!nr)
		cli_note(COMMAND, "%s has no events", list->input.path);
}

#define AT(member)   offsetof(struct evlist, member)
#define SETS(member) CLI_SETS(struct evlist, member)

static const struct cli_option options[] = {
	CLI_ROW(.table = cli_input_options, .at = AT(input)),
	CLI_ROW(.letter = 'F', .name = "freq", SETS(frequency),
		.help = "print the frequency or the period of each event"),
	CLI_ROW(.letter = 'v', .name = "verbose", SETS(verbose),
		.help = "print all fields of the attrs that are not 0"),
	CLI_ROW(.letter = 'g', .name = "group", SETS(groups),
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
	if (list.groups && (list.verbose || list.frequency))
		return cli_usage_error(COMMAND, "-g prints no details: it excludes -v and -F");
	status = cli_input_open(&list.input);
	if (status)
		return status;
	cli_start_pager();
	put_events(&list);
	status = cli_check_stdout(COMMAND, 0);
	cli_input_close(&list.input);
	return status;
}

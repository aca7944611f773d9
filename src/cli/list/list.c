/* SPDX-License-Identifier: MIT */
/* perch list: the events of this machine, and which of the generic ones work here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <perch/symbol.h>

#include "event_options.h"
#include "list.h"
#include "options.h"
#include "terminal/pager.h"
#include "program/seccomp_kill.h"
#include "shared_options.h"

/* Each operand selects a kind or is a pattern for names. The patterns move to the front of argv. */
static void read_filter(struct list_filter *filter, int argc, char **argv)
{
	filter->words = argv;
	for (int i = 0; i < argc; i++)
		if (!list_kind_word(argv[i], &filter->kinds))
			filter->words[filter->nr_words++] = argv[i];
}

#define SUGGESTION "did you mean "

/* Prints what the parser of -e says: the names that it suggests, or that it takes the word. */
static void print_suggestions(const struct list *list, const char *word)
{
	struct perch_events events = { 0 };
	struct perch_error err = { 0 };
	int rc = perch_events_parse(&events, word, list->machine, &err);

	if (!rc && !list->filter.kinds)
		cli_note("list", "'%s' is not in the list, but -e takes it", word);
	if (rc == -ENOTUNIQ || !strncmp(err.remedy, SUGGESTION, strlen(SUGGESTION)))
		cli_note("list", "%s", err.remedy);
	perch_events_clear(&events);
}

/* Prints why the list is empty. */
static int report_empty(const struct list *list)
{
	char text[256];

	if (list->filter.nr_words) {
		perch_clean_text(list->filter.words[0], text, sizeof(text));
		fprintf(stderr,
			"perch list: no event of this machine%s matches '%s'. 'perch list' lists all "
			"events.\n",
			list->filter.kinds ? " of the selected kinds" : "", text);
		for (size_t i = 0; i < list->filter.nr_words; i++)
			print_suggestions(list, list->filter.words[i]);
	} else if (list->no_tracepoints.kind == PERCH_ERROR_NONE) {
		fprintf(stderr, "perch list: this machine has no such events\n");
	}
	if (list->no_tracepoints.kind != PERCH_ERROR_NONE)
		cli_error("list", &list->no_tracepoints);
	return CLI_EXIT_FAILURE;
}

static int show_list(struct list *list)
{
	struct perch_error err;
	int status = 0;

	if (list_gather(list, &err))
		status = cli_error("list", &err);
	else if (list->nr || list->json)
		cli_start_pager();
	if (!status && list->json)
		status = list_print_json(list);
	else if (!status && list->nr)
		list_print_text(list);
	if (!status && !list->nr)
		status = report_empty(list);
	else if (list->json && list->no_tracepoints.kind != PERCH_ERROR_NONE)
		/* the JSON array has only events */
		cli_error("list", &list->no_tracepoints);
	if (cli_check_stdout("list", 0))
		status = CLI_EXIT_FAILURE;
	list_clear(list);
	return status;
}

#define SETS(member) CLI_SETS(struct list, member)

static const struct cli_option options[] = {
	CLI_ROW(.letter = 'x', .name = "exec", .argument = "FILE", SETS(file),
		.help = "list the functions and USDT probes of a program or library"),
	CLI_ROW(.letter = 'j', .name = "json", SETS(json),
		.help = "print JSON: an array of objects"),
	CLI_ROW(.letter = 'v', .name = "verbose", SETS(details),
		.help = "also show fields of tracepoints, and terms, units and scales of PMU events"),
	CLI_ROW(.name = "details", SETS(details), .hidden = true),
	CLI_ROW(.name = "long-desc", SETS(details), .hidden = true),
	CLI_ROW(.letter = 'd', .name = "desc", .kind = CLI_IGNORED, .hidden = true),
	CLI_ROW(.table = cli_no_pager_option),
	{ 0 },
};

const struct cli_usage cli_list_usage = {
	.name = "list",
	.operands = "[OPTIONS] [WORD...]",
	.summary = "Lists the events of this machine.",
	.options = options,
};

int perch_cmd_list(int argc, char **argv)
{
	struct list list = { 0 };
	struct perch_error err;
	int first, status;

	first = cli_options_parse(&cli_list_usage, &list, argc, argv);
	if (perch_machine_new(&list.machine, NULL, cli_calls_that_survive(), &err))
		return cli_error("list", &err);
	cli_use_debug_info(list.machine);
	if (list.file) {
		list.filter.words = argv + first;
		list.filter.nr_words = (size_t)(argc - first);
		status = list_file(list.file, &list.filter, list.json, list.machine);
	} else {
		read_filter(&list.filter, argc - first, argv + first);
		status = show_list(&list);
	}
	perch_machine_free(list.machine);
	return status;
}

/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "functions.h"
#include "record/record.h"

/* The stack pointer shows which calls were left without a return. In the language of tracefs. */
#define STACK_POINTER "sp=%sp:u64"

/* The names of events are those of functions: the same for entry and return. */
static int finish_event(struct perch_event *event, const char *arguments)
{
	const size_t length = strlen(event->name), cut = strlen(arguments);
	char *all;

	if (asprintf(&all, "%s%s%s", STACK_POINTER, event->arguments ? " " : "",
		     event->arguments ? event->arguments : "") < 0)
		return -ENOMEM;
	free(event->arguments);
	event->arguments = all;
	if (length > cut && !strcmp(event->name + length - cut, arguments))
		event->name[length - cut] = '\0';
	return 0;
}

/* arguments: "(n, name)", or "" */
static int add_events(struct record_options *options, const char *kind, const char *probe,
		      int length, const char *arguments)
{
	struct cli_event_list *events = &options->events;
	const size_t first = events->list.nr;
	char *text;
	int rc;

	if (asprintf(&text, "%s:%.*s%s", kind, length, probe, arguments) < 0)
		return cli_no_memory(FUNCTIONS_COMMAND);
	rc = cli_add_events(FUNCTIONS_COMMAND, events, text);
	free(text);
	if (rc)
		return CLI_EXIT_USAGE;
	for (size_t i = first; i < events->list.nr && !rc; i++)
		rc = finish_event(&events->list.event[i], arguments);
	return rc ? cli_no_memory(FUNCTIONS_COMMAND) : 0;
}

/* Adds a word to a list "(n, name)". */
static void add_word(char *list, size_t size, const char *word)
{
	const size_t used = strlen(list);

	if (used)
		snprintf(list + used - 1, size - used + 1, ",%s)", word);
	else
		snprintf(list, size, "(%s)", word);
}

/*
 * Adds the events of "PATH:FUNCTION(ARGUMENTS)": the arguments are read at the entry, and $retval
 * at the return. Returns 0 or the exit status.
 */
static int add_probe(struct record_options *options, const char *probe)
{
	const size_t length = strlen(probe);
	const char *open = length && probe[length - 1] == ')' ? strrchr(probe, '(') : NULL;
	const size_t name = open ? (size_t)(open - probe) : length;
	char *words = open ? strndup(open + 1, length - name - 2) : strdup("");
	char entry[2048] = "", result[2048] = "", *rest = words, *one;
	int status;

	if (!words)
		return cli_no_memory(FUNCTIONS_COMMAND);
	while ((one = strsep(&rest, ",")) && *words)
		add_word(strstr(one, "$retval") ? result : entry, sizeof(entry), one);
	free(words);
	status = add_events(options, "uprobe", probe, (int)name, entry);
	return status ? status : add_events(options, "uretprobe", probe, (int)name, result);
}

static int add_probes(struct record_options *options, void *context)
{
	const struct functions *functions = context;
	int status = 0;

	for (size_t i = 0; i < functions->nr_probes && !status; i++)
		status = add_probe(options, functions->probe[i]);
	return status;
}

static int record_probes(void *context, const char *path)
{
	const struct functions *functions = context;
	/* messages are those of the command */
	static char name[] = FUNCTIONS_COMMAND, quiet[] = "-q", count[] = "-c", one[] = "1",
		    output[] = "-o", end[] = "--";
	char *const first[] = { name, quiet, count, one, output, (char *)path };
	size_t nr = CLI_NR(first) + 1, at = CLI_NR(first);
	char **argv;
	int status;

	for (char **word = functions->options; *word; word++)
		nr++;
	for (char **word = functions->program; *word; word++)
		nr++;
	argv = calloc(nr + 1, sizeof(*argv));
	if (!argv)
		return cli_no_memory(FUNCTIONS_COMMAND);
	memcpy(argv, first, sizeof(first));
	for (char **word = functions->options; *word;)
		argv[at++] = *word++;
	argv[at++] = end;
	for (char **word = functions->program; *word;)
		argv[at++] = *word++;
	status = record_run((int)at, argv, add_probes, context);
	free(argv);
	return status;
}

int functions_record(struct functions *functions)
{
	int status = cli_own_recording_make(&functions->recording, FUNCTIONS_COMMAND, record_probes,
					    functions);

	/* the program may have failed, and its calls are of interest all the same */
	if (!status)
		functions->input.path = functions->recording.path;
	return status;
}

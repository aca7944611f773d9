/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "functions.h"

/* The stack pointer shows which calls were left without a return. */
#define STACK_POINTER "sp=%sp:u64"

/*
 * Makes the probes of "PATH:FUNCTION(ARGUMENTS)": the arguments are read at the entry, and $retval
 * at the return. Returns 0 or -ENOMEM.
 */
static int make_events(const char *probe, char *event[2])
{
	const size_t length = strlen(probe);
	const char *open = length && probe[length - 1] == ')' ? strrchr(probe, '(') : NULL;
	const size_t name = open ? (size_t)(open - probe) : length;
	char *arguments = open ? strndup(open + 1, length - name - 2) : strdup("");
	char entry[2048] = STACK_POINTER, result[2048] = STACK_POINTER, *rest = arguments, *one;
	int rc;

	if (!arguments)
		return -ENOMEM;
	while ((one = strsep(&rest, ",")) && *arguments) {
		char *list = strstr(one, "$retval") ? result : entry;
		const size_t used = strlen(list);

		snprintf(list + used, sizeof(entry) - used, ",%s", one);
	}
	free(arguments);
	rc = asprintf(&event[0], "uprobe:%.*s(%s)", (int)name, probe, entry) < 0 ||
	     asprintf(&event[1], "uretprobe:%.*s(%s)", (int)name, probe, result) < 0;
	return rc ? -ENOMEM : 0;
}

static int record_probes(void *context, const char *path)
{
	const struct functions *functions = context;
	/* messages are those of the command */
	static char name[] = FUNCTIONS_COMMAND, quiet[] = "-q", count[] = "-c", one[] = "1",
		    output[] = "-o", option[] = "-e", end[] = "--";
	char *const first[] = { name, quiet, count, one, output };
	size_t nr = 8 + 4 * functions->nr_probes, at = 0;
	char *event[2 * FUNCTIONS_PROBES], **argv;
	int status;

	for (char **word = functions->options; *word; word++)
		nr++;
	for (char **word = functions->program; *word; word++)
		nr++;
	argv = calloc(nr + 1, sizeof(*argv));
	if (!argv)
		return cli_no_memory(FUNCTIONS_COMMAND);
	for (size_t i = 0; i < CLI_NR(first); i++)
		argv[at++] = first[i];
	argv[at++] = (char *)path;
	for (size_t i = 0; i < functions->nr_probes; i++) {
		if (make_events(functions->probe[i], event + 2 * i))
			return cli_no_memory(FUNCTIONS_COMMAND);
		for (size_t k = 2 * i; k < 2 * i + 2; k++) {
			argv[at++] = option;
			argv[at++] = event[k];
		}
	}
	for (char **word = functions->options; *word;)
		argv[at++] = *word++;
	argv[at++] = end;
	for (char **word = functions->program; *word;)
		argv[at++] = *word++;
	status = perch_cmd_record((int)at, argv);
	for (size_t i = 0; i < 2 * functions->nr_probes; i++)
		free(event[i]);
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

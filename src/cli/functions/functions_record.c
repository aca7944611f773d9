/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

static int record_probes(const struct functions *functions, const char *path)
{
	static char name[] = "record", quiet[] = "-q", count[] = "-c", one[] = "1", output[] = "-o",
		    option[] = "-e", end[] = "--";
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

/* Returns the exit status of a recording that another process makes: signals that it blocks, and
 * definitions of probes, are not those of what follows. Ctrl-C ends the recording alone. */
static int run_record(const struct functions *functions, const char *path)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	int status = 0;
	pid_t child;

	fflush(NULL);
	sigaction(SIGINT, &ignore, &before);
	child = fork();
	if (!child) {
		sigaction(SIGINT, &before, NULL);
		exit(record_probes(functions, path));
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &before, NULL);
	if (child < 0) {
		cli_note(FUNCTIONS_COMMAND, "cannot start a process: %s", strerror(errno));
		return CLI_EXIT_FAILURE;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int functions_record(struct functions *functions)
{
	const char *temporary = getenv("TMPDIR");
	char *path;
	int status;

	if (asprintf(&functions->directory, "%s/perch-XXXXXX",
		     temporary && *temporary ? temporary : "/tmp") < 0) {
		functions->directory = NULL;
		return cli_no_memory(FUNCTIONS_COMMAND);
	}
	if (!mkdtemp(functions->directory)) {
		cli_note(FUNCTIONS_COMMAND, "cannot create %s: %s", functions->directory,
			 strerror(errno));
		free(functions->directory);
		functions->directory = NULL;
		return CLI_EXIT_FAILURE;
	}
	if (asprintf(&path, "%s/perf.data", functions->directory) < 0)
		return cli_no_memory(FUNCTIONS_COMMAND);
	functions->input.path = path;
	status = run_record(functions, path);
	if (access(path, R_OK))
		return status ? status : CLI_EXIT_FAILURE;
	/* the program may have failed, and its calls are of interest all the same */
	functions->program_status = status;
	return 0;
}

void functions_remove(struct functions *functions)
{
	if (functions->input.path) {
		unlink(functions->input.path);
		free((char *)functions->input.path);
		functions->input.path = NULL;
	}
	if (functions->directory)
		rmdir(functions->directory);
	free(functions->directory);
}

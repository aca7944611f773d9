/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "commands.h"
#include "tables.h"

/* The arguments of perch record. */
struct arguments {
	char **text; /* borrowed; NULL terminates it */
	size_t nr, capacity;
	bool failed; /* without memory */
};

static void add(struct arguments *arguments, const char *text)
{
	char **at;

	if (arguments->failed)
		return;
	at = PERCH__ARRAY_APPEND(arguments->text, arguments->nr, arguments->capacity);
	if (at)
		*at = (char *)text;
	else
		arguments->failed = true;
}

static void add_option(struct arguments *arguments, const char *option, const char *value)
{
	if (!value)
		return;
	add(arguments, option);
	add(arguments, value);
}

/* True if an option about the target is among those before the program. */
static bool has_target(int argc, char **argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
		if (argv[i][0] == '-' && argv[i][1] && strchr("pCu", argv[i][1]))
			return true;
	return false;
}

static void begin_arguments(struct arguments *arguments, const struct tables *tables)
{
	const char *const *own = tables->command->record(tables);

	add(arguments, "record");
	while (*own)
		add(arguments, *own++);
}

static int run_record(struct arguments *arguments, const char *command)
{
	int status;

	add(arguments, NULL);
	status = arguments->failed ? cli_no_memory(command)
				   : perch_cmd_record((int)arguments->nr - 1, arguments->text);
	free(arguments->text);
	return status;
}

int tables_record(const struct tables *tables, int argc, char **argv)
{
	struct arguments arguments = { 0 };

	begin_arguments(&arguments, tables);
	if (tables->all_cpus || (tables->command->system_wide && !has_target(argc, argv)))
		add(&arguments, "-a");
	for (int i = 0; i < argc; i++)
		add(&arguments, argv[i]);
	return run_record(&arguments, tables->input.command);
}

static int record_program(const struct tables *tables, const char *path, char **program)
{
	struct arguments arguments = { 0 };

	begin_arguments(&arguments, tables);
	add(&arguments, "-q");
	add_option(&arguments, "-o", path);
	if (tables->all_cpus ||
	    (tables->command->system_wide && !tables->pids && !tables->tids && !tables->cpus))
		add(&arguments, "-a");
	add_option(&arguments, "-p", tables->pids);
	add_option(&arguments, "-t", tables->tids);
	add_option(&arguments, "-C", tables->cpus);
	add(&arguments, "--");
	while (program && *program)
		add(&arguments, *program++);
	return run_record(&arguments, tables->input.command);
}

/* Makes a directory, and the path of a file in it. Returns 0 or the exit status. */
static int make_directory(struct tables *tables, char *path, size_t size)
{
	const char *temporary = getenv("TMPDIR");
	struct perch_error err;
	char name[4000];

	snprintf(name, sizeof(name), "%s/perch-XXXXXX",
		 temporary && *temporary ? temporary : "/tmp");
	if (!mkdtemp(name)) {
		perch_error_set(&err, errno, PERCH_ERROR_FILE, "cannot create %s: %s", name,
				strerror(errno));
		return cli_error(tables->input.command, &err);
	}
	tables->directory = perch__strdup(name);
	snprintf(path, size, "%s/perf.data", name);
	return tables->directory ? 0 : cli_no_memory(tables->input.command);
}

/* A process of its own records: signals that it blocks, and descriptors, are not those of what
 * follows. Ctrl-C ends the recording, and not this process. */
int tables_record_live(struct tables *tables, char **program)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	static char path[4096];
	int status = make_directory(tables, path, sizeof(path)), wait_status = 0;
	pid_t child;

	if (status)
		return status;
	fflush(NULL);
	sigaction(SIGINT, &ignore, &before);
	child = fork();
	if (!child) {
		sigaction(SIGINT, &before, NULL);
		exit(record_program(tables, path, program));
	}
	while (child > 0 && waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &before, NULL);
	tables->record_status = child > 0 && WIFEXITED(wait_status) ? WEXITSTATUS(wait_status)
								    : CLI_EXIT_FAILURE;
	if (child < 0 || access(path, R_OK))
		return tables->record_status ? tables->record_status : CLI_EXIT_FAILURE;
	tables->input.path = path;
	return 0;
}

void tables_remove_recording(struct tables *tables)
{
	char path[4096];

	if (!tables->directory)
		return;
	snprintf(path, sizeof(path), "%s/perf.data", tables->directory);
	unlink(path);
	rmdir(tables->directory);
	free(tables->directory);
	tables->directory = NULL;
}

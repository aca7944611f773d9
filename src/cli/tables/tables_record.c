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

static void begin_arguments(struct arguments *arguments, const struct tables *tables)
{
	const char *const *own = tables->command->record(tables);

	add(arguments, "record");
	if (tables->all_cpus || tables->command->system_wide)
		add(arguments, "-a");
	while (*own)
		add(arguments, *own++);
}

static int run_record(struct arguments *arguments, const struct tables *tables)
{
	/* -a of the command itself gives way to options about the target */
	int (*record)(int argc, char **argv) = !tables->all_cpus && tables->command->system_wide
						       ? perch_cmd_record_all_cpus
						       : perch_cmd_record;
	int status;

	add(arguments, NULL);
	status = arguments->failed ? cli_no_memory(tables->input.command)
				   : record((int)arguments->nr - 1, arguments->text);
	free(arguments->text);
	return status;
}

int tables_record(const struct tables *tables, int argc, char **argv)
{
	struct arguments arguments = { 0 };

	begin_arguments(&arguments, tables);
	for (int i = 0; i < argc; i++)
		add(&arguments, argv[i]);
	return run_record(&arguments, tables);
}

static int record_program(const struct tables *tables, const char *path, char **program)
{
	struct arguments arguments = { 0 };

	begin_arguments(&arguments, tables);
	add(&arguments, "-q");
	add_option(&arguments, "-o", path);
	add_option(&arguments, "-p", tables->pids);
	add_option(&arguments, "-t", tables->tids);
	add_option(&arguments, "-C", tables->cpus);
	add(&arguments, "--");
	while (program && *program)
		add(&arguments, *program++);
	return run_record(&arguments, tables);
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

/* For the signal handler: the process that records, and what is to end this one after it. */
static volatile sig_atomic_t recorder, ended_by;

/* Passes a signal on. A terminal has sent Ctrl-C to both processes. */
static void pass_on(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (number != SIGINT)
		ended_by = number;
	if (recorder && (number != SIGINT || info->si_code != SI_KERNEL))
		kill((pid_t)recorder, number == SIGINT ? SIGINT : SIGTERM);
}

static const int passed_signals[] = { SIGINT, SIGTERM, SIGHUP };

/* A process of its own records: signals that it blocks, and descriptors, are not those of what
 * follows. Ctrl-C ends the recording, and not this process. Returns its wait(2) status, or -1. */
static int run_recorder(struct tables *tables, const char *path, char **program)
{
	struct sigaction pass = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO };
	struct sigaction before[CLI_NR(passed_signals)];
	sigset_t passed, mask;
	int wait_status = -1;
	pid_t child;

	fflush(NULL);
	sigemptyset(&passed);
	for (size_t i = 0; i < CLI_NR(passed_signals); i++)
		sigaddset(&passed, passed_signals[i]);
	/* they wait until the recorder has a number */
	sigprocmask(SIG_BLOCK, &passed, &mask);
	child = fork();
	if (!child) {
		sigprocmask(SIG_SETMASK, &mask, NULL);
		exit(record_program(tables, path, program));
	}
	recorder = child > 0 ? child : 0;
	for (size_t i = 0; i < CLI_NR(passed_signals); i++)
		sigaction(passed_signals[i], &pass, &before[i]);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	while (child > 0 && waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
		;
	recorder = 0;
	for (size_t i = 0; i < CLI_NR(passed_signals); i++)
		sigaction(passed_signals[i], &before[i], NULL);
	return child > 0 ? wait_status : -1;
}

/* Ctrl-C is how a recording of all CPUs ends. */
static int status_of(int wait_status)
{
	if (wait_status >= 0 && WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGINT)
		return 0;
	if (wait_status < 0 || !WIFEXITED(wait_status))
		return CLI_EXIT_FAILURE;
	return WEXITSTATUS(wait_status) == 128 + SIGINT ? 0 : WEXITSTATUS(wait_status);
}

int tables_record_live(struct tables *tables, char **program)
{
	static char path[4096];
	int status = make_directory(tables, path, sizeof(path)), wait_status;

	if (status)
		return status;
	wait_status = run_recorder(tables, path, program);
	if (ended_by) {
		tables_remove_recording(tables);
		raise(ended_by);
	}
	tables->record_status = status_of(wait_status);
	if (wait_status < 0 || access(path, R_OK))
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

/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* asprintf() */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "messages.h"
#include "own_recording.h"

/* Makes a directory, and the path of a file in it. Returns 0 or the exit status. */
static int make_directory(struct cli_own_recording *recording, const char *command)
{
	const char *temporary = getenv("TMPDIR");
	struct perch_error err;

	if (asprintf(&recording->directory, "%s/perch-XXXXXX",
		     temporary && *temporary ? temporary : "/tmp") < 0) {
		recording->directory = NULL;
		return cli_no_memory(command);
	}
	if (!mkdtemp(recording->directory)) {
		perch_error_set(&err, errno, PERCH_ERROR_FILE, "cannot create %s: %s",
				recording->directory, strerror(errno));
		free(recording->directory);
		recording->directory = NULL;
		return cli_error(command, &err);
	}
	if (asprintf(&recording->path, "%s/perf.data", recording->directory) < 0) {
		recording->path = NULL;
		return cli_no_memory(command);
	}
	return 0;
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

/* before: what they did */
static void pass_signals(struct sigaction before[CLI_NR(passed_signals)])
{
	struct sigaction pass = { .sa_sigaction = pass_on, .sa_flags = SA_SIGINFO };

	for (size_t i = 0; i < CLI_NR(passed_signals); i++) {
		sigaction(passed_signals[i], &pass, &before[i]);
		/* after nohup(1) SIGHUP is ignored, and the recording continues */
		if (passed_signals[i] == SIGHUP && before[i].sa_handler == SIG_IGN)
			sigaction(SIGHUP, &before[i], NULL);
	}
}

/* Ctrl-C is how a recording of all CPUs ends. */
static int status_of(int wait_status)
{
	if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGINT)
		return 0;
	if (!WIFEXITED(wait_status))
		return CLI_EXIT_FAILURE;
	return WEXITSTATUS(wait_status) == 128 + SIGINT ? 0 : WEXITSTATUS(wait_status);
}

/* Returns the exit status. */
static int run_recorder(const struct cli_own_recording *recording, const char *command,
			int (*record)(void *context, const char *path), void *context)
{
	struct sigaction before[CLI_NR(passed_signals)];
	struct perch_error err;
	sigset_t passed, mask;
	int wait_status = 0;
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
		exit(record(context, recording->path));
	}
	if (child < 0) {
		perch_error_set(&err, errno, PERCH_ERROR_SYSTEM,
				"cannot start the process that records: %s", strerror(errno));
		sigprocmask(SIG_SETMASK, &mask, NULL);
		return cli_error(command, &err);
	}
	recorder = child;
	pass_signals(before);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
		;
	recorder = 0;
	for (size_t i = 0; i < CLI_NR(passed_signals); i++)
		sigaction(passed_signals[i], &before[i], NULL);
	return status_of(wait_status);
}

int cli_own_recording_make(struct cli_own_recording *recording, const char *command,
			   int (*record)(void *context, const char *path), void *context)
{
	int status = make_directory(recording, command);

	if (status)
		return status;
	recording->status = run_recorder(recording, command, record, context);
	if (ended_by) {
		cli_own_recording_remove(recording);
		raise(ended_by);
	}
	if (!access(recording->path, R_OK))
		return 0;
	return recording->status ? recording->status : CLI_EXIT_FAILURE;
}

void cli_own_recording_remove(struct cli_own_recording *recording)
{
	if (recording->path)
		unlink(recording->path);
	if (recording->directory)
		rmdir(recording->directory);
	free(recording->path);
	free(recording->directory);
	recording->path = recording->directory = NULL;
}

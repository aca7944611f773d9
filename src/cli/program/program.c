/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"
#include "output_file.h"
#include "program.h"
#include "signals.h"

#define WAIT_MS 20

struct preparation {
	perch_program_prepare *prepare;
	void *context;
};

static void prepare_program(void *context)
{
	struct preparation *preparation = context;

	cli_restore_file_limit();
	cli_release_signals();
	if (preparation->prepare)
		preparation->prepare(preparation->context);
}

int cli_program_start(struct perch_program *program, char *const *argv,
		      perch_program_prepare *prepare, void *context, struct perch_error *err)
{
	struct preparation preparation = { prepare, context };

	/* An inherited SIG_IGN of SIGCHLD makes waiting for the program impossible. */
	signal(SIGCHLD, SIG_DFL);
	return perch_program_start(program, argv, prepare_program, &preparation, err);
}

int cli_program_wait(struct perch_program *program, int flags, int *status, struct rusage *usage)
{
	pid_t pid;

	do
		pid = wait4(program->pid, status, flags, usage);
	while (pid < 0 && errno == EINTR && !(flags & WNOHANG));
	if (pid < 0)
		return -errno;
	return pid == 0;
}

int cli_program_wait_or_signal(struct perch_program *program, int signals, int *status,
			       struct rusage *usage)
{
	struct pollfd poll_signals = { signals, POLLIN, 0 };
	struct signalfd_siginfo info;
	int rc;

	while ((rc = cli_program_wait(program, signals < 0 ? 0 : WNOHANG, status, usage)) > 0) {
		poll(&poll_signals, 1, WAIT_MS);
		if (read(signals, &info, sizeof(info)) == sizeof(info) &&
		    info.ssi_signo != SIGCHLD && info.ssi_signo != SIGUSR2)
			return (int)info.ssi_signo;
	}
	return rc;
}

bool cli_program_ignores(const struct perch_program *program, int number)
{
	unsigned long long ignored = 0;
	char path[64], line[256];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)program->pid);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "SigIgn: %llx", &ignored) == 1;
	if (file)
		fclose(file);
	return ignored >> (number - 1) & 1;
}

int cli_program_exit_status(int error)
{
	return error == ENOENT || error == ENOTDIR ? CLI_EXIT_NOT_FOUND : CLI_EXIT_NOT_EXECUTABLE;
}

int cli_program_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

void cli_program_note_signal(const char *command, const char *program, int wait_status)
{
	char name[256];
	int number;

	if (!WIFSIGNALED(wait_status))
		return;
	number = WTERMSIG(wait_status);
	if (number == SIGINT || number == SIGPIPE)
		return;
	perch_clean_text(program, name, sizeof(name));
	cli_note(command, "'%s' was ended by signal %d (%s)", name, number, strsignal(number));
}

void cli_program_leave_stdout(void *context)
{
	(void)context;
	dup2(STDERR_FILENO, STDOUT_FILENO);
}

char **cli_command_line(int argc, char *const *argv)
{
	char **line = calloc((size_t)argc + 2, sizeof(*line)), self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (!line)
		return NULL;
	if (length < 0)
		length = snprintf(self, sizeof(self), "perch");
	self[length] = 0;
	memcpy(line + 1, argv, (size_t)argc * sizeof(*argv));
	line[0] = strdup(self);
	if (line[0])
		return line;
	free(line);
	return NULL;
}

void cli_command_line_free(char **command_line)
{
	if (command_line)
		free(command_line[0]);
	free(command_line);
}

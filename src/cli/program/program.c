/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"
#include "output_file.h"
#include "program.h"

/* Runs in the child: waits for the release, executes the program, reports a failed exec. */
__attribute__((noreturn)) static void execute_program(char *const *argv, int go, int failure,
						      void (*prepare)(void *context), void *context)
{
	char byte;
	ssize_t got;
	int error;

	do
		got = read(go, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(0); /* the parent canceled */
	cli_restore_file_limit();
	if (prepare)
		prepare(context);
	execvp(argv[0], argv);
	error = errno;
	if (write(failure, &error, sizeof(error)) < 0)
		_exit(1);
	_exit(cli_program_exit_status(error));
}

int cli_program_start_prepared(struct cli_program *program, char *const *argv,
			       void (*prepare)(void *context), void *context,
			       struct perch_error *err)
{
	int go[2], failure[2];
	pid_t pid;

	/* An inherited SIG_IGN of SIGCHLD makes waiting for the program impossible. */
	signal(SIGCHLD, SIG_DFL);
	if (pipe2(go, O_CLOEXEC) < 0)
		return perch_error_set(err, errno, PERCH_ERROR_SYSTEM,
				       "cannot make a pipe for the program: %s", strerror(errno));
	if (pipe2(failure, O_CLOEXEC) < 0) {
		int error = errno;

		close(go[0]);
		close(go[1]);
		return perch_error_set(err, error, PERCH_ERROR_SYSTEM,
				       "cannot make a pipe for the program: %s", strerror(error));
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		close(failure[0]);
		execute_program(argv, go[0], failure[1], prepare, context);
	}
	close(go[0]);
	close(failure[1]);
	if (pid < 0) {
		int error = errno;

		close(go[1]);
		close(failure[0]);
		return perch_error_set(err, error, PERCH_ERROR_PROGRAM, "cannot fork: %s",
				       strerror(error));
	}
	*program = (struct cli_program){ pid, go[1], failure[0], argv[0] };
	return 0;
}

int cli_program_start(struct cli_program *program, char *const *argv, struct perch_error *err)
{
	return cli_program_start_prepared(program, argv, NULL, NULL, err);
}

static int start_error(const struct cli_program *program, int error, struct perch_error *err)
{
	const char *name = program->name;

	switch (error) {
	case ENOENT:
		perch_error_set(err, error, PERCH_ERROR_PROGRAM, "there is no program '%s'%s", name,
				strchr(name, '/') ? "" : " in the directories of PATH");
		perch_error_remedy(err, "check the name, or give its path");
		break;
	case EACCES:
		perch_error_set(err, error, PERCH_ERROR_PROGRAM,
				"'%s' is not executable by this user", name);
		perch_error_remedy(err, "%s",
				   strchr(name, '/')
					   ? "make it executable (chmod +x); a directory "
					     "cannot be executed"
					   : "a directory of PATH has a file of this name "
					     "that is not executable, or this user may "
					     "not search the directory");
		break;
	case ENOEXEC:
		perch_error_set(err, error, PERCH_ERROR_PROGRAM,
				"'%s' is not a program this machine can run", name);
		perch_error_remedy(err, "a script needs a first line such as #!/bin/sh");
		break;
	default:
		perch_error_set(err, error, PERCH_ERROR_PROGRAM, "cannot start '%s': %s", name,
				strerror(error));
	}
	return -error;
}

void cli_program_begin_release(struct cli_program *program)
{
	/*
	 * The child may have ended already. Its wait status reports that; a SIGPIPE of this process
	 * would not.
	 */
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	ssize_t unused;

	sigaction(SIGPIPE, &ignore, &before);
	unused = write(program->go, "", 1);
	(void)unused;
	sigaction(SIGPIPE, &before, NULL);
	close(program->go);
	program->go = -1;
}

int cli_program_finish_release(struct cli_program *program, struct perch_error *err)
{
	int error = 0;
	ssize_t got;

	do
		got = read(program->failure, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	close(program->failure);
	program->failure = -1;
	if (got != sizeof(error))
		return 0;
	while (waitpid(program->pid, NULL, 0) < 0 && errno == EINTR)
		;
	return start_error(program, error, err);
}

int cli_program_release(struct cli_program *program, struct perch_error *err)
{
	cli_program_begin_release(program);
	return cli_program_finish_release(program, err);
}

void cli_program_cancel(struct cli_program *program)
{
	if (program->go < 0)
		return;
	close(program->go);
	close(program->failure);
	while (waitpid(program->pid, NULL, 0) < 0 && errno == EINTR)
		;
	program->go = -1;
}

int cli_program_wait(struct cli_program *program, int flags, int *status, struct rusage *usage)
{
	pid_t pid;

	do
		pid = wait4(program->pid, status, flags, usage);
	while (pid < 0 && errno == EINTR && !(flags & WNOHANG));
	if (pid < 0)
		return -errno;
	return pid == 0;
}

bool cli_program_ignores(const struct cli_program *program, int number)
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

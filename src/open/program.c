/* SPDX-License-Identifier: MIT */
/*
 * Programs that are started to be measured. A pair of sockets is between parent and child: one byte
 * releases the child, whose end exec closes. If exec fails, the child writes its errno.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <perch/program.h>

enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 }; /* as of a shell */

/* Reads the whole number, or returns false at the end. */
static bool receive(int fd, void *number, size_t size)
{
	ssize_t got;

	do
		got = read(fd, number, size);
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)size;
}

static void reap(struct perch_program *program)
{
	close(program->fd);
	program->fd = -1;
	while (waitpid(program->pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Runs in the child. */
__attribute__((noreturn)) static void execute(char *const *argv, int fd,
					      perch_program_prepare *prepare, void *context)
{
	int error;
	char byte;

	if (!receive(fd, &byte, 1))
		_exit(0); /* the parent canceled */
	if (prepare)
		prepare(context);
	execvp(argv[0], argv);
	error = errno;
	if (send(fd, &error, sizeof(error), MSG_NOSIGNAL) < 0)
		_exit(1);
	_exit(error == ENOENT || error == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE);
}

int perch_program_start(struct perch_program *program, char *const *argv,
			perch_program_prepare *prepare, void *context, struct perch_error *err)
{
	int ends[2], error;
	pid_t pid;

	*program = (struct perch_program){ .pid = 0 };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return perch_error_set(err, errno, PERCH_ERROR_SYSTEM,
				       "cannot make sockets for the program: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		execute(argv, ends[1], prepare, context);
	}
	error = errno;
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return perch_error_set(err, error, PERCH_ERROR_PROGRAM, "cannot fork: %s",
				       strerror(error));
	}
	*program =
		(struct perch_program){ .pid = pid, .waits = true, .fd = ends[0], .name = argv[0] };
	return 0;
}

static int start_error(const struct perch_program *program, int error, struct perch_error *err)
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

void perch_program_begin_release(struct perch_program *program)
{
	/* the child may have ended already: its wait status reports that */
	ssize_t unused = send(program->fd, "", 1, MSG_NOSIGNAL);

	(void)unused;
	program->waits = false;
}

int perch_program_finish_release(struct perch_program *program, struct perch_error *err)
{
	int error = 0;

	if (receive(program->fd, &error, sizeof(error))) {
		reap(program);
		return start_error(program, error, err);
	}
	close(program->fd);
	program->fd = -1;
	return 0;
}

int perch_program_release(struct perch_program *program, struct perch_error *err)
{
	perch_program_begin_release(program);
	return perch_program_finish_release(program, err);
}

void perch_program_cancel(struct perch_program *program)
{
	if (!program->waits)
		return;
	program->waits = false;
	reap(program);
}

/* SPDX-License-Identifier: MIT */
/*
 * Counts how often a program calls a function of its own or of a library. Child processes are not
 * counted, because probes cannot be inherited:
 *
 *	count-calls libc malloc -- ls -l
 *	count-calls ./server handle_request -- ./server --once
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <perch/count.h>

/* The child waits until the counter is open; exec then starts it. */
static pid_t start(char **argv, int *go)
{
	int ends[2];
	pid_t pid;
	char byte;

	if (pipe(ends) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		close(ends[1]);
		if (read(ends[0], &byte, 1) != 1)
			_exit(0); /* the parent failed */
		execvp(argv[0], argv);
		perror(argv[0]);
		_exit(127);
	}
	close(ends[0]);
	*go = ends[1];
	return pid;
}

int main(int argc, char **argv)
{
	struct perch_options options = { .enable_on_exec = 1 };
	struct perch_target target = { .cpu = -1 };
	struct perch_counter *counter;
	struct perch_count count;
	struct perch_error err;
	char event[8192];
	int go, status;

	if (argc < 5 || strcmp(argv[3], "--"))
		return fprintf(stderr, "usage: %s FILE FUNCTION -- PROGRAM [ARGUMENTS]\n", argv[0]),
		       2;
	snprintf(event, sizeof(event), "uprobe:\"%s\":%s", argv[1], argv[2]);
	target.tid = start(argv + 4, &go);
	if (target.tid < 0)
		return perror("cannot start a process"), 1;
	if (perch_counter_open(&counter, event, &target, &options, &err) < 0) {
		/* for an unknown function the remedy has suggestions */
		perch_error_print(stderr, &err);
		/* exit status 77: the test is skipped, probes need root */
		return err.errnum == EACCES ? 77 : 1;
	}
	if (write(go, "", 1) != 1 || waitpid(target.tid, &status, 0) < 0)
		return perror(argv[4]), 1;
	if (perch_counter_read(counter, &count, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	printf("%llu calls of %s in %s\n", (unsigned long long)count.value, argv[2], argv[1]);
	perch_counter_close(counter);
	return status != 0;
}

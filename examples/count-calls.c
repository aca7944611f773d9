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
#include <perch/count.h>
#include <perch/program.h>

int main(int argc, char **argv)
{
	struct perch_options options = { .enable_on_exec = 1 };
	struct perch_target target = { .cpu = -1 };
	struct perch_counter *counter;
	struct perch_program program;
	struct perch_count count;
	struct perch_error err;
	char event[8192];
	int status;

	if (argc < 5 || strcmp(argv[3], "--"))
		return fprintf(stderr, "usage: %s FILE FUNCTION -- PROGRAM [ARGUMENTS]\n", argv[0]),
		       2;
	snprintf(event, sizeof(event), "uprobe:\"%s\":%s", argv[1], argv[2]);
	if (perch_program_start(&program, argv + 4, NULL, NULL, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	target.tid = program.pid;
	if (perch_counter_open(&counter, event, &target, &options, &err) < 0) {
		/* for an unknown function the remedy has suggestions */
		perch_error_print(stderr, &err);
		perch_program_cancel(&program);
		/* exit status 77: the test is skipped, probes need root */
		return err.errnum == EACCES ? 77 : 1;
	}
	if (perch_program_release(&program, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	waitpid(program.pid, &status, 0);
	if (perch_counter_read(counter, &count, &err) < 0)
		return perch_error_print(stderr, &err), 1;
	printf("%llu calls of %s in %s\n", (unsigned long long)count.value, argv[2], argv[1]);
	perch_counter_close(counter);
	return status != 0;
}

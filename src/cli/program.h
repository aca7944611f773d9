/* SPDX-License-Identifier: MIT */
/* The program to measure: forked, held before exec until its events are open, then let go. */
#ifndef PERCH_CLI_PROGRAM_H
#define PERCH_CLI_PROGRAM_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <perch/error.h>

struct cli_program {
	pid_t pid;
	int go;	     /* write end: released when a byte is written */
	int failure; /* read end: the errno of a failed exec, or end of file */
	const char *name;
};

/* Forks; the child waits. Say nothing else to it before cli_program_release(). */
int cli_program_start(struct cli_program *program, char *const *argv, struct perch_error *err);
/* The same; the child calls prepare when it was let go, before it executes. */
int cli_program_start_prepared(struct cli_program *program, char *const *argv,
			       void (*prepare)(void *context), void *context,
			       struct perch_error *err);
/* Lets it exec and returns when it has: 0, or a negative errno with PERCH_ERROR_PROGRAM (the child
 * is then reaped). */
int cli_program_release(struct cli_program *program, struct perch_error *err);
/*
 * The same in two steps: the second waits until it has executed and then returns as above. For
 * those who do not need to know before the program ends: one who waits for the exec is woken by it,
 * and may take the CPU away from the program.
 */
void cli_program_let_go(struct cli_program *program);
int cli_program_started(struct cli_program *program, struct perch_error *err);
/* Ends a child that was never released. */
void cli_program_cancel(struct cli_program *program);
/* waitpid: status as of wait(2), usage may be NULL. Returns 0 or -errno. flags: WNOHANG -> 1 when
 * still running. */
int cli_program_wait(struct cli_program *program, int flags, int *status, struct rusage *usage);
/* Whether the signal does nothing to it, as SIGINT to what a shell without job control runs in the
 * background. */
bool cli_program_ignores(const struct cli_program *program, int number);
/* Exit status for a failed start: 127 no such file, 126 not executable. */
int cli_program_exit_status(int error);
/* Exit status of a finished program: its own, or 128 + signal. */
int cli_program_status(int wait_status);
#endif

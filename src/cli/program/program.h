/* SPDX-License-Identifier: MIT */
/*
 * The program to measure. It is forked, waits before exec until its events are open, and is then
 * released.
 */
#ifndef PERCH_CLI_PROGRAM_H
#define PERCH_CLI_PROGRAM_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <perch/error.h>

struct cli_program {
	pid_t pid;
	int go;	     /* write end: one byte releases the program */
	int failure; /* read end: the errno of a failed exec, or end of file on success */
	const char *name;
};

/* Forks. The child waits for cli_program_release(). */
int cli_program_start(struct cli_program *program, char *const *argv, struct perch_error *err);
/* Like the function above, but the released child calls prepare before exec. */
int cli_program_start_prepared(struct cli_program *program, char *const *argv,
			       void (*prepare)(void *context), void *context,
			       struct perch_error *err);
/*
 * Releases the program and waits for its exec. Returns 0, or a negative errno with
 * PERCH_ERROR_PROGRAM after the child was reaped.
 */
int cli_program_release(struct cli_program *program, struct perch_error *err);
/*
 * cli_program_release() in two steps, for callers that can check for a failed exec after the
 * program has ended. Waiting for the exec wakes the caller, which may take the CPU from the
 * program.
 */
void cli_program_begin_release(struct cli_program *program);
int cli_program_finish_release(struct cli_program *program, struct perch_error *err);
/* Ends a child that was not released. */
void cli_program_cancel(struct cli_program *program);
/*
 * wait4(2) on the program; usage may be NULL. Returns 0, a negative errno, or 1 with WNOHANG while
 * it runs.
 */
int cli_program_wait(struct cli_program *program, int flags, int *status, struct rusage *usage);
/*
 * True if the program ignores the signal. A shell without job control makes background programs
 * ignore SIGINT.
 */
bool cli_program_ignores(const struct cli_program *program, int number);
/* To be called in the program (prepare): standard output is a recording, so the program writes to
 * stderr, as in perf. */
void cli_program_leave_stdout(void *context);
/* As in perf, the command line of a recorder has the path of the command first. NULL terminates
 * it; cli_command_line_free() frees it. NULL without memory. */
char **cli_command_line(int argc, char *const *argv);
void cli_command_line_free(char **command_line);
/* Exit status of a failed start: 127 for a missing file, 126 for one that is not executable. */
int cli_program_exit_status(int error);
/* Exit status of a program that ended: its own, or 128 + signal. */
int cli_program_status(int wait_status);
/* Prints the signal that ended a program, such as SIGSEGV. Ctrl-C and a reader that ended are no
 * news to the user. */
void cli_program_note_signal(const char *command, const char *program, int wait_status);
#endif

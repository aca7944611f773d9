/* SPDX-License-Identifier: MIT */
/* The program to measure, as a command starts it and ends with it (perch/program.h). */
#ifndef PERCH_CLI_PROGRAM_H
#define PERCH_CLI_PROGRAM_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <perch/program.h>

/* As perch_program_start(), for a command: the limit of files and the handler of SIGCHLD are those
 * that the program would have without it. */
int cli_program_start(struct perch_program *program, char *const *argv,
		      perch_program_prepare *prepare, void *context, struct perch_error *err);
/*
 * wait4(2) on the program; usage may be NULL. Returns 0, a negative errno, or 1 with WNOHANG while
 * it runs.
 */
int cli_program_wait(struct perch_program *program, int flags, int *status, struct rusage *usage);
/*
 * The same until the program has ended or a signal ends the wait. signals: a descriptor of
 * signalfd(2) that does not block, of which SIGCHLD and SIGUSR2 end nothing; -1 for none. Returns
 * 0, a negative errno, or the signal.
 */
int cli_program_wait_or_signal(struct perch_program *program, int signals, int *status,
			       struct rusage *usage);
/*
 * True if the program ignores the signal. A shell without job control makes background programs
 * ignore SIGINT.
 */
bool cli_program_ignores(const struct perch_program *program, int number);
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

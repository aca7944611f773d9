/* SPDX-License-Identifier: MIT */
/* Seccomp filters that end the process at a system call, which it cannot report itself. */
#ifndef PERCH_CLI_SECCOMP_KILL_H
#define PERCH_CLI_SECCOMP_KILL_H

#include <stdbool.h>
#include <perch/machine.h>

/*
 * Whether a seccomp filter ends the process in a function that makes one system call: a child calls
 * the function. Without a filter this costs one read of the status, which the machine keeps, and no
 * child. NULL is this machine.
 */
bool cli_filter_kills(struct perch_machine *machine, int (*call)(void));
/* Prints that a filter kills the command. Returns 0 if none does, or CLI_EXIT_FAILURE. */
int cli_check_filter(const char *command, struct perch_machine *machine);
/*
 * The system calls of a command that can continue without events: perf_event_open returns EPERM
 * if a filter would end the process, otherwise NULL, the kernel's calls.
 */
const struct perch_syscalls *cli_calls_that_survive(void);

#endif

/* SPDX-License-Identifier: MIT */
/* -vv: prints attrs and perf_event_open calls in perf's format. */
#ifndef PERCH_CLI_ATTR_PRINT_H
#define PERCH_CLI_ATTR_PRINT_H

#include <perch/machine.h>

/*
 * The system calls of the kernel; each perf_event_open is printed to stderr while *level is 2 or
 * more. perch_machine_new() takes .calls, so failed attempts are printed too.
 */
struct cli_shown_calls {
	struct perch_syscalls calls;
	const int *level;
	struct perch_attr last; /* printed: an attr is not printed again for the next call */
};
void cli_show_calls(struct cli_shown_calls *shown, const int *level);

#endif

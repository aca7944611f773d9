/* SPDX-License-Identifier: MIT */
/* Attrs and calls as -vv shows them, in the manner of perf's -vv. */
#ifndef PERCH_CLI_ATTR_PRINT_H
#define PERCH_CLI_ATTR_PRINT_H

#include <perch/machine.h>

/*
 * The kernel's calls, of which each perf_event_open is shown on stderr while *level is 2 or more.
 * To be given to perch_machine_new(), so that what is shown is what was asked of the kernel, failed
 * tries included.
 */
struct cli_shown_calls {
	struct perch_syscalls calls; /* for the machine */
	const int *level;
	struct perch_attr last; /* shown: an attr that does not change is shown once */
};
void cli_show_calls(struct cli_shown_calls *shown, const int *level);
#endif

/* SPDX-License-Identifier: MIT */
/* Checks that user probes are at the start of an instruction. */
#ifndef PERCH_CLI_PROBE_START_H
#define PERCH_CLI_PROBE_START_H

#include <perch/event.h>

/*
 * Checks the user probes among the events from index `first` on. The kernel accepts every offset
 * with bytes that may be an instruction, and writes a breakpoint there. Inside an instruction it
 * makes another instruction, and the program is killed or computes something else. Prints an error
 * for that probe, and a note if the code is not known well enough. Returns 0, -EINVAL or -ENOMEM.
 */
int cli_check_probe_starts(const char *command, const struct perch_events *events, size_t first,
			   struct perch_machine *machine);

#endif

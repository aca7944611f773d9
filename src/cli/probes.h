/* SPDX-License-Identifier: MIT */
/* Probes of programs that have several threads or child processes, and of arguments. */
#ifndef PERCH_CLI_PROBES_H
#define PERCH_CLI_PROBES_H

#include "program/target.h"

struct cli_probes {
	bool inherit;	/* new threads and children are measured too, unless whole CPUs are */
	bool arguments; /* samples have the arguments of the probes */
};

/*
 * Defines the probes with a path or function in tracefs, if they must be inherited or have
 * arguments: each event becomes that tracepoint, with the same name. The definitions are removed
 * when the command exits. Without access to tracefs it prints an error that names other ways, or a
 * note if only arguments of USDT probes are missing. Returns 0 or an exit status.
 */
int cli_define_probes(const char *command, struct cli_probes wanted,
		      const struct cli_target *target, struct perch_events *events,
		      struct perch_machine *machine);

/*
 * Defines the probes of a list, and removes them when the command exits; the signals that end it
 * are held back until it waits for them. Returns 0 or a negative errno.
 */
int cli_define_until_exit(struct perch_events *events, struct perch_machine *machine,
			  struct perch_error *err);

#endif

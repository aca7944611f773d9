/* SPDX-License-Identifier: MIT */
/* Probes of programs that have several threads or child processes. */
#ifndef PERCH_CLI_PROBES_H
#define PERCH_CLI_PROBES_H

#include "program/target.h"

/*
 * Makes the probes with a path or function inheritable by new threads and children, unless they
 * count whole CPUs: each one is defined in tracefs, and its event becomes that tracepoint, with the
 * same name. The definitions are removed when the command exits. Without access to tracefs it
 * prints an error that names other ways. Returns 0 or an exit status.
 */
int cli_inherit_probes(const char *command, const struct cli_target *target,
		       struct perch_events *events, struct perch_machine *machine);

#endif

/* SPDX-License-Identifier: MIT */
/* Whether breakpoints of this machine fire, for functions that open or explain events. */
#ifndef PERCH_MACHINE_BREAKPOINTS_H
#define PERCH_MACHINE_BREAKPOINTS_H

#include <stdbool.h>

#include <perch/machine.h>

/*
 * True if breakpoints can be opened here and never fire. A machine that may not probe is not asked:
 * false unless it has found it before. False for NULL. Async-signal-safe.
 */
bool perch__breakpoints_never_fire(struct perch_machine *machine);
/* The same, without a system call. */
bool perch__breakpoints_found_silent(const struct perch_machine *machine);

#endif

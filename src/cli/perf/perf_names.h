/* SPDX-License-Identifier: MIT */
/* What users of perf(1) type and perch does not have. */
#ifndef PERCH_CLI_PERF_NAMES_H
#define PERCH_CLI_PERF_NAMES_H

#include <stddef.h>

/* Returns what to use instead of a command of perf(1); NULL: nothing, or no such command. */
const char *cli_perf_command(const char *name);
/* Returns what to do instead of an option ("-z", "--aio") of a command of perf(1), or NULL. */
const char *cli_perf_option(const char *command, const char *option, size_t length);

#endif

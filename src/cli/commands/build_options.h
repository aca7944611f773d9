/* SPDX-License-Identifier: MIT */
/* What this build of perch has, and lacks. */
#ifndef PERCH_CLI_BUILD_OPTIONS_H
#define PERCH_CLI_BUILD_OPTIONS_H

#include <stdbool.h>

/* Prints a line for each part of perch that a build may lack. */
void cli_print_build_options(void);

/* Whether the part of that name is built in; its library may be missing on this machine. */
bool cli_has_build_option(const char *name);

#endif

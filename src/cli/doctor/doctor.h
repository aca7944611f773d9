/* SPDX-License-Identifier: MIT */
/*
 * perch doctor: prints the checks of perch/checks.h as text or as JSON. A file calls only files
 * below its own:
 *
 *   doctor.c           the command: options, output file, exit status
 *   doctor_print.c     text and JSON
 */
#ifndef PERCH_CLI_DOCTOR_H
#define PERCH_CLI_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>
#include <perch/checks.h>

#define DOCTOR_COMMAND "doctor"

/* False after a write error. width 0 does not wrap lines. */
bool doctor_print_text(const struct perch_checks *checks, FILE *out, bool colours, unsigned width);
/* machine: what the checks were made of, for the facts. */
bool doctor_print_json(const struct perch_checks *checks, struct perch_machine *machine, FILE *out);

#endif

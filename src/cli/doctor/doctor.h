/* SPDX-License-Identifier: MIT */
/*
 * perch doctor: prints the checks of perch/checks.h as text or as JSON. A file calls only files
 * below its own:
 *
 *   doctor.c           the command: options, output file, exit status
 *   doctor_agent.c     --agent: what perch agent needs
 *   doctor_print.c     text and JSON
 */
#ifndef PERCH_CLI_DOCTOR_H
#define PERCH_CLI_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>
#include <perch/checks.h>

#define DOCTOR_COMMAND "doctor"

/* ---- doctor_agent.c ---- */

#define DOCTOR_AGENT_RESULTS 16 /* at most */

/* Makes the results of --agent. Returns their number; the first is about all CPUs. */
size_t doctor_agent_results(const struct perch_checks *checks, struct perch_machine *machine,
			    struct perch_check results[DOCTOR_AGENT_RESULTS]);

/* ---- doctor_print.c: false after a write error. width 0 does not wrap lines ---- */

bool doctor_print_results(const struct perch_check *results, size_t nr, FILE *out, bool colours,
			  unsigned width);
bool doctor_print_results_json(const struct perch_check *results, size_t nr, FILE *out);
/* With a sentence about all of them. */
bool doctor_print_text(const struct perch_checks *checks, FILE *out, bool colours, unsigned width);
/* machine: what the checks were made of, for the facts. */
bool doctor_print_json(const struct perch_checks *checks, struct perch_machine *machine, FILE *out);

#endif

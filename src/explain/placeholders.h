/* SPDX-License-Identifier: MIT */
/* Lists in words, which need more than one line to make. Nothing is written where nothing is known.
 */
#ifndef PERCH_EXPLAIN_WORDS_H
#define PERCH_EXPLAIN_WORDS_H

#include "facts.h"

/* "4 CPUs" */
void perch__write_cpus_present(const struct perch__case *c, char *buffer, size_t size);
void perch__write_online(const struct perch__case *c, char *buffer, size_t size); /* "0-3" */
void perch__write_pmu_cpus(const struct perch__case *c, char *buffer, size_t size);
void perch__write_pmu_events(const struct perch__case *c, char *buffer, size_t size);
/* "software 1, msr 10" */
void perch__write_types(const struct perch__case *c, char *buffer, size_t size);
/* where cgroups are mounted */
void perch__write_cgroups(const struct perch__case *c, char *buffer, size_t size);

#endif

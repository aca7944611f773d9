/* SPDX-License-Identifier: MIT */
/* Lists in words, which need more than one line to make. Nothing is written where nothing is known.
 */
#ifndef PERCH_EXPLAIN_WORDS_H
#define PERCH_EXPLAIN_WORDS_H

#include "facts.h"

/* "4 CPUs" */
void perch__cpus_present_text(const struct perch__case *c, char *buffer, size_t size);
void perch__online_text(const struct perch__case *c, char *buffer, size_t size); /* "0-3" */
void perch__pmu_cpus_text(const struct perch__case *c, char *buffer, size_t size);
void perch__pmu_events_text(const struct perch__case *c, char *buffer, size_t size);
/* "software 1, msr 10" */
void perch__types_text(const struct perch__case *c, char *buffer, size_t size);
/* where cgroups are mounted */
void perch__cgroups_text(const struct perch__case *c, char *buffer, size_t size);

#endif

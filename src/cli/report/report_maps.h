/* SPDX-License-Identifier: MIT */
#ifndef PERCH_CLI_REPORT_MAPS_H
#define PERCH_CLI_REPORT_MAPS_H

#include <stdio.h>
#include <perch/record.h>

/* The memory mappings of processes at the end of a recording. */
struct report_maps;

/* NULL if out of memory. */
struct report_maps *report_maps_new(void);
/* NULL is allowed. */
void report_maps_free(struct report_maps *maps);
/* Applies a record. 0 or -ENOMEM. */
int report_maps_add(struct report_maps *maps, const struct perch_record *record);
/* Prints the mappings of a process, one a line. */
void report_maps_put(FILE *out, const struct report_maps *maps, uint32_t pid, int indent);

#endif

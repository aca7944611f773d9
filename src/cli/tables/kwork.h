/* SPDX-License-Identifier: MIT */
/* What the files of perch kwork share. */
#ifndef PERCH_CLI_TABLES_KWORK_H
#define PERCH_CLI_TABLES_KWORK_H

#include "tables.h"

/* ---- kwork_top.c ---- */

enum { KWORK_THREADS, KWORK_CPUS, KWORK_TOP_TABLES };

extern const struct tables_view kwork_top_views[KWORK_TOP_TABLES];

/* Sets the events and tables. */
void kwork_choose_top(struct tables *tables);

#endif

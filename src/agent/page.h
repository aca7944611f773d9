/* SPDX-License-Identifier: MIT */
/* The flame graph of the last minutes. */
#ifndef PERCH_AGENT_PAGE_H
#define PERCH_AGENT_PAGE_H

#include "state.h"

/* Writes a page of slices. Returns 0 or a negative errno. */
int agent_page(const struct agent *agent, uint64_t from, uint64_t to, bool functions, FILE *out,
	       struct agent_unnamed *unnamed, struct perch_error *err);

#endif

/* SPDX-License-Identifier: MIT */
/* The rows of a slice. */
#ifndef PERCH_AGENT_WINDOW_ROWS_H
#define PERCH_AGENT_WINDOW_ROWS_H

#include "window.h"

struct agent_slice {
	uint64_t begin, end; /* ns; end 0: it is open */
	struct agent_row *row;
	size_t nr, capacity;
};

/* By event, labels and stack: 0 if these are equal. */
int agent_row_compare(const struct agent_row *a, const struct agent_row *b);

static inline void agent_row_add(struct agent_row *to, const struct agent_row *row)
{
	to->samples += row->samples;
	to->period += row->period;
}

void agent_rows_sort(struct agent_row *rows, size_t nr);
/* Sorts them, and adds up equal ones. Returns how many are left. */
size_t agent_rows_merge(struct agent_row *rows, size_t nr);
/* Frees what its array has in vain. */
void agent_slice_fit(struct agent_slice *slice);

#endif

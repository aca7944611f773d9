/* SPDX-License-Identifier: MIT */
#include "window_rows.h"

#include <stdlib.h>

static int compare_numbers(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

int agent_row_compare(const struct agent_row *a, const struct agent_row *b)
{
	int order = compare_numbers(a->event, b->event);

	if (!order)
		order = compare_numbers(a->labels, b->labels);
	return order ? order : compare_numbers(a->stack, b->stack);
}

static int compare_items(const void *a, const void *b)
{
	return agent_row_compare(a, b);
}

void agent_rows_sort(struct agent_row *rows, size_t nr)
{
	if (nr)
		qsort(rows, nr, sizeof(*rows), compare_items);
}

size_t agent_rows_merge(struct agent_row *rows, size_t nr)
{
	size_t left = 0;

	agent_rows_sort(rows, nr);
	for (size_t i = 0; i < nr; i++) {
		if (left && !agent_row_compare(&rows[left - 1], &rows[i]))
			agent_row_add(&rows[left - 1], &rows[i]);
		else
			rows[left++] = rows[i];
	}
	return left;
}

void agent_slice_fit(struct agent_slice *slice)
{
	struct agent_row *row;

	if (!slice->nr || slice->nr == slice->capacity)
		return;
	row = realloc(slice->row, slice->nr * sizeof(*row));
	if (!row)
		return;
	slice->row = row;
	slice->capacity = slice->nr;
}

/* SPDX-License-Identifier: MIT */
/*
 * The lines of a browser: rows of a profile, and below unfolded rows the branches of their call
 * graphs. Only unfolded rows take memory beside their number in the order.
 */
#ifndef PERCH_CLI_BROWSER_LINES_H
#define PERCH_CLI_BROWSER_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <perch/profile.h>

/* A line of the call graph of a row. */
struct browser_branch {
	uint32_t node;	/* of the call graph */
	uint16_t depth; /* levels of branches above it */
	bool head;	/* the first frame of a chain: has the percentage */
	bool foldable, unfolded;
};

struct browser_open_row {
	size_t at;	   /* position in the order */
	size_t first_line; /* of its branches */
	struct perch_call_graph graph;
	bool *unfolded; /* by node */
	struct browser_branch *branch;
	size_t nr;
};

struct browser_lines {
	size_t *order; /* indices of the rows that are shown */
	size_t nr_rows;
	struct browser_open_row *open; /* sorted by .at */
	size_t nr_open;
	size_t nr; /* lines */
};

struct browser_line {
	size_t at; /* position in the order */
	size_t row;
	const struct browser_open_row *open; /* NULL: the row is folded */
	const struct browser_branch *branch; /* NULL: the line of the row itself */
};

/* Makes the call graph of a row. Returns 0, or a negative errno. */
typedef int browser_make_graph(void *context, size_t row, struct perch_call_graph *graph);

/*
 * Shows the rows from 0 to nr - 1 that `wanted` returns true for, all if it is NULL. All rows are
 * folded. Returns 0 or -ENOMEM, and then the lines are as before.
 */
int browser_lines_set(struct browser_lines *lines, size_t nr,
		      bool (*wanted)(void *context, size_t row), void *context);
void browser_lines_clear(struct browser_lines *lines);

/* Returns line number `at`, which must be below .nr. */
struct browser_line browser_lines_get(const struct browser_lines *lines, size_t at);
/* Returns the number of the line of a row by its position in the order. */
size_t browser_lines_of_row(const struct browser_lines *lines, size_t position);

/*
 * Folds or unfolds a row or branch. Returns 1 if the lines changed, 0 if there is nothing to
 * unfold, or a negative errno.
 */
int browser_lines_toggle(struct browser_lines *lines, size_t at, browser_make_graph *make,
			 void *context);
/* Unfolds all branches of the row of a line, or folds the row if they are. Returns as above. */
int browser_lines_toggle_all(struct browser_lines *lines, size_t at, browser_make_graph *make,
			     void *context);
/*
 * Unfolds the rows of the first `most` lines of the order with all branches. Returns 0 or a
 * negative errno.
 */
int browser_lines_unfold(struct browser_lines *lines, size_t most, browser_make_graph *make,
			 void *context);
void browser_lines_fold(struct browser_lines *lines);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Rows of several profiles. A file calls only files below its own:
 *
 *	comparison.c	what a program calls
 *	branches.c	joins and sorts the branches of call graphs
 *	changes.c	what has changed most, and programs with other names
 *	order.c		compares and sorts
 *	join.c		rows that have the same texts are one
 */
#ifndef PERCH_COMPARISON_INTERNAL_H
#define PERCH_COMPARISON_INTERNAL_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <perch/comparison.h>

#include "base/array.h"
#include "base/hash_table.h"

/* The samples with the same texts in all profiles. */
struct comparison_row {
	size_t text, length; /* the cells in perch_comparison.text, with a NUL after each */
};

struct perch_comparison {
	struct perch_comparison_options options;
	const struct perch_column *key[PERCH_COMPARISON_KEYS]; /* options.keys */
	struct perch_comparison_sum total[PERCH_COMPARISON_PROFILES];
	struct comparison_row *row;
	size_t nr_rows, row_capacity;
	struct perch_comparison_sum *sum; /* of row and profile: row * nr_profiles + profile */
	size_t sum_capacity;
	char *text;
	size_t text_size, text_capacity;
	struct perch__hash_table by_text; /* -> row */
	uint32_t *sorted;
	/*
	 * With call graphs: the branches below all rows, as rows. The text of a branch is the row
	 * or the branch above it, and the name of its function, so branches join, compare and sort
	 * as rows do.
	 */
	struct perch_comparison *branches;
	/* in their order, by branch, or by row; PERCH_COMPARISON_NONE: none */
	uint32_t *first, *next, *first_of_row;
};

/* ---- join.c ---- */

/* Adds a row of a profile. texts: the cells, each with a NUL. Returns the number of the row, or
 * -ENOMEM. */
int64_t perch__comparison_join(struct perch_comparison *comparison, size_t profile,
			       const char *texts, size_t length,
			       const struct perch_comparison_sum *sum);
void perch__comparison_free_rows(struct perch_comparison *comparison);

/* ---- order.c ---- */

/* Sorts the rows, without branches. Returns their number, or -ENOMEM. */
int64_t perch__comparison_order(struct perch_comparison *comparison);

/* ---- branches.c ---- */

/* Adds the call graph of a row of a profile. number: that of the row in the comparison. Returns 0
 * or a negative errno. */
int perch__comparison_add_branches(struct perch_comparison *comparison, size_t index,
				   struct perch_profile *profile, const struct perch_row *row,
				   uint32_t number, struct perch_error *err);
/* Returns 0 or -ENOMEM. */
int perch__comparison_sort_branches(struct perch_comparison *comparison);

#endif

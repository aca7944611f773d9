/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Comparisons: what an event's profiles of two or more recordings have in common and in what they
 * differ, as `perch diff` prints it.
 *
 *	const struct perch_column *keys[] = { perch_column_find("dso", 3),
 *					      perch_column_find("sym", 3) };
 *	const struct perch_comparison_options options = { .nr_profiles = 2,
 *							  .keys = keys, .nr_keys = 2 };
 *
 *	perch_comparison_new(&comparison, &options, &err);
 *	perch_comparison_add(comparison, 0, before, 0, NULL, &err);
 *	perch_comparison_add(comparison, 1, after, 0, NULL, &err);
 *	perch_comparison_sort(comparison, &rows, &nr, &err);
 *	for (size_t i = 0; i < nr; i++)
 *		printf("%+.2f %s\n", perch_comparison_compute(comparison, rows[i], 1),
 *		       perch_comparison_text(comparison, rows[i], 1));
 *
 * Rows of the profiles that have the same texts are one row of the comparison. It keeps the texts,
 * so a profile can be freed after it was added.
 *
 * In all functions err may be NULL. Functions without err cannot fail.
 *
 * Threads: one thread per object at a time, together with the profile that is added.
 *
 * Fork: a comparison is plain memory. A child can use and free its copy.
 *
 * Signals: no function is async-signal-safe. They allocate memory.
 */
#ifndef PERCH_COMPARISON_H
#define PERCH_COMPARISON_H

#include <perch/column.h>
#include <perch/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PERCH_COMPARISON_PROFILES 32 /**< most profiles of a comparison */
#define PERCH_COMPARISON_KEYS	  16 /**< most keys of a comparison */

/** What is computed of a row in the first profile, the baseline, and in another one. */
enum perch_comparison_method {
	PERCH_COMPARISON_DELTA_ABS, /**< as DELTA, but sorted by the absolute value */
	PERCH_COMPARISON_DELTA,	    /**< the difference of the shares, in percentage points */
	PERCH_COMPARISON_RATIO,	    /**< the ratio of the periods */
	PERCH_COMPARISON_WDIFF,	    /**< the weighted difference of the periods */
};

/** What to compare. */
struct perch_comparison_options {
	size_t nr_profiles; /**< 2 to PERCH_COMPARISON_PROFILES */
	/** Columns whose texts the joined rows have in common; they must outlive the comparison.
	 * The texts of sums (PERCH_COLUMN_PERIOD) are empty. */
	const struct perch_column *const *keys;
	size_t nr_keys; /**< 1 to PERCH_COMPARISON_KEYS */
	enum perch_comparison_method method;
	int64_t base_weight; /**< PERCH_COMPARISON_WDIFF: factor of the baseline */
	int64_t weight;	     /**< PERCH_COMPARISON_WDIFF: factor of the other profile */
	/** Rows are sorted by what is computed for this profile; 0: by their share in the
	 * baseline. */
	size_t order;
	bool baseline_only; /**< only rows of the baseline that another profile has are sorted */
	bool relative; /**< shares are of the samples that match, as with --percentage relative */
	bool branches; /**< the callers are compared, too */
	uint64_t reserved[4]; /**< must be 0 */
};

/** Of a row, or of all rows, in one profile. */
struct perch_comparison_sum {
	uint64_t period;  /**< of the samples */
	uint64_t samples; /**< their number; 0: the profile does not have the row */
};

/** A comparison. */
struct perch_comparison;

/**
 * Creates a comparison without rows.
 *
 * @param[out] comparison  the new object; NULL after a failure
 * @param options          not needed after the return
 * @param[out] err         the reason of a failure
 * @return 0, or a negative errno
 * @retval -EINVAL  a number is out of its range
 */
PERCH_API int perch_comparison_new(struct perch_comparison **comparison,
				   const struct perch_comparison_options *options,
				   struct perch_error *err);

/** Frees a comparison. NULL is allowed. */
PERCH_API void perch_comparison_free(struct perch_comparison *comparison);

/**
 * Adds the rows of an event of a profile, once for each profile.
 *
 * @param comparison  the comparison
 * @param index       which of the profiles it is; 0 is the baseline
 * @param profile     a finished profile, whose columns are the keys other than sums
 * @param event       index of the event in the profile
 * @param columns     where the profile has other columns than the keys, as those of
 *                    perch_trace_columns_find(): one for each key; NULL: the keys
 * @param[out] err    the reason of a failure
 * @return 0, or a negative errno
 * @retval -EINVAL  the comparison does not have so many profiles
 */
PERCH_API int perch_comparison_add(struct perch_comparison *comparison, size_t index,
				   struct perch_profile *profile, unsigned event,
				   const struct perch_column *const *columns,
				   struct perch_error *err);

/**
 * Sorts the rows, and their branches.
 *
 * @param comparison  the comparison
 * @param[out] rows   the numbers of the rows in their order; valid until the next call
 * @param[out] nr     how many there are
 * @param[out] err    the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_comparison_sort(struct perch_comparison *comparison, const uint32_t **rows,
				    size_t *nr, struct perch_error *err);

/** Returns the number of rows, which are numbered from 0. */
PERCH_API size_t perch_comparison_rows(const struct perch_comparison *comparison);

/** Returns the text of a row in a key. It is clean for a terminal, and valid until more rows are
 * added. */
PERCH_API const char *perch_comparison_text(const struct perch_comparison *comparison, size_t row,
					    size_t key);

/** Returns what a profile has of a row. */
PERCH_API const struct perch_comparison_sum *perch_comparison_row_sum(
	const struct perch_comparison *comparison, size_t row, size_t profile);

/** Returns the sum of a profile, of which the shares are. */
PERCH_API const struct perch_comparison_sum *perch_comparison_total(
	const struct perch_comparison *comparison, size_t profile);

/** Returns the share of a row in the sum of a profile, in percent. */
PERCH_API double perch_comparison_share(const struct perch_comparison *comparison, size_t row,
					size_t profile);

/** Returns what the method computes of a row, in a profile other than the baseline. */
PERCH_API double perch_comparison_compute(const struct perch_comparison *comparison, size_t row,
					  size_t profile);

/** No row or branch. */
#define PERCH_COMPARISON_NONE UINT32_MAX

/** The row whose share has changed most. */
struct perch_comparison_change {
	uint32_t row; /**< PERCH_COMPARISON_NONE: no share has changed */
	/** Standard error of the difference of its shares, in percentage points: they are estimates
	 * of as many samples. NaN if libm cannot be loaded. */
	double error;
	/** Probability that one of the rows changes as much by sampling alone; or NaN. */
	double chance;
	uint64_t reserved[2]; /**< for members of later versions */
};

/**
 * Finds the row whose share has changed most from the baseline to another profile.
 *
 * @param comparison   the comparison
 * @param profile      the other profile
 * @param[out] change  the row; NONE if one of the profiles has no samples
 */
PERCH_API void perch_comparison_most_changed(const struct perch_comparison *comparison,
					     size_t profile,
					     struct perch_comparison_change *change);

/** Returns true if most of the change is of functions whose DSO (keys "dso" and "sym") has another
 * name in the other profile: they are different rows. */
PERCH_API bool perch_comparison_is_renamed(const struct perch_comparison *comparison,
					   size_t profile);

/**
 * Returns the branches, the callers of rows, as the rows of a comparison of their own: sums, shares
 * and what is computed are those of its functions. NULL: without options.branches, or before
 * perch_comparison_sort().
 *
 * @param comparison  the comparison; it owns the branches
 */
PERCH_API const struct perch_comparison *perch_comparison_branches(
	const struct perch_comparison *comparison);

/** Returns the first caller of a row, in their order; PERCH_COMPARISON_NONE without one, or while
 * rows were added and not sorted. */
PERCH_API uint32_t perch_comparison_first_caller(const struct perch_comparison *comparison,
						 size_t row);

/**
 * Returns the branch after a branch.
 *
 * @param comparison  the comparison of the rows
 * @param branch      its number
 * @param deeper      true: its first caller; false: the next caller of the same function
 * @return the number of a branch, or PERCH_COMPARISON_NONE
 */
PERCH_API uint32_t perch_comparison_next_branch(const struct perch_comparison *comparison,
						uint32_t branch, bool deeper);

/** Returns the name of the function of a branch. */
PERCH_API const char *perch_comparison_branch_name(const struct perch_comparison *comparison,
						   uint32_t branch);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Columns of profiles: what samples are grouped by, and what is added up for each group.
 *
 * perch_columns() returns the columns of the library, which have the names of `perf report -s`. A
 * program can have columns of its own: it fills in a struct perch_column with functions that
 * compute, compare and format the value of a sample. See perch_profile_options.columns, and
 * examples/own-column.c.
 *
 * Functions cannot fail, or their comment lists what they return.
 *
 * Threads: any number of threads may call these functions at the same time.
 *
 * Fork: the columns of the library are constants.
 *
 * Signals: no function is async-signal-safe.
 */
#ifndef PERCH_COLUMN_H
#define PERCH_COLUMN_H

#include <stdbool.h>
#include <perch/error.h>
#include <perch/process.h>
#include <perch/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a column describes. */
enum perch_column_scope {
	PERCH_COLUMN_SAMPLE, /**< the sample: equal for all functions of its call chain */
	PERCH_COLUMN_FRAME,  /**< the function, or the address in it */
	PERCH_COLUMN_PERIOD, /**< a sum of the samples of a row, as overhead; groups nothing */
};

/** What a value of a column is. */
enum perch_column_type {
	PERCH_COLUMN_TEXT,    /**< a text; the value is a number that stands for it */
	PERCH_COLUMN_NUMBER,  /**< a number */
	PERCH_COLUMN_ADDRESS, /**< an address or identifier, shown in hexadecimal */
	PERCH_COLUMN_PERCENT, /**< a period, shown as its share of the total */
};

/** How the library computes one of its columns. */
struct perch_column_methods;

/** A column. */
struct perch_column {
	const char *name;	       /**< as in `perf report -s` */
	const char *alias;	       /**< another name; NULL if none */
	const char *header;	       /**< title, as perf prints it */
	const char *summary;	       /**< one line for a list of columns */
	enum perch_column_scope scope; /**< what it describes */
	enum perch_column_type type;   /**< what its values are */
	unsigned width;		       /**< least width in characters; 0 is that of the header */
	bool right;		       /**< cells are aligned to the right */
	/** Only profiles of branches have it (struct perch_profile_options.branches). */
	bool of_branches;
	/** Columns of the library: bits of sample_type (PERCH_SAMPLE_*), of which a sample has one
	 * if it has a value; 0 if every sample has one. */
	uint64_t sample_type;
	const char *record_option; /**< the option of `perch record` for them; NULL if 0 */
	/** Only for columns of a program, of scope PERCH_COLUMN_SAMPLE: stores the value of a
	 * sample. It returns 0, or a negative errno, which perch_profile_add() returns. Samples
	 * with equal values are in one row. */
	int (*value)(void *data, const struct perch_record *record,
		     const struct perch_thread *thread, uint64_t *value);
	/** Only for columns of a program: compares two values, less than 0 if a is sorted before
	 * b. NULL compares numbers. */
	int (*compare)(void *data, uint64_t a, uint64_t b);
	/** Only for columns of a program: stores the text of a value, NUL-terminated, in size
	 * bytes. It is cleaned before it is shown. NULL prints the number. */
	void (*format)(void *data, uint64_t value, char *buffer, size_t size);
	void *data; /**< first argument of the functions */
	/** Columns of the library; NULL in columns of a program. */
	const struct perch_column_methods *methods;
	uint64_t reserved[2]; /**< must be 0 */
};

/**
 * Returns the columns of the library.
 *
 * @param[out] nr  their number
 * @return the columns, in the order of their description in perch-report(1)
 */
PERCH_API const struct perch_column *perch_columns(size_t *nr);

/**
 * Finds a column of the library by its name or alias.
 *
 * @param name    the name; need not be NUL-terminated
 * @param length  its length in bytes
 * @return the column; NULL if there is none
 */
PERCH_API const struct perch_column *perch_column_find(const char *name, size_t length);

/**
 * Finds the column whose name is most similar to a mistyped one.
 *
 * @param name    the name; need not be NUL-terminated
 * @param length  its length in bytes
 * @return the column; NULL if none is similar
 */
PERCH_API const struct perch_column *perch_column_similar(const char *name, size_t length);

#ifdef __cplusplus
}
#endif
#endif

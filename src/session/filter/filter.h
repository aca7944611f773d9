/* SPDX-License-Identifier: MIT */
/*
 * The parts of a filter:
 *
 *   filter.c          makes the filter, and tests records
 *   switch.c          samples between those of two events
 *   filter_addresses.c  tests samples by their address and their call chain
 *   filter_values.c   the values of the samples that were tested
 *   filter_lists.c    parses lists of names and of numbers
 *   filter_split.c    separates names of functions, which may have commas
 *   filter_time.c     parses ranges of time
 *   filter_expression.h  expressions over the fields of tracepoints
 *   filter_missing.c  after reading: the words of options for which there is no sample
 */
#ifndef PERCH_SESSION_FILTER_H
#define PERCH_SESSION_FILTER_H

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <perch/filter.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "filter_expression.h"

#define MAX_CPUS       65536
#define RECENT_CGROUPS 256

/* ---- filter_lists.c ---- */

struct filter_name {
	char *text;
	uint64_t address; /* the text is a number in hexadecimal; else 0 */
	bool signs;	  /* of functions: the text has signs, beside which spaces do not count */
	bool seen;	  /* by a sample */
};

/* Names, sorted. */
struct filter_names {
	struct filter_name *name;
	size_t nr, capacity;
	bool of_functions; /* else commas always separate them */
	bool has_addresses;
};

struct filter_range {
	uint32_t first, last;
	bool seen;
};

struct filter_ranges {
	struct filter_range *range;
	size_t nr, capacity;
};

/* Parses a list; what: "names of threads", for errors. Returns 0 or a negative errno. */
int perch__filter_parse_names(struct filter_names *names, const char *list, const char *what,
			      struct perch_error *err);
/* True if the text is in the list, which then has seen it. */
bool perch__filter_is_named(const struct filter_names *names, const char *text);
void perch__filter_clear_names(struct filter_names *names);
/* Parses a list of ids, or of numbers below MAX_CPUS. Returns 0 or a negative errno. */
int perch__filter_parse_ids(struct filter_ranges *ids, const char *list, const char *what,
			    struct perch_error *err);
int perch__filter_parse_ranges(struct filter_ranges *ranges, const char *list, const char *what,
			       uint32_t least, struct perch_error *err);

/* ---- filter_split.c ---- */

/* True if each bracket in a list of names of functions is closed. */
bool perch__filter_is_balanced(const char *list);
/* Returns the length of the first name of a balanced list: up to a comma outside of brackets. */
size_t perch__filter_function_length(const char *list);

/* ---- filter_time.c ---- */

/* Both ends are in the range, in ns. */
struct filter_time {
	uint64_t start, end;
};

struct filter_times {
	struct filter_time *range;
	size_t nr, capacity;
};

/* Parses options->time. Returns 0 or a negative errno. */
int perch__filter_parse_time(struct filter_times *times, const struct perch_filter_options *options,
			     struct perch_session *session, struct perch_error *err);

/* ---- filter_values.c ---- */

/* A value of the samples for which a test was made: a name or a number. */
struct filter_value {
	const char *text; /* NULL: number */
	uint64_t number;
	uint64_t samples;
};

/* The values, by an index of their own; ids by by_number. */
struct filter_values {
	struct filter_value *value;
	size_t nr, capacity;
	struct perch__hash_table by_number; /* -> value */
};

/* Adds a value with an index, without counting a sample. Returns 0 or -ENOMEM. */
int perch__filter_add(struct filter_values *values, uint32_t index, const char *text);

/* Counts a sample of a value with an index. Returns 0 or -ENOMEM. */
static inline int perch__filter_count(struct filter_values *values, uint32_t index,
				      const char *text)
{
	int rc = perch__filter_add(values, index, text);

	if (!rc)
		values->value[index].samples++;
	return rc;
}

/* Counts a sample of an id, up to a number of ids. Returns 0 or -ENOMEM. */
int perch__filter_count_id(struct filter_values *values, uint64_t id, const char *text);

/* ---- filter.c ---- */

/* What was found out about a name, a DSO or an address. */
enum { UNTESTED, PASSES, PASSES_INLINED, FAILS };
struct filter_results {
	uint8_t *of;
	size_t capacity;
};

typedef int filter_test(struct perch_filter *filter, const struct perch_record *record);

struct perch_filter {
	struct perch_session *session;
	struct perch_symbols *symbols;
	struct {
		filter_test *test;
		enum perch_filter_part part;
	} tests[PERCH_FILTER_PARTS];
	size_t nr_tests;
	bool no_inline;
	uint64_t symbols_size;
	enum perch_filter_part rejected_by;
	struct perch_filter_stats stats;
	struct filter_ranges cpus, pids, tids, parallelism;
	struct filter_names comms, cgroups, dsos, symbol_names;
	struct filter_times times;
	char *time;			/* the option */
	uint64_t first_time, last_time; /* of the samples */
	uint64_t cpu_bits[MAX_CPUS / 64];
	struct filter_values values[PERCH_FILTER_PARTS];
	struct filter_results by_comm, by_dso, by_address, by_symbol, by_caller;
	struct {
		const char *path; /* of perch_processes_cgroup_name() */
		uint8_t result;
	} by_cgroup[RECENT_CGROUPS]; /* by the low bits of the id */
	bool has_parent;
	char *parent_text;
	regex_t parent;
	struct filter_expression *expression;
	char *expression_text;
	char rejected_text[256]; /* of the first sample with such fields, for which it is not true
				  */
	/* the texts of perch_filter_get_missing() */
	char wanted[256], similar[256], present[512];
};

/* Returns the words of a part's option, or NULL. */
struct filter_names *perch__filter_names_of(struct perch_filter *filter,
					    enum perch_filter_part part);
struct filter_ranges *perch__filter_ranges_of(struct perch_filter *filter,
					      enum perch_filter_part part);

/* Returns where the result of an index is stored, or NULL if out of memory. */
static inline uint8_t *result_of(struct filter_results *results, uint32_t index)
{
	if (__builtin_expect(index >= results->capacity, 0) &&
	    PERCH__ARRAY_RESERVE_ZEROED(results->of, results->capacity, (size_t)index + 1))
		return NULL;
	return &results->of[index];
}

/* Returns the thread of a sample, or NULL if out of memory. */
static inline struct perch_thread *perch__filter_thread(const struct perch_filter *filter,
							const struct perch_record *record)
{
	return perch_processes_thread(perch_session_processes(filter->session), record->sample.pid,
				      record->sample.tid);
}

/* ---- filter_addresses.c: tests, 1, 0 or -ENOMEM ---- */

filter_test perch__filter_test_dso, perch__filter_test_symbol, perch__filter_test_parent;

#endif

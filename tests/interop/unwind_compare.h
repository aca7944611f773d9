/* SPDX-License-Identifier: MIT */
/*
 * Compares unwound call chains with those of the kernel, which follows frame pointers. A sample of
 * a program with frame pointers has both.
 */
#ifndef PERCH_TESTS_UNWIND_COMPARE_H
#define PERCH_TESTS_UNWIND_COMPARE_H

#include <stdbool.h>

#include <perch/unwind.h>

enum { ORACLE_MAX = 1024, ORACLE_MAX_NAMES = 16 };

struct oracle {
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	struct perch_unwinder *unwinder;
	struct perch_thread *thread;
	uint64_t expected[ORACLE_MAX], found[ORACLE_MAX];
	size_t nr_expected, nr_found;
	unsigned samples, equal, entry, signal, too_short, other;
	/* what was not compared, and why the last such sample has no function */
	unsigned records, of_kernel, without_thread, of_others;
	char reason[256];
	const char **name; /* that must be in a chain */
	size_t nr_names;
	bool found_name[ORACLE_MAX_NAMES];
};

/* root: the directory of the files; NULL is this machine's. */
int oracle_begin(struct oracle *oracle, enum perch_arch arch, const char *root,
		 struct perch_error *err);
void oracle_end(struct oracle *oracle);
/* Applies a record, or compares the chains of a sample. Returns 0 or a negative errno. */
int oracle_take(struct oracle *oracle, const struct perch_record *record);
/* Prints to stderr why samples were not compared. */
void oracle_print_others(const struct oracle *oracle);
/* Returns how many names are missing, and prints them. */
size_t oracle_missing_names(const struct oracle *oracle);

#endif

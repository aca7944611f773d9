/* SPDX-License-Identifier: MIT */
/*
 * Functions that a JIT compiler has inlined. perf-map-agent and others name code of several methods
 * of Java CLASS::METHOD->CLASS::METHOD: each is inlined in the one before it. The operators -> and
 * ->* of C++ have text beside them that is no method.
 */
#ifndef PERCH_BASE_INLINED_NAMES_H
#define PERCH_BASE_INLINED_NAMES_H

#include <stdbool.h>
#include <string.h>

struct perch__inlined_name {
	const char *start;
	size_t length;
};

#define PERCH__MOST_INLINED_NAMES 64

/* True for CLASS::METHOD. */
static inline bool perch__is_java_method(const char *start, const char *end)
{
	const char *colons = strstr(start, "::");

	if (!colons || colons == start || colons + 2 >= end)
		return false;
	for (const char *at = start; at < end; at++)
		if (strchr(" ()[]*&,~", *at))
			return false;
	return true;
}

/* True for a part of a name of C++ that ends before the operator's arrow. */
static inline bool perch__ends_in_operator(const char *start, const char *end)
{
	static const char word[] = "operator";
	size_t length = sizeof(word) - 1;

	return (size_t)(end - start) >= length && !memcmp(end - length, word, length);
}

/* Finds the functions in a name, the outermost one first. Returns their number; 0: it is the name
 * of one function, or of more than PERCH__MOST_INLINED_NAMES. */
static inline size_t perch__inlined_names(
	const char *name, struct perch__inlined_name part[PERCH__MOST_INLINED_NAMES])
{
	const char *arrow = strstr(name, "->"), *end;
	size_t nr = 0;

	if (!arrow)
		return 0;
	for (const char *at = name;; at = arrow + 2) {
		arrow = strstr(at, "->");
		end = arrow ? arrow : at + strlen(at);
		if (nr == PERCH__MOST_INLINED_NAMES || !perch__is_java_method(at, end) ||
		    (arrow && perch__ends_in_operator(at, end)))
			return 0;
		part[nr++] = (struct perch__inlined_name){ at, (size_t)(end - at) };
		if (!arrow)
			return nr;
	}
}

#endif

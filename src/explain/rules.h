/* SPDX-License-Identifier: MIT */
/* The table of refusals of perf_event_open(2). rules.c makes it of rules*.def; explain.c and
 * probe*.c use it. */
#ifndef PERCH_EXPLAIN_RULES_H
#define PERCH_EXPLAIN_RULES_H

#include "internal.h"

struct perch__rule {
	const char *name;	/* one of its own, for tests */
	enum perch_cause cause; /* several rules may share one */
	int errnum;
	/* at fault, by comma: "inherit,sample_type"; "" when none is */
	const char *fields;
	const char *since; /* NULL when the release does not matter */
	enum perch__match (*match)(const struct perch__case *c);
	/* what the remedy advises; NULL: nothing in the call can mend it */
	void (*fix)(struct perch__case *c);
	const char *sentence; /* with {facts} */
	const char *remedy;
};

/* In the kernel's order of checks; the last has errnum 0. */
extern const struct perch__rule perch__rules[];

#endif

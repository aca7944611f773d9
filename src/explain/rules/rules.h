/* SPDX-License-Identifier: MIT */
/* The rules of refused open calls. rules.c makes the table from rules*.def. */
#ifndef PERCH_EXPLAIN_RULES_H
#define PERCH_EXPLAIN_RULES_H

#include "explain/internal.h"

struct perch__rule {
	const char *name;	/* unique, for tests */
	enum perch_cause cause; /* several rules may have the same cause */
	int errnum;
	/* at fault, separated by commas: "inherit,sample_type"; "" if none is */
	const char *fields;
	const char *since; /* NULL if irrelevant */
	enum perch__match (*match)(const struct perch__case *c);
	/* applies the remedy to the case; NULL: no change of the call helps */
	void (*fix)(struct perch__case *c);
	const char *message; /* with {placeholders} */
	const char *remedy;
};

/* In the order of the kernel's checks; the last row has errnum 0. */
extern const struct perch__rule perch__rules[];

/* Whether a list of fields, separated by commas, has this name. */
bool perch__names_field(const char *fields, const char *name);
/* True if the fields of a rule include a field of the attr. */
bool perch__needs_attr(const char *fields);

#endif

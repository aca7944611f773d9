/* SPDX-License-Identifier: MIT */
#ifndef PERCH_EXPLAIN_RULES_H
#define PERCH_EXPLAIN_RULES_H

#include "internal.h"

struct perch__rule {
	int errnum;
	enum perch_cause cause;
	const char *field;		/* "" when no field is at fault */
	const char *since;		/* NULL when the release does not matter */
	bool likely;			/* no proof: the call would be refused for a feature too new before that */
	bool (*applies)(const struct perch__case *c);
	const char *sentence;		/* with {facts} */
	const char *remedy;
};

/* In the kernel's order of checks; the last has no errno. */
extern const struct perch__rule perch__rules[];

#endif

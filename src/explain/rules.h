/* SPDX-License-Identifier: MIT */
#ifndef PERCH_EXPLAIN_RULES_H
#define PERCH_EXPLAIN_RULES_H

#include "internal.h"

struct perch__rule {
	int errnum;
	enum perch_cause cause;
	const char *field;		/* "" when no field is at fault */
	const char *since;		/* NULL when the release does not matter */
	bool (*applies)(const struct perch__case *c);
	const char *sentence;		/* with {facts} */
	const char *remedy;
};

/* In the kernel's order of checks; the last has no errno. */
extern const struct perch__rule perch__rules[];

/*
 * True when the call asks for something younger than the running kernel. With the release unknown it is a guess,
 * made for what came with 5.13 or later: older kernels than that are rare.
 */
bool perch__unknown_to_running(const struct perch__case *c, struct perch__feature *feature);

#endif

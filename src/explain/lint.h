/* SPDX-License-Identifier: MIT */
/* The case of perch_lint(), and its rules. */
#ifndef PERCH_EXPLAIN_LINT_H
#define PERCH_EXPLAIN_LINT_H

#include "facts.h"

struct perch__lint {
	/* the open call as the kernel sees it: cut at attr.size */
	struct perch__case c;
	const struct perch_attr *a;   /* c.attr */
	struct perch_attr whole;      /* as the caller passed it */
	bool partial;		      /* 0 may be unknown */
	struct perch__feature beyond; /* the first field that the kernel does not read */
	/* bits outside the formats, set by perch__lint_raw_bits() */
	const char *raw_field; /* "config" */
	char raw_pmu[64];
	uint64_t raw_value, raw_bits;
};

struct perch__lint_rule {
	const char *name;
	enum perch_cause cause;
	const char *since;
	bool (*match)(struct perch__lint *l);
	/* Writes the fields at fault, NULL after the last one. */
	void (*fields)(const struct perch__lint *l, const char *field[4]);
	const char *message; /* with {placeholders} */
	const char *remedy;
};

/* The last row has no name. */
extern const struct perch__lint_rule perch__lint_rules[];

/* Whether a config field of a core event has bits outside the formats in sysfs. False if unknown.
 */
bool perch__lint_raw_bits(struct perch__lint *l);
/* Whether kernel.nmi_watchdog is 1: it uses a counter of each CPU. */
bool perch__lint_watchdog(const struct perch__lint *l);

/* Writes the value of a placeholder. Returns false if there is no such placeholder. */
bool perch__lint_placeholder(const void *lint, const char *name, size_t length, char *buffer,
			     size_t size);

#endif

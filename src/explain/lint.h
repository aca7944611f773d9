/* SPDX-License-Identifier: MIT */
/* What lint looks at. */
#ifndef PERCH_EXPLAIN_LINT_H
#define PERCH_EXPLAIN_LINT_H

#include "facts.h"

struct perch__lint {
	/* the call as the kernel sees it: cut to attr.size */
	struct perch__case c;
	const struct perch_attr *a;   /* c.attr */
	struct perch_attr whole;      /* as the caller has it */
	bool partial;		      /* what is zero may be unknown */
	struct perch__feature beyond; /* the first field behind what the kernel reads */
	/* bits that the PMU drops, once perch__lint_raw_bits() has said so */
	const char *raw_field; /* "config" */
	char raw_pmu[64];
	uint64_t raw_value, raw_bits;
};

struct perch__lint_rule {
	const char *name;
	enum perch_cause cause;
	const char *since;
	bool (*match)(struct perch__lint *l);
	/* At fault; fewer than 4: NULL behind the last one. */
	void (*fields)(const struct perch__lint *l, const char *field[4]);
	const char *sentence; /* with {facts} */
	const char *remedy;
};

/* The last has no name. */
extern const struct perch__lint_rule perch__lint_rules[];

/* A core PMU's event whose config words have bits outside the formats that sysfs lists. False when
 * those are unknown. */
bool perch__lint_raw_bits(struct perch__lint *l);
/* kernel.nmi_watchdog is 1, which takes a counter of each CPU. */
bool perch__lint_watchdog(const struct perch__lint *l);

/* Writes the value of a placeholder. False: no such placeholder. */
bool perch__lint_placeholder(const void *lint, const char *name, size_t length, char *buffer,
			     size_t size);

#endif

/* SPDX-License-Identifier: MIT */
/* One event of a PMU in sysfs, by the PMU's format and events directories. */
#ifndef PERCH_EVENT_PMU_H
#define PERCH_EVENT_PMU_H

#include "event/internal.h"

/* The event whose terms are applied. */
struct perch__pmu_event {
	struct perch__parser *parser;
	const char *pmu;
	struct perch_event *event;
	const struct perch__terms *terms; /* of the text: they have the parameters of aliases */
	const char *alias; /* file in the events directory; NULL while terms of the text apply */
	size_t at;	   /* byte of the text where the term begins, for errors */
};

/* True if the PMU has a format file of that name. */
bool perch__has_pmu_format(const struct perch__pmu_event *target, const char *name);
/*
 * Sets a config field, or the bits of a format file. at: byte of the text where the value is.
 * Returns 0; -EINVAL for an unknown term; -EBADMSG for an invalid format file; -ERANGE for a value
 * that is too large.
 */
int perch__set_pmu_term(const struct perch__pmu_event *target, const char *name, uint64_t value,
			size_t at);
/*
 * Applies the terms, unit and scale of a file in the events directory. Returns 1; 0 when the PMU
 * has no event of that name; or a negative errno.
 */
int perch__apply_pmu_alias(struct perch__pmu_event *target, const char *name);
/* Reports that the PMU has no such term. Returns -EINVAL. */
int perch__unknown_pmu_term(const struct perch__pmu_event *target, const char *name);

#endif

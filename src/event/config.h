/* SPDX-License-Identifier: MIT */
/* The config fields of an attr: by name, by bits of a PMU's format file ("config:0-7,32-35"), and
 * with a PMU type in the upper half. */
#ifndef PERCH_EVENT_CONFIG_H
#define PERCH_EVENT_CONFIG_H

#include "internal.h"

#define PERCH__FORMAT_RANGES 16

struct perch__format {
	unsigned field; /* 0 is config, 1 is config1 ... 4 is config4 */
	unsigned bits;	/* of all ranges */
	size_t nr;
	struct {
		unsigned char first, last;
	} range[PERCH__FORMAT_RANGES];
};

/* Parses the text of a format file. Returns -EBADMSG when it is invalid. */
int perch__format_parse(struct perch__format *format, const char *text);
/*
 * Stores a value in the bits of the format, low bits first. Returns -ERANGE if the value has more
 * bits.
 */
int perch__format_apply(const struct perch__format *format, struct perch_attr *attr,
			uint64_t value);
/* Returns the field named "config", "config1" ... "config4", or NULL. */
uint64_t *perch__config_field(struct perch_attr *attr, const char *name);

/* True if events of the type can have a PMU type in the upper 32 bits of config: hardware and cache
 * events. */
bool perch__has_pmu_bits(uint32_t type);
/*
 * Returns the type of the PMU that counts an attr. For hardware and cache events it is that in the
 * upper 32 bits, where 0 means any core PMU.
 */
uint32_t perch__pmu_type(const struct perch_attr *attr);
/* Sets config by a term. A hardware or cache event stays on its PMU. */
void perch__set_config(struct perch_attr *attr, uint64_t config);

#endif

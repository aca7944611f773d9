/* SPDX-License-Identifier: MIT */
/* The format files of a PMU: which bits of which config word a term fills ("config:0-7,32-35"). */
#ifndef PERCH_EVENT_CONFIG_H
#define PERCH_EVENT_CONFIG_H

#include "internal.h"

#define PERCH__FORMAT_RANGES 16

struct perch__format {
	unsigned word; /* 0: config, 1: config1 .. 4: config4 */
	unsigned bits; /* sum of the ranges */
	size_t nr;
	struct {
		unsigned char first, last;
	} range[PERCH__FORMAT_RANGES];
};

/* Parses a format file's text; -EBADMSG when it is none. */
int perch__format_parse(struct perch__format *format, const char *text);
/* Puts value into the format's bits, low bits first; -ERANGE when it has more bits than they are.
 */
int perch__format_apply(const struct perch__format *format, struct perch_attr *attr,
			uint64_t value);
/* The word that "config", "config1" .. "config4" name; NULL for another name. */
uint64_t *perch__config_field(struct perch_attr *attr, const char *name);

#endif

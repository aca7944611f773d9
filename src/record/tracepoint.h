/* SPDX-License-Identifier: MIT */
/* The fields of tracepoints: what the files of perch/tracepoint.h share. */
#ifndef PERCH_RECORD_TRACEPOINT_H
#define PERCH_RECORD_TRACEPOINT_H

#include <perch/tracepoint.h>

#define PERCH__FORMAT_MAX (1u << 20) /* bytes of the text of a format */

/* One allocation: the fields and the strings follow the struct. */
struct perch_tracepoint_format {
	const char *system, *name, *print_fmt;
	uint64_t id;
	size_t nr;
	struct perch_tracepoint_field field[];
};

#endif

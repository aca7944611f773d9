/* SPDX-License-Identifier: MIT */
/*
 * Functions of files, and what probes read in them (perch/function.h). A file calls only files
 * below its own:
 *
 *	find_probe.c	finds the site of a probe
 *	arguments.c	makes arguments of tracefs from names of variables
 */
#ifndef PERCH_FUNCTION_INTERNAL_H
#define PERCH_FUNCTION_INTERNAL_H

#include <perch/fields.h>
#include <perch/function.h>
#include <perch/symbol.h>

struct function_site {
	struct perch_symbols *symbols;
	const struct perch_dso *dso;
	uint64_t offset; /* of the instruction in the file */
	bool returns;	 /* the probe hits when the function returns */
};

/*
 * Makes the arguments that a text lists: "count, item->name, last:x64", "*" is all parameters.
 * *late: a variable is in the frame, which the function has not made yet at its first instruction.
 * Returns 0, or a negative errno with *err set.
 */
int perch__probe_arguments(const struct function_site *site, const char *text, char **arguments,
			   char **unread, bool *late, struct perch_error *err);

#endif

/* SPDX-License-Identifier: MIT */
/* The functions at the addresses of a window. */
#ifndef PERCH_AGENT_NAMES_H
#define PERCH_AGENT_NAMES_H

#include "source.h"

/* A function at an address. The texts are clean and live as long as the names. */
struct agent_function {
	const char *name;	 /* or what stands for it: "[libc.so.6]", "[unknown]" */
	const char *system_name; /* as in the symbol table; NULL: it has no name there */
	const char *file;	 /* NULL: unknown */
	uint32_t line;		 /* 0: unknown */
	bool inlined;
};

struct agent_names;

/* Finds the names of all addresses of some rows, or, without functions, only those of their files,
 * which needs little memory. Returns 0, or a negative errno. */
int agent_names_new(struct agent_names **names, const struct agent_window *window,
		    const struct agent_source *source, const struct agent_row *rows, size_t nr,
		    bool functions, struct perch_error *err);
void agent_names_free(struct agent_names *names);
/* The functions at an address by its number, innermost first: at least one. */
const struct agent_function *agent_names_at(const struct agent_names *names, uint32_t address,
					    size_t *nr);

#endif

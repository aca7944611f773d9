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

/* Why a file gave no names, or few. */
enum agent_unnamed_reason {
	AGENT_UNNAMED_STRIPPED,
	AGENT_UNNAMED_PERMISSION, /* this user may not read it */
	AGENT_UNNAMED_GONE,	  /* it was removed or replaced, or is in another mount namespace */
	AGENT_UNNAMED_MEMORY,	  /* it needs more than a profile may take */
	AGENT_UNNAMED_OTHER,
	AGENT_NR_UNNAMED
};
#define AGENT_UNNAMED_NAMES "stripped", "permission", "gone", "memory", "other"

struct agent_unnamed {
	uint32_t files[AGENT_NR_UNNAMED];
};

/* Finds the names of all addresses of some rows, or, without functions, only those of their files,
 * which needs little memory. Returns 0, or a negative errno. */
int agent_names_new(struct agent_names **names, const struct agent_window *window,
		    const struct agent_source *source, const struct agent_row *rows, size_t nr,
		    bool functions, struct perch_error *err);
void agent_names_free(struct agent_names *names);
void agent_names_unnamed(const struct agent_names *names, struct agent_unnamed *unnamed);
/* The functions at an address by its number, innermost first: at least one. */
const struct agent_function *agent_names_at(const struct agent_names *names, uint32_t address,
					    size_t *nr);

#endif

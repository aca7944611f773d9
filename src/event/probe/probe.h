/* SPDX-License-Identifier: MIT */
/* Probes: the parsed text of one, and the sites where it is placed. */
#ifndef PERCH_EVENT_PROBE_H
#define PERCH_EVENT_PROBE_H

#include <limits.h>

#include "elf_lookup.h"

/* The functions that match a glob, sorted by name; each function once. */
struct perch__probe_match {
	char *name; /* demangled */
	uint64_t offset;
	char *arguments, *unread; /* members of struct perch_event, or NULL */
};
struct perch__probe_matches {
	size_t nr;
	struct perch__probe_match *match;
};
#define PERCH__PROBE_MATCHES_MAX 1000

enum perch__probe_kind { PERCH__PROBE_USER, PERCH__PROBE_KERNEL, PERCH__PROBE_USDT };

struct perch__probe_spec {
	enum perch__probe_kind kind;
	bool returns;		  /* hits when the function returns */
	bool numbered;		  /* given by offset or address, without a symbol */
	char file[PATH_MAX];	  /* as written, without quotes; "" for the kernel */
	char path[PATH_MAX];	  /* absolute path of the file */
	char provider[PATH_MAX];  /* of a USDT probe */
	char symbol[PATH_MAX];	  /* function, or name of a USDT probe */
	char arguments[PATH_MAX]; /* "count, item->name"; "" without them */
	uint32_t line;		  /* of the source file that symbol names; 0: it is a function */
	uint64_t offset, counter;
	struct perch__probe_matches matches; /* if the function is a glob */
	/* byte offsets in the text, for errors; at_counter is 0 without a reference counter */
	size_t at_file, at_provider, at_symbol, at_offset, at_counter;
};

/* ---- probe_glob.c ---- */

/* Indirect functions do not match; with returns also no part of a function that is jumped to.
 * Returns 0; -ENOENT if none matches; -EFBIG; others as
 * perch__elf_visit_functions(). */
int perch__elf_match_functions(const struct perch__elf *elf, const struct perch_machine *machine,
			       const char *glob, bool returns,
			       struct perch__probe_matches *matches);
void perch__clear_matches(struct perch__probe_matches *matches);

/* Finds the sites of a user or USDT probe and sets probe->path. site has PERCH__USDT_SITES_MAX
 * elements, of which those of a glob set none: they are in probe->matches. */
int perch__find_probe_sites(struct perch__parser *parser, struct perch__probe_spec *probe,
			    struct perch__usdt_site *site, size_t *nr);

/* Checks that the offset is in the function, if its size is known. Returns 0 or -EINVAL. */
int perch__check_function_offset(struct perch__parser *parser,
				 const struct perch__probe_spec *probe,
				 const struct perch__elf *elf,
				 const struct perch__elf_function *function);
/* Checks that no function of the file has the site of a return probe behind its beginning, where
 * the kernel would take a variable for the return address. Returns 0 or -EINVAL. */
int perch__check_return_site(struct perch__parser *parser, const struct perch__probe_spec *probe,
			     const struct perch__elf *elf, uint64_t offset);
/* Checks that an offset in the file is in an executable segment. Returns 0 or -EINVAL. */
int perch__check_in_code(struct perch__parser *parser, const struct perch__probe_spec *probe,
			 const struct perch__elf *elf, uint64_t offset);

/* Checks that the kernel has exactly one function of the probe's name. Returns -ENOENT or
 * -ENOTUNIQ otherwise. */
int perch__check_kernel_function(struct perch__parser *parser,
				 const struct perch__probe_spec *probe);

#endif

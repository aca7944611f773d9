/* SPDX-License-Identifier: MIT */
/* What the text of a probe says, and what the kernel is told of it. */
#ifndef PERCH_EVENT_PROBE_H
#define PERCH_EVENT_PROBE_H

#include <limits.h>

#include "elf_lookup.h"

enum perch__probe_kind { PERCH__PROBE_USER, PERCH__PROBE_KERNEL, PERCH__PROBE_USDT };

struct perch__probe_spec {
	enum perch__probe_kind kind;
	bool returns;		 /* hits when the function returns */
	bool numbered;		 /* offset is all: there is no symbol */
	char file[PATH_MAX];	 /* as written, without quotes; "" for the kernel */
	char path[PATH_MAX];	 /* the file's absolute path */
	char provider[PATH_MAX]; /* usdt alone */
	char symbol[PATH_MAX];	 /* function, or name of the USDT probe */
	uint64_t offset, counter;
	/* at_counter 0: the text has none */
	size_t at_file, at_provider, at_symbol, at_offset, at_counter;
};

/*
 * Finds the places in the probe's file and sets probe->path: site has room for
 * PERCH__USDT_SITES_MAX. Errors are told, with the place in the text.
 */
int perch__find_probe_sites(struct perch__parser *parser, struct perch__probe_spec *probe,
			    struct perch__usdt_site *site, size_t *nr);

/* Whether the kernel has one function of the probe's name. -ENOENT and -ENOTUNIQ are told. */
int perch__check_kernel_function(struct perch__parser *parser,
				 const struct perch__probe_spec *probe);

#endif

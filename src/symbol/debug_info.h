/* SPDX-License-Identifier: MIT */
/* Debug information by libdw: debug_info.c opens it, inlines.c finds inlined functions and lines.
 */
#ifndef PERCH_SYMBOL_DEBUG_INFO_H
#define PERCH_SYMBOL_DEBUG_INFO_H

#include <limits.h>
#include <stdio.h>

#include <elfutils/libdw.h>

#include "internal.h"

struct unit;
struct unit_range;

struct debug_info {
	const char *root;		  /* see perch__open_regular() */
	struct elf_file file, debug;	  /* the mapped file, and its separate debug file */
	struct elf_file alternative;	  /* what several debug files share */
	bool has_file, has_debug;	  /* these are open */
	struct elf_file *with_debug;	  /* one of the first two */
	char directory[PATH_MAX];	  /* of that file, with a slash at its end */
	struct symbol_error error;	  /* what is missing */
	Dwarf *dwarf, *alternative_dwarf; /* NULL: there is none */
	struct unit *unit;
	size_t nr_units, units_capacity;
	struct unit_range *range; /* of all units, sorted */
	size_t nr_ranges, ranges_capacity;
};

/* Lists the units and their addresses. Returns 0 or -ENOMEM. */
int perch__debug_units(struct debug_info *info);
void perch__debug_free_units(struct debug_info *info);

#endif

/* SPDX-License-Identifier: MIT */
/* Frames of addresses by libdw: what same_lines.c compares the reader of perch with. */
#ifndef PERCH_LIBDW_FRAMES_H
#define PERCH_LIBDW_FRAMES_H

#include <elfutils/libdw.h>

#include "symbol/dwarf/scopes.h"

struct unit;
struct unit_range;
struct unit_scopes;
struct source_path;

struct libdw {
	Dwarf *dwarf;
	struct unit *unit;
	size_t nr_units, units_capacity;
	struct unit_range *range; /* of all units, sorted */
	size_t nr_ranges, ranges_capacity;
	struct scope_names names; /* of functions */
	struct source_path *path; /* of files with relative paths */
	size_t nr_paths, paths_capacity;
	struct perch__hash_table by_path;
	struct unit_scopes *scopes; /* of units with such functions */
	size_t nr_scopes, scopes_capacity;
	struct perch__hash_table scopes_by_unit;
};

/* Lists the units and their addresses. Returns 0 or -ENOMEM. */
int libdw_units(struct libdw *info);
/* As perch__debug_frames(), of an address. */
size_t libdw_frames(struct libdw *info, uint64_t address,
		    struct debug_frame frame[MAX_DEBUG_FRAMES]);
void libdw_free_units(struct libdw *info);
/* Moves to the next entry. Returns false after the last one. */
bool libdw_next_entry(Dwarf_Die *die);
/* Returns the text of an attribute of an entry, or NULL. */
const char *libdw_text(Dwarf_Die *die, unsigned name);
/* Returns the name of the function of an entry, or NULL. */
const char *libdw_name(struct libdw *info, Dwarf_Die *die);
void libdw_free_names(struct libdw *info);

#endif

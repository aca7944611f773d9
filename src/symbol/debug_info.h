/* SPDX-License-Identifier: MIT */
/*
 * Debug information of a DSO: debug_info.c opens it. dwarf.h finds inlined functions and lines.
 * Where dwarf.h does not understand the debug information, inlines.c finds them by libdw, and
 * inline_names.c their names. split_units.c opens .dwo files for libdw.
 */
#ifndef PERCH_SYMBOL_DEBUG_INFO_H
#define PERCH_SYMBOL_DEBUG_INFO_H

#include <limits.h>
#include <stdio.h>

#include <elfutils/libdw.h>

#include "dwarf.h"
#include "dwp.h"

struct unit;
struct unit_range;
struct unit_scopes;
struct source_path;
struct dwo_view;

struct debug_info {
	const struct sources *sources;
	const char *root[2]; /* where debug files are, see perch__open_regular() */
	size_t nr_roots;
	char root_of_process[32];
	struct elf_file file, debug; /* the mapped file, and its separate debug file */
	struct elf_file alternative; /* what several debug files share */
	bool has_file, has_debug, has_alternative; /* these are open */
	char *link;	     /* to the shared file, as in .gnu_debugaltlink, or NULL */
	uint8_t link_id[20]; /* the build id of that file */
	size_t link_id_size;
	bool bad_link;
	struct elf_file *with_debug; /* one of the first two */
	bool kernel;		     /* or a module: offsets are addresses, moved by shift */
	uint64_t shift;
	char directory[PATH_MAX];  /* of that file, with a slash at its end */
	struct symbol_error error; /* what is missing */
	struct dwarf *fast;	   /* NULL: libdw has all answers */
	bool incomplete;	   /* the units of fast are not listed */
	bool opened;		   /* by libdw, or that failed */
	const struct perch_dso *dso;
	struct dwp *dwp;		  /* NULL: split units are in .dwo files */
	struct elf_file redirected;	  /* with dwp: the debug information for libdw */
	struct dwo_view *dwo;		  /* copies of .dwo files that libdw does not read */
	uint64_t nr_by_libdw;		  /* lookups, for tests */
	Dwarf *dwarf, *alternative_dwarf; /* NULL: there is none */
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
int perch__debug_units(struct debug_info *info);
/* From now on libdw has all answers: for tests. */
void perch__debug_use_libdw(struct debug_info *info);
/* As perch__debug_frames(), of an address. */
size_t perch__debug_libdw_frames(struct debug_info *info, uint64_t address,
				 struct debug_frame frame[MAX_DEBUG_FRAMES]);
void perch__debug_free_units(struct debug_info *info);
/*
 * Opens the split unit of a skeleton unit, which may be replaced by the same one of another Dwarf.
 * If there is none, `split` is not changed.
 */
void perch__split_open(struct debug_info *info, Dwarf_Die *skeleton, uint64_t id, Dwarf_Die *split);
void perch__dwo_free(struct dwo_view *view);
/* Moves to the next entry. Returns false after the last one. */
bool perch__debug_next_entry(Dwarf_Die *die);
/* Returns the text of an attribute of an entry, or NULL. */
const char *perch__debug_text(Dwarf_Die *die, unsigned name);
/* Returns the name of the function of an entry, or NULL. */
const char *perch__debug_name(struct debug_info *info, Dwarf_Die *die);
void perch__debug_free_names(struct debug_info *info);

#endif

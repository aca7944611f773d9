/* SPDX-License-Identifier: MIT */
/*
 * Debug information of a DSO: debug_info.c opens it, dwarf/split_units.c its split units.
 * dwarf/dwarf.h finds inlined functions and lines.
 */
#ifndef PERCH_SYMBOL_DEBUG_INFO_H
#define PERCH_SYMBOL_DEBUG_INFO_H

#include <limits.h>
#include <stdio.h>

#include "symbol/dwarf/dwp.h"

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
	struct dwarf *dwarf;	   /* NULL: it cannot be read, or was not needed yet */
	bool incomplete;	   /* the units of dwarf are not listed */
	bool deferred;		   /* dwarf is opened for the first address that index lacks */
	struct frame_index *index; /* NULL: none */
	const struct perch_dso *dso;
	struct dwp *dwp; /* NULL: split units are in .dwo files */
	bool searched_dwp;
	uint64_t dwo_bytes; /* of .dwo files, limited */
	uint64_t dwo_read;  /* the same, also of those without the unit */
};

/* Finds the address of an offset of the DSO. Returns false if no segment has it. */
bool perch__debug_address(const struct debug_info *info, uint64_t offset, uint64_t *address);
/* The reverse. */
bool perch__debug_offset(const struct debug_info *info, uint64_t address, uint64_t *offset);
/* Opens .dwarf, which an index may replace. Returns false if it cannot be read. */
bool perch__debug_read(struct debug_info *info);
/* Opens the split unit of a skeleton unit: the function of struct dwarf. */
void perch__split_open(void *context, struct dwarf_unit *skeleton);

#endif

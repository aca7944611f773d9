/* SPDX-License-Identifier: MIT */
/*
 * Split units, in .dwo and .dwp files. A split unit has its functions; its skeleton in the program
 * has the rows of its lines, its addresses and, before DWARF 5, its ranges.
 */
#include <stdlib.h>

#include <dwarf.h>

#include "dwarf.h"

enum { HEADER_BYTES = 64 };

/* Sets what the unit has from its skeleton, and where its parts of the sections begin. */
static void set_bases(struct dwarf_unit *unit, struct dwarf_unit *skeleton,
		      const struct dwarf_parts *parts)
{
	bool wide = unit->format.offset_size == 8, tables_have_headers = unit->format.version >= 5;

	unit->skeleton = skeleton;
	unit->low_pc = skeleton->low_pc;
	unit->addr_base = skeleton->addr_base;
	unit->ranges_base = skeleton->ranges_base;
	unit->directory = skeleton->directory;
	unit->abbreviations_offset += parts->offset[DWARF_ABBREV];
	unit->rnglists_start = parts->offset[DWARF_RNGLISTS];
	unit->rnglists_base = unit->rnglists_start + (wide ? 20 : 12);
	unit->str_offsets_base = parts->offset[DWARF_STR_OFFSETS];
	if (tables_have_headers)
		unit->str_offsets_base += wide ? 16 : 8;
}

/* Reads a unit if it is the wanted one. Returns 0, -ENODATA or -ENOMEM. */
static int take_unit(struct dwarf *split, const struct dwarf_unit *header, int type,
		     struct dwarf_unit *skeleton, const struct dwarf_parts *parts)
{
	struct dwarf_unit *unit = split->unit;
	int rc;

	/* before DWARF 5 the id is in the first entry */
	if (type == DW_UT_split_compile ? header->split_id != skeleton->split_id
					: type != DW_UT_compile || header->format.version == 5)
		return -ENODATA;
	*unit = *header;
	set_bases(unit, skeleton, parts);
	rc = perch__dwarf_read_unit(split, unit);
	if (rc)
		return rc == -ENOMEM ? rc : -ENODATA;
	unit->stmt_list.number += parts->offset[DWARF_LINE];
	return unit->split_id == skeleton->split_id ? 0 : -ENODATA;
}

static int search_unit(struct dwarf *split, struct dwarf_unit *skeleton,
		       const struct dwarf_parts *parts)
{
	struct dwarf_section *info = split->section[DWARF_INFO];
	uint64_t offset = parts->offset[DWARF_INFO], end = info->size;
	uint8_t bytes[HEADER_BYTES];
	struct dwarf_unit header;
	int rc = -ENODATA, type;

	if (parts->size[DWARF_INFO] && offset < end && parts->size[DWARF_INFO] < end - offset)
		end = offset + parts->size[DWARF_INFO];
	for (; rc == -ENODATA && offset < end; offset = header.end) {
		struct cursor cursor = { .at = bytes, .swapped = split->swapped };

		cursor.end = bytes + perch__dwarf_peek(info, offset, bytes, sizeof(bytes));
		header = (struct dwarf_unit){ .offset = offset, .dwarf = split };
		if (!perch__dwarf_header(&header, &cursor, end - offset, &type))
			break;
		rc = take_unit(split, &header, type, skeleton, parts);
	}
	return rc;
}

int perch__dwarf_take_split(struct dwarf_unit *skeleton, struct dwarf_section *section, bool own,
			    const struct dwarf_parts *parts)
{
	struct dwarf *program = skeleton->dwarf;
	struct dwarf *split = perch__dwarf_new(program->swapped, section);
	int rc;

	if (split)
		split->unit = perch__calloc(1, sizeof(*split->unit));
	if (!split || !split->unit) {
		if (own) {
			perch__dwarf_free_sections(section);
			free(section);
		}
		perch__dwarf_free(split);
		return -ENOMEM;
	}
	split->nr_units = 1;
	split->own = own ? section : NULL;
	split->section[DWARF_ADDR] = program->section[DWARF_ADDR];
	split->section[DWARF_RANGES] = program->section[DWARF_RANGES];
	rc = search_unit(split, skeleton, parts);
	if (rc) {
		perch__dwarf_free(split);
		return rc;
	}
	split->next = program->split;
	program->split = split;
	skeleton->split = split->unit;
	return 0;
}

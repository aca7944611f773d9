/* SPDX-License-Identifier: MIT */
/* Split units in a .dwp file: its index says which parts of the sections each of them has. */
#include <stdlib.h>
#include <unistd.h>

#include "base/files/elf_section.h"
#include "dwp.h"

#define MOST_INDEX_BYTES (1ull << 28)
enum {
	MOST_COLUMNS = 16,
	MOST_UNITS = 1 << 22,
};

/* The sections of a unit, by their numbers in the index of version 2 and 5. */
static const enum dwarf_section_id ids[] = { [1] = DWARF_INFO,
					     [3] = DWARF_ABBREV,
					     [4] = DWARF_LINE,
					     [6] = DWARF_STR_OFFSETS,
					     [8] = DWARF_RNGLISTS };

struct dwp {
	struct elf_file file;
	struct dwarf_section section[NR_DWARF_SECTIONS];
	unsigned char *index; /* .debug_cu_index */
	size_t index_size;
	uint32_t version, nr_columns, nr_units, nr_slots;
};

static uint64_t number_at(const struct dwp *dwp, uint64_t at, size_t size)
{
	return perch__elf_word(&dwp->file.elf, dwp->index + at, size);
}

/* Version 2 has 4 bytes; version 5 has 2 bytes, and 2 bytes without meaning. */
static bool read_index(struct dwp *dwp)
{
	const struct perch__elf *elf = &dwp->file.elf;
	size_t index = perch__elf_find_section(elf, ".debug_cu_index");
	uint64_t needed;

	if (!index ||
	    perch__elf_load_section(elf, &elf->section[index], MOST_INDEX_BYTES, &dwp->index,
				    &dwp->index_size) ||
	    dwp->index_size < 16)
		return false;
	dwp->version = (uint32_t)number_at(dwp, 0, 4);
	if (dwp->version != 2)
		dwp->version = (uint32_t)number_at(dwp, 0, 2);
	dwp->nr_columns = (uint32_t)number_at(dwp, 4, 4);
	dwp->nr_units = (uint32_t)number_at(dwp, 8, 4);
	dwp->nr_slots = (uint32_t)number_at(dwp, 12, 4);
	if ((dwp->version != 2 && dwp->version != 5) || !dwp->nr_columns ||
	    dwp->nr_columns > MOST_COLUMNS || dwp->nr_units > MOST_UNITS ||
	    dwp->nr_slots > 4 * MOST_UNITS || !dwp->nr_slots ||
	    (dwp->nr_slots & (dwp->nr_slots - 1)))
		return false;
	needed = 16 + 12ull * dwp->nr_slots + 4ull * dwp->nr_columns +
		 8ull * dwp->nr_units * dwp->nr_columns;
	return needed <= dwp->index_size;
}

struct dwp *perch__dwp_open(int fd)
{
	struct dwp *dwp = fd < 0 ? NULL : perch__calloc(1, sizeof(*dwp));

	if (!dwp) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	if (!perch__elf_open(&dwp->file, fd) &&
	    !perch__dwarf_sections(dwp->section, &dwp->file, ".dwo") && read_index(dwp))
		return dwp;
	perch__dwp_free(dwp);
	return NULL;
}

void perch__dwp_free(struct dwp *dwp)
{
	if (!dwp)
		return;
	perch__dwarf_free_sections(dwp->section);
	perch__elf_close(&dwp->file);
	free(dwp->index);
	free(dwp);
}

/* Returns the row of a unit, from 1; 0 if there is none. */
static uint32_t find_row(const struct dwp *dwp, uint64_t id)
{
	uint64_t mask = dwp->nr_slots - 1, slot = id & mask, step = (id >> 32 & mask) | 1;

	for (uint32_t i = 0; i < dwp->nr_slots; i++, slot = (slot + step) & mask) {
		uint32_t row = (uint32_t)number_at(dwp, 16 + 8ull * dwp->nr_slots + 4 * slot, 4);

		if (!row)
			return 0;
		if (number_at(dwp, 16 + 8 * slot, 8) == id)
			return row <= dwp->nr_units ? row : 0;
	}
	return 0;
}

/* Version 2 has range lists of DWARF 5 nowhere, and macros in their column. */
static bool has_section(const struct dwp *dwp, uint64_t number)
{
	return number < PERCH__NR(ids) && (number == 1 || ids[number] != DWARF_INFO) &&
	       (dwp->version == 5 || ids[number] != DWARF_RNGLISTS);
}

int perch__dwp_take(struct dwp *dwp, struct dwarf_unit *skeleton)
{
	uint32_t row = find_row(dwp, skeleton->split_id);
	uint64_t columns = 16 + 12ull * dwp->nr_slots;
	uint64_t offsets = columns + 4ull * dwp->nr_columns * row;
	uint64_t sizes = offsets + 4ull * dwp->nr_columns * dwp->nr_units;
	struct dwarf_parts parts = { 0 };

	for (uint32_t i = 0; row && i < dwp->nr_columns; i++) {
		uint64_t number = number_at(dwp, columns + 4ull * i, 4);

		if (!has_section(dwp, number))
			continue;
		parts.offset[ids[number]] = number_at(dwp, offsets + 4ull * i, 4);
		parts.size[ids[number]] = number_at(dwp, sizes + 4ull * i, 4);
	}
	return row ? perch__dwarf_take_split(skeleton, dwp->section, false, &parts) : -ENODATA;
}

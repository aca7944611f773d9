/* SPDX-License-Identifier: MIT */
/* Passes over all units: copies of inlined functions, and addresses of a line. */
#include <dwarf.h>

#include "dwarf.h"

struct copy {
	uint64_t start; /* of its first range: others, with what is seldom run, may be below it */
	uint64_t entry;
	bool has_start, has_entry; /* entry is in a range */
};

static int take_range(void *context, uint64_t start, uint64_t end)
{
	struct copy *copy = context;

	if (!copy->has_start)
		copy->start = start;
	copy->has_start = true;
	copy->has_entry |= copy->entry >= start && copy->entry < end;
	return 0;
}

/* Finds where the code of a copy begins. Returns false if it has none, or is damaged. */
static bool find_entry(struct dwarf_unit *unit, const struct dwarf_entry *entry, uint64_t *address)
{
	struct copy copy = { 0 };
	uint64_t offset;

	if (entry->has >> ATTRIBUTE_ENTRY_PC & 1 &&
	    perch__dwarf_address(unit->dwarf, unit, &entry->value[ATTRIBUTE_ENTRY_PC], &copy.entry))
		copy.entry = 0;
	if (perch__dwarf_ranges(unit->dwarf, unit, entry, take_range, &copy) || !copy.has_start)
		return false;
	*address = copy.has_entry ? copy.entry : copy.start;
	if (perch__dwarf_number(entry, ATTRIBUTE_ENTRY_PC, &offset)) /* DWARF 5 */
		*address = copy.start + offset;
	return true;
}

/* entry: of a copy, at the offset `at` of .debug_info */
static int visit_copy(struct dwarf_unit *unit, const struct dwarf_entry *entry, uint64_t at,
		      perch_inlined_visit *visit, void *context)
{
	const uint64_t origin = perch__dwarf_origin(unit, entry);
	const char *name = NULL;
	uint64_t address;

	/* a copy that is damaged is left out */
	if (!find_entry(unit, entry, &address) ||
	    perch__dwarf_name(unit, origin ? origin : at, &name) || !name)
		return 0;
	return visit(context, name, address);
}

static int visit_unit(struct dwarf_unit *unit, perch_inlined_visit *visit, void *context)
{
	struct dwarf *dwarf = unit->dwarf;
	struct dwarf_walk walk = perch__dwarf_walk(dwarf, unit, unit->first);
	const struct abbreviation *abbreviation;
	struct dwarf_entry entry;
	int rc;

	if (!walk.cursor.at)
		return -ENOTSUP;
	walk.stops = KIND_INLINED;
	walk.goes = KIND_ALL;
	while (!(rc = perch__dwarf_next(&walk, &abbreviation)) && abbreviation) {
		const uint64_t at = (uint64_t)(walk.entry - dwarf->section[DWARF_INFO]->bytes);

		rc = perch__dwarf_entry(walk.table, abbreviation, &walk.cursor, &entry);
		if (!rc)
			rc = visit_copy(unit, &entry, at, visit, context);
		if (!rc)
			rc = perch__dwarf_pass(&walk, abbreviation, 0);
		if (rc)
			break;
	}
	return rc;
}

int perch__dwarf_visit_inlined(struct dwarf *dwarf, perch_inlined_visit *visit, void *context)
{
	int rc = 0;

	for (size_t i = 0; i < dwarf->nr_units && (!rc || rc == -ENOTSUP); i++) {
		struct dwarf_unit *unit = &dwarf->unit[i];

		rc = unit->not_understood ? -ENOTSUP : perch__dwarf_read_unit(dwarf, unit);
		if (!rc)
			rc = perch__dwarf_open_split(&unit);
		if (!rc && unit->first)
			rc = visit_unit(unit, visit, context);
	}
	return rc == -ENOTSUP ? 0 : rc; /* the other units have what they have */
}

int perch__dwarf_visit_line(struct dwarf *dwarf, struct line_search *search)
{
	int rc = 0;

	for (size_t i = 0; i < dwarf->nr_units && !rc; i++) {
		struct dwarf_unit *unit = &dwarf->unit[i];

		if (!unit->not_understood && !perch__dwarf_read_unit(dwarf, unit))
			rc = perch__dwarf_visit_unit_line(unit, search);
	}
	return rc;
}

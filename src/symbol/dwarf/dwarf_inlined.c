/* SPDX-License-Identifier: MIT */
/* Passes over all units: copies of inlined functions, and addresses of a line. */
#include <dwarf.h>

#include "dwarf.h"

struct lowest {
	uint64_t address;
	bool has;
};

static int take_lowest(void *context, uint64_t start, uint64_t end)
{
	struct lowest *lowest = context;

	(void)end;
	if (!lowest->has || start < lowest->address)
		lowest->address = start;
	lowest->has = true;
	return 0;
}

/* entry: of a copy, at the offset `at` of .debug_info */
static int visit_copy(struct dwarf_unit *unit, const struct dwarf_entry *entry, uint64_t at,
		      perch_inlined_visit *visit, void *context)
{
	struct lowest lowest = { 0 };
	const uint64_t origin = perch__dwarf_origin(unit, entry);
	const char *name = NULL;

	/* a copy that is damaged is left out */
	if (perch__dwarf_ranges(unit->dwarf, unit, entry, take_lowest, &lowest) || !lowest.has ||
	    perch__dwarf_name(unit, origin ? origin : at, &name) || !name)
		return 0;
	return visit(context, name, lowest.address);
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

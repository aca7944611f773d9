/* SPDX-License-Identifier: MIT */
/* Reads the entries that names of functions are made of. */
#include <dwarf.h>

#include "dwarf.h"

int perch__dwarf_entry_at(struct dwarf_unit *unit, uint64_t offset, struct dwarf_entry *entry,
			  unsigned *tag)
{
	const struct abbreviation *abbreviation;
	struct cursor cursor;

	if (perch__dwarf_read_unit(unit->dwarf, unit))
		return -ENOTSUP;
	cursor = perch__dwarf_cursor(unit->dwarf, unit, offset);
	if (!cursor.at)
		return -ENOTSUP;
	abbreviation = perch__abbreviation(unit->abbreviations, perch__read_uleb(&cursor));
	if (!abbreviation)
		return -ENOTSUP;
	*tag = abbreviation->tag;
	return perch__dwarf_entry(unit->abbreviations, abbreviation, &cursor, entry);
}

int perch__dwarf_refer(struct dwarf_unit *unit, const struct dwarf_entry *entry,
		       enum dwarf_attribute attribute, struct scope_key *key)
{
	if (!(entry->has >> attribute & 1))
		return 0;
	key->at = perch__dwarf_reference(unit, &entry->value[attribute]);
	if (!key->at)
		return -ENOTSUP;
	key->unit = key->at >= unit->offset && key->at < unit->end
			    ? unit
			    : perch__dwarf_unit_at(unit->dwarf, &key->at);
	return key->unit ? 0 : -ENOTSUP;
}

static int read_text(const struct dwarf_unit *unit, const struct dwarf_entry *entry,
		     enum dwarf_attribute attribute, const char **text)
{
	return entry->has >> attribute & 1
		       ? perch__dwarf_value_text(unit->dwarf, unit, &entry->value[attribute], text)
		       : 0;
}

static int describe_entry(void *context, struct scope_key key, struct scope_entry *result)
{
	struct dwarf_unit *unit = key.unit;
	struct dwarf_entry entry;
	int rc;

	(void)context;
	*result = (struct scope_entry){ 0 };
	rc = perch__dwarf_entry_at(unit, key.at, &entry, &result->tag);
	if (!rc)
		rc = read_text(unit, &entry, ATTRIBUTE_LINKAGE_NAME, &result->linkage_name);
	/* that of a type may be one that cannot be demangled */
	if (!rc && (!result->linkage_name || !perch__is_function(result->tag)))
		rc = read_text(unit, &entry, ATTRIBUTE_NAME, &result->name);
	if (!rc && !result->linkage_name)
		rc = perch__dwarf_refer(unit, &entry,
					entry.has >> ATTRIBUTE_ORIGIN & 1 ? ATTRIBUTE_ORIGIN
									  : ATTRIBUTE_SPECIFICATION,
					&result->declaration);
	return rc ? rc
		  : perch__dwarf_refer(unit, &entry, ATTRIBUTE_OBJECT_POINTER, &result->object);
}

static int position(void *context, struct scope_key key, struct scope_position *result)
{
	struct dwarf_unit *unit = key.unit;
	struct dwarf_entry entry;
	unsigned tag;
	uint64_t file;
	int rc = perch__dwarf_entry_at(unit, key.at, &entry, &tag);

	(void)context;
	if (rc || !perch__dwarf_number(&entry, ATTRIBUTE_DECL_FILE, &file))
		return rc;
	perch__dwarf_number(&entry, ATTRIBUTE_DECL_LINE, &result->line);
	perch__dwarf_number(&entry, ATTRIBUTE_DECL_COLUMN, &result->column);
	return perch__dwarf_file(unit, file, &result->file);
}

static int scopes_of(void *context, void *of, struct scopes **scopes)
{
	struct dwarf_unit *unit = of;

	(void)context;
	*scopes = &unit->scopes;
	return unit->scopes.nr
		       ? 0
		       : perch__scopes_add(*scopes, unit->offset + unit->header_size, unit->end);
}

static int list(void *context, void *of, struct scopes *scopes, uint64_t first, uint64_t end)
{
	struct dwarf_unit *unit = of;
	struct dwarf *dwarf = unit->dwarf;
	const uint8_t *info = dwarf->section[DWARF_INFO]->bytes;
	struct dwarf_walk walk = perch__dwarf_walk(dwarf, unit, first);
	const struct abbreviation *abbreviation;
	int rc;

	(void)context;
	if (!walk.cursor.at)
		return -ENOTSUP;
	walk.cursor.end = info + end;
	/* the scope itself */
	walk.stops = KIND_ALL;
	rc = perch__dwarf_next(&walk, &abbreviation);
	if (rc || !abbreviation)
		return rc;
	perch__dwarf_skip(walk.table, abbreviation, &walk.cursor);
	if (walk.cursor.failed)
		return -ENOTSUP;
	if (!abbreviation->has_children)
		return 0;
	walk.stops = KIND_SCOPE;
	while (!(rc = perch__dwarf_next(&walk, &abbreviation)) && abbreviation) {
		uint64_t at = (uint64_t)(walk.entry - info);

		rc = perch__dwarf_pass(&walk, abbreviation,
				       perch__dwarf_skip(walk.table, abbreviation, &walk.cursor));
		if (!rc && abbreviation->has_children)
			rc = perch__scopes_add(scopes, at, (uint64_t)(walk.cursor.at - info));
		if (rc)
			break;
	}
	return rc;
}

static unsigned language_of(void *context, void *of)
{
	const struct dwarf_unit *unit = of;

	(void)context;
	return unit->language <= UINT16_MAX ? (unsigned)unit->language : 0;
}

void perch__dwarf_names(struct dwarf *dwarf)
{
	static const struct scope_reader reader = { describe_entry, position, scopes_of, list,
						    language_of };

	dwarf->names.reader = &reader;
	dwarf->names.context = dwarf;
}

int perch__dwarf_name(struct dwarf_unit *unit, uint64_t entry, const char **name)
{
	struct scope_key key = { unit, entry };

	if (entry < unit->offset || entry >= unit->end)
		key.unit = unit = perch__dwarf_unit_at(unit->dwarf, &key.at);
	return unit ? perch__scope_name(&unit->dwarf->names, key, name) : -ENOTSUP;
}

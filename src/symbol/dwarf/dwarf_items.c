/* SPDX-License-Identifier: MIT */
/* Entries of variables and types. */
#include <dwarf.h>

#include "dwarf_items.h"

enum {
	MAX_LINKS = 32,	       /* types and copies that follow each other */
	MAX_ENTRIES = 1 << 20, /* that are read for an expression */
};

int perch__item_read(struct scope_key key, struct dwarf_item *item)
{
	item->unit = key.unit;
	item->at = key.at;
	return perch__dwarf_entry_at(item->unit, item->at, &item->entry, &item->tag);
}

/* Makes an item the one that an attribute refers to, or none. */
static int read_reference(struct dwarf_item *item, enum dwarf_attribute attribute)
{
	struct scope_key key = { 0 };
	int rc = perch__dwarf_refer(item->unit, &item->entry, attribute, &key);

	if (rc)
		return rc;
	if (key.unit)
		return perch__item_read(key, item);
	item->unit = NULL;
	return 0;
}

int perch__item_find_with(struct dwarf_item *item, enum dwarf_attribute attribute)
{
	for (int i = 0; i < MAX_LINKS && item->unit && !perch__item_has(item, attribute); i++) {
		int rc = read_reference(item, perch__item_has(item, ATTRIBUTE_ORIGIN)
						      ? ATTRIBUTE_ORIGIN
						      : ATTRIBUTE_SPECIFICATION);

		if (rc)
			return rc;
	}
	return 0;
}

int perch__item_name(const struct dwarf_item *item, const char **name)
{
	struct dwarf_item named = *item;
	int rc = perch__item_find_with(&named, ATTRIBUTE_NAME);

	*name = NULL;
	if (rc || !named.unit || !perch__item_has(&named, ATTRIBUTE_NAME))
		return rc;
	return perch__dwarf_value_text(named.unit->dwarf, named.unit,
				       &named.entry.value[ATTRIBUTE_NAME], name);
}

/* ---- children ---- */

int perch__item_begin(struct dwarf_children *children, struct dwarf_unit *unit, uint64_t at,
		      size_t *entries)
{
	const struct abbreviation *abbreviation;
	int rc;

	children->unit = unit;
	children->entries = entries;
	children->walk = perch__dwarf_walk(unit->dwarf, unit, at);
	if (!children->walk.cursor.at)
		return -ENOTSUP;
	children->walk.stops = KIND_ALL;
	rc = perch__dwarf_next(&children->walk, &abbreviation);
	if (rc || !abbreviation)
		return rc ? rc : -ENOTSUP;
	perch__dwarf_skip(children->walk.table, abbreviation, &children->walk.cursor);
	if (!abbreviation->has_children)
		children->walk.depth = 0;
	return children->walk.cursor.failed ? -ENOTSUP : 0;
}

int perch__item_next(struct dwarf_children *children, struct dwarf_item *child)
{
	struct dwarf_walk *walk = &children->walk;
	const struct abbreviation *abbreviation;
	int rc = perch__dwarf_next(walk, &abbreviation);

	if (rc || !abbreviation)
		return rc;
	if (++*children->entries > MAX_ENTRIES)
		return -ENOTSUP;
	child->unit = children->unit;
	child->at = (uint64_t)(walk->entry - children->unit->dwarf->section[DWARF_INFO]->bytes);
	child->tag = abbreviation->tag;
	rc = perch__dwarf_entry(walk->table, abbreviation, &walk->cursor, &child->entry);
	if (!rc)
		rc = perch__dwarf_pass(walk, abbreviation, perch__dwarf_sibling(&child->entry));
	return rc ? rc : 1;
}

/* ---- types ---- */

int perch__item_type(struct dwarf_item *item)
{
	int rc = perch__item_find_with(item, ATTRIBUTE_TYPE);

	for (int i = 0; i < MAX_LINKS && !rc && item->unit; i++) {
		rc = read_reference(item, ATTRIBUTE_TYPE);
		if (rc || !item->unit)
			return rc;
		switch (item->tag) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
		case DW_TAG_immutable_type:
			break;
		default:
			return 0;
		}
	}
	return rc ? rc : item->unit ? -ENOTSUP : 0;
}

uint64_t perch__item_size(const struct dwarf_item *type)
{
	uint64_t size = 0;

	if (type->unit && !perch__dwarf_number(&type->entry, ATTRIBUTE_BYTE_SIZE, &size) &&
	    perch__item_is_pointer(type))
		size = type->unit->format.address_size;
	return size;
}

bool perch__item_is_char(const struct dwarf_item *type)
{
	const char *name;

	return type->unit && type->tag == DW_TAG_base_type && !perch__item_name(type, &name) &&
	       name && !strcmp(name, "char");
}

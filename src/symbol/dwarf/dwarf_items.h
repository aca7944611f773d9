/* SPDX-License-Identifier: MIT */
/* Entries of variables and types, for dwarf_variables.c. Integers are 0 or a negative errno, if
 * nothing else is said. */
#ifndef PERCH_SYMBOL_DWARF_ITEMS_H
#define PERCH_SYMBOL_DWARF_ITEMS_H

#include <dwarf.h>

#include "dwarf.h"

/* An entry with its attributes. unit: NULL if there is none, as the type void. */
struct dwarf_item {
	struct dwarf_unit *unit;
	uint64_t at;
	unsigned tag;
	struct dwarf_entry entry;
};

static inline bool perch__item_has(const struct dwarf_item *item, enum dwarf_attribute attribute)
{
	return item->entry.has >> attribute & 1;
}

int perch__item_read(struct scope_key key, struct dwarf_item *item);
/* Makes an item the one that has an attribute: itself, or what it is a copy of. */
int perch__item_find_with(struct dwarf_item *item, enum dwarf_attribute attribute);
/* *name is NULL if it has none. */
int perch__item_name(const struct dwarf_item *item, const char **name);

struct dwarf_children {
	struct dwarf_unit *unit;
	struct dwarf_walk walk;
	size_t *entries; /* read so far for an expression, which is limited */
};

/* Begins with the first child of an entry. */
int perch__item_begin(struct dwarf_children *children, struct dwarf_unit *unit, uint64_t at,
		      size_t *entries);
/* Returns 1 for a child, 0 at the end, or a negative errno. */
int perch__item_next(struct dwarf_children *children, struct dwarf_item *child);

/* Makes an item its type, without names and qualifiers of types. */
int perch__item_type(struct dwarf_item *item);
/* Bytes of a value of the type; 0 if unknown. */
uint64_t perch__item_size(const struct dwarf_item *type);
bool perch__item_is_char(const struct dwarf_item *type);

static inline bool perch__item_is_pointer(const struct dwarf_item *type)
{
	return type->unit &&
	       (type->tag == DW_TAG_pointer_type || type->tag == DW_TAG_reference_type ||
		type->tag == DW_TAG_rvalue_reference_type);
}

static inline bool perch__item_is_record(const struct dwarf_item *type)
{
	return type->unit && (type->tag == DW_TAG_structure_type ||
			      type->tag == DW_TAG_class_type || type->tag == DW_TAG_union_type);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Reads by libdw the entries that names of functions are made of. The key of an entry is the
 * address of its bytes.
 */
#include <stdlib.h>

#include <dwarf.h>

#include "libdw_frames.h"

struct unit_scopes {
	Dwarf_CU *unit;
	struct scopes *scopes;
};

bool libdw_next_entry(Dwarf_Die *die)
{
	Dwarf_Die next;

	/* an entry that refers back to an earlier one would not end */
	if (dwarf_siblingof(die, &next) || next.addr <= die->addr)
		return false;
	*die = next;
	return true;
}

static Dwarf_Die die_of(struct scope_key key)
{
	return (Dwarf_Die){ .addr = (void *)(uintptr_t)key.at, .cu = key.unit };
}

static struct scope_key key_of(const Dwarf_Die *die)
{
	return (struct scope_key){ die->cu, (uintptr_t)die->addr };
}

const char *libdw_text(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

/* Finds the entry that an attribute refers to. Returns false if there is none. */
static bool find_reference(Dwarf_Die *die, unsigned name, struct scope_key *key)
{
	Dwarf_Attribute attribute;
	Dwarf_Die found;

	if (!dwarf_attr(die, name, &attribute) || !dwarf_formref_die(&attribute, &found))
		return false;
	*key = key_of(&found);
	return true;
}

static int describe(void *context, struct scope_key key, struct scope_entry *entry)
{
	Dwarf_Die die = die_of(key);

	(void)context;
	*entry = (struct scope_entry){ 0 };
	entry->tag = (unsigned)dwarf_tag(&die);
	entry->name = libdw_text(&die, DW_AT_name);
	entry->linkage_name = libdw_text(&die, DW_AT_linkage_name);
	if (!entry->linkage_name)
		entry->linkage_name = libdw_text(&die, DW_AT_MIPS_linkage_name);
	if (!find_reference(&die, DW_AT_abstract_origin, &entry->declaration) &&
	    !find_reference(&die, DW_AT_specification, &entry->declaration))
		find_reference(&die, DW_AT_extension, &entry->declaration);
	find_reference(&die, DW_AT_object_pointer, &entry->object);
	return 0;
}

static void read_number(Dwarf_Die *die, unsigned name, uint64_t *number)
{
	Dwarf_Attribute attribute;
	Dwarf_Word word;

	if (dwarf_attr(die, name, &attribute) && !dwarf_formudata(&attribute, &word))
		*number = word;
}

static int position(void *context, struct scope_key key, struct scope_position *position)
{
	uint64_t file = UINT64_MAX;
	Dwarf_Die die = die_of(key), unit;
	Dwarf_Files *files;
	size_t nr;

	(void)context;
	read_number(&die, DW_AT_decl_file, &file);
	read_number(&die, DW_AT_decl_line, &position->line);
	read_number(&die, DW_AT_decl_column, &position->column);
	if (dwarf_diecu(&die, &unit, NULL, NULL) && !dwarf_getsrcfiles(&unit, &files, &nr) &&
	    file < nr)
		position->file = dwarf_filesrc(files, file, NULL, NULL);
	if (position->file && !strcmp(position->file, "???")) /* file 0, before DWARF 5 */
		position->file = NULL;
	return 0;
}

static bool same_unit(const void *items, uint32_t index, const void *key)
{
	return ((const struct unit_scopes *)items)[index].unit == key;
}

static int scopes_of(void *context, void *unit, struct scopes **scopes)
{
	struct libdw *info = context;
	uint64_t hash = perch__hash_integer(info->names.by_entry.seed, (uintptr_t)unit);
	uint32_t index =
		perch__hash_find(&info->scopes_by_unit, hash, same_unit, info->scopes, unit);
	Dwarf_Die die = { .cu = unit }, first;

	if (index != PERCH__HASH_NONE) {
		*scopes = info->scopes[index].scopes;
		return 0;
	}
	if (!dwarf_diecu(&die, &first, NULL, NULL))
		return -ENOTSUP;
	if (PERCH__ARRAY_RESERVE(info->scopes, info->scopes_capacity, info->nr_scopes + 1) ||
	    perch__hash_reserve(&info->scopes_by_unit, info->nr_scopes + 1) ||
	    !(*scopes = perch__calloc(1, sizeof(**scopes))))
		return -ENOMEM;
	if (perch__scopes_add(*scopes, (uintptr_t)first.addr, UINT64_MAX)) {
		free(*scopes);
		return -ENOMEM;
	}
	info->scopes[info->nr_scopes] = (struct unit_scopes){ unit, *scopes };
	perch__hash_add(&info->scopes_by_unit, hash, (uint32_t)info->nr_scopes++);
	return 0;
}

static int list(void *context, void *unit, struct scopes *scopes, uint64_t start, uint64_t end)
{
	Dwarf_Die around = die_of((struct scope_key){ unit, start }), die, at;
	int rc = 0;
	bool more;

	(void)context;
	if (dwarf_child(&around, &die))
		return 0;
	do {
		at = die;
		more = libdw_next_entry(&die);
		if (perch__is_scope((unsigned)dwarf_tag(&at)) && dwarf_haschildren(&at) > 0)
			rc = perch__scopes_add(
				scopes, (uintptr_t)at.addr,
				more && (uintptr_t)die.addr < end ? (uintptr_t)die.addr : end);
	} while (!rc && more && (uintptr_t)die.addr < end);
	return rc;
}

static unsigned language_of(void *context, void *unit)
{
	Dwarf_Die die = { .cu = unit }, first;
	uint64_t language = 0;

	(void)context;
	if (dwarf_diecu(&die, &first, NULL, NULL))
		read_number(&first, DW_AT_language, &language);
	return language <= UINT16_MAX ? (unsigned)language : 0;
}

const char *libdw_name(struct libdw *info, Dwarf_Die *die)
{
	static const struct scope_reader reader = { describe, position, scopes_of, list,
						    language_of };
	struct scope_entry entry;
	struct scope_key key = key_of(die);
	const char *name;

	info->names.reader = &reader;
	info->names.context = info;
	/* the inlined copies of a function have one name */
	describe(info, key, &entry);
	if (!entry.name && !entry.linkage_name && entry.declaration.unit)
		key = entry.declaration;
	perch__scope_name(&info->names, key, &name);
	return name;
}

void libdw_free_names(struct libdw *info)
{
	perch__scope_names_free(&info->names);
	for (size_t i = 0; i < info->nr_scopes; i++) {
		free(info->scopes[i].scopes->scope);
		free(info->scopes[i].scopes);
	}
	free(info->scopes);
	perch__hash_clear(&info->scopes_by_unit);
}

/* SPDX-License-Identifier: MIT */
/* Attributes of an entry, and what their values refer to: texts, addresses and address ranges. */
#include <stdlib.h>

#include <dwarf.h>

#include "dwarf.h"

enum {
	MAX_RANGE_STEPS = 1 << 24, /* entries of range lists that are read for a unit */
	LONGEST_RANGE = 32,	   /* bytes of an entry */
	RANGE_BYTES = 1 << 10,
};

/* ---- attributes ---- */

bool perch__dwarf_value(struct cursor *cursor, const struct dwarf_spec *spec,
			struct dwarf_value *value)
{
	const struct dwarf_step *step = &spec->step;

	value->form = spec->form;
	if (spec->form == DW_FORM_implicit_const) {
		value->number = (uint64_t)spec->constant;
	} else if (step->skip == SKIP_TEXT) {
		value->text = perch__read_text(cursor);
		return value->text;
	} else if (spec->form == DW_FORM_sdata) {
		value->number = (uint64_t)perch__read_sleb(cursor);
	} else if (step->skip == SKIP_LEB) {
		value->number = perch__read_uleb(cursor);
	} else if (!step->skip && step->bytes <= sizeof(value->number)) {
		value->number = perch__read(cursor, step->bytes);
	} else if (step->skip == SKIP_BLOCK) {
		value->block = cursor->at;
		perch__dwarf_step(cursor, step);
	} else { /* only a reference to the sibling is understood */
		value->number = perch__dwarf_step(cursor, step);
	}
	return true;
}

/* first, nr: in the table */
static int read_attributes(const struct abbreviations *table, uint32_t first, uint32_t nr,
			   struct cursor *cursor, struct dwarf_entry *entry)
{
	entry->has = 0;
	for (uint32_t i = 0; i < nr; i++) {
		const struct dwarf_spec *spec = &table->spec[first + i];

		perch__skip(cursor, spec->bytes);
		if (!spec->form)
			continue;
		if (!spec->wanted || entry->has >> spec->wanted & 1) {
			perch__dwarf_step(cursor, &spec->step);
			continue;
		}
		if (!perch__dwarf_value(cursor, spec, &entry->value[spec->wanted]))
			return -ENOTSUP;
		entry->has |= 1ull << spec->wanted;
	}
	return cursor->failed ? -ENOTSUP : 0;
}

int perch__dwarf_entry(const struct abbreviations *table, const struct abbreviation *abbreviation,
		       struct cursor *cursor, struct dwarf_entry *entry)
{
	return read_attributes(table, abbreviation->spec, abbreviation->nr_specs, cursor, entry);
}

int perch__dwarf_addresses(const struct abbreviations *table,
			   const struct abbreviation *abbreviation, struct cursor *cursor,
			   struct dwarf_entry *entry)
{
	return read_attributes(table, abbreviation->address, abbreviation->nr_addresses, cursor,
			       entry);
}

uint64_t perch__dwarf_sibling(const struct dwarf_entry *entry)
{
	const struct dwarf_value *value = &entry->value[ATTRIBUTE_SIBLING];

	return entry->has >> ATTRIBUTE_SIBLING & 1 && perch__is_reference(value->form)
		       ? value->number
		       : 0;
}

bool perch__dwarf_number(const struct dwarf_entry *entry, enum dwarf_attribute attribute,
			 uint64_t *number)
{
	const struct dwarf_value *value = &entry->value[attribute];

	if (!(entry->has >> attribute & 1))
		return false;
	switch (value->form) {
	case DW_FORM_data1:
	case DW_FORM_data2:
	case DW_FORM_data4:
	case DW_FORM_data8:
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_implicit_const:
	case DW_FORM_sec_offset:
		*number = value->number;
		return true;
	default:
		return false;
	}
}

struct cursor perch__dwarf_block(const struct dwarf_unit *unit, const struct dwarf_value *value)
{
	const struct dwarf_section *info = unit->dwarf->section[DWARF_INFO];
	struct cursor cursor = { NULL, NULL, unit->dwarf->swapped, false };
	struct dwarf_spec spec = { 0 };
	uint64_t size;

	if (!perch__dwarf_form(&spec, value->form, unit->format) || spec.step.skip != SKIP_BLOCK)
		return cursor;
	cursor.at = value->block;
	cursor.end = info->bytes + unit->end;
	size = spec.step.size ? perch__read(&cursor, spec.step.size) : perch__read_uleb(&cursor);
	if (cursor.failed || size > (uint64_t)(cursor.end - cursor.at))
		cursor.at = NULL;
	cursor.end = cursor.at ? cursor.at + size : NULL;
	return cursor;
}

uint64_t perch__dwarf_reference(const struct dwarf_unit *unit, const struct dwarf_value *value)
{
	if (perch__is_reference(value->form))
		return unit->offset + value->number;
	switch (value->form) {
	case DW_FORM_ref_addr:
		return value->number;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_ref_sup4:
	case DW_FORM_ref_sup8:
		return value->number | IN_ALTERNATIVE;
	default:
		return 0;
	}
}

uint64_t perch__dwarf_origin(const struct dwarf_unit *unit, const struct dwarf_entry *entry)
{
	enum dwarf_attribute next = entry->has >> ATTRIBUTE_ORIGIN & 1 ? ATTRIBUTE_ORIGIN
								       : ATTRIBUTE_SPECIFICATION;

	if (entry->has & (1ull << ATTRIBUTE_NAME | 1ull << ATTRIBUTE_LINKAGE_NAME) ||
	    !(entry->has >> next & 1))
		return 0;
	return perch__dwarf_reference(unit, &entry->value[next]);
}

/* ---- texts and addresses ---- */

/* Reads a number in a table of offsets or addresses. */
static int read_indexed(struct dwarf *dwarf, enum dwarf_section_id id, uint64_t base,
			uint64_t index, unsigned size, uint64_t *number)
{
	struct cursor cursor = { .swapped = dwarf->swapped };

	if (index > UINT32_MAX || base > SIZE_MAX / 2)
		return -ENOTSUP;
	cursor.at = perch__dwarf_bytes(dwarf->section[id], base + index * size, size);
	if (!cursor.at)
		return -ENOTSUP;
	cursor.end = cursor.at + size;
	*number = perch__read(&cursor, size);
	return 0;
}

int perch__dwarf_value_text(struct dwarf *dwarf, const struct dwarf_unit *unit,
			    const struct dwarf_value *value, const char **text)
{
	const struct dwarf *shared = dwarf->alternative;
	uint64_t offset = value->number;

	switch (value->form) {
	case DW_FORM_string:
		*text = value->text;
		return 0;
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_strp_sup:
		*text = shared ? perch__dwarf_text(shared->section[DWARF_STR], offset) : NULL;
		return *text ? 0 : -ENOTSUP;
	case DW_FORM_strp:
		*text = perch__dwarf_text(dwarf->section[DWARF_STR], offset);
		return *text ? 0 : -ENOTSUP;
	case DW_FORM_line_strp:
		*text = perch__dwarf_text(dwarf->section[DWARF_LINE_STR], offset);
		return *text ? 0 : -ENOTSUP;
	case DW_FORM_strx:
	case DW_FORM_strx1:
	case DW_FORM_strx2:
	case DW_FORM_strx3:
	case DW_FORM_strx4:
	case DW_FORM_GNU_str_index:
		if (read_indexed(dwarf, DWARF_STR_OFFSETS, unit->str_offsets_base, value->number,
				 unit->format.offset_size, &offset))
			return -ENOTSUP;
		*text = perch__dwarf_text(dwarf->section[DWARF_STR], offset);
		return *text ? 0 : -ENOTSUP;
	default:
		*text = NULL;
		return -ENOTSUP;
	}
}

int perch__dwarf_address(struct dwarf *dwarf, const struct dwarf_unit *unit,
			 const struct dwarf_value *value, uint64_t *address)
{
	switch (value->form) {
	case DW_FORM_addr:
		*address = value->number;
		return 0;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return read_indexed(dwarf, DWARF_ADDR, unit->addr_base, value->number,
				    unit->format.address_size, address);
	default:
		return -ENOTSUP;
	}
}

/* ---- ranges ---- */

/* A range list that is read. */
struct list {
	struct dwarf *dwarf;
	struct dwarf_unit *unit;
	struct dwarf_section *section;
	struct cursor cursor;
	uint64_t base;
	dwarf_range_function *function;
	void *context;
};

static int add_range(struct list *list, uint64_t start, uint64_t end)
{
	return start < end ? list->function(list->context, start, end) : 0;
}

/*
 * A range has at least one byte, and a list is read up to four times: for the unit, twice for the
 * functions, and once for inlined functions. More steps show that many entries have one list.
 */
static uint64_t most_range_steps(const struct dwarf *dwarf)
{
	return 4 * ((uint64_t)dwarf->section[DWARF_RANGES]->size +
		    dwarf->section[DWARF_RNGLISTS]->size) +
	       MAX_RANGE_STEPS;
}

/*
 * A list has no size: before each of its entries, makes some more bytes available. Returns false at
 * the limit of entries.
 */
static bool prepare_range(struct list *list)
{
	struct dwarf_section *section = list->section;
	uint64_t offset = (uint64_t)(list->cursor.at - section->bytes),
		 size = section->size - offset;

	if (++list->unit->nr_range_steps > MAX_RANGE_STEPS ||
	    ++list->dwarf->nr_range_steps > most_range_steps(list->dwarf))
		return false;
	if (list->cursor.end - list->cursor.at < LONGEST_RANGE) {
		size = size < RANGE_BYTES ? size : RANGE_BYTES;
		if (!perch__dwarf_bytes(section, offset, size))
			return false;
		list->cursor.end = list->cursor.at + size;
	}
	return true;
}

/* DWARF 2 to 4: .debug_ranges */
static int read_pairs(struct list *list)
{
	unsigned size = list->unit->format.address_size;
	uint64_t largest = size == 8 ? UINT64_MAX : UINT32_MAX;
	int rc = 0;

	while (!rc) {
		uint64_t start, end;

		if (!prepare_range(list))
			return -ENOTSUP;
		start = perch__read(&list->cursor, size);
		end = perch__read(&list->cursor, size);
		if (list->cursor.failed)
			return -ENOTSUP;
		if (!start && !end)
			return 0;
		if (start == largest)
			list->base = end;
		else
			rc = add_range(list, list->base + start, list->base + end);
	}
	return rc;
}

static int read_index(struct list *list, uint64_t *address)
{
	struct dwarf_value value = { DW_FORM_addrx, { perch__read_uleb(&list->cursor) } };

	return perch__dwarf_address(list->dwarf, list->unit, &value, address);
}

/* DWARF 5: one entry of .debug_rnglists. Returns 1 at the end of the list. */
static int read_range(struct list *list)
{
	unsigned size = list->unit->format.address_size;
	struct cursor *cursor = &list->cursor;
	uint64_t start, end;

	switch (perch__read(cursor, 1)) {
	case DW_RLE_end_of_list:
		return cursor->failed ? -ENOTSUP : 1;
	case DW_RLE_base_addressx:
		return read_index(list, &list->base);
	case DW_RLE_startx_endx:
		if (read_index(list, &start) || read_index(list, &end))
			return -ENOTSUP;
		break;
	case DW_RLE_startx_length:
		if (read_index(list, &start))
			return -ENOTSUP;
		end = start + perch__read_uleb(cursor);
		break;
	case DW_RLE_offset_pair:
		start = list->base + perch__read_uleb(cursor);
		end = list->base + perch__read_uleb(cursor);
		break;
	case DW_RLE_base_address:
		list->base = perch__read(cursor, size);
		return 0;
	case DW_RLE_start_end:
		start = perch__read(cursor, size);
		end = perch__read(cursor, size);
		break;
	case DW_RLE_start_length:
		start = perch__read(cursor, size);
		end = start + perch__read_uleb(cursor);
		break;
	default:
		return -ENOTSUP;
	}
	return cursor->failed ? -ENOTSUP : add_range(list, start, end);
}

static int read_ranges(struct list *list)
{
	int rc = 0;

	while (!rc)
		rc = prepare_range(list) ? read_range(list) : -ENOTSUP;
	return rc == 1 ? 0 : rc;
}

static int read_list(struct list *list, const struct dwarf_value *value)
{
	bool pairs = list->unit->format.version < 5;
	struct dwarf_section *section = list->dwarf->section[pairs ? DWARF_RANGES : DWARF_RNGLISTS];
	uint64_t offset = value->number;

	switch (value->form) {
	case DW_FORM_sec_offset:
	case DW_FORM_data4:
	case DW_FORM_data8:
		/* of a split unit, in that of the program */
		offset += pairs ? list->unit->ranges_base : list->unit->rnglists_start;
		break;
	case DW_FORM_rnglistx:
		if (read_indexed(list->dwarf, DWARF_RNGLISTS, list->unit->rnglists_base, offset,
				 list->unit->format.offset_size, &offset))
			return -ENOTSUP;
		offset += list->unit->rnglists_base;
		break;
	default:
		return -ENOTSUP;
	}
	list->section = section;
	list->cursor.at = list->cursor.end = perch__dwarf_bytes(section, offset, 0);
	if (!list->cursor.at)
		return -ENOTSUP;
	return pairs ? read_pairs(list) : read_ranges(list);
}

int perch__dwarf_ranges(struct dwarf *dwarf, struct dwarf_unit *unit,
			const struct dwarf_entry *entry, dwarf_range_function *function,
			void *context)
{
	struct list list = { .dwarf = dwarf,
			     .unit = unit,
			     .cursor = { .swapped = dwarf->swapped },
			     .base = unit->low_pc,
			     .function = function,
			     .context = context };
	const struct dwarf_value *high = &entry->value[ATTRIBUTE_HIGH_PC];
	uint64_t start, end;

	if ((entry->has >> ATTRIBUTE_HIGH_PC & 1) && (entry->has >> ATTRIBUTE_LOW_PC & 1)) {
		if (perch__dwarf_address(dwarf, unit, &entry->value[ATTRIBUTE_LOW_PC], &start))
			return -ENOTSUP;
		if (perch__dwarf_number(entry, ATTRIBUTE_HIGH_PC, &end))
			end += start;
		else if (perch__dwarf_address(dwarf, unit, high, &end))
			return -ENOTSUP;
		return add_range(&list, start, end);
	}
	if (entry->has >> ATTRIBUTE_RANGES & 1)
		return read_list(&list, &entry->value[ATTRIBUTE_RANGES]);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Abbreviation tables. A table is decoded once. Each abbreviation has its attributes and, for
 * entries that are skipped, steps: attributes of a fixed size are one sum of bytes.
 */
#include <stdlib.h>

#include <dwarf.h>

#include "dwarf.h"

enum {
	MAX_CODES = 1 << 20,
	MAX_SPECS = 1 << 22,
	MAX_ATTRIBUTES = 1 << 12, /* of an abbreviation */
	FIRST_BYTES = 1 << 13,
};
#define MOST_SEARCHED (1ull << 31) /* bytes of tables, for the first entries of all units */

static enum dwarf_attribute attribute_of(uint64_t name)
{
	switch (name) {
	case DW_AT_sibling:
		return ATTRIBUTE_SIBLING;
	case DW_AT_low_pc:
		return ATTRIBUTE_LOW_PC;
	case DW_AT_entry_pc:
		return ATTRIBUTE_ENTRY_PC;
	case DW_AT_high_pc:
		return ATTRIBUTE_HIGH_PC;
	case DW_AT_ranges:
		return ATTRIBUTE_RANGES;
	case DW_AT_name:
		return ATTRIBUTE_NAME;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		return ATTRIBUTE_LINKAGE_NAME;
	case DW_AT_abstract_origin:
		return ATTRIBUTE_ORIGIN;
	case DW_AT_specification:
	case DW_AT_extension: /* of a namespace */
		return ATTRIBUTE_SPECIFICATION;
	case DW_AT_call_file:
		return ATTRIBUTE_CALL_FILE;
	case DW_AT_call_line:
		return ATTRIBUTE_CALL_LINE;
	case DW_AT_stmt_list:
		return ATTRIBUTE_STMT_LIST;
	case DW_AT_comp_dir:
		return ATTRIBUTE_COMP_DIR;
	case DW_AT_producer:
		return ATTRIBUTE_PRODUCER;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		return ATTRIBUTE_DWO_NAME;
	case DW_AT_str_offsets_base:
		return ATTRIBUTE_STR_OFFSETS_BASE;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		return ATTRIBUTE_ADDR_BASE;
	case DW_AT_GNU_ranges_base:
		return ATTRIBUTE_RANGES_BASE;
	case DW_AT_GNU_dwo_id:
		return ATTRIBUTE_DWO_ID;
	case DW_AT_rnglists_base:
		return ATTRIBUTE_RNGLISTS_BASE;
	case DW_AT_language:
		return ATTRIBUTE_LANGUAGE;
	case DW_AT_decl_file:
		return ATTRIBUTE_DECL_FILE;
	case DW_AT_decl_line:
		return ATTRIBUTE_DECL_LINE;
	case DW_AT_decl_column:
		return ATTRIBUTE_DECL_COLUMN;
	case DW_AT_object_pointer:
		return ATTRIBUTE_OBJECT_POINTER;
	case DW_AT_type:
		return ATTRIBUTE_TYPE;
	case DW_AT_location:
		return ATTRIBUTE_LOCATION;
	case DW_AT_frame_base:
		return ATTRIBUTE_FRAME_BASE;
	case DW_AT_const_value:
		return ATTRIBUTE_CONST_VALUE;
	case DW_AT_byte_size:
		return ATTRIBUTE_BYTE_SIZE;
	case DW_AT_encoding:
		return ATTRIBUTE_ENCODING;
	case DW_AT_data_member_location:
		return ATTRIBUTE_MEMBER_OFFSET;
	case DW_AT_bit_size:
		return ATTRIBUTE_BIT_SIZE;
	case DW_AT_data_bit_offset:
		return ATTRIBUTE_BIT_OFFSET;
	case DW_AT_declaration:
		return ATTRIBUTE_DECLARATION;
	case DW_AT_loclists_base:
		return ATTRIBUTE_LOCLISTS_BASE;
	default:
		return ATTRIBUTE_NONE;
	}
}

/* Sizes that are not the same in all units, in place of the bytes of a form. */
enum {
	OF_ADDRESS = 100,
	OF_OFFSET,
	OF_REFERENCE, /* DW_FORM_ref_addr: of an address in DWARF 2, and then of an offset */
	OF_NOTHING,   /* 0, because forms of 0 bytes are not known */
};

static const struct dwarf_step of_form[] = {
	[DW_FORM_addr] = { .bytes = OF_ADDRESS },
	[DW_FORM_data1] = { .bytes = 1 },
	[DW_FORM_ref1] = { .bytes = 1 },
	[DW_FORM_flag] = { .bytes = 1 },
	[DW_FORM_strx1] = { .bytes = 1 },
	[DW_FORM_addrx1] = { .bytes = 1 },
	[DW_FORM_data2] = { .bytes = 2 },
	[DW_FORM_ref2] = { .bytes = 2 },
	[DW_FORM_strx2] = { .bytes = 2 },
	[DW_FORM_addrx2] = { .bytes = 2 },
	[DW_FORM_strx3] = { .bytes = 3 },
	[DW_FORM_addrx3] = { .bytes = 3 },
	[DW_FORM_data4] = { .bytes = 4 },
	[DW_FORM_ref4] = { .bytes = 4 },
	[DW_FORM_strx4] = { .bytes = 4 },
	[DW_FORM_addrx4] = { .bytes = 4 },
	[DW_FORM_ref_sup4] = { .bytes = 4 },
	[DW_FORM_data8] = { .bytes = 8 },
	[DW_FORM_ref8] = { .bytes = 8 },
	[DW_FORM_ref_sig8] = { .bytes = 8 },
	[DW_FORM_ref_sup8] = { .bytes = 8 },
	[DW_FORM_data16] = { .bytes = 16 },
	[DW_FORM_ref_addr] = { .bytes = OF_REFERENCE },
	[DW_FORM_strp] = { .bytes = OF_OFFSET },
	[DW_FORM_line_strp] = { .bytes = OF_OFFSET },
	[DW_FORM_sec_offset] = { .bytes = OF_OFFSET },
	[DW_FORM_strp_sup] = { .bytes = OF_OFFSET },
	[DW_FORM_flag_present] = { .bytes = OF_NOTHING },
	[DW_FORM_implicit_const] = { .bytes = OF_NOTHING },
	[DW_FORM_string] = { .skip = SKIP_TEXT },
	[DW_FORM_block] = { .skip = SKIP_BLOCK },
	[DW_FORM_block1] = { .skip = SKIP_BLOCK, .size = 1 },
	[DW_FORM_block2] = { .skip = SKIP_BLOCK, .size = 2 },
	[DW_FORM_block4] = { .skip = SKIP_BLOCK, .size = 4 },
	[DW_FORM_exprloc] = { .skip = SKIP_BLOCK },
	[DW_FORM_sdata] = { .skip = SKIP_LEB },
	[DW_FORM_udata] = { .skip = SKIP_LEB },
	[DW_FORM_ref_udata] = { .skip = SKIP_LEB },
	[DW_FORM_strx] = { .skip = SKIP_LEB },
	[DW_FORM_addrx] = { .skip = SKIP_LEB },
	[DW_FORM_loclistx] = { .skip = SKIP_LEB },
	[DW_FORM_rnglistx] = { .skip = SKIP_LEB },
};

/* Returns the form of DWARF 5 that replaced one of GNU, with the same bytes. */
static uint64_t standard_form(uint64_t form)
{
	switch (form) {
	case DW_FORM_GNU_addr_index:
		return DW_FORM_addrx;
	case DW_FORM_GNU_str_index:
		return DW_FORM_strx;
	case DW_FORM_GNU_ref_alt:
	case DW_FORM_GNU_strp_alt:
		return DW_FORM_strp_sup;
	default:
		return form;
	}
}

bool perch__dwarf_form(struct dwarf_spec *spec, uint64_t form, struct dwarf_format format)
{
	struct dwarf_step *step = &spec->step;

	spec->form = (uint16_t)form;
	form = standard_form(form);
	*step = form < PERCH__NR(of_form) ? of_form[form] : (struct dwarf_step){ 0 };
	switch (step->bytes) {
	case OF_ADDRESS:
		step->bytes = format.address_size;
		break;
	case OF_OFFSET:
		step->bytes = format.offset_size;
		break;
	case OF_REFERENCE:
		step->bytes = format.version < 3 ? format.address_size : format.offset_size;
		break;
	case OF_NOTHING:
		step->bytes = 0;
		break;
	default:
		return step->bytes || step->skip;
	}
	return true;
}

bool perch__is_reference(unsigned form)
{
	return form == DW_FORM_ref1 || form == DW_FORM_ref2 || form == DW_FORM_ref4 ||
	       form == DW_FORM_ref8 || form == DW_FORM_ref_udata;
}

/* bytes: sum of the sizes since the last step */
static int add_step(struct abbreviations *table, unsigned *bytes, struct dwarf_step last)
{
	struct dwarf_step *step;

	step = PERCH__ARRAY_APPEND_MAX(table->step, table->nr_steps, table->steps_capacity,
				       MAX_SPECS);
	if (!step)
		return DWARF_APPEND_ERROR(table->nr_steps, MAX_SPECS);
	*step = last;
	step->bytes = (uint16_t)*bytes;
	*bytes = 0;
	return 0;
}

/* Sets the size of an entry and the place of its sibling, if its steps are as long in any entry. */
static void set_size(const struct abbreviations *table, struct abbreviation *abbreviation)
{
	size_t size = 0, sibling = 0;

	for (uint32_t i = 0; i < abbreviation->nr_steps; i++) {
		const struct dwarf_step *step = &table->step[abbreviation->step + i];

		size += step->bytes;
		if (step->skip == SKIP_NONE)
			continue;
		if (step->skip != SKIP_SIBLING || step->size != 4 || sibling || !size)
			return;
		sibling = size;
		size += 4;
	}
	if (size > UINT16_MAX)
		return;
	abbreviation->size = (uint16_t)size;
	abbreviation->sibling = (uint16_t)sibling;
}

/* Adds what skips all attributes. */
static int add_steps(struct abbreviations *table, struct abbreviation *abbreviation)
{
	unsigned bytes = 0;
	int rc = 0;

	abbreviation->step = (uint32_t)table->nr_steps;
	for (size_t i = abbreviation->spec; i < table->nr_specs && !rc; i++) {
		struct dwarf_step step = table->spec[i].step;

		bytes += step.bytes;
		if (step.skip || bytes > UINT16_MAX / 2)
			rc = add_step(table, &bytes, step);
	}
	if (bytes && !rc)
		rc = add_step(table, &bytes, (struct dwarf_step){ 0 });
	abbreviation->nr_steps = (uint32_t)(table->nr_steps - abbreviation->step);
	if (!rc)
		set_size(table, abbreviation);
	return rc;
}

/*
 * Merges attributes that are not wanted and have a fixed size. from: the first attribute; they are
 * moved to `to`. Returns their number.
 */
static uint32_t merge_specs(struct abbreviations *table, size_t from, size_t end, size_t to)
{
	size_t first = to;
	unsigned bytes = 0;

	for (; from < end; from++) {
		struct dwarf_spec spec = table->spec[from];

		if (!spec.wanted && !spec.step.skip) {
			bytes += spec.step.bytes;
			if (bytes <= UINT16_MAX / 2 && from + 1 < end)
				continue;
			if (!bytes)
				break;
			spec.form = 0;
		}
		spec.bytes = (uint16_t)(bytes);
		bytes = 0;
		table->spec[to++] = spec;
	}
	return (uint32_t)(to - first);
}

static bool is_of_addresses(unsigned attribute)
{
	return attribute == ATTRIBUTE_SIBLING || attribute == ATTRIBUTE_LOW_PC ||
	       attribute == ATTRIBUTE_HIGH_PC || attribute == ATTRIBUTE_RANGES;
}

/* Adds copies of the attributes, which decode addresses alone, and merges both. */
static int complete_specs(struct abbreviations *table, struct abbreviation *abbreviation)
{
	size_t first = abbreviation->spec, end = table->nr_specs;

	for (size_t i = first; i < end; i++) {
		struct dwarf_spec *spec = PERCH__ARRAY_APPEND_MAX(
			table->spec, table->nr_specs, table->specs_capacity, 2 * MAX_SPECS);

		if (!spec)
			return DWARF_APPEND_ERROR(table->nr_specs, 2 * MAX_SPECS);
		*spec = table->spec[i];
		if (!is_of_addresses(spec->wanted))
			spec->wanted = ATTRIBUTE_NONE;
	}
	abbreviation->nr_specs = merge_specs(table, first, end, first);
	abbreviation->address = abbreviation->spec + abbreviation->nr_specs;
	abbreviation->nr_addresses =
		merge_specs(table, end, table->nr_specs, abbreviation->address);
	table->nr_specs = abbreviation->address + abbreviation->nr_addresses;
	return 0;
}

static unsigned kind_of(const struct abbreviations *table, const struct abbreviation *abbreviation)
{
	unsigned kind = perch__is_scope(abbreviation->tag) ? KIND_SCOPE : KIND_OTHER;

	switch (abbreviation->tag) {
	case DW_TAG_subprogram:
		for (uint32_t i = 0; i < abbreviation->nr_addresses; i++) {
			unsigned attribute = table->spec[abbreviation->address + i].wanted;

			if (attribute == ATTRIBUTE_LOW_PC || attribute == ATTRIBUTE_RANGES)
				kind |= KIND_FUNCTION;
		}
		return kind;
	case DW_TAG_namespace:
	case DW_TAG_module:
		return kind | KIND_NAMESPACE;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return kind | KIND_BLOCK;
	case DW_TAG_inlined_subroutine:
		return kind | KIND_INLINED;
	default:
		return kind;
	}
}

/* Decodes an abbreviation. cursor: after its code. */
static int add_abbreviation(struct abbreviations *table, struct cursor *cursor,
			    struct abbreviation *abbreviation)
{
	uint64_t tag = perch__read_uleb(cursor);

	abbreviation->tag = tag && tag <= UINT16_MAX ? (uint16_t)tag : UINT16_MAX;
	abbreviation->has_children = perch__read(cursor, 1);
	abbreviation->spec = (uint32_t)table->nr_specs;
	for (int i = 0; i < MAX_ATTRIBUTES; i++) {
		uint64_t name = perch__read_uleb(cursor), form = perch__read_uleb(cursor);
		struct dwarf_spec *spec;

		if (cursor->failed)
			return -ENOTSUP;
		if (!name && !form) {
			int rc = add_steps(table, abbreviation);

			if (!rc)
				rc = complete_specs(table, abbreviation);
			abbreviation->kind = (uint8_t)kind_of(table, abbreviation);
			return rc;
		}
		spec = PERCH__ARRAY_APPEND_MAX(table->spec, table->nr_specs, table->specs_capacity,
					       MAX_SPECS);
		if (!spec)
			return DWARF_APPEND_ERROR(table->nr_specs, MAX_SPECS);
		/* also indirect forms: no compiler is known to use them here */
		if (!perch__dwarf_form(spec, form, table->format))
			return -ENOTSUP;
		spec->wanted = attribute_of(name);
		if (spec->wanted == ATTRIBUTE_SIBLING && perch__is_reference(spec->form))
			spec->step = (struct dwarf_step){ .skip = SKIP_SIBLING,
							  .size = (uint8_t)spec->step.bytes };
		if (form == DW_FORM_implicit_const)
			spec->constant = perch__read_sleb(cursor);
	}
	return -ENOTSUP;
}

/* Decodes a table from a cursor. Returns 0, -ENOMEM or -ENOTSUP. */
static int add_all(struct abbreviations *table, struct cursor *cursor)
{
	size_t capacity = 0, nr = 0;
	int rc = 0;

	while (!rc) {
		uint64_t code = perch__read_uleb(cursor);

		if (!code && !cursor->failed)
			return 0;
		/* codes are small and dense, else a few bytes would need much memory */
		if (cursor->failed || code > 2 * ++nr + 64 || code > MAX_CODES)
			return -ENOTSUP;
		if (PERCH__ARRAY_RESERVE_ZEROED(table->code, capacity, code + 1))
			return -ENOMEM;
		table->nr_codes = capacity;
		if (table->code[code].tag)
			return -ENOTSUP;
		rc = add_abbreviation(table, cursor, &table->code[code]);
	}
	return rc;
}

/* Finds an abbreviation, which becomes code[0]. */
static int add_one(struct abbreviations *table, struct cursor *cursor, uint64_t wanted)
{
	for (;;) {
		uint64_t code = perch__read_uleb(cursor), name, form;

		if (!code || cursor->failed)
			return -ENOTSUP;
		if (code == wanted)
			return add_abbreviation(table, cursor, table->code);
		perch__read_uleb(cursor);
		perch__skip(cursor, 1);
		do {
			name = perch__read_uleb(cursor);
			form = perch__read_uleb(cursor);
			if (form == DW_FORM_implicit_const)
				perch__read_sleb(cursor);
		} while ((name || form) && !cursor->failed);
	}
}

/* code: the wanted abbreviation, or 0 for all */
static int read_table(struct abbreviations *table, struct dwarf_section *section, uint64_t code)
{
	uint64_t left = table->offset < section->size ? section->size - table->offset : 0;

	/* a table has no size: begin with few bytes, and repeat with more if it is longer */
	for (uint64_t size = FIRST_BYTES;; size *= 8) {
		struct cursor cursor = { 0 };
		int rc;

		size = size < left ? size : left;
		cursor.at = perch__dwarf_bytes(section, table->offset, size);
		if (!cursor.at)
			return -ENOTSUP;
		cursor.end = cursor.at + size;
		table->nr_specs = table->nr_steps = 0;
		if (code) {
			const uint8_t *start = cursor.at;

			if (table->searched > MOST_SEARCHED)
				return -ENOTSUP;
			*table->code = (struct abbreviation){ 0 };
			rc = add_one(table, &cursor, code);
			table->searched += (uint64_t)(cursor.at - start);
		} else {
			free(table->code);
			table->code = NULL;
			table->nr_codes = 0;
			rc = add_all(table, &cursor);
		}
		if (!cursor.failed || size == left)
			return rc;
	}
}

int perch__abbreviations_read(struct abbreviations *table, struct dwarf_section *section,
			      uint64_t offset, struct dwarf_format format)
{
	table->offset = offset;
	table->format = format;
	return read_table(table, section, 0);
}

int perch__abbreviation_find(struct abbreviations *table, struct dwarf_section *section,
			     uint64_t offset, struct dwarf_format format, uint64_t code)
{
	table->offset = offset;
	table->format = format;
	if (!table->code) {
		table->code = perch__calloc(1, sizeof(*table->code));
		table->nr_codes = 1;
	}
	if (!table->code)
		return -ENOMEM;
	return code ? read_table(table, section, code) : -ENOTSUP;
}

void perch__abbreviations_clear(struct abbreviations *table)
{
	free(table->code);
	free(table->spec);
	free(table->step);
	*table = (struct abbreviations){ 0 };
}

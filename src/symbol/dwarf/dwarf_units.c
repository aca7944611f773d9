/* SPDX-License-Identifier: MIT */
/*
 * Units and their functions. The units are listed once: of each only the header and the first entry
 * are read. The functions of a unit are listed at the first address in it.
 */
#include <stdlib.h>

#include <dwarf.h>

#include "base/search.h"
#include "dwarf.h"

enum {
	MAX_UNITS = 1 << 24,	  /* also their ranges */
	MAX_FUNCTIONS = 1 << 20,  /* of a unit */
	MAX_OVERLAPS = 64,	  /* functions that are compared with an address */
	FIRST_BYTES = 1 << 10,	  /* that are read of a unit, in most cases enough */
	LONGEST_UNIT = INT32_MAX, /* bytes */
};

/* ---- units ---- */

bool perch__dwarf_header(struct dwarf_unit *unit, struct cursor *cursor, uint64_t left, int *type)
{
	const uint8_t *start = cursor->at;
	uint64_t length = perch__read_unit_length(cursor, &unit->format);

	left -= (uint64_t)(cursor->at - start);
	if (cursor->failed || length > left || length > LONGEST_UNIT)
		return false;
	unit->end = unit->offset + (uint64_t)(cursor->at - start) + length;
	if (!perch__read_version(cursor, &unit->format))
		return false;
	*type = DW_UT_compile;
	if (unit->format.version == 5) {
		*type = (int)perch__read(cursor, 1);
		unit->format.address_size = (uint8_t)perch__read(cursor, 1);
		unit->abbreviations_offset = perch__read(cursor, unit->format.offset_size);
	} else {
		unit->abbreviations_offset = perch__read(cursor, unit->format.offset_size);
		unit->format.address_size = (uint8_t)perch__read(cursor, 1);
	}
	if (*type == DW_UT_skeleton || *type == DW_UT_split_compile)
		unit->split_id = perch__read(cursor, 8);
	if (*type == DW_UT_type || *type == DW_UT_split_type)
		perch__skip(cursor, 8u + unit->format.offset_size);
	unit->header_size = (uint8_t)(cursor->at - start);
	return !cursor->failed &&
	       (unit->format.address_size == 4 || unit->format.address_size == 8);
}

struct unit_context {
	struct dwarf *dwarf;
	uint32_t unit;
};

static int add_unit_range(void *context, uint64_t start, uint64_t end)
{
	const struct unit_context *to = context;
	struct dwarf_unit_range *range =
		PERCH__ARRAY_APPEND_MAX(to->dwarf->unit_range, to->dwarf->nr_unit_ranges,
					to->dwarf->unit_ranges_capacity, MAX_UNITS);

	if (!range)
		return DWARF_APPEND_ERROR(to->dwarf->nr_unit_ranges, MAX_UNITS);
	*range = (struct dwarf_unit_range){ start, end, to->unit };
	return 0;
}

/* Takes what later entries of the unit need. */
static int take_bases(struct dwarf *dwarf, struct dwarf_unit *unit, const struct dwarf_entry *entry)
{
	perch__dwarf_number(entry, ATTRIBUTE_ADDR_BASE, &unit->addr_base);
	perch__dwarf_number(entry, ATTRIBUTE_STR_OFFSETS_BASE, &unit->str_offsets_base);
	perch__dwarf_number(entry, ATTRIBUTE_RNGLISTS_BASE, &unit->rnglists_base);
	perch__dwarf_number(entry, ATTRIBUTE_LOCLISTS_BASE, &unit->loclists_base);
	perch__dwarf_number(entry, ATTRIBUTE_DWO_ID, &unit->split_id);
	if (!(entry->has >> ATTRIBUTE_LOW_PC & 1))
		return 0;
	return perch__dwarf_address(dwarf, unit, &entry->value[ATTRIBUTE_LOW_PC], &unit->low_pc);
}

/* cursor: at the first entry */
static int read_first_entry(struct dwarf *dwarf, struct dwarf_unit *unit, struct cursor *cursor,
			    struct abbreviations *table, struct dwarf_entry *entry)
{
	uint64_t code = perch__read_uleb(cursor);
	int rc;

	if (cursor->failed)
		return -ENOTSUP;
	rc = perch__abbreviation_find(table, dwarf->section[DWARF_ABBREV],
				      unit->abbreviations_offset, unit->format, code);
	return rc ? rc : perch__dwarf_entry(table, table->code, cursor, entry);
}

/* Adds the ranges of a unit. Returns 0, -ENOMEM or -ENOTSUP. */
static int add_unit_ranges(struct dwarf *dwarf, struct dwarf_unit *unit, struct cursor *cursor,
			   struct abbreviations *table)
{
	struct unit_context context = { dwarf, (uint32_t)(unit - dwarf->unit) };
	struct dwarf_entry entry;
	int rc = read_first_entry(dwarf, unit, cursor, table, &entry);

	if (rc == -ENOTSUP && cursor->failed) { /* the first bytes are too few */
		*cursor = perch__dwarf_cursor(dwarf, unit, unit->offset + unit->header_size);
		rc = cursor->at ? read_first_entry(dwarf, unit, cursor, table, &entry) : -ENOTSUP;
	}
	if (rc || table->code->tag == DW_TAG_partial_unit || table->code->tag == DW_TAG_type_unit)
		return rc;
	if (entry.has >> ATTRIBUTE_DWO_NAME & 1)
		unit->split_name = entry.value[ATTRIBUTE_DWO_NAME];
	rc = take_bases(dwarf, unit, &entry);
	if (!rc)
		rc = perch__dwarf_ranges(dwarf, unit, &entry, add_unit_range, &context);
	/* the ranges of the skeleton itself are not relative to it */
	perch__dwarf_number(&entry, ATTRIBUTE_RANGES_BASE, &unit->ranges_base);
	return rc;
}

static int by_start(const void *left, const void *right)
{
	const struct dwarf_unit_range *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->unit > b->unit) - (a->unit < b->unit);
}

static int add_unit(struct dwarf *dwarf, const struct dwarf_unit *header, int type,
		    struct cursor *cursor, struct abbreviations *table)
{
	struct dwarf_unit *unit;
	int rc;

	unit = PERCH__ARRAY_APPEND_MAX(dwarf->unit, dwarf->nr_units, dwarf->units_capacity,
				       MAX_UNITS);
	if (!unit)
		return DWARF_APPEND_ERROR(dwarf->nr_units, MAX_UNITS);
	*unit = *header;
	/* units of types and parts are only referred to */
	if (type != DW_UT_compile && type != DW_UT_skeleton)
		return 0;
	rc = add_unit_ranges(dwarf, unit, cursor, table);
	if (rc == -ENOTSUP) {
		unit->not_understood = dwarf->has_gaps = true;
		return 0;
	}
	return rc;
}

int perch__dwarf_units(struct dwarf *dwarf)
{
	struct dwarf_section *info = dwarf->section[DWARF_INFO];
	struct abbreviations table = { 0 };
	struct dwarf_unit unit;
	uint8_t bytes[FIRST_BYTES];
	int rc = 0, type;

	for (uint64_t offset = 0; !rc; offset = unit.end) {
		struct cursor cursor = { .at = bytes, .swapped = dwarf->swapped };

		cursor.end = bytes + perch__dwarf_peek(info, offset, bytes, sizeof(bytes));
		unit = (struct dwarf_unit){ .offset = offset, .dwarf = dwarf };
		if (!perch__dwarf_header(&unit, &cursor, info->size - offset, &type))
			break;
		if (cursor.end - bytes > (ptrdiff_t)(unit.end - offset))
			cursor.end = bytes + (unit.end - offset);
		if (cursor.end < cursor.at)
			break;
		rc = add_unit(dwarf, &unit, type, &cursor, &table);
	}
	perch__abbreviations_clear(&table);
	if (dwarf->nr_unit_ranges)
		qsort(dwarf->unit_range, dwarf->nr_unit_ranges, sizeof(*dwarf->unit_range),
		      by_start);
	return rc || dwarf->nr_units ? rc : -ENOTSUP;
}

void perch__dwarf_free_units(struct dwarf *dwarf)
{
	for (size_t i = 0; i < dwarf->nr_units; i++) {
		struct dwarf_unit *unit = &dwarf->unit[i];

		perch__dwarf_free_lines(unit->lines);
		free(unit->function);
		free(unit->scopes.scope);
	}
	free(dwarf->unit);
	free(dwarf->unit_range);
	free(dwarf->inlined);
	free(dwarf->range);
	for (size_t i = 0; i < dwarf->nr_abbreviations; i++) {
		perch__abbreviations_clear(dwarf->abbreviations[i]);
		free(dwarf->abbreviations[i]);
	}
	free(dwarf->abbreviations);
	perch__hash_clear(&dwarf->by_offset);
}

struct dwarf_unit *perch__dwarf_unit_at(struct dwarf *dwarf, uint64_t *at)
{
	uint64_t reference = *at, offset = *at &= ~IN_ALTERNATIVE;
	size_t low;

	if (offset != reference)
		dwarf = dwarf->alternative;
	low = PERCH__SEARCH(dwarf ? dwarf->nr_units : 0, i, dwarf->unit[i].offset <= offset);
	return low && offset < dwarf->unit[low - 1].end ? &dwarf->unit[low - 1] : NULL;
}

struct cursor perch__dwarf_cursor(struct dwarf *dwarf, struct dwarf_unit *unit, uint64_t offset)
{
	struct cursor cursor = { .swapped = dwarf->swapped };
	const uint8_t *bytes;

	if (!unit->is_loaded &&
	    !perch__dwarf_bytes(dwarf->section[DWARF_INFO], unit->offset, unit->end - unit->offset))
		return cursor;
	unit->is_loaded = true;
	bytes = dwarf->section[DWARF_INFO]->bytes + unit->offset;
	if (offset >= unit->offset + unit->header_size && offset < unit->end) {
		cursor.at = bytes + (offset - unit->offset);
		cursor.end = bytes + (unit->end - unit->offset);
	}
	return cursor;
}

struct dwarf_walk perch__dwarf_walk(struct dwarf *dwarf, struct dwarf_unit *unit, uint64_t offset)
{
	return (struct dwarf_walk){
		.table = unit->abbreviations,
		.cursor = perch__dwarf_cursor(dwarf, unit, offset),
		.start = dwarf->section[DWARF_INFO]->bytes + unit->offset,
		.depth = 1,
	};
}

/* ---- the entries of a unit ---- */

static bool same_table(const void *items, uint32_t index, const void *key)
{
	const struct abbreviations *table = ((struct abbreviations *const *)items)[index];
	const struct dwarf_unit *unit = key;

	return table->offset == unit->abbreviations_offset &&
	       table->format.version == unit->format.version &&
	       table->format.address_size == unit->format.address_size &&
	       table->format.offset_size == unit->format.offset_size;
}

/* All tables together have no more attributes than bytes, if they do not overlap. */
static bool has_too_many(const struct dwarf *dwarf)
{
	size_t nr = 0;

	for (size_t i = 0; i < dwarf->nr_abbreviations; i++)
		nr += dwarf->abbreviations[i]->nr_specs + dwarf->abbreviations[i]->nr_codes / 2;
	return nr > 4 * dwarf->section[DWARF_ABBREV]->size;
}

static int find_abbreviations(struct dwarf *dwarf, struct dwarf_unit *unit)
{
	uint64_t hash = perch__hash_integer(dwarf->by_offset.seed, unit->abbreviations_offset);
	uint32_t index =
		perch__hash_find(&dwarf->by_offset, hash, same_table, dwarf->abbreviations, unit);
	struct abbreviations *table;
	int rc;

	if (index != PERCH__HASH_NONE) {
		unit->abbreviations = dwarf->abbreviations[index];
		return 0;
	}
	if (has_too_many(dwarf))
		return -ENOTSUP;
	if (PERCH__ARRAY_RESERVE(dwarf->abbreviations, dwarf->abbreviations_capacity,
				 dwarf->nr_abbreviations + 1) ||
	    perch__hash_reserve(&dwarf->by_offset, dwarf->nr_abbreviations + 1) ||
	    !(table = perch__calloc(1, sizeof(*table))))
		return -ENOMEM;
	rc = perch__abbreviations_read(table, dwarf->section[DWARF_ABBREV],
				       unit->abbreviations_offset, unit->format);
	if (rc) {
		perch__abbreviations_clear(table);
		free(table);
		return rc;
	}
	perch__hash_add(&dwarf->by_offset, hash, dwarf->nr_abbreviations);
	dwarf->abbreviations[dwarf->nr_abbreviations++] = table;
	unit->abbreviations = table;
	return 0;
}

static int read_unit(struct dwarf *dwarf, struct dwarf_unit *unit)
{
	struct cursor cursor = perch__dwarf_cursor(dwarf, unit, unit->offset + unit->header_size);
	const struct abbreviation *abbreviation;
	const char *producer = NULL;
	struct dwarf_entry entry;
	int rc = cursor.at ? find_abbreviations(dwarf, unit) : -ENOTSUP;

	if (rc)
		return rc;
	abbreviation = perch__abbreviation(unit->abbreviations, perch__read_uleb(&cursor));
	if (!abbreviation || perch__dwarf_entry(unit->abbreviations, abbreviation, &cursor, &entry))
		return -ENOTSUP;
	rc = take_bases(dwarf, unit, &entry);
	if (!rc && (entry.has >> ATTRIBUTE_COMP_DIR & 1))
		rc = perch__dwarf_value_text(dwarf, unit, &entry.value[ATTRIBUTE_COMP_DIR],
					     &unit->directory);
	if (!rc && (entry.has >> ATTRIBUTE_PRODUCER & 1))
		rc = perch__dwarf_value_text(dwarf, unit, &entry.value[ATTRIBUTE_PRODUCER],
					     &producer);
	/* until now a text in the entry was in a buffer */
	if (unit->split_name.form && (entry.has >> ATTRIBUTE_DWO_NAME & 1))
		unit->split_name = entry.value[ATTRIBUTE_DWO_NAME];
	if (entry.has >> ATTRIBUTE_STMT_LIST & 1)
		unit->stmt_list = entry.value[ATTRIBUTE_STMT_LIST];
	perch__dwarf_number(&entry, ATTRIBUTE_LANGUAGE, &unit->language);
	unit->of_gcc = producer && !strncmp(producer, "GNU C", 5);
	if (abbreviation->has_children)
		unit->first = (uint64_t)(cursor.at - dwarf->section[DWARF_INFO]->bytes);
	return rc;
}

int perch__dwarf_read_unit(struct dwarf *dwarf, struct dwarf_unit *unit)
{
	if (!unit->is_read) {
		unit->is_read = true;
		unit->error = read_unit(dwarf, unit);
	}
	return unit->error;
}

/* ---- functions ---- */

struct function_context {
	struct dwarf_unit *unit;
	uint64_t entry, origin;
};

static int add_function(void *context, uint64_t start, uint64_t end)
{
	const struct function_context *to = context;
	struct dwarf_function *function =
		PERCH__ARRAY_APPEND_MAX(to->unit->function, to->unit->nr_functions,
					to->unit->functions_capacity, MAX_FUNCTIONS);

	if (!function)
		return DWARF_APPEND_ERROR(to->unit->nr_functions, MAX_FUNCTIONS);
	function->start = start;
	function->end = end;
	function->entry = to->entry;
	function->origin = to->origin;
	return 0;
}

/* How far a search for functions goes, if entries say where their siblings are. */
enum search {
	SEARCH_TOP, /* directly below the unit: gcc has all functions there but nested ones */
	SEARCH_NAMESPACES, /* and in namespaces */
	SEARCH_ALL,	   /* and in types and functions, which takes longer */
};

static int add_functions(struct dwarf *dwarf, struct dwarf_unit *unit, enum search search)
{
	struct dwarf_walk walk = perch__dwarf_walk(dwarf, unit, unit->first);
	const struct abbreviation *abbreviation;
	struct dwarf_entry entry;
	int rc;

	walk.stops = KIND_FUNCTION;
	walk.goes = search == SEARCH_ALL	  ? KIND_ALL
		    : search == SEARCH_NAMESPACES ? KIND_NAMESPACE
						  : 0;
	walk.goes_if_unlinked = true;
	while (!(rc = perch__dwarf_next(&walk, &abbreviation)) && abbreviation) {
		struct function_context context = {
			unit, (uint64_t)(walk.entry - dwarf->section[DWARF_INFO]->bytes), 0
		};

		rc = perch__dwarf_entry(walk.table, abbreviation, &walk.cursor, &entry);
		if (rc)
			break;
		context.origin = perch__dwarf_origin(unit, &entry);
		rc = perch__dwarf_ranges(dwarf, unit, &entry, add_function, &context);
		if (!rc)
			rc = perch__dwarf_pass(&walk, abbreviation, perch__dwarf_sibling(&entry));
		if (rc)
			break;
	}
	return rc;
}

static int by_function(const void *left, const void *right)
{
	const struct dwarf_function *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	/* of two functions at one address the inner one is last */
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return (a->entry > b->entry) - (a->entry < b->entry);
}

static int list_functions(struct dwarf *dwarf, struct dwarf_unit *unit, enum search search)
{
	int rc;

	unit->nr_functions = 0;
	rc = unit->first ? add_functions(dwarf, unit, search) : 0;
	if (rc)
		return rc;
	if (unit->nr_functions)
		qsort(unit->function, unit->nr_functions, sizeof(*unit->function), by_function);
	return 0;
}

static struct dwarf_function *search_function(const struct dwarf_unit *unit, uint64_t address)
{
	size_t low = PERCH__SEARCH(unit->nr_functions, i, unit->function[i].start <= address);

	for (size_t i = 0; i < MAX_OVERLAPS && low--; i++)
		if (address < unit->function[low].end)
			return &unit->function[low];
	return NULL;
}

static struct dwarf_unit *find_unit(const struct dwarf *dwarf, uint64_t address)
{
	size_t low = PERCH__SEARCH(dwarf->nr_unit_ranges, i, dwarf->unit_range[i].start <= address);

	for (size_t i = 0; i < MAX_OVERLAPS && low--; i++)
		if (address < dwarf->unit_range[low].end)
			return &dwarf->unit[dwarf->unit_range[low].unit];
	return NULL;
}

/* Lists the functions of a unit, on the first call only. */
static int prepare_unit(struct dwarf *dwarf, struct dwarf_unit *unit)
{
	int rc;

	if (unit->not_understood)
		return -ENOTSUP;
	if (unit->has_functions)
		return 0;
	unit->has_functions = true;
	rc = perch__dwarf_read_unit(dwarf, unit);
	if (!rc)
		rc = list_functions(dwarf, unit, unit->of_gcc ? SEARCH_TOP : SEARCH_NAMESPACES);
	unit->not_understood = rc;
	return rc;
}

/* Lists the functions that take longer, too. */
static int list_all(struct dwarf *dwarf, struct dwarf_unit *unit)
{
	struct dwarf_function *before = unit->function;
	size_t nr = unit->nr_functions;
	int rc;

	unit->all_listed = true;
	unit->function = NULL;
	unit->functions_capacity = 0;
	rc = list_functions(dwarf, unit, SEARCH_ALL);
	if (!rc && unit->nr_functions == nr) { /* the same ones */
		free(unit->function);
		unit->function = before;
		unit->functions_capacity = nr;
		return 0;
	}
	free(before);
	unit->not_understood = rc;
	return rc;
}

/* What is between two functions that are listed. */
enum gap {
	GAP_UNKNOWN, /* maybe a function that takes longer to list */
	GAP_PADDING, /* no line begins there */
	GAP_LINE,    /* the last line of the function before it goes on; no other begins */
};

static enum gap find_gap(struct dwarf_unit *unit, uint64_t address)
{
	const struct dwarf_function *function = unit->function;
	const char *file = NULL, *last_file = NULL;
	uint32_t line = 0, last_line = 0;
	size_t next = PERCH__SEARCH(unit->nr_functions, i, function[i].start <= address);
	bool has_row;
	uint64_t end;

	if (!next || function[next - 1].end > address || address == UINT64_MAX)
		return GAP_UNKNOWN;
	end = function[next - 1].end;
	if (perch__dwarf_has_row(unit, end, address + 1, &has_row))
		return GAP_UNKNOWN;
	if (!has_row)
		return GAP_PADDING;
	/* gcc may end a function with a row that has no code */
	if (perch__dwarf_has_row(unit, end + 1, address + 1, &has_row) || has_row ||
	    perch__dwarf_line(unit, end - 1, &last_file, &last_line) ||
	    perch__dwarf_line(unit, address, &file, &line))
		return GAP_UNKNOWN;
	return file == last_file && line == last_line ? GAP_LINE : GAP_UNKNOWN;
}

int perch__dwarf_open_split(struct dwarf_unit **unit)
{
	struct dwarf_unit *skeleton = *unit;
	int rc = 0;

	if (!skeleton->split_name.form)
		return 0;
	if (!skeleton->split_asked) {
		skeleton->split_asked = true;
		rc = perch__dwarf_read_unit(skeleton->dwarf, skeleton);
		if (!rc && skeleton->dwarf->open_split)
			skeleton->dwarf->open_split(skeleton->dwarf->context, skeleton);
	}
	if (skeleton->split)
		*unit = skeleton->split;
	return rc;
}

int perch__dwarf_function(struct dwarf *dwarf, uint64_t address, struct dwarf_unit **unit,
			  struct dwarf_function **function)
{
	enum gap gap;
	int rc;

	*function = NULL;
	*unit = find_unit(dwarf, address);
	if (!*unit)
		return dwarf->has_gaps ? -ENOTSUP : 0;
	rc = perch__dwarf_open_split(unit);
	dwarf = (*unit)->dwarf;
	if (!rc)
		rc = prepare_unit(dwarf, *unit);
	if (rc)
		return rc;
	*function = search_function(*unit, address);
	if (*function)
		return 0;
	gap = find_gap(*unit, address);
	if (gap == GAP_PADDING)
		*unit = NULL;
	if (gap != GAP_UNKNOWN || (*unit)->all_listed)
		return 0;
	rc = list_all(dwarf, *unit);
	if (!rc)
		*function = search_function(*unit, address);
	return rc;
}

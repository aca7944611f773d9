/* SPDX-License-Identifier: MIT */
/*
 * Inlined functions and lines. The units are listed once. A unit's functions are listed at the
 * first address in the unit, and a function's inlined functions at the first address in it. So the
 * cost depends on the functions that addresses need, not on the size of the program.
 *
 * Debug information is not trusted: depth and number of all lists are limited.
 */
#define _GNU_SOURCE /* asprintf */
#include <stdlib.h>
#include <unistd.h>

#include <dwarf.h>

#include "libdw_frames.h"
#include "symbol/dwarf/dwarf.h"

enum {
	MAX_NESTING = 256,	    /* of entries that are visited */
	MAX_UNIT_RANGES = 1 << 20,  /* of the functions of a unit and what is inlined in them */
	MAX_OVERLAPS = 64,	    /* functions that are compared with an address */
	MAX_UNITS_RANGES = 1 << 24, /* of all units */
};

struct unit_range {
	uint64_t start, end;
	uint32_t unit;
};

/* An inlined function. Those inside of it follow it. */
struct inlined {
	Dwarf_Die die;
	uint32_t range, nr_ranges; /* in unit.range */
	uint32_t next;		   /* the first one that is not inside */
};

struct function {
	uint64_t start, end; /* one range: a function may have several */
	Dwarf_Die die;
	uint32_t first, nr; /* in unit.inlined */
	bool listed;
};

struct range {
	uint64_t start, end;
};

struct unit {
	Dwarf_Die die;	   /* of the unit, or of its skeleton */
	Dwarf_Die entries; /* with the functions: of the split unit, or die */
	Dwarf_Files *files;
	size_t nr_files;
	bool listed, all_listed, lacks_functions;
	const void *last;	   /* the entry that was visited last */
	struct function *function; /* sorted */
	size_t nr_functions, functions_capacity;
	struct inlined *inlined;
	size_t nr_inlined, inlined_capacity;
	struct range *range;
	size_t nr_ranges, ranges_capacity;
};

/* A file that is relative to the directory of its unit. */
struct source_path {
	const char *file, *directory;
	char *path;
};

/* ---- units ---- */

static int add_unit_ranges(struct libdw *info, Dwarf_Die *die, uint32_t unit)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		struct unit_range *range;

		if (start >= end)
			continue;
		range = PERCH__ARRAY_APPEND_MAX(info->range, info->nr_ranges, info->ranges_capacity,
						MAX_UNITS_RANGES);
		if (!range)
			return -ENOMEM;
		*range = (struct unit_range){ start, end, unit };
	}
	return 0;
}

static int by_start(const void *left, const void *right)
{
	const struct unit_range *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->unit > b->unit) - (a->unit < b->unit);
}

int libdw_units(struct libdw *info)
{
	Dwarf_CU *cu = NULL;
	uint8_t type;
	Dwarf_Die die;

	while (!dwarf_get_units(info->dwarf, cu, &cu, NULL, &type, &die, NULL)) {
		struct unit *unit;

		if (type == DW_UT_type || type == DW_UT_partial || type == DW_UT_split_type)
			continue;
		unit = PERCH__ARRAY_APPEND_MAX(info->unit, info->nr_units, info->units_capacity,
					       MAX_UNITS_RANGES);
		if (!unit || add_unit_ranges(info, &die, (uint32_t)info->nr_units - 1))
			return -ENOMEM;
		unit->die = unit->entries = die;
	}
	if (info->nr_ranges)
		qsort(info->range, info->nr_ranges, sizeof(*info->range), by_start);
	return 0;
}

void libdw_free_units(struct libdw *info)
{
	for (size_t i = 0; i < info->nr_units; i++) {
		free(info->unit[i].function);
		free(info->unit[i].inlined);
		free(info->unit[i].range);
	}
	free(info->unit);
	free(info->range);
	for (size_t i = 0; i < info->nr_paths; i++)
		free(info->path[i].path);
	free(info->path);
	perch__hash_clear(&info->by_path);
	libdw_free_names(info);
}

static struct unit *find_unit(struct libdw *info, uint64_t address)
{
	size_t low = 0, high = info->nr_ranges;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (info->range[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = 0; i < MAX_OVERLAPS && low--; i++)
		if (address < info->range[low].end)
			return &info->unit[info->range[low].unit];
	return NULL;
}

/* ---- the functions of a unit ---- */

static int add_function(struct unit *unit, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		struct function *function;

		if (start >= end)
			continue;
		function = PERCH__ARRAY_APPEND_MAX(unit->function, unit->nr_functions,
						   unit->functions_capacity, MAX_UNIT_RANGES);
		if (!function)
			return -ENOMEM;
		function->start = start;
		function->end = end;
		function->die = *die;
	}
	return 0;
}

/* How far a search for functions goes. */
enum search {
	SEARCH_TOP, /* directly below the unit: gcc has all functions there but nested ones */
	SEARCH_NAMESPACES, /* and in namespaces */
	SEARCH_ALL,	   /* and in types and functions, which takes longer */
};

/*
 * Entries are visited in their order. One that damaged debug information leads to again is not:
 * visits of nested entries would multiply.
 */
static bool is_visited(struct unit *unit, const Dwarf_Die *die)
{
	if (unit->last && die->addr <= unit->last)
		return true;
	unit->last = die->addr;
	return false;
}

static int add_functions(struct unit *unit, Dwarf_Die *parent, enum search search, int depth)
{
	Dwarf_Die die;
	int rc = 0;

	if (depth > MAX_NESTING || dwarf_child(parent, &die))
		return 0;
	do {
		bool inside = search == SEARCH_ALL;

		if (is_visited(unit, &die))
			return 0;
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			rc = add_function(unit, &die);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
			inside |= search == SEARCH_NAMESPACES;
			break;
		default:
			break;
		}
		if (!rc && inside && dwarf_haschildren(&die) > 0)
			rc = add_functions(unit, &die, search, depth + 1);
	} while (!rc && libdw_next_entry(&die));
	return rc;
}

static int by_function(const void *left, const void *right)
{
	const struct function *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	/* of two functions at one address the inner one is last */
	if (a->end != b->end)
		return a->end > b->end ? -1 : 1;
	return (a->die.addr > b->die.addr) - (a->die.addr < b->die.addr);
}

static void list_functions(struct unit *unit, enum search search)
{
	unit->nr_functions = 0;
	unit->last = NULL;
	/* all inlined functions are listed again: the functions have other positions */
	unit->nr_inlined = unit->nr_ranges = 0;
	if (unit->function)
		memset(unit->function, 0, unit->functions_capacity * sizeof(*unit->function));
	if (add_functions(unit, &unit->entries, search, 0))
		unit->nr_functions = 0;
	if (unit->nr_functions)
		qsort(unit->function, unit->nr_functions, sizeof(*unit->function), by_function);
}

/* Returns the number of functions that begin at the address or before it. */
static size_t count_before(const struct unit *unit, uint64_t address)
{
	size_t low = 0, high = unit->nr_functions;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (unit->function[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct function *search_function(struct unit *unit, uint64_t address)
{
	size_t nr = count_before(unit, address);

	for (size_t i = 0; i < MAX_OVERLAPS && nr--; i++)
		if (address < unit->function[nr].end)
			return &unit->function[nr];
	return NULL;
}

static bool is_of_gcc(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *producer = NULL;

	if (dwarf_attr(die, DW_AT_producer, &attribute))
		producer = dwarf_formstring(&attribute);
	return producer && !strncmp(producer, "GNU C", 5);
}

static void list_unit(struct unit *unit)
{
	Dwarf_Die split = { 0 };
	uint8_t type;

	unit->listed = true;
	if (!dwarf_cu_info(unit->die.cu, NULL, &type, NULL, &split, NULL, NULL, NULL) &&
	    type == DW_UT_skeleton) {
		if (split.cu)
			unit->entries = split;
		unit->lacks_functions = !split.cu;
	}
	if (dwarf_getsrcfiles(&unit->entries, &unit->files, &unit->nr_files))
		unit->nr_files = 0;
	list_functions(unit, is_of_gcc(&unit->entries) ? SEARCH_TOP : SEARCH_NAMESPACES);
}

static struct function *find_function(struct unit *unit, uint64_t address)
{
	struct function *function;

	if (!unit->listed)
		list_unit(unit);
	function = search_function(unit, address);
	if (function || unit->all_listed)
		return function;
	unit->all_listed = true;
	list_functions(unit, SEARCH_ALL);
	return search_function(unit, address);
}

/* ---- the inlined functions of a function ---- */

static int add_ranges(struct unit *unit, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		struct range *range;

		if (start >= end)
			continue;
		range = PERCH__ARRAY_APPEND_MAX(unit->range, unit->nr_ranges, unit->ranges_capacity,
						MAX_UNIT_RANGES);
		if (!range)
			return -ENOMEM;
		*range = (struct range){ start, end };
	}
	return 0;
}

static int add_inlined(struct unit *unit, Dwarf_Die *parent, int depth);

static int add_one_inlined(struct unit *unit, Dwarf_Die *die, int depth)
{
	uint32_t at = (uint32_t)unit->nr_inlined;
	struct inlined *inlined = PERCH__ARRAY_APPEND_MAX(unit->inlined, unit->nr_inlined,
							  unit->inlined_capacity, MAX_UNIT_RANGES);
	int rc;

	if (!inlined)
		return -ENOMEM;
	inlined->die = *die;
	inlined->range = (uint32_t)unit->nr_ranges;
	rc = add_ranges(unit, die);
	inlined->nr_ranges = (uint32_t)unit->nr_ranges - inlined->range;
	if (!rc && dwarf_haschildren(die) > 0)
		rc = add_inlined(unit, die, depth + 1);
	unit->inlined[at].next = (uint32_t)unit->nr_inlined;
	return rc;
}

static int add_inlined(struct unit *unit, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;
	int rc = 0;

	if (depth > MAX_NESTING || dwarf_child(parent, &die))
		return 0;
	do {
		if (is_visited(unit, &die))
			return 0;
		switch (dwarf_tag(&die)) {
		case DW_TAG_inlined_subroutine:
			rc = add_one_inlined(unit, &die, depth);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			rc = add_inlined(unit, &die, depth + 1);
			break;
		default:
			break;
		}
	} while (!rc && libdw_next_entry(&die));
	return rc;
}

static void list_inlined(struct unit *unit, struct function *function)
{
	size_t ranges = unit->nr_ranges;

	function->listed = true;
	unit->last = NULL;
	function->first = (uint32_t)unit->nr_inlined;
	if (add_inlined(unit, &function->die, 0)) {
		unit->nr_inlined = function->first;
		unit->nr_ranges = ranges;
	}
	function->nr = (uint32_t)unit->nr_inlined - function->first;
}

static bool covers(const struct unit *unit, const struct inlined *inlined, uint64_t address)
{
	for (uint32_t i = 0; i < inlined->nr_ranges; i++) {
		const struct range *range = &unit->range[inlined->range + i];

		if (address >= range->start && address < range->end)
			return true;
	}
	return false;
}

/* ---- lines ---- */

static bool same_path(const void *items, uint32_t index, const void *key)
{
	const struct source_path *path = (const struct source_path *)items + index, *wanted = key;

	return path->file == wanted->file && path->directory == wanted->directory;
}

/* Returns the path of a file with the directory of its unit, which may be NULL. */
static const char *path_of(struct libdw *info, const struct unit *unit, const char *file)
{
	Dwarf_Die die = unit->die;
	Dwarf_Attribute attribute;
	struct source_path made = { .file = file };
	uint64_t hash;
	uint32_t index;

	if (!file || *file == '/')
		return file;
	made.directory = dwarf_formstring(dwarf_attr(&die, DW_AT_comp_dir, &attribute));
	if (!made.directory || *made.directory != '/')
		return file;
	if (!info->by_path.seed)
		info->by_path.seed = perch__hash_seed(info);
	hash = perch__hash_pair(info->by_path.seed, (uintptr_t)file, (uintptr_t)made.directory);
	index = perch__hash_find(&info->by_path, hash, same_path, info->path, &made);
	if (index != PERCH__HASH_NONE)
		return info->path[index].path;
	if (PERCH__ARRAY_RESERVE(info->path, info->paths_capacity, info->nr_paths + 1) ||
	    perch__hash_reserve(&info->by_path, info->nr_paths + 1) ||
	    perch__asprintf(&made.path, "%s/%s", made.directory, perch__relative_path(file)) < 0)
		return file;
	info->path[info->nr_paths] = made;
	perch__hash_add(&info->by_path, hash, (uint32_t)info->nr_paths++);
	return made.path;
}

static bool get_number(Dwarf_Die *die, unsigned name, uint64_t *number)
{
	Dwarf_Attribute attribute;
	Dwarf_Word word;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &word))
		return false;
	*number = word;
	return true;
}

/* Sets the position of the call of an inlined function. */
static void set_call(struct libdw *info, const struct unit *unit, Dwarf_Die *die,
		     struct debug_frame *frame)
{
	uint64_t number;

	if (get_number(die, DW_AT_call_file, &number) && number < unit->nr_files)
		frame->file = path_of(info, unit, dwarf_filesrc(unit->files, number, NULL, NULL));
	if (frame->file && get_number(die, DW_AT_call_line, &number) && number <= UINT32_MAX)
		frame->line = (uint32_t)number;
}

static void set_line(struct libdw *info, struct unit *unit, uint64_t address,
		     struct debug_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address);
	int number;

	if (!line)
		return;
	frame->file = path_of(info, unit, dwarf_linesrc(line, NULL, NULL));
	if (frame->file && !dwarf_lineno(line, &number) && number > 0)
		frame->line = (uint32_t)number;
}

/* The line of an address in a unit, in no function that is listed. Returns 1 if there is one. */
static size_t find_line_only(struct libdw *info, struct unit *unit, uint64_t address,
			     struct debug_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address);
	size_t before = count_before(unit, address);
	Dwarf_Addr start;

	/* padding has no line of its own */
	if (!line || dwarf_lineaddr(line, &start) ||
	    (before && start < unit->function[before - 1].end))
		return 0;
	*frame = (struct debug_frame){ .lacks_functions = unit->lacks_functions };
	set_line(info, unit, address, frame);
	return frame->file != NULL;
}

size_t libdw_frames(struct libdw *info, uint64_t address,
		    struct debug_frame frame[MAX_DEBUG_FRAMES])
{
	Dwarf_Die *die[MAX_DEBUG_FRAMES]; /* outermost first */
	struct function *function = NULL;
	struct unit *unit;
	size_t nr = 0;

	unit = find_unit(info, address);
	if (unit)
		function = find_function(unit, address);
	if (!function)
		return unit ? find_line_only(info, unit, address, &frame[0]) : 0;
	if (!function->listed)
		list_inlined(unit, function);
	die[nr++] = &function->die;
	for (uint32_t i = function->first, end = i + function->nr; i < end;) {
		struct inlined *inlined = &unit->inlined[i];

		if (!covers(unit, inlined, address)) {
			i = inlined->next;
			continue;
		}
		if (nr < MAX_DEBUG_FRAMES)
			die[nr++] = &inlined->die;
		end = inlined->next;
		i++;
	}
	for (size_t i = 0; i < nr; i++) {
		frame[i] = (struct debug_frame){ .function = libdw_name(info, die[nr - 1 - i]) };
		if (i)
			set_call(info, unit, die[nr - i], &frame[i]);
	}
	set_line(info, unit, address, &frame[0]);
	return nr;
}

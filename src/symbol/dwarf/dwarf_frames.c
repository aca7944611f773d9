/* SPDX-License-Identifier: MIT */
/*
 * Inlined functions, and the frames of an address. The functions that are inlined directly in a
 * function are listed at the first address in it. Those further inside are skipped until an address
 * is in the function around them.
 */
#include <stdlib.h>

#include <dwarf.h>

#include "dwarf.h"

enum {
	MAX_INLINED = 1 << 24, /* and their ranges */
	SHORTEST_INLINED = 4,  /* bytes of an entry, at least */
};

/* The functions that are inlined directly in one function are adjacent. */
struct dwarf_inlined {
	uint64_t start, end;	   /* from the first range to the last */
	uint64_t entry;		   /* offset in .debug_info */
	uint64_t origin;	   /* as of struct dwarf_function */
	uint32_t range, nr_ranges; /* in dwarf.range, if there are several */
	uint32_t first, nr;	   /* in dwarf.inlined: what is inlined in this function */
	uint64_t call_file;
	uint32_t call_line;
	bool is_listed, has_call_file;
	const char *name;
};

/* ---- inlined functions ---- */

struct inlined_context {
	struct dwarf *dwarf;
	size_t nr; /* ranges */
	uint64_t start, end;
};

static int add_range(void *context, uint64_t start, uint64_t end)
{
	struct inlined_context *to = context;
	struct dwarf_range *range;

	range = PERCH__ARRAY_APPEND_MAX(to->dwarf->range, to->dwarf->nr_ranges,
					to->dwarf->ranges_capacity, MAX_INLINED);
	if (!range)
		return DWARF_APPEND_ERROR(to->dwarf->nr_ranges, MAX_INLINED);
	*range = (struct dwarf_range){ start, end };
	if (!to->nr++ || start < to->start)
		to->start = start;
	if (end > to->end)
		to->end = end;
	return 0;
}

/* Damaged debug information may lead to entries again. */
static size_t most_inlined(const struct dwarf *dwarf)
{
	size_t most = dwarf->section[DWARF_INFO]->size / SHORTEST_INLINED;

	return most < MAX_INLINED ? most : MAX_INLINED;
}

/* entry: its addresses, from the offset `at` of .debug_info */
static int add_inlined(struct dwarf *dwarf, struct dwarf_unit *unit,
		       const struct dwarf_entry *entry, uint64_t at)
{
	struct inlined_context context = { .dwarf = dwarf };
	size_t first = dwarf->nr_ranges, most = most_inlined(dwarf);
	struct dwarf_inlined *inlined;
	int rc = perch__dwarf_ranges(dwarf, unit, entry, add_range, &context);

	if (rc || !context.nr)
		return rc;
	inlined = PERCH__ARRAY_APPEND_MAX(dwarf->inlined, dwarf->nr_inlined,
					  dwarf->inlined_capacity, most);
	if (!inlined)
		return DWARF_APPEND_ERROR(dwarf->nr_inlined, most);
	inlined->start = context.start;
	inlined->end = context.end;
	inlined->entry = at;
	if (context.nr == 1) {
		dwarf->nr_ranges = first;
		return 0;
	}
	inlined->range = (uint32_t)first;
	inlined->nr_ranges = (uint32_t)context.nr;
	return 0;
}

/* Lists what is inlined directly in a function. walk: at the first entry inside of it. */
static int list_inside(struct dwarf *dwarf, struct dwarf_unit *unit, struct dwarf_walk *walk)
{
	const struct abbreviation *abbreviation;
	struct dwarf_entry entry;
	int rc;

	walk->stops = KIND_INLINED;
	walk->goes = KIND_BLOCK;
	while (!(rc = perch__dwarf_next(walk, &abbreviation)) && abbreviation) {
		uint64_t at = (uint64_t)(walk->entry - dwarf->section[DWARF_INFO]->bytes);

		rc = perch__dwarf_addresses(walk->table, abbreviation, &walk->cursor, &entry);
		if (!rc)
			rc = add_inlined(dwarf, unit, &entry, at);
		if (!rc)
			rc = perch__dwarf_pass(walk, abbreviation, perch__dwarf_sibling(&entry));
		if (rc)
			break;
	}
	return rc;
}

/* Decodes a function, and lists what is inlined directly in it. */
static int list_inlined(struct dwarf *dwarf, struct dwarf_unit *unit, uint64_t at,
			struct dwarf_entry *entry, uint32_t *first, uint32_t *nr)
{
	struct dwarf_walk walk = perch__dwarf_walk(dwarf, unit, at);
	const struct abbreviation *abbreviation;
	size_t before = dwarf->nr_inlined, ranges = dwarf->nr_ranges;
	int rc;

	*nr = 0;
	if (!walk.cursor.at)
		return -ENOTSUP;
	abbreviation = perch__abbreviation(walk.table, perch__read_uleb(&walk.cursor));
	if (!abbreviation)
		return -ENOTSUP;
	rc = perch__dwarf_entry(walk.table, abbreviation, &walk.cursor, entry);
	if (rc || !abbreviation->has_children)
		return rc;
	rc = list_inside(dwarf, unit, &walk);
	if (rc) {
		dwarf->nr_inlined = before;
		dwarf->nr_ranges = ranges;
		return rc;
	}
	*first = (uint32_t)before;
	*nr = (uint32_t)(dwarf->nr_inlined - before);
	return 0;
}

/* Reads an inlined function that an address is in, on the first call only. */
static int read_inlined(struct dwarf *dwarf, struct dwarf_unit *unit, uint32_t index)
{
	struct dwarf_inlined inlined = dwarf->inlined[index];
	struct dwarf_entry entry;
	uint64_t line;
	int rc;

	if (inlined.is_listed)
		return 0;
	rc = list_inlined(dwarf, unit, inlined.entry, &entry, &inlined.first, &inlined.nr);
	if (rc)
		return rc;
	inlined.origin = perch__dwarf_origin(unit, &entry);
	inlined.has_call_file =
		perch__dwarf_number(&entry, ATTRIBUTE_CALL_FILE, &inlined.call_file);
	if (perch__dwarf_number(&entry, ATTRIBUTE_CALL_LINE, &line) && line <= UINT32_MAX)
		inlined.call_line = (uint32_t)line;
	inlined.is_listed = true;
	dwarf->inlined[index] = inlined; /* the array may have moved */
	return 0;
}

static bool inlined_covers(const struct dwarf *dwarf, const struct dwarf_inlined *inlined,
			   uint64_t address)
{
	if (address < inlined->start || address >= inlined->end)
		return false;
	for (uint32_t i = 0; i < inlined->nr_ranges; i++) {
		const struct dwarf_range *range = &dwarf->range[inlined->range + i];

		if (address >= range->start && address < range->end)
			return true;
	}
	return !inlined->nr_ranges;
}

/* Returns the index of the first that covers the address, or -1. */
static int64_t find_covering(const struct dwarf *dwarf, uint32_t first, uint32_t nr,
			     uint64_t address)
{
	for (uint32_t i = first; i < first + nr; i++)
		if (inlined_covers(dwarf, &dwarf->inlined[i], address))
			return i;
	return -1;
}

/* ---- frames ---- */

/* Sets the position of the call of an inlined function. */
static int set_call(struct dwarf_unit *unit, const struct dwarf_inlined *inlined,
		    struct debug_frame *frame)
{
	int rc = 0;

	if (inlined->has_call_file)
		rc = perch__dwarf_file(unit, inlined->call_file, &frame->file);
	if (!rc && frame->file)
		frame->line = inlined->call_line;
	return rc;
}

/* Finds the inlined functions at an address, outermost first. Returns their number or an errno. */
static int find_inlined(struct dwarf *dwarf, struct dwarf_unit *unit,
			struct dwarf_function *function, uint64_t address,
			uint32_t found[MAX_DEBUG_FRAMES])
{
	struct dwarf_entry entry;
	int nr = 0, rc;
	int64_t next;

	if (!function->is_listed) {
		rc = list_inlined(dwarf, unit, function->entry, &entry, &function->first,
				  &function->nr);
		function->is_listed = true; /* a damaged one has no inlined functions */
		if (rc)
			return rc;
	}
	next = find_covering(dwarf, function->first, function->nr, address);
	while (next >= 0 && nr < MAX_DEBUG_FRAMES - 1) {
		uint32_t at = (uint32_t)next;

		found[nr++] = at;
		rc = read_inlined(dwarf, unit, at);
		if (rc)
			return rc;
		next = find_covering(dwarf, dwarf->inlined[at].first, dwarf->inlined[at].nr,
				     address);
	}
	return nr;
}

/*
 * clang -gline-tables-only describes no functions in which nothing is inlined, and assemblers none.
 * Returns 1 if there is a line, 0, or an errno.
 */
static int find_line_only(struct dwarf_unit *unit, uint64_t address, struct debug_frame *frame)
{
	int rc;

	*frame = (struct debug_frame){ .lacks_functions = unit->split_name.form };
	rc = perch__dwarf_line(unit, address, &frame->file, &frame->line);
	return rc ? rc : frame->file != NULL;
}

/* Without memory, sections have no bytes and units no functions, which looks like damage. */
static int result(struct dwarf *dwarf, int rc)
{
	dwarf->lacks_memory |= rc == -ENOMEM;
	for (int id = 0; id < NR_DWARF_SECTIONS; id++)
		dwarf->lacks_memory |= dwarf->section[id]->lacks_memory;
	return rc == -ENOTSUP && dwarf->lacks_memory ? -ENOMEM : rc;
}

/* What is not understood is missing in the frames. */
static int partial(struct dwarf *dwarf, int rc)
{
	rc = result(dwarf, rc);
	dwarf->is_damaged |= rc == -ENOTSUP;
	return rc == -ENOTSUP ? 0 : rc;
}

/* Sets the name of a function, or of one that is inlined. */
static int set_name(struct dwarf_unit *unit, const char **name, uint64_t entry, uint64_t origin,
		    struct debug_frame *frame)
{
	int rc = *name ? 0 : perch__dwarf_name(unit, origin ? origin : entry, name);

	*frame = (struct debug_frame){ .function = *name };
	return partial(unit->dwarf, rc);
}

static int find_frames(struct dwarf *dwarf, uint64_t address,
		       struct debug_frame frame[MAX_DEBUG_FRAMES], bool *damaged)
{
	uint32_t found[MAX_DEBUG_FRAMES];
	struct dwarf_function *function;
	struct dwarf_unit *unit;
	int nr, rc = perch__dwarf_function(dwarf, address, &unit, &function);

	if (rc || !unit)
		return rc;
	dwarf = unit->dwarf;
	if (!function)
		return find_line_only(unit, address, &frame[0]);
	nr = find_inlined(dwarf, unit, function, address, found);
	if (nr < 0) {
		rc = partial(dwarf, nr);
		nr = 0;
	}
	for (int i = 0; i <= nr && !rc; i++) {
		struct dwarf_inlined *inlined = i < nr ? &dwarf->inlined[found[nr - 1 - i]] : NULL;

		rc = inlined ? set_name(unit, &inlined->name, inlined->entry, inlined->origin,
					&frame[i])
			     : set_name(unit, &function->name, function->entry, function->origin,
					&frame[i]);
		if (!rc && i)
			rc = partial(dwarf,
				     set_call(unit, &dwarf->inlined[found[nr - i]], &frame[i]));
	}
	if (!rc)
		rc = partial(dwarf,
			     perch__dwarf_line(unit, address, &frame[0].file, &frame[0].line));
	*damaged = dwarf->is_damaged;
	return rc ? rc : nr + 1;
}

int perch__dwarf_frames(struct dwarf *dwarf, uint64_t address,
			struct debug_frame frame[MAX_DEBUG_FRAMES])
{
	bool damaged = false;
	int nr = result(dwarf, find_frames(dwarf, address, frame, &damaged));

	dwarf->is_damaged |= damaged || nr == -ENOTSUP;
	return nr == -ENOTSUP ? 0 : nr;
}

struct dwarf *perch__dwarf_new(bool swapped, struct dwarf_section section[NR_DWARF_SECTIONS])
{
	struct dwarf *dwarf = perch__calloc(1, sizeof(*dwarf));

	if (!dwarf)
		return NULL;
	dwarf->swapped = swapped;
	dwarf->by_offset.seed = perch__hash_seed(dwarf);
	for (int id = 0; id < NR_DWARF_SECTIONS; id++)
		dwarf->section[id] = &section[id];
	perch__dwarf_names(dwarf);
	return dwarf;
}

int perch__dwarf_open(struct dwarf **dwarf, struct elf_file *file)
{
	struct dwarf_section *section = perch__calloc(NR_DWARF_SECTIONS, sizeof(*section));
	int rc;

	*dwarf = section ? perch__dwarf_new(file->elf.swapped, section) : NULL;
	if (!*dwarf) {
		free(section);
		return -ENOMEM;
	}
	(*dwarf)->own = section;
	rc = perch__dwarf_sections(section, file, "");
	if (rc) {
		perch__dwarf_free(*dwarf);
		*dwarf = NULL;
	}
	return rc;
}

int perch__dwarf_list(struct dwarf *dwarf)
{
	return result(dwarf, perch__dwarf_units(dwarf));
}

void perch__dwarf_free(struct dwarf *dwarf)
{
	if (!dwarf)
		return;
	for (struct dwarf *split = dwarf->split, *next; split; split = next) {
		next = split->next;
		perch__dwarf_free(split);
	}
	perch__dwarf_free(dwarf->alternative);
	perch__scope_names_free(&dwarf->names);
	perch__dwarf_free_units(dwarf);
	if (dwarf->own)
		perch__dwarf_free_sections(dwarf->own);
	free(dwarf->own);
	free(dwarf);
}

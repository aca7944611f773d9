/* SPDX-License-Identifier: MIT */
/* Variables of functions (perch/variables.h): opens the debug information of their file. */
#include <stdlib.h>

#include "base/files/elf_section.h"
#include "base/no_memory.h"
#include "debug_info.h"
#include "symbols.h"

#define LOCATIONS_MAX (1ull << 30) /* bytes of lists of locations */

/* Reads the lists of locations of a file, for each lookup: few are made. A file may have none, or
 * units of both versions. */
static void read_locations(struct debug_info *info, struct dwarf_location_lists locations[2])
{
	static const char *const names[] = { ".debug_loclists", ".debug_loc" };
	struct elf_file *file = info->with_debug;

	for (size_t i = 0; i < PERCH__NR(names); i++) {
		const size_t index = perch__elf_section(file, names[i], SHT_PROGBITS);

		locations[i] = (struct dwarf_location_lists){ 0 };
		if (index &&
		    perch__elf_load_section(&file->elf, &file->elf.section[index], LOCATIONS_MAX,
					    &locations[i].bytes, &locations[i].size))
			locations[i] = (struct dwarf_location_lists){ 0 };
	}
}

static int open_debug(struct perch_symbols *symbols, const struct perch_dso *dso,
		      struct debug_info **info, struct perch_error *err)
{
	struct dso_symbols *cached = perch__symbols_of_dso(symbols, dso);
	const char *reason;

	if (!cached)
		return PERCH__NO_MEMORY(err, "for symbols");
	*info = perch__symbols_debug_info(symbols, cached);
	if (*info && perch__debug_read(*info))
		return 0;
	reason = cached->debug ? perch__debug_error(cached->debug) : NULL;
	return perch_error_set(err, ENOENT, PERCH_ERROR_FILE, "%s",
			       reason ? reason : "it has no debug information");
}

/* Finds debug information and address of an offset. */
static int find_debug(struct perch_symbols *symbols, const struct perch_dso *dso, uint64_t offset,
		      struct debug_info **info, uint64_t *address, struct perch_error *err)
{
	int rc = open_debug(symbols, dso, info, err);

	if (!rc && !perch__debug_address(*info, offset, address))
		rc = perch_error_set(err, ENOENT, PERCH_ERROR_FILE,
				     "no part of the file that is mapped has the offset");
	return rc;
}

int perch_symbols_variable(struct perch_symbols *symbols, const struct perch_dso *dso,
			   uint64_t offset, const char *text, struct perch_variable *variable,
			   struct perch_error *err)
{
	struct symbol_error error = { 0 };
	struct dwarf_location_lists locations[2];
	struct debug_info *info;
	uint64_t address;
	int rc = find_debug(symbols, dso, offset, &info, &address, err);

	if (rc)
		return rc;
	read_locations(info, locations);
	rc = perch__dwarf_variable(info->dwarf, locations, address, text, variable, &error);
	free(locations[0].bytes);
	free(locations[1].bytes);
	if (rc)
		perch_error_set(err, -rc, PERCH_ERROR_BAD_FIELD, "%s", error.text);
	return rc;
}

int perch_symbols_parameters(struct perch_symbols *symbols, const struct perch_dso *dso,
			     uint64_t offset, perch_parameter_visit *visit, void *context,
			     struct perch_error *err)
{
	struct debug_info *info;
	uint64_t address;
	int rc = find_debug(symbols, dso, offset, &info, &address, err);

	if (rc)
		return rc;
	rc = perch__dwarf_parameters(info->dwarf, address, visit, context);
	if (rc < 0)
		perch_error_set(err, -rc, PERCH_ERROR_FORMAT,
				"the debug information has no function there");
	return rc;
}

int perch_symbols_after_prologue(struct perch_symbols *symbols, const struct perch_dso *dso,
				 uint64_t offset, uint64_t *after, struct perch_error *err)
{
	struct debug_info *info;
	uint64_t address;
	int rc = find_debug(symbols, dso, offset, &info, &address, err);

	if (rc)
		return rc;
	rc = perch__dwarf_after_prologue(info->dwarf, address, after);
	if (rc)
		return perch_error_set(err, -rc, PERCH_ERROR_FORMAT,
				       "the debug information has no line after its first one");
	*after += offset - address;
	return 0;
}

int perch_symbols_address(struct perch_symbols *symbols, const struct perch_dso *dso,
			  uint64_t offset, uint64_t *address)
{
	struct debug_info *info;

	return find_debug(symbols, dso, offset, &info, address, NULL);
}

struct offsets {
	const struct debug_info *info;
	perch_line_visit *visit;
	perch_inlined_visit *visit_inlined;
	void *context;
};

static int visit_address(void *context, uint64_t address)
{
	const struct offsets *offsets = context;
	uint64_t offset;

	return perch__debug_offset(offsets->info, address, &offset)
		       ? offsets->visit(offsets->context, offset)
		       : 0;
}

int perch_symbols_line(struct perch_symbols *symbols, const struct perch_dso *dso,
		       const char *source, uint32_t line, perch_line_visit *visit, void *context,
		       uint32_t *next, struct perch_error *err)
{
	struct offsets offsets = { .visit = visit, .context = context };
	struct line_search search = {
		.source = source, .line = line, .visit = visit_address, .context = &offsets
	};
	struct debug_info *info;
	int rc = open_debug(symbols, dso, &info, err);

	*next = 0;
	if (rc)
		return rc;
	offsets.info = info;
	rc = perch__dwarf_visit_line(info->dwarf, &search);
	*next = search.next;
	if (rc == -ENOMEM)
		return PERCH__NO_MEMORY(err, "for lines");
	return rc || search.has_file
		       ? rc
		       : perch_error_set(err, ENOENT, PERCH_ERROR_FILE,
					 "the debug information has no source file '%s'", source);
}

static int visit_inlined(void *context, const char *name, uint64_t address)
{
	const struct offsets *offsets = context;
	uint64_t offset;

	return perch__debug_offset(offsets->info, address, &offset)
		       ? offsets->visit_inlined(offsets->context, name, offset)
		       : 0;
}

int perch_symbols_inlined(struct perch_symbols *symbols, const struct perch_dso *dso,
			  perch_inlined_visit *visit, void *context, struct perch_error *err)
{
	struct offsets offsets = { .visit_inlined = visit, .context = context };
	struct debug_info *info;
	int rc = open_debug(symbols, dso, &info, err);

	if (rc)
		return rc;
	offsets.info = info;
	rc = perch__dwarf_visit_inlined(info->dwarf, visit_inlined, &offsets);
	return rc == -ENOMEM ? PERCH__NO_MEMORY(err, "for inlined functions") : rc;
}

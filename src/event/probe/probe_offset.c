/* SPDX-License-Identifier: MIT */
/* Checks the offsets of user probes: the kernel takes each one in the file. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/function_name.h"
#include "probe.h"

/* The function that has an offset in the file. */
struct owner {
	uint64_t offset; /* in the file */
	uint64_t start;
	char name[128]; /* "" if there is none */
};

/* Of several functions the one with the highest start is the nearest one. */
static int visit_owner(void *context, const char *name, const struct perch__elf_function *function)
{
	struct owner *owner = context;
	const uint64_t size = function->size ? function->size : 1;

	if (owner->offset < function->offset || owner->offset - function->offset >= size ||
	    strlen(name) >= sizeof(owner->name) ||
	    (*owner->name && function->offset <= owner->start))
		return 0;
	owner->start = function->offset;
	strcpy(owner->name, name);
	return 0;
}

/* True if the name, as an event has it, is that of this function alone. */
static bool is_own_name(const struct perch__elf *elf, const struct owner *owner)
{
	struct perch__elf_function function;

	return !strpbrk(owner->name, PERCH__NAME_ENDS) &&
	       !perch__elf_find_function(elf, owner->name, &function) && !function.ambiguous &&
	       function.offset == owner->start;
}

int perch__check_function_offset(struct perch__parser *parser,
				 const struct perch__probe_spec *probe,
				 const struct perch__elf *elf,
				 const struct perch__elf_function *function)
{
	struct owner owner = { .start = 0 };

	if (!function->size || probe->offset < function->size ||
	    __builtin_add_overflow(function->offset, probe->offset, &owner.offset) ||
	    owner.offset >= elf->size)
		return 0;
	perch__parse_error(parser, probe->at_offset, EINVAL, PERCH_ERROR_BAD_FIELD,
			   "offset %#" PRIx64 " is beyond the end of the function '%s' of '%s', "
			   "which has %#" PRIx64 " bytes",
			   probe->offset, probe->symbol, probe->path, function->size);
	perch__elf_visit_functions(elf, visit_owner, &owner);
	if (!*owner.name)
		perch_error_remedy(parser->err,
				   "use an offset below %#" PRIx64
				   "; if no function is meant, the offset in the file is %#" PRIx64,
				   function->size, owner.offset);
	else if (is_own_name(elf, &owner))
		perch_error_remedy(parser->err,
				   "use an offset below %#" PRIx64
				   "; the function at that place is %s: use %s+0x%" PRIx64,
				   function->size, owner.name, owner.name,
				   owner.offset - owner.start);
	else
		perch_error_remedy(parser->err,
				   "use an offset below %#" PRIx64
				   "; the function at that place is '%s': use the offset in the "
				   "file, %#" PRIx64,
				   function->size, owner.name, owner.offset);
	return -EINVAL;
}

struct return_site {
	uint64_t offset;
	bool begins;	/* a function begins there */
	char name[128]; /* of another one that it is in, or "" */
};

static int visit_return_site(void *context, const char *name,
			     const struct perch__elf_function *function)
{
	struct return_site *site = context;

	if (function->offset == site->offset && !perch__is_moved_part(name))
		site->begins = true;
	else if (site->offset >= function->offset &&
		 site->offset - function->offset < function->size)
		snprintf(site->name, sizeof(site->name), "%.*s", (int)sizeof(site->name) - 1, name);
	return 0;
}

int perch__check_return_site(struct perch__parser *parser, const struct perch__probe_spec *probe,
			     const struct perch__elf *elf, uint64_t offset)
{
	struct return_site site = { .offset = offset };

	perch__elf_visit_functions(elf, visit_return_site, &site);
	if (site.begins || !site.name[0])
		return 0;
	perch__parse_error(parser, probe->at_offset, EINVAL, PERCH_ERROR_CONFLICT,
			   "a return probe must be at the first instruction of a function, and "
			   "%#" PRIx64 " is %s '%s'",
			   offset,
			   perch__is_moved_part(site.name) ? "in a part that is jumped to:"
							   : "inside of",
			   site.name);
	return -EINVAL;
}

/* Writes the range of the first executable segment that the file has: "0x1000 to 0x11ff". */
static bool describe_code(const struct perch__elf *elf, char *text, size_t size)
{
	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct perch__elf_segment *segment = &elf->segment[i];

		if (segment->type != PT_LOAD || !(segment->flags & PF_X) || !segment->size ||
		    segment->offset > UINT64_MAX - segment->size)
			continue;
		snprintf(text, size, "%#" PRIx64 " to %#" PRIx64, segment->offset,
			 segment->offset + segment->size - 1);
		return true;
	}
	return false;
}

int perch__check_in_code(struct perch__parser *parser, const struct perch__probe_spec *probe,
			 const struct perch__elf *elf, uint64_t offset)
{
	char range[64];

	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct perch__elf_segment *segment = &elf->segment[i];

		if (segment->type == PT_LOAD && segment->flags & PF_X &&
		    offset >= segment->offset && offset - segment->offset < segment->size)
			return 0;
	}
	perch__parse_error(parser, probe->at_offset, EINVAL, PERCH_ERROR_BAD_FIELD,
			   "offset %#" PRIx64 " of '%s' is in no executable segment: "
			   "no code is there",
			   offset, probe->path);
	if (describe_code(elf, range, sizeof(range)))
		perch_error_remedy(
			parser->err,
			"use the offset of an instruction; an executable segment is at %s", range);
	else
		perch_error_remedy(parser->err, "use a file with code");
	return -EINVAL;
}

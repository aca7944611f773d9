/* SPDX-License-Identifier: MIT */
/* Finds the split units of skeleton units: in a .dwp file, or else in .dwo files. */
#define _GNU_SOURCE /* asprintf */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dwarf.h>

#include "symbol/debug_info.h"

#define MOST_BYTES (1ull << 30) /* of all .dwo files of a program */

/*
 * Opens name in a directory, which may be relative to that of the program; NULL is that of the
 * program. Returns a descriptor or a negative errno.
 */
static int open_in(const struct debug_info *info, const char *directory, const char *name)
{
	bool whole = *name == '/', relative = !directory || *directory != '/';
	char *path;
	int fd;

	if (!whole && relative && info->directory[0] != '/')
		return -ENOENT;
	if (perch__asprintf(&path, "%s%s%s%s", whole || !relative ? "" : info->directory,
			    whole || !directory ? "" : directory, whole || !directory ? "" : "/",
			    name) < 0)
		return -ENOMEM;
	fd = perch__open_regular(NULL, path);
	free(path);
	return fd;
}

/*
 * GCC writes a section .debug_info.dwo for each type (DWARF 5 with -fdebug-types-section), before
 * the one with the compile unit. Makes the next one the first one. Returns false after the last.
 */
static bool hide_first(struct elf_file *file)
{
	size_t index = perch__elf_section(file, ".debug_info.dwo", SHT_PROGBITS);

	if (index)
		file->elf.section[index].name = "";
	return perch__elf_section(file, ".debug_info.dwo", SHT_PROGBITS);
}

/* True if the first section with units has that of a type alone: it is not worth loading. */
static bool has_type_alone(const struct elf_file *file)
{
	size_t index = perch__elf_section(file, ".debug_info.dwo", SHT_PROGBITS);
	const struct perch__elf_section *section = &file->elf.section[index];
	struct dwarf_unit unit = { 0 };
	uint8_t bytes[64];
	struct cursor cursor = { .at = bytes, .swapped = file->elf.swapped };
	ssize_t got = index ? perch__elf_read(&file->elf, bytes, section->offset, sizeof(bytes))
			    : -1;
	int type;

	if (got < 0 || section->flags & SHF_COMPRESSED)
		return false;
	cursor.end = bytes + got;
	return perch__dwarf_header(&unit, &cursor, section->size, &type) &&
	       type == DW_UT_split_type && unit.end == section->size;
}

/* Takes the unit from one section with units of the file. */
static int take_from(struct debug_info *info, struct elf_file *file, struct dwarf_unit *skeleton)
{
	static const struct dwarf_parts whole = { 0 };
	struct dwarf_section *section = perch__calloc(NR_DWARF_SECTIONS, sizeof(*section));
	int rc = section ? perch__dwarf_sections(section, file, ".dwo") : -ENOMEM;
	uint64_t size = 0;

	for (int id = 0; !rc && id < NR_DWARF_SECTIONS; id++)
		size += section[id].size;
	info->dwo_read += size;
	if (!rc && (size > MOST_BYTES - info->dwo_bytes || info->dwo_read > 8 * MOST_BYTES))
		rc = -EFBIG;
	if (!rc)
		rc = perch__dwarf_load_sections(section);
	if (!rc) {
		rc = perch__dwarf_take_split(skeleton, section, true, &whole);
		info->dwo_bytes += rc ? 0 : size;
		return rc;
	}
	if (section)
		perch__dwarf_free_sections(section);
	free(section);
	return rc == -EBADMSG ? -ENODATA : rc;
}

/* Takes fd. Returns 0, -ENODATA: the file does not have the unit, or another negative errno. */
static int take_from_file(struct debug_info *info, int fd, struct dwarf_unit *skeleton)
{
	struct elf_file file;
	int rc = perch__elf_open(&file, fd);

	if (rc)
		return rc == -ENOEXEC ? -ENODATA : rc;
	rc = perch__elf_sections(&file) ? -ENODATA : 0;
	if (!rc)
		do
			rc = has_type_alone(&file) ? -ENODATA : take_from(info, &file, skeleton);
		while (rc == -ENODATA && hide_first(&file));
	perch__elf_close(&file);
	return rc;
}

/*
 * Opens the split unit in a .dwo file: in the directory of the program, or in that of the
 * compilation. Returns 0, -ENOENT: there is no file, -ENODATA: a file does not have the unit, or
 * another negative errno.
 */
static int open_in_dwo(struct debug_info *info, struct dwarf_unit *skeleton, const char *name)
{
	const char *const directory[] = { NULL, skeleton->directory };
	int rc = -ENOENT;

	for (size_t i = 0; i < 2 && (rc == -ENOENT || rc == -ENODATA); i++) {
		int fd = open_in(info, directory[i], name);
		int found = fd < 0 ? fd : take_from_file(info, fd, skeleton);

		/* a file of another unit may be beside the program */
		if (found != -ENOENT)
			rc = found;
	}
	return rc;
}

static void set_error(struct debug_info *info, const char *name, int rc)
{
	perch__set_symbol_error(
		&info->error, "the file %s %s", name ? name : "without a name",
		rc == -ENOENT ? "with its split debug information is missing; keep the .dwo files, "
				"or put a .dwp file beside the program"
		: rc == -ENODATA ? "does not have its split debug information; compile it again"
				 : "with its split debug information cannot be opened");
}

static struct dwp *open_dwp_at(const struct debug_info *info, const char *path)
{
	struct dwp *dwp = NULL;

	for (size_t i = 0; !dwp && i < info->nr_roots; i++)
		dwp = perch__dwp_open(perch__open_regular(info->root[i], path));
	return dwp;
}

/*
 * Opens the file with the split units: beside the program, or below /usr/lib/debug. Servers of
 * debuginfod do not have such files.
 */
static struct dwp *find_dwp(const struct debug_info *info)
{
	const struct elf_file *file = info->has_file ? &info->file : info->with_debug;
	char path[PATH_MAX], id[2 * 20 + 2];
	struct dwp *dwp = NULL;

	if (info->dso->path[0] != '/')
		return NULL;
	if (snprintf(path, sizeof(path), "%s.dwp", info->dso->path) < (int)sizeof(path))
		dwp = open_dwp_at(info, path);
	if (!dwp && snprintf(path, sizeof(path), "/usr/lib/debug%s.dwp", info->dso->path) <
			    (int)sizeof(path))
		dwp = open_dwp_at(info, path);
	if (!dwp && file->build_id_size >= 2) {
		perch__build_id_path(file->build_id, (size_t)file->build_id_size, id);
		snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%s.dwp", id);
		dwp = open_dwp_at(info, path);
	}
	return dwp;
}

void perch__split_open(void *context, struct dwarf_unit *skeleton)
{
	struct debug_info *info = context;
	const char *name = NULL;
	int rc;

	if (!info->searched_dwp)
		info->dwp = find_dwp(info);
	info->searched_dwp = true;
	if (!info->dwp) {
		perch__dwarf_value_text(skeleton->dwarf, skeleton, &skeleton->split_name, &name);
		rc = name ? open_in_dwo(info, skeleton, name) : -ENODATA;
		if (rc)
			set_error(info, name, rc);
	} else if (perch__dwp_take(info->dwp, skeleton)) {
		perch__set_symbol_error(&info->error,
					"its .dwp file lacks a part of its debug information; make "
					"it again");
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Split units in .dwo files, which libdw opens by the names in the skeleton units. libdw 0.188
 * reads only the first .debug_info.dwo section of a file. GCC writes one for each type (DWARF 5
 * with -fdebug-types-section), before the one with the compile unit. Then libdw is shown a copy of
 * the file in memory without the sections of types: a second Dwarf, whose skeleton units name the
 * descriptor `target`, which is made that of the copy before libdw opens it.
 */
#define _GNU_SOURCE /* asprintf */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <dwarf.h>

#include "debug_info.h"

#define MOST_COPIED_BYTES (1ull << 30) /* of all .dwo files of a program */
enum {
	ID_OFFSET = 12, /* in a unit of DWARF 5, if it has no more than 4 GB */
	HEADER_SIZE = 20,
};

enum dwo_directory {
	BESIDE_PROGRAM,
	IN_COMPILATION,
	NR_DIRECTORIES,
};

struct dwo_view {
	int target;
	uint64_t copied;
	struct elf_file file; /* the debug information of the program */
	Dwarf *dwarf;	      /* NULL: not usable */
};

/* ---- the file ---- */

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

static const char *name_of(Dwarf_Die *skeleton)
{
	const char *name = perch__debug_text(skeleton, DW_AT_dwo_name);

	return name ? name : perch__debug_text(skeleton, DW_AT_GNU_dwo_name);
}

/* ---- the copy of a .dwo file ---- */

static bool has_units(const struct section *section)
{
	return section->type == SHT_PROGBITS && !strcmp(section->name, ".debug_info.dwo");
}

static bool has_several(const struct elf_file *file)
{
	size_t nr = 0;

	for (size_t i = 1; i < file->nr_sections; i++)
		nr += has_units(&file->section[i]);
	return nr > 1;
}

/* True if the section begins with the compile unit that has the id. */
static bool is_wanted(const struct elf_file *file, const struct section *section, uint64_t id)
{
	uint16_t version;
	uint64_t found;
	char *header;
	bool wanted;

	if (section->size < HEADER_SIZE)
		return false;
	header = perch__elf_bytes(file, section->offset, HEADER_SIZE);
	if (!header)
		return false;
	memcpy(&version, header + 4, sizeof(version));
	memcpy(&found, header + ID_OFFSET, sizeof(found));
	if (file->swapped) {
		version = __builtin_bswap16(version);
		found = __builtin_bswap64(found);
	}
	wanted = version == 5 && header[6] == DW_UT_split_compile && found == id;
	free(header);
	return wanted;
}

static size_t find_wanted(const struct elf_file *file, uint64_t id)
{
	for (size_t i = 1; i < file->nr_sections; i++)
		if (has_units(&file->section[i]) && is_wanted(file, &file->section[i], id))
			return i;
	return 0;
}

/* Makes the other sections with units of a type that libdw does not read. */
static int hide_others(const struct elf_file *copy, size_t wanted)
{
	uint32_t type = copy->swapped ? __builtin_bswap32(SHT_NOBITS) : SHT_NOBITS;

	for (size_t i = 1; i < copy->nr_sections; i++) {
		uint64_t at = copy->header.e_shoff + i * copy->header.e_shentsize +
			      offsetof(Elf64_Shdr, sh_type); /* as in Elf32_Shdr */

		if (i != wanted && has_units(&copy->section[i]) &&
		    pwrite(copy->fd, &type, sizeof(type), (off_t)at) != sizeof(type))
			return -ENOMEM;
	}
	return 0;
}

/* Takes fd. Opens a file that libdw does not read. Returns 0, -ENODATA or another negative errno.
 */
static int open_several(struct elf_file *file, int fd)
{
	int rc = perch__elf_open(file, fd);

	if (!rc) {
		rc = perch__elf_sections(file);
		if (!rc && !has_several(file))
			rc = -ENODATA;
		if (rc)
			perch__elf_close(file);
	}
	return rc == -ENOEXEC || rc == -EBADMSG ? -ENODATA : rc;
}

/* Makes a copy of the file the target. Returns 0, -ENODATA: the file does not have the unit, or
 * another negative errno. */
static int make_target(struct dwo_view *view, struct elf_file *file, uint64_t id)
{
	struct elf_file copy;
	size_t wanted;
	int rc = file->size > MOST_COPIED_BYTES - view->copied ? -EFBIG
							       : perch__elf_copy_debug(&copy, file);

	if (rc)
		return rc;
	view->copied += copy.size < MOST_COPIED_BYTES - view->copied
				? copy.size
				: MOST_COPIED_BYTES - view->copied;
	wanted = find_wanted(&copy, id);
	rc = wanted ? hide_others(&copy, wanted) : -ENODATA;
	if (!rc && dup3(copy.fd, view->target, O_CLOEXEC) < 0)
		rc = -errno;
	perch__elf_close(&copy);
	return rc;
}

/* ---- the program ---- */

static struct dwo_view *open_view(struct debug_info *info)
{
	struct dwo_view *view = perch__calloc(1, sizeof(*view));

	if (!view)
		return NULL;
	/* any descriptor: it keeps its number until the copies take it */
	view->target = fcntl(info->with_debug->fd, F_DUPFD_CLOEXEC, 0);
	if (view->target < 0 || perch__split_redirect(&view->file, info->with_debug, view->target))
		return view;
	view->dwarf = PERCH__COUNTED_CALL(dwarf_begin_elf(view->file.elf, DWARF_C_READ, NULL));
	if (!view->dwarf)
		perch__elf_close(&view->file);
	return view;
}

void perch__dwo_free(struct dwo_view *view)
{
	if (!view)
		return;
	if (view->dwarf) {
		dwarf_end(view->dwarf);
		perch__elf_close(&view->file);
	}
	if (view->target >= 0)
		close(view->target);
	free(view);
}

static bool find_split(Dwarf_Die *skeleton, Dwarf_Die *split)
{
	Dwarf_Die found;

	if (dwarf_cu_info(skeleton->cu, NULL, NULL, NULL, &found, NULL, NULL, NULL) || !found.cu)
		return false;
	*split = found;
	return true;
}

/* Takes fd. Returns 0, -ENODATA: the file does not have the unit, or another negative errno. */
static int open_copy(struct debug_info *info, int fd, Dwarf_Die *skeleton, uint64_t id,
		     Dwarf_Die *split)
{
	struct elf_file file;
	Dwarf_Die other;
	int rc = open_several(&file, fd);

	if (rc)
		return rc;
	if (!info->dwo)
		info->dwo = open_view(info);
	rc = info->dwo && info->dwo->dwarf ? make_target(info->dwo, &file, id) : -ENOTSUP;
	perch__elf_close(&file);
	if (rc)
		return rc;
	if (!dwarf_offdie(info->dwo->dwarf, dwarf_dieoffset(skeleton), &other) ||
	    !find_split(&other, split))
		return -ENODATA;
	*skeleton = other;
	return 0;
}

/*
 * Opens the split unit in a .dwo file where libdw searches it: in the directory of the program, and
 * then in that of the compilation. Neither is opened if one is a FIFO, which libdw would wait for.
 * Returns 0, -ENOENT: there is no file, -ENODATA: a file does not have the unit, or another
 * negative errno.
 */
static int open_in_dwo(struct debug_info *info, Dwarf_Die *skeleton, uint64_t id, Dwarf_Die *split)
{
	const char *name = name_of(skeleton);
	int fd[NR_DIRECTORIES], rc = -ENOENT;

	if (!name)
		return -ENODATA;
	fd[BESIDE_PROGRAM] = open_in(info, NULL, name);
	fd[IN_COMPILATION] = open_in(info, perch__debug_text(skeleton, DW_AT_comp_dir), name);
	if (fd[BESIDE_PROGRAM] == -ENXIO || fd[IN_COMPILATION] == -ENXIO)
		rc = -ENXIO;
	else if (find_split(skeleton, split))
		rc = 0;
	for (size_t i = 0; i < NR_DIRECTORIES; i++) {
		if (fd[i] >= 0 && rc && rc != -ENXIO)
			rc = open_copy(info, fd[i], skeleton, id, split);
		else if (fd[i] >= 0)
			close(fd[i]);
		else if (rc == -ENOENT)
			rc = fd[i];
	}
	return rc;
}

static void set_error(struct debug_info *info, Dwarf_Die *skeleton, int rc)
{
	const char *name = name_of(skeleton);

	perch__set_symbol_error(
		&info->error, "the file %s %s", name ? name : "without a name",
		rc == -ENOENT ? "with its split debug information is missing; keep the .dwo files, "
				"or put a .dwp file beside the program"
		: rc == -ENODATA ? "does not have its split debug information; compile it again"
				 : "with its split debug information cannot be opened");
}

void perch__split_open(struct debug_info *info, Dwarf_Die *skeleton, uint64_t id, Dwarf_Die *split)
{
	int rc;

	if (!info->dwp) {
		rc = open_in_dwo(info, skeleton, id, split);
		if (rc)
			set_error(info, skeleton, rc);
	} else if (!perch__dwp_select(info->dwp, id) || !find_split(skeleton, split))
		perch__set_symbol_error(&info->error,
					"its .dwp file lacks a part of its debug information; make "
					"it again");
}

/* SPDX-License-Identifier: MIT */
/*
 * Split units in a .dwp file. libdw 0.188 reads a split unit only from a .dwo file, which the
 * skeleton unit names. So the .dwp is copied into a file in memory, and a table of sections that
 * shows only the parts of one unit is written to it before libdw opens that unit. libdw maps the
 * file and keeps the addresses of the sections, so the next table does not change the units that
 * are open. The skeleton units, in a copy of the program's debug information, name this file.
 */
#define _GNU_SOURCE
#include <dwarf.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "dwp.h"

enum {
	MOST_COLUMNS = 16,
	MOST_UNITS = 1 << 22,
	MOST_SECTIONS = 16, /* of the table */
};

/* The sections of a unit, by their numbers in the index. 0: not needed. */
static const char *const names_2[] = { NULL,
				       ".debug_info.dwo",
				       NULL,
				       ".debug_abbrev.dwo",
				       ".debug_line.dwo",
				       ".debug_loc.dwo",
				       ".debug_str_offsets.dwo",
				       NULL,
				       NULL };
static const char *const names_5[] = { NULL,
				       ".debug_info.dwo",
				       NULL,
				       ".debug_abbrev.dwo",
				       ".debug_line.dwo",
				       ".debug_loclists.dwo",
				       ".debug_str_offsets.dwo",
				       NULL,
				       ".debug_rnglists.dwo" };
enum { NR_NAMES = sizeof(names_2) / sizeof(names_2[0]) };

struct part {
	const char *name;
	uint64_t offset, size; /* in the file */
};

struct dwp {
	struct elf_file file; /* the copy */
	uint64_t end;	      /* where names and headers of the table of sections are */
	char *index;	      /* .debug_cu_index */
	uint64_t index_size;
	uint32_t version, nr_columns, nr_units, nr_slots;
};

static uint64_t number_at(const struct dwp *dwp, uint64_t at, size_t size)
{
	uint16_t half;
	uint32_t word;
	uint64_t whole;

	switch (size) {
	case 2:
		memcpy(&half, dwp->index + at, 2);
		return dwp->file.swapped ? __builtin_bswap16(half) : half;
	case 4:
		memcpy(&word, dwp->index + at, 4);
		return dwp->file.swapped ? __builtin_bswap32(word) : word;
	default:
		memcpy(&whole, dwp->index + at, 8);
		return dwp->file.swapped ? __builtin_bswap64(whole) : whole;
	}
}

/* Version 2 has 4 bytes; version 5 has 2 bytes, and 2 bytes without meaning. */
static bool read_index(struct dwp *dwp)
{
	size_t index = perch__elf_section(&dwp->file, ".debug_cu_index", SHT_PROGBITS);
	const struct section *section = &dwp->file.section[index];
	uint64_t needed;

	if (!index || section->size < 16)
		return false;
	dwp->index = perch__elf_bytes(&dwp->file, section->offset, section->size);
	if (!dwp->index)
		return false;
	dwp->index_size = section->size;
	dwp->version = (uint32_t)number_at(dwp, 0, 4);
	if (dwp->version != 2)
		dwp->version = (uint32_t)number_at(dwp, 0, 2);
	dwp->nr_columns = (uint32_t)number_at(dwp, 4, 4);
	dwp->nr_units = (uint32_t)number_at(dwp, 8, 4);
	dwp->nr_slots = (uint32_t)number_at(dwp, 12, 4);
	if ((dwp->version != 2 && dwp->version != 5) || !dwp->nr_columns ||
	    dwp->nr_columns > MOST_COLUMNS || dwp->nr_units > MOST_UNITS ||
	    dwp->nr_slots > 4 * MOST_UNITS || !dwp->nr_slots ||
	    (dwp->nr_slots & (dwp->nr_slots - 1)))
		return false;
	needed = 16 + 12ull * dwp->nr_slots + 4ull * dwp->nr_columns +
		 8ull * dwp->nr_units * dwp->nr_columns;
	return needed <= dwp->index_size;
}

struct dwp *perch__dwp_open(int fd)
{
	struct dwp *dwp = perch__calloc(1, sizeof(*dwp));
	struct elf_file file;
	int rc;

	if (!dwp || fd < 0 || perch__elf_open(&file, fd)) {
		free(dwp);
		return NULL;
	}
	rc = perch__elf_copy_debug(&dwp->file, &file);
	perch__elf_close(&file);
	if (rc) {
		free(dwp);
		return NULL;
	}
	dwp->end = (dwp->file.size + 15) & ~15ull;
	if (!read_index(dwp)) {
		perch__dwp_free(dwp);
		return NULL;
	}
	return dwp;
}

void perch__dwp_free(struct dwp *dwp)
{
	if (!dwp)
		return;
	perch__elf_close(&dwp->file);
	free(dwp->index);
	free(dwp);
}

/* ---- the file of one unit ---- */

/* Returns the row of a unit, from 1; 0 if there is none. */
static uint32_t find_row(const struct dwp *dwp, uint64_t id)
{
	uint64_t mask = dwp->nr_slots - 1, slot = id & mask, step = (id >> 32 & mask) | 1;

	for (uint32_t i = 0; i < dwp->nr_slots; i++, slot = (slot + step) & mask) {
		uint32_t row = (uint32_t)number_at(dwp, 16 + 8ull * dwp->nr_slots + 4 * slot, 4);

		if (!row)
			return 0;
		if (number_at(dwp, 16 + 8 * slot, 8) == id)
			return row <= dwp->nr_units ? row : 0;
	}
	return 0;
}

/* Adds a part of a section of the .dwp. size: UINT64_MAX is the whole section. */
static bool add_part(const struct dwp *dwp, struct part *part, size_t *nr, const char *name,
		     uint64_t offset, uint64_t size)
{
	size_t index = perch__elf_section(&dwp->file, name, SHT_PROGBITS);
	const struct section *section = &dwp->file.section[index];

	if (!index)
		return size == UINT64_MAX || !size;
	if (size == UINT64_MAX)
		size = section->size;
	if (offset > section->size || size > section->size - offset)
		return false;
	part[(*nr)++] = (struct part){ name, section->offset + offset, size };
	return true;
}

static bool find_parts(const struct dwp *dwp, uint32_t row, struct part *part, size_t *nr)
{
	uint64_t columns = 16 + 12ull * dwp->nr_slots;
	uint64_t offsets = columns + 4ull * dwp->nr_columns * row;
	uint64_t sizes = offsets + 4ull * dwp->nr_columns * dwp->nr_units;

	for (uint32_t i = 0; i < dwp->nr_columns; i++) {
		uint64_t number = number_at(dwp, columns + 4ull * i, 4);
		const char *name =
			number < NR_NAMES ? (dwp->version == 2 ? names_2 : names_5)[number] : NULL;

		if (name && !add_part(dwp, part, nr, name, number_at(dwp, offsets + 4ull * i, 4),
				      number_at(dwp, sizes + 4ull * i, 4)))
			return false;
	}
	return add_part(dwp, part, nr, ".debug_str.dwo", 0, UINT64_MAX);
}

/* Writes numbers in the byte order of the file. */
struct writer {
	const struct elf_file *file;
	uint8_t bytes[4096];
	size_t size;
};

static void put(struct writer *writer, uint64_t value, size_t size)
{
	bool big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != writer->file->swapped;

	for (size_t i = 0; i < size; i++)
		writer->bytes[writer->size++] = (uint8_t)(value >> 8 * (big ? size - 1 - i : i));
}

static void put_section(struct writer *writer, uint32_t name, uint32_t type, uint64_t offset,
			uint64_t size)
{
	size_t word = writer->file->header.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;

	put(writer, name, 4);
	put(writer, type, 4);
	put(writer, 0, word); /* flags, address */
	put(writer, 0, word);
	put(writer, offset, word);
	put(writer, size, word);
	put(writer, 0, 8);    /* link and info */
	put(writer, 1, word); /* alignment, entry size */
	put(writer, 0, word);
}

/* Sets the table of sections in the header of the file. */
static bool set_header(const struct dwp *dwp, uint64_t table, size_t nr)
{
	bool wide = dwp->file.header.e_ident[EI_CLASS] == ELFCLASS64;
	struct writer offset = { .file = &dwp->file }, numbers = { .file = &dwp->file };

	put(&offset, table, wide ? 8 : 4);
	put(&numbers, nr, 2); /* e_shnum, e_shstrndx */
	put(&numbers, nr - 1, 2);
	return pwrite(dwp->file.fd, offset.bytes, offset.size,
		      wide ? offsetof(Elf64_Ehdr, e_shoff) : offsetof(Elf32_Ehdr, e_shoff)) ==
		       (ssize_t)offset.size &&
	       pwrite(dwp->file.fd, numbers.bytes, numbers.size,
		      wide ? offsetof(Elf64_Ehdr, e_shnum) : offsetof(Elf32_Ehdr, e_shnum)) ==
		       (ssize_t)numbers.size;
}

bool perch__dwp_select(struct dwp *dwp, uint64_t id)
{
	uint32_t row = find_row(dwp, id), name[MOST_SECTIONS];
	struct writer writer = { .file = &dwp->file };
	struct part part[MOST_SECTIONS + 2];
	size_t nr = 0, names;

	if (!row || !find_parts(dwp, row, part, &nr) || nr > MOST_SECTIONS)
		return false;
	put(&writer, 0, 1);
	for (size_t i = 0; i < nr; i++) {
		size_t length = strlen(part[i].name) + 1;

		name[i] = (uint32_t)writer.size;
		memcpy(writer.bytes + writer.size, part[i].name, length);
		writer.size += length;
	}
	memcpy(writer.bytes + writer.size, ".shstrtab", 10);
	names = writer.size;
	writer.size += 10;
	while (writer.size % 8)
		put(&writer, 0, 1);
	uint64_t table = dwp->end + writer.size;

	put_section(&writer, 0, SHT_NULL, 0, 0);
	for (size_t i = 0; i < nr; i++)
		put_section(&writer, name[i], SHT_PROGBITS, part[i].offset, part[i].size);
	put_section(&writer, (uint32_t)names, SHT_STRTAB, dwp->end, names + 10);
	return pwrite(dwp->file.fd, writer.bytes, writer.size, (off_t)dwp->end) ==
		       (ssize_t)writer.size &&
	       set_header(dwp, table, nr + 2);
}

/* ---- the names in the skeleton units ---- */

/* Appends a text to .debug_str of the copy. Returns its offset in the section, or a negative errno.
 */
static int64_t append_text(struct elf_file *copy, const char *text)
{
	size_t index = perch__elf_section(copy, ".debug_str", SHT_PROGBITS);
	const struct section *section = &copy->section[index];
	bool wide = copy->header.e_ident[EI_CLASS] == ELFCLASS64;
	struct writer offset = { .file = copy }, size = { .file = copy };
	uint64_t at = copy->header.e_shoff + index * copy->header.e_shentsize;
	uint64_t new_size = section->size + strlen(text) + 1, end = (copy->size + 15) & ~15ull;
	char *bytes;
	bool done;

	if (!index || new_size > UINT32_MAX)
		return -ENOENT;
	bytes = perch__elf_bytes(copy, section->offset, section->size);
	if (!bytes)
		return -ENOMEM;
	put(&offset, end, wide ? 8 : 4);
	put(&size, new_size, wide ? 8 : 4);
	done = pwrite(copy->fd, bytes, section->size, (off_t)end) == (ssize_t)section->size &&
	       pwrite(copy->fd, text, strlen(text) + 1, (off_t)(end + section->size)) ==
		       (ssize_t)strlen(text) + 1 &&
	       pwrite(copy->fd, offset.bytes, offset.size,
		      (off_t)(at + (wide ? offsetof(Elf64_Shdr, sh_offset)
					 : offsetof(Elf32_Shdr, sh_offset)))) ==
		       (ssize_t)offset.size &&
	       pwrite(copy->fd, size.bytes, size.size,
		      (off_t)(at + (wide ? offsetof(Elf64_Shdr, sh_size)
					 : offsetof(Elf32_Shdr, sh_size)))) == (ssize_t)size.size;
	free(bytes);
	return done ? (int64_t)section->size : -ENOMEM;
}

/* Returns the offset in a section of the copy that has the bytes of an attribute; 0 if none.
 */
static uint64_t position_of(const struct elf_file *copy, const char *name, const void *at)
{
	size_t index = perch__elf_section(copy, name, SHT_PROGBITS);
	Elf_Data *data =
		index ? PERCH__COUNTED_CALL(elf_rawdata(elf_getscn(copy->elf, index), NULL)) : NULL;
	const uint8_t *begin = data ? data->d_buf : NULL, *byte = at;

	if (!begin || byte < begin || byte + 4 > begin + data->d_size)
		return 0;
	return copy->section[index].offset + (uint64_t)(byte - begin);
}

/* Returns where the copy has the 4 bytes with the offset of the name of the .dwo; 0: not known. */
static uint64_t find_name(const struct elf_file *copy, Dwarf_Die *die)
{
	Dwarf_Attribute name, base;
	Dwarf_Word first = 8, index = 0;
	size_t size, section;
	uint64_t offset;

	if (!dwarf_attr(die, DW_AT_dwo_name, &name) && !dwarf_attr(die, DW_AT_GNU_dwo_name, &name))
		return 0;
	switch (dwarf_whatform(&name)) {
	case DW_FORM_strp:
		return position_of(copy, ".debug_info", name.valp);
	case DW_FORM_strx1:
		size = 1;
		break;
	case DW_FORM_strx2:
		size = 2;
		break;
	case DW_FORM_strx4:
		size = 4;
		break;
	default:
		return 0;
	}
	if (!position_of(copy, ".debug_info", name.valp) || copy->swapped)
		return 0;
	memcpy(&index, name.valp, size);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	index >>= 8 * (sizeof(index) - size);
#endif
	if (dwarf_attr(die, DW_AT_str_offsets_base, &base) && dwarf_formudata(&base, &first))
		return 0;
	section = perch__elf_section(copy, ".debug_str_offsets", SHT_PROGBITS);
	offset = first + 4 * index;
	if (!section || first > copy->section[section].size ||
	    offset + 4 > copy->section[section].size)
		return 0;
	return copy->section[section].offset + offset;
}

static int rename_units(struct elf_file *copy, Dwarf *dwarf, uint32_t text)
{
	struct writer value = { .file = copy };
	Dwarf_CU *unit = NULL;
	uint8_t type;
	Dwarf_Die die;

	put(&value, text, 4);
	while (!dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, NULL)) {
		uint64_t at = type == DW_UT_skeleton ? find_name(copy, &die) : 0;

		if (at && pwrite(copy->fd, value.bytes, 4, (off_t)at) != 4)
			return -ENOMEM;
	}
	return 0;
}

int perch__split_redirect(struct elf_file *result, struct elf_file *file, int target)
{
	struct elf_file copy;
	char path[64];
	Dwarf *dwarf;
	int64_t text;
	int rc = perch__elf_copy_debug(&copy, file), fd;

	if (rc)
		return rc;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", target);
	dwarf = PERCH__COUNTED_CALL(dwarf_begin_elf(copy.elf, DWARF_C_READ, NULL));
	text = dwarf ? append_text(&copy, path) : -EBADMSG;
	rc = text < 0 ? (int)text : rename_units(&copy, dwarf, (uint32_t)text);
	dwarf_end(dwarf);
	fd = rc ? -1 : fcntl(copy.fd, F_DUPFD_CLOEXEC, 0);
	perch__elf_close(&copy);
	if (rc || fd < 0)
		return rc ? rc : -ENOMEM;
	return perch__elf_open(result, fd);
}

int perch__dwp_redirect(const struct dwp *dwp, struct elf_file *result, struct elf_file *file)
{
	if (file->swapped != dwp->file.swapped)
		return -ENOENT;
	return perch__split_redirect(result, file, dwp->file.fd);
}

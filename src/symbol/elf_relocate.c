/* SPDX-License-Identifier: MIT */
/*
 * Relocates the debug information of relocatable files, such as kernel modules: only numbers of 4
 * or 8 bytes that are an address or an offset in another section.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/memory.h"
#include "internal.h"

/* Returns the bytes of the number that a relocation sets; 0: it sets none; -EINVAL. */
static int width_of(const struct elf_file *file, uint32_t type)
{
	static const struct {
		uint16_t machine;
		uint32_t type;
		int width;
	} supported[] = {
		{ EM_X86_64, R_X86_64_NONE, 0 },    { EM_X86_64, R_X86_64_64, 8 },
		{ EM_X86_64, R_X86_64_32, 4 },	    { EM_X86_64, R_X86_64_32S, 4 },
		{ EM_386, R_386_NONE, 0 },	    { EM_386, R_386_32, 4 },
		{ EM_AARCH64, R_AARCH64_NONE, 0 },  { EM_AARCH64, R_AARCH64_ABS64, 8 },
		{ EM_AARCH64, R_AARCH64_ABS32, 4 },
	};

	for (size_t i = 0; i < sizeof(supported) / sizeof(supported[0]); i++)
		if (file->header.e_machine == supported[i].machine && type == supported[i].type)
			return supported[i].width;
	return -EINVAL;
}

static uint64_t get(const struct elf_file *file, const char *at, int width)
{
	uint32_t half;
	uint64_t whole;

	if (width == 4) {
		memcpy(&half, at, 4);
		return file->swapped ? __builtin_bswap32(half) : half;
	}
	memcpy(&whole, at, 8);
	return file->swapped ? __builtin_bswap64(whole) : whole;
}

static void put(const struct elf_file *file, char *at, int width, uint64_t value)
{
	uint32_t half = (uint32_t)value;

	half = file->swapped ? __builtin_bswap32(half) : half;
	value = file->swapped ? __builtin_bswap64(value) : value;
	memcpy(at, width == 4 ? (const void *)&half : (const void *)&value, (size_t)width);
}

/* The relocations of one section. */
struct relocations {
	const struct elf_file *file;
	Elf_Data *data, *symbols;
	bool addend; /* SHT_RELA */
	size_t nr;
};

static bool read_relocations(struct relocations *relocations, const struct elf_file *file,
			     size_t index)
{
	const struct section *section = &file->section[index];
	Elf_Scn *own = elf_getscn(file->elf, index), *linked = elf_getscn(file->elf, section->link);
	size_t size;

	*relocations = (struct relocations){ .file = file, .addend = section->type == SHT_RELA };
	if (!own || !linked || section->link >= file->nr_sections ||
	    file->section[section->link].type != SHT_SYMTAB)
		return false;
	relocations->data = PERCH__COUNTED_CALL(elf_getdata(own, NULL));
	relocations->symbols = PERCH__COUNTED_CALL(elf_getdata(linked, NULL));
	size = gelf_fsize(file->elf, relocations->addend ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
	if (!relocations->data || !relocations->symbols || !size)
		return false;
	relocations->nr = relocations->data->d_size / size;
	return relocations->nr <= INT32_MAX;
}

/* Sets the address of a symbol. */
static bool find_value(const struct relocations *relocations, uint32_t number, uint64_t *value)
{
	const struct elf_file *file = relocations->file;
	GElf_Sym symbol;

	*value = 0;
	if (!number)
		return true;
	if (number > INT32_MAX || !gelf_getsym(relocations->symbols, (int)number, &symbol) ||
	    (symbol.st_shndx >= SHN_LORESERVE && symbol.st_shndx != SHN_ABS))
		return false;
	*value = symbol.st_value;
	if (symbol.st_shndx < file->nr_sections && file->section[symbol.st_shndx].code)
		*value += file->section[symbol.st_shndx].offset;
	return true;
}

static int relocate(const struct relocations *relocations, size_t i, char *bytes, uint64_t size)
{
	const struct elf_file *file = relocations->file;
	GElf_Rela rela = { 0 };
	GElf_Rel rel;
	uint64_t value;
	int width;

	if (relocations->addend) {
		if (!gelf_getrela(relocations->data, (int)i, &rela))
			return -EBADMSG;
	} else {
		if (!gelf_getrel(relocations->data, (int)i, &rel))
			return -EBADMSG;
		rela.r_offset = rel.r_offset;
		rela.r_info = rel.r_info;
	}
	width = width_of(file, (uint32_t)GELF_R_TYPE(rela.r_info));
	if (width <= 0)
		return width;
	if (rela.r_offset > size || (uint64_t)width > size - rela.r_offset ||
	    !find_value(relocations, (uint32_t)GELF_R_SYM(rela.r_info), &value))
		return -EBADMSG;
	value += relocations->addend ? (uint64_t)rela.r_addend
				     : get(file, bytes + rela.r_offset, width);
	put(file, bytes + rela.r_offset, width, value);
	return 0;
}

/* The bytes that may still be read. Sections that overlap would make them many times the file. */
struct budget {
	uint64_t relocations, targets;
};

static bool spend(uint64_t *left, uint64_t size)
{
	if (size > *left)
		return false;
	*left -= size;
	return true;
}

/* Relocates the section of the copy that relocation section `index` of the file is for. */
static int relocate_section(const struct elf_file *copy, const struct elf_file *file, size_t index,
			    struct budget *budget)
{
	const struct section *section = &copy->section[file->section[index].info];
	struct relocations relocations;
	char *bytes;
	int rc = 0;

	if (!spend(&budget->relocations, file->section[index].size) ||
	    !spend(&budget->targets, section->size) || !read_relocations(&relocations, file, index))
		return -EBADMSG;
	bytes = perch__elf_bytes(copy, section->offset, section->size);
	if (!bytes)
		return -ENOMEM;
	for (size_t i = 0; !rc && i < relocations.nr; i++)
		rc = relocate(&relocations, i, bytes, section->size);
	if (!rc && pwrite(copy->fd, bytes, section->size, (off_t)section->offset) !=
			   (ssize_t)section->size)
		rc = -ENOMEM;
	free(bytes);
	return rc;
}

static bool has_debug_relocations(const struct elf_file *file, size_t index)
{
	const struct section *section = &file->section[index];

	return (section->type == SHT_RELA || section->type == SHT_REL) && section->info &&
	       section->info < file->nr_sections &&
	       !strncmp(file->section[section->info].name, ".debug_", 7);
}

/* The copy is no relocatable file any more. */
static int set_type(const struct elf_file *copy)
{
	uint16_t type = copy->swapped ? __builtin_bswap16(ET_EXEC) : ET_EXEC;

	return pwrite(copy->fd, &type, sizeof(type), offsetof(Elf64_Ehdr, e_type)) == sizeof(type)
		       ? 0
		       : -ENOMEM;
}

int perch__elf_relocate(struct elf_file *file)
{
	struct budget budget;
	struct elf_file copy;
	int rc = perch__elf_copy_debug(&copy, file), fd = -1;

	if (rc)
		return rc;
	/* Each section is relocated by at most two others, SHT_REL and SHT_RELA. */
	budget = (struct budget){ .relocations = file->size, .targets = 2 * copy.size };
	if (copy.nr_sections < file->nr_sections)
		rc = -EBADMSG;
	for (size_t i = 1; !rc && i < file->nr_sections; i++)
		if (has_debug_relocations(file, i))
			rc = relocate_section(&copy, file, i, &budget);
	if (!rc)
		rc = set_type(&copy);
	if (!rc)
		fd = fcntl(copy.fd, F_DUPFD_CLOEXEC, 0);
	perch__elf_close(&copy);
	if (rc || fd < 0)
		return rc ? rc : -ENOMEM;
	rc = perch__elf_open(&copy, fd);
	if (rc)
		return rc;
	perch__elf_close(file);
	*file = copy;
	return 0;
}

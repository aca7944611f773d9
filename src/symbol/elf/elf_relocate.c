/* SPDX-License-Identifier: MIT */
/*
 * Relocates the debug information of relocatable files, such as kernel modules: only numbers of 4
 * or 8 bytes that are an address or an offset in another section.
 */
#include "base/files/elf_section.h"
#include "base/memory.h"
#include "symbol/internal.h"

#define MOST_BYTES (1ull << 30)

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

	for (size_t i = 0; i < PERCH__NR(supported); i++)
		if (file->elf.machine == supported[i].machine && type == supported[i].type)
			return supported[i].width;
	return -EINVAL;
}

/* The numbers that are relocated have the byte order of the file. */
static void put_value(const struct elf_file *file, uint8_t *at, int width, uint64_t value)
{
	uint32_t half = (uint32_t)value;

	half = file->elf.swapped ? __builtin_bswap32(half) : half;
	value = file->elf.swapped ? __builtin_bswap64(value) : value;
	memcpy(at, width == 4 ? (const void *)&half : (const void *)&value, (size_t)width);
}

/* The relocations of one section. */
struct section_relocations {
	const struct elf_file *file;
	struct perch__elf_symbols symbols;
	uint8_t *bytes;
	size_t nr;
	bool addend; /* SHT_RELA */
};

/* Sets the address of a symbol. */
static bool find_value(const struct section_relocations *relocations, uint32_t number,
		       uint64_t *value)
{
	const struct elf_file *file = relocations->file;
	struct perch__elf_symbol symbol;

	*value = 0;
	if (!number)
		return true;
	if (!perch__elf_symbol(&relocations->symbols, number, &symbol) ||
	    (symbol.section >= SHN_LORESERVE && symbol.section != SHN_ABS))
		return false;
	*value = symbol.value;
	if (symbol.section < file->elf.nr_sections && file->elf.section[symbol.section].code)
		*value += file->elf.section[symbol.section].offset;
	return true;
}

static int relocate_one(const struct section_relocations *relocations, size_t i, uint8_t *bytes,
			uint64_t size)
{
	const struct elf_file *file = relocations->file;
	struct perch__elf_relocation one =
		perch__elf_relocation(&file->elf, relocations->bytes, i, relocations->addend);
	int width = width_of(file, one.type);
	uint64_t value;

	if (width <= 0)
		return width;
	if (one.offset > size || (uint64_t)width > size - one.offset ||
	    !find_value(relocations, one.symbol, &value))
		return -EBADMSG;
	bytes += one.offset;
	value += relocations->addend ? (uint64_t)one.addend
				     : perch__elf_word(&file->elf, bytes, (size_t)width);
	put_value(file, bytes, width, value);
	return 0;
}

/* Applies the relocations in section `index` to the bytes of another section. */
static int relocate_by(const struct elf_file *file, size_t index, uint8_t *bytes, uint64_t size)
{
	const struct perch__elf_section *section = &file->elf.section[index];
	struct section_relocations relocations = { .file = file,
						   .addend = section->type == SHT_RELA };
	size_t bytes_size;
	int rc;

	if (section->link >= file->elf.nr_sections ||
	    file->elf.section[section->link].type != SHT_SYMTAB)
		return -EBADMSG;
	rc = perch__elf_load_section(&file->elf, &file->elf.section[index], MOST_BYTES,
				     &relocations.bytes, &bytes_size);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	relocations.nr = bytes_size / (relocations.addend ? PERCH__ELF_SIZE(&file->elf, Rela)
							  : PERCH__ELF_SIZE(&file->elf, Rel));
	rc = perch__elf_symbols_load(&relocations.symbols, &file->elf, section->link,
				     perch__elf_load_section);
	for (size_t i = 0; !rc && i < relocations.nr; i++)
		rc = relocate_one(&relocations, i, bytes, size);
	perch__elf_symbols_clear(&relocations.symbols);
	free(relocations.bytes);
	return rc;
}

int perch__elf_relocate(const struct elf_file *file, size_t index, uint8_t *bytes, uint64_t size)
{
	unsigned nr = 0;
	int rc = 0;

	/* by at most two others, SHT_REL and SHT_RELA; more would take time without limit */
	for (size_t i = 1; !rc && i < file->elf.nr_sections; i++)
		if ((file->elf.section[i].type == SHT_RELA ||
		     file->elf.section[i].type == SHT_REL) &&
		    file->elf.section[i].info == index)
			rc = nr++ < 2 ? relocate_by(file, i, bytes, size) : -EBADMSG;
	return rc;
}

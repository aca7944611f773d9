/* SPDX-License-Identifier: MIT */
/*
 * Rules of a function of a JIT compiler: the .eh_frame that its jitdump has. libdw reads it from an
 * ELF file, which is made in memory. Most such functions have one entry, so it is made for each
 * address again.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "internal.h"

/* The addresses are those of a file with the function at START. */
enum { START = 0x1000, MAX_BYTES = 1 << 20 };

static const char names[] = "\0.eh_frame\0.shstrtab";

static void put(uint8_t *at, uint64_t number, size_t size, bool swapped)
{
	bool big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != swapped;

	for (size_t i = 0; i < size; i++)
		at[big ? size - 1 - i : i] = (uint8_t)(number >> 8 * i);
}
#define PUT(start, type, member, number) \
	put((start) + offsetof(type, member), number, sizeof(((type *)0)->member), swapped)

static void put_section(uint8_t *at, unsigned name, unsigned type, uint64_t address,
			uint64_t offset, uint64_t size, bool swapped)
{
	PUT(at, Elf64_Shdr, sh_name, name);
	PUT(at, Elf64_Shdr, sh_type, type);
	PUT(at, Elf64_Shdr, sh_flags, type == SHT_PROGBITS ? SHF_ALLOC : 0);
	PUT(at, Elf64_Shdr, sh_addr, address);
	PUT(at, Elf64_Shdr, sh_offset, offset);
	PUT(at, Elf64_Shdr, sh_size, size);
	PUT(at, Elf64_Shdr, sh_addralign, 1);
}

static void put_header(uint8_t *image, uint16_t machine, uint64_t sections, bool swapped)
{
	bool big = (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) != swapped;

	memcpy(image, ELFMAG, SELFMAG);
	image[EI_CLASS] = ELFCLASS64;
	image[EI_DATA] = big ? ELFDATA2MSB : ELFDATA2LSB;
	image[EI_VERSION] = EV_CURRENT;
	PUT(image, Elf64_Ehdr, e_type, ET_DYN);
	PUT(image, Elf64_Ehdr, e_machine, machine);
	PUT(image, Elf64_Ehdr, e_version, EV_CURRENT);
	PUT(image, Elf64_Ehdr, e_shoff, sections);
	PUT(image, Elf64_Ehdr, e_ehsize, sizeof(Elf64_Ehdr));
	PUT(image, Elf64_Ehdr, e_shentsize, sizeof(Elf64_Shdr));
	PUT(image, Elf64_Ehdr, e_shnum, 3);
	PUT(image, Elf64_Ehdr, e_shstrndx, 2);
}

/* Returns the file, or NULL if out of memory. */
static char *make_image(const void *eh_frame, size_t size, uint64_t address, uint16_t machine,
			bool swapped, size_t *image_size)
{
	size_t text = sizeof(Elf64_Ehdr) + size;
	size_t sections = (text + sizeof(names) + 7) & ~(size_t)7;
	uint8_t *image;

	*image_size = sections + 3 * sizeof(Elf64_Shdr);
	image = perch__calloc(1, *image_size);
	if (!image)
		return NULL;
	put_header(image, machine, sections, swapped);
	memcpy(image + sizeof(Elf64_Ehdr), eh_frame, size);
	memcpy(image + text, names, sizeof(names));
	put_section(image + sections + sizeof(Elf64_Shdr), 1, SHT_PROGBITS, address,
		    sizeof(Elf64_Ehdr), size, swapped);
	put_section(image + sections + 2 * sizeof(Elf64_Shdr), 11, SHT_STRTAB, 0, text,
		    sizeof(names), swapped);
	return (char *)image;
}

static bool open_image(struct jit_rules *rules, size_t size, bool swapped)
{
	Elf_Scn *section;

	elf_version(EV_CURRENT);
	rules->elf = PERCH__COUNTED_CALL(elf_memory(rules->image, size));
	section = rules->elf ? elf_getscn(rules->elf, 1) : NULL;
	if (!section ||
	    !perch__check_cfi(rules->elf, PERCH__COUNTED_CALL(elf_rawdata(section, NULL)), true,
			      swapped, NULL, true))
		return false;
	rules->cfi = PERCH__COUNTED_CALL(dwarf_getcfi_elf(rules->elf));
	return rules->cfi;
}

bool perch__jit_rules_open(struct jit_rules *rules, const struct perch_dso *dso, uint64_t offset,
			   const struct architecture *architecture)
{
	struct perch_jit_function function;
	size_t size, image_size;
	void *eh_frame;
	bool swapped;

	memset(rules, 0, sizeof(*rules));
	if (architecture->word != sizeof(uint64_t) ||
	    perch_jitdump_read_eh_frame(dso->jitdump, offset, &function, &eh_frame, &size,
					&swapped) ||
	    size > MAX_BYTES)
		return false;
	rules->address = START + offset - function.offset;
	rules->image = make_image(eh_frame, size, START + ((function.size + 7) & ~7ull),
				  architecture->machine, swapped, &image_size);
	free(eh_frame);
	if (rules->image && open_image(rules, image_size, swapped))
		return true;
	perch__jit_rules_close(rules);
	return false;
}

void perch__jit_rules_close(struct jit_rules *rules)
{
	if (rules->cfi)
		dwarf_cfi_end(rules->cfi);
	if (rules->elf)
		elf_end(rules->elf);
	free(rules->image);
}

/* SPDX-License-Identifier: MIT */
/* Builds small ELF files with functions, versions and USDT probes, of any class and endian. */
#ifndef PERCH_TEST_ELF_FIXTURE_H
#define PERCH_TEST_ELF_FIXTURE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ELF_SIZE_MAX = 8192,
	ELF_CODE = 0x1000, /* offset of the code in the file */
	ELF_CODE_SIZE = 0x200,
	ELF_DATA = 0x1200,
	ELF_DATA_SIZE = 0x100,
	ELF_CODE_ADDRESS = 0x401000, /* in memory */
	ELF_DATA_ADDRESS = 0x603200,
};

struct elf_symbol {
	const char *name;
	uint32_t value; /* address; 0 if undefined */
	unsigned char type, bind;
	uint16_t version; /* for .dynsym only */
	uint32_t size;
};

struct elf_note {
	const char *provider, *name;
	uint32_t address, base, counter;
};

struct elf_fixture {
	bool wide, swapped;
	uint16_t machine;
	/* end with a NULL name; NULL is no such table */
	const struct elf_symbol *symbols, *dynamic;
	const char *const *versions; /* numbers 2, 3, ...; ends with NULL */
	const struct elf_note *notes;
	uint32_t base; /* address of .stapsdt.base; 0 is none */
	/* output */
	unsigned char bytes[ELF_SIZE_MAX];
	size_t size;
	struct {
		uint32_t name, type, link, info, address, offset, size, entry;
	} section[16];
	size_t nr_sections, names; /* names: bytes of the section names */
	char name[256];
};

static inline size_t elf_put(struct elf_fixture *elf, size_t at, uint64_t value, size_t bytes)
{
	static const uint16_t one = 1;
	bool little = *(const unsigned char *)&one != elf->swapped;

	if (at + bytes > ELF_SIZE_MAX)
		abort();
	for (size_t i = 0; i < bytes; i++)
		elf->bytes[at + (little ? i : bytes - 1 - i)] = value >> 8 * i;
	if (elf->size < at + bytes)
		elf->size = at + bytes;
	return at + bytes;
}

static inline size_t elf_put_word(struct elf_fixture *elf, size_t at, uint64_t value)
{
	return elf_put(elf, at, value, elf->wide ? 8 : 4);
}

static inline size_t elf_put_text(struct elf_fixture *elf, size_t at, const char *text)
{
	for (size_t i = 0; i <= strlen(text); i++)
		elf_put(elf, at + i, (unsigned char)text[i], 1);
	return at + strlen(text) + 1;
}

/* Begins a section at the end of the file. Its contents are appended next. Returns its number. */
static inline size_t elf_begin(struct elf_fixture *elf, const char *name, uint32_t type)
{
	size_t number = elf->nr_sections++;

	elf->size = (elf->size + 7) & ~(size_t)7;
	elf->section[number].name = elf->names;
	elf->section[number].type = type;
	elf->section[number].offset = elf->size;
	strcpy(elf->name + elf->names, name);
	elf->names += strlen(name) + 1;
	return number;
}

static inline void elf_end(struct elf_fixture *elf, size_t number)
{
	elf->section[number].size = elf->size - elf->section[number].offset;
}

static inline void elf_put_symbol(struct elf_fixture *elf, uint32_t name,
				  const struct elf_symbol *symbol)
{
	size_t at = elf->size;
	unsigned char info = symbol ? symbol->bind << 4 | symbol->type : 0;
	uint16_t section = symbol && symbol->value ? 1 : SHN_UNDEF;
	uint32_t value = symbol ? symbol->value : 0, size = symbol ? symbol->size : 0;

	at = elf_put(elf, at, name, 4);
	if (elf->wide) {
		at = elf_put(elf, elf_put(elf, elf_put(elf, at, info, 1), 0, 1), section, 2);
		elf_put(elf, elf_put(elf, at, value, 8), size, 8);
	} else {
		at = elf_put(elf, elf_put(elf, at, value, 4), size, 4);
		elf_put(elf, elf_put(elf, elf_put(elf, at, info, 1), 0, 1), section, 2);
	}
}

/* A symbol table and the section of its strings. */
static inline void elf_put_symbols(struct elf_fixture *elf, const struct elf_symbol *symbols,
				   uint32_t type)
{
	size_t table = elf_begin(elf, type == SHT_SYMTAB ? ".symtab" : ".dynsym", type), strings;
	uint32_t name = 1;

	elf_put_symbol(elf, 0, NULL);
	for (const struct elf_symbol *symbol = symbols; symbol->name; symbol++) {
		elf_put_symbol(elf, name, symbol);
		name += strlen(symbol->name) + 1;
	}
	elf_end(elf, table);
	elf->section[table].entry = elf->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	elf->section[table].link = elf->nr_sections;
	strings = elf_begin(elf, ".strings", SHT_STRTAB);
	elf_put(elf, elf->size, 0, 1);
	for (const struct elf_symbol *symbol = symbols; symbol->name; symbol++)
		elf_put_text(elf, elf->size, symbol->name);
	elf_end(elf, strings);
}

static inline void elf_put_versions(struct elf_fixture *elf)
{
	size_t table = elf_begin(elf, ".gnu.version", SHT_GNU_versym), strings;
	uint32_t name = 1, number = 2;

	elf_put(elf, elf->size, 0, 2);
	for (const struct elf_symbol *symbol = elf->dynamic; symbol->name; symbol++)
		elf_put(elf, elf->size, symbol->version, 2);
	elf_end(elf, table);
	table = elf_begin(elf, ".gnu.version_d", SHT_GNU_verdef);
	for (const char *const *version = elf->versions; *version; version++, number++) {
		size_t at = elf->size;

		at = elf_put(elf,
			     elf_put(elf, elf_put(elf, elf_put(elf, at, 1, 2), 0, 2), number, 2), 1,
			     2);
		at = elf_put(elf, elf_put(elf, elf_put(elf, at, 0, 4), 20, 4), version[1] ? 28 : 0,
			     4);
		elf_put(elf, elf_put(elf, at, name, 4), 0, 4);
		name += strlen(*version) + 1;
	}
	elf_end(elf, table);
	elf->section[table].link = elf->nr_sections;
	strings = elf_begin(elf, ".strings", SHT_STRTAB);
	elf_put(elf, elf->size, 0, 1);
	for (const char *const *version = elf->versions; *version; version++)
		elf_put_text(elf, elf->size, *version);
	elf_end(elf, strings);
}

static inline void elf_put_notes(struct elf_fixture *elf)
{
	size_t number = elf_begin(elf, ".note.stapsdt", SHT_NOTE);

	for (const struct elf_note *note = elf->notes; note->provider; note++) {
		size_t at = elf_put(elf, elf->size, sizeof("stapsdt"), 4), from, size = at;

		at = elf_put_text(elf, elf_put(elf, at + 4, 3, 4), "stapsdt");
		from = at;
		at = elf_put_word(
			elf, elf_put_word(elf, elf_put_word(elf, at, note->address), note->base),
			note->counter);
		at = elf_put_text(
			elf, elf_put_text(elf, elf_put_text(elf, at, note->provider), note->name),
			"4@%edi");
		elf_put(elf, size, at - from, 4);
		while (elf->size % 4)
			elf_put(elf, elf->size, 0, 1);
	}
	elf_end(elf, number);
	if (elf->base) {
		number = elf_begin(elf, ".stapsdt.base", SHT_PROGBITS);
		elf->section[number].address = elf->base;
	}
}

static inline size_t elf_put_segment(struct elf_fixture *elf, size_t at, uint32_t flags,
				     uint32_t offset, uint32_t address, uint32_t size)
{
	at = elf_put(elf, at, PT_LOAD, 4);
	if (elf->wide)
		at = elf_put(elf, at, flags, 4);
	at = elf_put_word(elf, elf_put_word(elf, elf_put_word(elf, at, offset), address), address);
	at = elf_put_word(elf, elf_put_word(elf, at, size), size);
	return elf_put_word(elf, elf->wide ? at : elf_put(elf, at, flags, 4), 1);
}

static inline size_t elf_put_sections(struct elf_fixture *elf)
{
	size_t names = elf_begin(elf, ".shstrtab", SHT_STRTAB), table;

	for (size_t i = 0; i < elf->names; i++)
		elf_put(elf, elf->size, (unsigned char)elf->name[i], 1);
	elf_end(elf, names);
	table = elf->size = (elf->size + 7) & ~(size_t)7;
	for (size_t i = 0; i < elf->nr_sections; i++) {
		size_t at = elf_put(elf, elf_put(elf, elf->size, elf->section[i].name, 4),
				    elf->section[i].type, 4);

		at = elf_put_word(elf, elf_put_word(elf, at, 0), elf->section[i].address);
		at = elf_put_word(elf, elf_put_word(elf, at, elf->section[i].offset),
				  elf->section[i].size);
		at = elf_put(elf, elf_put(elf, at, elf->section[i].link, 4), elf->section[i].info,
			     4);
		elf_put_word(elf, elf_put_word(elf, at, 1), elf->section[i].entry);
	}
	return table;
}

static inline void elf_put_header(struct elf_fixture *elf, size_t table)
{
	size_t header = elf->wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr), at = EI_NIDENT;
	static const uint16_t one = 1;
	bool little = *(const unsigned char *)&one != elf->swapped;

	memcpy(elf->bytes, ELFMAG, SELFMAG);
	elf->bytes[EI_CLASS] = elf->wide ? ELFCLASS64 : ELFCLASS32;
	elf->bytes[EI_DATA] = little ? ELFDATA2LSB : ELFDATA2MSB;
	elf->bytes[EI_VERSION] = EV_CURRENT;
	at = elf_put(elf, elf_put(elf, elf_put(elf, at, ET_EXEC, 2), elf->machine, 2), EV_CURRENT,
		     4);
	at = elf_put_word(elf, elf_put_word(elf, elf_put_word(elf, at, ELF_CODE_ADDRESS), header),
			  table);
	at = elf_put(elf, elf_put(elf, at, 0, 4), header, 2);
	at = elf_put(elf, elf_put(elf, at, elf->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr), 2),
		     2, 2);
	at = elf_put(elf, elf_put(elf, at, elf->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), 2),
		     elf->nr_sections, 2);
	elf_put(elf, at, elf->nr_sections - 1, 2);
	at = elf_put_segment(elf, header, PF_R | PF_X, ELF_CODE, ELF_CODE_ADDRESS, ELF_CODE_SIZE);
	elf_put_segment(elf, at, PF_R | PF_W, ELF_DATA, ELF_DATA_ADDRESS, ELF_DATA_SIZE);
}

static inline void elf_make(struct elf_fixture *elf)
{
	elf->nr_sections = 1;
	elf->names = 1;
	elf->size = ELF_DATA + ELF_DATA_SIZE;
	if (elf->symbols)
		elf_put_symbols(elf, elf->symbols, SHT_SYMTAB);
	if (elf->dynamic)
		elf_put_symbols(elf, elf->dynamic, SHT_DYNSYM);
	if (elf->dynamic && elf->versions)
		elf_put_versions(elf);
	if (elf->notes)
		elf_put_notes(elf);
	elf_put_header(elf, elf_put_sections(elf));
}

/* Writes the first `size` bytes. Ends the test program on failure. */
static inline void elf_write(const struct elf_fixture *elf, const char *path, size_t size)
{
	FILE *stream = fopen(path, "w");

	if (!stream || fwrite(elf->bytes, 1, size, stream) != size || fclose(stream)) {
		perror(path);
		exit(1);
	}
}

#endif

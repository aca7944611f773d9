/* SPDX-License-Identifier: MIT */
/* Makes ELF files in a temporary directory. */
#ifndef TESTS_SYMBOL_FIXTURE_H
#define TESTS_SYMBOL_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <perch/symbol.h>

/* ---- bytes in the file's byte order ---- */

struct built {
	uint8_t bytes[1 << 14];
	size_t size;
	bool big;
};

static inline void put_number(struct built *built, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		built->bytes[built->size++] =
			(uint8_t)(value >> 8 * (built->big ? size - 1 - i : i));
}

static inline void put_bytes(struct built *built, const void *bytes, size_t size)
{
	if (size)
		memcpy(built->bytes + built->size, bytes, size);
	built->size += size;
}

/* ---- files with sections ---- */

struct built_section {
	const char *name;
	uint32_t type;
	uint64_t flags, address, offset; /* offset 0: after the section before */
	struct built *data;
	uint64_t size; /* without data */
	uint32_t link;
	uint64_t entry_size;
};

struct built_file {
	bool big;
	uint16_t type, machine; /* 0: ET_DYN, x86-64 */
	Elf64_Phdr segment[4];
	size_t nr_segments;
	struct built_section section[16]; /* from 1 on; a string table of names is added */
	size_t nr_sections;		  /* with section 0 */
};

static inline uint32_t add_section(struct built_file *file, struct built_section section)
{
	if (!file->nr_sections)
		file->nr_sections = 1;
	file->section[file->nr_sections] = section;
	return (uint32_t)file->nr_sections++;
}

static inline void put_header(struct built *out, const struct built_file *file, uint64_t sections)
{
	const uint8_t ident[EI_NIDENT] = {
		0x7f, 'E', 'L', 'F', ELFCLASS64, file->big ? ELFDATA2MSB : ELFDATA2LSB, EV_CURRENT
	};

	put_bytes(out, ident, sizeof(ident));
	put_number(out, file->type ? file->type : ET_DYN, 2);
	put_number(out, file->machine ? file->machine : EM_X86_64, 2);
	put_number(out, EV_CURRENT, 4);
	put_number(out, 0, 8);
	put_number(out, file->nr_segments ? sizeof(Elf64_Ehdr) : 0, 8);
	put_number(out, sections, 8);
	put_number(out, 0, 4);
	put_number(out, sizeof(Elf64_Ehdr), 2);
	put_number(out, sizeof(Elf64_Phdr), 2);
	put_number(out, file->nr_segments, 2);
	put_number(out, sizeof(Elf64_Shdr), 2);
	put_number(out, file->nr_sections, 2);
	put_number(out, file->nr_sections - 1, 2);
}

static inline void put_segment(struct built *out, const Elf64_Phdr *segment)
{
	put_number(out, segment->p_type, 4);
	put_number(out, segment->p_flags, 4);
	put_number(out, segment->p_offset, 8);
	put_number(out, segment->p_vaddr, 8);
	put_number(out, segment->p_vaddr, 8);
	put_number(out, segment->p_filesz, 8);
	put_number(out, segment->p_memsz, 8);
	put_number(out, 0x1000, 8);
}

static inline void put_section(struct built *out, const struct built_section *section,
			       uint32_t name)
{
	put_number(out, name, 4);
	put_number(out, section->type, 4);
	put_number(out, section->flags, 8);
	put_number(out, section->address, 8);
	put_number(out, section->offset, 8);
	put_number(out, section->data ? section->data->size : section->size, 8);
	put_number(out, section->link, 4);
	put_number(out, 0, 4);
	put_number(out, 8, 8);
	put_number(out, section->entry_size, 8);
}

/* Writes the bytes of the sections, then the section table. Frees the description. */
static inline void make_elf(struct built *out, struct built_file *file)
{
	struct built names = { .size = 1 };
	uint32_t name[16] = { 0 };
	uint64_t at = sizeof(Elf64_Ehdr) + file->nr_segments * sizeof(Elf64_Phdr);

	add_section(file, (struct built_section){ ".shstrtab", SHT_STRTAB, .data = &names });
	for (size_t i = 1; i < file->nr_sections; i++) {
		name[i] = (uint32_t)names.size;
		put_bytes(&names, file->section[i].name, strlen(file->section[i].name) + 1);
	}
	for (size_t i = 1; i < file->nr_sections; i++)
		if (file->section[i].data) {
			file->section[i].offset = at;
			at = (at + file->section[i].data->size + 7) & ~7ull;
		}
	memset(out, 0, sizeof(*out));
	out->big = file->big;
	put_header(out, file, at);
	for (size_t i = 0; i < file->nr_segments; i++)
		put_segment(out, &file->segment[i]);
	for (size_t i = 1; i < file->nr_sections; i++)
		if (file->section[i].data) {
			out->size = file->section[i].offset;
			put_bytes(out, file->section[i].data->bytes, file->section[i].data->size);
		}
	out->size = at;
	put_section(out, &(struct built_section){ 0 }, 0);
	for (size_t i = 1; i < file->nr_sections; i++)
		put_section(out, &file->section[i], name[i]);
}

/* ---- symbols ---- */

struct built_symbol {
	const char *name;
	uint64_t value, size;
	uint8_t binding, type;
	uint16_t section;
	uint8_t visibility;
};

static inline void make_symbols(struct built *table, struct built *names, bool big,
				const struct built_symbol *symbol, size_t nr)
{
	memset(table, 0, sizeof(*table));
	memset(names, 0, sizeof(*names));
	table->big = big;
	table->size = sizeof(Elf64_Sym);
	names->size = 1;
	for (size_t i = 0; i < nr; i++) {
		put_number(table, names->size, 4);
		put_number(table, ELF64_ST_INFO(symbol[i].binding, symbol[i].type), 1);
		put_number(table, symbol[i].visibility, 1);
		put_number(table, symbol[i].section, 2);
		put_number(table, symbol[i].value, 8);
		put_number(table, symbol[i].size, 8);
		put_bytes(names, symbol[i].name, strlen(symbol[i].name) + 1);
	}
}

static inline void add_symbols(struct built_file *file, uint32_t type, struct built *table,
			       struct built *names)
{
	uint32_t at = add_section(file, (struct built_section){ type == SHT_DYNSYM ? ".dynstr"
										   : ".strtab",
								SHT_STRTAB, .data = names });

	add_section(file, (struct built_section){ type == SHT_DYNSYM ? ".dynsym" : ".symtab", type,
						  .data = table, .link = at,
						  .entry_size = sizeof(Elf64_Sym) });
}

static inline void add_build_id(struct built_file *file, struct built *note, const uint8_t *id,
				size_t size)
{
	memset(note, 0, sizeof(*note));
	note->big = file->big;
	put_number(note, 4, 4);
	put_number(note, size, 4);
	put_number(note, NT_GNU_BUILD_ID, 4);
	put_bytes(note, "GNU", 4);
	put_bytes(note, id, size);
	add_section(file, (struct built_section){ ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC,
						  .data = note });
}

/* A file with 0x1000 bytes of code at file offset 0x2000 and address 0x5000: section 1, .text. */
enum { CODE = 0x5000, CODE_OFFSET = 0x2000, CODE_SIZE = 0x1000, TEXT = 1 };

static inline struct built_file code_file(void)
{
	struct built_file file = {
		.segment = { { .p_type = PT_LOAD,
			       .p_flags = PF_R | PF_X,
			       .p_offset = CODE_OFFSET,
			       .p_vaddr = CODE,
			       .p_filesz = CODE_SIZE,
			       .p_memsz = CODE_SIZE } },
		.nr_segments = 1,
	};

	add_section(&file, (struct built_section){ ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR,
						   CODE, CODE_OFFSET, .size = CODE_SIZE });
	return file;
}

/* ---- the directory ---- */

static char test_directory[64];

static inline int make_directory(void **state)
{
	(void)state;
	strcpy(test_directory, "/tmp/perch-symbol-XXXXXX");
	return mkdtemp(test_directory) ? 0 : -1;
}

static inline int remove_directory(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", test_directory);
	return system(command);
}

/* The path of a file in the directory. Makes its parent directories. Uses one of 32 buffers. */
static inline const char *path_in_directory(const char *name)
{
	static char path[32][512];
	static int turn;
	char *result = path[turn++ % 32];

	snprintf(result, sizeof(*path), "%s/%s", test_directory, name);
	for (char *slash = strchr(result + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(result, 0755);
		*slash = '/';
	}
	return result;
}

static inline void write_bytes(const char *path, const void *bytes, size_t size)
{
	FILE *stream = fopen(path, "w");

	assert_non_null(stream);
	assert_int_equal(fwrite(bytes, 1, size, stream), size);
	assert_int_equal(fclose(stream), 0);
}

static inline void write_text(const char *path, const char *text)
{
	write_bytes(path, text, strlen(text));
}

/* A file of code_file() with these symbols in .symtab or .dynsym. A size of 0 is no build id. */
static inline void write_elf(const char *path, uint32_t table, const struct built_symbol *symbol,
			     size_t nr, const uint8_t *id, size_t id_size)
{
	struct built symbols, names, note, out;
	struct built_file file = code_file();

	make_symbols(&symbols, &names, false, symbol, nr);
	add_symbols(&file, table, &symbols, &names);
	if (id_size)
		add_build_id(&file, &note, id, id_size);
	make_elf(&out, &file);
	write_bytes(path, out.bytes, out.size);
}

static inline struct perch_symbols *new_symbols(const struct perch_symbols_options *options)
{
	struct perch_symbols *symbols;

	assert_int_equal(perch_symbols_new(&symbols, options, NULL), 0);
	return symbols;
}

static inline struct perch_dso dso_at(const char *path, enum perch_dso_kind kind)
{
	return (struct perch_dso){ .kind = kind, .path = path };
}

/* The name at an offset, or "". */
static inline const char *name_at(struct perch_symbols *symbols, const struct perch_dso *dso,
				  uint64_t offset)
{
	const struct perch_symbol *symbol = perch_symbols_find(symbols, dso, offset);

	return symbol ? perch_symbols_name(symbols, symbol) : "";
}

#endif

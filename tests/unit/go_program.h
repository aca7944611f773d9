/* SPDX-License-Identifier: MIT */
/*
 * Makes stripped programs as the linker of Go does: an ELF file with code, the function table and
 * the module data of the runtime. For unit tests and fuzzers.
 */
#ifndef TESTS_GO_PROGRAM_H
#define TESTS_GO_PROGRAM_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* How the program is made. */
struct go_shape {
	bool wide, big;
	bool relocated;	  /* pointers are in relocations, as in position-independent programs */
	bool no_sections; /* no section headers */
	bool merged;	  /* the table has no section of its own */
	int version;	  /* of the table: 2, 16, 18 or 20 */
};

/* Offsets in the file. Addresses are GO_BASE above them. */
enum {
	GO_BASE = 0x400000,
	GO_CODE = 0x1000,
	GO_CODE_SIZE = 0x400,
	GO_TABLE = 0x2000,
	GO_DATA = 0x2800,
	GO_MODULE = 0x2840,
	GO_DYNAMIC = 0x2a00,
	GO_RELOCATIONS = 0x2a40,
	GO_NAMES_OF_SECTIONS = 0x3000,
	GO_SECTIONS = 0x3080,
	GO_SIZE = 0x3400,
};

/* Offsets in the table. */
enum {
	GO_NAMES = 0x80,
	GO_NAMES_END = 0x100,
	GO_INDEX = 0x120,   /* since Go 1.16 */
	GO_STRUCTS = 0x200, /* of 16 bytes */
	GO_TABLE_SIZE = 0x260,
	GO_FUNCTIONS = 4,
};

/* The first code is of no function in Go, as that of C; the third range has no name. */
static const struct go_function_of_program {
	uint32_t start;
	const char *name;
} go_functions_of_program[GO_FUNCTIONS + 1] = {
	{ 0x40, "main.first" }, { 0x80, "main.(*T).second" },
	{ 0xc0, "" },		{ 0x100, "main.third[...]" },
	{ 0x180, NULL },
};

struct go_program {
	uint8_t bytes[GO_SIZE];
	size_t at; /* where the next number is written */
	struct go_shape shape;
	size_t nr_relocations;
};

static inline void go_put(struct go_program *program, uint64_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		program->bytes[program->at++] =
			(uint8_t)(value >> 8 * (program->shape.big ? size - 1 - i : i));
}

static inline size_t go_pointer_size(const struct go_program *program)
{
	return program->shape.wide ? 8 : 4;
}

static inline void go_put_word(struct go_program *program, uint64_t value)
{
	go_put(program, value, go_pointer_size(program));
}

/* An address: 0 with a relocation, or the number. */
static inline void go_put_pointer(struct go_program *program, uint64_t value)
{
	size_t at = program->at;

	if (!program->shape.relocated) {
		go_put_word(program, value);
		return;
	}
	go_put_word(program, 0);
	program->at = GO_RELOCATIONS + program->nr_relocations++ * sizeof(Elf64_Rela);
	go_put(program, GO_BASE + at, 8);
	go_put(program, R_X86_64_RELATIVE, 8);
	go_put(program, value, 8);
	program->at = at + 8;
}

static inline void go_put_segment(struct go_program *program, uint32_t type, uint32_t flags,
				  uint64_t start, uint64_t size)
{
	go_put(program, type, 4);
	if (program->shape.wide)
		go_put(program, flags, 4);
	go_put_word(program, start);
	go_put_word(program, GO_BASE + start);
	go_put_word(program, GO_BASE + start);
	go_put_word(program, size);
	go_put_word(program, size);
	if (!program->shape.wide)
		go_put(program, flags, 4);
	go_put_word(program, 8);
}

static inline void go_put_section(struct go_program *program, uint32_t name, uint32_t type,
				  uint64_t flags, uint64_t start, uint64_t size)
{
	go_put(program, name, 4);
	go_put(program, type, 4);
	go_put_word(program, flags);
	go_put_word(program, flags ? GO_BASE + start : 0);
	go_put_word(program, start);
	go_put_word(program, size);
	go_put(program, 0, 4);
	go_put(program, 0, 4);
	go_put_word(program, 1);
	go_put_word(program, 0);
}

/* The second name is "_gopclntab", which perch does not know, if the table has no section. */
static inline void go_put_sections(struct go_program *program)
{
	static const char names[] = "\0.shstrtab\0.gopclntab\0.go.buildinfo\0.text";

	memcpy(program->bytes + GO_NAMES_OF_SECTIONS, names, sizeof(names));
	if (program->shape.merged)
		program->bytes[GO_NAMES_OF_SECTIONS + 11] = '_';
	program->at = GO_SECTIONS;
	go_put_section(program, 0, SHT_NULL, 0, 0, 0);
	go_put_section(program, 1, SHT_STRTAB, 0, GO_NAMES_OF_SECTIONS, sizeof(names));
	go_put_section(program, 11, SHT_PROGBITS, SHF_ALLOC, GO_TABLE, GO_TABLE_SIZE);
	go_put_section(program, 22, SHT_PROGBITS, SHF_ALLOC, GO_DATA, 0x20);
	go_put_section(program, 36, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, GO_CODE, GO_CODE_SIZE);
}

static inline uint16_t go_machine(const struct go_shape *shape)
{
	if (shape->big)
		return shape->wide ? EM_S390 : EM_MIPS;
	return shape->wide ? EM_X86_64 : EM_386;
}

static inline void go_put_header(struct go_program *program)
{
	const struct go_shape *shape = &program->shape;
	const uint8_t ident[EI_NIDENT] = { 0x7f,
					   'E',
					   'L',
					   'F',
					   shape->wide ? ELFCLASS64 : ELFCLASS32,
					   shape->big ? ELFDATA2MSB : ELFDATA2LSB,
					   EV_CURRENT };
	size_t nr_sections = shape->no_sections ? 0 : 5, size = shape->wide ? 64 : 52;

	memcpy(program->bytes, ident, sizeof(ident));
	program->at = sizeof(ident);
	go_put(program, ET_EXEC, 2);
	go_put(program, go_machine(shape), 2);
	go_put(program, EV_CURRENT, 4);
	go_put_word(program, GO_BASE + GO_CODE);
	go_put_word(program, size);
	go_put_word(program, nr_sections ? GO_SECTIONS : 0);
	go_put(program, 0, 4);
	go_put(program, size, 2);
	go_put(program, shape->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr), 2);
	go_put(program, 4, 2);
	go_put(program, shape->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr), 2);
	go_put(program, nr_sections, 2);
	go_put(program, nr_sections ? 1 : 0, 2);
	go_put_segment(program, PT_LOAD, PF_R | PF_X, GO_CODE, GO_CODE_SIZE);
	go_put_segment(program, PT_LOAD, PF_R, GO_TABLE, GO_TABLE_SIZE);
	go_put_segment(program, PT_LOAD, PF_R | PF_W, GO_DATA, GO_NAMES_OF_SECTIONS - GO_DATA);
	go_put_segment(program, PT_DYNAMIC, PF_R, GO_DYNAMIC, 3 * sizeof(Elf64_Dyn));
}

/* The first address of the code in Go. */
static inline uint64_t go_text(void)
{
	return GO_BASE + GO_CODE + go_functions_of_program[0].start;
}

/* Where the index begins in the table. */
static inline size_t go_index(const struct go_program *program)
{
	return program->shape.version == 2 ? 8 + go_pointer_size(program) : GO_INDEX;
}

/* The start of a function: an address, or since Go 1.18 the distance from that of the first one. */
static inline void go_put_start(struct go_program *program, size_t number)
{
	uint64_t inside = go_functions_of_program[number].start - go_functions_of_program[0].start;

	if (program->shape.version >= 18)
		go_put(program, inside, 4);
	else
		go_put_pointer(program, go_text() + inside);
}

static inline void go_put_table_header(struct go_program *program)
{
	static const uint32_t offset[] = { GO_NAMES, GO_NAMES_END, GO_NAMES_END + 8,
					   GO_NAMES_END + 16, GO_INDEX };
	int version = program->shape.version;

	program->at = GO_TABLE;
	go_put(program,
	       version == 2    ? 0xfffffffb
	       : version == 16 ? 0xfffffffa
	       : version == 18 ? 0xfffffff0
			       : 0xfffffff1,
	       4);
	go_put(program, 0, 2);
	go_put(program, 1, 1);
	go_put(program, go_pointer_size(program), 1);
	go_put_word(program, GO_FUNCTIONS);
	if (version == 2)
		return;
	go_put_word(program, 1);
	if (version >= 18) /* Go 1.26 writes no address of the text */
		go_put_word(program, 0);
	for (size_t i = 0; i < sizeof(offset) / sizeof(offset[0]); i++)
		go_put_word(program, offset[i]);
}

static inline void go_put_table(struct go_program *program)
{
	size_t base = program->shape.version == 2 ? 0 : GO_INDEX;
	size_t names = program->shape.version == 2 ? 0 : GO_NAMES, name = GO_NAMES;
	size_t field = program->shape.version >= 18 ? 4 : go_pointer_size(program);

	go_put_table_header(program);
	for (size_t i = 0; i <= GO_FUNCTIONS; i++) {
		const char *text = go_functions_of_program[i].name;
		bool gap = text && !*text && program->shape.version >= 18;

		program->at = GO_TABLE + go_index(program) + 2 * i * field;
		go_put_start(program, i);
		if (i == GO_FUNCTIONS)
			break;
		go_put(program, gap ? UINT32_MAX : GO_STRUCTS + 16 * i - base, field);
		program->at = GO_TABLE + GO_STRUCTS + 16 * i;
		go_put_start(program, i);
		go_put(program, name - names, 4);
		memcpy(program->bytes + GO_TABLE + name, text, strlen(text) + 1);
		name += strlen(text) + 1;
	}
}

static inline void go_put_slice(struct go_program *program, uint64_t offset, uint64_t length)
{
	go_put_pointer(program, GO_BASE + GO_TABLE + offset);
	go_put_word(program, length);
	go_put_word(program, length);
}

static inline void go_put_module(struct go_program *program)
{
	size_t index = go_index(program);

	program->at = GO_MODULE;
	if (program->shape.version >= 16) {
		go_put_pointer(program, GO_BASE + GO_TABLE);
		go_put_slice(program, GO_NAMES, GO_NAMES_END - GO_NAMES);
		for (size_t i = 0; i < 3; i++)
			go_put_slice(program, GO_NAMES_END + 8 * i, 1);
		go_put_slice(program, GO_INDEX, GO_TABLE_SIZE - GO_INDEX);
		go_put_slice(program, index, GO_FUNCTIONS + 1);
	} else {
		go_put_slice(program, 0, GO_TABLE_SIZE);
		go_put_slice(program, index, GO_FUNCTIONS + 1);
		go_put_slice(program, GO_NAMES_END, 1);
	}
	go_put_word(program, 0);
	go_put_pointer(program, go_text());
	go_put_pointer(program, go_text() + go_functions_of_program[GO_FUNCTIONS].start -
					go_functions_of_program[0].start);
	go_put_pointer(program, go_text());
}

static inline void go_make_program(struct go_program *program, const struct go_shape *shape)
{
	memset(program, 0, sizeof(*program));
	program->shape = *shape;
	go_put_header(program);
	if (!shape->no_sections)
		go_put_sections(program);
	go_put_table(program);
	go_put_module(program);
	program->at = GO_DYNAMIC;
	go_put_word(program, DT_RELA);
	go_put_word(program, GO_BASE + GO_RELOCATIONS);
	go_put_word(program, DT_RELASZ);
	go_put_word(program, program->nr_relocations * sizeof(Elf64_Rela));
}

#endif

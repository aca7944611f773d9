/* SPDX-License-Identifier: MIT */
/*
 * The function table of the Go runtime (.gopclntab). go_table.c reads the bytes of a table;
 * go_functions.c finds it in an ELF file, and proves it by the module data, a variable of the
 * runtime which points to the table and its parts.
 */
#ifndef PERCH_SYMBOL_GO_TABLE_H
#define PERCH_SYMBOL_GO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/files/elf.h"

enum go_version { GO_1_2 = 2, GO_1_16 = 16, GO_1_18 = 18, GO_1_20 = 20 };

/* Offsets and counts are checked: each part begins inside of the bytes. */
struct go_table {
	const struct perch__elf *elf; /* for the byte order and the size of pointers */
	const uint8_t *bytes;
	size_t size;
	enum go_version version;
	size_t nr;		  /* functions */
	size_t names, names_end;  /* offsets of the names */
	size_t index;		  /* offset of pairs: start, and offset of the function's struct */
	size_t structs;		  /* base of the offsets of structs */
	size_t field;		  /* bytes of a field of the index */
	uint64_t text;		  /* added to the starts; 0 before Go 1.18 */
	size_t part[5], nr_parts; /* offsets of the header to which the module data points */
};

struct go_function {
	uint64_t start, end; /* addresses */
	size_t name; /* offset in the table; 0: none, as in gaps between parts of the text */
};

/* The bytes of a header without its numbers: magic, two zeros, quantum, size of a pointer. */
enum { GO_HEADER_START = 8 };
/* True if the bytes begin as a table for this class of ELF file. */
bool perch__go_is_header(const struct perch__elf *elf, const uint8_t *bytes,
			 enum go_version *version);
/* Reads the header. Returns false if the bytes are not a table, or a damaged one. */
bool perch__go_table_init(struct go_table *table, const struct perch__elf *elf,
			  const uint8_t *bytes, size_t size);
/* The start of a function, without table->text; that of number nr is the end of the last one. */
uint64_t perch__go_start(const struct go_table *table, size_t number);
/* Reads a function. Returns false if the table is damaged. */
bool perch__go_function(const struct go_table *table, size_t number, struct go_function *function);
/*
 * How many words of the module data are compared, and true if these are of a table at this address.
 * Sets *text.
 */
enum { GO_MODULE_WORDS = 23 };
bool perch__go_is_module(const struct go_table *table, uint64_t address, const uint8_t *words,
			 uint64_t *text);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Reads the function table of the Go runtime. It has a header, names, and an index of pairs, sorted
 * by address: where a function starts, and where its struct is. The struct repeats the start, and
 * has the offset of the name.
 */
#include "go_table.h"

#include <string.h>

static uint64_t word_at(const struct go_table *table, size_t offset, size_t size)
{
	return perch__elf_word(table->elf, table->bytes + offset, size);
}

static size_t pointer_size(const struct perch__elf *elf)
{
	return elf->wide ? 8 : 4;
}

bool perch__go_is_header(const struct perch__elf *elf, const uint8_t *bytes,
			 enum go_version *version)
{
	static const struct {
		uint32_t magic;
		enum go_version version;
	} magics[] = {
		{ 0xfffffffb, GO_1_2 },
		{ 0xfffffffa, GO_1_16 },
		{ 0xfffffff0, GO_1_18 },
		{ 0xfffffff1, GO_1_20 },
	};
	uint64_t magic = perch__elf_word(elf, bytes, 4);

	if (bytes[4] || bytes[5] || (bytes[6] != 1 && bytes[6] != 2 && bytes[6] != 4) ||
	    bytes[7] != pointer_size(elf))
		return false;
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if (magics[i].magic == magic) {
			*version = magics[i].version;
			return true;
		}
	return false;
}

/* Reads a number of the header that is an offset in the table. */
static bool read_offset(const struct go_table *table, size_t number, size_t *offset)
{
	size_t pointer = pointer_size(table->elf);
	uint64_t value = word_at(table, GO_HEADER_START + number * pointer, pointer);

	*offset = (size_t)value;
	return value <= table->size;
}

/* The parts since Go 1.16: names, compilation units, files, values by address, functions. */
static bool read_parts(struct go_table *table)
{
	size_t first = table->version >= GO_1_18 ? 3 : 2;
	size_t pointer = pointer_size(table->elf);

	table->nr_parts = sizeof(table->part) / sizeof(table->part[0]);
	if (table->size < GO_HEADER_START + (first + table->nr_parts) * pointer)
		return false;
	for (size_t i = 0; i < table->nr_parts; i++)
		if (!read_offset(table, first + i, &table->part[i]))
			return false;
	table->names = table->part[0];
	table->names_end = table->part[1];
	table->index = table->structs = table->part[4];
	return table->names < table->names_end;
}

bool perch__go_table_init(struct go_table *table, const struct perch__elf *elf,
			  const uint8_t *bytes, size_t size)
{
	size_t pointer = pointer_size(elf);
	uint64_t nr;

	*table = (struct go_table){ .elf = elf, .bytes = bytes, .size = size };
	if (size < GO_HEADER_START + pointer || !perch__go_is_header(elf, bytes, &table->version))
		return false;
	table->field = table->version >= GO_1_18 ? 4 : pointer;
	table->names_end = size;
	table->index = GO_HEADER_START + pointer;
	if (table->version >= GO_1_16 && !read_parts(table))
		return false;
	nr = word_at(table, GO_HEADER_START, pointer);
	if (!nr || table->index > size || nr >= (size - table->index) / (2 * table->field))
		return false;
	table->nr = (size_t)nr;
	return true;
}

uint64_t perch__go_start(const struct go_table *table, size_t number)
{
	return word_at(table, table->index + 2 * number * table->field, table->field);
}

bool perch__go_function(const struct go_table *table, size_t number, struct go_function *function)
{
	uint64_t start = perch__go_start(table, number), end = perch__go_start(table, number + 1);
	uint64_t offset =
		word_at(table, table->index + (2 * number + 1) * table->field, table->field);
	uint64_t name;

	*function = (struct go_function){ table->text + start, table->text + end, 0 };
	if (end < start || function->end < end)
		return false;
	if (table->version >= GO_1_18 && offset == UINT32_MAX)
		return true;
	if (offset > table->size - table->structs ||
	    table->size - table->structs - offset < table->field + 4)
		return false;
	offset += table->structs;
	name = word_at(table, offset + table->field, 4);
	if (word_at(table, offset, table->field) != start ||
	    name >= table->names_end - table->names)
		return false;
	name += table->names;
	if (table->bytes[name])
		function->name = (size_t)name;
	return true;
}

bool perch__go_is_module(const struct go_table *table, uint64_t address, const uint8_t *words,
			 uint64_t *text)
{
	/* the first words are slices (pointer, length, capacity) of the parts, the last one is the
	 * index; before them, Go 1.16 has a pointer to the header */
	size_t pointer = pointer_size(table->elf), first = table->version >= GO_1_16 ? 1 : 0;
	size_t index = table->version >= GO_1_16 ? 16 : 3;
	size_t range = table->version >= GO_1_16 ? 20 : 10;
	uint64_t word[GO_MODULE_WORDS], base;

	for (size_t i = 0; i < GO_MODULE_WORDS; i++)
		word[i] = perch__elf_word(table->elf, words + i * pointer, pointer);
	if (word[0] != address || word[index] != address + table->index ||
	    word[index + 1] != table->nr + 1)
		return false;
	for (size_t i = 0; i < table->nr_parts; i++)
		if (word[first + 3 * i] != address + table->part[i])
			return false;
	base = table->version >= GO_1_18 ? word[range + 2] : 0;
	*text = base;
	return word[range] == base + perch__go_start(table, 0) &&
	       word[range + 1] == base + perch__go_start(table, table->nr);
}

/* SPDX-License-Identifier: MIT */
/* Code of ELF files: the bytes, and where there are data or Thumb instructions between them. */
#include <stdlib.h>

#include "base/files/elf_section.h"
#include "base/no_memory.h"
#include "symbol/code.h"

enum {
	MAX_PARTS = 1 << 16, /* of one function */
};

int perch__code_add_part(struct perch_code *code, uint64_t address, enum perch_code_kind kind)
{
	struct perch_code_part *part;

	if (code->nr_parts >= MAX_PARTS)
		return 0;
	if (PERCH__ARRAY_RESERVE_BY_NR(code->part, code->nr_parts, 1))
		return -ENOMEM;
	part = &code->part[code->nr_parts++];
	*part = (struct perch_code_part){ .address = address, .kind = kind };
	return 0;
}

/* ---- parts: the mapping symbols $a, $t, $x and $d of arm and arm64 ---- */

/* The code and the state at its start: that of the last symbol at or before it. */
struct part_search {
	struct perch_code *code;
	uint64_t before; /* address of that symbol */
	bool has_before;
	enum perch_code_kind first;
	bool thumb_function; /* a function symbol of the start has bit 0 */
};

static bool kind_of_name(const char *name, enum perch_code_kind *kind)
{
	if (name[0] != '$' || (name[2] && name[2] != '.'))
		return false;
	switch (name[1]) {
	case 'a':
	case 'x':
		*kind = PERCH_CODE_INSTRUCTIONS;
		return true;
	case 't':
		*kind = PERCH_CODE_THUMB;
		return true;
	case 'd':
		*kind = PERCH_CODE_DATA;
		return true;
	default:
		return false;
	}
}

static int take_symbol(struct part_search *search, uint64_t value, unsigned type, const char *name,
		       bool arm)
{
	struct perch_code *code = search->code;
	enum perch_code_kind kind;

	if (arm && type == STT_FUNC && (value & 1) && (value & ~1ull) == code->address)
		search->thumb_function = true;
	if (!kind_of_name(name, &kind))
		return 0;
	if (value > code->address)
		return value - code->address < code->size ? perch__code_add_part(code, value, kind)
							  : 0;
	if (!search->has_before || value >= search->before) {
		search->has_before = true;
		search->before = value;
		search->first = kind;
	}
	return 0;
}

static int search_table(struct perch__elf *elf, size_t index, struct part_search *search)
{
	uint32_t link = elf->section[index].link;
	struct perch__elf_symbols symbols;
	struct perch__elf_symbol symbol;
	int rc = perch__elf_symbols_load(&symbols, elf, index, perch__elf_load_section);

	if (rc || link >= elf->nr_sections)
		symbols.nr = 0;
	for (size_t i = 0; !rc && perch__elf_symbol(&symbols, i, &symbol); i++) {
		const struct perch__elf_section *names = &elf->section[link];
		char text[4] = "";

		if (symbol.type != STT_NOTYPE && symbol.type != STT_FUNC)
			continue;
		if (symbol.type == STT_NOTYPE &&
		    (symbol.name >= names->size ||
		     perch__elf_read(elf, text, names->offset + symbol.name, 3) < 2))
			continue;
		rc = take_symbol(search, symbol.value, symbol.type, text, elf->machine == EM_ARM);
	}
	perch__elf_symbols_clear(&symbols);
	return rc == -ENOMEM ? rc : 0;
}

static int compare_parts(const void *a, const void *b)
{
	const struct perch_code_part *x = a, *y = b;

	return x->address == y->address ? 0 : x->address < y->address ? -1 : 1;
}

/* Finds the parts of code by the symbols of the file. Returns 0 or -ENOMEM. */
static int find_parts(struct perch__elf *elf, struct perch_code *code)
{
	struct part_search search = { .code = code };
	int rc = perch__code_add_part(code, code->address, PERCH_CODE_INSTRUCTIONS);

	if (rc || (elf->machine != EM_ARM && elf->machine != EM_AARCH64) ||
	    perch__elf_read_sections(elf))
		return rc;
	for (size_t i = 1; i < elf->nr_sections && !rc; i++)
		if (elf->section[i].type == SHT_SYMTAB || elf->section[i].type == SHT_DYNSYM)
			rc = search_table(elf, i, &search);
	if (search.thumb_function)
		code->part[0].kind = PERCH_CODE_THUMB;
	else if (search.has_before)
		code->part[0].kind = search.first;
	if (code->nr_parts > 2)
		qsort(code->part + 1, code->nr_parts - 1, sizeof(*code->part), compare_parts);
	return rc;
}

/* ---- bytes ---- */

/* Sets the name of the section. Returns false if the file has no bytes for the section: a separate
 * debug file. */
static bool set_section(struct perch__elf *elf, struct perch_code *code)
{
	if (perch__elf_read_sections(elf))
		return true;
	for (size_t i = 1; i < elf->nr_sections; i++) {
		const struct perch__elf_section *section = &elf->section[i];

		if (!(section->flags & SHF_ALLOC) || code->address < section->address ||
		    code->address - section->address >= section->size)
			continue;
		if (section->type == SHT_NOBITS)
			return false;
		perch_clean_text(section->name, code->section, sizeof(code->section));
		return true;
	}
	return true;
}

static void set_machine(const struct perch__elf *elf, struct perch_code *code)
{
	static const uint16_t one = 1;
	bool native_big = !*(const unsigned char *)&one;
	unsigned char header[sizeof(Elf64_Ehdr)];

	code->machine = elf->machine;
	code->wide = elf->wide;
	code->big_endian = elf->swapped ? !native_big : native_big;
	if (perch__elf_read(elf, header, 0, sizeof(header)) >= (ssize_t)PERCH__ELF_SIZE(elf, Ehdr))
		code->flags = PERCH__ELF_FIELD(elf, header, Ehdr, e_flags);
}

int perch__code_of_elf(struct perch__elf *elf, struct perch_code *code, struct perch_error *err)
{
	const struct perch__elf_segment *found = NULL;
	uint64_t inside;
	ssize_t got;

	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct perch__elf_segment *segment = &elf->segment[i];

		if (segment->type == PT_LOAD && code->address >= segment->address &&
		    code->address - segment->address < segment->size &&
		    (!found || segment->flags & PF_X))
			found = segment;
	}
	if (!found)
		return perch__code_error(err, ENOENT,
					 "no segment of the file has the bytes of the function");
	inside = code->address - found->address;
	if (code->size > found->size - inside)
		code->size = found->size - inside;
	code->start = found->address;
	code->end = found->address + found->size;
	code->bytes = perch__malloc(code->size);
	if (!code->bytes)
		return PERCH__NO_MEMORY(err, "for code");
	got = perch__elf_read(elf, code->bytes, found->offset + inside, code->size);
	if (got <= 0)
		return perch_error_set(err, got ? (int)-got : ENOENT, PERCH_ERROR_FILE,
				       "the bytes of the function cannot be read: %s",
				       got ? strerror((int)-got) : "the file ends before them");
	code->size = (size_t)got;
	set_machine(elf, code);
	if (!set_section(elf, code))
		return perch__code_error(err, ENOENT,
					 "a debug file does not have the bytes of the function");
	return find_parts(elf, code) ? PERCH__NO_MEMORY(err, "for code") : 0;
}

void perch_code_clear(struct perch_code *code)
{
	free(code->bytes);
	free(code->part);
	*code = (struct perch_code){ 0 };
}

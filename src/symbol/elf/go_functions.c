/* SPDX-License-Identifier: MIT */
/*
 * Finds the function table of the Go runtime in an ELF file, and adds its functions. Stripping does
 * not remove this table, because the runtime needs it.
 */
#include "go_table.h"
#include "symbol/internal.h"

enum {
	MOST_BYTES = 1 << 28, /* of a segment: the tables of the largest programs have 100 MB */
	MOST_CANDIDATES = 8,  /* headers without a section that are examined */
	/* what is read of a damaged file, which may have many large segments: parts, and all bytes
	 * as a multiple of the size of the file */
	MOST_PARTS = 32,
	MOST_READ = 4,
	MOST_DYNAMIC = 1 << 16,
};

struct go_file {
	const struct elf_file *file;
	const struct perch__elf *elf; /* of the file */
	uint8_t *relocation;	      /* struct Elf64_Rela, in the byte order of the file */
	size_t nr_relocations;
	uint32_t relative; /* the type of relocations that add the load address */
	unsigned parts_left;
	uint64_t bytes_left;
};

/* A part of a segment, as the dynamic linker makes it for the load address 0. */
struct go_part {
	uint64_t address;
	size_t size;
	uint8_t *bytes;
};

/* ---- relocations: position-independent programs have their pointers there ---- */

static uint32_t relative_type(uint16_t machine)
{
	switch (machine) {
	case EM_X86_64:
		return R_X86_64_RELATIVE;
	case EM_AARCH64:
		return R_AARCH64_RELATIVE;
	case EM_PPC64:
		return R_PPC64_RELATIVE;
	case EM_S390:
		return R_390_RELATIVE;
	case EM_RISCV:
	case 258: /* EM_LOONGARCH, which older headers lack */
		return R_RISCV_RELATIVE;
	default:
		return 0;
	}
}

/* Sets address and size of the relocations with addends. */
static int find_relocations(const struct go_file *go, uint64_t *address, uint64_t *size)
{
	const struct perch__elf_segment *dynamic = perch__elf_segment_of_type(go->elf, PT_DYNAMIC);
	uint8_t *bytes;
	int rc;

	*address = *size = 0;
	/* relocations of 32-bit programs have the addend at the address, so it is read anyway */
	if (!dynamic || !go->elf->wide || !go->relative)
		return 0;
	rc = perch__elf_load(go->elf, &bytes, dynamic->offset, dynamic->size, MOST_DYNAMIC);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	for (size_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic->size; at += sizeof(Elf64_Dyn)) {
		uint64_t tag = perch__elf_word(go->elf, bytes + at, 8);
		uint64_t value = perch__elf_word(go->elf, bytes + at + 8, 8);

		if (tag == DT_NULL)
			break;
		if (tag == DT_RELA)
			*address = value;
		else if (tag == DT_RELASZ)
			*size = value;
	}
	free(bytes);
	return 0;
}

static int load_relocations(struct go_file *go)
{
	uint64_t address, size, offset;
	int rc;

	go->relative = relative_type(go->elf->machine);
	rc = find_relocations(go, &address, &size);
	if (rc || !size || !perch__elf_find_offset(go->elf, address, false, &offset))
		return rc;
	rc = perch__elf_load(go->elf, &go->relocation, offset, size, MOST_BYTES);
	if (!rc)
		go->nr_relocations = size / sizeof(Elf64_Rela);
	return rc == -ENOMEM ? rc : 0;
}

static void relocate_part(const struct go_file *go, struct go_part *part)
{
	for (size_t i = 0; i < go->nr_relocations; i++) {
		const uint8_t *one = go->relocation + i * sizeof(Elf64_Rela);
		uint64_t inside = perch__elf_word(go->elf, one, 8) - part->address;

		/* both have the byte order of the file */
		if (part->size >= 8 && inside <= part->size - 8 &&
		    (uint32_t)perch__elf_word(go->elf, one + 8, 8) == go->relative)
			memcpy(part->bytes + inside, one + 16, 8);
	}
}

static int load_part(struct go_file *go, struct go_part *part, uint64_t address, uint64_t offset,
		     uint64_t size)
{
	int rc = -EFBIG;

	if (go->parts_left && size <= go->bytes_left) {
		go->parts_left--;
		go->bytes_left -= size;
		rc = perch__elf_load(go->elf, &part->bytes, offset, size, MOST_BYTES);
	}
	part->address = address;
	part->size = (size_t)size;
	if (rc)
		return rc == -ENOMEM ? rc : -ENOENT;
	relocate_part(go, part);
	return 0;
}

/* The first byte of a part whose address is a multiple of 4 or 8. */
static size_t first_aligned(const struct go_part *part, size_t alignment)
{
	return (alignment - part->address % alignment) % alignment;
}

static bool has_data(const struct perch__elf_segment *segment)
{
	return segment->type == PT_LOAD && !(segment->flags & PF_X) && segment->size;
}

static int load_segment(struct go_file *go, struct go_part *part,
			const struct perch__elf_segment *segment)
{
	return load_part(go, part, segment->address, segment->offset, segment->size);
}

/* ---- the proof that bytes are the table of the program ---- */

static bool has_module(const struct go_table *table, uint64_t address, const struct go_part *part,
		       uint64_t *text)
{
	size_t pointer = table->elf->wide ? 8 : 4;

	for (size_t at = first_aligned(part, pointer); at + GO_MODULE_WORDS * pointer <= part->size;
	     at += pointer)
		if (perch__elf_word(table->elf, part->bytes + at, pointer) == address &&
		    perch__go_is_module(table, address, part->bytes + at, text))
			return true;
	return false;
}

/* Finds the module data of a table, and sets the address of its text. Returns 0, -ENOENT, -ENOMEM.
 */
static int find_module(struct go_file *go, struct go_table *table, uint64_t address)
{
	bool found = false;

	for (size_t i = 0; i < go->elf->nr_segments && !found; i++) {
		const struct perch__elf_segment *segment = &go->elf->segment[i];
		struct go_part data;
		int rc;

		if (!has_data(segment) || !(segment->flags & PF_W))
			continue;
		rc = load_segment(go, &data, segment);
		if (rc == -ENOMEM)
			return rc;
		if (rc)
			continue;
		found = has_module(table, address, &data, &table->text);
		free(data.bytes);
	}
	return found ? 0 : -ENOENT;
}

/* The segment with the code of all functions, or NULL. */
static const struct perch__elf_segment *segment_of_code(const struct go_file *go,
							const struct go_table *table)
{
	uint64_t start = table->text + perch__go_start(table, 0);
	uint64_t end = table->text + perch__go_start(table, table->nr);

	for (size_t i = 0; i < go->elf->nr_segments; i++) {
		const struct perch__elf_segment *segment = &go->elf->segment[i];

		if (segment->type == PT_LOAD && (segment->flags & PF_X) &&
		    start >= segment->address && end >= start &&
		    end - segment->address <= segment->size)
			return segment;
	}
	return NULL;
}

/* True if every function is right. The runtime, too, ends if one is not. */
static bool is_complete(const struct go_table *table)
{
	struct go_function function;

	for (size_t i = 0; i < table->nr; i++)
		if (!perch__go_function(table, i, &function))
			return false;
	return true;
}

/* ---- the functions ---- */

static int add_functions(struct table *result, const struct go_table *table,
			 const struct perch__elf_segment *code)
{
	size_t size = table->names_end - table->names;
	char *names = perch__malloc(size + 1);
	int blob;

	if (!names)
		return -ENOMEM;
	memcpy(names, table->bytes + table->names, size);
	names[size] = 0;
	blob = perch__table_blob(result, names, size);
	result->of_go = blob >= 0;
	for (size_t i = 0; i < table->nr && blob >= 0; i++) {
		struct go_function function;
		struct entry *entry;

		if (!perch__go_function(table, i, &function) || !function.name ||
		    function.end == function.start)
			continue;
		entry = perch__table_add(result);
		if (!entry)
			return -ENOMEM;
		entry->start = function.start - code->address + code->offset;
		entry->end = function.end - code->address + code->offset;
		entry->name = (uint32_t)(function.name - table->names);
		entry->blob_index = (uint8_t)blob;
		entry->binding = STB_LOCAL;
		entry->type = STT_FUNC;
		entry->parent = NO_ENTRY;
	}
	return blob < 0 ? blob : 0;
}

/* Returns 0; -ENOENT: it is not a table, or a damaged one; or -ENOMEM. */
static int add_table(struct go_file *go, struct table *result, uint64_t address,
		     const uint8_t *bytes, size_t size)
{
	const struct perch__elf_segment *code;
	struct go_table table;
	int rc;

	if (!perch__go_table_init(&table, go->elf, bytes, size))
		return -ENOENT;
	rc = find_module(go, &table, address);
	if (rc)
		return rc;
	code = segment_of_code(go, &table);
	if (!code || !is_complete(&table))
		return -ENOENT;
	return add_functions(result, &table, code);
}

/* Tables are aligned to 32 bytes, or to the size of a pointer. */
static int add_table_of_segment(struct go_file *go, struct table *result,
				const struct go_part *part, size_t *candidates)
{
	enum go_version version;
	int rc = -ENOENT;

	for (size_t at = first_aligned(part, 4);
	     at + GO_HEADER_START <= part->size && rc == -ENOENT; at += 4)
		if (perch__go_is_header(go->elf, part->bytes + at, &version)) {
			if (++*candidates > MOST_CANDIDATES)
				break;
			rc = add_table(go, result, part->address + at, part->bytes + at,
				       part->size - at);
		}
	return rc;
}

/* Finds the table by the first bytes of its header. */
static int search_segments(struct go_file *go, struct table *result)
{
	size_t candidates = 0;
	int rc = -ENOENT;

	for (size_t i = 0; i < go->elf->nr_segments && rc == -ENOENT; i++) {
		struct go_part part;

		if (!has_data(&go->elf->segment[i]))
			continue;
		rc = load_segment(go, &part, &go->elf->segment[i]);
		if (rc)
			continue;
		rc = add_table_of_segment(go, result, &part, &candidates);
		free(part.bytes);
	}
	return rc;
}

static size_t section_of_table(const struct elf_file *file)
{
	size_t index = perch__elf_section(file, ".gopclntab", SHT_PROGBITS);

	return index ? index : perch__elf_section(file, ".data.rel.ro.gopclntab", SHT_PROGBITS);
}

/* Other linkers put the table of a position-independent program into .data.rel.ro. */
static bool may_have_table(const struct elf_file *file)
{
	return !file->elf.nr_sections || perch__elf_section(file, ".go.buildinfo", SHT_PROGBITS) ||
	       perch__elf_section(file, ".note.go.buildid", SHT_NOTE);
}

static int add_found(struct go_file *go, struct table *result)
{
	size_t index = section_of_table(go->file);
	const struct perch__elf_section *section = &go->file->elf.section[index];
	struct go_part part;
	int rc = load_relocations(go);

	if (rc || !index)
		return rc ? rc : search_segments(go, result);
	rc = load_part(go, &part, section->address, section->offset, section->size);
	if (rc)
		return rc;
	rc = add_table(go, result, part.address, part.bytes, part.size);
	free(part.bytes);
	return rc;
}

int perch__elf_go_functions(struct table *table, const struct elf_file *file)
{
	struct go_file go = {
		.file = file,
		.elf = &file->elf,
		.parts_left = MOST_PARTS,
		.bytes_left = MOST_READ * file->elf.size,
	};
	int rc;

	if (!section_of_table(file) && !may_have_table(file))
		return 0;
	rc = add_found(&go, table);
	free(go.relocation);
	return rc == -ENOMEM ? rc : 0;
}

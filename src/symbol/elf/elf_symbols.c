/* SPDX-License-Identifier: MIT */
/* Reads functions from ELF symbol tables, and the stubs of the procedure linkage table (PLT). */

#include "base/files/elf_section.h"
#include "base/search.h"
#include "symbol/internal.h"

#define MOST_BYTES (1ull << 30)

/* The state while one symbol table is read. */
struct reading {
	struct table *table;
	const struct elf_file *file, *mapped;
	size_t first_limit; /* index in table->limit of the file's section 0 */
	int blob;
	size_t names_size;
	struct perch__elf_symbols symbols;
};

/* ARM and RISC-V objects mark code and data by symbols such as "$a", "$x.1" and "$d". */
static bool is_mapping_symbol(uint16_t machine, const char *name)
{
	return (machine == EM_ARM || machine == EM_AARCH64 || machine == EM_RISCV) &&
	       name[0] == '$' && name[1] && strchr("adtx", name[1]) &&
	       (!name[2] || name[2] == '.' || machine == EM_RISCV);
}

/* Labels of assembly code have no type. As in perf, visible ones in sections named "text" count. */
static bool is_function(const struct perch__elf_symbol *symbol,
			const struct perch__elf_section *section)
{
	switch (symbol->type) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
	case STT_OBJECT: /* a table inside code: it ends the function before it */
		return section->code;
	case STT_NOTYPE:
		return section->code && strstr(section->name, "text") &&
		       symbol->visibility != STV_HIDDEN && symbol->visibility != STV_INTERNAL;
	default:
		return false;
	}
}

static bool is_variable(const struct perch__elf_symbol *symbol,
			const struct perch__elf_section *section, const struct elf_file *mapped)
{
	uint64_t offset;

	return symbol->type == STT_OBJECT && symbol->size && (section->flags & SHF_ALLOC) &&
	       !section->code &&
	       perch__elf_data_offset(mapped->elf.segment, mapped->elf.nr_loads, symbol->value,
				      &offset);
}

static bool is_wanted(const struct reading *reading, const struct perch__elf_symbol *symbol,
		      const struct perch__elf_section *section)
{
	return reading->table->of_variables ? is_variable(symbol, section, reading->mapped)
					    : is_function(symbol, section);
}

static uint64_t clamp_add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static int take_symbol(struct reading *reading, size_t index)
{
	struct perch__elf_symbol symbol;
	struct entry *entry;
	const char *name;
	size_t number;

	if (!perch__elf_symbol(&reading->symbols, index, &symbol) || !symbol.name ||
	    symbol.name >= reading->names_size)
		return 0;
	number = symbol.section;
	if (!number || number >= reading->file->elf.nr_sections ||
	    !is_wanted(reading, &symbol, &reading->file->elf.section[number]))
		return 0;
	name = reading->table->blob[reading->blob].bytes + symbol.name;
	if (!*name || is_mapping_symbol(reading->file->elf.machine, name))
		return 0;
	entry = perch__table_add(reading->table);
	if (!entry)
		return -ENOMEM;
	if (reading->file->elf.machine == EM_ARM && symbol.type == STT_FUNC)
		symbol.value &= ~(uint64_t)1; /* the bit of Thumb code */
	entry->start = perch__elf_offset(reading->mapped, symbol.value,
					 &reading->file->elf.section[number]);
	entry->end = clamp_add(entry->start, symbol.size);
	entry->name = symbol.name;
	entry->blob_index = (uint8_t)reading->blob;
	entry->binding = symbol.binding;
	entry->type = symbol.type;
	entry->parent = (uint32_t)(reading->first_limit + number);
	return 0;
}

/* Adds the end of each section of the file to table->limit. */
static int add_limits(struct reading *reading)
{
	struct table *table = reading->table;
	const struct elf_file *file = reading->file;

	if (PERCH__ARRAY_RESERVE_BY_NR(table->limit, table->nr_limits, file->elf.nr_sections))
		return -ENOMEM;
	reading->first_limit = table->nr_limits;
	for (size_t i = 0; i < file->elf.nr_sections; i++) {
		const struct perch__elf_section *section = &file->elf.section[i];

		table->limit[table->nr_limits++] =
			section->code ? clamp_add(perch__elf_offset(reading->mapped,
								    section->address, section),
						  section->size)
				      : 0;
	}
	return 0;
}

/* Returns the index of the blob with the strings of section `index`, -ENOENT, or -ENOMEM. */
static int take_names(struct table *table, const struct elf_file *file, size_t index, size_t *size)
{
	uint32_t link = file->elf.section[index].link;
	unsigned char *bytes;
	int blob;

	if (!link || link >= file->elf.nr_sections || file->elf.section[link].type != SHT_STRTAB)
		return -ENOENT;
	for (unsigned i = 0; i < table->nr_blobs; i++)
		if (table->blob[i].file == file && table->blob[i].section == link) {
			*size = table->blob[i].size;
			return (int)i;
		}
	if (perch__elf_load_section(&file->elf, &file->elf.section[link], MOST_BYTES, &bytes, size))
		return -ENOENT;
	blob = perch__table_blob(table, (char *)bytes, *size);
	if (blob >= 0) {
		table->blob[blob].file = file;
		table->blob[blob].section = link;
	}
	return blob;
}

static int add_symbols(struct reading *reading, size_t index)
{
	struct table *table = reading->table;
	size_t nr = reading->symbols.nr;

	reading->blob = take_names(table, reading->file, index, &reading->names_size);
	if (reading->blob < 0)
		return reading->blob == -ENOMEM ? -ENOMEM : 0;
	/* most are functions; the memory of others is never touched */
	if (add_limits(reading) ||
	    PERCH__ARRAY_RESERVE(table->entry, table->capacity, table->nr + nr))
		return -ENOMEM;
	for (size_t i = 1; i < nr; i++)
		if (take_symbol(reading, i))
			return -ENOMEM;
	return 0;
}

int perch__elf_symbols(struct table *table, struct elf_file *file, size_t index,
		       const struct elf_file *mapped)
{
	struct reading reading = { .table = table, .file = file, .mapped = mapped };
	int rc = perch__elf_symbols_load(&reading.symbols, &file->elf, index,
					 perch__elf_load_section);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	rc = add_symbols(&reading, index);
	perch__elf_symbols_clear(&reading.symbols);
	return rc;
}

/* A jump slot: its address in the GOT, and the index of its symbol. */
struct slot {
	uint64_t address;
	uint64_t resolver; /* of an indirect function; in .plt.got the offset of the stub */
	uint32_t symbol;   /* 0: none */
	bool indirect;	   /* of the function that the resolver selects */
};

static int compare_slots(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* The relocations of a section. */
struct plt_relocations {
	const struct perch__elf *elf;
	unsigned char *bytes;
	bool addend;
	size_t nr;
};

/* There are none if they cannot be read. */
static void load_relocations(struct plt_relocations *relocations, const struct elf_file *file,
			     size_t index)
{
	const struct perch__elf *elf = &file->elf;
	size_t size;

	*relocations =
		(struct plt_relocations){ elf, .addend = elf->section[index].type == SHT_RELA };
	if (!perch__elf_load_section(elf, &elf->section[index], MOST_BYTES, &relocations->bytes,
				     &size))
		relocations->nr = size / (relocations->addend ? PERCH__ELF_SIZE(elf, Rela)
							      : PERCH__ELF_SIZE(elf, Rel));
}

static struct perch__elf_relocation relocation_at(const struct plt_relocations *relocations,
						  size_t i)
{
	return perch__elf_relocation(relocations->elf, relocations->bytes, i, relocations->addend);
}

/* Reads the jump slots from the relocations. Returns their number. */
static size_t read_slots(const struct elf_file *file, size_t index, struct slot **slots)
{
	struct plt_relocations relocations;

	load_relocations(&relocations, file, index);
	*slots = relocations.nr ? perch__calloc(relocations.nr, sizeof(**slots)) : NULL;
	for (size_t i = 0; *slots && i < relocations.nr; i++) {
		struct perch__elf_relocation one = relocation_at(&relocations, i);

		(*slots)[i] = (struct slot){ one.offset, (uint64_t)one.addend, one.symbol, false };
	}
	free(relocations.bytes);
	return *slots ? relocations.nr : 0;
}

/* Few files have relocations of indirect functions. */
static bool lacks_symbols(const struct slot *slots, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!slots[i].symbol)
			return true;
	return false;
}

static int compare_resolvers(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return x->resolver < y->resolver ? -1 : x->resolver > y->resolver;
}

/* Of several symbols, one without a leading underscore has the name that programs use. */
static bool is_better_name(const struct reading *reading, uint32_t name, uint32_t than)
{
	const char *bytes = reading->table->blob[reading->blob].bytes;
	struct perch__elf_symbol other;

	if (name >= reading->names_size)
		return false;
	return !than || !perch__elf_symbol(&reading->symbols, than, &other) ||
	       other.name >= reading->names_size ||
	       (bytes[other.name] == '_' && bytes[name] != '_');
}

static void name_slot(const struct reading *reading, struct slot *slot, uint32_t symbol,
		      uint32_t name)
{
	if ((!slot->symbol || slot->indirect) && is_better_name(reading, name, slot->symbol)) {
		slot->symbol = symbol;
		slot->indirect = true;
	}
}

/* The slots are sorted by resolver. */
static size_t first_of_resolver(const struct slot *slots, size_t nr, uint64_t resolver)
{
	return PERCH__SEARCH(nr, i, slots[i].resolver < resolver);
}

/*
 * Relocations of indirect functions (IRELATIVE) have no symbol. The dynamic symbol of an indirect
 * function has the address of its resolver.
 */
static void find_resolved(const struct reading *reading, struct slot *slots, size_t nr)
{
	struct perch__elf_symbol symbol;

	qsort(slots, nr, sizeof(*slots), compare_resolvers);
	for (size_t i = 1; perch__elf_symbol(&reading->symbols, i, &symbol); i++) {
		size_t first;

		if (symbol.type != STT_GNU_IFUNC || !symbol.value)
			continue;
		first = first_of_resolver(slots, nr, symbol.value);
		if (first < nr && slots[first].resolver == symbol.value)
			name_slot(reading, &slots[first], (uint32_t)i, symbol.name);
	}
	for (size_t i = 1; i < nr; i++)
		if (slots[i - 1].indirect && !slots[i].symbol &&
		    slots[i].resolver == slots[i - 1].resolver) {
			slots[i].symbol = slots[i - 1].symbol;
			slots[i].indirect = true;
		}
}

/* The size of a stub, and of the code before the first one. */
static void stub_sizes(const struct elf_file *file, const struct perch__elf_section *plt,
		       uint64_t *head, uint64_t *stub)
{
	*head = *stub = plt->entry;
	switch (file->elf.machine) {
	case EM_AARCH64:
		*head = 32;
		*stub = 16;
		break;
	case EM_ARM:
		*head = 20;
		*stub = 12;
		break;
	case EM_X86_64:
	case EM_386: /* some linkers do not set the entry size */
		if (plt->entry < 8 || plt->entry > 64)
			*head = *stub = 16;
		break;
	case EM_RISCV:
		*head = 32;
		*stub = 16;
		break;
	}
	if (!strcmp(plt->name, ".plt.sec"))
		*head = 0;
}

/* Adds the stub of a dynamic symbol. start: its offset in the DSO */
static int add_stub(struct reading *reading, uint32_t index, uint64_t start, uint64_t size)
{
	struct entry *entry;
	struct perch__elf_symbol symbol;

	if (!perch__elf_symbol(&reading->symbols, index, &symbol) ||
	    symbol.name >= reading->names_size)
		return 0;
	entry = perch__table_add(reading->table);
	if (!entry)
		return -ENOMEM;
	entry->start = start;
	entry->end = start + size;
	entry->name = index ? symbol.name : 0;
	entry->blob_index = (uint8_t)reading->blob;
	entry->binding = STB_GLOBAL;
	entry->type = STT_FUNC;
	entry->parent = NO_ENTRY;
	entry->plt = true;
	return 0;
}

static int add_stubs(struct reading *reading, const struct perch__elf_section *plt,
		     const struct slot *slots, size_t nr)
{
	uint64_t start = perch__elf_offset(reading->mapped, plt->address, plt);
	uint64_t head, size;
	int rc = 0;

	stub_sizes(reading->file, plt, &head, &size);
	if (!size || size > 4096)
		return 0;
	for (size_t i = 0; i < nr && !rc && head + (i + 1) * size <= plt->size; i++)
		rc = add_stub(reading, slots[i].symbol, start + head + i * size, size);
	return rc;
}

/* Finds the slot to which a stub of x86-64 jumps. address: of the stub */
static bool find_slot(const uint8_t *code, size_t size, uint64_t address, uint64_t *slot)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = size > sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64))
			    ? sizeof(endbr64)
			    : 0;
	uint32_t displacement = 0;

	at += at < size && code[at] == 0xf2; /* bnd */
	if (size < at + 6 || code[at] != 0xff || code[at + 1] != 0x25)
		return false;
	for (size_t i = 0; i < 4; i++)
		displacement |= (uint32_t)code[at + 2 + i] << 8 * i;
	*slot = address + at + 6 + (uint64_t)(int64_t)(int32_t)displacement;
	return true;
}

/*
 * Sets the symbols of slots that are relocated like variables. The slots are sorted. Linkers put
 * relocations with symbols last.
 */
static void name_slots(const struct elf_file *file, size_t index, struct slot *slots, size_t nr)
{
	struct plt_relocations relocations;
	size_t left = nr;

	load_relocations(&relocations, file, index);
	for (size_t i = relocations.nr; i-- && left;) {
		struct perch__elf_relocation one = relocation_at(&relocations, i);
		struct slot key = { .address = one.offset }, *slot;

		if (one.type != R_X86_64_GLOB_DAT)
			continue;
		slot = bsearch(&key, slots, nr, sizeof(*slots), compare_slots);
		if (!slot || slot->symbol)
			continue;
		slot->symbol = one.symbol;
		left--;
	}
	free(relocations.bytes);
}

/* Adds the stubs of .plt.got whose slots have a symbol. code: the bytes of the section. */
static int add_got_code(struct reading *reading, const struct perch__elf_section *plt,
			size_t relocations, const unsigned char *code, size_t code_size)
{
	size_t size = plt->entry == 16 ? 16 : 8, nr = 0;
	struct slot *slots = perch__calloc(code_size / size + 1, sizeof(*slots));
	int rc = 0;

	if (!slots)
		return -ENOMEM;
	for (size_t at = 0; code_size - at >= size; at += size) {
		slots[nr].resolver = perch__elf_offset(reading->mapped, plt->address, plt) + at;
		nr += find_slot(code + at, size, plt->address + at, &slots[nr].address);
	}
	qsort(slots, nr, sizeof(*slots), compare_slots);
	name_slots(reading->file, relocations, slots, nr);
	for (size_t i = 0; i < nr && !rc; i++)
		if (slots[i].symbol)
			rc = add_stub(reading, slots[i].symbol, slots[i].resolver, size);
	free(slots);
	return rc;
}

/*
 * Adds the stubs in .plt.got of x86-64: those of functions that are called, and whose address is
 * taken.
 */
static int add_got_stubs(struct reading *reading, uint32_t symbols)
{
	const struct elf_file *file = reading->file;
	size_t plt = perch__elf_section(file, ".plt.got", SHT_PROGBITS), size;
	size_t relocations = perch__elf_section(file, ".rela.dyn", SHT_RELA);
	unsigned char *code;
	int rc;

	if (file->elf.machine != EM_X86_64 || !plt || !file->elf.section[plt].code ||
	    !relocations || file->elf.section[relocations].link != symbols ||
	    perch__elf_load_section(&file->elf, &file->elf.section[plt], MOST_BYTES, &code, &size))
		return 0;
	rc = add_got_code(reading, &file->elf.section[plt], relocations, code, size);
	free(code);
	return rc;
}

static int add_all_stubs(struct reading *reading, size_t relocations)
{
	static const char *const sections[] = { ".plt", ".plt.sec" };
	struct slot *slots;
	size_t nr = read_slots(reading->file, relocations, &slots);
	int rc = 0;

	if (lacks_symbols(slots, nr))
		find_resolved(reading, slots, nr);
	/* PLT stubs have the order of the slots. Relocations of indirect functions come last. */
	if (nr)
		qsort(slots, nr, sizeof(*slots), compare_slots);
	for (size_t i = 0; i < 2 && !rc; i++) {
		size_t plt = perch__elf_section(reading->file, sections[i], SHT_PROGBITS);

		if (plt && reading->file->elf.section[plt].code)
			rc = add_stubs(reading, &reading->file->elf.section[plt], slots, nr);
	}
	free(slots);
	return rc;
}

int perch__elf_plt(struct table *table, struct elf_file *file)
{
	struct reading reading = { .table = table, .file = file, .mapped = file };
	size_t relocations = perch__elf_section(file, ".rela.plt", SHT_RELA);
	uint32_t symbols;
	int rc;

	if (!relocations)
		relocations = perch__elf_section(file, ".rel.plt", SHT_REL);
	symbols = relocations ? file->elf.section[relocations].link : 0;
	if (!symbols || symbols >= file->elf.nr_sections ||
	    file->elf.section[symbols].type != SHT_DYNSYM)
		return 0;
	rc = perch__elf_symbols_load(&reading.symbols, &file->elf, symbols,
				     perch__elf_load_section);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	reading.blob = take_names(table, file, symbols, &reading.names_size);
	rc = reading.blob < 0 ? reading.blob : add_all_stubs(&reading, relocations);
	if (!rc)
		rc = add_got_stubs(&reading, symbols);
	perch__elf_symbols_clear(&reading.symbols);
	return rc == -ENOMEM ? rc : 0;
}

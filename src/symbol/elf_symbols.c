/* SPDX-License-Identifier: MIT */
/* Reads functions from ELF symbol tables, and the stubs of the procedure linkage table (PLT). */

#include "internal.h"

/* The state while one symbol table is read. */
struct reading {
	struct table *table;
	const struct elf_file *file, *mapped;
	size_t first_limit; /* index in table->limit of the file's section 0 */
	int blob;
	size_t names_size;
	Elf_Data *symbols, *extended; /* extended: section numbers of more than 16 bits */
};

/* ARM and RISC-V objects mark code and data by symbols such as "$a", "$x.1" and "$d". */
static bool is_mapping_symbol(uint16_t machine, const char *name)
{
	return (machine == EM_ARM || machine == EM_AARCH64 || machine == EM_RISCV) &&
	       name[0] == '$' && name[1] && strchr("adtx", name[1]) &&
	       (!name[2] || name[2] == '.' || machine == EM_RISCV);
}

/* Labels of assembly code have no type. As in perf, visible ones in sections named "text" count. */
static bool is_function(const GElf_Sym *symbol, const struct section *section)
{
	switch (GELF_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
	case STT_OBJECT: /* a table inside code: it ends the function before it */
		return section->code;
	case STT_NOTYPE:
		return section->code && section->text &&
		       GELF_ST_VISIBILITY(symbol->st_other) != STV_HIDDEN &&
		       GELF_ST_VISIBILITY(symbol->st_other) != STV_INTERNAL;
	default:
		return false;
	}
}

/* Memory without bytes in the mapped file (.bss) has no offset of its own. Sections of a debug file
 * never have bytes. */
static bool has_bytes(const struct elf_file *mapped, uint64_t address)
{
	for (size_t i = 0; i < mapped->nr_segments; i++)
		if (address >= mapped->segment[i].address &&
		    address - mapped->segment[i].address < mapped->segment[i].size)
			return true;
	return false;
}

static bool is_variable(const GElf_Sym *symbol, const struct section *section,
			const struct elf_file *mapped)
{
	return GELF_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_size &&
	       (section->flags & SHF_ALLOC) && !section->code &&
	       has_bytes(mapped, symbol->st_value);
}

static bool is_wanted(const struct reading *reading, const GElf_Sym *symbol,
		      const struct section *section)
{
	return reading->table->of_variables ? is_variable(symbol, section, reading->mapped)
					    : is_function(symbol, section);
}

static uint64_t clamp_add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

/* Returns the section of a symbol, or 0. */
static size_t section_of(const struct reading *reading, int index, GElf_Sym *symbol)
{
	GElf_Word number = symbol->st_shndx;

	if (number == SHN_XINDEX && reading->extended)
		gelf_getsymshndx(reading->symbols, reading->extended, index, symbol, &number);
	else if (number >= SHN_LORESERVE)
		return 0;
	return number < reading->file->nr_sections ? number : 0;
}

static int take_symbol(struct reading *reading, int index)
{
	GElf_Sym symbol;
	struct entry *entry;
	const char *name;
	size_t number;

	if (!gelf_getsym(reading->symbols, index, &symbol) || symbol.st_shndx == SHN_UNDEF ||
	    !symbol.st_name || symbol.st_name >= reading->names_size)
		return 0;
	number = section_of(reading, index, &symbol);
	if (!number || !is_wanted(reading, &symbol, &reading->file->section[number]))
		return 0;
	name = reading->table->blob[reading->blob].bytes + symbol.st_name;
	if (!*name || is_mapping_symbol(reading->file->header.e_machine, name))
		return 0;
	entry = perch__table_add(reading->table);
	if (!entry)
		return -ENOMEM;
	if (reading->file->header.e_machine == EM_ARM && GELF_ST_TYPE(symbol.st_info) == STT_FUNC)
		symbol.st_value &= ~(uint64_t)1; /* the bit of Thumb code */
	entry->start = perch__elf_offset(reading->mapped, symbol.st_value,
					 &reading->file->section[number]);
	entry->end = clamp_add(entry->start, symbol.st_size);
	entry->name = symbol.st_name;
	entry->blob_index = (uint8_t)reading->blob;
	entry->binding = GELF_ST_BIND(symbol.st_info);
	entry->type = GELF_ST_TYPE(symbol.st_info);
	entry->parent = (uint32_t)(reading->first_limit + number);
	return 0;
}

/* Adds the end of each section of the file to table->limit. */
static int add_limits(struct reading *reading)
{
	struct table *table = reading->table;
	const struct elf_file *file = reading->file;

	if (PERCH__ARRAY_RESERVE_BY_NR(table->limit, table->nr_limits, file->nr_sections))
		return -ENOMEM;
	reading->first_limit = table->nr_limits;
	for (size_t i = 0; i < file->nr_sections; i++) {
		const struct section *section = &file->section[i];

		table->limit[table->nr_limits++] =
			section->code ? clamp_add(perch__elf_offset(reading->mapped,
								    section->address, section),
						  section->size)
				      : 0;
	}
	return 0;
}

static bool readable(const struct section *section)
{
	return section->type != SHT_NOBITS && !(section->flags & SHF_COMPRESSED);
}

static Elf_Data *data_of(const struct elf_file *file, size_t index)
{
	Elf_Scn *section = elf_getscn(file->elf, index);

	if (!section || !readable(&file->section[index]))
		return NULL;
	return PERCH__COUNTED_CALL(elf_getdata(section, NULL));
}

static Elf_Data *extended_of(const struct elf_file *file, size_t symbols)
{
	for (size_t i = 1; i < file->nr_sections; i++)
		if (file->section[i].type == SHT_SYMTAB_SHNDX && file->section[i].link == symbols)
			return data_of(file, i);
	return NULL;
}

/* Returns the index of the blob with the strings of section `index`, -ENOENT, or -ENOMEM. */
static int take_names(struct table *table, const struct elf_file *file, size_t index, size_t *size)
{
	uint32_t link = file->section[index].link;
	char *bytes;
	int blob;

	if (!link || link >= file->nr_sections || file->section[link].type != SHT_STRTAB ||
	    !readable(&file->section[link]))
		return -ENOENT;
	*size = file->section[link].size;
	for (unsigned i = 0; i < table->nr_blobs; i++)
		if (table->blob[i].file == file && table->blob[i].section == link)
			return (int)i;
	bytes = perch__elf_bytes(file, file->section[link].offset, *size);
	if (!bytes)
		return -ENOENT;
	blob = perch__table_blob(table, bytes, *size);
	if (blob >= 0) {
		table->blob[blob].file = file;
		table->blob[blob].section = link;
	}
	return blob;
}

int perch__elf_symbols(struct table *table, struct elf_file *file, size_t index,
		       const struct elf_file *mapped)
{
	struct reading reading = { .table = table, .file = file, .mapped = mapped };
	size_t entry = gelf_fsize(file->elf, ELF_T_SYM, 1, EV_CURRENT), nr;

	reading.symbols = data_of(file, index);
	if (!reading.symbols || !entry)
		return 0;
	reading.extended = extended_of(file, index);
	reading.blob = take_names(table, file, index, &reading.names_size);
	if (reading.blob < 0)
		return reading.blob == -ENOMEM ? -ENOMEM : 0;
	nr = reading.symbols->d_size / entry;
	/* most are functions; the memory of others is never touched */
	if (add_limits(&reading) ||
	    PERCH__ARRAY_RESERVE(table->entry, table->capacity, table->nr + nr))
		return -ENOMEM;
	for (size_t i = 1; i < nr && i < INT32_MAX; i++)
		if (take_symbol(&reading, (int)i))
			return -ENOMEM;
	return 0;
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

/* Reads the jump slots from the relocations. Returns their number. */
static size_t read_slots(const struct elf_file *file, size_t index, struct slot **slots)
{
	const struct section *section = &file->section[index];
	Elf_Data *data = data_of(file, index);
	bool addend = section->type == SHT_RELA;
	size_t size = gelf_fsize(file->elf, addend ? ELF_T_RELA : ELF_T_REL, 1, EV_CURRENT);
	size_t nr = data && size ? data->d_size / size : 0;

	*slots = nr ? perch__calloc(nr, sizeof(**slots)) : NULL;
	if (!*slots)
		return 0;
	for (size_t i = 0; i < nr; i++) {
		GElf_Rela rela = { 0 };
		GElf_Rel rel = { 0 };

		if (addend && gelf_getrela(data, (int)i, &rela))
			(*slots)[i] = (struct slot){ rela.r_offset, (uint64_t)rela.r_addend,
						     (uint32_t)GELF_R_SYM(rela.r_info), false };
		else if (!addend && gelf_getrel(data, (int)i, &rel))
			(*slots)[i] = (struct slot){ rel.r_offset, 0,
						     (uint32_t)GELF_R_SYM(rel.r_info), false };
	}
	return nr;
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
	GElf_Sym other;

	if (name >= reading->names_size)
		return false;
	return !than || !gelf_getsym(reading->symbols, (int)than, &other) ||
	       other.st_name >= reading->names_size ||
	       (bytes[other.st_name] == '_' && bytes[name] != '_');
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
	size_t low = 0, high = nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (slots[middle].resolver < resolver)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Relocations of indirect functions (IRELATIVE) have no symbol. The dynamic symbol of an indirect
 * function has the address of its resolver.
 */
static void find_resolved(const struct reading *reading, struct slot *slots, size_t nr)
{
	GElf_Sym symbol;

	qsort(slots, nr, sizeof(*slots), compare_resolvers);
	for (int i = 1; gelf_getsym(reading->symbols, i, &symbol); i++) {
		size_t first;

		if (GELF_ST_TYPE(symbol.st_info) != STT_GNU_IFUNC || !symbol.st_value)
			continue;
		first = first_of_resolver(slots, nr, symbol.st_value);
		if (first < nr && slots[first].resolver == symbol.st_value)
			name_slot(reading, &slots[first], (uint32_t)i, symbol.st_name);
	}
	for (size_t i = 1; i < nr; i++)
		if (slots[i - 1].indirect && !slots[i].symbol &&
		    slots[i].resolver == slots[i - 1].resolver) {
			slots[i].symbol = slots[i - 1].symbol;
			slots[i].indirect = true;
		}
}

/* The size of a stub, and of the code before the first one. */
static void stub_sizes(const struct elf_file *file, const struct section *plt, uint64_t *head,
		       uint64_t *stub)
{
	*head = *stub = plt->entry_size;
	switch (file->header.e_machine) {
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
		if (plt->entry_size < 8 || plt->entry_size > 64)
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
	GElf_Sym symbol;

	if (!gelf_getsym(reading->symbols, (int)index, &symbol) ||
	    symbol.st_name >= reading->names_size)
		return 0;
	entry = perch__table_add(reading->table);
	if (!entry)
		return -ENOMEM;
	entry->start = start;
	entry->end = start + size;
	entry->name = index ? symbol.st_name : 0;
	entry->blob_index = (uint8_t)reading->blob;
	entry->binding = STB_GLOBAL;
	entry->type = STT_FUNC;
	entry->parent = NO_ENTRY;
	entry->plt = true;
	return 0;
}

static int add_stubs(struct reading *reading, const struct section *plt, const struct slot *slots,
		     size_t nr)
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
static void name_slots(const struct elf_file *file, size_t relocations, struct slot *slots,
		       size_t nr)
{
	Elf_Data *data = data_of(file, relocations);
	size_t size = gelf_fsize(file->elf, ELF_T_RELA, 1, EV_CURRENT), left = nr;
	GElf_Rela rela;

	for (size_t i = data && size ? data->d_size / size : 0; i-- && left;) {
		struct slot key = { 0 }, *slot;

		if (!gelf_getrela(data, (int)i, &rela) ||
		    GELF_R_TYPE(rela.r_info) != R_X86_64_GLOB_DAT)
			continue;
		key.address = rela.r_offset;
		slot = bsearch(&key, slots, nr, sizeof(*slots), compare_slots);
		if (!slot || slot->symbol)
			continue;
		slot->symbol = (uint32_t)GELF_R_SYM(rela.r_info);
		left--;
	}
}

/*
 * Adds the stubs in .plt.got of x86-64: those of functions that are called, and whose address is
 * taken.
 */
static int add_got_stubs(struct reading *reading, uint32_t symbols)
{
	const struct elf_file *file = reading->file;
	size_t plt = perch__elf_section(file, ".plt.got", SHT_PROGBITS), nr = 0;
	size_t relocations = perch__elf_section(file, ".rela.dyn", SHT_RELA);
	const struct section *section = &file->section[plt];
	size_t size = section->entry_size == 16 ? 16 : 8;
	struct slot *slots;
	Elf_Data *data;
	int rc = 0;

	if (file->header.e_machine != EM_X86_64 || !plt || !section->code || !relocations ||
	    file->section[relocations].link != symbols || !(data = data_of(file, plt)) ||
	    data->d_size < size)
		return 0;
	slots = perch__calloc(data->d_size / size, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t at = 0; data->d_size - at >= size; at += size) {
		slots[nr].resolver =
			perch__elf_offset(reading->mapped, section->address, section) + at;
		nr += find_slot((const uint8_t *)data->d_buf + at, size, section->address + at,
				&slots[nr].address);
	}
	qsort(slots, nr, sizeof(*slots), compare_slots);
	name_slots(file, relocations, slots, nr);
	for (size_t i = 0; i < nr && !rc; i++)
		if (slots[i].symbol)
			rc = add_stub(reading, slots[i].symbol, slots[i].resolver, size);
	free(slots);
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

		if (plt && reading->file->section[plt].code)
			rc = add_stubs(reading, &reading->file->section[plt], slots, nr);
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
	if (!relocations)
		return 0;
	symbols = file->section[relocations].link;
	if (!symbols || symbols >= file->nr_sections || file->section[symbols].type != SHT_DYNSYM)
		return 0;
	reading.symbols = data_of(file, symbols);
	if (!reading.symbols)
		return 0;
	reading.blob = take_names(table, file, symbols, &reading.names_size);
	if (reading.blob < 0)
		return reading.blob == -ENOMEM ? -ENOMEM : 0;
	rc = add_all_stubs(&reading, relocations);
	return rc ? rc : add_got_stubs(&reading, symbols);
}

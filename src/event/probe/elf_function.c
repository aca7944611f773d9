/* SPDX-License-Identifier: MIT */
/* Finds functions in the symbol tables of ELF files: first in .symtab, which strip removes, then in
 * .dynsym. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_lookup.h"

#define STRINGS_MAX    (256u << 20) /* bytes of names; a browser with all symbols has 150 MiB */
#define SUGGEST_MAX    400000	    /* functions to compare with a name, to limit the time */
#define VERSION_HIDDEN 0x8000	    /* bit of a version number: not the default version */

struct symbol {
	struct perch__elf_symbol elf;
	const char *name;
	uint16_t version; /* with VERSION_HIDDEN; 0 is none */
};

/* A symbol table being read. */
struct table {
	struct perch__elf_symbols symbols;
	char *strings;
	size_t strings_size;
	unsigned char *versions; /* two bytes each; NULL if the table has none */
	size_t nr_versions;
};

typedef void visit_symbol(void *context, const struct symbol *symbol);

/* Returns the index of the first section of a type, or 0, which is never one. */
static size_t find_section(const struct perch__elf *elf, uint32_t type)
{
	for (size_t i = 1; i < elf->nr_sections; i++)
		if (elf->section[i].type == type)
			return i;
	return 0;
}

static int load_strings(const struct perch__elf *elf, uint32_t link, char **strings, size_t *size)
{
	unsigned char *bytes;
	int rc;

	if (link >= elf->nr_sections || elf->section[link].type != SHT_STRTAB)
		return -EBADMSG;
	rc = perch__elf_load(elf, &bytes, elf->section[link].offset, elf->section[link].size,
			     STRINGS_MAX);
	if (rc)
		return rc;
	*strings = (char *)bytes;
	*size = elf->section[link].size;
	return 0;
}

static int open_table(struct table *table, const struct perch__elf *elf, uint32_t type)
{
	const struct perch__elf_section *versions =
		&elf->section[find_section(elf, SHT_GNU_versym)];
	size_t index = find_section(elf, type), size;
	int rc;

	*table = (struct table){ 0 };
	rc = index ? perch__elf_symbols_load(&table->symbols, elf, index, perch__elf_load_plain)
		   : -ENOENT;
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	rc = load_strings(elf, elf->section[index].link, &table->strings, &table->strings_size);
	if (rc || type != SHT_DYNSYM)
		return rc;
	rc = perch__elf_load_plain(elf, versions, STRINGS_MAX, &table->versions, &size);
	table->nr_versions = rc ? 0 : size / 2;
	return rc == -ENOENT ? 0 : rc;
}

static void close_table(struct table *table)
{
	perch__elf_symbols_clear(&table->symbols);
	free(table->strings);
	free(table->versions);
}

static void visit_table(const struct table *table, visit_symbol *visit, void *context)
{
	struct symbol symbol = { 0 };

	for (size_t i = 0; perch__elf_symbol(&table->symbols, i, &symbol.elf); i++) {
		if (!symbol.elf.name || symbol.elf.name >= table->strings_size)
			continue;
		symbol.name = table->strings + symbol.elf.name;
		symbol.version =
			i < table->nr_versions
				? perch__elf_word(table->symbols.elf, table->versions + 2 * i, 2)
				: 0;
		visit(context, &symbol);
	}
}

/* Visits .symtab, then .dynsym unless *found is set. found may be NULL. */
static int visit_all(const struct perch__elf *elf, visit_symbol *visit, void *context,
		     const unsigned *found)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };

	for (size_t i = 0; i < PERCH__NR(types); i++) {
		struct table table;
		int rc = open_table(&table, elf, types[i]);

		if (!rc)
			visit_table(&table, visit, context);
		close_table(&table);
		if (rc || (found && *found))
			return rc;
	}
	return 0;
}

static bool in_code(const struct perch__elf *elf, const struct symbol *symbol, uint64_t *offset)
{
	uint64_t address = symbol->elf.value;

	if (elf->machine == EM_ARM)
		address &= ~UINT64_C(1); /* the bit marks Thumb code */
	return symbol->elf.section != SHN_UNDEF &&
	       perch__elf_find_offset(elf, address, true, offset);
}

/* Labels of assembly code have no type. They are functions if they are not local. */
static bool is_function(const struct symbol *symbol)
{
	switch (symbol->elf.type) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE:
		return symbol->elf.binding != STB_LOCAL;
	default:
		return false;
	}
}

struct function_search {
	const struct perch__elf *elf;
	const char *name, *version; /* version is NULL for the default version */
	size_t length;		    /* of the name */
	uint16_t version_number;    /* in this file; 0 if it defines no such version */
	struct perch__elf_function *function;
};

/* Finds the number of a version that the file defines. Each entry has the offset of the next. */
static int find_version(const struct perch__elf *elf, const char *version, uint16_t *number)
{
	const struct perch__elf_section *section = &elf->section[find_section(elf, SHT_GNU_verdef)];
	size_t strings_size = 0, at = 0, size;
	unsigned char *bytes;
	char *strings;
	int rc;

	rc = perch__elf_load_plain(elf, section, 1 << 24, &bytes, &size);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	rc = load_strings(elf, section->link, &strings, &strings_size);
	while (!rc && size >= sizeof(Elf64_Verdef) && at <= size - sizeof(Elf64_Verdef)) {
		size_t name = at + PERCH__ELF_FIELD(elf, bytes + at, Verdef, vd_aux);
		size_t next = PERCH__ELF_FIELD(elf, bytes + at, Verdef, vd_next),
		       text = strings_size;

		if (name <= size - sizeof(Elf64_Verdaux))
			text = PERCH__ELF_FIELD(elf, bytes + name, Verdaux, vda_name);
		if (text < strings_size && !strcmp(strings + text, version))
			*number = PERCH__ELF_FIELD(elf, bytes + at, Verdef, vd_ndx) &
				  ~VERSION_HIDDEN;
		if (!next || next > size - at)
			break;
		at += next;
	}
	if (!rc)
		free(strings);
	free(bytes);
	return rc;
}

/* Ranks a symbol for the searched name: 0 is another name, 1 a local symbol, 2 a version that is
 * not the default, 3 any other. */
static unsigned rank_symbol(const struct function_search *search, const struct symbol *symbol)
{
	const char *after_name = symbol->name + search->length;
	bool hidden = symbol->version & VERSION_HIDDEN;

	if (strncmp(symbol->name, search->name, search->length) ||
	    (*after_name && *after_name != '@'))
		return 0;
	if (*after_name == '@') { /* linkers write versions into the names of .symtab */
		hidden = after_name[1] != '@';
		after_name += hidden ? 1 : 2;
		if (search->version && strcmp(after_name, search->version))
			return 0;
	} else if (search->version &&
		   (!search->version_number ||
		    (symbol->version & ~VERSION_HIDDEN) != search->version_number)) {
		return 0;
	}
	if (symbol->elf.binding == STB_LOCAL)
		return 1;
	return hidden && !search->version ? 2 : 3;
}

static void visit_candidate(void *context, const struct symbol *symbol)
{
	struct function_search *search = context;
	struct perch__elf_function *function = search->function;
	uint64_t offset = 0;
	unsigned rank;
	bool in_file;

	if (!is_function(symbol))
		return;
	rank = rank_symbol(search, symbol);
	if (!rank && function->has_functions) /* most symbols need no search of their section */
		return;
	in_file = in_code(search->elf, symbol, &offset);
	function->has_functions |= in_file;
	function->undefined |= rank && symbol->elf.section == SHN_UNDEF;
	if (!rank || !in_file)
		return;
	if (rank == function->rank && offset != function->offset)
		function->ambiguous = true;
	else if (rank == function->rank && symbol->elf.size > function->size)
		function->size = symbol->elf.size;
	if (rank <= function->rank)
		return;
	function->rank = rank;
	function->offset = offset;
	function->size = symbol->elf.size;
	function->ambiguous = false;
	function->indirect = symbol->elf.type == STT_GNU_IFUNC;
}

int perch__elf_find_function(const struct perch__elf *elf, const char *name,
			     struct perch__elf_function *function)
{
	struct function_search search = {
		.elf = elf, .name = name, .length = strcspn(name, "@"), .function = function
	};
	int rc = 0;

	memset(function, 0, sizeof(*function));
	function->stripped = !find_section(elf, SHT_SYMTAB);
	if (!search.length)
		return -ENOENT;
	if (name[search.length]) {
		search.version = name + search.length + (name[search.length + 1] == '@' ? 2 : 1);
		rc = find_version(elf, search.version, &search.version_number);
	}
	if (!rc)
		rc = visit_all(elf, visit_candidate, &search, &function->rank);
	if (rc)
		return rc;
	return function->rank ? 0 : -ENOENT;
}

struct visiting {
	const struct perch__elf *elf;
	perch__visit_function *visit;
	void *context;
	unsigned found;
	int rc;
};

static void visit_function(void *context, const struct symbol *symbol)
{
	struct visiting *visiting = context;
	struct perch__elf_function function = { .size = symbol->elf.size,
						.indirect = symbol->elf.type == STT_GNU_IFUNC };

	if (visiting->rc || !is_function(symbol) ||
	    !in_code(visiting->elf, symbol, &function.offset))
		return;
	visiting->rc = visiting->visit(visiting->context, symbol->name, &function);
	visiting->found = 1;
}

int perch__elf_visit_functions(const struct perch__elf *elf, perch__visit_function *visit,
			       void *context)
{
	struct visiting visiting = { .elf = elf, .visit = visit, .context = context };
	int rc = visit_all(elf, visit_function, &visiting, &visiting.found);

	return rc ? rc : visiting.rc;
}

struct symbol_suggestions {
	const struct perch__elf *elf;
	struct perch__suggestions *suggestions;
	size_t length, nr;
};

/* A name of very different length is similar only if it begins with the word, which is cheap to
 * check before the edit distance. */
static void suggest_symbol(void *context, const struct symbol *symbol)
{
	struct symbol_suggestions *suggesting = context;
	size_t length = strcspn(symbol->name, "@"), difference;
	char name[64], quoted[sizeof(name) + 2];
	uint64_t offset;

	difference = length < suggesting->length ? suggesting->length - length
						 : length - suggesting->length;
	if (length >= sizeof(name) || suggesting->nr == SUGGEST_MAX || !is_function(symbol) ||
	    !in_code(suggesting->elf, symbol, &offset) ||
	    (difference > 1 + suggesting->length / 3 &&
	     strncmp(symbol->name, suggesting->suggestions->word, suggesting->length)))
		return;
	suggesting->nr++;
	memcpy(name, symbol->name, length);
	name[length] = '\0';
	snprintf(quoted, sizeof(quoted), strpbrk(name, PERCH__NAME_ENDS) ? "\"%s\"" : "%s", name);
	if (!strchr(name, '"')) /* no quotes can be around it */
		perch__suggest_as(suggesting->suggestions, name, quoted);
}

void perch__elf_suggest_functions(const struct perch__elf *elf,
				  struct perch__suggestions *suggestions)
{
	struct symbol_suggestions suggesting = { .elf = elf,
						 .suggestions = suggestions,
						 .length = strlen(suggestions->word) };

	visit_all(elf, suggest_symbol, &suggesting, NULL);
}

/* ---- variables ---- */

struct variable_search {
	const char *name;
	size_t length;
	uint64_t address;
	unsigned nr; /* at different addresses */
};

static void match_variable(void *context, const struct symbol *symbol)
{
	struct variable_search *search = context;

	if (symbol->elf.section == SHN_UNDEF || symbol->elf.type > STT_OBJECT ||
	    strlen(symbol->name) != search->length ||
	    memcmp(symbol->name, search->name, search->length) ||
	    (search->nr && symbol->elf.value == search->address))
		return;
	search->address = symbol->elf.value;
	search->nr++;
}

bool perch__elf_find_variable(const struct perch__elf *elf, const char *name, size_t length,
			      uint64_t *address)
{
	struct variable_search search = { .name = name, .length = length };

	if (!elf->section || visit_all(elf, match_variable, &search, &search.nr) || search.nr != 1)
		return false;
	*address = search.address;
	return true;
}

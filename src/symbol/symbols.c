/* SPDX-License-Identifier: MIT */
/*
 * One handle over all binaries: tables are read when first asked, symbols and names made when
 * first found.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* What is known of a binary. */
struct known {
	struct known *next; /* of the same hash */
	const struct perch_dso *dso;
	struct table table;
	bool read; /* the table was asked for */
	char *name;
	struct trouble trouble;
};

/* A symbol with its name for people, NULL until asked for. */
struct found {
	struct perch_symbol symbol; /* first: perch_symbols_name() is given its address */
	const char *name;
};

enum { FOUND_CHUNK = 256, TEXT_CHUNK = 1 << 16, MAX_SHORT_NAME = 4096 };

/* Memory that lives as long as the handle. */
struct chunk {
	struct chunk *next;
	char bytes[];
};

struct perch_symbols {
	struct sources sources;
	bool no_demangle;
	struct known **known;
	size_t nr_known, mask;
	struct found **found; /* chunks of FOUND_CHUNK, so that symbols stay where they are */
	size_t nr_found;
	struct chunk *text;
	size_t text_left;
	char *text_next;
};

int perch_symbols_new(struct perch_symbols **result, const struct perch_symbols_options *options,
		      struct perch_error *err)
{
	struct perch_symbols *symbols = calloc(1, sizeof(*symbols));
	bool complete = symbols;

	if (complete) {
		symbols->mask = 255;
		symbols->known = calloc(symbols->mask + 1, sizeof(struct known *));
		complete = symbols->known;
	}
	if (complete && options && options->root && strcmp(options->root, "/"))
		complete = (symbols->sources.root = strdup(options->root));
	if (complete)
		symbols->sources.foreign = symbols->sources.root || (options && options->foreign);
	if (complete && options && options->kallsyms)
		complete = (symbols->sources.kallsyms_path = strdup(options->kallsyms));
	if (!complete) {
		perch_symbols_free(symbols);
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory for symbols");
	}
	symbols->no_demangle = options && options->no_demangle;
	*result = symbols;
	return 0;
}

static void free_known(struct known *known)
{
	while (known) {
		struct known *next = known->next;

		perch__table_free(&known->table);
		free(known->name);
		free(known);
		known = next;
	}
}

void perch_symbols_free(struct perch_symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; symbols->known && i <= symbols->mask; i++)
		free_known(symbols->known[i]);
	for (size_t i = 0; i * FOUND_CHUNK < symbols->nr_found; i++)
		free(symbols->found[i]);
	while (symbols->text) {
		struct chunk *next = symbols->text->next;

		free(symbols->text);
		symbols->text = next;
	}
	perch__kallsyms_free(symbols->sources.kallsyms);
	free(symbols->sources.root);
	free(symbols->sources.kallsyms_path);
	free(symbols->found);
	free(symbols->known);
	free(symbols);
}

/*
 * Binaries are numbered from 0, so their numbers are a perfect hash as long as they come from one
 * place.
 */
static struct known *look_up(const struct perch_symbols *symbols, const struct perch_dso *dso)
{
	struct known *known = symbols->known[dso->index & symbols->mask];

	while (known && known->dso != dso)
		known = known->next;
	return known;
}

static void grow_hash(struct perch_symbols *symbols)
{
	size_t mask = symbols->mask * 2 + 1;
	struct known **grown = calloc(mask + 1, sizeof(*grown));

	if (!grown)
		return; /* slower, not wrong */
	for (size_t i = 0; i <= symbols->mask; i++)
		for (struct known *known = symbols->known[i], *next; known; known = next) {
			next = known->next;
			known->next = grown[known->dso->index & mask];
			grown[known->dso->index & mask] = known;
		}
	free(symbols->known);
	symbols->known = grown;
	symbols->mask = mask;
}

static struct known *know(struct perch_symbols *symbols, const struct perch_dso *dso)
{
	struct known *known = look_up(symbols, dso);

	if (known)
		return known;
	known = calloc(1, sizeof(*known));
	if (!known)
		return NULL;
	if (symbols->nr_known++ > symbols->mask)
		grow_hash(symbols);
	known->dso = dso;
	known->next = symbols->known[dso->index & symbols->mask];
	symbols->known[dso->index & symbols->mask] = known;
	return known;
}

/* All of it is one function, whose name is known. */
static int load_kernel_code(struct table *table, const struct perch_dso *dso)
{
	size_t size = strlen(dso->path) + 1;

	table->entry = calloc(1, sizeof(*table->entry));
	if (!table->entry || perch__table_blob(table, strdup(dso->path), size) < 0)
		return -ENOMEM;
	table->nr = table->allocated = 1;
	table->entry[0] = (struct entry){ .start = dso->start,
					  .end = dso->start + dso->length,
					  .parent = NO_ENTRY,
					  .found = NO_ENTRY,
					  .type = STT_FUNC };
	return 0;
}

static void read_table(struct perch_symbols *symbols, struct known *known)
{
	struct sources *sources = &symbols->sources;
	int rc = 0;

	known->read = true;
	switch (known->dso->kind) {
	case PERCH_DSO_FILE:
		rc = perch__load_file(&known->table, sources, known->dso, &known->trouble);
		break;
	case PERCH_DSO_KERNEL:
		rc = perch__load_kernel(&known->table, sources, known->dso, &known->trouble);
		break;
	case PERCH_DSO_MODULE:
		rc = perch__load_module(&known->table, sources, known->dso, &known->trouble);
		break;
	case PERCH_DSO_VDSO:
		rc = perch__load_vdso(&known->table, sources, known->dso, &known->trouble);
		break;
	case PERCH_DSO_KERNEL_CODE:
		rc = load_kernel_code(&known->table, known->dso);
		break;
	case PERCH_DSO_ANON:
		perch__symbol_error(&known->trouble, "memory that no file was mapped to");
		break;
	case PERCH_DSO_UNKNOWN:
		perch__symbol_error(&known->trouble, "nothing was mapped there");
		break;
	}
	if (rc) {
		perch__table_free(&known->table);
		perch__symbol_error(&known->trouble, "out of memory");
	}
	if (known->table.nr)
		known->trouble.text[0] = 0;
}

static char *keep_bytes(struct perch_symbols *symbols, size_t size)
{
	char *at;

	if (size > symbols->text_left) {
		size_t room = size > TEXT_CHUNK / 4 ? size : TEXT_CHUNK;
		struct chunk *chunk = malloc(sizeof(*chunk) + room);

		if (!chunk)
			return NULL;
		chunk->next = symbols->text;
		symbols->text = chunk;
		if (room == size) /* a big one has a chunk alone, the one in use goes on */
			return chunk->bytes;
		symbols->text_next = chunk->bytes;
		symbols->text_left = room;
	}
	at = symbols->text_next;
	symbols->text_next += size;
	symbols->text_left -= size;
	return at;
}

static const char stub_suffix[] = "@plt";

static const char *table_name(struct perch_symbols *symbols, const struct table *table,
			      const struct entry *entry)
{
	const char *name = perch__table_name(table, entry);
	size_t length = strlen(name);
	char *text;

	if (!entry->plt)
		return name;
	text = keep_bytes(symbols, length + sizeof(stub_suffix));
	if (!text)
		return stub_suffix;
	memcpy(text, name, length);
	memcpy(text + length, stub_suffix, sizeof(stub_suffix));
	return text;
}

static struct found *new_found(struct perch_symbols *symbols)
{
	size_t chunk = symbols->nr_found / FOUND_CHUNK;

	if (symbols->nr_found >= NO_ENTRY)
		return NULL;
	if (symbols->nr_found % FOUND_CHUNK == 0) {
		struct found **grown = reallocarray(symbols->found, chunk + 1, sizeof(*grown));

		if (!grown)
			return NULL;
		symbols->found = grown;
		grown[chunk] = calloc(FOUND_CHUNK, sizeof(**grown));
		if (!grown[chunk])
			return NULL;
	}
	return &symbols->found[chunk][symbols->nr_found++ % FOUND_CHUNK];
}

static const struct perch_symbol *make_symbol(struct perch_symbols *symbols, struct known *known,
					      struct entry *entry)
{
	uint32_t index = (uint32_t)symbols->nr_found;
	struct found *found = new_found(symbols);

	if (!found)
		return NULL;
	found->symbol = (struct perch_symbol){
		.start = entry->start,
		.end = entry->end,
		.name = table_name(symbols, &known->table, entry),
		.dso = known->dso,
		.index = index,
		.binding = entry->binding == STB_LOCAL	? 'l'
			   : entry->binding == STB_WEAK ? 'w'
							: 'g',
	};
	entry->found = index;
	return &found->symbol;
}

const struct perch_symbol *perch_symbols_find(struct perch_symbols *symbols,
					      const struct perch_dso *dso, uint64_t offset)
{
	struct known *known = know(symbols, dso);
	struct entry *entry;

	if (!known)
		return NULL;
	if (!known->read)
		read_table(symbols, known);
	entry = perch__table_find(&known->table, offset);
	if (!entry)
		return NULL;
	if (entry->found != NO_ENTRY)
		return &symbols->found[entry->found / FOUND_CHUNK][entry->found % FOUND_CHUNK]
				.symbol;
	return make_symbol(symbols, known, entry);
}

static bool is_plain(const char *text)
{
	while (*text >= ' ' && *text <= '~')
		text++;
	return !*text;
}

/* The text itself when it is clean and lives long enough, else a copy that does. */
static const char *keep_clean(struct perch_symbols *symbols, const char *text, bool lives)
{
	size_t size = strlen(text) + 1;
	char *copy;

	if (lives && is_plain(text))
		return text;
	/* what is not valid becomes '?', one byte for one byte or less */
	copy = keep_bytes(symbols, size);
	if (!copy)
		return "?";
	perch_clean_text(copy, size, text);
	return copy;
}

/* A stub is demangled as the function that it calls. */
static char *demangle_stub(const char *name)
{
	size_t length = strlen(name), suffix = sizeof(stub_suffix) - 1;
	char *mangled, *plain, *whole = NULL;

	if (length <= suffix || strcmp(name + length - suffix, stub_suffix))
		return NULL;
	mangled = strndup(name, length - suffix);
	plain = mangled ? perch__demangle(mangled) : NULL;
	if (plain && asprintf(&whole, "%s%s", plain, stub_suffix) < 0)
		whole = NULL;
	free(mangled);
	free(plain);
	return whole;
}

/* As perf does: the kernel's names are left as they are. */
static char *demangle_symbol(const struct perch_symbol *symbol)
{
	char *plain;

	if (symbol->dso->kind == PERCH_DSO_KERNEL || symbol->dso->kind == PERCH_DSO_MODULE ||
	    symbol->dso->kind == PERCH_DSO_KERNEL_CODE)
		return NULL;
	plain = demangle_stub(symbol->name);
	return plain ? plain : perch__demangle(symbol->name);
}

const char *perch_symbols_name(struct perch_symbols *symbols, const struct perch_symbol *symbol)
{
	struct found *found = (struct found *)(uintptr_t)symbol;
	char *plain;

	if (found->name)
		return found->name;
	plain = symbols->no_demangle ? NULL : demangle_symbol(symbol);
	found->name = plain ? keep_clean(symbols, plain, false)
			    : keep_clean(symbols, symbol->name, true);
	free(plain);
	return found->name;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* What perf shows as the shared object. */
static const char *short_name(const struct perch_dso *dso, char *made, size_t size)
{
	const char *base = base_name(dso->path);
	unsigned pid;

	switch (dso->kind) {
	case PERCH_DSO_KERNEL:
		return "[kernel.kallsyms]";
	case PERCH_DSO_VDSO:
		return "[vdso]";
	case PERCH_DSO_UNKNOWN:
		return "[unknown]";
	case PERCH_DSO_KERNEL_CODE:
		return dso->path;
	case PERCH_DSO_MODULE:
		if (*base == '[')
			return base;
		snprintf(made, size, "[%.*s]", (int)strcspn(base, "."), base);
		for (char *at = made; *at; at++)
			if (*at == '-')
				*at = '_';
		return made;
	default:
		break;
	}
	if (!strncmp(dso->path, "//anon", 6))
		return "[anon]";
	if (sscanf(base, "perf-%u.map", &pid) == 1) {
		snprintf(made, size, "[JIT] tid %u", pid);
		return made;
	}
	return base;
}

const char *perch_symbols_dso_name(struct perch_symbols *symbols, const struct perch_dso *dso)
{
	struct known *known = know(symbols, dso);
	char made[MAX_SHORT_NAME];
	const char *name;
	size_t size;

	if (!known)
		return "?";
	if (known->name)
		return known->name;
	name = short_name(dso, made, sizeof(made));
	size = strlen(name) + 1;
	known->name = malloc(size);
	if (!known->name)
		return "?";
	perch_clean_text(known->name, size, name);
	return known->name;
}

const char *perch_symbols_error(const struct perch_symbols *symbols, const struct perch_dso *dso)
{
	const struct known *known = look_up(symbols, dso);

	return known && known->trouble.text[0] ? known->trouble.text : NULL;
}

/* SPDX-License-Identifier: MIT */
/*
 * The handle of all symbol tables. The table of a DSO is loaded at the first lookup in it. Symbols
 * and their displayed names are made when they are first found.
 */
#define _GNU_SOURCE
#include <stdio.h>

#include "base/reserved.h"
#include "internal.h"

/* The symbols of a DSO. */
struct dso_symbols {
	const struct perch_dso *dso;
	struct table table;
	bool loaded;
	char *name; /* the displayed name; NULL before its first use */
	bool debug_opened;
	struct debug_info *debug; /* NULL before its first use */
	struct symbol_error error;
	struct perf_map *map; /* of the generated code of a process */
	uint64_t misses;      /* lookups without a function */
};

/* A symbol that was found, and its displayed name. */
struct cached_symbol {
	struct perch_symbol symbol; /* first: perch_symbols_name() casts its address */
	const char *name;	    /* NULL before its first use */
};

/* The frames of an offset. */
struct cached_frames {
	const struct dso_symbols *dso;
	uint64_t offset;
	struct perch_symbol_frame *frame;
	int nr;
};

enum { SYMBOLS_PER_CHUNK = 256, TEXT_CHUNK = 1 << 16, MAX_SHORT_NAME = 4096 };

/* Memory that lives as long as the handle. */
struct chunk {
	struct chunk *next;
	char bytes[];
};

struct perch_symbols {
	struct sources sources;
	bool no_demangle;
	struct dso_symbols **dso;
	size_t nr_dsos;
	struct perch__hash_table by_dso;
	struct cached_symbol *
		*chunk; /* of SYMBOLS_PER_CHUNK: the addresses of symbols are stable */
	size_t nr_symbols;
	struct perch__hash_table inlined; /* (DSO, name) -> symbol */
	struct perch__hash_table by_offset;
	struct cached_frames *frames;
	size_t nr_frames, frames_capacity;
	struct chunk *text;
	size_t text_left;
	char *text_next;
};

int perch_symbols_new(struct perch_symbols **result, const struct perch_symbols_options *options,
		      struct perch_error *err)
{
	struct perch_symbols *symbols;
	bool complete;

	*result = NULL;
	if (PERCH__CHECK_RESERVED(options, "perch_symbols_options", err))
		return -EINVAL;
	symbols = calloc(1, sizeof(*symbols));
	complete = symbols;
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

void perch_symbols_free(struct perch_symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->nr_dsos; i++) {
		perch__table_free(&symbols->dso[i]->table);
		perch__debug_free(symbols->dso[i]->debug);
		perch__perf_map_free(symbols->dso[i]->map);
		free(symbols->dso[i]->name);
		free(symbols->dso[i]);
	}
	perch__hash_clear(&symbols->by_dso);
	perch__hash_clear(&symbols->inlined);
	perch__hash_clear(&symbols->by_offset);
	for (size_t i = 0; i < symbols->nr_frames; i++)
		free(symbols->frames[i].frame);
	free(symbols->frames);
	for (size_t i = 0; i * SYMBOLS_PER_CHUNK < symbols->nr_symbols; i++)
		free(symbols->chunk[i]);
	while (symbols->text) {
		struct chunk *next = symbols->text->next;

		free(symbols->text);
		symbols->text = next;
	}
	perch__kallsyms_free(symbols->sources.kallsyms);
	free(symbols->sources.root);
	free(symbols->sources.kallsyms_path);
	free(symbols->chunk);
	free(symbols->dso);
	free(symbols);
}

static bool same_dso(const void *items, uint32_t index, const void *dso)
{
	return ((struct dso_symbols *const *)items)[index]->dso == dso;
}

static uint64_t hash_dso(const struct perch_symbols *symbols, const struct perch_dso *dso)
{
	return perch__hash_integer(symbols->by_dso.seed, dso->index);
}

static struct dso_symbols *find_dso(const struct perch_symbols *symbols,
				    const struct perch_dso *dso)
{
	uint32_t index = perch__hash_find(&symbols->by_dso, hash_dso(symbols, dso), same_dso,
					  symbols->dso, dso);

	return index == PERCH__HASH_NONE ? NULL : symbols->dso[index];
}

static struct dso_symbols *get_dso(struct perch_symbols *symbols, const struct perch_dso *dso)
{
	struct dso_symbols *cached = find_dso(symbols, dso);

	if (cached)
		return cached;
	cached = calloc(1, sizeof(*cached));
	if (!cached || PERCH__ARRAY_RESERVE_BY_NR(symbols->dso, symbols->nr_dsos, 1) ||
	    perch__hash_add(&symbols->by_dso, hash_dso(symbols, dso), symbols->nr_dsos)) {
		free(cached);
		return NULL;
	}
	cached->dso = dso;
	symbols->dso[symbols->nr_dsos++] = cached;
	return cached;
}

/* The whole DSO is one function, and its path is the function's name. */
static int load_kernel_code(struct table *table, const struct perch_dso *dso)
{
	size_t size = strlen(dso->path) + 1;

	table->entry = calloc(1, sizeof(*table->entry));
	if (!table->entry || perch__table_blob(table, strdup(dso->path), size) < 0)
		return -ENOMEM;
	table->nr = table->capacity = 1;
	table->entry[0] = (struct entry){ .start = dso->start,
					  .end = dso->start + dso->length,
					  .parent = NO_ENTRY,
					  .symbol = NO_ENTRY,
					  .type = STT_FUNC };
	return 0;
}

static void load_table(struct perch_symbols *symbols, struct dso_symbols *cached)
{
	struct sources *sources = &symbols->sources;
	int rc = 0;

	cached->loaded = true;
	switch (cached->dso->kind) {
	case PERCH_DSO_FILE:
		rc = perch__load_file(&cached->table, sources, cached->dso, &cached->error);
		break;
	case PERCH_DSO_KERNEL:
		rc = perch__load_kernel(&cached->table, sources, cached->dso, &cached->error);
		break;
	case PERCH_DSO_MODULE:
		rc = perch__load_module(&cached->table, sources, cached->dso, &cached->error);
		break;
	case PERCH_DSO_VDSO:
		rc = perch__load_vdso(&cached->table, sources, cached->dso, &cached->error);
		break;
	case PERCH_DSO_KERNEL_CODE:
		rc = load_kernel_code(&cached->table, cached->dso);
		break;
	case PERCH_DSO_ANON:
		perch__set_symbol_error(&cached->error, "anonymous memory, not mapped from a file");
		break;
	case PERCH_DSO_UNKNOWN:
		perch__set_symbol_error(&cached->error, "no mapping was recorded at the address");
		break;
	}
	if (rc) {
		perch__table_free(&cached->table);
		perch__set_symbol_error(&cached->error, "out of memory");
	}
	if (cached->table.nr)
		cached->error.text[0] = 0;
}

static char *alloc_text(struct perch_symbols *symbols, size_t size)
{
	char *at;

	if (size > symbols->text_left) {
		size_t chunk_size = size > TEXT_CHUNK / 4 ? size : TEXT_CHUNK;
		struct chunk *chunk = malloc(sizeof(*chunk) + chunk_size);

		if (!chunk)
			return NULL;
		chunk->next = symbols->text;
		symbols->text = chunk;
		if (chunk_size == size) /* a large text has its own chunk */
			return chunk->bytes;
		symbols->text_next = chunk->bytes;
		symbols->text_left = chunk_size;
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
	text = alloc_text(symbols, length + sizeof(stub_suffix));
	if (!text)
		return stub_suffix;
	memcpy(text, name, length);
	memcpy(text + length, stub_suffix, sizeof(stub_suffix));
	return text;
}

static struct cached_symbol *new_symbol(struct perch_symbols *symbols)
{
	size_t chunk = symbols->nr_symbols / SYMBOLS_PER_CHUNK;

	if (symbols->nr_symbols >= NO_ENTRY)
		return NULL;
	if (symbols->nr_symbols % SYMBOLS_PER_CHUNK == 0) {
		if (PERCH__ARRAY_RESERVE_BY_NR(symbols->chunk, chunk, 1))
			return NULL;
		symbols->chunk[chunk] = calloc(SYMBOLS_PER_CHUNK, sizeof(**symbols->chunk));
		if (!symbols->chunk[chunk])
			return NULL;
	}
	return &symbols->chunk[chunk][symbols->nr_symbols++ % SYMBOLS_PER_CHUNK];
}

static const struct perch_symbol *symbol_at(const struct perch_symbols *symbols, uint32_t index)
{
	return &symbols->chunk[index / SYMBOLS_PER_CHUNK][index % SYMBOLS_PER_CHUNK].symbol;
}

static const struct perch_symbol *make_symbol(struct perch_symbols *symbols,
					      struct dso_symbols *cached, struct entry *entry)
{
	uint32_t index = (uint32_t)symbols->nr_symbols;
	struct cached_symbol *found;

	if (entry->symbol != NO_ENTRY)
		return symbol_at(symbols, entry->symbol);
	found = new_symbol(symbols);
	if (!found)
		return NULL;
	found->symbol = (struct perch_symbol){
		.start = entry->start,
		.end = entry->end,
		.name = table_name(symbols, &cached->table, entry),
		.dso = cached->dso,
		.index = index,
		.binding = entry->binding == STB_LOCAL	? 'l'
			   : entry->binding == STB_WEAK ? 'w'
							: 'g',
	};
	entry->symbol = index;
	return &found->symbol;
}

/* Finds a function in the generated code of a process. */
static const struct perch_symbol *find_generated(struct perch_symbols *symbols,
						 struct dso_symbols *cached, unsigned pid,
						 uint64_t address)
{
	struct map_function *function =
		perch__perf_map_find(&cached->map, &symbols->sources, pid, address, &cached->error);
	uint32_t index = (uint32_t)symbols->nr_symbols;
	struct cached_symbol *found;

	if (!function)
		return NULL;
	if (function->symbol != NO_ENTRY)
		return symbol_at(symbols, function->symbol);
	found = new_symbol(symbols);
	if (!found)
		return NULL;
	found->symbol = (struct perch_symbol){ .start = function->start,
					       .end = function->end,
					       .name = function->name,
					       .dso = cached->dso,
					       .index = index,
					       .binding = 'g' };
	function->symbol = index;
	return &found->symbol;
}

const struct perch_symbol *perch_symbols_find(struct perch_symbols *symbols,
					      const struct perch_dso *dso, uint64_t offset)
{
	struct dso_symbols *cached = get_dso(symbols, dso);
	const struct perch_symbol *found = NULL;
	struct entry *entry;
	unsigned pid;

	if (!cached)
		return NULL;
	if (perch__perf_map_pid(dso, &pid)) {
		found = find_generated(symbols, cached, pid, offset);
	} else {
		if (!cached->loaded)
			load_table(symbols, cached);
		entry = perch__table_find(&cached->table, offset);
		if (entry)
			found = make_symbol(symbols, cached, entry);
	}
	cached->misses += !found;
	return found;
}

uint64_t perch_symbols_misses(const struct perch_symbols *symbols, const struct perch_dso *dso)
{
	const struct dso_symbols *cached = find_dso(symbols, dso);

	return cached ? cached->misses : 0;
}

uint64_t perch_symbols_damaged_lines(const struct perch_symbols *symbols,
				     const struct perch_dso *dso)
{
	const struct dso_symbols *cached = find_dso(symbols, dso);

	return cached ? perch__perf_map_damaged(cached->map) : 0;
}

static bool is_plain(const char *text)
{
	while (*text >= ' ' && *text <= '~')
		text++;
	return !*text;
}

/* Returns the text itself if it is clean and lives as long as the handle, or a clean copy. */
static const char *clean_name(struct perch_symbols *symbols, const char *text, bool lives)
{
	size_t size = strlen(text) + 1;
	char *copy;

	if (lives && is_plain(text))
		return text;
	/* each character that is not printable becomes a '?', so the size does not grow */
	copy = alloc_text(symbols, size);
	if (!copy)
		return "?";
	perch_clean_text(text, copy, size);
	return copy;
}

/* The name of a PLT stub contains the mangled name of the function that it calls. */
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

/* Names of the kernel are not demangled, as in perf. */
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
	struct cached_symbol *found = (struct cached_symbol *)(uintptr_t)symbol;
	char *plain;

	if (found->name)
		return found->name;
	plain = symbols->no_demangle ? NULL : demangle_symbol(symbol);
	found->name = plain ? clean_name(symbols, plain, false)
			    : clean_name(symbols, symbol->name, true);
	free(plain);
	return found->name;
}

/* ---- frames ---- */

struct inlined_key {
	const struct perch_dso *dso;
	const char *name;
};

static bool same_inlined(const void *items, uint32_t index, const void *key)
{
	struct cached_symbol *const *chunk = items;
	const struct inlined_key *wanted = key;
	const struct perch_symbol *symbol =
		&chunk[index / SYMBOLS_PER_CHUNK][index % SYMBOLS_PER_CHUNK].symbol;

	return symbol->dso == wanted->dso && !strcmp(symbol->name, wanted->name);
}

/* Returns the symbol of an inlined function, or NULL if out of memory. */
static const struct perch_symbol *find_inlined(struct perch_symbols *symbols,
					       const struct perch_dso *dso, const char *name)
{
	struct inlined_key key = { dso, name };
	uint64_t hash;
	uint32_t index;
	struct cached_symbol *added;

	hash = perch__hash_pair(symbols->by_dso.seed, dso->index,
				perch__hash_text(symbols->by_dso.seed, name));
	index = perch__hash_find(&symbols->inlined, hash, same_inlined, symbols->chunk, &key);
	if (index != PERCH__HASH_NONE)
		return &symbols->chunk[index / SYMBOLS_PER_CHUNK][index % SYMBOLS_PER_CHUNK].symbol;
	index = (uint32_t)symbols->nr_symbols;
	if (perch__hash_reserve(&symbols->inlined, symbols->inlined.nr + 1) ||
	    !(added = new_symbol(symbols)))
		return NULL;
	perch__hash_add(&symbols->inlined, hash, index);
	added->symbol = (struct perch_symbol){
		.name = name, .dso = dso, .index = index, .binding = 'l', .inlined = true
	};
	return &added->symbol;
}

/* Sets the frames from the debug information. Returns 0 or -ENOMEM. */
static int make_frames(struct perch_symbols *symbols, struct dso_symbols *cached,
		       struct cached_frames *frames)
{
	struct debug_frame found[MAX_DEBUG_FRAMES];
	size_t nr = 0;

	if (!cached->debug_opened && cached->dso->kind == PERCH_DSO_FILE) {
		cached->debug_opened = true;
		cached->debug = perch__debug_open(&symbols->sources, cached->dso);
	}
	if (cached->debug)
		nr = perch__debug_frames(cached->debug, frames->offset, found);
	frames->nr = nr ? (int)nr : 1;
	frames->frame = calloc((size_t)frames->nr, sizeof(*frames->frame));
	if (!frames->frame)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		struct perch_symbol_frame *frame = &frames->frame[i];

		if (found[i].file)
			frame->file = clean_name(symbols, found[i].file, true);
		frame->line = found[i].line;
		if (i + 1 == nr || !found[i].function)
			continue;
		frame->symbol = find_inlined(symbols, cached->dso, found[i].function);
		if (!frame->symbol) {
			free(frames->frame);
			return -ENOMEM;
		}
	}
	frames->frame[frames->nr - 1].symbol =
		perch_symbols_find(symbols, cached->dso, frames->offset);
	return 0;
}

static bool same_offset(const void *items, uint32_t index, const void *key)
{
	const struct cached_frames *frames = (const struct cached_frames *)items + index;
	const struct cached_frames *wanted = key;

	return frames->offset == wanted->offset && frames->dso == wanted->dso;
}

int perch_symbols_frames(struct perch_symbols *symbols, const struct perch_dso *dso,
			 uint64_t offset, const struct perch_symbol_frame **frames)
{
	struct cached_frames wanted = { .dso = get_dso(symbols, dso), .offset = offset };
	uint64_t hash = perch__hash_pair(symbols->by_dso.seed, dso->index, offset);
	uint32_t index;

	*frames = NULL;
	if (!wanted.dso)
		return -ENOMEM;
	index = perch__hash_find(&symbols->by_offset, hash, same_offset, symbols->frames, &wanted);
	if (index == PERCH__HASH_NONE) {
		index = (uint32_t)symbols->nr_frames;
		if (PERCH__ARRAY_RESERVE(symbols->frames, symbols->frames_capacity,
					 symbols->nr_frames + 1) ||
		    perch__hash_reserve(&symbols->by_offset, symbols->nr_frames + 1) ||
		    make_frames(symbols, get_dso(symbols, dso), &wanted))
			return -ENOMEM;
		perch__hash_add(&symbols->by_offset, hash, index);
		symbols->frames[symbols->nr_frames++] = wanted;
	}
	*frames = symbols->frames[index].frame;
	return symbols->frames[index].nr;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool is_module_file(const char *name)
{
	static const char *const ends[] = { ".ko", ".ko.gz", ".ko.xz", ".ko.zst" };
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t end = strlen(ends[i]);

		if (length > end && !strcmp(name + length - end, ends[i]))
			return true;
	}
	return false;
}

/* The kernel is unknown if it has neither a map in the recording nor symbols on this machine. */
static const char *kernel_name(struct perch_symbols *symbols, struct dso_symbols *cached)
{
	const struct perch_dso *dso = cached->dso;

	if (!dso->length && !cached->loaded)
		load_table(symbols, cached);
	if (!dso->length && !cached->table.nr)
		return "[unknown]";
	return dso->kernel_image ? "[kernel.vmlinux]" : "[kernel.kallsyms]";
}

/* Returns the name that perf displays for a DSO. */
static const char *short_name(const struct perch_dso *dso, char *buffer, size_t size)
{
	const char *base = base_name(dso->path);
	unsigned pid;

	switch (dso->kind) {
	case PERCH_DSO_VDSO:
		return "[vdso]";
	case PERCH_DSO_UNKNOWN:
		return "[unknown]";
	case PERCH_DSO_KERNEL_CODE:
		return dso->path;
	case PERCH_DSO_MODULE:
		if (*base == '[' || !is_module_file(base))
			return base;
		snprintf(buffer, size, "[%.*s]", (int)strcspn(base, "."), base);
		for (char *at = buffer; *at; at++)
			if (*at == '-')
				*at = '_';
		return buffer;
	default:
		break;
	}
	if (!strncmp(dso->path, "//anon", 6))
		return "[anon]";
	if (sscanf(base, "perf-%u.map", &pid) == 1) {
		snprintf(buffer, size, "[JIT] tid %u", pid);
		return buffer;
	}
	return base;
}

const char *perch_symbols_dso_name(struct perch_symbols *symbols, const struct perch_dso *dso)
{
	struct dso_symbols *cached = get_dso(symbols, dso);
	char buffer[MAX_SHORT_NAME];
	const char *name;
	size_t size;

	if (!cached)
		return "?";
	if (cached->name)
		return cached->name;
	name = dso->kind == PERCH_DSO_KERNEL ? kernel_name(symbols, cached)
					     : short_name(dso, buffer, sizeof(buffer));
	size = strlen(name) + 1;
	cached->name = malloc(size);
	if (!cached->name)
		return "?";
	perch_clean_text(name, cached->name, size);
	return cached->name;
}

int perch_symbols_open_file(struct perch_symbols *symbols, const struct perch_dso *dso, int *fd,
			    struct perch_error *err)
{
	struct symbol_error error = { "not a file" };
	int rc = -ENOENT;

	*fd = -1;
	if (dso->kind == PERCH_DSO_FILE || dso->kind == PERCH_DSO_VDSO)
		rc = perch__open_dso(&symbols->sources, dso, &error);
	if (rc < 0)
		return perch_error_set(err, -rc, PERCH_ERROR_FILE, "%s", error.text);
	*fd = rc;
	return 0;
}

const char *perch_symbols_error(const struct perch_symbols *symbols, const struct perch_dso *dso)
{
	const struct dso_symbols *cached = find_dso(symbols, dso);

	return cached && cached->error.text[0] ? cached->error.text : NULL;
}

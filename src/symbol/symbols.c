/* SPDX-License-Identifier: MIT */
/*
 * The handle of all symbol tables. The table of a DSO is loaded at the first lookup in it. Symbols
 * and their displayed names are made when they are first found.
 */
#include <limits.h>
#include <stdio.h>

#include <perch/variables.h>

#include "base/inlined_names.h"
#include "base/reserved.h"
#include "base/no_memory.h"
#include "symbols.h"

/* Returns false if out of memory. Without a home directory there may be no cache. */
static bool set_cache(struct sources *sources, const char *directory)
{
	return perch_build_id_cache_new(&sources->cache, directory,
					directory ? NULL : sources->root, NULL) != -ENOMEM;
}

int perch_symbols_new(struct perch_symbols **result, const struct perch_symbols_options *options,
		      struct perch_error *err)
{
	struct perch_symbols *symbols;
	bool complete;

	*result = NULL;
	if (PERCH__CHECK_RESERVED(options, "perch_symbols_options", err))
		return -EINVAL;
	symbols = perch__calloc(1, sizeof(*symbols));
	complete = symbols;
	if (complete && options && options->root && strcmp(options->root, "/"))
		complete = (symbols->sources.root = perch__strdup(options->root));
	if (complete)
		symbols->sources.foreign = symbols->sources.root || (options && options->foreign);
	if (complete && options && options->kallsyms)
		complete = (symbols->sources.kallsyms_path = perch__strdup(options->kallsyms));
	if (complete && options && options->vmlinux)
		complete = (symbols->sources.vmlinux_path = perch__strdup(options->vmlinux));
	if (complete)
		complete = set_cache(&symbols->sources, options ? options->build_id_dir : NULL);
	if (complete && options && options->debuginfod && !symbols->sources.root)
		complete = !perch__debuginfod_new(&symbols->sources.debuginfod);
	if (!complete) {
		perch_symbols_free(symbols);
		return PERCH__NO_MEMORY(err, "for symbols");
	}
	symbols->no_demangle = options && options->no_demangle;
	symbols->demangle_kernel = options && options->demangle_kernel;
	symbols->sources.any_owner = options && options->any_owner;
	symbols->sources.no_vmlinux = options && options->no_vmlinux;
	symbols->sources.verified_only = options && options->verified_only;
	symbols->sources.arch = options ? options->arch : PERCH_ARCH_UNKNOWN;
	symbols->sources.recorded_at = options ? options->recorded_at : 0;
	*result = symbols;
	return 0;
}

void perch_symbols_free(struct perch_symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->nr_dsos; i++) {
		perch__table_store(&symbols->dso[i]->table);
		perch__table_store(&symbols->dso[i]->variables);
		perch__table_free(&symbols->dso[i]->table);
		perch__table_free(&symbols->dso[i]->variables);
		free(symbols->dso[i]->load);
		perch__debug_free(symbols->dso[i]->debug);
		free(symbols->dso[i]->bpf);
		perch__perf_map_free(symbols->dso[i]->map);
		free(symbols->dso[i]->jit_symbol);
		free(symbols->dso[i]->name);
		free(symbols->dso[i]);
	}
	perch__decompress_thread_free(symbols->thread);
	perch__hash_clear(&symbols->by_dso);
	perch__hash_clear(&symbols->inlined);
	perch__hash_clear(&symbols->inlined_by_address);
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
	perch__debuginfod_free(symbols->sources.debuginfod);
	free(symbols->sources.root);
	free(symbols->sources.kallsyms_path);
	free(symbols->sources.vmlinux_path);
	perch_build_id_cache_free(symbols->sources.cache);
	free(symbols->sources.release);
	free(symbols->chunk);
	free(symbols->dso);
	free(symbols);
}

void perch_symbols_set_download_progress(struct perch_symbols *symbols,
					 perch_download_progress *function, void *context)
{
	if (symbols->sources.debuginfod)
		perch__debuginfod_set_progress(symbols->sources.debuginfod, function, context);
}

int perch_symbols_set_recorded_release(struct perch_symbols *symbols, const char *release,
				       struct perch_error *err)
{
	free(symbols->sources.release);
	symbols->sources.release = release ? perch__strdup(release) : NULL;
	symbols->sources.recorded = true;
	if (!release || symbols->sources.release)
		return 0;
	return PERCH__NO_MEMORY(err, "for symbols");
}

void perch_symbols_set_open_files(struct perch_symbols *symbols,
				  int (*find)(void *context, const struct perch_dso *dso),
				  void *context)
{
	symbols->sources.open_file = find;
	symbols->sources.open_context = context;
}

void perch_symbols_set_recorded_since(struct perch_symbols *symbols, uint64_t ns)
{
	symbols->sources.recorded_since = ns;
}

uint64_t perch_symbols_failed_allocations(void)
{
	return __atomic_load_n(&perch__failed_allocations, __ATOMIC_RELAXED);
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

struct dso_symbols *perch__symbols_of_dso(struct perch_symbols *symbols,
					  const struct perch_dso *dso)
{
	struct dso_symbols *cached = find_dso(symbols, dso);

	if (cached)
		return cached;
	cached = perch__calloc(1, sizeof(*cached));
	if (!cached || PERCH__ARRAY_RESERVE_BY_NR(symbols->dso, symbols->nr_dsos, 1) ||
	    perch__hash_add(&symbols->by_dso, hash_dso(symbols, dso), symbols->nr_dsos)) {
		free(cached);
		return NULL;
	}
	cached->dso = dso;
	symbols->dso[symbols->nr_dsos++] = cached;
	return cached;
}

static void finish_load(struct dso_symbols *cached, int rc)
{
	if (rc) {
		perch__table_free(&cached->table);
		perch__set_symbol_error(&cached->error, "out of memory");
	}
	/* a file with exported symbols only keeps its reason */
	if (perch__table_has_functions(&cached->table) &&
	    !perch_dso_is(cached->dso, PERCH_DSO_IS_FILE))
		cached->error.text[0] = 0;
}

void perch__symbols_load(struct perch_symbols *symbols, struct dso_symbols *cached)
{
	const struct dso_kind *kind = perch__kind_of(cached->dso);
	struct sources *sources = &symbols->sources;
	int rc = 0;

	if (cached->loaded)
		return;
	cached->loaded = true;
	/* without a build id, any other file is less certain than the recording itself */
	if (!perch__own_build_id_size(cached->dso))
		rc = perch__load_recorded(&cached->table, sources, cached->dso, &cached->error);
	if (rc || cached->table.nr)
		return finish_load(cached, rc);
	if (kind->load)
		rc = kind->load(symbols, cached);
	else if (kind->no_functions)
		perch__set_symbol_error(&cached->error, "%s", kind->no_functions);
	if (!rc && !perch__table_has_functions(&cached->table) &&
	    perch__own_build_id_size(cached->dso))
		rc = perch__load_recorded(&cached->table, sources, cached->dso, &cached->error);
	finish_load(cached, rc);
}

static const char *table_name(struct perch_symbols *symbols, const struct table *table,
			      const struct entry *entry)
{
	const char *name = perch__table_name(table, entry);
	size_t length = strlen(name);
	char *text;

	if (!entry->plt)
		return name;
	text = perch__symbols_alloc_text(symbols, length + sizeof(STUB_SUFFIX));
	if (!text)
		return STUB_SUFFIX;
	memcpy(text, name, length);
	memcpy(text + length, STUB_SUFFIX, sizeof(STUB_SUFFIX));
	return text;
}

static const struct perch_symbol *make_symbol(struct perch_symbols *symbols,
					      struct dso_symbols *cached, const struct table *table,
					      struct entry *entry)
{
	struct perch_symbol *found;
	uint32_t index;

	if (entry->symbol != NO_ENTRY)
		return perch__symbol_at(symbols, entry->symbol);
	found = perch__symbols_add(symbols, &index);
	if (!found)
		return NULL;
	*found = (struct perch_symbol){
		.start = entry->start,
		.end = entry->end,
		.name = table_name(symbols, table, entry),
		.dso = cached->dso,
		.index = index,
		.binding = entry->binding == STB_LOCAL	? 'l'
			   : entry->binding == STB_WEAK ? 'w'
							: 'g',
	};
	entry->symbol = index;
	return found;
}

/* Reads /proc/kallsyms in place of its cache, which is damaged. */
static void leave_cache(struct perch_symbols *symbols, struct dso_symbols *cached)
{
	const struct kallsyms_cache *cache = cached->table.cache;

	symbols->sources.no_kallsyms_cache = true;
	perch__table_free(&cached->table);
	cached->loaded = false;
	perch__symbols_load(symbols, cached);
	perch__kallsyms_cache_leave(cache, &cached->table);
}

/* Finds the entry of a function, and its table. Returns NULL if there is none. */
static struct entry *find_entry(struct perch_symbols *symbols, struct dso_symbols *cached,
				uint64_t offset, struct table **table)
{
	struct entry *entry;

	perch__symbols_load(symbols, cached);
	if (cached->table.cache) {
		if (!perch__kallsyms_cache_find(cached->table.cache, offset, table, &entry))
			return entry;
		leave_cache(symbols, cached);
	}
	*table = &cached->table;
	return perch__table_find(&cached->table, offset);
}

const struct perch_symbol *perch__symbols_find(struct perch_symbols *symbols,
					       struct dso_symbols *cached, uint64_t offset)
{
	const struct dso_kind *kind = perch__kind_of(cached->dso);
	struct table *table;
	struct entry *entry;

	if (kind->find)
		return kind->find(symbols, cached, offset);
	entry = find_entry(symbols, cached, offset, &table);
	return entry ? make_symbol(symbols, cached, table, entry) : NULL;
}

const struct perch_symbol *perch_symbols_find(struct perch_symbols *symbols,
					      const struct perch_dso *dso, uint64_t offset)
{
	struct dso_symbols *cached = perch__symbols_of_dso(symbols, dso);
	const struct perch_symbol *found = cached ? perch__symbols_find(symbols, cached, offset)
						  : NULL;

	if (cached)
		cached->misses += !found;
	return found;
}

int perch_symbols_list(struct perch_symbols *symbols, const struct perch_dso *dso,
		       perch_symbol_visit *visit, void *context, struct perch_error *err)
{
	struct dso_symbols *cached = perch__symbols_of_dso(symbols, dso);
	int rc = 0;

	if (!cached)
		return PERCH__NO_MEMORY(err, "for symbols");
	perch__symbols_load(symbols, cached);
	if (!cached->table.nr)
		return perch_error_set(err, ENOENT, PERCH_ERROR_FILE, "%s",
				       cached->error.text[0] ? cached->error.text
							     : "it has no functions");
	for (size_t i = 0; i < cached->table.nr && !rc; i++) {
		const struct perch_symbol *symbol =
			make_symbol(symbols, cached, &cached->table, &cached->table.entry[i]);

		rc = symbol ? visit(context, symbol) : PERCH__NO_MEMORY(err, "for symbols");
	}
	return rc;
}

const struct perch_symbol *perch_symbols_find_data(struct perch_symbols *symbols,
						   const struct perch_dso *dso, uint64_t offset)
{
	struct dso_symbols *cached;
	struct symbol_error ignored;
	struct proof proof = { 0 };
	struct entry *entry;

	if (!perch_dso_is(dso, PERCH_DSO_IS_FILE))
		return NULL;
	cached = perch__symbols_of_dso(symbols, dso);
	if (!cached)
		return NULL;
	if (!cached->variables_loaded) {
		cached->variables_loaded = true;
		cached->variables.of_variables = true;
		if (perch__load_file(&cached->variables, &symbols->sources, dso, &ignored, &ignored,
				     &proof))
			perch__table_free(&cached->variables);
		if (!cached->proof.state)
			cached->proof = proof;
	}
	entry = perch__table_find(&cached->variables, offset);
	return entry ? make_symbol(symbols, cached, &cached->variables, entry) : NULL;
}

/* Copies the segments of the file, on the first call only. */
static void copy_loads(struct perch_symbols *symbols, struct dso_symbols *cached)
{
	struct symbol_error ignored;
	struct elf_file file;

	if (cached->loads_copied)
		return;
	cached->loads_copied = true;
	if (perch__open_file(&file, &symbols->sources, cached->dso, &ignored))
		return;
	cached->load = perch__reallocarray(NULL, file.elf.nr_loads + 1, sizeof(*cached->load));
	if (cached->load) {
		cached->nr_loads = file.elf.nr_loads;
		memcpy(cached->load, file.elf.segment, cached->nr_loads * sizeof(*cached->load));
	}
	perch__elf_close(&file);
}

const struct perch_symbol *perch_symbols_find_data_near(struct perch_symbols *symbols,
							const struct perch_dso *dso, uint64_t code,
							int64_t distance, uint64_t *offset)
{
	struct dso_symbols *cached =
		perch_dso_is(dso, PERCH_DSO_IS_FILE) ? perch__symbols_of_dso(symbols, dso) : NULL;

	*offset = 0;
	if (!cached)
		return NULL;
	copy_loads(symbols, cached);
	for (size_t i = 0; i < cached->nr_loads; i++) {
		const struct perch__elf_segment *at = &cached->load[i];

		if (code < at->offset || code - at->offset >= at->size)
			continue;
		return perch__elf_data_offset(cached->load, cached->nr_loads,
					      code - at->offset + at->address + (uint64_t)distance,
					      offset)
			       ? perch_symbols_find_data(symbols, dso, *offset)
			       : NULL;
	}
	return NULL;
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

const char *perch_symbols_error(const struct perch_symbols *symbols, const struct perch_dso *dso)
{
	const struct dso_symbols *cached = find_dso(symbols, dso);

	if (dso->jitdump)
		return perch_jitdump_error(dso->jitdump);
	return cached && cached->error.text[0] ? cached->error.text : NULL;
}

enum perch_symbols_reason perch_symbols_error_reason(const struct perch_symbols *symbols,
						     const struct perch_dso *dso)
{
	const struct dso_symbols *cached = find_dso(symbols, dso);

	if (dso->jitdump)
		return perch_jitdump_is_of_other_user(dso->jitdump) ? PERCH_SYMBOLS_OTHER_OWNER
								    : PERCH_SYMBOLS_OTHER_REASON;
	return cached && cached->error.text[0] ? cached->error.reason : PERCH_SYMBOLS_OTHER_REASON;
}

enum perch_symbols_state perch_symbols_get_state(const struct perch_symbols *symbols,
						 const struct perch_dso *dso,
						 enum perch_symbols_reason *reason)
{
	const struct dso_symbols *cached = find_dso(symbols, dso);
	enum perch_symbols_state state = cached ? cached->proof.state : PERCH_SYMBOLS_NO_STATE;

	if (reason)
		*reason = state == PERCH_SYMBOLS_UNVERIFIED ? cached->proof.reason
							    : PERCH_SYMBOLS_OTHER_REASON;
	return state;
}

const char *perch_symbols_doubt(const struct perch_symbols *symbols, const struct perch_dso *dso)
{
	const struct dso_symbols *cached = find_dso(symbols, dso);

	return cached && cached->proof.state == PERCH_SYMBOLS_UNVERIFIED ? cached->proof.text
									 : NULL;
}

const char *perch_symbols_debug_error(const struct perch_symbols *symbols,
				      const struct perch_dso *dso, uint64_t *addresses)
{
	const struct dso_symbols *cached = find_dso(symbols, dso);
	const char *error = NULL;

	*addresses = 0;
	if (cached && cached->symtab_error.text[0]) {
		*addresses = cached->misses;
		return cached->symtab_error.text;
	}
	if (cached && cached->debug)
		error = perch__debug_error(cached->debug);
	if (error)
		*addresses = cached->lineless;
	return error;
}

/* SPDX-License-Identifier: MIT */
/* Finds the functions at an offset: the inlined ones, and the function that contains them. */
#include <stdlib.h>

#include "base/inlined_names.h"
#include "symbols.h"

struct inlined_key {
	const struct perch_dso *dso;
	const char *name;
};

static bool same_inlined(const void *items, uint32_t index, const void *key)
{
	const struct perch_symbol *symbol = perch__symbol_at(items, index);
	const struct inlined_key *wanted = key;

	return symbol->dso == wanted->dso && !strcmp(symbol->name, wanted->name);
}

/* Most names are the same text in memory, so the text is not read. */
static bool same_text(const void *items, uint32_t index, const void *key)
{
	const struct perch_symbol *symbol = perch__symbol_at(items, index);
	const struct inlined_key *wanted = key;

	return symbol->name == wanted->name && symbol->dso == wanted->dso;
}

/* Returns the symbol of an inlined function, or NULL if out of memory. */
static const struct perch_symbol *find_inlined(struct perch_symbols *symbols,
					       const struct perch_dso *dso, const char *name)
{
	struct inlined_key key = { dso, name };
	struct perch_symbol *added;
	uint64_t hash,
		of_address = perch__hash_pair(symbols->by_dso.seed, dso->index, (uintptr_t)name);
	uint32_t index = perch__hash_find(&symbols->inlined_by_address, of_address, same_text,
					  symbols, &key);

	if (index != PERCH__HASH_NONE)
		return perch__symbol_at(symbols, index);
	hash = perch__hash_pair(symbols->by_dso.seed, dso->index,
				perch__hash_text(symbols->by_dso.seed, name));
	index = perch__hash_find(&symbols->inlined, hash, same_inlined, symbols, &key);
	if (index != PERCH__HASH_NONE)
		return perch__symbol_at(symbols, index);
	if (perch__hash_reserve(&symbols->inlined, symbols->inlined.nr + 1) ||
	    perch__hash_reserve(&symbols->inlined_by_address, symbols->inlined.nr + 1) ||
	    !(added = perch__symbols_add(symbols, &index)))
		return NULL;
	perch__hash_add(&symbols->inlined, hash, index);
	perch__hash_add(&symbols->inlined_by_address, of_address, index);
	*added = (struct perch_symbol){
		.name = name, .dso = dso, .index = index, .binding = 'l', .inlined = true
	};
	return added;
}

struct debug_info *perch__symbols_debug_info(struct perch_symbols *symbols,
					     struct dso_symbols *cached)
{
	const struct dso_kind *kind = perch__kind_of(cached->dso);

	if (cached->debug_opened) {
		if (cached->debug)
			perch__debug_complete(cached->debug);
		return cached->debug && perch__debug_is_open(cached->debug) ? cached->debug : NULL;
	}
	cached->debug_opened = true;
	if (kind->open_lines)
		kind->open_lines(&symbols->sources, cached);
	return cached->debug && perch__debug_is_open(cached->debug) ? cached->debug : NULL;
}

void perch_symbols_start_debug_info(struct perch_symbols *symbols, const struct perch_dso *dso)
{
	struct dso_symbols *cached = perch__symbols_of_dso(symbols, dso);

	/* servers may need long to answer, and the request for symbols comes first */
	if (!cached || cached->debug_opened || !perch_dso_is(dso, PERCH_DSO_IS_FILE) ||
	    symbols->sources.debuginfod)
		return;
	if (!symbols->thread)
		symbols->thread = perch__decompress_thread_new();
	if (!symbols->thread)
		return;
	cached->debug_opened = true;
	cached->debug = perch__debug_start(&symbols->sources, dso, symbols->thread);
}

bool perch_symbols_has_debug_info(struct perch_symbols *symbols, const struct perch_dso *dso)
{
	struct dso_symbols *cached = perch__symbols_of_dso(symbols, dso);

	if (!cached || dso->jitdump || cached->has_inlined ||
	    perch__symbols_debug_info(symbols, cached) || cached->bpf)
		return cached;
	cached->lineless++;
	return false;
}

static void set_bpf_line(struct perch_symbols *symbols, const struct bpf_lines *lines,
			 uint64_t address, struct perch_symbol_frame *frame)
{
	const char *file;
	uint32_t line;

	if (!perch__bpf_line(lines, address, &file, &line))
		return;
	frame->file = perch__symbols_clean(symbols, file, true);
	frame->line = line;
}

static bool is_incomplete(const struct debug_frame *frame, size_t nr)
{
	for (size_t i = 0; i + 1 < nr; i++)
		if (!frame[i].function)
			return true;
	return !nr || !frame[0].file || frame[0].lacks_functions;
}

/* Sets the frames from the name of a function of a JIT compiler. Returns 1; 0 if it is one
 * function; or -ENOMEM. */
static int frames_of_name(struct perch_symbols *symbols, struct dso_symbols *cached,
			  struct cached_frames *frames)
{
	const struct perch_symbol *symbol = perch__symbols_find(symbols, cached, frames->offset);
	struct perch__inlined_name part[PERCH__MOST_INLINED_NAMES];
	size_t nr = symbol ? perch__inlined_names(symbol->name, part) : 0;

	if (!nr)
		return 0;
	frames->nr = (int)nr;
	frames->frame = perch__calloc(nr, sizeof(*frames->frame));
	if (!frames->frame)
		return -ENOMEM;
	frames->frame[nr - 1].symbol = symbol;
	for (size_t i = 1; i < nr; i++) {
		char *name = perch__strndup(part[i].start, part[i].length);

		frames->frame[nr - 1 - i].symbol =
			name ? find_inlined(symbols, cached->dso,
					    perch__symbols_clean(symbols, name, false))
			     : NULL;
		free(name);
		if (!frames->frame[nr - 1 - i].symbol) {
			free(frames->frame);
			return -ENOMEM;
		}
	}
	return 1;
}

/* Sets the frames from the debug information. Returns 0 or -ENOMEM. */
static int make_frames(struct perch_symbols *symbols, struct dso_symbols *cached,
		       struct cached_frames *frames)
{
	struct debug_frame found[MAX_DEBUG_FRAMES];
	struct debug_info *debug = perch__symbols_debug_info(symbols, cached);
	struct perch_jitdump *jitdump = cached->dso->jitdump;
	int by_debug = debug ? perch__debug_frames(debug, frames->offset, found) : 0;
	size_t nr = by_debug > 0 ? (size_t)by_debug : 0;

	if (by_debug < 0)
		return by_debug;
	if (cached->has_inlined) {
		int rc = frames_of_name(symbols, cached, frames);

		if (rc)
			return rc < 0 ? rc : 0;
	}
	/* a function of a JIT compiler has one line */
	if (jitdump) {
		int rc;

		found[0] = (struct debug_frame){ 0 };
		rc = perch_jitdump_find_line(jitdump, frames->offset, &found[0].file,
					     &found[0].line);

		if (rc == -ENOMEM)
			return rc;
		nr = !rc;
	}

	cached->lineless += !cached->bpf && is_incomplete(found, nr);
	frames->nr = nr ? (int)nr : 1;
	frames->frame = perch__calloc((size_t)frames->nr, sizeof(*frames->frame));
	if (!frames->frame)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		struct perch_symbol_frame *frame = &frames->frame[i];

		if (found[i].file)
			frame->file = perch__symbols_clean(symbols, found[i].file, !jitdump);
		frame->line = found[i].line;
		if (i + 1 == nr || !found[i].function)
			continue;
		frame->symbol = find_inlined(symbols, cached->dso, found[i].function);
		if (!frame->symbol) {
			free(frames->frame);
			return -ENOMEM;
		}
	}
	if (cached->bpf)
		set_bpf_line(symbols, cached->bpf, frames->offset, &frames->frame[0]);
	frames->frame[frames->nr - 1].symbol = perch__symbols_find(symbols, cached, frames->offset);
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
	struct cached_frames wanted = { .dso = perch__symbols_of_dso(symbols, dso),
					.offset = offset };
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
		    make_frames(symbols, perch__symbols_of_dso(symbols, dso), &wanted))
			return -ENOMEM;
		perch__hash_add(&symbols->by_offset, hash, index);
		symbols->frames[symbols->nr_frames++] = wanted;
	}
	*frames = symbols->frames[index].frame;
	return symbols->frames[index].nr;
}

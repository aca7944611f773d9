/* SPDX-License-Identifier: MIT */
/* Symbols and texts that live as long as the handle. */
#include "base/text.h"
#include "symbols.h"

char *perch__symbols_alloc_text(struct perch_symbols *symbols, size_t size)
{
	char *at;

	if (size > symbols->text_left) {
		size_t chunk_size = size > TEXT_CHUNK / 4 ? size : TEXT_CHUNK;
		struct chunk *chunk = perch__malloc(sizeof(*chunk) + chunk_size);

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

struct perch_symbol *perch__symbols_add(struct perch_symbols *symbols, uint32_t *index)
{
	size_t chunk = symbols->nr_symbols / SYMBOLS_PER_CHUNK;

	if (symbols->nr_symbols >= NO_ENTRY)
		return NULL;
	if (symbols->nr_symbols % SYMBOLS_PER_CHUNK == 0) {
		if (PERCH__ARRAY_RESERVE_BY_NR(symbols->chunk, chunk, 1))
			return NULL;
		symbols->chunk[chunk] = perch__calloc(SYMBOLS_PER_CHUNK, sizeof(**symbols->chunk));
		if (!symbols->chunk[chunk])
			return NULL;
	}
	*index = (uint32_t)symbols->nr_symbols++;
	return perch__symbol_at(symbols, *index);
}

const struct perch_symbol *perch__symbols_add_generated(struct perch_symbols *symbols,
							const struct perch_symbol *symbol)
{
	uint32_t index;
	struct perch_symbol *found = perch__symbols_add(symbols, &index);

	if (!found)
		return NULL;
	*found = *symbol;
	found->index = index;
	found->binding = 'g';
	return found;
}

const char *perch__symbols_clean(struct perch_symbols *symbols, const char *text, bool lives)
{
	size_t length = strlen(text);
	char *copy;

	if (lives && perch__is_plain(text, length))
		return text;
	/* each character that is not printable becomes a '?', so the size does not grow */
	copy = perch__symbols_alloc_text(symbols, length + 1);
	if (!copy)
		return "?";
	perch_clean_text(text, copy, length + 1);
	return copy;
}

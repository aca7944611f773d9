/* SPDX-License-Identifier: MIT */
/* Texts, each once. */
#include <string.h>

#include "base/array.h"
#include "internal.h"

static bool same_text(const void *texts, uint32_t number, const void *key)
{
	return !strcmp(perch__export_text(texts, number), key);
}

uint32_t perch__export_texts_add(struct export_texts *texts, const char *text)
{
	uint64_t hash = perch__hash_text(texts->table.seed, text);
	uint32_t found = perch__hash_find(&texts->table, hash, same_text, texts, text);
	size_t size = strlen(text) + 1;

	if (found != PERCH__HASH_NONE)
		return found;
	if (texts->nr_bytes + size > UINT32_MAX ||
	    PERCH__ARRAY_RESERVE_BY_NR(texts->text, texts->nr_bytes, size) ||
	    PERCH__ARRAY_RESERVE_BY_NR(texts->offset, texts->nr, 1) ||
	    perch__hash_add(&texts->table, hash, texts->nr))
		return NO_INDEX;
	memcpy(texts->text + texts->nr_bytes, text, size);
	texts->offset[texts->nr] = (uint32_t)texts->nr_bytes;
	texts->nr_bytes += size;
	return (uint32_t)texts->nr++;
}

void perch__export_texts_clear(struct export_texts *texts)
{
	free(texts->text);
	free(texts->offset);
	perch__hash_clear(&texts->table);
}

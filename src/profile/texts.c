/* SPDX-License-Identifier: MIT */
/* Numbered texts. */
#include "internal.h"

static bool same_text(const void *items, uint32_t index, const void *key)
{
	return !strcmp(((const char *const *)items)[index], key);
}

uint32_t perch__texts_add(struct texts *texts, const char *text)
{
	uint64_t hash;
	uint32_t number;

	if (!texts->nr)
		texts->table.seed = perch__hash_seed(texts);
	hash = perch__hash_text(texts->table.seed, text);
	number = perch__hash_find(&texts->table, hash, same_text, texts->text, text);
	if (number != PERCH__HASH_NONE)
		return number;
	if (PERCH__ARRAY_RESERVE(texts->text, texts->capacity, texts->nr + 1) ||
	    perch__hash_add(&texts->table, hash, texts->nr))
		return NO_NUMBER;
	texts->text[texts->nr] = text;
	return texts->nr++;
}

void perch__texts_clear(struct texts *texts)
{
	perch__hash_clear(&texts->table);
	free(texts->text);
	memset(texts, 0, sizeof(*texts));
}

int perch__texts_detach(struct texts *texts)
{
	texts->table = (struct perch__hash_table){ 0 };
	texts->capacity = 0;
	return PERCH__DETACH(texts->text, texts->nr);
}

/* SPDX-License-Identifier: MIT */
/* Numbered lists of values, all of one length. */
#include "internal.h"

struct wanted_words {
	const uint64_t *words;
	size_t width;
};

static bool same_words(const void *items, uint32_t index, const void *key)
{
	const struct wanted_words *wanted = key;
	const uint64_t *words = (const uint64_t *)items + (size_t)index * wanted->width;

	for (size_t i = 0; i < wanted->width; i++)
		if (words[i] != wanted->words[i])
			return false;
	return true;
}

uint32_t perch__tuples_add(struct tuples *tuples, const uint64_t *words)
{
	const struct wanted_words wanted = { words, tuples->width };
	uint64_t hash;
	uint32_t number;

	if (!tuples->nr)
		tuples->table.seed = perch__hash_seed(tuples);
	hash = perch__hash_bytes(tuples->table.seed, words, tuples->width * sizeof(*words));
	number = perch__hash_find(&tuples->table, hash, same_words, tuples->word, &wanted);
	if (number != PERCH__HASH_NONE)
		return number;
	if (PERCH__ARRAY_RESERVE(tuples->word, tuples->capacity,
				 (tuples->nr + 1) * tuples->width) ||
	    perch__hash_add(&tuples->table, hash, tuples->nr))
		return NO_NUMBER;
	memcpy(tuples->word + tuples->nr * tuples->width, words, tuples->width * sizeof(*words));
	return tuples->nr++;
}

void perch__tuples_clear(struct tuples *tuples)
{
	perch__hash_clear(&tuples->table);
	free(tuples->word);
	memset(tuples, 0, sizeof(*tuples));
}

int perch__detach(void *array, size_t nr, size_t size)
{
	void *items, *copy;

	memcpy(&items, array, sizeof(items));
	if (!items)
		return 0;
	copy = malloc((nr + 1) * size);
	if (copy)
		memcpy(copy, items, nr * size);
	memcpy(array, &copy, sizeof(copy));
	return copy ? 0 : -ENOMEM;
}

int perch__tuples_detach(struct tuples *tuples)
{
	tuples->table = (struct perch__hash_table){ 0 };
	tuples->capacity = 0;
	return PERCH__DETACH(tuples->word, tuples->nr * tuples->width);
}

/* SPDX-License-Identifier: MIT */
/* Tables in which each item is once. */
#include <string.h>

#include "base/array.h"
#include "encoder.h"

static bool same_item(const void *table, uint32_t index, const void *key)
{
	const struct encoder_items *items = table;

	return !memcmp(items->item + index * items->size, key, items->key_size);
}

uint32_t perch__encoder_item(struct encoder_items *items, const void *item)
{
	uint64_t hash = perch__hash_bytes(items->table.seed, item, items->key_size);
	uint32_t found = perch__hash_find(&items->table, hash, same_item, items, item);

	if (found != PERCH__HASH_NONE)
		return found + 1;
	/* the formats have signed numbers of 32 bits; so does the table */
	if (PERCH__ARRAY_RESERVE_BY_NR(items->item, items->nr * items->size, items->size) ||
	    perch__hash_add(&items->table, hash, items->nr))
		return 0;
	memcpy(items->item + items->nr * items->size, item, items->size);
	return (uint32_t)++items->nr;
}

uint32_t *perch__encoder_numbers(const struct encoder_items *items)
{
	uint32_t *number = calloc(items->nr + 1, sizeof(*number));

	for (uint32_t i = 0; number && i < items->nr; i++)
		number[i] = i + 1;
	return number;
}

void perch__encoder_items_clear(struct encoder_items *items)
{
	free(items->item);
	perch__hash_clear(&items->table);
}

/* ---- lists ---- */

struct list_key {
	const uint32_t *word;
	size_t nr;
};

static bool same_list(const void *table, uint32_t index, const void *key)
{
	const struct list_key *wanted = key;
	const uint32_t *word;
	size_t nr;

	word = perch__encoder_words(table, index + 1, &nr);
	return nr == wanted->nr && !memcmp(word, wanted->word, nr * sizeof(*word));
}

uint32_t perch__encoder_list(struct encoder_lists *lists, const uint32_t *word, size_t nr)
{
	const struct list_key key = { word, nr };
	uint64_t hash = perch__hash_bytes(lists->table.seed, word, nr * sizeof(*word));
	uint32_t found = perch__hash_find(&lists->table, hash, same_list, lists, &key);

	if (found != PERCH__HASH_NONE)
		return found + 1;
	if (PERCH__ARRAY_RESERVE_BY_NR(lists->word, lists->nr_words, nr) ||
	    PERCH__ARRAY_RESERVE_BY_NR(lists->end, lists->nr, 1) ||
	    perch__hash_add(&lists->table, hash, lists->nr))
		return 0;
	memcpy(lists->word + lists->nr_words, word, nr * sizeof(*word));
	lists->nr_words += nr;
	lists->end[lists->nr] = lists->nr_words;
	return (uint32_t)++lists->nr;
}

void perch__encoder_lists_clear(struct encoder_lists *lists)
{
	free(lists->word);
	free(lists->end);
	perch__hash_clear(&lists->table);
}

/* SPDX-License-Identifier: MIT */
/* Sets whose items are numbered: keys of two words, lists of words of one length, texts. */
#include "internal.h"

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

/* ---- keys ---- */

static bool same_key(const void *items, uint32_t index, const void *key)
{
	const uint64_t(*keys)[2] = items;
	const uint64_t *wanted = key;

	return keys[index][0] == wanted[0] && keys[index][1] == wanted[1];
}

/* For space that perch__key_set_reserve() made. */
static uint32_t add_reserved(struct key_set *set, const uint64_t key[2], uint64_t hash)
{
	uint32_t number = perch__hash_find(&set->table, hash, same_key, set->key, key);

	if (number != PERCH__HASH_NONE)
		return number;
	perch__hash_add(&set->table, hash, set->nr);
	memcpy(set->key[set->nr], key, sizeof(set->key[set->nr]));
	return (uint32_t)set->nr++;
}

uint32_t perch__key_set_add(struct key_set *set, uint64_t high, uint64_t low, bool *is_new)
{
	const uint64_t key[2] = { high, low };
	uint64_t hash;
	uint32_t number;

	*is_new = false;
	if (!set->nr)
		set->table.seed = perch__hash_seed(set);
	hash = perch__hash_pair(set->table.seed, high, low);
	number = perch__hash_find(&set->table, hash, same_key, set->key, key);
	if (number != PERCH__HASH_NONE)
		return number;
	if (PERCH__ARRAY_RESERVE(set->key, set->capacity, set->nr + 1) ||
	    perch__hash_add(&set->table, hash, set->nr))
		return NO_NUMBER;
	set->key[set->nr][0] = high;
	set->key[set->nr][1] = low;
	*is_new = true;
	return set->nr++;
}

int perch__key_set_reserve(struct key_set *set, size_t more)
{
	if (!set->nr)
		set->table.seed = perch__hash_seed(set);
	return PERCH__ARRAY_RESERVE(set->key, set->capacity, set->nr + more) ||
			       perch__hash_reserve(&set->table, set->nr + more)
		       ? -ENOMEM
		       : 0;
}

/* How many lookups of perch__key_set_add_all() wait for memory at the same time; a power of 2. */
#define AHEAD 16u

void perch__key_set_add_all(struct key_set *set, const uint64_t (*keys)[2], size_t nr,
			    uint32_t *numbers)
{
	uint64_t hash[2 * AHEAD];

	for (size_t i = 0; i < nr + 2 * AHEAD; i++) {
		if (i >= 2 * AHEAD) {
			size_t at = i - 2 * AHEAD;

			numbers[at] = add_reserved(set, keys[at], hash[at % (2 * AHEAD)]);
		}
		if (i >= AHEAD && i < nr + AHEAD) {
			uint32_t guess =
				perch__hash_peek(&set->table, hash[(i - AHEAD) % (2 * AHEAD)]);

			if (guess != NO_NUMBER)
				__builtin_prefetch(&set->key[guess]);
		}
		if (i < nr) {
			hash[i % (2 * AHEAD)] =
				perch__hash_pair(set->table.seed, keys[i][0], keys[i][1]);
			perch__hash_prefetch(&set->table, hash[i % (2 * AHEAD)]);
		}
	}
}

uint32_t perch__key_set_skip(struct key_set *set)
{
	if (!set->nr)
		set->table.seed = perch__hash_seed(set);
	if (set->nr >= PERCH__HASH_MAX ||
	    PERCH__ARRAY_RESERVE(set->key, set->capacity, set->nr + 1))
		return NO_NUMBER;
	return (uint32_t)set->nr++;
}

void perch__key_set_remove_last(struct key_set *set)
{
	const uint64_t *key = set->key[--set->nr];

	perch__hash_remove(&set->table, perch__hash_pair(set->table.seed, key[0], key[1]), set->nr);
}

void perch__key_set_clear(struct key_set *set)
{
	perch__hash_clear(&set->table);
	free(set->key);
	memset(set, 0, sizeof(*set));
}

int perch__key_set_detach(struct key_set *set)
{
	set->table = (struct perch__hash_table){ 0 };
	set->capacity = 0;
	return PERCH__DETACH(set->key, set->nr);
}

void perch__key_set_end(struct key_set *set)
{
	size_t nr = set->nr;

	perch__key_set_clear(set);
	set->nr = nr;
}

/* ---- lists of words ---- */

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

int perch__tuples_detach(struct tuples *tuples)
{
	tuples->table = (struct perch__hash_table){ 0 };
	tuples->capacity = 0;
	return PERCH__DETACH(tuples->word, tuples->nr * tuples->width);
}

/* ---- texts ---- */

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

/* SPDX-License-Identifier: MIT */
/* Sets whose items are numbered in the order they are added. */
#ifndef PERCH_PROFILE_NUMBERED_H
#define PERCH_PROFILE_NUMBERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/hash_table.h"

/*
 * perch__..._detach() gives a struct that is a copy of another one arrays of its own, of which only
 * numbers are used: its hash tables stay with the other. Returns 0 or -ENOMEM; the struct is to be
 * cleared in both cases.
 */
#define PERCH__DETACH(array, nr) perch__detach(&(array), nr, sizeof(*(array)))
int perch__detach(void *array, size_t nr, size_t size);

/* ---- numbered.c ---- */

/* A set of keys of two words each, numbered from 0 in the order they are added. */
struct key_set {
	struct perch__hash_table table; /* key -> number */
	uint64_t (*key)[2];		/* by number */
	size_t nr, capacity;
};
#define NO_NUMBER PERCH__HASH_NONE
/*
 * Returns the number of the key, which is added if it is new (*is_new). Returns NO_NUMBER if out of
 * memory.
 */
uint32_t perch__key_set_add(struct key_set *set, uint64_t high, uint64_t low, bool *is_new);
/* Makes space for more keys. Returns 0 or -ENOMEM. */
int perch__key_set_reserve(struct key_set *set, size_t more);
/* Stores the numbers of keys. There must be space for nr keys more. Faster than one after the
 * other, because the lookups wait for memory at the same time. */
void perch__key_set_add_all(struct key_set *set, const uint64_t (*keys)[2], size_t nr,
			    uint32_t *numbers);
/* Returns the next number, for an item that no key finds. Returns NO_NUMBER if out of memory. */
uint32_t perch__key_set_skip(struct key_set *set);
/* For a key that was just added and whose item cannot be stored. */
void perch__key_set_remove_last(struct key_set *set);
void perch__key_set_clear(struct key_set *set);
int perch__key_set_detach(struct key_set *set);
/* Frees the keys. Their number stays, and no more keys can be added. */
void perch__key_set_end(struct key_set *set);

/* A set of lists of `width` words each, numbered from 0 in the order they are added. */
struct tuples {
	struct perch__hash_table table; /* words -> number */
	uint64_t *word;			/* nr * width words, by number */
	size_t width, nr, capacity;	/* capacity: in words */
};
/* Returns the number of the words, which are added if they are new. Returns NO_NUMBER if out of
 * memory. */
uint32_t perch__tuples_add(struct tuples *tuples, const uint64_t *words);
static inline const uint64_t *perch__tuples_at(const struct tuples *tuples, uint32_t number)
{
	return tuples->word + (size_t)number * tuples->width;
}
void perch__tuples_clear(struct tuples *tuples);
int perch__tuples_detach(struct tuples *tuples);

/* A set of texts, numbered from 0 in the order they are added. They must outlive the set. */
struct texts {
	struct perch__hash_table table; /* text -> number */
	const char **text;		/* by number */
	size_t nr, capacity;
	bool are_shared; /* the texts are those of another set */
};
/* Returns the number of the text, which is added if it is new. Returns NO_NUMBER if out of memory.
 */
uint32_t perch__texts_add(struct texts *texts, const char *text);
void perch__texts_clear(struct texts *texts);
int perch__texts_detach(struct texts *texts);

/* ---- numbers of one kind each: the compiler does not let one be mistaken for another ---- */

struct context_id {
	uint32_t nr; /* in perch_profile.contexts */
};
struct address_id {
	uint32_t nr; /* in perch_addresses.address[] */
};
struct frame_id {
	uint32_t nr; /* in perch_profile.frame[] */
};
#define NO_FRAME ((struct frame_id){ NO_NUMBER })

#endif

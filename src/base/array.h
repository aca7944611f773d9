/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays of any type. The caller has the pointer, the number of items and, in most cases,
 * the capacity as variables or members. The macros assign to them and evaluate them more than once.
 *
 *	struct item *item = PERCH__ARRAY_APPEND(list->item, list->nr, list->capacity);
 *
 *	if (!item)
 *		return -ENOMEM;
 *
 * The capacity doubles, so n appends cost O(n). An overflowing size and a failed allocation are
 * -ENOMEM and leave the array unchanged. An empty array is NULL with capacity 0. free() frees an
 * array.
 */
#ifndef PERCH_BASE_ARRAY_H
#define PERCH_BASE_ARRAY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "large_pages.h"
#include "memory.h"
#include "nr.h"

#define PERCH__ARRAY_FIRST_BYTES 256u /* smallest first allocation */

/*
 * Grows an array to at least `need` and at most `most` items of `size` bytes, and raises *capacity.
 * Returns NULL if `need` exceeds `most` or if out of memory; the items are then unchanged.
 */
static inline void *perch__array_grow(void *items, size_t *capacity, size_t need, size_t most,
				      size_t size)
{
	size_t larger = *capacity <= SIZE_MAX / 2 ? 2 * *capacity : SIZE_MAX;

	if (need > most)
		return NULL;
	if (!*capacity)
		larger = PERCH__ARRAY_FIRST_BYTES / size;
	if (larger > most)
		larger = most;
	if (larger < need)
		larger = need;
	if (larger > PTRDIFF_MAX / size)
		return NULL;
	items = perch__realloc(items, larger * size);
	if (!items)
		return NULL;
	perch__use_large_pages(items, larger * size);
	*capacity = larger;
	return items;
}

/*
 * Returns the smallest power of two that is not below nr; 0 for 0, and for more than the largest
 * power.
 */
static inline size_t perch__array_power(size_t nr)
{
	if (nr < 2)
		return nr;
	if (nr > SIZE_MAX / 2 + 1)
		return 0;
	return (size_t)1 << (8 * sizeof(unsigned long) - (size_t)__builtin_clzl(nr - 1));
}

/* Makes the capacity at least `need` items. Returns 0 or -ENOMEM. */
#define PERCH__ARRAY_RESERVE(items, capacity, need) \
	PERCH__ARRAY_RESERVE_MAX(items, capacity, need, SIZE_MAX)

/* Like PERCH__ARRAY_RESERVE(), with a capacity of at most `most`. A larger `need` is -ENOMEM. */
#define PERCH__ARRAY_RESERVE_MAX(items, capacity, need, most)                                    \
	({                                                                                       \
		size_t need_ = (need), capacity_ = (capacity);                                   \
		int rc_ = 0;                                                                     \
                                                                                                 \
		if (need_ > capacity_) {                                                         \
			__typeof__(items) items_ = perch__array_grow((items), &capacity_, need_, \
								     (most), sizeof(*(items)));  \
			if (items_) {                                                            \
				(items) = items_;                                                \
				(capacity) = capacity_;                                          \
			} else {                                                                 \
				rc_ = -ENOMEM;                                                   \
			}                                                                        \
		}                                                                                \
		rc_;                                                                             \
	})

/*
 * Like PERCH__ARRAY_RESERVE(), with zeroed new items. For arrays whose capacity is their number of
 * items.
 */
#define PERCH__ARRAY_RESERVE_ZEROED(items, capacity, need)                                     \
	({                                                                                     \
		size_t before_ = (capacity);                                                   \
		int zeroed_rc_ = PERCH__ARRAY_RESERVE(items, capacity, need);                  \
                                                                                               \
		if ((size_t)(capacity) > before_)                                              \
			memset((items) + before_, 0, ((capacity)-before_) * sizeof(*(items))); \
		zeroed_rc_;                                                                    \
	})

/*
 * Makes space for `more` items after nr items, in an array without a stored capacity: its capacity
 * is the power of two that nr needs. All growth of the array must use this macro. Returns 0 or
 * -ENOMEM. nr does not change.
 */
#define PERCH__ARRAY_RESERVE_BY_NR(items, nr, more)                         \
	({                                                                  \
		size_t power_ = perch__array_power(nr), more_ = (more);     \
		size_t wanted_ = more_ <= PTRDIFF_MAX - (size_t)(nr)        \
					 ? perch__array_power((nr) + more_) \
					 : SIZE_MAX;                        \
                                                                            \
		PERCH__ARRAY_RESERVE_MAX(items, power_, wanted_, wanted_);  \
	})

/* Appends a zeroed item, increments nr and returns the item. Returns NULL if out of memory. */
#define PERCH__ARRAY_APPEND(items, nr, capacity) \
	PERCH__ARRAY_APPEND_MAX(items, nr, capacity, SIZE_MAX)

/* Like PERCH__ARRAY_APPEND(). Also returns NULL if there are `most` items already. */
#define PERCH__ARRAY_APPEND_MAX(items, nr, capacity, most)                                \
	({                                                                                \
		__typeof__(items) new_ = NULL;                                            \
                                                                                          \
		if (!PERCH__ARRAY_RESERVE_MAX(items, capacity, (size_t)(nr) + 1, most)) { \
			new_ = &(items)[(nr)++];                                          \
			memset(new_, 0, sizeof(*new_));                                   \
		}                                                                         \
		new_;                                                                     \
	})

#endif

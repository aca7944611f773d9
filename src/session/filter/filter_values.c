/* SPDX-License-Identifier: MIT */
/* Filters: the values of the samples that were tested. */
#include "filter.h"

#define MAX_VALUES 4096 /* ids that are counted */

int perch__filter_add(struct filter_values *values, uint32_t index, const char *text)
{
	if (__builtin_expect(index >= values->nr, 0)) {
		size_t nr = (size_t)index + 1;

		if (PERCH__ARRAY_RESERVE_ZEROED(values->value, values->capacity, nr))
			return -ENOMEM;
		values->nr = nr;
	}
	values->value[index].text = text;
	values->value[index].number = index;
	return 0;
}

static bool same_number(const void *values, uint32_t index, const void *number)
{
	return ((const struct filter_value *)values)[index].number == *(const uint64_t *)number;
}

int perch__filter_count_id(struct filter_values *values, uint64_t id, const char *text)
{
	uint64_t hash = perch__hash_integer(values->by_number.seed, id);
	uint32_t index =
		perch__hash_find(&values->by_number, hash, same_number, values->value, &id);
	struct filter_value *value;

	if (index != PERCH__HASH_NONE) {
		values->value[index].samples++;
		return 0;
	}
	if (values->nr >= MAX_VALUES)
		return 0;
	value = PERCH__ARRAY_APPEND(values->value, values->nr, values->capacity);
	if (!value)
		return -ENOMEM;
	*value = (struct filter_value){ .text = text, .number = id, .samples = 1 };
	if (perch__hash_add(&values->by_number, hash, values->nr - 1)) {
		values->nr--;
		return -ENOMEM;
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* After reading: the words of a filter's options for which there is no sample. */
#define _GNU_SOURCE /* strcasestr */
#include <inttypes.h>
#include <stdio.h>

#include "base/edit_distance.h"
#include "filter.h"

#define MAX_SHOWN    8
#define MAX_DISTANCE 2 /* maximum edit distance of a suggestion */

static void value_text(const struct filter_value *value, char *text, size_t size)
{
	if (value->text)
		perch_clean_text(value->text, text, size);
	else
		snprintf(text, size, "%" PRId32, (int32_t)value->number);
}

/* Returns the most frequent value after those of a list, or NULL. */
static const struct filter_value *next_frequent(const struct filter_values *values,
						const struct filter_value *const *list, size_t nr)
{
	const struct filter_value *found = NULL;

	for (size_t i = 0; i < values->nr; i++) {
		const struct filter_value *value = &values->value[i];
		bool listed = false;

		if (!value->samples || (found && value->samples <= found->samples))
			continue;
		for (size_t j = 0; j < nr && !listed; j++)
			listed = list[j] == value;
		if (!listed)
			found = value;
	}
	return found;
}

/* Lists the most frequent values. counted: what was counted is samples. */
static void list_values(struct perch_filter *filter, const struct filter_values *values,
			bool counted)
{
	const struct filter_value *list[MAX_SHOWN + 1];
	char *at = filter->present, *end = at + sizeof(filter->present);
	size_t nr = 0;

	*at = '\0';
	while (nr < MAX_SHOWN + 1) {
		const struct filter_value *value = next_frequent(values, list, nr);
		char text[64];

		if (!value)
			break;
		value_text(value, text, sizeof(text));
		if (nr == MAX_SHOWN || end - at < (ptrdiff_t)strlen(text) + 40) {
			snprintf(at, end - at, ", ...");
			break;
		}
		at += snprintf(at, end - at, "%s%s", nr ? ", " : "", text);
		if (counted)
			at += snprintf(at, end - at, " (%" PRIu64 ")", value->samples);
		list[nr++] = value;
	}
}

/* Finds a word that differs in few characters. */
static bool find_misspelled(struct perch_filter *filter, const struct filter_values *values)
{
	unsigned best = MAX_DISTANCE + 1;

	if (strlen(filter->wanted) <= MAX_DISTANCE)
		return false;
	for (size_t i = 0; i < values->nr; i++) {
		const char *name = values->value[i].text;
		unsigned distance;

		if (!name || strlen(name) > PERCH__EDIT_MAX_LENGTH)
			continue;
		distance = perch__edit_distance(filter->wanted, name);
		if (distance >= best)
			continue;
		best = distance;
		perch_clean_text(name, filter->similar, sizeof(filter->similar));
	}
	return best <= MAX_DISTANCE;
}

/* Finds the most frequent word that contains the wanted one: names of C++ functions are long. */
static bool find_longer(struct perch_filter *filter, const struct filter_values *values)
{
	const struct filter_value *found = NULL;

	if (strlen(filter->wanted) <= MAX_DISTANCE)
		return false;
	for (size_t i = 0; i < values->nr; i++) {
		const struct filter_value *value = &values->value[i];

		if (value->text && (!found || value->samples > found->samples) &&
		    strcasestr(value->text, filter->wanted))
			found = value;
	}
	if (found)
		perch_clean_text(found->text, filter->similar, sizeof(filter->similar));
	return found;
}

static bool is_seen(const struct perch_filter *filter, enum perch_filter_part part,
		    const struct filter_range *range)
{
	const struct filter_values *values = &filter->values[part];

	if (part != PERCH_FILTER_CPU && part != PERCH_FILTER_PARALLELISM)
		return range->seen;
	for (uint32_t at = range->first; at <= range->last && at < values->nr; at++)
		if (values->value[at].samples)
			return true;
	return false;
}

/* Finds the word with this index among those of a part without samples; *index goes down by their
 * number. */
static bool find_word(struct perch_filter *filter, enum perch_filter_part part, size_t *index)
{
	const struct filter_ranges *ranges = perch__filter_ranges_of(filter, part);
	const struct filter_names *names = perch__filter_names_of(filter, part);

	for (size_t i = 0; names && i < names->nr; i++) {
		if (names->name[i].seen || (*index)-- > 0)
			continue;
		perch_clean_text(names->name[i].text, filter->wanted, sizeof(filter->wanted));
		return true;
	}
	for (size_t i = 0; ranges && i < ranges->nr; i++) {
		const struct filter_range *range = &ranges->range[i];

		if (is_seen(filter, part, range) || (*index)-- > 0)
			continue;
		if (range->first == range->last)
			snprintf(filter->wanted, sizeof(filter->wanted), "%" PRId32,
				 (int32_t)range->first);
		else
			snprintf(filter->wanted, sizeof(filter->wanted), "%" PRIu32 "-%" PRIu32,
				 range->first, range->last);
		return true;
	}
	return false;
}

/* An expression is missing if no sample matches it. */
static bool find_text(struct perch_filter *filter, enum perch_filter_part part, const char *text,
		      uint64_t tested, size_t *index)
{
	if (filter->stats.left_out[part] < tested || (*index)-- > 0)
		return false;
	perch_clean_text(text, filter->wanted, sizeof(filter->wanted));
	snprintf(filter->present, sizeof(filter->present), "%s", filter->rejected_text);
	if (part == PERCH_FILTER_PARENT) /* addresses of functions were counted, not samples */
		list_values(filter, &filter->values[part], false);
	return true;
}

static bool find_time(struct perch_filter *filter, uint64_t tested, size_t *index)
{
	const uint64_t second = 1000000000;

	if (filter->stats.left_out[PERCH_FILTER_TIME] < tested || (*index)-- > 0)
		return false;
	perch_clean_text(filter->time, filter->wanted, sizeof(filter->wanted));
	snprintf(filter->present, sizeof(filter->present),
		 "%" PRIu64 ".%09" PRIu64 " to %" PRIu64 ".%09" PRIu64, filter->first_time / second,
		 filter->first_time % second, filter->last_time / second,
		 filter->last_time % second);
	return true;
}

/* Finds a word of a part, and what there is instead. */
static bool find_missing(struct perch_filter *filter, enum perch_filter_part part, uint64_t tested,
			 size_t *index)
{
	if (part == PERCH_FILTER_TIME)
		return find_time(filter, tested, index);
	if (part == PERCH_FILTER_PARENT)
		return find_text(filter, part, filter->parent_text, tested, index);
	if (part == PERCH_FILTER_EXPRESSION)
		return find_text(filter, part, filter->expression_text, tested, index);
	if (!find_word(filter, part, index))
		return false;
	list_values(filter, &filter->values[part], true);
	return true;
}

int perch_filter_get_missing(struct perch_filter *filter, size_t index,
			     struct perch_filter_missing *missing)
{
	uint64_t tested = filter->stats.samples;

	*missing = (struct perch_filter_missing){ 0 };
	for (size_t i = 0; i < filter->nr_tests && tested; i++) {
		enum perch_filter_part part = filter->tests[i].part;

		if (find_missing(filter, part, tested, &index)) {
			*missing = (struct perch_filter_missing){ .part = part,
								  .wanted = filter->wanted,
								  .present = filter->present,
								  .samples = tested };
			if (find_misspelled(filter, &filter->values[part]) ||
			    find_longer(filter, &filter->values[part]))
				missing->similar = filter->similar;
			return 1;
		}
		tested -= filter->stats.left_out[part];
	}
	return 0;
}

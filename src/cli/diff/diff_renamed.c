/* SPDX-License-Identifier: MIT */
/* Finds functions whose DSO has another name in the other file: they are different rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "diff.h"

/* A row that only one of the two files has. */
struct single {
	const struct diff *diff;
	const char *texts; /* its cells */
	double share;
	bool is_new;
};

static bool is_key(const struct diff *diff, size_t key, const char *name)
{
	return !strcmp(diff->key[key]->name, name);
}

static bool has_key(const struct diff *diff, const char *name)
{
	for (size_t i = 0; i < diff->nr_keys; i++)
		if (is_key(diff, i, name))
			return true;
	return false;
}

/* Compares the cells of all keys but the DSO. */
static int compare_but_dso(const void *left, const void *right)
{
	const struct single *a = left, *b = right;
	const char *one = a->texts, *two = b->texts;

	for (size_t i = 0; i < a->diff->nr_keys; i++) {
		int order = is_key(a->diff, i, "dso") ? 0 : strcmp(one, two);

		if (order)
			return order;
		one += strlen(one) + 1;
		two += strlen(two) + 1;
	}
	return 0;
}

/* True for a row of a function without a name: the symbol is an address. */
static bool is_nameless(const struct diff *diff, const char *texts)
{
	for (size_t i = 0; i < diff->nr_keys; i++, texts += strlen(texts) + 1)
		if (is_key(diff, i, "sym") && strstr(texts, " 0x"))
			return true;
	return false;
}

/* Stores the rows that only one file has. Returns their number; *change is that of all shares. */
static size_t find_singles(const struct diff *diff, const struct diff_event *event, size_t file,
			   struct single *single, double *change)
{
	size_t nr = 0;

	*change = 0;
	for (size_t row = 0; row < event->nr_rows; row++) {
		const struct diff_sum *before = diff_sum_of(diff, event, row, 0);
		const struct diff_sum *after = diff_sum_of(diff, event, row, file);
		double old_share = diff_share(event, 0, before->period);
		double new_share = diff_share(event, file, after->period);
		const char *texts = event->text + event->row[row].text;

		*change += fabs(new_share - old_share);
		if (!before->samples == !after->samples || is_nameless(diff, texts))
			continue;
		single[nr++] =
			(struct single){ diff, texts, old_share + new_share, after->samples != 0 };
	}
	return nr;
}

/* Returns the shares of rows that differ from a row of the other file by the DSO alone. */
static double add_renamed(struct single *single, size_t nr)
{
	double share = 0;

	qsort(single, nr, sizeof(*single), compare_but_dso);
	for (size_t i = 0, end; i < nr; i = end) {
		bool has_old = false, has_new = false;
		double sum = 0;

		for (end = i; end < nr && !compare_but_dso(&single[i], &single[end]); end++) {
			sum += single[end].share;
			has_old |= !single[end].is_new;
			has_new |= single[end].is_new;
		}
		if (has_old && has_new)
			share += sum;
	}
	return share;
}

bool diff_is_renamed(const struct diff *diff, const struct diff_event *event, size_t file)
{
	struct single *single;
	double change, renamed;
	size_t nr;

	if (!event->nr_rows || !has_key(diff, "dso") || !has_key(diff, "sym"))
		return false;
	single = perch__reallocarray(NULL, event->nr_rows, sizeof(*single));
	if (!single)
		return false; /* without a note the table is still right */
	nr = find_singles(diff, event, file, single, &change);
	renamed = add_renamed(single, nr);
	free(single);
	return renamed > change / 2;
}

/* SPDX-License-Identifier: MIT */
/* Slices of sums, and the limit of memory. */
#include "window.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "window_items.h"
#include "window_rows.h"

struct agent_window {
	size_t most_bytes;
	uint64_t seconds; /* for which slices stay */
	struct agent_items items;
	struct agent_slice *slice; /* the last one is open */
	size_t nr, capacity;
	uint64_t first;			/* number of slice[0] */
	struct perch__hash_table index; /* of the rows of the open slice */
	uint32_t truncated;		/* the stack "[truncated]"; AGENT_NONE: not made yet */
	const char *chosen;		/* a cgroup: sums are of its samples; NULL: all */
	struct agent_window_stats stats;
};

/* ---- slices ---- */

static struct agent_slice *open_slice(struct agent_window *window)
{
	return &window->slice[window->nr - 1];
}

static void release_row(struct agent_window *window, const struct agent_row *row)
{
	agent_items_release_stack(&window->items, row->stack);
	agent_items_release_labels(&window->items, row->labels);
}

static void drop_oldest(struct agent_window *window)
{
	struct agent_slice *slice = &window->slice[0];

	for (size_t i = 0; i < slice->nr; i++)
		release_row(window, &slice->row[i]);
	free(slice->row);
	memmove(slice, slice + 1, --window->nr * sizeof(*slice));
	window->first++;
}

static size_t bytes_of_rows(const struct agent_window *window)
{
	size_t bytes = 0;

	for (size_t i = 0; i < window->nr; i++)
		bytes += sizeof(window->slice[i]) + window->slice[i].nr * sizeof(struct agent_row);
	return bytes + window->slice[window->nr - 1].nr * 2 * sizeof(struct perch__hash_slot);
}

static size_t used_bytes(const struct agent_window *window)
{
	return bytes_of_rows(window) + agent_items_bytes(&window->items);
}

struct agent_window *agent_window_new(size_t bytes, uint64_t seconds)
{
	struct agent_window *window = calloc(1, sizeof(*window));

	if (!window)
		return NULL;
	window->most_bytes = bytes;
	window->seconds = seconds;
	window->truncated = AGENT_NONE;
	window->index.seed = perch__hash_seed(window);
	agent_items_init(&window->items);
	if (!PERCH__ARRAY_APPEND(window->slice, window->nr, window->capacity)) {
		free(window);
		return NULL;
	}
	return window;
}

void agent_window_free(struct agent_window *window)
{
	if (!window)
		return;
	while (window->nr)
		drop_oldest(window);
	agent_items_release_stack(&window->items, window->truncated);
	free(window->slice);
	perch__hash_clear(&window->index);
	agent_items_clear(&window->items);
	free(window);
}

static bool is_row(const void *items, uint32_t index, const void *key)
{
	return !agent_row_compare(&((const struct agent_row *)items)[index], key);
}

/* Counts a row in the open slice, which takes its references. */
static bool count_row(struct agent_window *window, const struct agent_row *row)
{
	struct agent_slice *slice = open_slice(window);
	uint64_t hash = perch__hash_pair(window->index.seed, row->stack,
					 (uint64_t)row->labels << 32 | row->event);
	uint32_t index = perch__hash_find(&window->index, hash, is_row, slice->row, row);
	struct agent_row *new;

	if (index != PERCH__HASH_NONE) {
		agent_row_add(&slice->row[index], row);
		release_row(window, row);
		return true;
	}
	new = PERCH__ARRAY_APPEND(slice->row, slice->nr, slice->capacity);
	if (new &&perch__hash_add(&window->index, hash, slice->nr - 1)) {
		slice->nr--;
		new = NULL;
	}
	if (new)
		*new = *row;
	else
		release_row(window, row);
	return new;
}

void agent_window_add(struct agent_window *window, const struct agent_sample *sample)
{
	struct agent_row row = { .event = sample->event, .samples = 1, .period = sample->period };
	bool added;

	window->stats.samples++;
	row.labels = agent_items_add_labels(&window->items, &sample->labels);
	added = row.labels != AGENT_NONE &&
		agent_items_add_stack(&window->items, sample, &row.stack);
	if (added)
		added = count_row(window, &row);
	else if (row.labels != AGENT_NONE)
		agent_items_release_labels(&window->items, row.labels);
	window->stats.dropped_samples += !added;
	window->stats.unlabeled_samples += added && window->items.coarse;
}

/* ---- the limit of memory ---- */

/* Makes the closed slices shorter after rows of them have become equal. */
static void merge_rows(struct agent_window *window, struct agent_slice *slice)
{
	size_t nr = 0;

	agent_rows_sort(slice->row, slice->nr);
	for (size_t i = 0; i < slice->nr; i++) {
		if (nr && !agent_row_compare(&slice->row[nr - 1], &slice->row[i])) {
			agent_row_add(&slice->row[nr - 1], &slice->row[i]);
			release_row(window, &slice->row[i]);
		} else {
			slice->row[nr++] = slice->row[i];
		}
	}
	slice->nr = nr;
	agent_slice_fit(slice);
}

/* Leaves out the names and ids of threads, here and in later samples. */
static void drop_thread_labels(struct agent_window *window)
{
	window->items.coarse = true;
	for (size_t i = 0; i + 1 < window->nr; i++) {
		struct agent_slice *slice = &window->slice[i];

		for (size_t j = 0; j < slice->nr; j++) {
			struct agent_sample_labels labels =
				agent_window_labels(window, slice->row[j].labels);
			uint32_t index = agent_items_add_labels(&window->items, &labels);

			if (index == AGENT_NONE)
				continue;
			agent_items_release_labels(&window->items, slice->row[j].labels);
			slice->row[j].labels = index;
			if (labels.comm || labels.pid || labels.tid)
				window->stats.unlabeled_samples += slice->row[j].samples;
		}
		merge_rows(window, slice);
	}
}

static bool make_truncated(struct agent_window *window)
{
	static const struct agent_address address = { .mode = '.' };

	if (window->truncated == AGENT_NONE)
		window->truncated = agent_items_push(&window->items, AGENT_NONE, &address);
	return window->truncated != AGENT_NONE;
}

/* By stack: the samples that all slices have of it. The caller frees it; NULL: no memory. */
static uint64_t *count_stacks(const struct agent_window *window)
{
	uint64_t *samples = calloc(window->items.stacks.nr + 1, sizeof(*samples));

	for (size_t i = 0; samples && i < window->nr; i++)
		for (size_t j = 0; j < window->slice[i].nr; j++)
			if (window->slice[i].row[j].stack != AGENT_NONE)
				samples[window->slice[i].row[j].stack] +=
					window->slice[i].row[j].samples;
	return samples;
}

static void truncate_slice(struct agent_window *window, struct agent_slice *slice,
			   const uint64_t *samples, uint64_t most)
{
	for (size_t i = 0; i < slice->nr; i++) {
		struct agent_row *row = &slice->row[i];

		if (row->stack == AGENT_NONE || row->stack == window->truncated ||
		    samples[row->stack] > most)
			continue;
		window->stats.truncated_samples += row->samples;
		agent_table_refer(&window->items.stacks, window->truncated);
		agent_items_release_stack(&window->items, row->stack);
		row->stack = window->truncated;
	}
	merge_rows(window, slice);
}

/* Stacks with few samples become "[truncated]", until the rest fits. */
static void truncate_rare(struct agent_window *window, size_t wanted)
{
	uint64_t *samples = make_truncated(window) ? count_stacks(window) : NULL;

	for (uint64_t most = 1; samples && most <= 1024 && used_bytes(window) > wanted; most *= 4)
		for (size_t i = 0; i + 1 < window->nr; i++)
			truncate_slice(window, &window->slice[i], samples, most);
	free(samples);
}

static void keep_limit(struct agent_window *window)
{
	const size_t wanted = window->most_bytes / 4 * 3;
	size_t used = used_bytes(window);

	if (used <= window->most_bytes) {
		window->items.coarse &= used > window->most_bytes / 2;
		return;
	}
	if (!window->items.coarse)
		drop_thread_labels(window);
	if (used_bytes(window) > wanted)
		truncate_rare(window, wanted);
	while (window->nr > 1 && used_bytes(window) > window->most_bytes) {
		for (size_t i = 0; i < window->slice[0].nr; i++)
			window->stats.dropped_samples += window->slice[0].row[i].samples;
		drop_oldest(window);
	}
}

uint64_t agent_window_cut(struct agent_window *window, uint64_t now)
{
	struct agent_slice *slice = open_slice(window);

	if (!slice->begin)
		slice->begin = now;
	if (now <= slice->begin && !slice->nr)
		return window->first + window->nr - 1;
	slice->end = now;
	agent_slice_fit(slice);
	/* without memory the open slice goes on */
	slice = PERCH__ARRAY_APPEND(window->slice, window->nr, window->capacity);
	if (!slice)
		return window->first + window->nr - 1;
	slice->begin = now;
	perch__hash_clear(&window->index);
	while (window->nr > 1 && now - window->slice[0].begin > window->seconds * 1000000000)
		drop_oldest(window);
	keep_limit(window);
	return window->first + window->nr - 1;
}

/* ---- what consumers ask for ---- */

uint64_t agent_window_since(const struct agent_window *window, uint64_t time)
{
	size_t i = window->nr - 1;

	while (i > 0 && window->slice[i - 1].begin >= time)
		i--;
	return window->first + i;
}

uint64_t agent_window_oldest(const struct agent_window *window)
{
	return window->first;
}

static void clamp(const struct agent_window *window, uint64_t *from, uint64_t *to)
{
	if (*from < window->first)
		*from = window->first;
	if (*to > window->first + window->nr)
		*to = window->first + window->nr;
}

void agent_window_times(const struct agent_window *window, uint64_t from, uint64_t to,
			uint64_t *begin, uint64_t *end)
{
	*begin = *end = 0;
	clamp(window, &from, &to);
	if (from >= to)
		return;
	*begin = window->slice[from - window->first].begin;
	*end = window->slice[to - 1 - window->first].end;
}

void agent_window_choose(struct agent_window *window, const char *cgroup)
{
	window->chosen = cgroup;
}

static bool is_chosen(const struct agent_window *window, const struct agent_row *row)
{
	const char *cgroup = agent_items_labels(&window->items, row->labels).cgroup;
	size_t length = strlen(window->chosen);

	while (length && window->chosen[length - 1] == '/')
		length--;
	return cgroup && !strncmp(cgroup, window->chosen, length) &&
	       (!cgroup[length] || cgroup[length] == '/');
}

/* Returns how many rows are left. */
static size_t leave_chosen(const struct agent_window *window, struct agent_row *rows, size_t nr)
{
	size_t left = 0;

	for (size_t i = 0; i < nr; i++)
		if (!window->chosen || is_chosen(window, &rows[i]))
			rows[left++] = rows[i];
	return left;
}

struct agent_row *agent_window_sum(const struct agent_window *window, uint64_t from, uint64_t to,
				   size_t *nr)
{
	struct agent_row *rows;
	size_t all = 0;

	*nr = 0;
	clamp(window, &from, &to);
	for (uint64_t i = from; i < to; i++)
		all += window->slice[i - window->first].nr;
	rows = all ? malloc(all * sizeof(*rows)) : NULL;
	if (!rows)
		return NULL;
	all = 0;
	for (uint64_t i = from; i < to; i++) {
		const struct agent_slice *slice = &window->slice[i - window->first];

		if (slice->nr)
			memcpy(rows + all, slice->row, slice->nr * sizeof(*rows));
		all += slice->nr;
	}
	*nr = agent_rows_merge(rows, leave_chosen(window, rows, all));
	return rows;
}

const struct agent_address *agent_window_frame(const struct agent_window *window, uint32_t stack,
					       uint32_t *callers)
{
	return agent_items_frame(&window->items, stack, callers);
}

uint32_t agent_window_address(const struct agent_window *window, uint32_t stack)
{
	return agent_items_address(&window->items, stack);
}

struct agent_sample_labels agent_window_labels(const struct agent_window *window, uint32_t labels)
{
	return agent_items_labels(&window->items, labels);
}

void agent_window_mark_dsos(const struct agent_window *window, bool *used)
{
	agent_items_mark_dsos(&window->items, used);
}

size_t agent_window_nr_addresses(const struct agent_window *window)
{
	return window->items.addresses.nr;
}

size_t agent_window_nr_stacks(const struct agent_window *window)
{
	return window->items.stacks.nr;
}

size_t agent_window_nr_labels(const struct agent_window *window)
{
	return window->items.labels.nr;
}

void agent_window_get_stats(const struct agent_window *window, struct agent_window_stats *stats)
{
	*stats = window->stats;
	stats->bytes = used_bytes(window);
	stats->allocated = bytes_of_rows(window) + agent_items_allocated(&window->items);
	stats->stacks = window->items.stacks.used;
	stats->addresses = window->items.addresses.used;
	stats->slices = window->nr;
}

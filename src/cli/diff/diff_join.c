/* SPDX-License-Identifier: MIT */
/* Rows of several files that have the same texts are one row. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "diff.h"

struct wanted {
	const struct diff_event *event;
	const char *texts;
	size_t length;
};

static bool same_texts(const void *items, uint32_t index, const void *key)
{
	const struct diff_row *row = &((const struct diff_row *)items)[index];
	const struct wanted *wanted = key;

	return row->length == wanted->length &&
	       !memcmp(wanted->event->text + row->text, wanted->texts, row->length);
}

static int add_row(const struct diff *diff, struct diff_event *event, uint64_t hash,
		   const struct wanted *wanted)
{
	size_t row = event->nr_rows;

	if (PERCH__ARRAY_RESERVE(event->row, event->row_capacity, row + 1) ||
	    PERCH__ARRAY_RESERVE(event->sum, event->sum_capacity, (row + 1) * diff->nr_files) ||
	    PERCH__ARRAY_RESERVE(event->text, event->text_capacity,
				 event->text_size + wanted->length) ||
	    perch__hash_add(&event->by_text, hash, row))
		return -ENOMEM;
	event->row[row] = (struct diff_row){ event->text_size, wanted->length };
	memcpy(event->text + event->text_size, wanted->texts, wanted->length);
	event->text_size += wanted->length;
	memset(&event->sum[row * diff->nr_files], 0, diff->nr_files * sizeof(*event->sum));
	event->nr_rows++;
	return 0;
}

int64_t diff_join(const struct diff *diff, struct diff_event *event, size_t file, const char *texts,
		  size_t length, const struct diff_sum *sum)
{
	const struct wanted wanted = { event, texts, length };
	uint64_t hash = perch__hash_bytes(event->by_text.seed, texts, length);
	size_t row = perch__hash_find(&event->by_text, hash, same_texts, event->row, &wanted);
	struct diff_sum *joined;

	if (row == PERCH__HASH_NONE) {
		row = event->nr_rows;
		if (add_row(diff, event, hash, &wanted))
			return -ENOMEM;
	}
	joined = &event->sum[row * diff->nr_files + file];
	joined->period += sum->period;
	joined->samples += sum->samples;
	return (int64_t)row;
}

static void free_rows(struct diff_event *event)
{
	free(event->row);
	free(event->sum);
	free(event->text);
	perch__hash_clear(&event->by_text);
}

void diff_free(struct diff *diff)
{
	for (size_t i = 0; i < diff->nr_events; i++) {
		struct diff_event *event = &diff->event[i];

		free(event->name);
		free_rows(event);
		if (event->branches)
			free_rows(event->branches);
		free(event->branches);
	}
	free(diff->event);
	for (size_t i = 0; i < diff->nr_files; i++)
		for (size_t k = 0; k < CLI_NR(diff->file[i].texts); k++)
			free(diff->file[i].texts[k]);
}

/* SPDX-License-Identifier: MIT */
/* The Firefox Profiler's format: the counts of groups that their leader samples, by process. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "firefox.h"

/* A count of an event. */
struct counter_value {
	uint32_t main, event; /* position of the first thread of the process; index */
	uint32_t occurrence;  /* index */
};

static bool is_counter(const struct firefox *firefox, uint32_t event)
{
	const struct perch_attr *attr = &firefox->event[event].attr;

	return event != firefox->export->main_event && attr->type != PERCH_TYPE_TRACEPOINT &&
	       attr->sample_type & PERCH_SAMPLE_READ;
}

static int compare_counts(const void *left, const void *right)
{
	const struct counter_value *a = left, *b = right;

	if (a->main != b->main)
		return a->main < b->main ? -1 : 1;
	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	return a->occurrence < b->occurrence ? -1 : 1;
}

/* Writes the counts of an event in a process. */
static void put_counter(struct firefox *firefox, const struct counter_value *count, size_t nr)
{
	const struct perch_export *export = firefox->export;
	struct json_file *file = &firefox->file;
	char pid[16];

	snprintf(pid, sizeof(pid), "%" PRIu32, export->thread[firefox->sorted[count->main]].pid);
	perch__json_put_object(&file->json, NULL);
	perch__json_put_text(&file->json, "name", perch__export_event_name(export, count->event));
	perch__json_put_text(&file->json, "category", "event");
	perch__json_put_text(&file->json, "description", "counts between the samples of the group");
	perch__json_put_text(&file->json, "pid", pid);
	perch__json_put_integer(&file->json, "mainThreadIndex", count->main);
	perch__json_put_object(&file->json, "samples");
	perch__json_put_array(&file->json, "time");
	for (size_t i = 0; i < nr; i++)
		perch__firefox_put_time(firefox, NULL,
					export->occurrence[count[i].occurrence].time);
	perch__json_end(&file->json);
	perch__json_put_array(&file->json, "count");
	for (size_t i = 0; i < nr; i++)
		perch__json_put_integer(&file->json, NULL,
					export->occurrence[count[i].occurrence].period);
	perch__json_end(&file->json);
	perch__json_put_integer(&file->json, "length", nr);
	perch__json_end(&file->json);
	perch__json_end(&file->json);
}

/* Fills counts, sorted by process, event and time. Returns their number. */
static size_t sort_counts(const struct firefox *firefox, struct counter_value *count)
{
	const struct perch_export *export = firefox->export;
	size_t nr = 0;

	for (uint32_t i = 0; i < export->nr_occurrences; i++) {
		const struct export_entry *entry = &export->entry[export->occurrence[i].entry];

		if (!is_counter(firefox, entry->event))
			continue;
		count[nr].main = firefox->main[firefox->position[entry->thread]];
		count[nr].event = entry->event;
		count[nr++].occurrence = i;
	}
	if (nr)
		qsort(count, nr, sizeof(*count), compare_counts);
	return nr;
}

int perch__firefox_put_counters(struct firefox *firefox)
{
	struct json_file *file = &firefox->file;
	struct counter_value *count = calloc(firefox->export->nr_occurrences + 1, sizeof(*count));
	size_t nr = count ? sort_counts(firefox, count) : 0;

	if (!count)
		return -ENOMEM;
	perch__json_put_array(&file->json, "counters");
	for (size_t first = 0, next; first < nr; first = next) {
		next = first + 1;
		while (next < nr && count[next].main == count[first].main &&
		       count[next].event == count[first].event)
			next++;
		put_counter(firefox, count + first, next - first);
	}
	perch__json_end(&file->json);
	free(count);
	return 0;
}

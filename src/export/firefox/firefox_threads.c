/* SPDX-License-Identifier: MIT */
/* The Firefox Profiler's format: threads with their samples and markers, and counters. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "firefox.h"

enum phase { PHASE_MOMENT, PHASE_INTERVAL, PHASE_START };

/* ---- order ---- */

/* Sorts by process, the main thread first. A thread that changed its name precedes its old name:
 * the first one is that of the process. */
static int compare_threads(const void *left, const void *right, void *context)
{
	const struct thread_name *thread = context;
	uint32_t i = *(const uint32_t *)left, j = *(const uint32_t *)right;
	const struct thread_name *a = &thread[i], *b = &thread[j];

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if ((a->pid == a->tid) != (b->pid == b->tid))
		return a->pid == a->tid ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return i > j ? -1 : 1;
}

int perch__firefox_sort_threads(struct firefox *firefox)
{
	const struct perch_export *export = firefox->export;
	size_t nr = export->nr_threads;

	firefox->sorted = calloc(nr + 1, sizeof(*firefox->sorted));
	firefox->main = calloc(nr + 1, sizeof(*firefox->main));
	firefox->position = calloc(nr + 1, sizeof(*firefox->position));
	if (!firefox->sorted || !firefox->main || !firefox->position)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++)
		firefox->sorted[i] = i;
	qsort_r(firefox->sorted, nr, sizeof(*firefox->sorted), compare_threads, export->thread);
	for (uint32_t i = 0; i < nr; i++) {
		const struct thread_name *thread = &export->thread[firefox->sorted[i]];
		bool same = i && export->thread[firefox->sorted[i - 1]].pid == thread->pid;

		firefox->position[firefox->sorted[i]] = i;
		firefox->main[i] = same ? firefox->main[i - 1] : i;
	}
	return 0;
}

/* ---- samples ---- */

void perch__firefox_put_time(struct firefox *firefox, const char *name, uint64_t time)
{
	perch__json_put_ms(&firefox->file, name, time > firefox->start ? time - firefox->start : 0);
}

/* Returns the samples of a thread for the table of samples: those of the main event. */
static const struct track *track_of(const struct firefox *firefox, uint32_t thread)
{
	const struct export_tracks *tracks = &firefox->tracks;
	size_t low = 0, high = tracks->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct track *track = &tracks->track[middle];
		uint32_t event = firefox->export->main_event;

		if (track->thread == thread && track->event == event)
			return track;
		if (track->thread < thread || (track->thread == thread && track->event < event))
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Writes the columns of samples. A clock's periods are times; other events count samples, because
 * the format has no weights in their unit. */
static void put_samples(struct firefox *firefox, uint32_t thread)
{
	static const struct track none;
	const struct perch_export *export = firefox->export;
	const struct track *track = track_of(firefox, thread);
	struct json_file *file = &firefox->file;
	bool clock =
		export->main_event != NO_INDEX &&
		!strcmp(perch__export_unit(&firefox->event[export->main_event]), "nanoseconds");
	const uint32_t *order;

	track = track ? track : &none;
	order = firefox->tracks.order + track->first;
	perch__json_put_object(&file->json, "samples");
	perch__json_put_array(&file->json, "stack");
	for (size_t i = 0; i < track->nr; i++) {
		uint32_t leaf = firefox->tree.leaf[export->occurrence[order[i]].entry];

		if (leaf == NO_INDEX)
			perch__json_put_null(&file->json, NULL);
		else
			perch__json_put_integer(&file->json, NULL, leaf);
	}
	perch__json_end(&file->json);
	perch__json_put_array(&file->json, "time");
	for (size_t i = 0; i < track->nr; i++)
		perch__firefox_put_time(firefox, NULL, export->occurrence[order[i]].time);
	perch__json_end(&file->json);
	if (clock) {
		perch__json_put_array(&file->json, "weight");
		for (size_t i = 0; i < track->nr; i++)
			perch__json_put_ms(file, NULL, export->occurrence[order[i]].period);
		perch__json_end(&file->json);
	} else {
		perch__json_put_null(&file->json, "weight");
	}
	perch__json_put_text(&file->json, "weightType", clock ? "tracing-ms" : "samples");
	perch__json_put_integer(&file->json, "length", track->nr);
	perch__json_end(&file->json);
}

/* ---- markers ---- */

/* The call chain of a marker is inserted behind the opening brace of its data. */
static void put_data(struct firefox *firefox, const struct marker *marker)
{
	const char *text = firefox->export->markers.text + marker->first;
	struct json_file *file = &firefox->file;
	const struct occurrence *sample = firefox->export->occurrence;
	uint32_t leaf = marker->occurrence == NO_INDEX
				? NO_INDEX
				: firefox->tree.leaf[sample[marker->occurrence].entry];

	perch__json_key(&file->json, NULL);
	if (leaf == NO_INDEX) {
		perch__output_bytes(&file->out, text, marker->nr);
		return;
	}
	perch__output_text(&file->out, "{\"cause\":{\"stack\":");
	perch__output_number(&file->out, leaf);
	perch__output_text(&file->out, "},");
	perch__output_bytes(&file->out, text + 1, marker->nr - 1);
}

static enum phase phase_of(const struct marker *marker)
{
	if (marker->end == UINT64_MAX)
		return PHASE_START;
	return marker->end > marker->start ? PHASE_INTERVAL : PHASE_MOMENT;
}

static void put_marker_value(struct firefox *firefox, const struct marker *marker, size_t column)
{
	struct json_file *file = &firefox->file;
	enum phase phase = phase_of(marker);

	switch (column) {
	case 0:
		put_data(firefox, marker);
		break;
	case 1:
		perch__json_put_integer(&file->json, NULL, firefox->marker_name[marker->kind]);
		break;
	case 2:
		perch__firefox_put_time(firefox, NULL, marker->start);
		break;
	case 3:
		if (phase == PHASE_INTERVAL)
			perch__firefox_put_time(firefox, NULL, marker->end);
		else
			perch__json_put_null(&file->json, NULL);
		break;
	case 4:
		perch__json_put_integer(&file->json, NULL, phase);
		break;
	default:
		perch__json_put_integer(&file->json, NULL, CATEGORY_OTHER);
	}
}

/* order: indexes of the markers of the thread. */
static void put_markers(struct firefox *firefox, const uint32_t *order, size_t nr)
{
	static const char *const columns[] = { "data",	  "name",  "startTime",
					       "endTime", "phase", "category" };
	struct json_file *file = &firefox->file;

	perch__json_put_object(&file->json, "markers");
	for (size_t column = 0; column < sizeof(columns) / sizeof(columns[0]); column++) {
		perch__json_put_array(&file->json, columns[column]);
		for (size_t i = 0; i < nr; i++)
			put_marker_value(firefox, &firefox->export->markers.marker[order[i]],
					 column);
		perch__json_end(&file->json);
	}
	perch__json_put_integer(&file->json, "length", nr);
	perch__json_end(&file->json);
}

/* ---- threads ---- */

/* Ids are texts, because a thread with two names has two rows: "12" and "12.1". */
static void put_ids(struct firefox *firefox, uint32_t position)
{
	const struct perch_export *export = firefox->export;
	const struct thread_name *thread = &export->thread[firefox->sorted[position]];
	struct json_file *file = &firefox->file;
	uint32_t before = 0;
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu32, thread->pid);
	perch__json_put_text(&file->json, "pid", text);
	while (before < position &&
	       export->thread[firefox->sorted[position - 1 - before]].tid == thread->tid &&
	       export->thread[firefox->sorted[position - 1 - before]].pid == thread->pid)
		before++;
	snprintf(text, sizeof(text), before ? "%" PRIu32 ".%" PRIu32 : "%" PRIu32, thread->tid,
		 before);
	perch__json_put_text(&file->json, "tid", text);
}

static void put_thread(struct firefox *firefox, uint32_t position, const uint32_t *markers,
		       size_t nr_markers)
{
	const struct perch_export *export = firefox->export;
	const struct thread_name *thread = &export->thread[firefox->sorted[position]];
	const struct thread_name *main = &export->thread[firefox->sorted[firefox->main[position]]];
	struct json_file *file = &firefox->file;

	perch__json_put_object(&file->json, NULL);
	perch__json_put_text(&file->json, "processType", "default");
	perch__json_put_text(&file->json, "processName", main->comm);
	perch__json_put_integer(&file->json, "processStartupTime", 0);
	perch__json_put_null(&file->json, "processShutdownTime");
	perch__json_put_integer(&file->json, "registerTime", 0);
	perch__json_put_null(&file->json, "unregisterTime");
	perch__json_put_array(&file->json, "pausedRanges");
	perch__json_end(&file->json);
	perch__json_put_text(&file->json, "name", thread->comm);
	perch__json_put_flag(&file->json, "isMainThread", firefox->main[position] == position);
	put_ids(firefox, position);
	put_samples(firefox, firefox->sorted[position]);
	put_markers(firefox, markers, nr_markers);
	perch__json_end(&file->json);
}

/* Sorts the indexes of all markers by thread, without a change of their order. first has a number
 * for each thread and one more. */
static uint32_t *sort_markers(const struct perch_export *export, size_t *first)
{
	const struct markers *markers = &export->markers;
	uint32_t *order = calloc(markers->nr + 1, sizeof(*order));

	if (!order)
		return NULL;
	for (size_t i = 0; i < markers->nr; i++)
		first[markers->marker[i].thread + 1]++;
	for (size_t i = 0; i < export->nr_threads; i++)
		first[i + 1] += first[i];
	for (size_t i = 0; i < markers->nr; i++)
		order[first[markers->marker[i].thread]++] = (uint32_t)i;
	/* each first is now that of the next thread */
	memmove(first + 1, first, export->nr_threads * sizeof(*first));
	first[0] = 0;
	return order;
}

int perch__firefox_put_threads(struct firefox *firefox)
{
	const struct perch_export *export = firefox->export;
	size_t *first = calloc(export->nr_threads + 2, sizeof(*first));
	uint32_t *order = first ? sort_markers(export, first) : NULL;
	struct json_file *file = &firefox->file;

	if (order) {
		perch__json_put_array(&file->json, "threads");
		for (uint32_t i = 0; i < export->nr_threads; i++) {
			uint32_t thread = firefox->sorted[i];

			put_thread(firefox, i, order + first[thread],
				   first[thread + 1] - first[thread]);
		}
		perch__json_end(&file->json);
	}
	free(first);
	free(order);
	return order ? 0 : -ENOMEM;
}

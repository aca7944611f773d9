/* SPDX-License-Identifier: MIT */
/* Single samples by thread and event. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "internal.h"

static int compare_entries(const void *left, const void *right, void *context)
{
	const struct export_entry *entry = context;
	const struct export_entry *a = &entry[*(const uint32_t *)left];
	const struct export_entry *b = &entry[*(const uint32_t *)right];

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->event > b->event) - (a->event < b->event);
}

/* Makes a track for each thread and event. sorted has space for the indexes of all entries,
 * track_of for the track of each. */
static void make_tracks(const struct perch_export *export, struct export_tracks *tracks,
			uint32_t *sorted, uint32_t *track_of)
{
	for (uint32_t i = 0; i < export->nr_entries; i++)
		sorted[i] = i;
	qsort_r(sorted, export->nr_entries, sizeof(*sorted), compare_entries, export->entry);
	for (size_t i = 0; i < export->nr_entries; i++) {
		const struct export_entry *entry = &export->entry[sorted[i]];

		if (!i || compare_entries(&sorted[i - 1], &sorted[i], export->entry))
			tracks->track[tracks->nr++] =
				(struct track){ .thread = entry->thread, .event = entry->event };
		track_of[sorted[i]] = (uint32_t)(tracks->nr - 1);
	}
}

/* Distributes the occurrences to their tracks, without a change of their order. */
static void fill_tracks(const struct perch_export *export, struct export_tracks *tracks,
			const uint32_t *track_of)
{
	size_t first = 0;

	for (size_t i = 0; i < export->nr_occurrences; i++)
		tracks->track[track_of[export->occurrence[i].entry]].nr++;
	for (size_t i = 0; i < tracks->nr; i++) {
		tracks->track[i].first = first;
		first += tracks->track[i].nr;
		tracks->track[i].nr = 0;
	}
	for (size_t i = 0; i < export->nr_occurrences; i++) {
		struct track *track = &tracks->track[track_of[export->occurrence[i].entry]];

		tracks->order[track->first + track->nr++] = (uint32_t)i;
	}
}

int perch__export_tracks(const struct perch_export *export, struct export_tracks *tracks)
{
	uint32_t *sorted = calloc(2 * export->nr_entries + 1, sizeof(*sorted));
	int rc = -ENOMEM;

	*tracks = (struct export_tracks){
		.track = calloc(export->nr_entries + 1, sizeof(*tracks->track)),
		.order = calloc(export->nr_occurrences + 1, sizeof(*tracks->order)),
	};
	if (sorted && tracks->track && tracks->order) {
		if (export->nr_entries) {
			make_tracks(export, tracks, sorted, sorted + export->nr_entries);
			fill_tracks(export, tracks, sorted + export->nr_entries);
		}
		rc = 0;
	}
	free(sorted);
	return rc;
}

void perch__export_tracks_clear(struct export_tracks *tracks)
{
	free(tracks->track);
	free(tracks->order);
}

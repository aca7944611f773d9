/* SPDX-License-Identifier: MIT */
/*
 * The format of speedscope (https://www.speedscope.app/file-format-schema.json): a sampled profile
 * for each thread and event, with the samples in the order of time.
 *
 * A frame is a function. The line in the format is that of the function, which samples do not have,
 * so frames have a file and no line.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <perch/version.h>

#include "internal.h"

static void put_frames(struct json_file *file, const struct export_tree *tree)
{
	struct perch__json_writer *json = &file->json;

	perch__json_put_object(json, "shared");
	perch__json_put_array(json, "frames");
	for (size_t i = 0; i < tree->nr_frames; i++) {
		const struct export_function *function = &tree->function[tree->frame[i].function];

		perch__json_put_object(json, NULL);
		perch__json_put_text(&file->json, "name",
				     perch__export_text(&tree->texts, function->name));
		if (function->file != NO_INDEX)
			perch__json_put_text(&file->json, "file",
					     perch__export_text(&tree->texts, function->file));
		perch__json_end(json);
	}
	perch__json_end(json);
	perch__json_end(json);
}

/* Writes the frames of a stack, the outermost one first. path has space for the deepest stack. */
static void put_stack(struct json_file *file, const struct export_tree *tree, uint32_t node,
		      uint32_t *path)
{
	size_t nr = 0;

	for (; node != NO_INDEX; node = tree->node[node].parent)
		path[nr++] = tree->node[node].frame;
	perch__json_put_array(&file->json, NULL);
	while (nr)
		perch__json_put_integer(&file->json, NULL, path[--nr]);
	perch__json_end(&file->json);
}

static void put_name(struct json_file *file, const struct perch_export *export,
		     const struct track *track)
{
	const struct thread_name *thread = &export->thread[track->thread];
	char clean[256], text[PERCH__EXPORT_NAME + 512];

	perch_clean_text(perch__export_event_name(export, track->event), clean, sizeof(clean));
	snprintf(text, sizeof(text), "%s %" PRIu32 "/%" PRIu32 " %s", thread->comm, thread->pid,
		 thread->tid, clean);
	perch__json_put_text(&file->json, "name", text);
}

/* Writes the samples of a thread and event. */
static void put_track(struct json_file *file, const struct perch_export *export,
		      const struct export_tree *tree, const struct track *track,
		      const uint32_t *order, const struct perch_file_event *event, uint32_t *path)
{
	struct perch__json_writer *json = &file->json;
	bool ns = !strcmp(perch__export_unit(event), "nanoseconds");
	uint64_t total = 0;

	perch__json_put_object(json, NULL);
	perch__json_put_text(&file->json, "type", "sampled");
	put_name(file, export, track);
	perch__json_put_text(&file->json, "unit", ns ? "nanoseconds" : "none");
	perch__json_put_array(json, "samples");
	for (size_t i = 0; i < track->nr; i++)
		put_stack(file, tree, tree->leaf[export->occurrence[order[i]].entry], path);
	perch__json_end(json);
	perch__json_put_array(json, "weights");
	for (size_t i = 0; i < track->nr; i++) {
		perch__json_put_integer(&file->json, NULL, export->occurrence[order[i]].period);
		total += export->occurrence[order[i]].period;
	}
	perch__json_end(json);
	perch__json_put_integer(&file->json, "startValue", 0);
	perch__json_put_integer(&file->json, "endValue", total);
	perch__json_end(json);
}

static int put_file(struct json_file *file, struct perch_export *export,
		    const struct export_tree *tree, const struct export_tracks *tracks)
{
	uint32_t *path = calloc(tree->nr_nodes + 1, sizeof(*path));
	const struct perch_file_event *event;

	if (!path)
		return -ENOMEM;
	perch_reader_events(perch_session_reader(export->session), &event);
	perch__json_begin_object(&file->json);
	perch__json_put_text(&file->json, "$schema",
			     "https://www.speedscope.app/file-format-schema.json");
	perch__json_put_text(&file->json, "exporter", "perch " PERCH_VERSION_STRING);
	put_frames(file, tree);
	perch__json_put_array(&file->json, "profiles");
	for (size_t i = 0; i < tracks->nr; i++) {
		const struct track *track = &tracks->track[i];

		put_track(file, export, tree, track, tracks->order + track->first,
			  &event[track->event], path);
	}
	perch__json_end(&file->json);
	perch__json_end(&file->json);
	free(path);
	return 0;
}

int perch__export_speedscope(struct perch_export *export, FILE *out, struct perch_error *err)
{
	struct export_tracks tracks = { 0 };
	struct export_tree tree = { 0 };
	struct json_file file;
	int rc = perch__json_file_open(&file, out);

	if (!rc)
		rc = perch__export_tree(export, EXPORT_MERGE_LINES, &tree);
	if (!rc)
		rc = perch__export_tracks(export, &tracks);
	if (!rc)
		rc = put_file(&file, export, &tree, &tracks);
	perch__export_tracks_clear(&tracks);
	perch__export_tree_clear(&tree);
	return perch__json_file_close(&file, rc, err);
}

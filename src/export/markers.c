/* SPDX-License-Identifier: MIT */
/*
 * Markers: what happened in a thread at a time. Their data are JSON objects, which are made when
 * the record is read, because its fields are not kept.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "internal.h"

static int open_text(struct markers *markers)
{
	if (markers->stream)
		return 0;
	markers->stream = open_memstream(&markers->text, &markers->size);
	return markers->stream ? perch__json_file_open(&markers->file, markers->stream) : -ENOMEM;
}

/* Adds a marker and begins its data. The caller adds members and calls end_marker(). Returns NULL
 * if out of memory. */
static struct json_file *begin_marker(struct perch_export *export, const struct marker *marker,
				      const char *type)
{
	struct markers *markers = &export->markers;
	struct json_file *file = &markers->file;

	if (open_text(markers) || PERCH__ARRAY_RESERVE_BY_NR(markers->marker, markers->nr, 1))
		return NULL;
	markers->marker[markers->nr] = *marker;
	markers->marker[markers->nr].first = (size_t)ftello(markers->stream);
	perch__json_begin_object(&file->json);
	perch__json_put_text(&file->json, "type", type);
	return file;
}

/* Returns 0 or -ENOMEM: a stream in memory has no other failure. */
static int end_marker(struct markers *markers)
{
	struct marker *marker = &markers->marker[markers->nr];

	perch__json_end(&markers->file.json);
	perch__output_flush(&markers->file.out);
	if (markers->file.out.error)
		return -ENOMEM;
	marker->nr = (size_t)ftello(markers->stream) - marker->first;
	markers->nr++;
	return 0;
}

/* ---- records ---- */

/* Finds the thread of a record. Returns 1, 0 if it has none, or -ENOMEM. */
static int thread_of(struct perch_export *export, uint32_t pid, uint32_t tid, uint32_t *thread)
{
	struct perch_processes *processes = perch_session_processes(export->session);
	const struct perch_thread *found;

	if (tid == UINT32_MAX)
		return 0;
	found = perch_processes_thread(processes, pid, tid);
	return found && !perch__export_thread(export, found, NULL, thread) ? 1 : -ENOMEM;
}

static struct off_cpu *off_cpu_of(struct markers *markers, uint32_t thread)
{
	size_t old = markers->nr_threads;

	if (thread < old)
		return &markers->off_cpu[thread];
	if (PERCH__ARRAY_RESERVE_BY_NR(markers->off_cpu, markers->nr_threads, thread + 1 - old))
		return NULL;
	memset(markers->off_cpu + old, 0, (thread + 1 - old) * sizeof(*markers->off_cpu));
	markers->nr_threads = thread + 1;
	return &markers->off_cpu[thread];
}

static int add_off_cpu(struct perch_export *export, uint32_t thread, struct off_cpu *off,
		       uint64_t end)
{
	const struct marker marker = {
		.start = off->since,
		.end = end,
		.thread = thread,
		.kind = MARKER_OFF_CPU,
		.occurrence = NO_INDEX,
	};
	struct json_file *file = begin_marker(export, &marker, "off-cpu");

	off->since = 0;
	if (!file)
		return -ENOMEM;
	perch__json_put_text(&file->json, "reason", off->preempted ? "preempted" : "waiting");
	return end_marker(&export->markers);
}

/* A thread that leaves its CPU and comes back makes one marker. */
static int add_switch(struct perch_export *export, const struct perch_record *record)
{
	const struct perch_switch_record *values = &record->context_switch;
	uint64_t time = record->sample_id.time;
	struct off_cpu *off;
	uint32_t thread;
	int rc;

	if (!record->sample_id.tid) /* the idle tasks of all CPUs have the id 0 */
		return 0;
	rc = thread_of(export, record->sample_id.pid, record->sample_id.tid, &thread);
	if (rc <= 0)
		return rc;
	off = off_cpu_of(&export->markers, thread);
	if (!off)
		return -ENOMEM;
	if (values->out)
		*off = (struct off_cpu){ time, values->preempt };
	else if (off->since && off->since <= time)
		return add_off_cpu(export, thread, off, time);
	return 0;
}

static int add_mapping(struct perch_export *export, const struct perch_record *record)
{
	struct marker marker = {
		.start = record->sample_id.time,
		.end = record->sample_id.time,
		.kind = MARKER_MAPPING,
		.occurrence = NO_INDEX,
	};
	struct json_file *file;
	char text[512];
	int rc = thread_of(export, record->mmap.pid, record->mmap.tid, &marker.thread);

	if (rc <= 0)
		return rc;
	file = begin_marker(export, &marker, "mmap");
	if (!file)
		return -ENOMEM;
	perch_clean_text(record->mmap.filename.text, text, sizeof(text));
	perch__json_put_text(&file->json, "file", text);
	snprintf(text, sizeof(text), "%#llx", (unsigned long long)record->mmap.start);
	perch__json_put_text(&file->json, "address", text);
	perch__json_put_integer(&file->json, "bytes", record->mmap.length);
	return end_marker(&export->markers);
}

/* A LOST record is of the thread that was running when the buffer had space again. */
static int add_lost(struct perch_export *export, const struct perch_record *record)
{
	struct marker marker = {
		.start = record->sample_id.time,
		.end = record->sample_id.time,
		.kind = MARKER_LOST,
		.occurrence = NO_INDEX,
	};
	struct json_file *file;
	int rc = thread_of(export, record->sample_id.pid, record->sample_id.tid, &marker.thread);

	if (rc <= 0)
		return rc;
	file = begin_marker(export, &marker, "lost");
	if (!file)
		return -ENOMEM;
	perch__json_put_integer(&file->json, "records", record->lost.lost);
	return end_marker(&export->markers);
}

int perch__markers_add_record(struct perch_export *export, const struct perch_record *record)
{
	const uint64_t needed = PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME;

	/* records that the recorder made of running processes have the time 0 */
	if ((record->sample_id.has & needed) != needed || !record->sample_id.time)
		return 0;
	switch (record->type) {
	case PERCH_RECORD_SWITCH:
	case PERCH_RECORD_SWITCH_CPU_WIDE:
		return add_switch(export, record);
	case PERCH_RECORD_MMAP:
	case PERCH_RECORD_MMAP2:
		return add_mapping(export, record);
	case PERCH_RECORD_LOST:
	case PERCH_RECORD_LOST_SAMPLES:
		return add_lost(export, record);
	default:
		return 0;
	}
}

/* ---- samples ---- */

int perch__markers_add_sample(struct perch_export *export,
			      const struct perch_session_sample *sample, uint32_t thread)
{
	const struct perch_record *record = sample->record;
	const struct perch_tracepoint_format *format;
	const struct marker marker = {
		.start = record->sample.time,
		.end = record->sample.time,
		.thread = thread,
		.kind = MARKER_EVENT + record->event,
		.occurrence = (uint32_t)(export->nr_occurrences - 1),
	};
	struct json_file *file;
	char type[32];

	snprintf(type, sizeof(type), "event-%u", record->event);
	file = begin_marker(export, &marker, type);
	if (!file)
		return -ENOMEM;
	if (!perch_session_format(export->session, sample->event, &format, NULL))
		perch_tracepoint_visit(format, record, perch__json_trace_field, &file->json);
	return end_marker(&export->markers);
}

/* True for the samples of an event that the format cannot have beside the main one. Counts of
 * groups become counters. */
static bool is_other(const struct perch_export *export, const struct perch_file_event *event,
		     uint32_t index)
{
	return index != export->main_event && event[index].attr.type != PERCH_TYPE_TRACEPOINT &&
	       !(event[index].attr.sample_type & PERCH_SAMPLE_READ);
}

/* Adds the samples of other events. Which they are is known after the last sample. */
static int add_others(struct perch_export *export)
{
	const struct perch_file_event *event;

	perch_reader_events(perch_session_reader(export->session), &event);
	for (uint32_t i = 0; i < export->nr_occurrences; i++) {
		const struct occurrence *occurrence = &export->occurrence[i];
		const struct export_entry *entry = &export->entry[occurrence->entry];
		const struct marker marker = {
			.start = occurrence->time,
			.end = occurrence->time,
			.thread = entry->thread,
			.kind = MARKER_EVENT + entry->event,
			.occurrence = i,
		};
		struct json_file *file;
		char type[32];

		if (!is_other(export, event, entry->event))
			continue;
		snprintf(type, sizeof(type), "event-%u", entry->event);
		file = begin_marker(export, &marker, type);
		if (!file)
			return -ENOMEM;
		perch__json_put_integer(&file->json, "period", occurrence->period);
		if (end_marker(&export->markers))
			return -ENOMEM;
		export->stats.other++;
	}
	return 0;
}

int perch__markers_end(struct perch_export *export)
{
	struct markers *markers = &export->markers;
	int rc = add_others(export);

	for (uint32_t i = 0; i < markers->nr_threads && !rc; i++)
		if (markers->off_cpu[i].since)
			rc = add_off_cpu(export, i, &markers->off_cpu[i], UINT64_MAX);
	if (!rc && markers->stream && fflush(markers->stream))
		rc = -ENOMEM;
	return rc;
}

void perch__markers_clear(struct markers *markers)
{
	if (markers->stream) {
		perch__output_close(&markers->file.out);
		fclose(markers->stream);
		free(markers->text);
	}
	free(markers->marker);
	free(markers->off_cpu);
}

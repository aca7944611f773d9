/* SPDX-License-Identifier: MIT */
/*
 * Reads a recording with two threads: the program reads records and puts them in order, and a
 * thread makes the timeline of them and prints it. Of a sample it gets what a timeline uses, of
 * another record its bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/batch_thread.h"
#include "base/memory.h"
#include "sched.h"

enum { BATCH_BYTES = 256 << 10, BATCHES = 8 };

struct item {
	const struct perch_parse_info *parse_info;
	uint64_t has, time;
	uint32_t pid, tid, cpu, type;
	uint32_t size; /* of the bytes that follow, without padding */
	uint32_t event;
};

struct batch {
	size_t used;
	uint64_t bytes[BATCH_BYTES / sizeof(uint64_t)];
};

struct queue {
	struct sched_reading *reading;
	struct batch *batch;
	struct perch__batch_thread *thread;
	int rc; /* the first error of the timeline: nothing is taken after it */
};

static void note_times(struct sched_reading *reading)
{
	const struct perch_sample_id *at = &reading->record.sample_id;

	if (reading->record.type != PERCH_RECORD_SAMPLE)
		return;
	if (reading->max_cpu < at->cpu && at->cpu < 4096)
		reading->max_cpu = at->cpu;
	if (!reading->first)
		reading->first = at->time;
	reading->last = at->time;
}

int sched_take(struct sched_reading *reading)
{
	int rc;

	reading->wanted = -1;
	note_times(reading);
	rc = perch_timeline_feed(reading->timeline, &reading->record, &reading->err);
	if (rc)
		return rc;
	if (reading->take_record)
		reading->take_record(reading->options.context, &reading->record);
	return reading->out.error ? SCHED_ENDED : 0;
}

/* ---- the thread ---- */

/* Sets the members of a sample that are used, which are the same for all samples. */
static void set_sample(struct perch_record *record, const struct item *item)
{
	record->type = item->type;
	record->event = (uint16_t)item->event;
	record->parse_info = item->parse_info;
	record->sample_id.has = item->has;
	record->sample_id.time = record->sample.time = item->time;
	record->sample_id.pid = record->sample.pid = item->pid;
	record->sample_id.tid = record->sample.tid = item->tid;
	record->sample_id.cpu = record->sample.cpu = item->cpu;
	record->sample.raw.size = item->size;
	record->sample.raw.data = item + 1;
}

static int take_item(struct sched_reading *reading, const struct item *item)
{
	struct perch_record *record = &reading->record;

	if (item->type == PERCH_RECORD_SAMPLE) {
		if (record->type != PERCH_RECORD_SAMPLE)
			memset(record, 0, sizeof(*record));
		set_sample(record, item);
	} else if (perch_record_decode(record, item->parse_info, item + 1, item->size, NULL) < 0) {
		return 0;
	} else {
		record->event = (uint16_t)item->event;
	}
	return sched_take(reading);
}

static int take_batch(void *context, void *taken)
{
	struct queue *queue = context;
	struct batch *batch = taken;
	const char *at = (const char *)batch->bytes, *end = at + batch->used;

	while (at < end && !queue->rc) {
		const struct item *item = (const void *)at;

		queue->rc = take_item(queue->reading, item);
		at += sizeof(*item) + (item->size + 7u) / 8 * 8;
	}
	batch->used = 0;
	return queue->rc;
}

/* ---- the program ---- */

/* Filters and call chains need what only the program has. */
bool sched_queue_is_useful(const struct sched_reading *reading)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(reading->input.session), &events);

	for (size_t i = 0; i < nr; i++)
		if (events[i].attr.sample_type & PERCH_SAMPLE_CALLCHAIN)
			return false;
	return reading->takes_all && perch__usable_cpus() > 1;
}

/* Passes the batch, or takes it here if there is no thread. */
static int pass(struct queue *queue)
{
	const struct perch__batch_job job = { .run = take_batch,
					      .context = queue,
					      .batch_size = sizeof(struct batch),
					      .nr_batches = BATCHES,
					      .writes = true };

	if (!queue->thread)
		queue->thread = perch__batch_thread_new(&job);
	return queue->thread ? perch__batch_thread_pass(queue->thread, (void **)&queue->batch)
			     : take_batch(queue, queue->batch);
}

static int add_item(struct queue *queue, const struct perch_record *record)
{
	const struct perch_sample_id *id = &record->sample_id;
	bool sample = record->type == PERCH_RECORD_SAMPLE;
	const void *data = sample ? record->sample.raw.data : record->bytes;
	size_t size = sample ? record->sample.raw.size : record->size;
	struct item *item;
	int rc;

	if (queue->batch->used + sizeof(*item) + size + 8 > BATCH_BYTES) {
		rc = pass(queue);
		if (rc)
			return rc;
	}
	item = (void *)((char *)queue->batch->bytes + queue->batch->used);
	*item = (struct item){ .parse_info = record->parse_info,
			       .has = id->has,
			       .time = id->time,
			       .pid = id->pid,
			       .tid = id->tid,
			       .cpu = id->cpu,
			       .type = record->type,
			       .size = (uint32_t)size,
			       .event = record->event };
	if (size)
		memcpy(item + 1, data, size);
	queue->batch->used += sizeof(*item) + (size + 7) / 8 * 8;
	return 0;
}

/* Reads all. Returns as sched_take(), or SCHED_FAILED. */
static int read_all(struct queue *queue)
{
	struct perch_record record;
	int rc, failed;

	while ((rc = cli_input_next(&queue->reading->input, &record)) > 0) {
		/* of the file, not of the kernel */
		if (record.type >= PERCH_RECORD_HEADER_ATTR)
			continue;
		failed = add_item(queue, &record);
		if (failed)
			return failed;
	}
	failed = queue->thread ? perch__batch_thread_wait(queue->thread) : 0;
	if (!failed)
		failed = take_batch(queue, queue->batch);
	return rc < 0 ? SCHED_FAILED : failed;
}

int sched_queue_read(struct sched_reading *reading)
{
	struct queue queue = { .reading = reading,
			       .batch = perch__calloc(1, sizeof(*queue.batch)) };
	int rc;

	if (!queue.batch) {
		cli_no_memory(reading->input.command);
		return SCHED_FAILED;
	}
	rc = read_all(&queue);
	perch__batch_thread_free(queue.thread);
	free(queue.batch);
	return rc;
}

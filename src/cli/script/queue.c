/* SPDX-License-Identifier: MIT */
/*
 * Prints many samples at a time: their addresses are numbered together, and the memory of their
 * lines is loaded into the CPU's cache before it is read. If there are many samples, a thread
 * writes their text, with lines that are made before, while the program reads the next samples.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"
#include "base/batch_thread.h"

#define SAMPLES	   512
#define ADDRESSES  (4 * SAMPLES)
#define FEW	   16  /* batches that are printed before the thread starts */
#define BATCHES	   16  /* that wait for the thread */
#define LINE_BYTES 128 /* most lines have fewer */

/* Samples that are printed together. */
struct batch {
	size_t nr;
	struct waiting {
		const struct script_event *event;
		struct script_start start;
		uint32_t nr;
		bool truncated; /* its call chain ends with the line that says so */
	} waiting[SAMPLES];
	/* of all samples, one after the other */
	const struct script_line *line[ADDRESSES + PERCH_MAX_CALL_CHAIN];
};

struct script_queue {
	struct script *script;
	struct batch *batch; /* takes samples */
	/* of all of its samples: positions, and numbers when they are known */
	uint32_t chain[ADDRESSES + PERCH_MAX_CALL_CHAIN];
	size_t nr_addresses;
	struct perch__batch_thread *thread; /* NULL: the caller prints */
	bool may_thread;
	bool passed;	     /* the thread has batches that may not be printed */
	unsigned nr_printed; /* batches, before the thread starts */
};

struct script_queue *script_queue_new(struct script *script, bool threads)
{
	struct script_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return NULL;
	queue->script = script;
	queue->may_thread = threads;
	queue->batch = calloc(1, sizeof(*queue->batch));
	if (queue->batch)
		return queue;
	free(queue);
	return NULL;
}

void script_queue_free(struct script_queue *queue)
{
	if (!queue)
		return;
	perch__batch_thread_free(queue->thread);
	free(queue->batch);
	free(queue);
}

bool script_queue_has_output(const struct script_queue *queue)
{
	return queue->thread;
}

/* ---- text ---- */

/* Copies up to the end of a unit, because this is faster than memcpy(). */
static inline char *copy_line(char *to, const struct script_line *line)
{
	for (size_t i = 0; i < line->length; i += SCRIPT_LINE_UNIT)
		memcpy(to + i, line->text + i, SCRIPT_LINE_UNIT);
	return to + line->length;
}

static void print_sample(struct script *script, const struct waiting *sample,
			 const struct script_line *const *line)
{
	const struct script_lines *lines = sample->event->lines;
	struct perch__output *out = sample->event->out;
	char *to = perch__output_reserve(out, SCRIPT_START_BYTES);

	to = script_put_head(script, sample->event, &sample->start, to);
	*to++ = '\n';
	perch__output_end(out, to);
	for (size_t i = 0; i < sample->nr; i++) {
		to = perch__output_reserve(out, line[i]->length);
		perch__output_end(out, copy_line(to, line[i]));
	}
	if (sample->truncated)
		perch__output_bytes(out, lines->truncated, lines->truncated_length);
	to = perch__output_reserve(out, 1);
	*to++ = '\n';
	perch__output_end(out, to);
}

/* How many lines later the memory is needed. */
#define AHEAD 32

/* Prints the samples of a batch, and empties it. */
static void print_batch(struct script *script, struct batch *batch)
{
	const struct script_line *const *line = batch->line, *const *ahead = line;
	const struct script_line *const *end = line;

	for (size_t i = 0; i < batch->nr; i++)
		end += batch->waiting[i].nr;
	for (size_t i = 0; i < batch->nr; i++) {
		const struct waiting *sample = &batch->waiting[i];

		for (; ahead < end && ahead < line + sample->nr + AHEAD; ahead++)
			for (size_t at = 0; at < LINE_BYTES; at += 64)
				__builtin_prefetch((const char *)*ahead + at);
		print_sample(script, sample, line);
		line += sample->nr;
	}
	batch->nr = 0;
}

/* The job of the thread, which ends if the output cannot be written. */
static int run_batch(void *context, void *batch)
{
	struct script *script = context;

	print_batch(script, batch);
	return script->out.error ? -script->out.error : 0;
}

/* ---- batches ---- */

/* Positions become numbers. */
static void set_numbers(struct script_queue *queue, const uint32_t *numbers)
{
	uint32_t *chain = queue->chain;

	for (size_t i = 0; i < queue->batch->nr; i++) {
		const struct waiting *sample = &queue->batch->waiting[i];

		for (size_t at = 0; at < sample->nr; at++)
			chain[at] = numbers[chain[at]];
		script_lines_prefetch_offsets(sample->event->lines, chain, sample->nr);
		chain += sample->nr;
	}
}

/* Finds the lines of a call chain, up to the one at which it stops. Returns 0 or -ENOMEM. */
static int set_lines(struct waiting *sample, const uint32_t *chain, const struct script_line **line)
{
	const struct script_event *event = sample->event;
	bool may_stop = event->lines->script->stop_at;
	char called = 0;

	for (size_t i = 0; i < sample->nr; i++) {
		line[i] = script_lines_chain(event->lines, chain[i], &called);
		if (!line[i])
			return -ENOMEM;
		called = script_called(event->has_calls, called);
		if (may_stop && line[i]->stop) {
			sample->nr = (uint32_t)i + 1;
			sample->truncated = false;
		}
	}
	return 0;
}

/* Finds the lines of the batch. After -ENOMEM it has the samples before. */
static int make_lines(struct script_queue *queue)
{
	const struct script_line **line = queue->batch->line;
	const uint32_t *numbers, *chain = queue->chain;
	size_t nr = queue->batch->nr;
	int rc = perch_session_number_chains(queue->script->session, &numbers, NULL);

	if (rc)
		nr = 0;
	else
		set_numbers(queue, numbers);
	for (size_t i = 0; i < nr && !rc; i++) {
		struct waiting *sample = &queue->batch->waiting[i];
		size_t nr_addresses = sample->nr;

		rc = set_lines(sample, chain, line);
		if (rc)
			nr = i;
		chain += nr_addresses;
		line += sample->nr;
	}
	queue->batch->nr = nr;
	queue->nr_addresses = 0;
	return rc;
}

static void start_thread(struct script_queue *queue)
{
	queue->may_thread = false;
	queue->thread = perch__batch_thread_new(
		&(struct perch__batch_job){ .run = run_batch,
					    .context = queue->script,
					    .batch_size = sizeof(struct batch),
					    .nr_batches = BATCHES,
					    .writes = true });
}

/* Ends the thread, because the output cannot be written. */
static void end_thread(struct script_queue *queue)
{
	perch__batch_thread_free(queue->thread);
	queue->thread = NULL;
	queue->batch->nr = 0;
}

static void pass_record(struct script_queue *queue)
{
	void *batch = queue->batch;
	int rc = perch__batch_thread_pass(queue->thread, &batch);

	queue->batch = batch;
	queue->passed = true;
	if (rc)
		end_thread(queue);
}

/* Prints a full batch. */
static int end_batch(struct script_queue *queue)
{
	int rc = make_lines(queue);

	if (queue->may_thread && ++queue->nr_printed > FEW)
		start_thread(queue);
	if (queue->thread)
		pass_record(queue);
	else
		print_batch(queue->script, queue->batch);
	return rc;
}

int script_queue_add(struct script_queue *queue, const struct script_event *event,
		     const struct perch_session_sample *sample, size_t nr)
{
	struct batch *batch = queue->batch;

	batch->waiting[batch->nr++] = (struct waiting){
		.event = event,
		.start = script_start_of(sample),
		.nr = (uint32_t)nr,
		.truncated = sample->truncated && nr && nr == sample->nr,
	};
	memcpy(queue->chain + queue->nr_addresses, sample->chain, nr * sizeof(*sample->chain));
	queue->nr_addresses += nr;
	return batch->nr == SAMPLES || queue->nr_addresses >= ADDRESSES ? end_batch(queue) : 0;
}

int script_queue_flush(struct script_queue *queue)
{
	int rc = 0;

	if (queue->batch->nr)
		rc = make_lines(queue);
	if (queue->passed && queue->thread && perch__batch_thread_wait(queue->thread))
		end_thread(queue);
	queue->passed = false;
	print_batch(queue->script, queue->batch);
	return rc;
}

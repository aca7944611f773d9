/* SPDX-License-Identifier: MIT */
/* Prints many samples at a time: their addresses are numbered together, and the memory of their
 * lines is loaded into the CPU's cache before it is read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

#define SAMPLES	   512
#define ADDRESSES  (4 * SAMPLES)
#define HEAD_BYTES (128 * SAMPLES)

struct script_queue {
	struct perch_session *session;
	size_t nr, nr_addresses, head_bytes;
	struct waiting {
		const struct script_event *event;
		uint32_t head_length, nr;
		bool truncated;
	} waiting[SAMPLES];
	/* of all samples, one after the other: positions, and numbers when they are known */
	uint32_t chain[ADDRESSES + PERCH_MAX_CALL_CHAIN];
	char heads[HEAD_BYTES + SCRIPT_START_BYTES + PERCH__OUTPUT_SLACK];
};

struct script_queue *script_queue_new(struct perch_session *session)
{
	struct script_queue *queue = calloc(1, sizeof(struct script_queue));

	if (queue)
		queue->session = session;
	return queue;
}

void script_queue_free(struct script_queue *queue)
{
	free(queue);
}

/* Copies up to 15 bytes more than the text has, because this is faster than memcpy(). */
static inline char *copy(char *to, const char *from, size_t length)
{
	for (size_t i = 0; i < length; i += 16)
		memcpy(to + i, from + i, 16);
	return to + length;
}

static int print(const struct waiting *sample, const char *head, const uint32_t *chain)
{
	struct perch__output *out = sample->event->out;
	struct script_lines *lines = sample->event->lines;
	char *to = perch__output_reserve(out, SCRIPT_START_BYTES);
	char called = 0;

	to = copy(to, head, sample->head_length);
	*to++ = '\n';
	perch__output_end(out, to);
	for (size_t i = 0; i < sample->nr; i++) {
		const struct script_line *line = script_lines_chain(lines, chain[i], called);

		if (!line)
			return -ENOMEM;
		called = script_called(sample->event->has_calls, line->cpumode_char);
		to = perch__output_reserve(out, line->length);
		perch__output_end(out, copy(to, line->text, line->length));
		if (line->stop)
			break;
		if (sample->truncated && i + 1 == sample->nr)
			perch__output_bytes(out, lines->truncated, lines->truncated_length);
	}
	to = perch__output_reserve(out, 1);
	*to++ = '\n';
	perch__output_end(out, to);
	return 0;
}

/* How many samples later the memory is needed. */
#define AHEAD 16

static int print_all(const struct script_queue *queue)
{
	const uint32_t *chain = queue->chain, *ahead = chain;
	const char *head = queue->heads;
	size_t loaded = 0;
	int rc = 0;

	for (size_t i = 0; i < queue->nr && !rc; i++) {
		const struct waiting *sample = &queue->waiting[i];

		for (; loaded < queue->nr && loaded < i + AHEAD; loaded++) {
			const struct waiting *later = &queue->waiting[loaded];

			script_lines_prefetch(later->event->lines, ahead, later->nr);
			ahead += later->nr;
		}
		rc = print(sample, head, chain);
		head += sample->head_length;
		chain += sample->nr;
	}
	return rc;
}

/* Positions become numbers. */
static void set_numbers(struct script_queue *queue, const uint32_t *numbers)
{
	uint32_t *chain = queue->chain;

	for (size_t i = 0; i < queue->nr; i++) {
		const struct waiting *sample = &queue->waiting[i];

		for (size_t at = 0; at < sample->nr; at++)
			chain[at] = numbers[chain[at]];
		script_lines_prefetch_offsets(sample->event->lines, chain, sample->nr);
		chain += sample->nr;
	}
}

char *script_queue_head(struct script_queue *queue)
{
	return queue->heads + queue->head_bytes;
}

int script_queue_add(struct script_queue *queue, const struct script_event *event, const char *end,
		     const uint32_t *chain, size_t nr, bool truncated)
{
	struct waiting *sample = &queue->waiting[queue->nr++];

	sample->event = event;
	sample->head_length = (uint32_t)(end - script_queue_head(queue));
	sample->nr = (uint32_t)nr;
	sample->truncated = truncated;
	memcpy(queue->chain + queue->nr_addresses, chain, nr * sizeof(*chain));
	queue->nr_addresses += nr;
	queue->head_bytes += sample->head_length;
	return queue->nr == SAMPLES || queue->nr_addresses >= ADDRESSES ||
			       queue->head_bytes >= HEAD_BYTES
		       ? script_queue_flush(queue)
		       : 0;
}

int script_queue_flush(struct script_queue *queue)
{
	const uint32_t *numbers;
	int rc;

	if (!queue->nr)
		return 0;
	if (perch_session_number_chains(queue->session, &numbers, NULL))
		return -ENOMEM;
	set_numbers(queue, numbers);
	rc = print_all(queue);
	queue->nr = queue->nr_addresses = queue->head_bytes = 0;
	return rc;
}

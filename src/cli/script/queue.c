/* SPDX-License-Identifier: MIT */
/* Prints samples some samples later, when the memory of their lines is in the CPU's cache. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "script.h"

#define LENGTH 32 /* samples; a power of 2 */

struct script_queue {
	size_t first, nr; /* the sample to print next */
	struct waiting {
		const struct script_event *event;
		size_t head_length, nr;
		bool truncated;
		char head[SCRIPT_START_BYTES + CLI_OUTPUT_SLACK];
		uint32_t chain[PERCH_MAX_CALL_CHAIN];
	} waiting[LENGTH];
};

struct script_queue *script_queue_new(void)
{
	return calloc(1, sizeof(struct script_queue));
}

void script_queue_free(struct script_queue *queue)
{
	free(queue);
}

static struct waiting *waiting_at(struct script_queue *queue, size_t number)
{
	return &queue->waiting[number % LENGTH];
}

/* Copies up to 15 bytes more than the text has, because this is faster than memcpy(). */
static inline char *copy(char *to, const char *from, size_t length)
{
	for (size_t i = 0; i < length; i += 16)
		memcpy(to + i, from + i, 16);
	return to + length;
}

static int print(struct waiting *sample)
{
	struct cli_output *out = sample->event->out;
	struct script_lines *lines = sample->event->lines;
	char *to = cli_output_reserve(out, SCRIPT_START_BYTES);
	char called = 0; /* the kind of the frame before */

	to = copy(to, sample->head, sample->head_length);
	*to++ = '\n';
	cli_output_end(out, to);
	for (size_t i = 0; i < sample->nr; i++) {
		const struct script_line *line =
			script_lines_chain(lines, sample->chain[i], called);

		if (!line)
			return -ENOMEM;
		called = line->cpumode_char;
		to = cli_output_reserve(out, line->length);
		cli_output_end(out, copy(to, line->text, line->length));
		if (line->stop)
			break;
		if (sample->truncated && i + 1 == sample->nr)
			cli_output_bytes(out, lines->truncated, lines->truncated_length);
	}
	to = cli_output_reserve(out, 1);
	*to++ = '\n';
	cli_output_end(out, to);
	return 0;
}

char *script_queue_head(struct script_queue *queue)
{
	return waiting_at(queue, queue->first + queue->nr)->head;
}

int script_queue_add(struct script_queue *queue, const struct script_event *event, const char *end,
		     const uint32_t *chain, size_t nr, bool truncated)
{
	struct waiting *sample = waiting_at(queue, queue->first + queue->nr);

	sample->event = event;
	sample->head_length = (size_t)(end - sample->head);
	sample->nr = nr;
	sample->truncated = truncated;
	memcpy(sample->chain, chain, nr * sizeof(*chain));
	script_lines_prefetch_offsets(event->lines, chain, nr);
	queue->nr++;
	if (queue->nr >= LENGTH / 2) {
		sample = waiting_at(queue, queue->first + queue->nr - LENGTH / 2);
		script_lines_prefetch(sample->event->lines, sample->chain, sample->nr);
	}
	if (queue->nr < LENGTH)
		return 0;
	queue->nr--;
	return print(waiting_at(queue, queue->first++));
}

int script_queue_flush(struct script_queue *queue)
{
	int rc = 0;

	for (; queue->nr && !rc; queue->nr--)
		rc = print(waiting_at(queue, queue->first++));
	return rc;
}

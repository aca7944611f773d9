/* SPDX-License-Identifier: MIT */
/*
 * Many rings as one stream by time, in rounds. A round takes up the head of every ring; what it
 * takes up comes in the round after it at the latest. Records stay in their rings until they are
 * delivered: what is kept here is where each ring is, and a heap of those that have a record due,
 * by its time.
 */
#include <errno.h>
#include <stdlib.h>

#include "buffer.h"

struct input {
	struct perch_ring *ring;
	uint64_t scanned;     /* its head as the last round took it up */
	uint64_t crowded_end; /* what comes before is due, whatever its time */
	uint64_t key;	      /* time of the ring's next record, or of the next one with a time */
	uint64_t key_end;     /* end of the record whose time key is */
};

struct perch_merge {
	struct perch_decoder *decoder;
	struct input *inputs;
	size_t nr;
	size_t *heap; /* lanes with a record due; first the one with the lowest key */
	size_t nr_due;
	bool running;	   /* in a round */
	bool flush;	   /* one that delivers everything */
	bool delivered;	   /* the first input's record is in the caller's hands */
	uint64_t limit;	   /* records not younger than that are due */
	uint64_t youngest; /* of what the last round took up that found anything */
	uint64_t latest;   /* youngest record delivered */
	uint64_t out_of_order;
};

int perch_merge_new(struct perch_merge **merge, struct perch_ring *const *rings, size_t nr,
		    struct perch_decoder *decoder, struct perch_error *err)
{
	struct perch_merge *made;

	*merge = NULL;
	if (!decoder)
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"merging by time needs a decoder, which knows where times are");
	for (size_t i = 0; i < nr; i++)
		if (rings[i]->mode != PERCH_RING_FORWARD)
			return perch_error_set(
				err, EINVAL, PERCH_ERROR_USAGE,
				"ring %zu is one that the kernel writes over: only others can be merged",
				i);
	made = calloc(1, sizeof(*made));
	if (made) {
		made->inputs = calloc(nr ? nr : 1, sizeof(*made->inputs));
		made->heap = calloc(nr ? nr : 1, sizeof(*made->heap));
	}
	if (!made || !made->inputs || !made->heap) {
		perch_merge_free(made);
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for merging %zu rings", nr);
	}
	made->decoder = decoder;
	made->nr = nr;
	for (size_t i = 0; i < nr; i++) {
		made->inputs[i].ring = rings[i];
		made->inputs[i].scanned = made->inputs[i].crowded_end = made->inputs[i].key_end =
			rings[i]->next;
	}
	*merge = made;
	return 0;
}

void perch_merge_free(struct perch_merge *merge)
{
	if (!merge)
		return;
	free(merge->inputs);
	free(merge->heap);
	free(merge);
}

uint64_t perch_merge_out_of_order(const struct perch_merge *merge)
{
	return merge->out_of_order;
}

/* Whether a position is behind from: it cannot be further away than a ring is long. */
static bool is_behind(const struct perch_ring *ring, uint64_t position, uint64_t from)
{
	return position - from - 1 < ring->size;
}

static bool time_at(struct perch_merge *merge, struct perch_ring *ring, uint64_t position,
		    uint16_t size, uint64_t *time)
{
	return perch_decoder_time(merge->decoder, perch__ring_contiguous(ring, position, size),
				  size, time);
}

/*
 * The key of the input's next record. Those without a time have that of the one behind them; at the
 * end of what is there, that of the one before. Each record is looked at once, however many without
 * a time there are.
 */
static void find_key(struct perch_merge *merge, struct input *input)
{
	struct perch_ring *ring = input->ring;
	struct perch_record_header header;
	uint64_t at = ring->next;

	if (is_behind(ring, input->key_end, at))
		return;
	while (at != ring->head && perch__ring_header(ring, at, ring->head, &header)) {
		uint64_t start = at;

		at += header.size;
		if (time_at(merge, ring, start, header.size, &input->key))
			break;
	}
	input->key_end = at;
}

static bool is_due(struct perch_merge *merge, struct input *input)
{
	const struct perch_ring *ring = input->ring;

	if (ring->next == ring->head)
		return false;
	find_key(merge, input);
	return merge->flush || is_behind(ring, input->crowded_end, ring->next) ||
	       input->key <= merge->limit;
}

static bool is_earlier(const struct perch_merge *merge, size_t one, size_t other)
{
	const struct input *a = &merge->inputs[merge->heap[one]],
			   *b = &merge->inputs[merge->heap[other]];

	return a->key != b->key ? a->key < b->key : a < b;
}

static void swap(struct perch_merge *merge, size_t one, size_t other)
{
	size_t saved = merge->heap[one];

	merge->heap[one] = merge->heap[other];
	merge->heap[other] = saved;
}

static void sift_down(struct perch_merge *merge, size_t at)
{
	for (;;) {
		size_t least = at;

		for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < merge->nr_due;
		     child++)
			if (is_earlier(merge, child, least))
				least = child;
		if (least == at)
			return;
		swap(merge, at, least);
		at = least;
	}
}

/*
 * Looks at what came into a input since the round before: its youngest time, and where the ring's
 * upper half begins, for all before that must come now.
 */
static void scan_new_records(struct perch_merge *merge, struct input *input, uint64_t *youngest)
{
	struct perch_ring *ring = input->ring;
	struct perch_record_header header;
	uint64_t at = input->scanned, time;

	input->crowded_end = at;
	if (ring->head - at > ring->head - ring->next) /* a batch was dropped */
		at = ring->next;
	for (; at != ring->head && perch__ring_header(ring, at, ring->head, &header);
	     at += header.size) {
		bool timed = time_at(merge, ring, at, header.size, &time),
		     crowded = ring->head - at > ring->size / 2;

		if (crowded)
			input->crowded_end = at + header.size;
		if (timed && crowded && time > merge->limit)
			merge->limit = time;
		if (timed && time > *youngest)
			*youngest = time;
	}
	input->scanned = ring->head;
}

static void begin_round(struct perch_merge *merge, bool flush)
{
	uint64_t youngest = 0;

	merge->running = true;
	merge->delivered = false;
	merge->flush = flush;
	merge->limit = merge->youngest;
	merge->nr_due = 0;
	/* all heads before the first record: going through records takes a while, and in it others
	 * go on writing */
	for (size_t i = 0; i < merge->nr; i++)
		perch__next_batch(merge->inputs[i].ring);
	for (size_t i = 0; i < merge->nr; i++)
		scan_new_records(merge, &merge->inputs[i], &youngest);
	if (youngest)
		merge->youngest = youngest;
	for (size_t i = 0; i < merge->nr; i++)
		if (is_due(merge, &merge->inputs[i]))
			merge->heap[merge->nr_due++] = i;
	for (size_t i = merge->nr_due / 2; i--;)
		sift_down(merge, i);
}

static void remove_first(struct perch_merge *merge)
{
	perch__publish_tail(merge->inputs[merge->heap[0]].ring);
	merge->heap[0] = merge->heap[--merge->nr_due];
	sift_down(merge, 0);
}

/* The caller is done with the first input's record. A long round gives room back to the kernel on
 * its way. */
static void finish_delivered(struct perch_merge *merge)
{
	struct input *input = &merge->inputs[merge->heap[0]];

	merge->delivered = false;
	if (!is_due(merge, input)) {
		remove_first(merge);
		return;
	}
	if (input->ring->next - input->ring->tail >= input->ring->size / 4)
		perch__publish_tail(input->ring);
	sift_down(merge, 0);
}

static void count_order(struct perch_merge *merge, const void *bytes, uint16_t size)
{
	uint64_t time;

	if (!perch_decoder_time(merge->decoder, bytes, size, &time))
		return;
	merge->out_of_order += time < merge->latest;
	if (time > merge->latest)
		merge->latest = time;
}

int perch_merge_next(struct perch_merge *merge, bool flush, struct perch_record *record,
		     size_t *ring, struct perch_error *err)
{
	const struct perch_record_header *bytes;

	if (!merge->running || (flush && !merge->flush))
		begin_round(merge, flush);
	else if (merge->delivered)
		finish_delivered(merge);
	while (merge->nr_due) {
		int rc;

		*ring = merge->heap[0];
		bytes = perch__batch_next(merge->inputs[*ring].ring);
		if (!bytes) { /* no record there: the rest of the batch was dropped */
			remove_first(merge);
			continue;
		}
		merge->delivered = true;
		count_order(merge, bytes, bytes->size);
		rc = perch_decoder_decode(merge->decoder, record, bytes, bytes->size, err);
		return rc < 0 ? rc : 1;
	}
	merge->running = false;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Merges rings into one stream in order of time, in rounds.
 *
 * A round first reads the head of every ring. Its limit is the latest time that the round before
 * has found. It delivers the records up to the limit, and holds the later ones for the next round:
 * another CPU may still be writing a record of an earlier time than theirs.
 *
 *	          time ------------------------------->
 *	ring 0    1     3        6   |         9
 *	ring 1       2        5      |   7
 *	ring 2             4         |      8
 *	                             limit
 *
 *	delivered: 1 2 3 4 5 6       held: 7 8 9; the limit of the next round is 9
 *
 * Records stay in their rings until they are delivered. The merge itself has a position for each
 * ring, and a heap of the rings with a due record, by its time.
 *
 * A ring has an index for its whole time in the merge. A removed ring leaves a free input for the
 * next ring that is added.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/no_memory.h"
#include "buffer.h"

struct input {
	struct perch_ring *ring; /* NULL: a free input */
	bool ending;		 /* is being removed: no batch follows the current one */
	uint64_t scanned;	 /* records before this position were seen by a round */
	uint64_t early_end; /* records before this position are delivered without waiting for the
			       limit */
	uint64_t key;	    /* time of the next record, see find_key() */
	uint64_t key_end;   /* end of the record that has this time */
};

struct perch_merge {
	struct perch_decoder *decoder;
	struct input *inputs;
	size_t nr, capacity;
	size_t *heap; /* indexes of inputs with a due record; the lowest key is first */
	size_t nr_due, heap_capacity;
	bool running;	       /* a round is in progress */
	bool flush;	       /* this round delivers all records */
	bool delivered;	       /* the caller has the record of the first input */
	uint64_t limit;	       /* records up to this time are due */
	uint64_t latest_found; /* the limit of the next round */
	uint64_t latest_delivered;
	uint64_t out_of_order;
	uint32_t generation; /* of the mapped rings; 0 if all are in the caller's memory */
	uint64_t discarded;  /* records of removed rings */
};

static int check_ring(const struct perch_ring *ring, size_t index, struct perch_error *err)
{
	if (ring->mode == PERCH_RING_FORWARD)
		return perch__check_ring_fork(ring, err);
	return perch_error_set(
		err, EINVAL, PERCH_ERROR_USAGE,
		"only rings of mode FORWARD can be merged (ring %zu has mode OVERWRITE)", index);
}

static int reserve_rings(struct perch_merge *merge, size_t nr, struct perch_error *err)
{
	if (PERCH__ARRAY_RESERVE(merge->inputs, merge->capacity, nr) < 0 ||
	    PERCH__ARRAY_RESERVE(merge->heap, merge->heap_capacity, nr) < 0)
		return PERCH__NO_MEMORY(err, "to merge %zu rings", nr);
	return 0;
}

static int check_fork(const struct perch_merge *merge, struct perch_error *err)
{
	return perch__is_forked(merge->generation) ? PERCH__FORK_ERROR(err, "the merge of rings")
						   : 0;
}

/* Records that were consumed before are not part of the merge. */
static void set_input(struct perch_merge *merge, size_t index, struct perch_ring *ring)
{
	if (ring->generation)
		merge->generation = ring->generation;
	merge->inputs[index] = (struct input){
		.ring = ring,
		.scanned = ring->next,
		.early_end = ring->next,
		.key_end = ring->next,
	};
}

int perch_merge_new(struct perch_merge **merge, struct perch_ring *const *rings, size_t nr,
		    struct perch_decoder *decoder, struct perch_error *err)
{
	struct perch_merge *new_merge;
	int rc;

	*merge = NULL;
	if (!decoder)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a merge by time needs a decoder");
	for (size_t i = 0; i < nr; i++) {
		rc = check_ring(rings[i], i, err);
		if (rc < 0)
			return rc;
	}
	new_merge = calloc(1, sizeof(*new_merge));
	if (!new_merge)
		return PERCH__NO_MEMORY(err, "to merge %zu rings", nr);
	rc = reserve_rings(new_merge, nr, err);
	if (rc < 0) {
		perch_merge_free(new_merge);
		return rc;
	}
	new_merge->decoder = decoder;
	new_merge->nr = nr;
	for (size_t i = 0; i < nr; i++)
		set_input(new_merge, i, rings[i]);
	*merge = new_merge;
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

void perch__merge_set_decoder(struct perch_merge *merge, struct perch_decoder *decoder)
{
	merge->decoder = decoder;
}

uint64_t perch_merge_out_of_order(const struct perch_merge *merge)
{
	return merge->out_of_order;
}

uint64_t perch_merge_discarded(const struct perch_merge *merge)
{
	return merge->discarded;
}

/* True if a position is after `from`: by at most the size of the ring. */
static bool is_after(const struct perch_ring *ring, uint64_t position, uint64_t from)
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
 * Sets the key of the input's next record. A record without a time has the time of the next one
 * that has a time, or, at the end of the batch, the last time. Each record is examined once.
 */
static void find_key(struct perch_merge *merge, struct input *input)
{
	struct perch_ring *ring = input->ring;
	struct perch_record_header header;
	uint64_t at = ring->next;

	if (is_after(ring, input->key_end, at))
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
	return merge->flush || is_after(ring, input->early_end, ring->next) ||
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

static void order_heap(struct perch_merge *merge)
{
	for (size_t i = merge->nr_due / 2; i--;)
		sift_down(merge, i);
}

/*
 * Examines the records that were written since the last round: their latest time, and whether the
 * ring is more than half full. If it is, its oldest records are delivered at once, and the limit is
 * raised to their times, so that the other rings deliver up to the same time.
 */
static void scan_new_records(struct perch_merge *merge, struct input *input, uint64_t *latest)
{
	struct perch_ring *ring = input->ring;
	struct perch_record_header header;
	uint64_t at = input->scanned, time;

	input->early_end = at;
	if (ring->head - at > ring->head - ring->next) /* a batch was dropped */
		at = ring->next;
	for (; at != ring->head && perch__ring_header(ring, at, ring->head, &header);
	     at += header.size) {
		bool timed = time_at(merge, ring, at, header.size, &time),
		     more_than_half_full = ring->head - at > ring->size / 2;

		if (more_than_half_full)
			input->early_end = at + header.size;
		if (timed && more_than_half_full && time > merge->limit)
			merge->limit = time;
		if (timed && time > *latest)
			*latest = time;
	}
	input->scanned = ring->head;
}

static void begin_round(struct perch_merge *merge, bool flush)
{
	uint64_t latest = 0;

	merge->running = true;
	merge->delivered = false;
	merge->flush = flush;
	merge->limit = merge->latest_found;
	merge->nr_due = 0;
	/* read all heads before any record: the scan takes time, and writers continue meanwhile */
	for (size_t i = 0; i < merge->nr; i++)
		if (merge->inputs[i].ring && !merge->inputs[i].ending)
			perch__next_batch(merge->inputs[i].ring);
	for (size_t i = 0; i < merge->nr; i++)
		if (merge->inputs[i].ring)
			scan_new_records(merge, &merge->inputs[i], &latest);
	if (latest)
		merge->latest_found = latest;
	for (size_t i = 0; i < merge->nr; i++)
		if (merge->inputs[i].ring && is_due(merge, &merge->inputs[i]))
			merge->heap[merge->nr_due++] = i;
	order_heap(merge);
}

static void remove_first(struct perch_merge *merge)
{
	perch__publish_tail(merge->inputs[merge->heap[0]].ring);
	merge->heap[0] = merge->heap[--merge->nr_due];
	sift_down(merge, 0);
}

/* Advances the first input after the caller has used its record. A long round publishes the tail
 * several times, because the kernel needs the space. */
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
	merge->out_of_order += time < merge->latest_delivered;
	if (time > merge->latest_delivered)
		merge->latest_delivered = time;
}

int perch_merge_next(struct perch_merge *merge, bool flush, struct perch_record *record,
		     size_t *ring, struct perch_error *err)
{
	const struct perch_record_header *bytes;

	if (perch__is_forked(merge->generation))
		return check_fork(merge, err);
	if (!merge->running || (flush && !merge->flush))
		begin_round(merge, flush);
	else if (merge->delivered)
		finish_delivered(merge);
	while (merge->nr_due) {
		int rc;

		*ring = merge->heap[0];
		bytes = perch__batch_next(merge->inputs[*ring].ring);
		if (!bytes) { /* damaged: the rest of the batch was dropped */
			remove_first(merge);
			continue;
		}
		merge->delivered = true;
		count_order(merge, bytes, bytes->size);
		rc = perch_decoder_decode(merge->decoder, bytes, bytes->size, record, err);
		return rc < 0 ? rc : 1;
	}
	merge->running = false;
	return 0;
}

static size_t find_ring(const struct perch_merge *merge, const struct perch_ring *ring)
{
	size_t index = 0;

	while (index < merge->nr && merge->inputs[index].ring != ring)
		index++;
	return index;
}

/* The ring takes part from the next round on. */
int perch_merge_add(struct perch_merge *merge, struct perch_ring *ring, size_t *index,
		    struct perch_error *err)
{
	size_t free_input = find_ring(merge, NULL);
	int rc = check_fork(merge, err);

	if (!rc)
		rc = check_ring(ring, free_input, err);
	if (rc < 0)
		return rc;
	if (find_ring(merge, ring) < merge->nr)
		return perch_error_set(err, EEXIST, PERCH_ERROR_USAGE,
				       "the ring is already in the merge, with index %zu",
				       find_ring(merge, ring));
	if (free_input == merge->nr) {
		rc = reserve_rings(merge, merge->nr + 1, err);
		if (rc < 0)
			return rc;
		merge->nr++;
	}
	set_input(merge, free_input, ring);
	*index = free_input;
	return 0;
}

static void remove_from_heap(struct perch_merge *merge, size_t index)
{
	for (size_t i = 0; i < merge->nr_due; i++)
		if (merge->heap[i] == index) {
			merge->heap[i] = merge->heap[--merge->nr_due];
			order_heap(merge);
			return;
		}
}

static void discard_records(struct perch_merge *merge, struct perch_ring *ring)
{
	while (perch__batch_next(ring))
		merge->discarded++;
	perch__publish_tail(ring);
}

int perch_merge_remove(struct perch_merge *merge, size_t index, bool discard,
		       struct perch_error *err)
{
	struct perch_ring *ring = index < merge->nr ? merge->inputs[index].ring : NULL;

	if (perch__is_forked(merge->generation))
		return check_fork(merge, err);
	if (!ring)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "the merge has no ring with index %zu", index);
	if (merge->delivered && merge->heap[0] == index)
		finish_delivered(merge);
	if (!merge->inputs[index].ending)
		perch__next_batch(ring);
	merge->inputs[index].ending = true;
	if (ring->next != ring->head && !discard)
		return 1;
	remove_from_heap(merge, index);
	discard_records(merge, ring);
	merge->inputs[index] = (struct input){ 0 };
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* Rings while a simulated kernel writes in other threads. Also runs under ThreadSanitizer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "ring_kernel.h"

#define WANTED 8000 /* records that a reader reads before it stops the writer */
#define AT_LEAST                                                                                   \
	200	  /* enough if both threads share a busy CPU, where each record may need a context \
		     switch */
#define SECONDS 4 /* after which that is enough */
#define TRIED	100000000ull /* maximum of a writer */

struct writer {
	struct ring_kernel *k;
	size_t largest;	    /* bytes of a record */
	unsigned aux_share; /* AUX records in 16 records */
	uint64_t *clock;    /* of all writers; NULL if samples have no time */
	bool done;	    /* atomic */
	bool stop;	    /* atomic: the reader has read enough */
	time_t until;	    /* the reader has read enough in any case */
	pthread_t thread;
};

static bool stopped_early; /* a reader stopped with fewer records */

static time_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

/* What the reader of a ring has read. */
struct seen {
	uint64_t serial; /* expected next */
	uint64_t records, lost;
	uint64_t position; /* of the next record */
	/* bit n: a record wrapped after 8 * n bytes */
	uint64_t wraps;
};

/* Alternates full speed and pauses, so readers find empty and full rings. */
static void rest(struct ring_kernel *k)
{
	uint32_t random = ring_kernel_random(&k->random) % 4096;

	if (random < 4)
		usleep(random * 20);
	else if (random < 200)
		sched_yield();
}

static void put_timed(struct writer *writer, size_t size)
{
	uint64_t words[RING_KERNEL_MAX / 8] = { 0 };
	struct perch_record_header header = { PERCH_RECORD_SAMPLE, 0, (uint16_t)size };

	memcpy(words, &header, sizeof(header));
	words[1] = writer->k->serial++;
	words[2] = __atomic_add_fetch(writer->clock, 1, __ATOMIC_RELAXED);
	ring_kernel_put(writer->k, words, size);
}

static void *write_all(void *context)
{
	struct writer *writer = context;
	struct ring_kernel *k = writer->k;

	for (uint64_t n = 0; n < TRIED && !__atomic_load_n(&writer->stop, __ATOMIC_RELAXED); n++) {
		size_t size = RING_KERNEL_MIN + ring_kernel_random(&k->random) %
							(writer->largest - RING_KERNEL_MIN + 1) /
							8 * 8;
		bool paused = __atomic_load_n(&k->paused, __ATOMIC_ACQUIRE);

		__atomic_store_n(&k->stopped, paused, __ATOMIC_RELEASE);
		if (paused) {
			k->serial++;
			k->lost++;
			k->lost_ever++;
			sched_yield();
		} else if (ring_kernel_random(&k->random) % 16 < writer->aux_share) {
			ring_kernel_aux(k, ring_kernel_random(&k->random) % (k->aux_size / 2));
		} else if (writer->clock) {
			put_timed(writer, size);
		} else {
			ring_kernel_sample(k, size);
		}
		rest(k);
	}
	__atomic_store_n(&k->stopped, true, __ATOMIC_RELEASE);
	__atomic_store_n(&writer->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static void start(struct writer *writer)
{
	writer->until = now() + SECONDS;
	assert_int_equal(pthread_create(&writer->thread, NULL, write_all, writer), 0);
}

/*
 * Whether the writer has written its last record; to be checked before the ring is read. It stops
 * when the reader has read enough, or `least` and the time is up.
 */
static bool is_done(struct writer *writer, uint64_t seen, uint64_t wanted, uint64_t least)
{
	bool done = __atomic_load_n(&writer->done, __ATOMIC_ACQUIRE),
	     late = now() > writer->until && seen >= least;

	stopped_early |= late && seen < wanted;
	if (late || seen >= wanted)
		__atomic_store_n(&writer->stop, true, __ATOMIC_RELAXED);
	if (!done)
		sched_yield();
	return done;
}

/* All losses are counted, no record is damaged, no record is delivered twice. */
static void check_record(struct seen *seen, const struct perch_record_header *record)
{
	const uint64_t *words = (const uint64_t *)record;

	if (record->type == PERCH_RECORD_LOST) {
		assert_int_equal(record->size, 24);
		assert_true(words[2] > 0);
		seen->serial += words[2];
		seen->lost += words[2];
		return;
	}
	assert_true(ring_kernel_sound(record));
	assert_int_equal(words[1], seen->serial);
	seen->serial++;
	seen->records++;
}

static void note_wrap(struct seen *seen, const struct ring_kernel *k,
		      const struct perch_record_header *record)
{
	uint64_t before = k->size - (seen->position & (k->size - 1));

	if (before < record->size && before / 8 < 64)
		seen->wraps |= 1ull << before / 8;
	seen->position += record->size;
}

static void check_end(const struct seen *seen, const struct writer *writer)
{
	const struct ring_kernel *k = writer->k;

	assert_int_equal(seen->records, k->written);
	/* the last records: no record follows them */
	assert_int_equal(seen->lost + k->lost, k->lost_ever);
	assert_int_equal(seen->serial + k->lost, k->serial);
	assert_int_equal(k->control->data_tail, k->control->data_head);
}

static const struct {
	size_t size, largest;
	uint64_t start;
} rings[] = {
	{ 64, 56, 0 },	     { 128, 96, 40 },  { 256, 184, UINT64_MAX - 100 * 256 + 1 },
	{ 1024, 512, 1000 }, { 8192, 512, 0 },
};
#define RINGS (sizeof(rings) / sizeof(*rings))

static void open_ring(struct perch_ring **ring, struct writer *writer, size_t i,
		      enum perch_ring_mode mode)
{
	bool backward = mode == PERCH_RING_OVERWRITE;

	*writer = (struct writer){ .largest = rings[i].largest };
	/* an overwriting kernel can overwrite its own record */
	if (backward && writer->largest + 24 > rings[i].size)
		writer->largest = rings[i].size - 24;
	writer->k =
		ring_kernel_new(rings[i].size, 0, backward, backward ? 0 : rings[i].start, 77 + i);
	assert_int_equal(perch_ring_from_memory(ring, writer->k->control, writer->k->data,
						writer->k->size, mode, NULL),
			 0);
}

static void close_ring(struct perch_ring *ring, struct writer *writer)
{
	perch_ring_close(ring);
	ring_kernel_free(writer->k);
}

static void one_by_one(void **state)
{
	uint64_t wraps = 0;

	(void)state;
	for (size_t i = 0; i < RINGS; i++) {
		const struct perch_record_header *record;
		struct seen seen = { .position = rings[i].start };
		struct perch_ring_stats stats;
		struct perch_ring *ring;
		struct writer writer;
		bool done;

		open_ring(&ring, &writer, i, PERCH_RING_FORWARD);
		start(&writer);
		do {
			done = is_done(&writer, seen.records, WANTED, AT_LEAST);
			while ((record = perch_ring_next(ring))) {
				check_record(&seen, record);
				note_wrap(&seen, writer.k, record);
			}
		} while (!done);
		pthread_join(writer.thread, NULL);
		check_end(&seen, &writer);
		assert_true(seen.records >= AT_LEAST);
		wraps |= seen.wraps;
		perch_ring_get_stats(ring, &stats);
		assert_int_equal(stats.bytes, writer.k->bytes);
		assert_int_equal(stats.damaged, 0);
		close_ring(ring, &writer);
	}
	/* at every offset after the header */
	for (unsigned n = 1; n < 16; n++)
		assert_true(stopped_early || wraps >> n & 1);
}

/* Copies the pieces into one buffer: here the caller joins records that wrap. */
static size_t check_pieces(struct seen *seen, const struct iovec pieces[2], size_t bytes,
			   uint32_t *random)
{
	static uint64_t copy[8192 / 8];
	size_t at = 0;

	memcpy(copy, pieces[0].iov_base, pieces[0].iov_len);
	if (pieces[1].iov_len)
		memcpy((char *)copy + pieces[0].iov_len, pieces[1].iov_base, pieces[1].iov_len);
	while (at < bytes) {
		const struct perch_record_header *record = (const void *)((const char *)copy + at);

		check_record(seen, record);
		at += record->size;
		if (ring_kernel_random(random) % 8 == 0)
			break;
	}
	return at;
}

static void in_pieces(void **state)
{
	uint32_t random = 99;

	(void)state;
	for (size_t i = 0; i < RINGS; i++) {
		struct seen seen = { 0 };
		struct iovec pieces[2];
		struct perch_ring *ring;
		struct writer writer;
		size_t bytes;
		bool done;

		open_ring(&ring, &writer, i, PERCH_RING_FORWARD);
		start(&writer);
		do {
			done = is_done(&writer, seen.records, WANTED, AT_LEAST);
			while ((bytes = perch_ring_peek(ring, pieces))) {
				assert_int_equal(bytes, pieces[0].iov_len + pieces[1].iov_len);
				perch_ring_consume(ring,
						   check_pieces(&seen, pieces, bytes, &random));
			}
		} while (!done);
		pthread_join(writer.thread, NULL);
		check_end(&seen, &writer);
		close_ring(ring, &writer);
	}
}

/* Returns after the writer has stopped, as the ioctl does. */
static void pause_writer(struct perch_ring *ring, struct ring_kernel *k)
{
	__atomic_store_n(&k->paused, true, __ATOMIC_RELEASE);
	assert_int_equal(perch_ring_pause(ring, NULL), 0);
	while (!__atomic_load_n(&k->stopped, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void resume_writer(struct perch_ring *ring, struct writer *writer)
{
	assert_int_equal(perch_ring_resume(ring, NULL), 0);
	__atomic_store_n(&writer->k->paused, false, __ATOMIC_RELEASE);
	while (__atomic_load_n(&writer->k->stopped, __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&writer->done, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void paused_now_and_then(void **state)
{
	const struct perch_record_header *record;
	struct seen seen = { 0 };
	struct perch_ring *ring;
	struct writer writer;
	uint64_t pauses = 0;
	bool done;

	(void)state;
	open_ring(&ring, &writer, 3, PERCH_RING_FORWARD);
	start(&writer);
	do {
		done = is_done(&writer, seen.records >= AT_LEAST ? pauses : 0,
			       seen.records >= WANTED ? 200 : UINT64_MAX, 16);
		if (!done && ++pauses % 8 == 0)
			pause_writer(ring, writer.k);
		while ((record = perch_ring_next(ring)))
			check_record(&seen, record);
		if (!done && pauses % 8 == 0)
			resume_writer(ring, &writer);
	} while (!done);
	pthread_join(writer.thread, NULL);
	check_end(&seen, &writer);
	assert_true(pauses >= 16 && seen.lost > 0);
	close_ring(ring, &writer);
}

/*
 * Newest first the numbers decrease, oldest first they increase; records lost in the pause are
 * counted between them.
 */
static void check_snapshot(struct perch_ring *ring, const struct ring_kernel *k,
			   enum perch_snapshot_order order)
{
	uint64_t last = order == PERCH_SNAPSHOT_NEWEST_FIRST ? k->newest + 1 : 0, bytes = 0;
	ssize_t nr = perch_ring_snapshot(ring, order, NULL);
	const struct perch_record_header *record;
	bool first = true;

	assert_true(nr >= 0);
	while ((record = perch_ring_next(ring))) {
		const uint64_t *words = (const uint64_t *)record;

		nr--;
		bytes += record->size;
		if (record->type == PERCH_RECORD_LOST)
			continue;
		assert_true(ring_kernel_sound(record));
		if (order == PERCH_SNAPSHOT_NEWEST_FIRST)
			assert_true(first ? words[1] + 1 == last : words[1] < last);
		else
			assert_true(first || words[1] > last);
		first = false;
		last = words[1];
	}
	assert_int_equal(nr, 0);
	assert_true(bytes <= k->size && bytes <= k->bytes &&
		    (bytes == k->bytes || bytes + RING_KERNEL_MAX > k->size));
	if (order == PERCH_SNAPSHOT_OLDEST_FIRST && !first)
		assert_int_equal(last, k->newest);
}

static void snapshots(void **state)
{
	(void)state;
	for (size_t i = 0; i < RINGS; i++) {
		struct perch_ring_stats stats;
		struct perch_ring *ring;
		struct writer writer;
		uint64_t taken = 0;
		bool done;

		open_ring(&ring, &writer, i, PERCH_RING_OVERWRITE);
		start(&writer);
		do {
			done = is_done(&writer, taken, 400, 20);
			pause_writer(ring, writer.k);
			check_snapshot(ring, writer.k,
				       taken++ & 1 ? PERCH_SNAPSHOT_NEWEST_FIRST
						   : PERCH_SNAPSHOT_OLDEST_FIRST);
			check_snapshot(ring, writer.k,
				       taken & 2 ? PERCH_SNAPSHOT_NEWEST_FIRST
						 : PERCH_SNAPSHOT_OLDEST_FIRST);
			resume_writer(ring, &writer);
			usleep(100);
		} while (!done);
		pthread_join(writer.thread, NULL);
		perch_ring_get_stats(ring, &stats);
		assert_int_equal(stats.damaged, 0);
		assert_true(stats.overwritten > 0 && stats.overwritten < writer.k->bytes &&
			    stats.cut <= 2 * taken);
		close_ring(ring, &writer);
	}
}

struct trace {
	uint64_t next; /* first byte not read */
	uint64_t reported, truncated, missed;
};

/* Returns the position after them. */
static uint64_t check_bytes(const struct iovec pieces[2], uint64_t at)
{
	for (int piece = 0; piece < 2; piece++)
		for (size_t i = 0; i < pieces[piece].iov_len; i++)
			assert_int_equal(((uint8_t *)pieces[piece].iov_base)[i],
					 ring_kernel_trace(at++));
	return at;
}

static void check_trace(struct trace *trace, struct perch_ring *ring,
			const struct perch_record_header *header)
{
	struct perch_record record = { .type = header->type };
	struct iovec pieces[2];
	uint64_t at;

	memcpy(&record.aux, header + 1, sizeof(record.aux));
	assert_int_equal(perch_ring_aux_data(ring, &record, pieces), record.aux.size);
	assert_int_equal(pieces[0].iov_len + pieces[1].iov_len, record.aux.size);
	at = check_bytes(pieces, record.aux.offset);
	trace->missed += record.aux.offset - trace->next;
	trace->next = at;
	trace->reported += record.aux.size;
	trace->truncated += !!(record.aux.flags & PERCH_AUX_FLAG_TRUNCATED);
}

/* Consumes the trace up to a position. */
static void consume_trace(struct perch_ring *ring, const struct ring_kernel *k, uint64_t end)
{
	if (end - k->control->aux_tail <= k->aux_size)
		perch_ring_aux_consume(ring, end - k->control->aux_tail);
}

/*
 * Records are written before aux_head moves. So all trace below a head that was read before the end
 * of the ring was reached belongs to records that were read or lost.
 */
static void aux_data(void **state)
{
	const struct perch_record_header *record;
	struct trace trace = { .next = UINT64_MAX - 99999 };
	struct perch_aux_stats stats;
	struct perch_ring *ring;
	struct seen seen = { 0 };
	struct writer writer = { .largest = 96, .aux_share = 6 };
	struct iovec pieces[2];
	uint32_t random = 3;
	uint64_t below;
	bool done;

	(void)state;
	writer.k = ring_kernel_new(1024, 512, false, UINT64_MAX - 99999, 5);
	assert_int_equal(perch_ring_from_memory(&ring, writer.k->control, writer.k->data, 1024,
						PERCH_RING_FORWARD, NULL),
			 0);
	assert_int_equal(
		perch_ring_aux_from_memory(ring, writer.k->aux, 512, PERCH_RING_FORWARD, NULL), 0);
	start(&writer);
	do {
		done = is_done(&writer, trace.truncated,
			       trace.reported >= 400 * 512 ? 20 : UINT64_MAX, 1);
		perch_ring_aux_peek(ring, pieces);
		below = check_bytes(pieces, writer.k->control->aux_tail);
		while ((record = perch_ring_next(ring))) {
			if (record->type != PERCH_RECORD_AUX) {
				check_record(&seen, record);
				continue;
			}
			assert_int_equal(((const uint64_t *)record)[4], seen.serial);
			seen.serial++;
			seen.records++;
			check_trace(&trace, ring, record);
			if (ring_kernel_random(&random) % 4)
				consume_trace(ring, writer.k, trace.next);
		}
		consume_trace(ring, writer.k, below);
	} while (!done);
	pthread_join(writer.thread, NULL);
	check_end(&seen, &writer);
	perch_ring_get_aux_stats(ring, &stats);
	assert_int_equal(stats.bytes, trace.reported);
	assert_int_equal(stats.missing, 0);
	assert_int_equal(stats.truncated, trace.truncated);
	assert_true(stats.truncated >= 1 &&
		    (stopped_early || writer.k->control->aux_tail < UINT64_MAX / 2));
	close_ring(ring, &writer);
}

#define MERGED 3

static void check_merged(struct seen *seen, uint64_t *latest, uint64_t *out_of_order,
			 const struct perch_record *record)
{
	if (record->type == PERCH_RECORD_LOST) {
		seen->serial += record->lost.lost;
		seen->lost += record->lost.lost;
		return;
	}
	assert_int_equal(record->sample.ip, seen->serial);
	seen->serial++;
	seen->records++;
	*out_of_order += record->sample.time < *latest;
	if (record->sample.time > *latest)
		*latest = record->sample.time;
}

static bool all_done(struct writer *writers, const struct seen *seen)
{
	bool done = true;

	for (size_t i = 0; i < MERGED; i++)
		done &= is_done(&writers[i], seen[i].records, WANTED, AT_LEAST);
	return done;
}

static void merged(void **state)
{
	const struct perch_attr attr = { .size = sizeof(attr),
					 .sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_TIME };
	const struct perch_decoder_event event = { .attr = &attr };
	uint64_t clock = 0, latest = 0, out_of_order = 0;
	struct writer writers[MERGED];
	struct perch_ring *opened[MERGED];
	struct seen seen[MERGED] = { 0 };
	struct perch_decoder *decoder;
	struct perch_record record;
	struct perch_merge *merge;
	size_t ring;
	bool done;

	(void)state;
	assert_int_equal(perch_decoder_new(&decoder, &event, 1, PERCH_BYTES_NATIVE, NULL), 0);
	for (size_t i = 0; i < MERGED; i++) {
		open_ring(&opened[i], &writers[i], 2 + i, PERCH_RING_FORWARD);
		writers[i].clock = &clock;
	}
	assert_int_equal(perch_merge_new(&merge, opened, MERGED, decoder, NULL), 0);
	for (size_t i = 0; i < MERGED; i++)
		start(&writers[i]);
	do {
		done = all_done(writers, seen);
		while (perch_merge_next(merge, done, &record, &ring, NULL) == 1)
			check_merged(&seen[ring], &latest, &out_of_order, &record);
	} while (!done);
	for (size_t i = 0; i < MERGED; i++) {
		pthread_join(writers[i].thread, NULL);
		check_end(&seen[i], &writers[i]);
	}
	assert_int_equal(perch_merge_out_of_order(merge), out_of_order);
	perch_merge_free(merge);
	for (size_t i = 0; i < MERGED; i++)
		close_ring(opened[i], &writers[i]);
	perch_decoder_free(decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_by_one),
		cmocka_unit_test(in_pieces),
		cmocka_unit_test(paused_now_and_then),
		cmocka_unit_test(snapshots),
		cmocka_unit_test(aux_data),
		cmocka_unit_test(merged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

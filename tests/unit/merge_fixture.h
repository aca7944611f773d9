/* SPDX-License-Identifier: MIT */
/* A merge of rings that the test writes. Include after <cmocka.h>. */
#ifndef PERCH_TESTS_MERGE_FIXTURE_H
#define PERCH_TESTS_MERGE_FIXTURE_H

#include "ring_kernel.h"

#define MOST 5

struct fixture {
	struct ring_kernel *k[MOST];
	struct perch_ring *rings[MOST];
	struct perch_decoder *decoder;
	struct perch_merge *merge;
	size_t nr;
	uint64_t seen[MOST]; /* serial numbers delivered */
};

static inline void begin(struct fixture *f, size_t nr, size_t size)
{
	const struct perch_attr attr = { .size = sizeof(attr),
					 .sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_TIME };
	const struct perch_decoder_event event = { .attr = &attr };

	memset(f, 0, sizeof(*f));
	f->nr = nr;
	assert_int_equal(perch_decoder_new(&f->decoder, &event, 1, PERCH_BYTES_NATIVE, NULL), 0);
	for (size_t i = 0; i < nr; i++) {
		f->k[i] = ring_kernel_new(size, 0, false, UINT64_MAX - 8 * size + 1, 1 + i);
		assert_int_equal(perch_ring_from_memory(&f->rings[i], f->k[i]->control,
							f->k[i]->data, size, PERCH_RING_FORWARD,
							NULL),
				 0);
	}
	assert_int_equal(perch_merge_new(&f->merge, f->rings, nr, f->decoder, NULL), 0);
}

static inline void end(struct fixture *f)
{
	perch_merge_free(f->merge);
	for (size_t i = 0; i < f->nr; i++) {
		perch_ring_close(f->rings[i]);
		ring_kernel_free(f->k[i]);
	}
	perch_decoder_free(f->decoder);
}

/* A sample of size bytes, or another record (without a time). */
static inline bool put(struct ring_kernel *k, uint32_t type, uint64_t time, size_t size)
{
	uint64_t words[RING_KERNEL_MAX / 8] = { 0 };
	struct perch_record_header header = { type, 0, (uint16_t)size };

	memcpy(words, &header, sizeof(header));
	words[1] = k->serial;
	words[2] = time;
	if (!ring_kernel_put(k, words, size)) {
		k->lost = 0;
		return false;
	}
	k->serial++;
	return true;
}

static inline int next(struct fixture *f, bool flush, size_t *ring, uint64_t *time)
{
	struct perch_record record;
	int rc = perch_merge_next(f->merge, flush, &record, ring, NULL);

	if (rc == 1) {
		const uint64_t *words = record.bytes;

		assert_true(*ring < f->nr);
		assert_int_equal(words[1], f->seen[*ring]);
		f->seen[*ring]++;
		*time = words[2];
	}
	return rc;
}

static inline void expect(struct fixture *f, bool flush, size_t ring, uint64_t time)
{
	size_t got_ring;
	uint64_t got_time;

	assert_int_equal(next(f, flush, &got_ring, &got_time), 1);
	assert_int_equal(got_time, time);
	assert_int_equal(got_ring, ring);
}

static inline void expect_end(struct fixture *f, bool flush)
{
	size_t ring;
	uint64_t time;

	assert_int_equal(next(f, flush, &ring, &time), 0);
}

static inline void check_all_delivered(struct fixture *f)
{
	for (size_t i = 0; i < f->nr; i++) {
		assert_int_equal(f->seen[i], f->k[i]->serial);
		assert_int_equal(f->k[i]->control->data_tail, f->k[i]->control->data_head);
	}
}

#endif

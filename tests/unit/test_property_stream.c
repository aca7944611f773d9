/* SPDX-License-Identifier: MIT */
/*
 * Streams of records of several attrs: each record is decoded by the attr of its id, and deferred
 * call chains are merged. In both byte orders; PERCH_SEED and PERCH_CASES choose the cases.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <perch/record.h>

#include "build/build.h"

#define CASES	400
#define EVENTS	40
#define IDS	6
#define RECORDS 40
#define WAITING 12

/*
 * The fields before the id in a sample, and after the id in a trailer: the position of the id
 * depends on them.
 */
#define BEFORE (PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_ADDR)
#define BEHIND (PERCH_SAMPLE_STREAM_ID | PERCH_SAMPLE_CPU)

struct stream {
	bool big_endian;
	size_t nr;
	struct build_shape shape[EVENTS];
	struct perch_attr attr[EVENTS];
	uint64_t ids[EVENTS][IDS];
	struct perch_decoder_event event[EVENTS];
	struct perch_decoder *decoder;
};

static struct stream stream;
static struct build_record wanted;
static struct build_bytes bytes;

static enum perch_byte_order order_of(bool big_endian)
{
	return big_endian ? PERCH_BYTES_BIG : PERCH_BYTES_LITTLE;
}

/*
 * Whether the attrs agree on the position of the id: as in files of perf, of older versions of
 * perf, or not.
 */
enum agreement { BY_IDENTIFIER, BY_POSITION, BY_NOTHING };

static void agree(struct build_shape *shape, const struct build_shape *first,
		  enum agreement agreement)
{
	uint64_t shared = BEFORE | BEHIND | PERCH_SAMPLE_IDENTIFIER;

	shape->big_endian = first->big_endian;
	shape->sample_id_all = true;
	if (agreement == BY_IDENTIFIER)
		shape->sample_type |= PERCH_SAMPLE_IDENTIFIER;
	else
		shape->sample_type |= PERCH_SAMPLE_ID;
	if (agreement == BY_POSITION)
		shape->sample_type = (shape->sample_type & ~shared) | (first->sample_type & shared);
}

static void make_stream(enum agreement agreement, struct build_rng *rng)
{
	perch_decoder_free(stream.decoder);
	memset(&stream, 0, sizeof(stream));
	stream.nr = 1 + build_below(rng, EVENTS);
	for (size_t i = 0; i < stream.nr; i++) {
		build_fill_shape(&stream.shape[i], rng);
		agree(&stream.shape[i], &stream.shape[0], agreement);
		build_attr(&stream.attr[i], &stream.shape[i]);
		for (size_t k = 0; k < IDS; k++)
			stream.ids[i][k] = build_random(rng) | 1;
		stream.event[i] = (struct perch_decoder_event){ &stream.attr[i], stream.ids[i],
								1 + build_below(rng, IDS) };
	}
	stream.big_endian = stream.shape[0].big_endian;
	assert_int_equal(perch_decoder_new(&stream.decoder, stream.event, stream.nr,
					   order_of(stream.big_endian), NULL),
			 0);
}

static const char *unlike(const struct perch_record *record, size_t event)
{
	bool timed = wanted.shape.sample_type & PERCH_SAMPLE_TIME;
	uint64_t time = 0;

	if (record->event != event)
		return "it was taken for another event's";
	if (perch_decoder_time(stream.decoder, bytes.byte, bytes.size, &time) != timed)
		return timed ? "it has no time" : "it has a time";
	if (timed && time != wanted.sample_id.time)
		return "it has another time";
	return build_difference(record, &wanted);
}

static void one_record(uint64_t seed, struct build_rng *rng)
{
	size_t event = build_below(rng, stream.nr);
	struct perch_error err = { 0 };
	struct perch_record record;
	const char *difference;

	wanted.shape = stream.shape[event];
	build_fill(&wanted, build_percent(rng, 50) ? PERCH_RECORD_SAMPLE : 0, rng);
	wanted.sample_id.id = stream.ids[event][build_below(rng, stream.event[event].nr_ids)];
	build_write(&bytes, &wanted);
	memset(&record, 0xee, sizeof(record));
	if (perch_decoder_decode(stream.decoder, bytes.byte, bytes.size, &record, &err))
		fail_msg("PERCH_SEED=%llu PERCH_CASES=1: %s", (unsigned long long)seed,
			 err.message);
	difference = unlike(&record, event);
	if (difference)
		fail_msg("PERCH_SEED=%llu PERCH_CASES=1: type %u of event %zu of %zu: %s",
			 (unsigned long long)seed, wanted.type, event, stream.nr, difference);
}

/* With several events, a sample with an unknown id belongs to none. */
static void try_unknown_id(struct build_rng *rng)
{
	struct perch_error err = { 0 };
	struct perch_record record;

	if (stream.nr < 2)
		return;
	wanted.shape = stream.shape[build_below(rng, stream.nr)];
	build_fill(&wanted, PERCH_RECORD_SAMPLE, rng);
	wanted.sample_id.id = build_random(rng) & ~UINT64_C(1);
	build_write(&bytes, &wanted);
	assert_int_equal(perch_decoder_decode(stream.decoder, bytes.byte, bytes.size, &record,
					      &err),
			 -EBADMSG);
	assert_int_equal(record.type, PERCH_RECORD_SAMPLE);
	assert_int_equal(record.size, bytes.size);
}

static void try_streams(enum agreement agreement)
{
	uint64_t seed = build_number_from("PERCH_SEED", 1),
		 cases = build_number_from("PERCH_CASES", CASES);

	printf("seeds %llu and %llu more\n", (unsigned long long)seed,
	       (unsigned long long)cases - 1);
	for (uint64_t i = 0; i < cases; i++) {
		struct build_rng rng = { .state = seed + i };

		make_stream(agreement, &rng);
		for (size_t k = 0; k < RECORDS; k++)
			one_record(seed + i, &rng);
		if (agreement != BY_NOTHING)
			try_unknown_id(&rng);
	}
}

static void finds_events_by_identifier(void **state)
{
	(void)state;
	try_streams(BY_IDENTIFIER);
}

static void finds_events_by_position(void **state)
{
	(void)state;
	try_streams(BY_POSITION);
}

static void finds_events_with_disagreeing_attrs(void **state)
{
	(void)state;
	try_streams(BY_NOTHING);
}

/* ---- deferred call chains ---- */

struct waiting {
	struct build_record record;
	_Alignas(8) uint8_t bytes[1024];
	uint64_t cookie, kernel_ip;
};

static struct waiting waiting[WAITING];

/* A sample with one kernel address and the marker. */
static void build_waiting(struct waiting *one, const struct build_shape *shape,
			  struct build_rng *rng)
{
	struct build_words *chain = &one->record.sample.callchain;

	one->record.shape = *shape;
	build_fill(&one->record, PERCH_RECORD_SAMPLE, rng);
	one->record.newer = 0;
	one->cookie = build_below(rng, 3);
	one->kernel_ip = build_below(rng, UINT32_MAX);
	one->record.sample_id.tid = build_below(rng, 3);
	chain->nr = 4;
	chain->word[0] = PERCH_CONTEXT_KERNEL;
	chain->word[1] = one->kernel_ip;
	chain->word[2] = PERCH_CONTEXT_USER_DEFERRED;
	chain->word[3] = one->cookie;
	build_write(&bytes, &one->record);
	assert_in_range(bytes.size, 1, sizeof(one->bytes));
	memcpy(one->bytes, bytes.byte, bytes.size);
}

/* The complete chain: the address of the sample, then the deferred ones. */
static void check_whole(const struct perch_record *record, const struct waiting *one,
			const struct build_words *later)
{
	struct perch_chain_address address;
	struct perch_chain chain;

	assert_memory_equal(record->bytes, one->bytes, record->size);
	perch_chain_init(&chain, record);
	assert_true(perch_chain_next(&chain, &address));
	assert_int_equal(address.ip, one->kernel_ip);
	assert_int_equal(address.cpumode, PERCH_MISC_KERNEL);
	for (uint64_t i = later && later->word[0] == PERCH_CONTEXT_USER; later && i < later->nr;
	     i++) {
		assert_true(perch_chain_next(&chain, &address));
		assert_int_equal(address.ip, later->word[i]);
		assert_int_equal(address.cpumode, PERCH_MISC_USER);
	}
	assert_false(perch_chain_next(&chain, &address));
	assert_int_equal(chain.deferred, !later);
}

static size_t merge_chains(struct perch_deferred *deferred_samples,
			   const struct perch_parse_info *parse_info, uint64_t cookie, uint32_t tid,
			   struct build_rng *rng)
{
	struct perch_record deferred, record;
	size_t merged = 0;

	build_fill(&wanted, PERCH_RECORD_CALLCHAIN_DEFERRED, rng);
	wanted.cookie = cookie;
	wanted.sample_id.tid = tid;
	/* Linux writes only addresses; a marker before them is optional */
	wanted.chain.nr = 1 + build_below(rng, 8);
	for (uint64_t i = 0; i < wanted.chain.nr; i++)
		wanted.chain.word[i] = build_below(rng, UINT32_MAX);
	if (build_below(rng, 2))
		wanted.chain.word[0] = PERCH_CONTEXT_USER;
	build_write(&bytes, &wanted);
	assert_int_equal(perch_record_decode(&deferred, parse_info, bytes.byte, bytes.size, NULL),
			 0);
	for (size_t i = 0; i < WAITING; i++) {
		if (waiting[i].cookie != cookie || waiting[i].record.sample_id.tid != tid)
			continue;
		assert_int_equal(perch_deferred_next(deferred_samples, &deferred, &record), 1);
		check_whole(&record, &waiting[i], &wanted.chain);
		merged++;
	}
	assert_int_equal(perch_deferred_next(deferred_samples, &deferred, &record), 0);
	return merged;
}

static void merges_deferred_chains(void **state)
{
	uint64_t seed = build_number_from("PERCH_SEED", 1),
		 cases = build_number_from("PERCH_CASES", CASES);
	struct build_shape shape = { .sample_id_all = true,
				     .sample_type = PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME |
						    PERCH_SAMPLE_CALLCHAIN };

	(void)state;
	for (uint64_t n = 0; n < cases; n++) {
		struct build_rng rng = { .state = seed + n };
		struct perch_deferred *deferred_samples;
		struct perch_record record;
		struct perch_parse_info parse_info;
		struct perch_attr attr;
		size_t merged = 0;

		shape.big_endian = n & 1;
		wanted.shape = shape;
		build_attr(&attr, &shape);
		perch_parse_info_init(&parse_info, &attr, order_of(shape.big_endian));
		assert_int_equal(perch_deferred_new(&deferred_samples, 0, NULL), 0);
		for (size_t i = 0; i < WAITING; i++) {
			build_waiting(&waiting[i], &shape, &rng);
			assert_int_equal(perch_record_decode(&record, &parse_info, waiting[i].bytes,
							     bytes.size, NULL),
					 0);
			assert_int_equal(perch_deferred_hold(deferred_samples, &record), 1);
		}
		for (uint64_t cookie = 0; cookie < 2; cookie++)
			for (uint32_t tid = 0; tid < 3; tid++)
				merged += merge_chains(deferred_samples, &parse_info, cookie, tid,
						       &rng);
		/* No record has cookie 2: its samples are returned incomplete at the end. */
		for (size_t i = 0; i < WAITING; i++) {
			if (waiting[i].cookie != 2)
				continue;
			assert_int_equal(perch_deferred_next(deferred_samples, NULL, &record), 1);
			check_whole(&record, &waiting[i], NULL);
			merged++;
		}
		assert_int_equal(perch_deferred_next(deferred_samples, NULL, &record), 0);
		assert_int_equal(merged, WAITING);
		perch_deferred_free(deferred_samples);
	}
}

static int tear_down(void **state)
{
	(void)state;
	perch_decoder_free(stream.decoder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_events_by_identifier),
		cmocka_unit_test(finds_events_by_position),
		cmocka_unit_test(finds_events_with_disagreeing_attrs),
		cmocka_unit_test(merges_deferred_chains),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}

/* SPDX-License-Identifier: MIT */
/*
 * Decoding allocates no memory: counts allocations while records of every type and attr are
 * decoded.
 */
#include "record_fixture.h"
#include "count_allocations.h"

static void put_body(struct built *b, uint32_t type)
{
	start_record(b, type, 0);
	if (type == PERCH_RECORD_SAMPLE) {
		put_u64(b, BUILT_ID);
		put_u64(b, 0x1000);
		put_u64(b, 2);
		put_u64(b, PERCH_CONTEXT_USER);
		put_u64(b, 0x1000);
		put_u32(b, 4);
		put_u32(b, 0);
	} else {
		for (int i = 0; i < 10; i++)
			put_u64(b, 0);
		put_u64(b, BUILT_ID);
	}
	end_record(b);
}

static void decoding_allocates_nothing(void **state)
{
	struct perch_attr attr = {
		.sample_type = PERCH_SAMPLE_IDENTIFIER | PERCH_SAMPLE_IP | PERCH_SAMPLE_CALLCHAIN |
			       PERCH_SAMPLE_RAW,
		.sample_id_all = 1,
	};
	const uint64_t ids[2] = { BUILT_ID, BUILT_ID + 1 };
	struct perch_decoder_event events[2] = { { &attr, ids, 1 }, { &attr, ids + 1, 1 } };
	struct perch_chain_address address;
	struct perch_decoder *decoder;
	struct perch_record record;
	struct perch_chain chain;
	struct perch_error err;
	struct built b;
	uint64_t time;
	size_t before;

	(void)state;
	if (!count_allocations())
		skip(); /* the allocator of this C library cannot be replaced */
	before = allocations;
	assert_int_equal(perch_decoder_new(&decoder, events, 2, PERCH_BYTES_NATIVE, NULL), 0);
	assert_true(allocations > before); /* they are counted */
	before = allocations;
	for (uint32_t i = 0; i < 10000; i++) {
		int rc;

		put_body(&b, 1 + i % 30);
		rc = perch_decoder_decode(decoder, &record, b.bytes, b.size, &err);
		if (rc ||
		    perch_decoder_decode(decoder, &record, b.bytes, b.size - 8, &err) != -EBADMSG)
			fail_msg("type %u: %s", 1 + i % 30, err.message);
		perch_decoder_decode(decoder, &record, b.bytes, b.size, NULL);
		perch_decoder_time(decoder, b.bytes, b.size, &time);
		perch_chain_init(&chain, &record);
		while (perch_chain_next(&chain, &address))
			;
	}
	assert_int_equal(allocations, before);
	perch_decoder_free(decoder);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(decoding_allocates_nothing) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Decoding allocates no memory, nor does reading the fields of a tracepoint: counts allocations
 * while records of every type and attr are decoded.
 */
#include <perch/tracepoint.h>

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
		rc = perch_decoder_decode(decoder, b.bytes, b.size, &record, &err);
		if (rc ||
		    perch_decoder_decode(decoder, b.bytes, b.size - 8, &record, &err) != -EBADMSG)
			fail_msg("type %u: %s", 1 + i % 30, err.message);
		perch_decoder_decode(decoder, b.bytes, b.size, &record, NULL);
		perch_decoder_time(decoder, b.bytes, b.size, &time);
		perch_chain_init(&chain, &record);
		while (perch_chain_next(&chain, &address))
			;
	}
	assert_int_equal(allocations, before);
	perch_decoder_free(decoder);
}

static int count_field(void *context, const struct perch_field *field)
{
	(void)field;
	++*(size_t *)context;
	return 0;
}

/* A record that is copied to the scratch, and the fields of its tracepoint. */
static void pieces_and_tracepoints_allocate_nothing(void **state)
{
	static const char text[] =
		"\tfield:int common_pid;\toffset:0;\tsize:4;\tsigned:1;\n"
		"\tfield:__data_loc char[] name;\toffset:4;\tsize:4;\tsigned:0;\n"
		"\tfield:u16 pair[2];\toffset:8;\tsize:4;\tsigned:0;\n";
	const struct perch_tracepoint_text source = { .text = text, .size = sizeof(text) - 1 };
	static uint8_t scratch[PERCH_SCRATCH_BYTES];
	struct perch_parse_info parse_info = layout_of(PERCH_SAMPLE_RAW);
	struct perch_tracepoint_format *format;
	struct perch_record record;
	struct built b;
	const char *name;
	size_t before, length, fields = 0;

	(void)state;
	if (!count_allocations())
		skip(); /* the allocator of this C library cannot be replaced */
	assert_int_equal(perch_tracepoint_format_parse(&format, &source, NULL), 0);
	start_record(&b, PERCH_RECORD_SAMPLE, 0);
	put_u32(&b, 20);
	put_u32(&b, 7);
	put_u32(&b, 5 << 16 | 12);
	put_u32(&b, 0x20001);
	put_bytes(&b, "name\0...", 8);
	end_record(&b);
	before = allocations;
	for (size_t cut = 0; cut <= b.size; cut++) {
		struct iovec pieces[2] = { { b.bytes, cut }, { b.bytes + cut, b.size - cut } };

		assert_int_equal(perch_record_decode_pieces(&record, &parse_info, pieces, 2,
							    scratch, sizeof(scratch), NULL),
				 0);
		assert_int_equal(
			perch_tracepoint_get_text(perch_tracepoint_format_find(format, "name"),
						  &record, &name, &length),
			0);
		assert_string_equal(name, "name");
		perch_tracepoint_visit(format, &record, count_field, &fields);
	}
	assert_int_equal(allocations, before);
	assert_int_equal(fields, 6 * (b.size + 1));
	perch_tracepoint_format_free(format);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decoding_allocates_nothing),
		cmocka_unit_test(pieces_and_tracepoints_allocate_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Records other than samples, and their events. */
#include <stdlib.h>
#include "record_fixture.h"

static int decode_with_trailer(struct perch_record *record, struct built *built)
{
	struct perch_parse_info parse_info = layout_of(TRAILER);
	int rc;

	put_trailer(built, TRAILER, BUILT_TIME, BUILT_ID);
	rc = decode(record, &parse_info, built);
	if (!rc)
		check_trailer(&record->sample_id);
	return rc;
}

static void mmap_is_decoded(void **state)
{
	struct perch_record record;
	struct built b;

	(void)state;
	start_record(&b, PERCH_RECORD_MMAP, PERCH_MISC_USER);
	put_u32(&b, 7);
	put_u32(&b, 8);
	put_u64(&b, 0x400000);
	put_u64(&b, 0x1000);
	put_u64(&b, 0x2000);
	put_name(&b, "/bin/true");
	assert_int_equal(decode_with_trailer(&record, &b), 0);
	assert_int_equal(record.type, PERCH_RECORD_MMAP);
	assert_int_equal(record.misc, PERCH_MISC_USER);
	assert_int_equal(record.size, b.size);
	assert_int_equal(record.mmap.pid, 7);
	assert_int_equal(record.mmap.tid, 8);
	assert_int_equal(record.mmap.start, 0x400000);
	assert_int_equal(record.mmap.length, 0x1000);
	assert_int_equal(record.mmap.page_offset, 0x2000);
	assert_int_equal(record.mmap.filename.length, 9);
	assert_string_equal(record.mmap.filename.text, "/bin/true");
	assert_int_equal(record.mmap.build_id_size, 0);
}

static void start_mmap2(struct built *b, uint16_t misc)
{
	start_record(b, PERCH_RECORD_MMAP2, misc);
	put_u32(b, 7);
	put_u32(b, 8);
	put_u64(b, 0x400000);
	put_u64(b, 0x1000);
	put_u64(b, 0x2000);
}

static void mmap2_is_decoded(void **state)
{
	struct perch_record record;
	struct built b;

	(void)state;
	start_mmap2(&b, PERCH_MISC_USER);
	put_u32(&b, 8);
	put_u32(&b, 1);
	put_u64(&b, 4711);
	put_u64(&b, 5);
	put_u32(&b, 5);
	put_u32(&b, 2);
	put_name(&b, "/lib/libc.so");
	assert_int_equal(decode_with_trailer(&record, &b), 0);
	assert_int_equal(record.mmap.start, 0x400000);
	assert_int_equal(record.mmap.major, 8);
	assert_int_equal(record.mmap.minor, 1);
	assert_int_equal(record.mmap.inode, 4711);
	assert_int_equal(record.mmap.inode_generation, 5);
	assert_int_equal(record.mmap.protection, 5);
	assert_int_equal(record.mmap.flags, 2);
	assert_int_equal(record.mmap.build_id_size, 0);
	assert_string_equal(record.mmap.filename.text, "/lib/libc.so");
}

/* The size byte of a build id may be more than 20. */
static void mmap2_build_id_is_decoded(void **state)
{
	static const struct {
		uint8_t size, decoded;
	} sizes[] = { { 0, 0 }, { 8, 8 }, { 20, 20 }, { 21, 20 }, { 255, 20 } };
	uint8_t id[20];

	(void)state;
	for (size_t i = 0; i < sizeof(id); i++)
		id[i] = i + 1;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct perch_record record;
		struct built b;

		start_mmap2(&b, PERCH_MISC_USER | PERCH_MISC_MMAP_BUILD_ID);
		put_bytes(&b, (const uint8_t[4]){ sizes[i].size }, 4);
		put_bytes(&b, id, sizeof(id));
		put_u32(&b, 5);
		put_u32(&b, 2);
		put_name(&b, "/lib/libc.so");
		assert_int_equal(decode_with_trailer(&record, &b), 0);
		assert_int_equal(record.mmap.build_id_size, sizes[i].decoded);
		assert_memory_equal(record.mmap.build_id, id, sizes[i].decoded);
		assert_int_equal(record.mmap.inode, 0);
		assert_int_equal(record.mmap.protection, 5);
	}
}

/* As an event without attr.build_id. */
static int decode_without_id(struct perch_record *record, struct built *built)
{
	struct perch_parse_info parse_info = layout_of(TRAILER);

	parse_info.build_id = false;
	put_trailer(built, TRAILER, BUILT_TIME, BUILT_ID);
	return decode(record, &parse_info, built);
}

/* The flag of an event with build ids in a record of an event without them. */
static void mmap2_with_the_flag_of_another_event(void **state)
{
	static const struct {
		uint32_t major, minor;
		uint64_t inode, generation;
	} files[] = {
		{ 8, 1, 4711, 5 },	    { 254, 0, 0xbfc04d, 0x60b7c816 }, { 259, 2, 7, 0 },
		{ 0, 43, 12, 1 },	    { 8, 0xfffff, UINT32_MAX, 0 },    { 9, 0, 4711, 0 },
		{ 0x10000008, 1, 4711, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct perch_record record;
		struct built b;

		start_mmap2(&b, PERCH_MISC_USER | PERCH_MISC_MMAP_BUILD_ID);
		put_u32(&b, files[i].major);
		put_u32(&b, files[i].minor);
		put_u64(&b, files[i].inode);
		put_u64(&b, files[i].generation);
		put_u32(&b, 5);
		put_u32(&b, 2);
		put_name(&b, "/lib/libc.so");
		assert_int_equal(decode_without_id(&record, &b), 0);
		assert_int_equal(record.misc, PERCH_MISC_USER);
		assert_int_equal(record.mmap.build_id_size, 0);
		assert_int_equal(record.mmap.major, files[i].major);
		assert_int_equal(record.mmap.minor, files[i].minor);
		assert_int_equal(record.mmap.inode, files[i].inode);
		assert_int_equal(record.mmap.inode_generation, files[i].generation);
		assert_int_equal(record.mmap.protection, 5);
		assert_string_equal(record.mmap.filename.text, "/lib/libc.so");
	}
}

/* perf inject puts build ids into records of events without them. */
static void mmap2_build_id_of_a_tool(void **state)
{
	static const uint8_t sizes[] = { 8, 16, 20 };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes); i++) {
		static const uint8_t id[20] = "\xde\xad\xbe\xef\1\2\3\4\5\6\7\10\11\12\13\14"
					      "\15\16\17\20";
		static const uint8_t zeros[20];
		struct perch_record record;
		struct built b;

		start_mmap2(&b, PERCH_MISC_USER | PERCH_MISC_MMAP_BUILD_ID);
		put_bytes(&b, &(uint8_t[4]){ sizes[i] }, 4);
		put_bytes(&b, id, sizes[i]);
		put_bytes(&b, zeros, sizeof(id) - sizes[i]);
		put_u32(&b, 5);
		put_u32(&b, 2);
		put_name(&b, "/lib/libc.so");
		assert_int_equal(decode_without_id(&record, &b), 0);
		assert_int_equal(record.misc, PERCH_MISC_USER | PERCH_MISC_MMAP_BUILD_ID);
		assert_int_equal(record.mmap.build_id_size, sizes[i]);
		assert_memory_equal(record.mmap.build_id, id, sizes[i]);
		assert_int_equal(record.mmap.inode, 0);
	}
}

static void comm_is_decoded(void **state)
{
	struct perch_record record;
	struct built b;

	(void)state;
	start_record(&b, PERCH_RECORD_COMM, PERCH_MISC_COMM_EXEC);
	put_u32(&b, 7);
	put_u32(&b, 8);
	put_name(&b, "sh");
	assert_int_equal(decode_with_trailer(&record, &b), 0);
	assert_int_equal(record.comm.pid, 7);
	assert_int_equal(record.comm.tid, 8);
	assert_true(record.comm.exec);
	assert_string_equal(record.comm.comm.text, "sh");
	assert_int_equal(record.comm.comm.length, 2);
}

/* A name must end in a NUL. A name that fills the record is refused. */
static void names_must_end(void **state)
{
	struct perch_parse_info parse_info = layout_of(0);
	struct perch_error err = { 0 };
	struct perch_record record;
	struct built b;

	(void)state;
	start_record(&b, PERCH_RECORD_COMM, 0);
	put_u64(&b, 0);
	put_bytes(&b, "12345678", 8);
	end_record(&b);
	assert_int_equal(perch_record_decode(&record, &parse_info, b.bytes, sizeof(b.bytes), &err),
			 -EBADMSG);
	assert_int_equal(err.kind, PERCH_ERROR_FORMAT);
	assert_non_null(strstr(err.message, "comm"));
	start_record(&b, PERCH_RECORD_MMAP, 0);
	for (int i = 0; i < 4; i++)
		put_u64(&b, 0);
	end_record(&b);
	assert_int_equal(perch_record_decode(&record, &parse_info, b.bytes, sizeof(b.bytes), &err),
			 -EBADMSG);
}

static void tasks_are_decoded(void **state)
{
	static const uint32_t types[] = { PERCH_RECORD_FORK, PERCH_RECORD_EXIT };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct perch_record record;
		struct built b;

		start_record(&b, types[i], 0);
		for (uint32_t k = 1; k <= 4; k++)
			put_u32(&b, k);
		put_u64(&b, 99);
		assert_int_equal(decode_with_trailer(&record, &b), 0);
		assert_int_equal(record.task.pid, 1);
		assert_int_equal(record.task.ppid, 2);
		assert_int_equal(record.task.tid, 3);
		assert_int_equal(record.task.ptid, 4);
		assert_int_equal(record.task.time, 99);
	}
}

static void losses_are_decoded(void **state)
{
	struct perch_record record;
	struct built b;

	(void)state;
	start_record(&b, PERCH_RECORD_LOST, 0);
	put_u64(&b, 5);
	put_u64(&b, 600);
	assert_int_equal(decode_with_trailer(&record, &b), 0);
	assert_int_equal(record.lost.id, 5);
	assert_int_equal(record.lost.lost, 600);
	start_record(&b, PERCH_RECORD_LOST_SAMPLES, 0);
	put_u64(&b, 700);
	assert_int_equal(decode_with_trailer(&record, &b), 0);
	assert_int_equal(record.lost.id, 0);
	assert_int_equal(record.lost.lost, 700);
}

static void throttles_are_decoded(void **state)
{
	static const uint32_t types[] = { PERCH_RECORD_THROTTLE, PERCH_RECORD_UNTHROTTLE };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct perch_record record;
		struct built b;

		start_record(&b, types[i], 0);
		for (uint64_t k = 1; k <= 3; k++)
			put_u64(&b, k);
		assert_int_equal(decode_with_trailer(&record, &b), 0);
		assert_int_equal(record.throttle.time, 1);
		assert_int_equal(record.throttle.id, 2);
		assert_int_equal(record.throttle.stream_id, 3);
	}
}

static void read_record_is_decoded(void **state)
{
	struct perch_parse_info parse_info = layout_of(TRAILER);
	struct perch_read_value value;
	struct perch_record record;
	struct built b;

	(void)state;
	parse_info.read_format = PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING |
				 PERCH_FORMAT_ID | PERCH_FORMAT_LOST;
	start_record(&b, PERCH_RECORD_READ, 0);
	put_u32(&b, 7);
	put_u32(&b, 8);
	for (uint64_t k = 1; k <= 5; k++)
		put_u64(&b, 10 * k);
	put_trailer(&b, TRAILER, BUILT_TIME, BUILT_ID);
	assert_int_equal(decode(&record, &parse_info, &b), 0);
	check_trailer(&record.sample_id);
	assert_int_equal(record.read.pid, 7);
	assert_int_equal(record.read.tid, 8);
	assert_int_equal(record.read.values.nr, 1);
	assert_int_equal(record.read.values.enabled_ns, 20);
	assert_int_equal(record.read.values.running_ns, 30);
	perch_read_values_at(&record.read.values, 0, &value);
	assert_int_equal(value.value, 10);
	assert_int_equal(value.id, 40);
	assert_int_equal(value.lost, 50);
}

/* Types without a view, also future ones, have their bytes and sample_id. */
static void other_records_have_their_bytes(void **state)
{
	(void)state;
	for (uint32_t type = 0; type < 100; type++) {
		struct perch_parse_info parse_info = layout_of(TRAILER);
		struct perch_record record;
		struct built b;

		/* the last three types end after their fields, which are zeros here */
		if (type == PERCH_RECORD_SAMPLE || type == PERCH_RECORD_READ ||
		    type == PERCH_RECORD_KSYMBOL || type == PERCH_RECORD_BPF_EVENT ||
		    type == PERCH_RECORD_TEXT_POKE)
			continue;
		start_record(&b, type, 0x1234);
		for (int i = 0; i < 10; i++)
			put_u64(&b, 0);
		put_trailer(&b, TRAILER, BUILT_TIME, BUILT_ID);
		assert_int_equal(decode(&record, &parse_info, &b), 0);
		assert_int_equal(record.type, type);
		assert_int_equal(record.misc, 0x1234);
		assert_int_equal(record.size, b.size);
		assert_memory_equal(record.bytes, b.bytes, b.size);
		if (type < 64)
			check_trailer(&record.sample_id);
		else
			assert_int_equal(record.sample_id.has, 0);
	}
}

static void without_sample_id_all_there_is_no_trailer(void **state)
{
	struct perch_attr attr = { .sample_type = TRAILER };
	struct perch_parse_info parse_info;
	struct perch_record record;
	struct built b;

	(void)state;
	perch_parse_info_init(&parse_info, &attr, PERCH_BYTES_NATIVE);
	assert_int_equal(parse_info.id_size, 0);
	assert_int_equal(parse_info.trailer_id_word, -1);
	assert_int_equal(parse_info.trailer_time_word, -1);
	start_record(&b, PERCH_RECORD_COMM, 0);
	put_u64(&b, 0);
	put_name(&b, "x");
	assert_int_equal(decode(&record, &parse_info, &b), 0);
	assert_int_equal(record.sample_id.has, 0);
}

/* ---- several events ---- */

static void make_sample(struct built *b, uint64_t sample_type, uint64_t id)
{
	start_record(b, PERCH_RECORD_SAMPLE, 0);
	if (sample_type & PERCH_SAMPLE_IDENTIFIER)
		put_u64(b, id);
	if (sample_type & PERCH_SAMPLE_IP)
		put_u64(b, 0x1000 + id);
	if (sample_type & PERCH_SAMPLE_TIME)
		put_u64(b, BUILT_TIME);
	if (sample_type & PERCH_SAMPLE_ADDR)
		put_u64(b, 0xadd0);
	if (sample_type & PERCH_SAMPLE_ID)
		put_u64(b, id);
	end_record(b);
}

static void decoder_finds_the_event(void **state)
{
	const uint64_t type = PERCH_SAMPLE_IDENTIFIER | PERCH_SAMPLE_IP | PERCH_SAMPLE_TIME;
	struct perch_attr attrs[3] = {
		{ .sample_type = type, .sample_id_all = 1 },
		{ .sample_type = type | PERCH_SAMPLE_ADDR, .sample_id_all = 1 },
		{ .sample_type = type, .sample_id_all = 1 },
	};
	uint64_t ids[300];
	struct perch_decoder_event events[3];
	struct perch_decoder *decoder;
	struct perch_record record;
	struct perch_error err = { 0 };
	struct built b;
	uint64_t time;

	(void)state;
	for (size_t i = 0; i < 300; i++)
		ids[i] = 1000 + 7 * i;
	for (size_t i = 0; i < 3; i++)
		events[i] = (struct perch_decoder_event){ &attrs[i], ids + 100 * i, 100 };
	assert_int_equal(perch_decoder_new(&decoder, events, 3, PERCH_BYTES_NATIVE, &err), 0);
	for (size_t i = 0; i < 300; i++) {
		make_sample(&b, attrs[i / 100].sample_type, ids[i]);
		assert_int_equal(perch_decoder_decode(decoder, b.bytes, b.size, &record, &err), 0);
		assert_int_equal(record.event, i / 100);
		assert_int_equal(record.sample.ip, 0x1000 + ids[i]);
		assert_int_equal(record.sample.addr, i / 100 == 1 ? 0xadd0 : 0);
		assert_true(perch_decoder_time(decoder, b.bytes, b.size, &time));
		assert_int_equal(time, BUILT_TIME);
		start_record(&b, PERCH_RECORD_COMM, 0);
		put_u64(&b, 0);
		put_name(&b, "x");
		put_trailer(&b, type, 55, ids[i]);
		end_record(&b);
		assert_int_equal(perch_decoder_decode(decoder, b.bytes, b.size, &record, &err), 0);
		assert_int_equal(record.event, i / 100);
		assert_int_equal(record.sample_id.id, ids[i]);
		assert_true(perch_decoder_time(decoder, b.bytes, b.size, &time));
		assert_int_equal(time, 55);
	}
	/*
	 * A sample with an unknown id cannot be decoded; id 0 (records of perf) belongs to the
	 * first event.
	 */
	make_sample(&b, type, 5);
	assert_int_equal(perch_decoder_decode(decoder, b.bytes, b.size, &record, &err), -EBADMSG);
	assert_false(perch_decoder_time(decoder, b.bytes, b.size, &time));
	make_sample(&b, type, 0);
	assert_int_equal(perch_decoder_decode(decoder, b.bytes, b.size, &record, &err), 0);
	assert_int_equal(record.event, 0);
	perch_decoder_free(decoder);
}

/* Older versions of perf had no IDENTIFIER: the id follows other fields, here at two positions. */
static void decoder_finds_ids_at_different_positions(void **state)
{
	struct perch_attr attrs[2] = {
		{ .sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_TIME | PERCH_SAMPLE_ID },
		{ .sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_ID },
	};
	uint64_t ids[2] = { 11, 22 };
	struct perch_decoder_event events[2] = { { &attrs[0], &ids[0], 1 },
						 { &attrs[1], &ids[1], 1 } };
	struct perch_decoder *decoder;
	struct perch_record record;
	struct built b;
	uint64_t time;

	(void)state;
	assert_int_equal(perch_decoder_new(&decoder, events, 2, PERCH_BYTES_NATIVE, NULL), 0);
	for (size_t i = 0; i < 2; i++) {
		make_sample(&b, attrs[i].sample_type, ids[i]);
		assert_int_equal(perch_decoder_decode(decoder, b.bytes, b.size, &record, NULL), 0);
		assert_int_equal(record.event, i);
		assert_int_equal(record.sample.id, ids[i]);
		assert_int_equal(perch_decoder_time(decoder, b.bytes, b.size, &time), i == 0);
	}
	perch_decoder_free(decoder);
}

static void decoder_of_one_event_needs_no_id(void **state)
{
	struct perch_attr attr = { .sample_type = PERCH_SAMPLE_IP };
	struct perch_decoder_event event = { .attr = &attr };
	struct perch_decoder *decoder;
	struct perch_record record;
	struct built b;

	(void)state;
	assert_int_equal(perch_decoder_new(&decoder, &event, 1, PERCH_BYTES_NATIVE, NULL), 0);
	make_sample(&b, attr.sample_type, 1);
	assert_int_equal(perch_decoder_decode(decoder, b.bytes, b.size, &record, NULL), 0);
	assert_int_equal(record.sample.ip, 0x1001);
	perch_decoder_free(decoder);
	assert_int_equal(perch_decoder_new(&decoder, &event, 0, PERCH_BYTES_NATIVE, NULL), -EINVAL);
	assert_null(decoder);
	assert_int_equal(perch_decoder_new(&decoder, &event, 70000, PERCH_BYTES_NATIVE, NULL),
			 -EINVAL);
	perch_decoder_free(NULL);
}

static void records_have_names(void **state)
{
	(void)state;
	assert_null(perch_record_name(0));
	assert_string_equal(perch_record_name(PERCH_RECORD_MMAP), "MMAP");
	assert_string_equal(perch_record_name(PERCH_RECORD_SAMPLE), "SAMPLE");
	for (uint32_t type = 1; type <= 22; type++)
		assert_non_null(perch_record_name(type));
	assert_null(perch_record_name(23));
	assert_string_equal(perch_record_name(64), "ATTR");
	assert_string_equal(perch_record_name(68), "FINISHED_ROUND");
	assert_string_equal(perch_record_name(83), "COMPRESSED2");
	assert_null(perch_record_name(UINT32_MAX));
}

/* Ids that collide in a hash by multiplication: with such a hash this test would not end. */
static void separates_colliding_ids(void **state)
{
	enum { NR = 1000000 };
	uint64_t inverse = 1, *ids = malloc(NR * sizeof(*ids));
	struct perch_attr attr = { .sample_type = PERCH_SAMPLE_IDENTIFIER };
	struct perch_decoder_event events[2] = { { &attr, ids, NR }, { &attr, NULL, 0 } };
	struct perch_decoder *decoder;

	(void)state;
	assert_non_null(ids);
	for (int i = 0; i < 6; i++)
		inverse *= 2 - 0x9e3779b97f4a7c15u * inverse;
	for (uint64_t i = 0; i < NR; i++)
		ids[i] = (i + 1) * inverse;
	assert_int_equal(perch_decoder_new(&decoder, events, 2, PERCH_BYTES_NATIVE, NULL), 0);
	perch_decoder_free(decoder);
	free(ids);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mmap_is_decoded),
		cmocka_unit_test(mmap2_is_decoded),
		cmocka_unit_test(mmap2_build_id_is_decoded),
		cmocka_unit_test(mmap2_with_the_flag_of_another_event),
		cmocka_unit_test(mmap2_build_id_of_a_tool),
		cmocka_unit_test(comm_is_decoded),
		cmocka_unit_test(names_must_end),
		cmocka_unit_test(tasks_are_decoded),
		cmocka_unit_test(losses_are_decoded),
		cmocka_unit_test(throttles_are_decoded),
		cmocka_unit_test(read_record_is_decoded),
		cmocka_unit_test(other_records_have_their_bytes),
		cmocka_unit_test(without_sample_id_all_there_is_no_trailer),
		cmocka_unit_test(decoder_finds_the_event),
		cmocka_unit_test(decoder_finds_ids_at_different_positions),
		cmocka_unit_test(decoder_of_one_event_needs_no_id),
		cmocka_unit_test(records_have_names),
		cmocka_unit_test(separates_colliding_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * The event of a record, by ids close together and far distance, in both byte orders; values of
 * every read format.
 */
#include "record_fixture.h"

static const uint64_t identified = PERCH_SAMPLE_IDENTIFIER | PERCH_SAMPLE_IP | PERCH_SAMPLE_TIME;
static const uint64_t by_id = PERCH_SAMPLE_IP | PERCH_SAMPLE_TIME | PERCH_SAMPLE_ID;

static void build_sample(struct built *b, uint64_t type, uint64_t id)
{
	start_record(b, PERCH_RECORD_SAMPLE, PERCH_MISC_USER);
	if (type & PERCH_SAMPLE_IDENTIFIER)
		put_u64(b, id);
	put_u64(b, 0x1000);
	put_u64(b, BUILT_TIME);
	if (type & PERCH_SAMPLE_ID)
		put_u64(b, id);
	end_record(b);
}

static void build_comm(struct built *b, uint64_t type, uint64_t id)
{
	start_record(b, PERCH_RECORD_COMM, 0);
	put_u64(b, 0);
	put_name(b, "x");
	put_trailer(b, type, BUILT_TIME, id);
	end_record(b);
}

static void expect_event(struct perch_decoder *decoder, struct built *b, int event)
{
	struct perch_error err = { 0 };
	struct perch_record record;
	uint64_t time = 0;
	int rc = perch_decoder_decode(decoder, b->bytes, b->size, &record, &err);

	if (event < 0) {
		assert_int_equal(rc, -EBADMSG);
		assert_non_null(strstr(err.message, "no event has the id"));
		assert_int_equal(record.type, PERCH_RECORD_SAMPLE);
		assert_int_equal(record.parse_info->swapped, built_swapped);
		return;
	}
	if (rc)
		fail_msg("%s", err.message);
	assert_int_equal(record.event, event);
	assert_true(perch_decoder_time(decoder, b->bytes, b->size, &time));
	assert_int_equal(time, BUILT_TIME);
	assert_int_equal(record.sample_id.time, BUILT_TIME);
}

/* Two events with two ids each, `distance` from one to the next. */
static void try_ids(uint64_t first, uint64_t distance, uint64_t type_a, uint64_t type_b)
{
	struct perch_attr attrs[2] = {
		{ .sample_type = type_a, .sample_id_all = 1 },
		{ .sample_type = type_b, .sample_id_all = 1 },
	};
	const uint64_t ids[4] = { first, first + distance, first + 2 * distance,
				  first + 3 * distance };
	struct perch_decoder_event events[2] = { { &attrs[0], ids, 2 }, { &attrs[1], ids + 2, 2 } };
	struct perch_decoder *decoder;
	struct built b;

	assert_int_equal(perch_decoder_new(&decoder, events, 2, built_order(), NULL), 0);
	for (int i = 0; i < 4; i++) {
		build_sample(&b, attrs[i / 2].sample_type, ids[i]);
		expect_event(decoder, &b, i / 2);
		build_comm(&b, attrs[i / 2].sample_type, ids[i]);
		expect_event(decoder, &b, i / 2);
	}
	build_sample(&b, type_a, first + 4 * distance);
	expect_event(decoder, &b, -1);
	build_sample(&b, type_a, first - 1);
	expect_event(decoder, &b,
		     first == 1 ? 0 : -1); /* id 0 is for records of perf: the first event */
	build_comm(&b, type_a, first + 4 * distance);
	expect_event(decoder, &b, 0);
	perch_decoder_free(decoder);
}

static void ids_select_the_event(void **state)
{
	static const uint64_t firsts[] = { 1, 77, 1ull << 40 };
	static const uint64_t distances[] = { 1, 7, 1ull << 32, 1ull << 61 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		for (size_t k = 0; k < 4; k++) {
			try_ids(firsts[i], distances[k], identified, identified);
			try_ids(firsts[i], distances[k], by_id, by_id);
			try_ids(firsts[i], distances[k], identified, by_id);
			try_ids(firsts[i], distances[k], by_id, identified);
		}
	}
}

static void ids_of_the_other_byte_order(void **state)
{
	built_swapped = true;
	ids_select_the_event(state);
	built_swapped = false;
}

/* A record too short for its id, or for a header, is an error. */
static void short_records_of_several_events(void **state)
{
	struct perch_attr attr = { .sample_type = identified, .sample_id_all = 1 };
	const uint64_t ids[2] = { 1, 2 };
	struct perch_decoder_event events[2] = { { &attr, ids, 1 }, { &attr, ids + 1, 1 } };
	struct perch_decoder *decoder;
	struct perch_record record;
	struct built b;
	uint64_t time;

	(void)state;
	assert_int_equal(perch_decoder_new(&decoder, events, 2, PERCH_BYTES_NATIVE, NULL), 0);
	build_sample(&b, identified, 2);
	for (size_t size = 0; size < b.size; size++) {
		assert_true(perch_decoder_decode(decoder, b.bytes, size, &record, NULL) < 0);
		if (size < 32)
			assert_false(
				perch_decoder_time(decoder, b.bytes, size < 8 ? size : 8, &time));
	}
	for (size_t size = 8; size < b.size; size++) {
		uint8_t *exact = malloc(size); /* the sanitizers find an access beyond it */

		assert_non_null(exact);
		memcpy(exact, b.bytes, size);
		set_record_size(exact, size);
		assert_true(perch_decoder_decode(decoder, exact, size, &record, NULL) < 0);
		perch_decoder_time(decoder, exact, size, &time);
		free(exact);
	}
	assert_int_equal(perch_decoder_decode(decoder, b.bytes, b.size, &record, NULL), 0);
	assert_int_equal(record.event, 1);
	perch_decoder_free(decoder);
}

/*
 * If the attrs have the id at different positions, that of IDENTIFIER is tried first, because a
 * time may equal an id.
 */
static void identifier_comes_first(void **state)
{
	struct perch_attr by_position = { .sample_type = PERCH_SAMPLE_TIME | PERCH_SAMPLE_ID };
	struct perch_attr by_name = { .sample_type = PERCH_SAMPLE_TIME | PERCH_SAMPLE_IDENTIFIER };
	const uint64_t ids[2] = { BUILT_TIME, 8 };
	struct perch_decoder_event events[2] = { { &by_position, ids, 1 },
						 { &by_name, ids + 1, 1 } };
	struct perch_decoder *decoder;
	struct built b;

	(void)state;
	assert_int_equal(perch_decoder_new(&decoder, events, 2, PERCH_BYTES_NATIVE, NULL), 0);
	start_record(&b, PERCH_RECORD_SAMPLE, 0);
	put_u64(&b, 8);
	put_u64(&b, BUILT_TIME); /* the position of the other attr's id */
	end_record(&b);
	expect_event(decoder, &b, 1);
	perch_decoder_free(decoder);
}

static void put_values(struct built *b, uint64_t format, uint64_t nr)
{
	if (format & PERCH_FORMAT_GROUP)
		put_u64(b, nr);
	else
		put_u64(b, 100);
	if (format & PERCH_FORMAT_TOTAL_TIME_ENABLED)
		put_u64(b, 1000);
	if (format & PERCH_FORMAT_TOTAL_TIME_RUNNING)
		put_u64(b, 900);
	for (uint64_t i = 0; i < nr; i++) {
		if (format & PERCH_FORMAT_GROUP)
			put_u64(b, 100 + i);
		if (format & PERCH_FORMAT_ID)
			put_u64(b, 200 + i);
		if (format & PERCH_FORMAT_LOST)
			put_u64(b, 300 + i);
	}
}

static void check_values(const struct perch_read_values *values, uint64_t format, uint64_t nr)
{
	struct perch_read_value value;

	assert_int_equal(values->nr, nr);
	assert_int_equal(values->enabled_ns, format & PERCH_FORMAT_TOTAL_TIME_ENABLED ? 1000 : 0);
	assert_int_equal(values->running_ns, format & PERCH_FORMAT_TOTAL_TIME_RUNNING ? 900 : 0);
	for (uint64_t i = 0; i < nr; i++) {
		perch_read_values_at(values, i, &value);
		assert_int_equal(value.value, 100 + i);
		assert_int_equal(value.id, format & PERCH_FORMAT_ID ? 200 + i : 0);
		assert_int_equal(value.lost, format & PERCH_FORMAT_LOST ? 300 + i : 0);
	}
	perch_read_values_at(values, nr, &value);
	assert_int_equal(value.value | value.id | value.lost, 0);
}

static void decodes_every_read_format(void **state)
{
	(void)state;
	for (uint64_t format = 0; format < PERCH_FORMAT_MAX; format++) {
		for (uint64_t nr = format & PERCH_FORMAT_GROUP ? 0 : 1;
		     nr <= (format & PERCH_FORMAT_GROUP ? 3 : 1); nr++) {
			struct perch_parse_info parse_info = layout_of(PERCH_SAMPLE_READ);
			struct perch_record record;
			struct built b;

			parse_info.read_format = format;
			start_record(&b, PERCH_RECORD_SAMPLE, 0);
			put_values(&b, format, nr);
			assert_int_equal(decode(&record, &parse_info, &b), 0);
			assert_int_equal(record.trailing_bytes, 0);
			check_values(&record.sample.read, format, nr);
			start_record(&b, PERCH_RECORD_READ, 0);
			put_u64(&b, 0);
			put_values(&b, format, nr);
			assert_int_equal(decode(&record, &parse_info, &b), 0);
			assert_int_equal(record.trailing_bytes, 0);
			check_values(&record.read.values, format, nr);
		}
	}
}

static void decodes_every_read_format_of_the_other_byte_order(void **state)
{
	built_swapped = true;
	decodes_every_read_format(state);
	built_swapped = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_select_the_event),
		cmocka_unit_test(ids_of_the_other_byte_order),
		cmocka_unit_test(short_records_of_several_events),
		cmocka_unit_test(identifier_comes_first),
		cmocka_unit_test(decodes_every_read_format),
		cmocka_unit_test(decodes_every_read_format_of_the_other_byte_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

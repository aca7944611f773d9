/* SPDX-License-Identifier: MIT */
/* Tests the reader with undecodable records, branch counters of groups, and deferred call chains.
 */
#include "file_fixture.h"

/* ---- damaged records ---- */

static void delivers_undecodable_records_on_request(void **state)
{
	struct perch_writer *writer = open_writer();
	struct perch_reader_damage damage;
	struct perch_error err = { 0 };
	struct perch_reader *reader;
	struct perch_record record;
	uint64_t first;
	struct built b;

	(void)state;
	put_sample(writer, 21, 1);
	start_record(&b, PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL);
	put_u64(&b, 21);
	put_u64(&b, 0x1234);
	end_record(&b);
	put_record(writer, &b);
	put_sample(writer, 999, 2); /* an unknown id */
	put_sample(writer, 21, 3);
	close_writer(writer);
	reader = open_reader(PERCH_ORDER_FILE);
	perch_reader_keep_damaged(reader, true);
	assert_int_equal(perch_reader_next(reader, &record, &err), 1);
	first = record.offset;
	assert_int_equal(perch_reader_next(reader, &record, &err), -EBADMSG);
	assert_int_equal(record.type, PERCH_RECORD_SAMPLE);
	assert_int_equal(record.misc, PERCH_MISC_KERNEL);
	assert_int_equal(record.size, 24);
	assert_int_equal(record.offset, first + 48);
	assert_non_null(record.parse_info);
	assert_int_equal(record.sample.ip, 0);
	assert_memory_equal(record.bytes, b.bytes, 24);
	assert_true(err.message[0]);
	assert_int_equal(perch_reader_next(reader, &record, &err), -EBADMSG);
	assert_non_null(strstr(err.message, "999"));
	assert_non_null(record.parse_info);
	assert_int_equal(perch_reader_next(reader, &record, &err), 1);
	assert_int_equal(record.sample.time, 3);
	assert_int_equal(perch_reader_next(reader, &record, &err), 0);
	perch_reader_get_damage(reader, &damage);
	assert_int_equal(damage.undecoded_records, 2);
	perch_reader_rewind(reader);
	perch_reader_keep_damaged(reader, false);
	assert_int_equal(read_all(reader), 2);
	perch_reader_close(reader);
}

/* One event of a group has branch counters: the samples of all of them do. */
static void groups_share_branch_counters(void **state)
{
	struct perch_file_event group[2] = { events[0], events[1] };
	/* one group: empty name, leader, members */
	const uint32_t description[] = { 1, 4, 0, 0, 2 };
	struct perch_writer *writer;
	struct perch_reader *reader;
	struct perch_record record;
	struct built b;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		group[i].attr.sample_type = TYPE | PERCH_SAMPLE_BRANCH_STACK |
					    PERCH_SAMPLE_DATA_SRC;
		group[i].attr.branch_sample_type = PERCH_SAMPLE_BRANCH_ANY |
						   (i ? PERCH_SAMPLE_BRANCH_COUNTERS : 0);
	}
	assert_int_equal(perch_writer_open(&writer, path, group, 2, NULL), 0);
	build_sample(&b, 21, 1);
	put_u64(&b, 1);
	for (uint64_t word = 1; word <= 3; word++)
		put_u64(&b, word);
	put_u64(&b, 77); /* the counters */
	put_u64(&b, 88);
	end_record(&b);
	put_record(writer, &b);
	assert_int_equal(perch_writer_set_feature(writer, PERCH_FEATURE_GROUP_DESC, description,
						  sizeof(description), NULL),
			 0);
	close_writer(writer);
	reader = open_reader(PERCH_ORDER_FILE);
	assert_int_equal(perch_reader_next(reader, &record, NULL), 1);
	assert_int_equal(record.sample.branches.nr, 1);
	assert_non_null(record.sample.branches.counters);
	assert_int_equal(record.sample.branches.counters[0], 77);
	assert_int_equal(record.sample.data_src, 88);
	assert_int_equal(record.trailing_bytes, 0);
	perch_reader_close(reader);
}

/* ---- deferred call chains ---- */

#define CHAIN_TYPE (TYPE | PERCH_SAMPLE_CALLCHAIN)

static void put_chain_sample(struct perch_writer *writer, uint64_t time, uint64_t cookie)
{
	struct built b;

	start_record(&b, PERCH_RECORD_SAMPLE, PERCH_MISC_KERNEL);
	put_u64(&b, 21);
	put_u64(&b, 0xffffffff81000000);
	put_u32(&b, BUILT_PID);
	put_u32(&b, BUILT_TID);
	put_u64(&b, time);
	put_u64(&b, 1000);
	put_u64(&b, cookie ? 4 : 2);
	put_u64(&b, PERCH_CONTEXT_KERNEL);
	put_u64(&b, 0xffffffff81000000);
	if (cookie) {
		put_u64(&b, PERCH_CONTEXT_USER_DEFERRED);
		put_u64(&b, cookie);
	}
	end_record(&b);
	put_record(writer, &b);
}

static void put_deferred(struct perch_writer *writer, uint64_t time, uint64_t cookie)
{
	struct built b;

	start_record(&b, PERCH_RECORD_CALLCHAIN_DEFERRED, PERCH_MISC_USER);
	put_u64(&b, cookie);
	put_u64(&b, 1); /* without PERCH_CONTEXT_USER, as Linux 7.2 */
	put_u64(&b, 0x401000);
	put_trailer(&b, CHAIN_TYPE, time, 21);
	end_record(&b);
	put_record(writer, &b);
}

static struct perch_writer *open_chain_writer(bool defers)
{
	struct perch_file_event event = events[0];
	struct perch_writer *writer;

	event.attr.sample_type = CHAIN_TYPE;
	event.attr.defer_callchain = defers;
	event.members = 0;
	assert_int_equal(perch_writer_open(&writer, path, &event, 1, NULL), 0);
	return writer;
}

static void make_deferred_file(bool defers)
{
	struct perch_writer *writer = open_chain_writer(defers);

	put_chain_sample(writer, 10, 7);
	put_chain_sample(writer, 20, 0);
	put_chain_sample(writer, 30, 7);
	put_deferred(writer, 40, 7);
	put_chain_sample(writer, 50, 8); /* without a deferred call chain */
	put_chain_sample(writer, 60, 0);
	close_writer(writer);
}

/* The user address, if the chain has it, comes after the kernel's. */
static void expect_merged(struct perch_reader *reader, const uint64_t *times,
			  const unsigned int *lengths)
{
	struct perch_chain_address address;
	struct perch_record record;
	struct perch_chain chain;

	for (size_t i = 0; i < 6; i++) {
		unsigned int length = 0;

		assert_int_equal(perch_reader_next(reader, &record, NULL), 1);
		assert_int_equal(record.sample_id.time, times[i]);
		perch_chain_init(&chain, &record);
		while (perch_chain_next(&chain, &address)) {
			bool user = length || record.type != PERCH_RECORD_SAMPLE;

			assert_int_equal(address.cpumode,
					 user ? PERCH_MISC_USER : PERCH_MISC_KERNEL);
			length++;
		}
		assert_int_equal(length, lengths[i]);
	}
	assert_int_equal(perch_reader_next(reader, &record, NULL), 0);
	assert_int_equal(perch_reader_next(reader, &record, NULL), 0);
}

static void merges_deferred_callchains(void **state)
{
	struct perch_reader *reader;

	(void)state;
	for (int order = PERCH_ORDER_FILE; order <= PERCH_ORDER_TIME; order++) {
		make_deferred_file(true);
		reader = open_reader(order);
		assert_int_equal(perch_reader_merge_deferred(reader, NULL), 0);
		assert_int_equal(perch_reader_merge_deferred(reader, NULL), 0);
		for (int round = 0; round < 2; round++) {
			expect_merged(reader, (const uint64_t[]){ 20, 10, 30, 40, 60, 50 },
				      (const unsigned int[]){ 1, 2, 2, 1, 1, 1 });
			perch_reader_rewind(reader);
		}
		/* rewind while samples are held */
		assert_int_equal(perch_reader_next(reader, &(struct perch_record){ 0 }, NULL), 1);
		assert_int_equal(perch_reader_next(reader, &(struct perch_record){ 0 }, NULL), 1);
		perch_reader_rewind(reader);
		expect_merged(reader, (const uint64_t[]){ 20, 10, 30, 40, 60, 50 },
			      (const unsigned int[]){ 1, 2, 2, 1, 1, 1 });
		perch_reader_close(reader);
		/* without defer_callchain the order stays */
		make_deferred_file(false);
		reader = open_reader(order);
		assert_int_equal(perch_reader_merge_deferred(reader, NULL), 0);
		expect_merged(reader, (const uint64_t[]){ 10, 20, 30, 40, 50, 60 },
			      (const unsigned int[]){ 1, 1, 1, 1, 1, 1 });
		perch_reader_close(reader);
	}
}

/* The sample at 10 is delivered before the next complete one, and that at 50 is complete at once.
 */
static void delivers_incomplete_and_late_samples(void **state)
{
	struct perch_writer *writer = open_chain_writer(true);
	struct perch_reader *reader;

	(void)state;
	put_chain_sample(writer, 10, 5);
	put_chain_sample(writer, 20, 7);
	put_chain_sample(writer, 30, 0);
	put_deferred(writer, 40, 7);
	put_chain_sample(writer, 50, 7);
	put_chain_sample(writer, 60, 9);
	close_writer(writer);
	reader = open_reader(PERCH_ORDER_TIME);
	assert_int_equal(perch_reader_merge_deferred(reader, NULL), 0);
	for (int round = 0; round < 2; round++) {
		expect_merged(reader, (const uint64_t[]){ 30, 10, 20, 40, 50, 60 },
			      (const unsigned int[]){ 1, 1, 2, 1, 2, 1 });
		perch_reader_rewind(reader);
	}
	perch_reader_close(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delivers_undecodable_records_on_request),
		cmocka_unit_test(groups_share_branch_counters),
		cmocka_unit_test(merges_deferred_callchains),
		cmocka_unit_test(delivers_incomplete_and_late_samples),
	};

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}

/* SPDX-License-Identifier: MIT */
/* Tests the order by time: batches of rounds, and rounds that are wrong. */
#include "file_fixture.h"

#define PER_ROUND 8u /* records of a round, with FINISHED_ROUND */
#define MOST	  4000u

static const size_t batches[] = { 1, 3, 50, MOST };

/* Without padding: all bytes are compared. */
struct delivered {
	uint64_t type, time, offset;
};

/* Reads all records. Returns their number. */
static size_t deliver(struct perch_reader *reader, struct delivered *delivered)
{
	uint64_t done, total, before = 0;
	struct perch_record record;
	size_t nr = 0;

	while (perch_reader_next(reader, &record, NULL) > 0) {
		assert_true(nr < MOST);
		delivered[nr++] = (struct delivered){
			.type = record.type,
			.time = record.type == PERCH_RECORD_SAMPLE ? record.sample.time : 0,
			.offset = record.offset,
		};
		perch_reader_progress(reader, &done, &total);
		assert_in_range(done, before, total);
		before = done;
	}
	perch_reader_progress(reader, &done, &total);
	assert_int_equal(done, total);
	return nr;
}

static struct perch_reader *open_with_batch(size_t batch)
{
	struct perch_reader *reader = open_reader(PERCH_ORDER_TIME);

	reader->blocks.batch = batch;
	return reader;
}

static uint64_t late_records(struct perch_reader *reader)
{
	struct perch_reader_damage damage;

	perch_reader_get_damage(reader, &damage);
	assert_int_equal(damage.corrupt_bytes + damage.undecoded_records, 0);
	return damage.late_records;
}

static void expect_order(const struct delivered *delivered, size_t nr)
{
	uint64_t time = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!delivered[i].time)
			continue;
		assert_true(delivered[i].time >= time);
		if (delivered[i].time == time)
			assert_true(delivered[i].offset > delivered[i - 1].offset);
		time = delivered[i].time;
	}
}

/* Rings are read one after the other. Times overlap with those of the round before. */
static void put_round(struct perch_writer *writer, uint64_t round)
{
	uint64_t time = 1000 * round + 100;

	for (size_t i = 1; i < PER_ROUND; i++) {
		time = i == PER_ROUND / 2 ? 1000 * round + 100 : time + (uint64_t)rand() % 460;
		put_sample(writer, ids[i % 3], time);
	}
	put_plain(writer, PERCH_RECORD_FINISHED_ROUND);
}

static void rounds_have_the_order_of_the_whole_file(void **state)
{
	static struct delivered whole[MOST], some[MOST];

	(void)state;
	for (unsigned seed = 0; seed < 30; seed++) {
		struct perch_writer *writer = open_writer();
		struct perch_reader *reader;
		size_t rounds = 1 + seed * 3, nr;

		srand(seed);
		put_plain(writer, PERCH_RECORD_THREAD_MAP);
		for (size_t i = 0; i < rounds; i++) {
			put_round(writer, i);
			if (rand() % 4 == 0)
				put_plain(writer, PERCH_RECORD_CPU_MAP);
		}
		put_sample(writer, 21, 1000 * rounds);
		close_writer(writer);
		reader = open_with_batch(SIZE_MAX);
		nr = deliver(reader, whole);
		perch_reader_close(reader);
		assert_true(nr >= rounds * PER_ROUND + 2);
		expect_order(whole, nr);
		for (size_t i = 0; i < sizeof(batches) / sizeof(*batches); i++) {
			reader = open_with_batch(batches[i]);
			for (int times = 0; times < 3; times++) {
				struct perch_record record;

				assert_int_equal(deliver(reader, some), nr);
				assert_memory_equal(some, whole, nr * sizeof(*some));
				assert_int_equal(late_records(reader), 0);
				perch_reader_rewind(reader);
				/* and from the middle */
				for (size_t k = 0; times && k < nr / 2; k++)
					assert_int_equal(perch_reader_next(reader, &record, NULL),
							 1);
				perch_reader_rewind(reader);
			}
			if (batches[i] <= 3)
				assert_true(reader->blocks.all[0].capacity <= 8 * PER_ROUND);
			perch_reader_close(reader);
		}
	}
}

/* A record that is older than delivered ones comes late, and is counted. */
static void late_records_are_counted(void **state)
{
	static struct delivered delivered[MOST];
	struct perch_writer *writer = open_writer();
	struct perch_reader *reader;
	size_t nr;

	(void)state;
	for (uint64_t round = 0; round < 20; round++) {
		if (round == 10)
			put_sample(writer, 21, 5000);
		put_round(writer, round);
	}
	close_writer(writer);
	reader = open_with_batch(1);
	nr = deliver(reader, delivered);
	assert_int_equal(nr, 20 * PER_ROUND + 1);
	assert_int_equal(late_records(reader), 1);
	perch_reader_rewind(reader);
	assert_int_equal(deliver(reader, delivered), nr);
	assert_int_equal(late_records(reader), 1);
	perch_reader_close(reader);
	/* in one batch, the rounds do not matter */
	reader = open_with_batch(MOST);
	assert_int_equal(deliver(reader, delivered), nr);
	assert_int_equal(late_records(reader), 0);
	expect_order(delivered, nr);
	perch_reader_close(reader);
}

/* After a round of late records, the order continues from their times. */
static void continues_after_a_wrong_time(void **state)
{
	static struct delivered delivered[MOST];
	struct perch_writer *writer = open_writer();
	struct perch_reader *reader;
	size_t nr, from;

	(void)state;
	for (uint64_t round = 0; round < 40; round++) {
		if (round == 10)
			put_sample(writer, 21, 1ull << 60);
		put_round(writer, round);
	}
	close_writer(writer);
	reader = open_with_batch(1);
	nr = deliver(reader, delivered);
	assert_int_equal(nr, 40 * PER_ROUND + 1);
	assert_in_range(late_records(reader), 1, 3 * PER_ROUND);
	for (from = 0; delivered[from].time < 15000 || delivered[from].time >= 1ull << 60; from++)
		assert_true(from < nr);
	expect_order(delivered + from, nr - from);
	assert_true(reader->blocks.all[0].capacity <= 8 * PER_ROUND);
	perch_reader_close(reader);
}

/* A file that repeats its rounds goes back in time. */
static void times_that_go_back(void **state)
{
	static struct delivered delivered[MOST];
	struct perch_writer *writer = open_writer();
	struct perch_reader *reader;

	(void)state;
	for (uint64_t round = 0; round < 90; round++)
		put_round(writer, round % 30);
	close_writer(writer);
	reader = open_with_batch(1);
	assert_int_equal(deliver(reader, delivered), 90 * PER_ROUND);
	assert_in_range(late_records(reader), 2, 4 * PER_ROUND);
	assert_true(reader->blocks.all[0].capacity <= 8 * PER_ROUND);
	perch_reader_close(reader);
}

static void files_without_rounds(void **state)
{
	static struct delivered delivered[MOST];
	struct perch_writer *writer = open_writer();
	struct perch_reader *reader;

	(void)state;
	srand(7);
	for (size_t i = 0; i < 500; i++)
		put_sample(writer, 21, 1 + (uint64_t)rand() % 300);
	close_writer(writer);
	reader = open_with_batch(1);
	assert_int_equal(deliver(reader, delivered), 500);
	assert_int_equal(late_records(reader), 0);
	expect_order(delivered, 500);
	perch_reader_close(reader);
}

/* ---- compressed records ---- */

/* A block of zstd that is not compressed. */
static void put_block(struct built *b, const struct built *content, size_t from, size_t size)
{
	uint32_t block = (uint32_t)size << 3;

	put_bytes(b, &block, 3);
	put_bytes(b, content->bytes + from, size);
}

/* The sample that is split continues in the next compressed record. */
static void put_compressed_round(struct perch_writer *writer, uint64_t round)
{
	static const uint8_t frame[6] = { 0x28, 0xb5, 0x2f, 0xfd, 0, 0x38 };
	struct built b, sample;

	for (size_t half = 0; half < 2; half++) {
		start_record(&b, PERCH_RECORD_COMPRESSED, 0);
		if (!round && !half)
			put_bytes(&b, frame, sizeof(frame));
		if (half)
			put_block(&b, &sample, 20, sample.size - 20);
		for (uint64_t i = 0; i < 3; i++) {
			build_sample(&sample, 21, 1000 * round + 100 + 50 * half + 450 * i);
			put_block(&b, &sample, 0, half || i < 2 ? sample.size : 20);
		}
		end_record(&b);
		put_record(writer, &b);
	}
	put_plain(writer, PERCH_RECORD_FINISHED_ROUND);
}

static void discards_decompressed_records(void **state)
{
	static struct delivered whole[MOST], some[MOST];
	struct perch_writer *writer = open_writer();
	struct perch_reader *reader;
	size_t nr;

	(void)state;
	for (uint64_t round = 0; round < 200; round++)
		put_compressed_round(writer, round);
	close_writer(writer);
	reader = open_with_batch(SIZE_MAX);
	nr = deliver(reader, whole);
	perch_reader_close(reader);
	if (!nr) {
		print_message("skipped: built without libzstd\n");
		skip();
	}
	assert_int_equal(nr, 200 * 9);
	for (size_t i = 0; i < sizeof(batches) / sizeof(*batches); i++) {
		reader = open_with_batch(batches[i]);
		for (int times = 0; times < 2; times++) {
			assert_int_equal(deliver(reader, some), nr);
			assert_memory_equal(some, whole, nr * sizeof(*some));
			assert_int_equal(late_records(reader), 0);
			if (batches[i] <= 3) {
				assert_true(reader->output->discarded > 190 * 6 * 48);
				assert_true(reader->output->compressed_capacity <= 64);
			}
			perch_reader_rewind(reader);
		}
		perch_reader_close(reader);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_have_the_order_of_the_whole_file),
		cmocka_unit_test(late_records_are_counted),
		cmocka_unit_test(continues_after_a_wrong_time),
		cmocka_unit_test(times_that_go_back),
		cmocka_unit_test(files_without_rounds),
		cmocka_unit_test(discards_decompressed_records),
	};

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}

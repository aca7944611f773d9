/* SPDX-License-Identifier: MIT */
/* Tests when a recording was made: by its features, whatever times its file has. */
#include "file_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#define SECOND 1000000000ull
#define DAY    (1700000000 * SECOND)

struct clock_data {
	uint32_t version, clock;
	uint64_t wall, time;
};

/* Writes a file whose samples are of the times 100 to 190. clock: NULL is none. */
static struct perch_reader *with_features(const struct clock_data *clock, size_t size,
					  const uint64_t *samples)
{
	const struct timespec times[2] = { { .tv_sec = 12345 }, { .tv_sec = 12345 } };
	struct perch_writer *writer = open_writer();
	struct perch_reader *reader;

	for (uint64_t i = 0; i < 10; i++)
		put_sample(writer, ids[i % 3], 100 + 10 * i);
	if (clock)
		assert_int_equal(perch_writer_set_feature(writer, PERCH_FEATURE_CLOCK_DATA, clock,
							  size, NULL),
				 0);
	if (samples)
		assert_int_equal(perch_writer_set_sample_time(writer, samples[0], samples[1], NULL),
				 0);
	close_writer(writer);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_int_equal(perch_reader_open(&reader, path, PERCH_ORDER_TIME, NULL), 0);
	return reader;
}

static void expect_times(struct perch_reader *reader, uint64_t start, uint64_t end)
{
	struct perch_recording_times times;

	perch_reader_get_times(reader, &times);
	assert_int_equal(times.start, start);
	assert_int_equal(times.end, end);
	perch_reader_close(reader);
}

static void the_clock_dates_the_samples(void **state)
{
	const uint64_t samples[2] = { 100, 190 }, none[2] = { 0, 0 }, wrong[2] = { 190, 100 };
	const struct clock_data at_start = { 1, 1, DAY, 40 }, at_end = { 1, 1, DAY, 240 };
	const size_t size = sizeof(at_start);

	(void)state;
	expect_times(with_features(&at_start, size, samples), DAY, DAY + 150);
	expect_times(with_features(&at_end, size, samples), DAY - 140, DAY);
	/* the moment is in the recording, and nobody knows where */
	expect_times(with_features(&at_start, size, NULL), 0, 0);
	expect_times(with_features(&at_start, size, none), 0, 0);
	expect_times(with_features(&at_start, size, wrong), 0, 0);
	/* the times of the file count for nothing */
	expect_times(with_features(NULL, 0, samples), 0, 0);
	expect_times(with_features(&at_start, size - 1, samples), 0, 0);
}

static void times_outside_of_all_years_are_unknown(void **state)
{
	const uint64_t samples[2] = { 100, 190 };
	const struct clock_data zero = { 1, 1, 0, 40 }, huge = { 1, 1, UINT64_MAX, 40 };
	const struct clock_data last = { 1, 1, INT64_MAX, 150 }, first = { 1, 1, 20, 150 };

	(void)state;
	expect_times(with_features(&zero, sizeof(zero), samples), 0, 0);
	expect_times(with_features(&huge, sizeof(huge), samples), 0, 0);
	expect_times(with_features(&last, sizeof(last), samples), INT64_MAX - 50, 0);
	expect_times(with_features(&first, sizeof(first), samples), 20, 60);
}

static void times_become_times_of_day(void **state)
{
	const struct clock_data clock = { 1, UINT32_MAX, DAY, 40 };
	struct perch_reader *reader = with_features(&clock, sizeof(clock), NULL);
	uint64_t ns = 1;

	(void)state;
	assert_int_equal(perch_reader_time_of_day(reader, 45, &ns), 0);
	assert_int_equal(ns, DAY + 5);
	assert_int_equal(perch_reader_time_of_day(reader, 30, &ns), 0);
	assert_int_equal(ns, DAY - 10);
	perch_reader_close(reader);
	reader = with_features(NULL, 0, NULL);
	assert_int_equal(perch_reader_time_of_day(reader, 45, &ns), -ENODATA);
	perch_reader_close(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_clock_dates_the_samples),
		cmocka_unit_test(times_outside_of_all_years_are_unknown),
		cmocka_unit_test(times_become_times_of_day),
	};

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}

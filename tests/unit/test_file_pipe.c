/* SPDX-License-Identifier: MIT */
/* Tests recordings that are written in pipe format. */
#include "file_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#define MOST_IDS 8174u /* of an event: (65528 - 8 - 128) / 8 */

static const char formats[] = "formats of tracepoints";

static struct perch_writer *open_pipe_writer(int fd)
{
	struct perch_writer *writer;
	struct perch_error err = { 0 };

	if (perch_writer_open_fd(&writer, fd, events, 2, &err))
		fail_msg("%s", err.message);
	return writer;
}

/* Sets features before the first record and after it. */
static void write_recording(int fd)
{
	struct perch_writer *writer = open_pipe_writer(fd);
	char *large = calloc(1, 1 << 16);
	struct built b;

	assert_int_equal(perch_writer_set_feature(writer, PERCH_FEATURE_TRACING_DATA, formats,
						  sizeof(formats), NULL),
			 0);
	assert_int_equal(perch_writer_set_feature(writer, PERCH_FEATURE_OSRELEASE,
						  "\x8\0\0\0006.1\0\0\0\0", 12, NULL),
			 0);
	assert_int_equal(perch_writer_set_feature(writer, PERCH_FEATURE_PMU_MAPPINGS, large,
						  1 << 16, NULL),
			 0);
	free(large);
	build_comm(&b, 1);
	put_record(writer, &b);
	for (uint64_t i = 0; i < 10; i++)
		put_sample(writer, ids[i % 3], 100 + 10 * i);
	assert_int_equal(perch_writer_set_sample_time(writer, 100, 190, NULL), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(perch_writer_add_build_id(writer, PERCH_MISC_USER, build_id, 20,
							   i ? "/bin/other" : "/bin/worker", NULL),
				 0);
	close_writer(writer);
}

/* The types of the records in the order of the file. All have a multiple of 8 bytes. */
static void expect_types(const uint8_t *bytes, size_t size, const uint32_t *types, size_t nr)
{
	size_t at = 16, i;

	for (i = 0; at < size; i++) {
		const uint32_t type = perch__u32(bytes + at);
		const uint16_t record_size = perch__u16(bytes + at + 6);

		assert_true(i < nr);
		assert_int_equal(type, types[i]);
		assert_int_equal(record_size % 8, 0);
		at += record_size;
		if (type == PERCH_RECORD_HEADER_TRACING_DATA)
			at += perch__u32(bytes + at - record_size + 8);
	}
	assert_int_equal(at, size);
	assert_int_equal(i, nr);
}

static void writes_records_in_order(void **state)
{
	static const uint32_t types[] = { PERCH_RECORD_HEADER_ATTR,
					  PERCH_RECORD_HEADER_ATTR,
					  PERCH_RECORD_EVENT_UPDATE,
					  PERCH_RECORD_EVENT_UPDATE,
					  PERCH_RECORD_HEADER_TRACING_DATA,
					  PERCH_RECORD_HEADER_FEATURE,
					  PERCH_RECORD_COMM,
					  PERCH_RECORD_SAMPLE,
					  PERCH_RECORD_SAMPLE,
					  PERCH_RECORD_SAMPLE,
					  PERCH_RECORD_SAMPLE,
					  PERCH_RECORD_SAMPLE,
					  PERCH_RECORD_SAMPLE,
					  PERCH_RECORD_SAMPLE,
					  PERCH_RECORD_SAMPLE,
					  PERCH_RECORD_SAMPLE,
					  PERCH_RECORD_SAMPLE,
					  PERCH_RECORD_HEADER_BUILD_ID,
					  PERCH_RECORD_HEADER_BUILD_ID,
					  PERCH_RECORD_HEADER_FEATURE };
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	uint8_t *bytes;
	size_t size;

	(void)state;
	write_recording(fd);
	/* the descriptor stays open, and its file offset is behind the recording */
	assert_true(lseek(fd, 0, SEEK_CUR) > 0);
	close(fd);
	bytes = read_whole_file(path, &size);
	expect_types(bytes, size, types, sizeof(types) / sizeof(types[0]));
	free(bytes);
}

/* The size in a pipe includes padding. */
static void expect_feature(const struct perch_reader *reader, enum perch_feature feature,
			   const void *wanted, size_t wanted_size)
{
	const void *data;
	size_t size;

	assert_int_equal(perch_reader_feature(reader, feature, &data, &size), 0);
	assert_true(size >= wanted_size && size < wanted_size + 8);
	assert_memory_equal(data, wanted, wanted_size);
}

static void is_read_as_a_file_is(void **state)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	const struct perch_file_event *got;
	struct perch_reader_damage damage;
	const struct perch_build_id *found;
	struct perch_reader *reader;
	const void *data;
	size_t size;

	(void)state;
	write_recording(fd);
	close(fd);
	reader = open_reader(PERCH_ORDER_TIME);
	assert_int_equal(perch_reader_events(reader, &got), 2);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(got[i].name, events[i].name);
		assert_int_equal(got[i].nr_ids, events[i].nr_ids);
		assert_memory_equal(got[i].ids, events[i].ids, got[i].nr_ids * sizeof(ids[0]));
		assert_int_equal(got[i].attr.config, events[i].attr.config);
		assert_int_equal(got[i].attr.sample_type, TYPE);
	}
	assert_string_equal(perch_reader_text(reader, PERCH_FEATURE_OSRELEASE), "6.1");
	expect_feature(reader, PERCH_FEATURE_SAMPLE_TIME, (const uint64_t[]){ 100, 190 }, 16);
	expect_feature(reader, PERCH_FEATURE_TRACING_DATA, formats, sizeof(formats));
	assert_int_equal(perch_reader_feature(reader, PERCH_FEATURE_PMU_MAPPINGS, &data, &size),
			 -ENOENT);
	assert_int_equal(perch_reader_build_ids(reader, &found), 2);
	assert_string_equal(found[0].path, "/bin/worker");
	assert_string_equal(found[1].path, "/bin/other");
	assert_int_equal(found[1].size, 20);
	assert_memory_equal(found[1].bytes, build_id, 20);
	assert_true(read_all(reader) >= 11);
	perch_reader_get_damage(reader, &damage);
	assert_int_equal(damage.corrupt_bytes + damage.undecoded_records, 0);
	perch_reader_close(reader);
}

/* A pipe that is full, with O_NONBLOCK: the writer waits for its reader. */
static void waits_for_the_reader(void **state)
{
	struct perch_writer *writer;
	int ends[2], status;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	if (!fork()) {
		char buffer[4096];
		size_t total = 0;
		ssize_t got;

		close(ends[1]);
		usleep(20000);
		while ((got = read(ends[0], buffer, sizeof(buffer))) > 0)
			total += (size_t)got;
		_exit(total < 3 << 16);
	}
	close(ends[0]);
	writer = open_pipe_writer(ends[1]);
	close(ends[1]);
	for (uint64_t i = 0; i < 6000; i++)
		put_sample(writer, 21, i);
	assert_int_equal(perch_writer_size(writer), 6000 * 48);
	close_writer(writer);
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
}

static void refuses_after_a_failure(void **state)
{
	struct perch_error err = { 0 };
	struct perch_writer *writer;
	struct iovec one;
	struct built b;
	int ends[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	writer = open_pipe_writer(ends[1]);
	close(ends[0]);
	build_sample(&b, 21, 1);
	one = piece(&b);
	assert_int_equal(perch_writer_append(writer, &one, 1, &err), -EPIPE);
	assert_non_null(strstr(err.message, "cannot write to descriptor"));
	assert_int_equal(perch_writer_append(writer, &one, 1, &err), -EIO);
	assert_int_equal(perch_writer_size(writer), 0);
	assert_int_equal(perch_writer_close(writer, &err), 0);
	close(ends[1]);
	signal(SIGPIPE, SIG_DFL);
	assert_int_equal(perch_writer_open_fd(&writer, 1 << 20, events, 2, &err), -EBADF);
	assert_null(writer);
}

static void limits_ids(void **state)
{
	static uint64_t many[MOST_IDS + 1];
	struct perch_file_event event = events[0];
	struct perch_error err = { 0 };
	struct perch_writer *writer;
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	(void)state;
	event.ids = many;
	event.members = 1;
	event.nr_ids = MOST_IDS;
	assert_int_equal(perch_writer_open_fd(&writer, fd, &event, 1, &err), 0);
	close_writer(writer);
	event.nr_ids = MOST_IDS + 1;
	assert_int_equal(perch_writer_open_fd(&writer, fd, &event, 1, &err), -E2BIG);
	assert_null(writer);
	assert_non_null(strstr(err.message, "at most 8174 ids"));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_records_in_order),
		cmocka_unit_test(is_read_as_a_file_is),
		cmocka_unit_test(waits_for_the_reader),
		cmocka_unit_test(refuses_after_a_failure),
		cmocka_unit_test(limits_ids),
	};

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}

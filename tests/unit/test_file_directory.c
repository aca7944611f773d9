/* SPDX-License-Identifier: MIT */
/* Tests the directories of recorders with several threads. */
#include <sys/stat.h>
#include "file_fixture.h"

static struct perch_writer *open_directory(void)
{
	struct perch_writer *writer;
	struct perch_error err = { 0 };

	if (perch_writer_open_directory(&writer, path, events, 2, &err))
		fail_msg("%s", err.message);
	return writer;
}

static void remove_directory(const char *name)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf '%s'", name);
	assert_int_equal(system(command), 0);
}

/* Each file has every third record, so the order of time is another than that of the files. */
static void reads_all_files_by_time(void **state)
{
	struct perch_reader_damage damage;
	struct perch_writer *writer = open_directory(), *part[3];
	struct perch_reader *reader;
	struct perch_record record;
	uint64_t time = 1;
	const void *data;
	size_t size;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(perch_writer_open_part(&part[i], writer, NULL), 0);
	put_sample(writer, 21, 1);
	for (uint64_t i = 0; i < 300; i++)
		put_sample(part[i % 3], 21, 2 + i);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(perch_writer_size(part[i]), 100 * 48);
		assert_int_equal(perch_writer_close(part[i], NULL), 0);
	}
	close_writer(writer);
	assert_true(perch_is_recording(path));
	reader = open_reader(PERCH_ORDER_TIME);
	while (perch_reader_next(reader, &record, NULL) > 0)
		assert_int_equal(record.sample.time, time++);
	assert_int_equal(time, 302);
	perch_reader_get_damage(reader, &damage);
	assert_int_equal(damage.corrupt_bytes + damage.missing_files, 0);
	assert_int_equal(perch_reader_feature(reader, PERCH_FEATURE_DIR_FORMAT, &data, &size), 0);
	assert_int_equal(size, 8);
	assert_int_equal(perch__u64(data), 1);
	perch_reader_close(reader);
	remove_directory(path);
}

/* Only a directory that has no other files is replaced. */
static void replaces_recordings_alone(void **state)
{
	char other[200];
	struct perch_writer *writer, *part;
	struct stat status;

	(void)state;
	for (int round = 0; round < 4; round++) {
		writer = round % 2 ? open_writer() : open_directory();
		if (round % 2 == 0) {
			assert_int_equal(perch_writer_open_part(&part, writer, NULL), 0);
			assert_int_equal(perch_writer_close(part, NULL), 0);
		}
		close_writer(writer);
		assert_int_equal(stat(path, &status), 0);
		assert_int_equal(S_ISDIR(status.st_mode), round % 2 == 0);
		assert_true(!round || !stat(old_path, &status));
		assert_true(!round || S_ISDIR(status.st_mode) == (round % 2 == 1));
	}
	remove_directory(old_path);
	unlink(path);
	close_writer(open_directory());
	snprintf(other, sizeof(other), "%s/data.txt", path);
	write_whole_file(other, "mine", 4);
	assert_int_equal(perch_writer_open(&writer, path, events, 2, NULL), -EISDIR);
	assert_int_equal(perch_writer_open_directory(&writer, path, events, 2, NULL), -EISDIR);
	assert_int_equal(stat(other, &status), 0);
	remove_directory(path);
	writer = open_writer();
	assert_int_equal(perch_writer_open_part(&part, writer, NULL), -EINVAL);
	close_writer(writer);
	unlink(path);
}

/* Each file is a stream of its own, and the header has the ratio of all. */
static void compresses_each_file(void **state)
{
	struct perch_writer *writer = open_directory(), *part[2];
	struct perch_reader_damage damage;
	struct perch_reader *reader;
	const void *data;
	size_t size;

	(void)state;
	if (perch_writer_compress(writer, 1, PERCH_RECORD_COMPRESSED, NULL) == -ENOTSUP) {
		close_writer(writer);
		remove_directory(path);
		print_message("skipped: built without libzstd\n");
		skip();
	}
	for (size_t i = 0; i < 2; i++) {
		static char many[1000 * 48];
		struct iovec one = { many, sizeof(many) };

		assert_int_equal(perch_writer_open_part(&part[i], writer, NULL), 0);
		assert_int_equal(perch_writer_compress(part[i], 1, PERCH_RECORD_COMPRESSED, NULL),
				 0);
		for (uint64_t k = 0; k < 1000; k++) {
			struct built b;

			build_sample(&b, 21, 1 + k);
			memcpy(many + 48 * k, b.bytes, 48);
		}
		assert_int_equal(perch_writer_append(part[i], &one, 1, NULL), 0);
		assert_int_equal(perch_writer_record_bytes(part[i]), sizeof(many));
	}
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(perch_writer_close(part[i], NULL), 0);
	close_writer(writer);
	assert_true(count_now(&damage) >= 2000);
	assert_int_equal(damage.corrupt_bytes, 0);
	reader = open_reader(PERCH_ORDER_FILE);
	assert_int_equal(perch_reader_feature(reader, PERCH_FEATURE_COMPRESSED, &data, &size), 0);
	assert_in_range(((const uint32_t *)data)[3], 3, 100);
	perch_reader_close(reader);
	remove_directory(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_all_files_by_time),
		cmocka_unit_test(replaces_recordings_alone),
		cmocka_unit_test(compresses_each_file),
	};

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}

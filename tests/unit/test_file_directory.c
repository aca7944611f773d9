/* SPDX-License-Identifier: MIT */
/* Tests the directories of recorders with several threads. */
#include <fcntl.h>
#include <sys/stat.h>
#include "file_fixture.h"
#include "file/order/order.h"

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

/* ---- several files in the order of time ---- */

#define FILES  4
#define ROUNDS 60

/* Writes records of four files. Each has the records of some rings, one after the other in rounds
 * that no record ends; many have the same time. Returns their number. */
static size_t write_files(size_t rings, size_t each)
{
	struct perch_writer *writer = open_directory(), *part[FILES];
	size_t nr = 0;

	for (size_t i = 0; i < FILES; i++)
		assert_int_equal(perch_writer_open_part(&part[i], writer, NULL), 0);
	for (size_t i = 0; i < 2000; i++, nr++)
		put_sample(writer, 21, 0); /* without a time: before all others */
	for (uint64_t round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < FILES * rings; i++) {
			size_t file = i / rings, records = each * (file + 1);

			for (uint64_t k = i % rings; k < records; k += rings, nr++)
				put_sample(part[file], 21,
					   1000 + (round * 1000 + k * 1000 / records) * 10000);
		}
	for (size_t i = 0; i < FILES; i++)
		assert_int_equal(perch_writer_close(part[i], NULL), 0);
	close_writer(writer);
	return nr;
}

/* Reads all samples. most: gets the largest number of records that the index has had. */
static size_t read_files(size_t batch, uint64_t *offsets, size_t *most)
{
	struct perch_reader *reader = open_reader(PERCH_ORDER_TIME);
	struct perch_reader_damage damage;
	struct perch_record record;
	uint64_t last = 0;
	size_t nr = 0;

	reader->blocks.batch = batch;
	*most = 0;
	for (int pass = 0; pass < 2; pass++) {
		nr = 0;
		last = 0;
		while (perch_reader_next(reader, &record, NULL) > 0) {
			if (reader->blocks.block->nr > *most)
				*most = reader->blocks.block->nr;
			if (record.type != PERCH_RECORD_SAMPLE)
				continue;
			offsets[nr] = (uintptr_t)record.bytes - (uintptr_t)reader->file;
			assert_true(!nr || record.sample.time > last ||
				    (record.sample.time == last && offsets[nr] > offsets[nr - 1]));
			last = record.sample.time;
			nr++;
		}
		perch_reader_get_damage(reader, &damage);
		assert_int_equal(damage.late_records + damage.corrupt_bytes, 0);
		perch_reader_rewind(reader);
	}
	perch_reader_close(reader);
	return nr;
}

/* The order is that of one batch, for any size of batches, and the index has a part of the records.
 */
static void check_streams(size_t rings, size_t each, size_t limit)
{
	size_t nr = write_files(rings, each), most;
	uint64_t *whole = calloc(nr, sizeof(*whole)), *part = calloc(nr, sizeof(*part));
	static const size_t batches[] = { 1, 5000 };

	assert_non_null(whole);
	assert_non_null(part);
	assert_int_equal(read_files(SIZE_MAX, whole, &most), nr);
	assert_true(most >= nr);
	for (size_t i = 0; i < sizeof(batches) / sizeof(*batches); i++) {
		assert_int_equal(read_files(batches[i], part, &most), nr);
		assert_memory_equal(part, whole, nr * sizeof(*part));
		assert_in_range(most, 1, limit);
	}
	free(whole);
	free(part);
	remove_directory(path);
}

static void interleaves_files(void **state)
{
	(void)state;
	check_streams(1, 200, 9000);
	check_streams(1, 5, 5000);
	/* a round is out of order */
	check_streams(3, 200, 9000);
}

/* The last record of a file is the oldest one, so nothing can be delivered until all is read. */
static void batches_grow_while_nothing_is_delivered(void **state)
{
	struct perch_writer *writer = open_directory(), *part[2];
	struct perch_reader *reader;
	struct perch__block *block;
	size_t calls = 0;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(perch_writer_open_part(&part[i], writer, NULL), 0);
		for (uint64_t k = 0; k < 20000; k++)
			put_sample(part[i], 21, 1000 + k);
		put_sample(part[i], 21, 1);
		assert_int_equal(perch_writer_close(part[i], NULL), 0);
	}
	close_writer(writer);
	reader = open_reader(PERCH_ORDER_TIME);
	reader->blocks.batch = 1;
	block = &reader->blocks.all[0];
	assert_int_equal(perch__streams_begin(reader, NULL), 0);
	assert_non_null(reader->blocks.sorter.stream);
	for (; !block->ended; calls++)
		assert_int_equal(perch__streams_collect(reader, block, NULL), 0);
	assert_in_range(block->nr, 40002, 40100);
	assert_in_range(calls, 2, 12); /* each sorts all: 80 would be one for each block */
	perch_reader_close(reader);
	remove_directory(path);
}

/* Another program makes a record of a file a compressed one after the first pass. */
static void takes_no_compressed_record_from_a_changed_file(void **state)
{
	const uint32_t type = PERCH_RECORD_COMPRESSED;
	struct perch_writer *writer = open_directory(), *part[2];
	struct perch_reader_damage damage;
	struct perch_reader *reader;
	struct perch_record record;
	char name[200];
	size_t nr = 0;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(perch_writer_open_part(&part[i], writer, NULL), 0);
		for (uint64_t k = 0; k < 4000; k++)
			put_sample(part[i], 21, 1 + k);
		assert_int_equal(perch_writer_close(part[i], NULL), 0);
	}
	close_writer(writer);
	reader = open_reader(PERCH_ORDER_TIME);
	reader->blocks.batch = 1;
	assert_int_equal(perch_reader_next(reader, &record, NULL), 1);
	for (size_t i = 0; i < 2; i++) {
		int fd;

		snprintf(name, sizeof(name), "%s/data.%zu", path, i);
		fd = open(name, O_WRONLY | O_CLOEXEC);
		assert_true(fd >= 0);
		for (off_t k = 3000; k < 3003; k++)
			assert_int_equal(pwrite(fd, &type, sizeof(type), k * 48), sizeof(type));
		close(fd);
	}
	while (perch_reader_next(reader, &record, NULL) > 0)
		nr += record.type == PERCH_RECORD_SAMPLE;
	assert_true(nr >= 7993);
	assert_int_equal(reader->output->nr_compressed, 0);
	perch_reader_get_damage(reader, &damage);
	assert_int_equal(damage.corrupt_bytes, 6 * 48);
	perch_reader_close(reader);
	remove_directory(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_all_files_by_time),
		cmocka_unit_test(replaces_recordings_alone),
		cmocka_unit_test(compresses_each_file),
		cmocka_unit_test(interleaves_files),
		cmocka_unit_test(batches_grow_while_nothing_is_delivered),
		cmocka_unit_test(takes_no_compressed_record_from_a_changed_file),
	};

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}

/* SPDX-License-Identifier: MIT */
/* Tests files with compressed records that the writer has made: whole, cut off, damaged. */
#include <sys/stat.h>
#include "file_fixture.h"

#define MANY 20000

static const enum perch_file_record types[] = { PERCH_RECORD_COMPRESSED, PERCH_RECORD_COMPRESSED2 };

static int needs_zstd(void **state)
{
	struct perch_error err = { 0 };
	int rc = perch_writer_compress(NULL, 1, PERCH_RECORD_COMPRESSED, &err);

	(void)state;
	if (rc == -ENOTSUP)
		assert_non_null(strstr(err.remedy, "zstd"));
	else
		assert_int_equal(rc, 0);
	return rc;
}

static struct perch_writer *open_compressed(enum perch_file_record type, int level)
{
	struct perch_writer *writer = open_writer();
	struct perch_error err = { 0 };

	if (perch_writer_compress(writer, level, type, &err))
		fail_msg("%s", err.message);
	return writer;
}

/* Samples in pieces of a few bytes to many, as rings have them. */
static void put_many(struct perch_writer *writer, size_t nr, uint64_t from)
{
	static const size_t cuts[] = { 1, 60000, 48, 61440, 7, 0, 200000 };
	char *bytes = malloc(nr * 48);
	struct iovec pieces[4096];
	size_t at = 0;
	int n = 0;

	for (size_t i = 0; i < nr; i++) {
		struct built b;

		build_sample(&b, 21, from + i);
		memcpy(bytes + 48 * i, b.bytes, 48);
	}
	for (; at < nr * 48; n++) {
		size_t left = nr * 48 - at, cut = cuts[n % 7];

		pieces[n] = (struct iovec){ cut ? bytes + at : NULL, cut < left ? cut : left };
		at += pieces[n].iov_len;
	}
	assert_int_equal(perch_writer_append(writer, pieces, n, NULL), 0);
	free(bytes);
}

/* Returns the number of samples, whose times must follow each other, from `time` on. */
static uint64_t count_samples(uint64_t time, enum perch_order order,
			      struct perch_reader_damage *damage)
{
	struct perch_reader *reader = open_reader(order);
	struct perch_record record;
	uint64_t nr = 0;

	while (perch_reader_next(reader, &record, NULL) > 0) {
		assert_int_equal(record.offset % 8, 0);
		if (record.type == PERCH_RECORD_SAMPLE)
			assert_int_equal(record.sample.time, time + nr++);
	}
	perch_reader_get_damage(reader, damage);
	perch_reader_close(reader);
	return nr;
}

static void expect_feature(uint32_t level, uint32_t least_ratio)
{
	struct perch_reader *reader = open_reader(PERCH_ORDER_FILE);
	const uint32_t *values;
	const void *data;
	size_t size;

	assert_int_equal(perch_reader_feature(reader, PERCH_FEATURE_COMPRESSED, &data, &size), 0);
	assert_in_range(size, 20, 24); /* that of a pipe has padding */
	values = data;
	assert_int_equal(values[0], 1);
	assert_int_equal(values[1], 1);
	assert_int_equal(values[2], level);
	assert_in_range(values[3], least_ratio, 100);
	assert_true(values[4] > 64 << 10);
	perch_reader_close(reader);
}

static void reads_what_was_compressed(void **state)
{
	struct perch_reader_damage damage;

	(void)state;
	for (size_t i = 0; i < 2; i++)
		for (int level = 1; level <= 19; level += 9) {
			struct perch_writer *writer = open_compressed(types[i], level);
			uint64_t before, size;

			for (uint64_t k = 0; k < 100; k++)
				put_sample(writer, 21, 1 + k);
			put_many(writer, MANY, 101);
			before = perch_writer_record_bytes(writer);
			size = perch_writer_size(writer);
			/* and a FEATURE record of 40 bytes */
			assert_int_equal(before, 48 * (100 + MANY) + 40);
			assert_true(size < before / 4);
			close_writer(writer);
			expect_feature((uint32_t)level, 4);
			for (int order = PERCH_ORDER_FILE; order <= PERCH_ORDER_TIME; order++) {
				assert_int_equal(count_samples(1, order, &damage), 100 + MANY);
				assert_int_equal(damage.corrupt_bytes + damage.undecoded_records +
							 damage.missing_bytes,
						 0);
			}
		}
}

/* Bytes that have no pattern, in records of all sizes. */
static void what_cannot_be_compressed_fits(void **state)
{
	static uint64_t bytes[(1 << 22) / 8];
	struct iovec one = { bytes, 0 };
	uint64_t random = 1;
	size_t nr = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes) / 8; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		bytes[i] = random;
	}
	for (size_t size = 8; one.iov_len + size < sizeof(bytes); nr++) {
		struct perch_record_header header = { 10000, 0, (uint16_t)size };

		memcpy((char *)bytes + one.iov_len, &header, sizeof(header));
		one.iov_len += size;
		size = size < 65528 ? size * 3 / 2 / 8 * 8 + 8 : 8;
		size = size < 65528 ? size : 65528;
	}
	for (size_t i = 0; i < 2; i++) {
		struct perch_writer *writer = open_compressed(types[i], 1);
		struct perch_reader_damage damage;
		struct perch_reader *reader;
		struct perch_record record;
		size_t read = 0, at = 0;

		assert_int_equal(perch_writer_append(writer, &one, 1, NULL), 0);
		close_writer(writer);
		reader = open_reader(PERCH_ORDER_FILE);
		while (perch_reader_next(reader, &record, NULL) > 0) {
			if (record.type != 10000)
				continue;
			assert_memory_equal(record.bytes, (char *)bytes + at, record.size);
			at += record.size;
			read++;
		}
		assert_int_equal(read, nr);
		perch_reader_get_damage(reader, &damage);
		assert_int_equal(damage.corrupt_bytes, 0);
		perch_reader_close(reader);
	}
}

/* Ends like a program that is killed: the writer is not closed. */
static void is_readable_when_killed(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct perch_writer *writer = open_compressed(types[i], 1);
		struct perch_reader_damage damage;

		for (uint64_t nr = 0; nr < 300; nr += 1 + nr / 10) {
			assert_int_equal(count_samples(1, PERCH_ORDER_TIME, &damage), nr);
			assert_true(damage.unfinished);
			assert_int_equal(damage.corrupt_bytes, 0);
			put_many(writer, 1 + nr / 10, 1 + nr);
		}
		close_writer(writer);
	}
}

/* The file has the records up to one, the number of those is known, and it goes on. */
static void full_disk_keeps_whole_records(void **state)
{
	static char many[MANY * 48];
	struct iovec one = { many, sizeof(many) };
	int rc = -EFBIG;

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		struct built b;

		build_sample(&b, 21, 2 + i);
		memcpy(many + 48 * i, b.bytes, 48);
	}
	for (uint64_t space = 0; rc; space = 2 * space + 700) {
		struct perch_writer *writer = open_compressed(PERCH_RECORD_COMPRESSED, 1);
		struct perch_reader_damage damage;
		struct stat status;
		uint64_t before, whole;

		put_sample(writer, 21, 1);
		before = perch_writer_record_bytes(writer);
		assert_int_equal(stat(path, &status), 0);
		rc = append_limited(writer, &one, 1, (uint64_t)status.st_size + space, NULL);
		assert_true(!rc || rc == -EFBIG);
		whole = perch_writer_record_bytes(writer) - before;
		assert_int_equal(whole % 48, 0);
		/* a compressed record has 60 KB of records */
		assert_true(space < 10000 || whole > 50000);
		assert_true(rc ? whole < sizeof(many) : space > 1000 && whole == sizeof(many));
		put_sample(writer, 21, 2 + whole / 48);
		close_writer(writer);
		assert_int_equal(count_samples(1, PERCH_ORDER_FILE, &damage), 2 + whole / 48);
		assert_int_equal(damage.corrupt_bytes + damage.missing_bytes, 0);
	}
}

/* All that is before the end is read. */
static void reads_file_truncated_anywhere(void **state)
{
	struct perch_writer *writer = open_compressed(PERCH_RECORD_COMPRESSED2, 3);
	struct perch_reader_damage damage;
	struct perch__file_header header;
	uint64_t last = 0;
	uint8_t *bytes;
	size_t size;

	(void)state;
	for (uint64_t i = 0; i < 30; i++)
		put_sample(writer, 21, 1 + i);
	close_writer(writer);
	bytes = read_whole_file(path, &size);
	memcpy(&header, bytes, sizeof(header));
	for (size_t cut = header.data.offset; cut < size; cut++) {
		uint64_t nr;

		write_whole_file(path, bytes, cut);
		nr = count_samples(1, PERCH_ORDER_TIME, &damage);
		assert_in_range(nr, last, last + 1);
		last = nr;
	}
	assert_int_equal(last, 30);
	free(bytes);
}

/* A bit of each byte is wrong: also the ratio, the size of the data in a record, the stream. */
static void survives_flipped_bits(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct perch_writer *writer = open_compressed(types[i], 1);
		struct perch__file_header header;
		uint8_t *bytes;
		size_t size;

		put_many(writer, 40, 1);
		close_writer(writer);
		bytes = read_whole_file(path, &size);
		memcpy(&header, bytes, sizeof(header));
		for (size_t at = header.data.offset; at < size; at++) {
			const uint8_t bit = (uint8_t)(1 << at % 7);
			struct perch_error err = { 0 };
			struct perch_reader *reader;
			FILE *nowhere;

			bytes[at] ^= bit;
			write_whole_file(path, bytes, size);
			bytes[at] ^= bit;
			if (perch_reader_open(&reader, path, PERCH_ORDER_TIME, &err))
				continue;
			read_all(reader);
			nowhere = fopen("/dev/null", "w");
			assert_int_equal(perch_reader_print_header(reader, nowhere), 0);
			fclose(nowhere);
			perch_reader_close(reader);
		}
		free(bytes);
	}
}

/* A stack that never changes compresses to less than a thousandth, which is read. */
static void high_ratios_are_read(void **state)
{
	static uint64_t record[65528 / 8];
	struct perch_record_header header = { 10000, 0, sizeof(record) };
	struct perch_writer *writer = open_compressed(PERCH_RECORD_COMPRESSED, 1);
	struct iovec one = { record, sizeof(record) };
	struct perch_reader_damage damage;

	(void)state;
	memcpy(record, &header, sizeof(header));
	for (int i = 0; i < 2500; i++)
		assert_int_equal(perch_writer_append(writer, &one, 1, NULL), 0);
	assert_true(perch_writer_record_bytes(writer) > 64 * (perch_writer_size(writer) + 1000000));
	put_plain(writer, PERCH_RECORD_FINISHED_ROUND);
	close_writer(writer);
	assert_true(count_now(&damage) > 2501);
	assert_false(damage.too_large);
	assert_int_equal(damage.corrupt_bytes, 0);
}

static void refuses_what_it_cannot_do(void **state)
{
	struct perch_writer *writer = open_writer();
	struct perch_error err = { 0 };

	(void)state;
	assert_int_equal(perch_writer_compress(writer, 0, PERCH_RECORD_COMPRESSED, &err), -EINVAL);
	assert_int_equal(perch_writer_compress(writer, 23, PERCH_RECORD_COMPRESSED, &err), -EINVAL);
	assert_non_null(strstr(err.message, "1 to 22"));
	assert_int_equal(perch_writer_compress(writer, 1, PERCH_RECORD_ID_INDEX, &err), -EINVAL);
	put_sample(writer, 21, 1);
	assert_int_equal(perch_writer_compress(writer, 1, PERCH_RECORD_COMPRESSED, &err), -EINVAL);
	close_writer(writer);
}

/* The reader of a pipe needs the feature before the first compressed record. */
static void compresses_pipes(void **state)
{
	struct perch_reader_damage damage;
	struct perch_writer *writer;
	FILE *stream = fopen(path, "wb");

	(void)state;
	assert_int_equal(perch_writer_open_fd(&writer, fileno(stream), events, 2, NULL), 0);
	assert_int_equal(perch_writer_compress(writer, 1, PERCH_RECORD_COMPRESSED, NULL), 0);
	put_many(writer, MANY, 1);
	close_writer(writer);
	fclose(stream);
	expect_feature(1, 4); /* the last one, of the end */
	assert_int_equal(count_samples(1, PERCH_ORDER_TIME, &damage), MANY);
	assert_int_equal(damage.corrupt_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_was_compressed),
		cmocka_unit_test(what_cannot_be_compressed_fits),
		cmocka_unit_test(is_readable_when_killed),
		cmocka_unit_test(full_disk_keeps_whole_records),
		cmocka_unit_test(reads_file_truncated_anywhere),
		cmocka_unit_test(survives_flipped_bits),
		cmocka_unit_test(high_ratios_are_read),
		cmocka_unit_test(refuses_what_it_cannot_do),
		cmocka_unit_test(compresses_pipes),
	};

	if (needs_zstd(NULL)) {
		print_message("skipped: built without libzstd\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}

/* SPDX-License-Identifier: MIT */
/* Tests the reader with truncated, corrupt and unusual files. */
#include <fcntl.h>
#include <sys/stat.h>
#include "file_fixture.h"

/* Opens and reads a file in both orders: it must not crash, and an error must have a message. */
static void try_to_read(size_t most)
{
	for (int order = PERCH_ORDER_FILE; order <= PERCH_ORDER_TIME; order++) {
		struct perch_error err = { 0 };
		struct perch_reader *reader;
		FILE *nowhere;

		if (perch_reader_open(&reader, path, order, &err)) {
			assert_true(strlen(err.message) > strlen(path) + 5);
			assert_true(err.errnum > 0);
			continue;
		}
		assert_true(read_all(reader) <= most);
		nowhere = fopen("/dev/null", "w");
		assert_int_equal(perch_reader_print_long_header(reader, nowhere), 0);
		fclose(nowhere);
		perch_reader_close(reader);
	}
}

static void reads_file_truncated_anywhere(void **state)
{
	struct perch_reader_damage damage;
	struct perch__file_header header;
	uint8_t *bytes;
	size_t size, whole, present;

	(void)state;
	make_file();
	bytes = read_whole_file(path, &size);
	memcpy(&header, bytes, sizeof(header));
	for (size_t cut = 0; cut < size; cut++) {
		write_whole_file(path, bytes, cut);
		try_to_read(11);
		if (cut < header.data.offset)
			continue;
		/* complete records are read, missing bytes are reported */
		present = cut - header.data.offset;
		whole = count_now(&damage);
		if (present >= header.data.size) {
			assert_int_equal(whole, 11);
			assert_int_equal(damage.missing_bytes, 0);
		} else {
			assert_int_equal(whole, present / 48);
			assert_int_equal(damage.missing_bytes, header.data.size - present);
		}
		assert_int_equal(damage.corrupt_bytes, 0);
	}
	free(bytes);
}

static void reads_file_with_flipped_bits(void **state)
{
	static const uint8_t flips[] = { 0x01, 0x10, 0x80, 0xff };
	uint8_t *bytes;
	size_t size;

	(void)state;
	make_file();
	bytes = read_whole_file(path, &size);
	for (size_t at = 0; at < size; at++) {
		for (size_t i = 0; i < sizeof(flips); i++) {
			bytes[at] ^= flips[i];
			write_whole_file(path, bytes, size);
			try_to_read(size / 8);
			bytes[at] ^= flips[i];
		}
	}
	free(bytes);
}

/* perf writes the data size at the end only: a killed recorder leaves 0. */
static void data_size_of_zero_means_all_bytes(void **state)
{
	struct perch_reader_damage damage;
	struct perch__file_header header;
	uint8_t *bytes;
	size_t size;

	(void)state;
	make_file();
	bytes = read_whole_file(path, &size);
	memcpy(&header, bytes, sizeof(header));
	memset(bytes + offsetof(struct perch__file_header, data.size), 0, 8);
	write_whole_file(path, bytes, header.data.offset + header.data.size - 20);
	assert_int_equal(count_now(&damage), 10);
	assert_true(damage.unfinished);
	assert_int_equal(damage.missing_bytes, 0);
	free(bytes);
}

static void stops_at_record_of_invalid_size(void **state)
{
	struct perch_writer *writer = open_writer();
	struct perch_reader_damage damage;
	struct built b;

	(void)state;
	put_sample(writer, 21, 1);
	start_record(&b, PERCH_RECORD_SAMPLE, 0); /* size 0 */
	put_u64(&b, 0);
	put_record(writer, &b);
	put_sample(writer, 21, 2);
	close_writer(writer);
	assert_int_equal(count_now(&damage), 1);
	assert_int_equal(damage.corrupt_bytes, 16 + 48);
}

static void counts_and_skips_undecodable_records(void **state)
{
	struct perch_writer *writer = open_writer();
	struct perch_reader_damage damage;
	struct built b;

	(void)state;
	put_sample(writer, 21, 1);
	start_record(&b, PERCH_RECORD_SAMPLE, 0);
	put_u64(&b, 21);
	end_record(&b);
	put_record(writer, &b);
	put_sample(writer, 999, 2);
	put_plain(writer, 200);
	/* an unknown type */
	start_record(&b, 0, 0);
	put_bytes(&b, "of none", 8);
	put_u64(&b, 0);
	put_u64(&b, 0);
	put_u64(&b, 21);
	end_record(&b);
	put_record(writer, &b);
	put_sample(writer, 21, 3);
	close_writer(writer);
	assert_int_equal(count_now(&damage), 4);
	assert_int_equal(damage.undecoded_records, 2);
	assert_int_equal(damage.unknown_records, 2);
}

/* An unaligned record after a record of odd size. No recorder writes that, but it is readable. */
static void reads_unaligned_records(void **state)
{
	struct perch_writer *writer = open_writer();
	struct perch_reader_damage damage;
	struct built b;

	(void)state;
	start_record(&b, PERCH_RECORD_THREAD_MAP, 0);
	put_bytes(&b, "abc", 3);
	end_record(&b);
	put_record(writer, &b);
	put_sample(writer, 31, 2);
	close_writer(writer);
	assert_int_equal(count_now(&damage), 2);
	assert_int_equal(damage.undecoded_records, 0);
}

static void skips_payloads(void **state)
{
	struct perch_writer *writer = open_writer();
	struct perch_reader_damage damage;
	struct built b;

	(void)state;
	start_record(&b, PERCH_RECORD_AUXTRACE, 0);
	put_u64(&b, 24);
	for (int i = 0; i < 4; i++)
		put_u64(&b, 0);
	end_record(&b);
	for (int i = 0; i < 3; i++)
		put_u64(&b, UINT64_MAX);
	put_record(writer, &b);
	put_sample(writer, 21, 1);
	start_record(&b, PERCH_RECORD_HEADER_TRACING_DATA, 0);
	put_u64(&b, 13);
	end_record(&b);
	put_u64(&b, UINT64_MAX);
	put_u64(&b, UINT64_MAX);
	put_record(writer, &b);
	put_sample(writer, 21, 1);
	start_record(&b, PERCH_RECORD_AUXTRACE, 0); /* larger than the rest of the file */
	put_u64(&b, UINT64_MAX);
	end_record(&b);
	put_record(writer, &b);
	put_sample(writer, 21, 1);
	close_writer(writer);
	assert_int_equal(count_now(&damage), 5);
	assert_int_equal(damage.corrupt_bytes, 48);
}

static void expect_refusal(const void *bytes, size_t size, int rc, enum perch_error_kind kind)
{
	struct perch_error err = { 0 };
	struct perch_reader *reader;

	write_whole_file(path, bytes, size);
	assert_int_equal(perch_reader_open(&reader, path, PERCH_ORDER_FILE, &err), rc);
	assert_null(reader);
	assert_int_equal(err.kind, kind);
	assert_int_equal(strncmp(err.message, path, strlen(path)), 0);
}

static void refuses_other_files(void **state)
{
	uint64_t header[32] = { __builtin_bswap64(PERCH__MAGIC), __builtin_bswap64(104) };
	struct perch_error err = { 0 };
	struct perch_reader *reader;

	(void)state;
	expect_refusal("", 0, -EBADMSG, PERCH_ERROR_TRUNCATED);
	expect_refusal("#!/bin/sh\n", 10, -EBADMSG, PERCH_ERROR_FORMAT);
	expect_refusal("PERFILE2", 8, -EBADMSG, PERCH_ERROR_FORMAT);
	expect_refusal(header, sizeof(header), -EBADMSG, PERCH_ERROR_FORMAT);
	header[0] = PERCH__MAGIC_V1;
	expect_refusal(header, sizeof(header), -EBADMSG, PERCH_ERROR_FORMAT);
	header[0] = PERCH__MAGIC;
	header[1] = 105;
	expect_refusal(header, sizeof(header), -EBADMSG, PERCH_ERROR_FORMAT);
	header[1] = 104;
	expect_refusal(header, 100, -EBADMSG, PERCH_ERROR_TRUNCATED);
	expect_refusal(header, sizeof(header), -EBADMSG, PERCH_ERROR_FORMAT);
	assert_int_equal(perch_reader_open(&reader, test_directory, PERCH_ORDER_FILE, &err),
			 -EISDIR);
	assert_non_null(strstr(err.remedy, "recording"));
	assert_int_equal(perch_reader_open(&reader, "/proc/none", PERCH_ORDER_FILE, &err), -ENOENT);
	assert_true(err.remedy[0]);
	assert_int_equal(perch_reader_open(&reader, "/dev/null", PERCH_ORDER_FILE, &err), -ENOTSUP);
	assert_non_null(strstr(err.remedy, "perf.data"));
	perch_reader_close(NULL);
}

/* ---- pipes ---- */

static void add(uint8_t *bytes, size_t *size, struct built *b)
{
	memcpy(bytes + *size, b->bytes, b->size);
	*size += b->size;
}

/* Writes the header of a pipe and the records of both events. Returns their size. */
static size_t begin_pipe(uint8_t *bytes, uint64_t magic)
{
	uint64_t start[2] = { magic, 16 };
	size_t size = sizeof(start);
	struct built b;

	memcpy(bytes, start, sizeof(start));
	for (size_t i = 0; i < 2; i++) {
		struct perch_attr attr = events[i].attr;

		attr.size = sizeof(attr);
		start_record(&b, PERCH_RECORD_HEADER_ATTR, 0);
		put_bytes(&b, &attr, sizeof(attr));
		put_bytes(&b, events[i].ids, events[i].nr_ids * 8);
		end_record(&b);
		add(bytes, &size, &b);
	}
	return size;
}

static void add_update(uint8_t *bytes, size_t *size, uint64_t type, uint64_t id, const char *text)
{
	struct built b;

	start_record(&b, PERCH_RECORD_EVENT_UPDATE, 0);
	put_u64(&b, type);
	put_u64(&b, id);
	put_bytes(&b, text, 8);
	end_record(&b);
	add(bytes, size, &b);
}

/* Before pipes had features, EVENT_UPDATE records had the names of events. Version 1 of the format
 * had pipes too. */
static void reads_event_names_of_old_pipes(void **state)
{
	static uint8_t bytes[8192];
	const struct perch_file_event *got;
	struct perch_reader *reader;
	size_t size = begin_pipe(bytes, PERCH__MAGIC_V1);

	(void)state;
	add_update(bytes, &size, 0, events[1].ids[0], "msec\0\0\0");
	add_update(bytes, &size, 2, events[1].ids[0], "second\0");
	add_update(bytes, &size, 2, 999999, "nobody\0");
	add_update(bytes, &size, 2, events[0].ids[0], "no_nul_8");
	write_whole_file(path, bytes, size);
	reader = open_reader(PERCH_ORDER_FILE);
	assert_int_equal(perch_reader_byte_order(reader), PERCH_BYTES_NATIVE);
	assert_int_equal(perch_reader_events(reader, &got), 2);
	assert_string_equal(got[0].name, "no_nul_8");
	assert_string_equal(got[1].name, "second");
	assert_int_equal(read_all(reader), 6);
	perch_reader_close(reader);
	for (size_t cut = size; cut-- > 0;) {
		write_whole_file(path, bytes, cut);
		try_to_read(6);
	}
}

static void reads_piped_recordings(void **state)
{
	static uint8_t bytes[8192];
	const struct perch_file_event *got;
	struct perch_reader *reader;
	struct perch_record record;
	size_t size = begin_pipe(bytes, PERCH__MAGIC);
	struct built b;

	(void)state;
	start_record(&b, PERCH_RECORD_HEADER_FEATURE, 0);
	put_u64(&b, PERCH_FEATURE_HOSTNAME);
	put_u32(&b, 8);
	put_bytes(&b, "machine\0pad", 12);
	end_record(&b);
	add(bytes, &size, &b);
	build_sample(&b, 31, 5);
	add(bytes, &size, &b);
	write_whole_file(path, bytes, size);

	reader = open_reader(PERCH_ORDER_TIME);
	assert_int_equal(perch_reader_events(reader, &got), 2);
	assert_int_equal(got[0].nr_ids, 2);
	assert_string_equal(perch_reader_text(reader, PERCH_FEATURE_HOSTNAME), "machine");
	for (int i = 0; i < 4; i++)
		assert_int_equal(perch_reader_next(reader, &record, NULL), 1);
	assert_int_equal(record.type, PERCH_RECORD_SAMPLE);
	assert_int_equal(record.event, 1);
	assert_int_equal(perch_reader_next(reader, &record, NULL), 0);
	perch_reader_close(reader);
	for (size_t cut = size; cut-- > 0;) {
		write_whole_file(path, bytes, cut);
		try_to_read(4);
	}
}

/* ---- compressed records ---- */

/* A zstd block of uncompressed bytes. The first one has the header of the frame. */
static void put_block(struct built *b, const void *data, uint32_t size, bool first)
{
	static const uint8_t frame[6] = { 0x28, 0xb5, 0x2f, 0xfd, 0, 0x38 };
	uint32_t head = size << 3;

	if (first)
		put_bytes(b, frame, sizeof(frame));
	put_bytes(b, &head, 3);
	put_bytes(b, data, size);
}

/* One stream in two records of either type. The second record starts inside of a sample. */
static void write_compressed(struct perch_writer *writer, bool broken)
{
	uint8_t plain[3 * 48];
	struct built b;

	for (uint64_t i = 0; i < 3; i++) {
		build_sample(&b, 21, 10 - i);
		memcpy(plain + 48 * i, b.bytes, 48);
	}
	start_record(&b, PERCH_RECORD_COMPRESSED, 0);
	put_block(&b, plain, 70, true);
	end_record(&b);
	put_record(writer, &b);
	start_record(&b, PERCH_RECORD_COMPRESSED2, 0);
	put_u64(&b, 3 + 74);
	put_block(&b, plain + 70, 74, false);
	b.bytes[16] ^= broken ? 0x06 : 0; /* an invalid type of block */
	put_u32(&b, 0);
	end_record(&b);
	put_record(writer, &b);
	put_sample(writer, 31, 9);
}

static void reads_compressed_records(void **state)
{
	struct perch_writer *writer = open_writer();
	struct perch_reader_damage damage;
	struct perch_reader *reader;
	struct perch_record record;
	struct perch_error err = { 0 };
	int rc;

	(void)state;
	write_compressed(writer, false);
	close_writer(writer);
	reader = open_reader(PERCH_ORDER_FILE);
	rc = perch_reader_next(reader, &record, &err);
	if (rc == -ENOTSUP) {
		print_message("skipped: %s\n", err.message);
		perch_reader_close(reader);
		skip();
	}
	for (int round = 0; round < 2; round++) {
		perch_reader_rewind(reader);
		assert_int_equal(read_all(reader), 6);
		perch_reader_get_damage(reader, &damage);
		assert_int_equal(damage.corrupt_bytes + damage.undecoded_records, 0);
	}
	perch_reader_close(reader);
	assert_int_equal(count_now(&damage), 6);

	writer = open_writer();
	write_compressed(writer, true);
	close_writer(writer);
	assert_int_equal(count_now(&damage), 4);
	/* and 22 bytes of a sample without its rest */
	assert_int_equal(damage.corrupt_bytes, 8 + 8 + 3 + 74 + 4 + 22);
}

/* A block that expands 4 bytes to 128 KiB of zeros. */
static void put_zeros_block(struct built *b)
{
	uint32_t block = (128u << 10) << 3 | 1 << 1;

	put_bytes(b, &block, 4);
}

static void limits_decompressed_bytes(void **state)
{
	static const uint8_t frame[6] = { 0x28, 0xb5, 0x2f, 0xfd, 0, 0x38 };
	struct perch_writer *writer = open_writer();
	struct perch_reader_damage damage;
	struct built b;

	(void)state;
	for (int i = 0; i < 600; i++) {
		if (i % 20 == 0)
			start_record(&b, PERCH_RECORD_COMPRESSED, 0);
		if (!i)
			put_bytes(&b, frame, sizeof(frame));
		put_zeros_block(&b);
		if (i % 20 == 19) {
			end_record(&b);
			put_record(writer, &b);
		}
	}
	put_sample(writer, 21, 1);
	close_writer(writer);
	count_now(&damage);
	if (!damage.corrupt_bytes) {
		print_message("skipped: built without libzstd\n");
		skip();
	}
	assert_true(damage.too_large);
	make_file();
	count_now(&damage);
	assert_false(damage.too_large);
}

/* Another program changes the file while it is read: the size of a record may differ each time it
 * is read. */
static void survives_sizes_that_change(void **state)
{
	struct perch_reader *reader;
	struct perch_record record;
	uint16_t size = UINT16_MAX;
	struct stat status;
	int fd;

	(void)state;
	make_file();
	reader = open_reader(PERCH_ORDER_TIME);
	assert_int_equal(perch_reader_next(reader, &record, NULL), 1);
	fd = open(path, O_WRONLY);
	assert_int_equal(fstat(fd, &status), 0);
	for (size_t i = 1; i < reader->blocks.block->nr; i++)
		assert_int_equal(pwrite(fd, &size, 2, reader->blocks.block->entries[i].offset + 6),
				 2);
	close(fd);
	assert_int_equal(perch_reader_next(reader, &record, NULL), 0);
	assert_int_equal(reader->undecoded, 10);
	perch_reader_close(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_file_truncated_anywhere),
		cmocka_unit_test(reads_file_with_flipped_bits),
		cmocka_unit_test(data_size_of_zero_means_all_bytes),
		cmocka_unit_test(stops_at_record_of_invalid_size),
		cmocka_unit_test(counts_and_skips_undecodable_records),
		cmocka_unit_test(reads_unaligned_records),
		cmocka_unit_test(skips_payloads),
		cmocka_unit_test(refuses_other_files),
		cmocka_unit_test(reads_piped_recordings),
		cmocka_unit_test(reads_event_names_of_old_pipes),
		cmocka_unit_test(reads_compressed_records),
		cmocka_unit_test(limits_decompressed_bytes),
		cmocka_unit_test(survives_sizes_that_change),
	};

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}

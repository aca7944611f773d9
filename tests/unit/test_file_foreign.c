/* SPDX-License-Identifier: MIT */
/* Tests the reader with files of the other byte order, which are made number by number. */
#include "file_fixture.h"

static uint8_t bytes[16384];
static size_t size;

static void other(const void *number, size_t width)
{
	const uint8_t *byte = number;

	for (size_t i = 0; i < width; i++)
		bytes[size + i] = byte[width - 1 - i];
	size += width;
}

static void o16(uint16_t number)
{
	other(&number, sizeof(number));
}

static void o32(uint32_t number)
{
	other(&number, sizeof(number));
}

static void o64(uint64_t number)
{
	other(&number, sizeof(number));
}

static void raw(const void *data, size_t length)
{
	memcpy(bytes + size, data, length);
	size += length;
}

/* Pads with zeros to a multiple of 8. */
static void padded(const char *name)
{
	raw(name, strlen(name) + 1);
	while (size % 8)
		bytes[size++] = 0;
}

static void set64(size_t at, uint64_t number)
{
	size_t saved = size;

	size = at;
	o64(number);
	size = saved;
}

static size_t begin(uint32_t type, uint16_t misc)
{
	o32(type);
	o16(misc);
	o16(0);
	return size - 8;
}

static void end(size_t start)
{
	uint16_t length = size - start;
	size_t saved = size;

	size = start + 6;
	o16(length);
	size = saved;
}

#define SAMPLED (TYPE | PERCH_SAMPLE_CALLCHAIN)

/* An attr with the flags sample_id_all and precise_ip 2, in the bit order of the other machine. */
static void put_attr(uint64_t config)
{
	bool big = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	uint64_t flags = big ? 1ull << (63 - 18) | 1ull << (63 - 15) : 1ull << 18 | 1ull << 16;

	o32(PERCH_TYPE_SOFTWARE);
	o32(112);
	o64(config);
	o64(1000);
	o64(SAMPLED);
	o64(0);
	o64(flags);
	for (int i = 0; i < 8; i++)
		o64(0);
}

static void put_other_sample(uint64_t id, uint64_t time)
{
	size_t start = begin(PERCH_RECORD_SAMPLE, PERCH_MISC_USER);

	o64(id);
	o64(0x401000);
	o32(BUILT_PID);
	o32(BUILT_TID);
	o64(time);
	o64(17);
	o64(3);
	o64(PERCH_CONTEXT_USER);
	o64(0x401000);
	o64(0x402000);
	end(start);
}

static void put_records(void)
{
	size_t start = begin(PERCH_RECORD_COMM, PERCH_MISC_COMM_EXEC);

	o32(BUILT_PID);
	o32(BUILT_TID);
	padded("worker");
	o32(BUILT_PID);
	o32(BUILT_TID);
	o64(5);
	o64(21);
	end(start);
	put_other_sample(31, 30);
	end(begin(PERCH_RECORD_FINISHED_ROUND, 0));
	start = begin(PERCH_RECORD_AUXTRACE, 0);
	o64(16); /* bytes of the payload */
	o64(0);
	o64(0);
	o64(0);
	o64(0);
	end(start);
	o64(UINT64_MAX);
	o64(UINT64_MAX);
	put_other_sample(21, 20);
}

/* A compressed record with one sample, in an uncompressed zstd block. */
static void put_packed(void)
{
	static const uint8_t frame[6] = { 0x28, 0xb5, 0x2f, 0xfd, 0, 0x38 };
	uint32_t head = 80u << 3;
	size_t start = begin(PERCH_RECORD_COMPRESSED2, 0);

	o64(6 + 3 + 80);
	raw(frame, sizeof(frame));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	head = __builtin_bswap32(head);
#endif
	raw(&head, 3);
	put_other_sample(21, 25);
	raw("\0\0\0\0\0\0\0", 7);
	end(start);
}

static void put_text_feature(const char *text)
{
	o32(strlen(text) + 1);
	raw(text, strlen(text) + 1);
}

static void put_feature(enum perch_feature feature)
{
	static const uint8_t id[24] = { 0xde, 0xad, 0xbe, 0xef, [20] = 4 };

	switch (feature) {
	case PERCH_FEATURE_BUILD_ID:
		o32(0);
		o16(PERCH_MISC_USER | PERCH__BUILD_ID_SIZE_KNOWN);
		o16(36 + 12);
		o32(UINT32_MAX);
		raw(id, sizeof(id));
		raw("/bin/worker", 12);
		break;
	case PERCH_FEATURE_HOSTNAME:
		put_text_feature("elsewhere");
		break;
	case PERCH_FEATURE_ARCH:
		put_text_feature("s390x");
		break;
	case PERCH_FEATURE_NRCPUS:
		o32(8);
		o32(6);
		break;
	case PERCH_FEATURE_CMDLINE:
		o32(2);
		put_text_feature("perf");
		put_text_feature("record");
		break;
	case PERCH_FEATURE_SAMPLE_TIME:
		o64(1000000);
		o64(3000000);
		break;
	default: /* COMPRESSED */
		for (uint32_t i = 1; i < 6; i++)
			o32(i);
	}
}

static const enum perch_feature put_features[] = {
	PERCH_FEATURE_BUILD_ID,	  PERCH_FEATURE_HOSTNAME, PERCH_FEATURE_ARCH,
	PERCH_FEATURE_NRCPUS,	  PERCH_FEATURE_CMDLINE,  PERCH_FEATURE_SAMPLE_TIME,
	PERCH_FEATURE_COMPRESSED,
};
#define NR_FEATURES (sizeof(put_features) / sizeof(put_features[0]))

/* halves: the bitmap as a 32-bit machine writes it. */
static void make_foreign(uint64_t magic, bool compressed, bool halves)
{
	size_t ids_at, attrs_at, data_at, table;
	uint64_t bits = 0;

	memset(bytes, 0, sizeof(bytes));
	size = PERCH__HEADER_SIZE;
	ids_at = size;
	for (size_t i = 0; i < 3; i++)
		o64(ids[i]);
	attrs_at = size;
	for (uint64_t i = 0; i < 2; i++) {
		put_attr(i ? PERCH_COUNT_SW_PAGE_FAULTS : 0);
		o64(ids_at + 16 * i);
		o64(i ? 8 : 16);
	}
	data_at = size;
	put_records();
	if (compressed)
		put_packed();
	table = size;
	size += NR_FEATURES * 16;
	for (size_t i = 0; i < NR_FEATURES; i++) {
		size_t at = size;

		put_feature(put_features[i]);
		set64(table + 16 * i, at);
		set64(table + 16 * i + 8, size - at);
		bits |= 1ull << put_features[i];
	}
	memcpy(bytes, &magic, 8);
	set64(8, PERCH__HEADER_SIZE);
	set64(16, 112 + 16);
	set64(24, attrs_at);
	set64(32, 2 * 128);
	set64(40, data_at);
	set64(48, table - data_at);
	set64(72, halves ? bits << 32 | bits >> 32 : bits);
	write_whole_file(path, bytes, size);
}

static void expect_sample(struct perch_reader *reader, uint64_t time, unsigned int event)
{
	struct perch_chain_address address;
	struct perch_record record;
	struct perch_chain chain;

	do
		assert_int_equal(perch_reader_next(reader, &record, NULL), 1);
	while (record.type != PERCH_RECORD_SAMPLE);
	assert_int_equal(record.sample.time, time);
	assert_int_equal(record.sample.tid, BUILT_TID);
	assert_int_equal(record.sample.period, 17);
	assert_int_equal(record.event, event);
	perch_chain_init(&chain, &record);
	assert_true(perch_chain_next(&chain, &address));
	assert_int_equal(address.ip, 0x401000);
	assert_true(perch_chain_next(&chain, &address));
	assert_int_equal(address.ip, 0x402000);
	assert_int_equal(address.cpumode, PERCH_MISC_USER);
	assert_false(perch_chain_next(&chain, &address));
}

static void expect_attrs(const struct perch_reader *reader)
{
	const struct perch_file_event *got;

	assert_int_equal(perch_reader_events(reader, &got), 2);
	assert_int_equal(got[0].attr.size, 112);
	assert_int_equal(got[0].attr.sample_type, SAMPLED);
	assert_true(got[0].attr.sample_id_all);
	assert_int_equal(got[0].attr.precise_ip, 2);
	assert_false(got[0].attr.disabled);
	assert_int_equal(got[0].nr_ids, 2);
	assert_int_equal(got[0].ids[1], 22);
	assert_int_equal(got[1].ids[0], 31);
	assert_int_equal(got[1].attr.config, PERCH_COUNT_SW_PAGE_FAULTS);
	assert_string_equal(got[1].name, "page-faults:pp");
}

static void expect_features(struct perch_reader *reader)
{
	const struct perch_build_id *build;
	const char *const *arguments;
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	assert_string_equal(perch_reader_text(reader, PERCH_FEATURE_HOSTNAME), "elsewhere");
	assert_int_equal(perch_reader_arch(reader), PERCH_ARCH_S390);
	assert_int_equal(perch_reader_command_line(reader, &arguments), 2);
	assert_string_equal(arguments[1], "record");
	assert_int_equal(perch_reader_build_ids(reader, &build), 1);
	assert_string_equal(build->path, "/bin/worker");
	assert_int_equal(build->size, 4);
	assert_int_equal(build->bytes[3], 0xef);
	assert_int_equal(build->misc, PERCH_MISC_USER);
	assert_int_equal(perch_reader_print_header(reader, stream), 0);
	fclose(stream);
	assert_non_null(strstr(text, "# nrcpus online : 6\n# nrcpus avail : 8\n"));
	assert_non_null(strstr(text, "# sample duration :      2.000 ms\n"));
	assert_non_null(strstr(text, "level = 3, ratio = 4"));
	free(text);
}

static void reads_files_of_the_other_byte_order(void **state)
{
	const uint64_t magics[] = { __builtin_bswap64(PERCH__MAGIC), PERCH__MAGIC_V1 };
	struct perch_reader_damage damage;
	struct perch_reader *reader;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		make_foreign(magics[i / 2], false, false);
		reader = open_reader(i % 2 ? PERCH_ORDER_TIME : PERCH_ORDER_FILE);
		assert_int_not_equal(perch_reader_byte_order(reader), PERCH_BYTES_NATIVE);
		expect_attrs(reader);
		expect_features(reader);
		expect_sample(reader, i % 2 ? 20 : 30, i % 2 ? 0 : 1);
		expect_sample(reader, i % 2 ? 30 : 20, i % 2 ? 1 : 0);
		perch_reader_rewind(reader);
		assert_int_equal(read_all(reader), 5);
		perch_reader_get_damage(reader, &damage);
		assert_int_equal(damage.corrupt_bytes + damage.undecoded_records +
					 damage.unknown_records,
				 0);
		perch_reader_close(reader);
	}
	make_file();
	reader = open_reader(PERCH_ORDER_FILE);
	assert_int_equal(perch_reader_byte_order(reader), PERCH_BYTES_NATIVE);
	perch_reader_close(reader);
}

/* Only 32-bit big-endian machines write the halves of a word in the other order. */
static void reads_feature_bitmaps_of_32_bit_machines(void **state)
{
	struct perch_reader *reader;

	(void)state;
	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
		skip();
	make_foreign(__builtin_bswap64(PERCH__MAGIC), false, true);
	reader = open_reader(PERCH_ORDER_FILE);
	expect_features(reader);
	perch_reader_close(reader);
}

static void decompressed_records_have_offset_of_compressed_one(void **state)
{
	struct perch_reader *reader;
	struct perch_record record;
	struct perch_error err = { 0 };
	uint64_t packed_at = 0;
	int rc;

	(void)state;
	for (int order = PERCH_ORDER_FILE; order <= PERCH_ORDER_TIME; order++) {
		make_foreign(__builtin_bswap64(PERCH__MAGIC), true, false);
		reader = open_reader(order);
		while ((rc = perch_reader_next(reader, &record, &err)) > 0) {
			assert_int_equal(record.parse_info->swapped, true);
			if (record.type == PERCH_RECORD_COMPRESSED2)
				packed_at = record.offset;
		}
		perch_reader_rewind(reader);
		if (rc == -ENOTSUP) {
			perch_reader_close(reader);
			skip();
		}
		assert_int_equal(rc, 0);
		while (perch_reader_next(reader, &record, &err) > 0 &&
		       (record.type != PERCH_RECORD_SAMPLE || record.sample.time != 25))
			;
		assert_int_equal(record.sample.time, 25);
		assert_int_not_equal(packed_at, 0);
		assert_int_equal(record.offset, packed_at);
		perch_reader_close(reader);
	}
}

static void reads_pipes_of_the_other_byte_order(void **state)
{
	struct perch_reader *reader;
	uint64_t magic = __builtin_bswap64(PERCH__MAGIC);
	size_t start;

	(void)state;
	memset(bytes, 0, sizeof(bytes));
	size = 0;
	raw(&magic, 8);
	o64(16);
	for (uint64_t i = 0; i < 2; i++) {
		start = begin(PERCH_RECORD_HEADER_ATTR, 0);
		put_attr(i ? PERCH_COUNT_SW_PAGE_FAULTS : 0);
		for (size_t k = 2 * i; k < 2 + i; k++)
			o64(ids[k]);
		end(start);
	}
	for (size_t i = 0; i < NR_FEATURES; i++) {
		if (put_features[i] == PERCH_FEATURE_BUILD_ID)
			continue;
		start = begin(PERCH_RECORD_HEADER_FEATURE, 0);
		o64(put_features[i]);
		put_feature(put_features[i]);
		size = (size + 7) & ~7ul;
		end(start);
	}
	start = begin(PERCH_RECORD_HEADER_BUILD_ID, PERCH_MISC_USER | PERCH__BUILD_ID_SIZE_KNOWN);
	size -= 8;
	put_feature(PERCH_FEATURE_BUILD_ID);
	start = size - 48;
	bytes[start + 3] = PERCH_RECORD_HEADER_BUILD_ID;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	bytes[start + 3] = 0;
	bytes[start] = PERCH_RECORD_HEADER_BUILD_ID;
#endif
	put_records();
	write_whole_file(path, bytes, size);
	reader = open_reader(PERCH_ORDER_TIME);
	expect_attrs(reader);
	expect_features(reader);
	expect_sample(reader, 20, 0);
	expect_sample(reader, 30, 1);
	perch_reader_close(reader);
}

/* ---- invalid files ---- */

/* Reading must end, and not access memory beyond the file. */
static void try_to_read(void)
{
	struct perch_error err = { 0 };
	struct perch_reader *reader;

	for (int order = PERCH_ORDER_FILE; order <= PERCH_ORDER_TIME; order++) {
		if (perch_reader_open(&reader, path, order, &err)) {
			assert_true(err.message[0]);
			continue;
		}
		assert_true(read_all(reader) < 1000);
		perch_reader_close(reader);
	}
}

static void survives_every_prefix(void **state)
{
	size_t whole;

	(void)state;
	make_foreign(__builtin_bswap64(PERCH__MAGIC), true, false);
	whole = size;
	for (size_t n = 0; n < whole; n += n < 200 ? 1 : 3) {
		write_whole_file(path, bytes, n);
		try_to_read();
	}
}

static void survives_every_changed_byte(void **state)
{
	static const uint8_t changes[] = { 0xff, 0x80, 0x01 };

	(void)state;
	make_foreign(__builtin_bswap64(PERCH__MAGIC), true, false);
	for (size_t i = 0; i < size; i++) {
		bytes[i] ^= changes[i % 3];
		write_whole_file(path, bytes, size);
		try_to_read();
		bytes[i] ^= changes[i % 3];
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_files_of_the_other_byte_order),
		cmocka_unit_test(reads_feature_bitmaps_of_32_bit_machines),
		cmocka_unit_test(decompressed_records_have_offset_of_compressed_one),
		cmocka_unit_test(reads_pipes_of_the_other_byte_order),
		cmocka_unit_test(survives_every_prefix),
		cmocka_unit_test(survives_every_changed_byte),
	};

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}

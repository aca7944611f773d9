/* SPDX-License-Identifier: MIT */
/*
 * Attrs of other machines. Errors of decoding name the field, as in perch-records(7), and its byte
 * offset. Random records of every type are cut at every byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <cmocka.h>
#include <perch/record.h>

#include "build/build.h"
#include "fields_fixture.h"

#define CASES 60

static struct build_record wanted;
static struct build_bytes built;
static char paths[4096]; /* of the whole record, each between newlines */

static void add_path(const char *path, enum perch_field_kind kind)
{
	char line[128];

	(void)kind;
	snprintf(line, sizeof(line), "\n%s\n", path);
	if (!strstr(paths, line))
		snprintf(paths + strlen(paths), sizeof(paths) - strlen(paths), "%s", line);
}

static bool has_path(const char *path)
{
	char line[128];

	snprintf(line, sizeof(line), "\n%s\n", path);
	return strstr(paths, line);
}

static void build_case(uint32_t type, uint64_t seed, struct perch_parse_info *parse_info)
{
	static struct printed printed;
	struct build_rng rng = { .state = seed };
	struct perch_record record;
	struct perch_attr attr;

	build_fill_shape(&wanted.shape, &rng);
	build_fill(&wanted, type, &rng);
	build_write(&built, &wanted);
	build_attr(&attr, &wanted.shape);
	perch_parse_info_init(parse_info, &attr,
			      wanted.shape.big_endian ? PERCH_BYTES_BIG : PERCH_BYTES_LITTLE);
	if (built.size > 2048)
		return;
	assert_int_equal(perch_record_decode(&record, parse_info, built.byte, built.size, NULL), 0);
	memset(&printed, 0, sizeof(printed));
	printed.seen = add_path;
	perch_record_fields(&record, PERCH_ARCH_X86, print_field, &printed);
}

static void check_cut(const struct perch_parse_info *parse_info, size_t size, uint64_t seed)
{
	struct perch_record record;
	struct perch_error err = { 0 };
	const bool big = wanted.shape.big_endian;

	built.byte[big ? 6 : 7] = size >> 8;
	built.byte[big ? 7 : 6] = size & 0xff;
	if (!perch_record_decode(&record, parse_info, built.byte, size, &err))
		return;
	assert_int_equal(err.kind, PERCH_ERROR_FORMAT);
	if (err.column < 8 || err.column > (int)size)
		fail_msg("seed %llu: column %d of %zu bytes: %s", (unsigned long long)seed,
			 err.column, size, err.message);
	if (!has_path(err.field))
		fail_msg("seed %llu: no field '%s': %s", (unsigned long long)seed, err.field,
			 err.message);
}

static void errors_name_field_and_offset(void **state)
{
	struct perch_parse_info parse_info;

	(void)state;
	for (uint32_t type = PERCH_RECORD_MMAP; type < PERCH_RECORD_MAX; type++) {
		paths[0] = '\0';
		for (uint64_t seed = 1; seed <= 4 * CASES; seed++)
			build_case(type, seed, &parse_info);
		for (uint64_t seed = 1; seed <= CASES; seed++) {
			build_case(type, seed, &parse_info);
			for (size_t size = built.size < 2048 ? built.size : 0; size-- > 8;)
				check_cut(&parse_info, size, seed);
		}
	}
}

static void decode_words(const uint64_t *words, size_t size, uint64_t sample_type,
			 struct perch_error *err)
{
	struct perch_attr attr = { .sample_type = sample_type };
	struct perch_parse_info parse_info;
	struct perch_record record;

	perch_parse_info_init(&parse_info, &attr, PERCH_BYTES_NATIVE);
	assert_int_equal(perch_record_decode(&record, &parse_info, words, size, err), -EBADMSG);
}

/* The examples of the documentation. */
static void errors_have_the_documented_fields(void **state)
{
	uint64_t words[4] = { 0, 1000 };
	struct perch_error err;

	(void)state;
	memcpy(words, &(struct perch_record_header){ PERCH_RECORD_SAMPLE, 1, 24 }, 8);
	decode_words(words, 24, PERCH_SAMPLE_CALLCHAIN, &err);
	assert_string_equal(err.field, "callchain");
	assert_int_equal(err.column, 16);
	decode_words(words, 24, PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME, &err);
	assert_string_equal(err.field, "time");
	assert_int_equal(err.column, 24);
	decode_words(words, 16, PERCH_SAMPLE_IP, &err);
	assert_int_equal(err.kind, PERCH_ERROR_TRUNCATED);
	assert_string_equal(err.field, "size");
	assert_int_equal(err.column, 6);
	decode_words(words, 5, PERCH_SAMPLE_IP, &err);
	assert_int_equal(err.kind, PERCH_ERROR_TRUNCATED);
	assert_string_equal(err.field, "");
	assert_int_equal(err.column, 5);
	memcpy(words, &(struct perch_record_header){ PERCH_RECORD_SAMPLE, 1, 7 }, 8);
	decode_words(words, 24, PERCH_SAMPLE_IP, &err);
	assert_int_equal(err.kind, PERCH_ERROR_FORMAT);
	assert_string_equal(err.field, "size");
	assert_int_equal(err.column, 6);
}

static void a_decoder_names_the_unknown_id(void **state)
{
	struct perch_attr attr = { .sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_ID };
	const uint64_t ids[] = { 5, 7 };
	struct perch_decoder_event events[2] = { { &attr, &ids[0], 1 }, { &attr, &ids[1], 1 } };
	uint64_t words[3] = { 0, 0x1000, 6 };
	struct perch_decoder *decoder;
	struct perch_record record;
	struct perch_error err;

	(void)state;
	memcpy(words, &(struct perch_record_header){ PERCH_RECORD_SAMPLE, 1, sizeof(words) }, 8);
	assert_int_equal(perch_decoder_new(&decoder, events, 2, PERCH_BYTES_NATIVE, NULL), 0);
	assert_int_equal(perch_decoder_decode(decoder, words, sizeof(words), &record, &err),
			 -EBADMSG);
	assert_string_equal(err.field, "id");
	assert_int_equal(err.column, 16);
	perch_decoder_free(decoder);
}

/* The attr of a machine of either byte order, of every size. */
static void parse_infos_are_made_from_recorded_attrs(void **state)
{
	struct perch_parse_info from_bytes, from_attr;
	struct perch_error err;
	struct perch_attr attr;
	struct build_attr_values values;

	(void)state;
	for (uint64_t seed = 1; seed <= CASES; seed++) {
		struct build_rng rng = { .state = seed };
		const enum perch_byte_order order = seed & 1 ? PERCH_BYTES_BIG : PERCH_BYTES_LITTLE;

		build_fill_attr(&values, &rng);
		built.big_endian = seed & 1;
		build_write_attr(&built, &values);
		assert_true(perch_parse_info_from_bytes(&from_bytes, &attr, built.byte, built.size,
							order, &err) >= 0);
		perch_parse_info_init(&from_attr, &attr, order);
		/* padding follows the last member before the reserved ones */
		assert_memory_equal(&from_bytes, &from_attr,
				    offsetof(struct perch_parse_info, big_endian));
		assert_int_equal(from_bytes.big_endian, from_attr.big_endian);
		assert_int_equal(from_bytes.big_endian, seed & 1);
		assert_int_equal(perch_parse_info_from_bytes(&from_bytes, NULL, built.byte,
							     PERCH_ATTR_SIZE_VER0 - 1, order, &err),
				 -EINVAL);
		assert_string_equal(err.message,
				    "an attr has at least 64 bytes, but only 63 are available");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_name_field_and_offset),
		cmocka_unit_test(errors_have_the_documented_fields),
		cmocka_unit_test(a_decoder_names_the_unknown_id),
		cmocka_unit_test(parse_infos_are_made_from_recorded_attrs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

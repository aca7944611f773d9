/* SPDX-License-Identifier: MIT */
/*
 * Damaged records: decodes every prefix and every single-byte change of records of every type, in
 * both byte orders, and reads all their fields. Each record is at the end of a memory block of its
 * size, so the sanitizers find an access beyond it. PERCH_SEED and PERCH_CASES choose the records
 * and their number per type; PERCH_DAMAGE=all tries every value of every byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "build/build.h"
#include "build/touch.h"

#define CASES 5

static struct build_record wanted;
static struct build_bytes bytes;
static struct perch_parse_info parse_info;
static struct perch_decoder *decoder;
static uint64_t decoded, refused;

static void build_one(uint32_t type, uint64_t seed)
{
	struct build_rng rng = { .state = seed };
	const uint64_t ids[] = { 1, 2, 3 };
	struct perch_decoder_event event = { .ids = ids, .nr_ids = 3 };
	struct perch_attr attr;

	build_fill_shape(&wanted.shape, &rng);
	build_fill(&wanted, type, &rng);
	build_write(&bytes, &wanted);
	build_attr(&attr, &wanted.shape);
	event.attr = &attr;
	perch_parse_info_init(&parse_info, &attr,
			      wanted.shape.big_endian ? PERCH_BYTES_BIG : PERCH_BYTES_LITTLE);
	perch_decoder_free(decoder);
	assert_int_equal(perch_decoder_new(&decoder, &event, 1,
					   wanted.shape.big_endian ? PERCH_BYTES_BIG
								   : PERCH_BYTES_LITTLE,
					   NULL),
			 0);
}

/* A memory block of these bytes, decoded twice: as a single record, and by a decoder. */
static void decode_damaged(const void *data, size_t size)
{
	struct perch_error err = { 0 };
	struct perch_record record;
	uint64_t time;
	void *block = malloc(size ? size : 1);

	assert_non_null(block);
	memcpy(block, data, size);
	if (!perch_record_decode(&record, &parse_info, block, size, &err)) {
		decoded++;
		touch_record(&record);
	} else {
		refused++;
		if (!*err.message)
			fail_msg("a refusal without a message");
	}
	if (!perch_decoder_decode(decoder, block, size, &record, NULL))
		touch_bytes(record.bytes, record.size);
	perch_decoder_time(decoder, block, size, &time);
	free(block);
}

static void set_size(uint8_t *data, size_t size)
{
	data[6] = bytes.big_endian ? size >> 8 : size;
	data[7] = bytes.big_endian ? size : size >> 8;
}

/* Cut as at the end of a file, with the old size and with the new size in the header. */
static void try_prefixes(void)
{
	static struct build_bytes cut;

	cut = bytes;
	for (size_t size = 0; size <= bytes.size; size++) {
		decode_damaged(bytes.byte, size);
		if (size < 8)
			continue;
		set_size(cut.byte, size);
		decode_damaged(cut.byte, size);
	}
}

static void try_changes(bool all)
{
	static const uint8_t some[] = { 0x01, 0x80, 0xff };

	for (size_t at = 0; at < bytes.size; at++) {
		uint8_t original = bytes.byte[at];

		for (unsigned i = 1; all && i < 256; i++) {
			bytes.byte[at] = original ^ i;
			decode_damaged(bytes.byte, bytes.size);
		}
		for (size_t i = 0; !all && i < sizeof(some); i++) {
			bytes.byte[at] = original ^ some[i];
			decode_damaged(bytes.byte, bytes.size);
		}
		bytes.byte[at] = original;
	}
}

static void try_types(uint32_t from, uint32_t to, uint64_t cases, bool changes)
{
	const char *damage = getenv("PERCH_DAMAGE");
	bool all = damage && !strcmp(damage, "all");
	uint64_t seed = build_number_from("PERCH_SEED", 1);

	cases = build_number_from("PERCH_CASES", cases);
	printf("seeds %llu and %llu more\n", (unsigned long long)seed,
	       (unsigned long long)cases - 1);
	decoded = refused = 0;
	for (uint32_t type = from; type <= to; type++)
		for (uint64_t i = 0; i < cases; i++) {
			build_one(type, seed + i);
			if (changes)
				try_changes(all);
			else
				try_prefixes();
		}
	printf("%llu decoded, %llu refused\n", (unsigned long long)decoded,
	       (unsigned long long)refused);
	assert_true(decoded && refused);
}

static void truncated_samples_are_safe(void **state)
{
	(void)state;
	try_types(PERCH_RECORD_SAMPLE, PERCH_RECORD_SAMPLE, 10 * CASES, false);
}

static void changed_samples_are_safe(void **state)
{
	(void)state;
	try_types(PERCH_RECORD_SAMPLE, PERCH_RECORD_SAMPLE, 5 * CASES, true);
}

static void truncated_records_are_safe(void **state)
{
	(void)state;
	try_types(PERCH_RECORD_MMAP, PERCH_RECORD_MAX, CASES, false);
}

static void changed_records_are_safe(void **state)
{
	(void)state;
	try_types(PERCH_RECORD_MMAP, PERCH_RECORD_MAX, CASES, true);
}

static int tear_down(void **state)
{
	(void)state;
	perch_decoder_free(decoder);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(truncated_samples_are_safe),
		cmocka_unit_test(changed_samples_are_safe),
		cmocka_unit_test(truncated_records_are_safe),
		cmocka_unit_test(changed_records_are_safe),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}

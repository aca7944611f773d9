/* SPDX-License-Identifier: MIT */
/*
 * Records whose bytes lie anywhere: built records of every type and both byte orders, cut into two
 * pieces at every byte, at every alignment; and copies of records, compared after the bytes of the
 * record were freed.
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

#define CASES 40

static struct build_record wanted;
static struct build_bytes bytes;
static uint8_t scratch[PERCH_SCRATCH_BYTES];

/* Builds a random record and returns the seed that makes it again. */
static uint64_t build_case(uint32_t type, uint64_t number, struct perch_parse_info *parse_info)
{
	uint64_t seed = build_number_from("PERCH_SEED", 1) + number;
	struct build_rng rng = { .state = seed };
	struct perch_attr attr;

	build_fill_shape(&wanted.shape, &rng);
	build_fill(&wanted, type, &rng);
	build_write(&bytes, &wanted);
	build_attr(&attr, &wanted.shape);
	perch_parse_info_init(parse_info, &attr,
			      wanted.shape.big_endian ? PERCH_BYTES_BIG : PERCH_BYTES_LITTLE);
	return seed;
}

/* A piece of exactly this size at this distance from an aligned address. */
static struct iovec make_piece(const uint8_t *from, size_t size, size_t misaligned)
{
	char *block = malloc(misaligned + size + !(misaligned + size));

	assert_non_null(block);
	if (size)
		memcpy(block + misaligned, from, size);
	return (struct iovec){ block + misaligned, size };
}

static void free_piece(const struct iovec *piece, size_t misaligned)
{
	free((char *)piece->iov_base - misaligned);
}

static void decode_cut(const struct perch_parse_info *parse_info, size_t cut, size_t misaligned,
		       uint64_t seed)
{
	struct iovec pieces[2] = { make_piece(bytes.byte, cut, misaligned),
				   make_piece(bytes.byte + cut, bytes.size - cut, misaligned) };
	struct perch_record record, *copy;
	struct perch_error err;
	const char *difference;

	memset(&record, 0xee, sizeof(record));
	if (perch_record_decode_pieces(&record, parse_info, pieces, 2, scratch + misaligned,
				       sizeof(scratch) - misaligned, &err))
		fail_msg("PERCH_SEED=%llu: cut at %zu: %s", (unsigned long long)seed, cut,
			 err.message);
	assert_int_equal((uintptr_t)record.bytes % 8, 0);
	difference = build_difference(&record, &wanted);
	if (difference)
		fail_msg("PERCH_SEED=%llu: cut at %zu: %s", (unsigned long long)seed, cut,
			 difference);
	assert_int_equal(perch_record_copy(&copy, &record, &err), 0);
	free_piece(&pieces[0], misaligned);
	free_piece(&pieces[1], misaligned);
	memset(scratch, 0x5a, sizeof(scratch));
	memset(&record, 0x5a, sizeof(record));
	difference = build_difference(copy, &wanted);
	if (difference)
		fail_msg("PERCH_SEED=%llu: copy: %s", (unsigned long long)seed, difference);
	perch_record_free(copy);
}

static void records_in_two_pieces_equal_their_description(void **state)
{
	struct perch_parse_info parse_info;

	(void)state;
	for (uint32_t type = PERCH_RECORD_MMAP; type <= PERCH_RECORD_MAX; type++) {
		for (uint64_t i = 0; i < CASES; i++) {
			uint64_t seed = build_case(type, i, &parse_info);
			size_t step = bytes.size < 256 ? 1 : bytes.size / 16 + 1;

			for (size_t cut = 0; cut <= bytes.size; cut += step)
				decode_cut(&parse_info, cut, (cut + i) % 8, seed);
			decode_cut(&parse_info, bytes.size, 0, seed);
		}
	}
}

static void decoders_find_the_attr_of_records_in_pieces(void **state)
{
	struct perch_parse_info parse_info;
	struct perch_decoder *decoder;
	struct perch_record record;
	struct perch_attr attr;

	(void)state;
	for (uint64_t i = 0; i < CASES; i++) {
		struct perch_decoder_event event = { .attr = &attr };
		struct iovec pieces[3];

		build_case(PERCH_RECORD_SAMPLE, i, &parse_info);
		build_attr(&attr, &wanted.shape);
		assert_int_equal(perch_decoder_new(&decoder, &event, 1,
						   wanted.shape.big_endian ? PERCH_BYTES_BIG
									   : PERCH_BYTES_LITTLE,
						   NULL),
				 0);
		pieces[0] = make_piece(bytes.byte, 0, 0);
		pieces[1] = make_piece(bytes.byte, 3, 1);
		pieces[2] = make_piece(bytes.byte + 3, bytes.size - 3, 5);
		assert_int_equal(perch_decoder_decode_pieces(decoder, pieces, 3, scratch,
							     sizeof(scratch), &record, NULL),
				 0);
		assert_null(build_difference(&record, &wanted));
		assert_int_equal(perch_decoder_decode_pieces(decoder, pieces, 3, scratch, 7,
							     &record, NULL),
				 -ENOSPC);
		perch_decoder_free(decoder);
		free_piece(&pieces[0], 0);
		free_piece(&pieces[1], 1);
		free_piece(&pieces[2], 5);
	}
}

/* A record that is whole and aligned in the first piece is not copied, and needs no scratch. */
static void whole_records_are_decoded_in_place(void **state)
{
	struct perch_parse_info parse_info;
	struct perch_record record;
	struct iovec pieces[2];

	(void)state;
	build_case(PERCH_RECORD_COMM, 0, &parse_info);
	pieces[0] = make_piece(bytes.byte, bytes.size, 0);
	pieces[1] = (struct iovec){ 0 };
	assert_int_equal(perch_record_decode_pieces(&record, &parse_info, pieces, 2, NULL, 0, NULL),
			 0);
	assert_ptr_equal(record.bytes, pieces[0].iov_base);
	free_piece(&pieces[0], 0);
}

static void check_refused(const struct perch_parse_info *parse_info, size_t size,
			  size_t scratch_size, int rc, enum perch_error_kind kind)
{
	struct iovec pieces[2] = { make_piece(bytes.byte, size / 2, 1),
				   make_piece(bytes.byte + size / 2, size - size / 2, 2) };
	struct perch_record record;
	struct perch_error err;

	assert_int_equal(perch_record_decode_pieces(&record, parse_info, pieces, 2, scratch,
						    scratch_size, &err),
			 rc);
	assert_int_equal(err.kind, kind);
	free_piece(&pieces[0], 1);
	free_piece(&pieces[1], 2);
}

static void incomplete_pieces_are_refused(void **state)
{
	struct perch_parse_info parse_info;

	(void)state;
	build_case(PERCH_RECORD_COMM, 0, &parse_info);
	for (size_t size = 0; size < bytes.size; size++)
		check_refused(&parse_info, size, sizeof(scratch), -EBADMSG, PERCH_ERROR_TRUNCATED);
	check_refused(&parse_info, bytes.size, bytes.size - 1, -ENOSPC, PERCH_ERROR_USAGE);
	bytes.byte[6] = bytes.byte[7] = 0;
	check_refused(&parse_info, bytes.size, sizeof(scratch), -EBADMSG, PERCH_ERROR_FORMAT);
}

/* The call chain of a merged sample is not in the bytes of the record. */
static void copies_have_merged_call_chains(void **state)
{
	uint64_t sample[] = { 0, 3, 0xffffffff81000000, PERCH_CONTEXT_USER_DEFERRED, 7 };
	uint64_t later[] = { 0, 7, 2, 0x400000, 0x400100 };
	struct perch_attr attr = { .sample_type = PERCH_SAMPLE_CALLCHAIN };
	struct perch_record held, chain, merged, *copy;
	struct perch_parse_info parse_info;
	struct perch_deferred *deferred;

	(void)state;
	memcpy(sample, &(struct perch_record_header){ PERCH_RECORD_SAMPLE, 1, sizeof(sample) }, 8);
	memcpy(later,
	       &(struct perch_record_header){ PERCH_RECORD_CALLCHAIN_DEFERRED, 0, sizeof(later) },
	       8);
	perch_parse_info_init(&parse_info, &attr, PERCH_BYTES_NATIVE);
	assert_int_equal(perch_record_decode(&held, &parse_info, sample, sizeof(sample), NULL), 0);
	assert_int_equal(perch_record_decode(&chain, &parse_info, later, sizeof(later), NULL), 0);
	assert_int_equal(perch_deferred_new(&deferred, 0, NULL), 0);
	assert_int_equal(perch_deferred_hold(deferred, &held), 1);
	assert_int_equal(perch_deferred_next(deferred, &chain, &merged), 1);
	assert_int_equal(perch_record_copy(&copy, &merged, NULL), 0);
	perch_deferred_free(deferred);
	assert_int_equal(copy->sample.callchain.nr, 4);
	assert_true(copy->sample.callchain.ip[0] == 0xffffffff81000000);
	assert_true(copy->sample.callchain.ip[1] == PERCH_CONTEXT_USER);
	assert_true(copy->sample.callchain.ip[2] == 0x400000);
	assert_true(copy->sample.callchain.ip[3] == 0x400100);
	perch_record_free(copy);
	perch_record_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_in_two_pieces_equal_their_description),
		cmocka_unit_test(decoders_find_the_attr_of_records_in_pieces),
		cmocka_unit_test(whole_records_are_decoded_in_place),
		cmocka_unit_test(incomplete_pieces_are_refused),
		cmocka_unit_test(copies_have_merged_call_chains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

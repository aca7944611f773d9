/* SPDX-License-Identifier: MIT */
/*
 * The input is records of two attrs, of a machine of either byte order. The target decodes each
 * record separately and all as a stream, reads every field, and merges deferred call chains. All
 * that is decoded must lie in the record.
 */
#include "record_input.h"
#include <stdlib.h>
#include <string.h>
#include "build/touch.h"

#define DEFERRED_BYTES 4096
#define MAX_RECORDS    64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fixture {
	struct perch_attr attr[2];
	struct perch_parse_info parse_info;
	struct perch_decoder *decoder;
	struct perch_deferred *deferred;
	bool big;
	size_t nr;
};

static bool set_fixture(struct fixture *fixture, const struct record_input *input)
{
	enum perch_byte_order order = input->flags & RECORD_INPUT_BIG ? PERCH_BYTES_BIG
								      : PERCH_BYTES_LITTLE;
	uint64_t ids[2] = { input->id, input->other_id };
	struct perch_decoder_event events[2] = { { &fixture->attr[0], &ids[0], 1 },
						 { &fixture->attr[1], &ids[1], 1 } };

	*fixture = (struct fixture){ .big = input->flags & RECORD_INPUT_BIG };
	fixture->attr[0] = (struct perch_attr){
		.sample_type = input->sample_type,
		.read_format = input->read_format,
		.branch_sample_type = input->branch_sample_type,
		.sample_regs_user = input->regs_user,
		.sample_regs_intr = input->regs_intr,
		.sample_id_all = input->flags & RECORD_INPUT_ID_ALL,
	};
	fixture->attr[1] = fixture->attr[0];
	fixture->attr[1].sample_type = input->other_type;
	perch_parse_info_init(&fixture->parse_info, &fixture->attr[0], order);
	return !perch_decoder_new(&fixture->decoder, events, 2, order, NULL) &&
	       !perch_deferred_new(&fixture->deferred, DEFERRED_BYTES, NULL);
}

static void touch_merged(struct fixture *fixture, const struct perch_record *callchain_deferred)
{
	struct perch_record whole;
	size_t nr = 0;

	while (perch_deferred_next_incomplete(fixture->deferred, callchain_deferred, &whole) == 1 ||
	       perch_deferred_next(fixture->deferred, callchain_deferred, &whole) == 1) {
		if (++nr > MAX_RECORDS)
			abort();
		touch_record(&whole);
	}
}

/* perch_decoder_time() must find the time of the decoded record. */
static void check_time(const struct fixture *fixture, const struct perch_record *record,
		       const void *bytes, size_t size)
{
	uint64_t time = 0;
	bool timed = perch_decoder_time(fixture->decoder, bytes, size, &time);

	if (timed != !!(record->sample_id.has & PERCH_SAMPLE_TIME) ||
	    (timed && time != record->sample_id.time))
		abort();
}

/* A copy must be complete when the bytes of the record are gone. */
static void touch_copy(struct perch_record *record, void *bytes, size_t size)
{
	struct perch_record *copy;

	if (perch_record_copy(&copy, record, NULL))
		abort();
	memset(bytes, 0x5a, size);
	touch_record(copy);
	perch_record_free(copy);
}

/* The same bytes, in two pieces that are not aligned, are the same record. */
static void in_pieces(struct fixture *fixture, const uint8_t *data, size_t size)
{
	static uint8_t scratch[PERCH_SCRATCH_BYTES];
	const size_t cut = size / 3;
	struct perch_record record;
	uint8_t *first = malloc(cut + 1), *second = malloc(size - cut + 3);
	struct iovec pieces[2] = { { first + 1, cut }, { second + 3, size - cut } };

	if (!first || !second)
		abort();
	memcpy(first + 1, data, cut);
	memcpy(second + 3, data + cut, size - cut);
	if (!perch_record_decode_pieces(&record, &fixture->parse_info, pieces, 2, scratch,
					sizeof(scratch), NULL))
		touch_copy(&record, scratch, sizeof(scratch));
	free(first);
	free(second);
}

/* The record is in a block of exactly its size, so that ASan detects a read beyond it or later. */
static void one_record(struct fixture *fixture, const uint8_t *data, size_t size)
{
	struct perch_record record;
	struct perch_error err;
	uint64_t time;
	void *bytes = malloc(size ? size : 1);

	if (!bytes)
		abort();
	memcpy(bytes, data, size);
	if (!perch_record_decode(&record, &fixture->parse_info, bytes, size, &err))
		touch_record(&record);
	if (!perch_decoder_decode(fixture->decoder, bytes, size, &record, &err)) {
		check_time(fixture, &record, bytes, size);
		touch_record(&record);
		if (record.type == PERCH_RECORD_CALLCHAIN_DEFERRED)
			touch_merged(fixture, &record);
		else if (perch_deferred_complete(fixture->deferred, &record) == 1)
			touch_record(&record);
		else
			perch_deferred_hold(fixture->deferred, &record);
	}
	perch_decoder_time(fixture->decoder, bytes, size, &time);
	free(bytes);
	in_pieces(fixture, data, size);
}

/* The size in the header of the record, if it has one. */
static size_t size_of(const struct fixture *fixture, const uint8_t *data, size_t size)
{
	size_t own = size;

	if (size >= 8)
		own = (size_t)data[fixture->big ? 6 : 7] << 8 | data[fixture->big ? 7 : 6];
	return own < 8 || own > size ? size : own;
}

static void all_records(struct fixture *fixture, const uint8_t *data, size_t size)
{
	while (size && fixture->nr++ < MAX_RECORDS) {
		size_t own = size_of(fixture, data, size);

		one_record(fixture, data, own);
		data += own;
		size -= own;
	}
	touch_merged(fixture, NULL);
}

/* Most sizes in the headers of random records are wrong. With a right one, the rest is decoded. */
static void with_right_size(struct fixture *fixture, const uint8_t *data, size_t size)
{
	uint8_t *right = size < 8 || size > UINT16_MAX ? NULL : malloc(size);

	if (!right)
		return;
	memcpy(right, data, size);
	right[fixture->big ? 6 : 7] = size >> 8;
	right[fixture->big ? 7 : 6] = size;
	one_record(fixture, right, size);
	touch_merged(fixture, NULL);
	free(right);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record_input input;
	struct fixture fixture;

	if (size < sizeof(input))
		return 0;
	memcpy(&input, data, sizeof(input));
	data += sizeof(input);
	size -= sizeof(input);
	if (set_fixture(&fixture, &input)) {
		all_records(&fixture, data, size);
		with_right_size(&fixture, data, size);
	}
	perch_deferred_free(fixture.deferred);
	perch_decoder_free(fixture.decoder);
	return 0;
}

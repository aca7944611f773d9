/* SPDX-License-Identifier: MIT */
/*
 * The input is records of two attrs, of a machine of either byte order. The target decodes each
 * record by itself and all as a stream, reads every field, and merges deferred call chains. All
 * that is decoded must lie in the record.
 */
#include "record_input.h"
#include <stdlib.h>
#include <string.h>
#include "build/touch.h"

#define DEFERRED_BYTES 4096
#define MAX_RECORDS    64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct scene {
	struct perch_attr attr[2];
	struct perch_parse_info parse_info;
	struct perch_decoder *decoder;
	struct perch_deferred *deferred;
	bool big;
	size_t nr;
};

static bool set_scene(struct scene *scene, const struct record_input *input)
{
	enum perch_byte_order order = input->flags & RECORD_INPUT_BIG ? PERCH_BYTES_BIG
								      : PERCH_BYTES_LITTLE;
	uint64_t ids[2] = { input->id, input->other_id };
	struct perch_decoder_event events[2] = { { &scene->attr[0], &ids[0], 1 },
						 { &scene->attr[1], &ids[1], 1 } };

	*scene = (struct scene){ .big = input->flags & RECORD_INPUT_BIG };
	scene->attr[0] = (struct perch_attr){
		.sample_type = input->sample_type,
		.read_format = input->read_format,
		.branch_sample_type = input->branch_sample_type,
		.sample_regs_user = input->regs_user,
		.sample_regs_intr = input->regs_intr,
		.sample_id_all = input->flags & RECORD_INPUT_ID_ALL,
	};
	scene->attr[1] = scene->attr[0];
	scene->attr[1].sample_type = input->other_type;
	perch_parse_info_init(&scene->parse_info, &scene->attr[0], order);
	return !perch_decoder_new(&scene->decoder, events, 2, order, NULL) &&
	       !perch_deferred_new(&scene->deferred, DEFERRED_BYTES, NULL);
}

static void touch_merged(struct scene *scene, const struct perch_record *callchain_deferred)
{
	struct perch_record whole;
	size_t nr = 0;

	while (perch_deferred_next(scene->deferred, callchain_deferred, &whole) == 1) {
		if (++nr > MAX_RECORDS)
			abort();
		touch_record(&whole);
	}
}

/* perch_decoder_time() must find the time of the decoded record. */
static void check_time(const struct scene *scene, const struct perch_record *record,
		       const void *bytes, size_t size)
{
	uint64_t time = 0;
	bool timed = perch_decoder_time(scene->decoder, bytes, size, &time);

	if (timed != !!(record->sample_id.has & PERCH_SAMPLE_TIME) ||
	    (timed && time != record->sample_id.time))
		abort();
}

/* The record is in a block of exactly its size, so that ASan detects a read beyond it or later. */
static void one_record(struct scene *scene, const uint8_t *data, size_t size)
{
	struct perch_record record;
	struct perch_error err;
	uint64_t time;
	void *bytes = malloc(size ? size : 1);

	if (!bytes)
		abort();
	memcpy(bytes, data, size);
	if (!perch_record_decode(&record, &scene->parse_info, bytes, size, &err))
		touch_record(&record);
	if (!perch_decoder_decode(scene->decoder, &record, bytes, size, &err)) {
		check_time(scene, &record, bytes, size);
		touch_record(&record);
		if (record.type == PERCH_RECORD_CALLCHAIN_DEFERRED)
			touch_merged(scene, &record);
		else
			perch_deferred_hold(scene->deferred, &record);
	}
	perch_decoder_time(scene->decoder, bytes, size, &time);
	free(bytes);
}

/* The size in the header of the record, if it has one. */
static size_t size_of(const struct scene *scene, const uint8_t *data, size_t size)
{
	size_t own = size;

	if (size >= 8)
		own = (size_t)data[scene->big ? 6 : 7] << 8 | data[scene->big ? 7 : 6];
	return own < 8 || own > size ? size : own;
}

static void all_records(struct scene *scene, const uint8_t *data, size_t size)
{
	while (size && scene->nr++ < MAX_RECORDS) {
		size_t own = size_of(scene, data, size);

		one_record(scene, data, own);
		data += own;
		size -= own;
	}
	touch_merged(scene, NULL);
}

/* Most sizes in the headers of random records are wrong. With a right one, the rest is decoded. */
static void with_right_size(struct scene *scene, const uint8_t *data, size_t size)
{
	uint8_t *right = size < 8 || size > UINT16_MAX ? NULL : malloc(size);

	if (!right)
		return;
	memcpy(right, data, size);
	right[scene->big ? 6 : 7] = size >> 8;
	right[scene->big ? 7 : 6] = size;
	one_record(scene, right, size);
	touch_merged(scene, NULL);
	free(right);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct record_input input;
	struct scene scene;

	if (size < sizeof(input))
		return 0;
	memcpy(&input, data, sizeof(input));
	data += sizeof(input);
	size -= sizeof(input);
	if (set_scene(&scene, &input)) {
		all_records(&scene, data, size);
		with_right_size(&scene, data, size);
	}
	perch_deferred_free(scene.deferred);
	perch_decoder_free(scene.decoder);
	return 0;
}

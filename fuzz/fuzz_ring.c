/* SPDX-License-Identifier: MIT */
/*
 * The input sets the control page, the data and the AUX area of a ring to any values, and changes
 * them between steps. The target reads the ring in all modes, by snapshots, and merged with a
 * second ring. The records delivered must be the bytes of the ring from the read position to the
 * head, without a gap. Snapshots of both orders must have the same records. The input is a struct
 * setting, then steps; a step is one byte that selects it, and its arguments.
 */
#include <stdint.h>
#include <perch/ring.h>
#include <stdlib.h>
#include <string.h>
#include "build/touch.h"

#define MAX_RECORDS 4096 /* that one step reads */
#define MAX_BITS    12
#define MAX_SIZE    (8u << MAX_BITS)

struct setting {
	uint64_t head, tail, aux_head, aux_tail;
	uint64_t sample_type;
	uint8_t ring_bits, aux_bits; /* sizes are 8 << bits */
	uint8_t overwrite, aux_overwrite;
};

struct input {
	const uint8_t *bytes;
	size_t left;
};

struct scene {
	struct perch_mmap_page *control[2];
	uint8_t *data[2];
	size_t size, aux_size;
	uint8_t *area;
	struct perch_ring *ring[2];
	struct perch_decoder *decoder;
	struct perch_merge *merge;
	/* the position of the first ring's next record; its lower half, as 32-bit kernels count */
	uint64_t at;
	bool at_valid; /* false after damage, until everything is read again */
	bool overwrite;
	uint64_t latest, out_of_order; /* of the merged records */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(struct input *input, void *to, size_t size)
{
	memset(to, 0, size);
	if (size > input->left)
		size = input->left;
	memcpy(to, input->bytes, size);
	input->bytes += size;
	input->left -= size;
}

static uint64_t take_word(struct input *input, size_t size)
{
	uint64_t word = 0;

	for (size_t i = 0; i < size; i++) {
		uint8_t byte;

		take(input, &byte, 1);
		word |= (uint64_t)byte << 8 * i;
	}
	return word;
}

/* The pieces must lie in the buffer. */
static void touch_pieces(const struct iovec pieces[2], size_t bytes, const uint8_t *buffer,
			 size_t size)
{
	if (pieces[0].iov_len + pieces[1].iov_len != bytes || bytes > size)
		abort();
	for (int i = 0; i < 2; i++) {
		const uint8_t *start = pieces[i].iov_base;

		if (pieces[i].iov_len &&
		    (start < buffer || start + pieces[i].iov_len > buffer + size))
			abort();
		touch_bytes(start, pieces[i].iov_len);
	}
}

static uint64_t head_of(const struct scene *scene)
{
	return scene->control[0]->data_head & ~7ull;
}

static uint64_t damages(const struct scene *scene)
{
	struct perch_ring_stats stats;

	perch_ring_get_stats(scene->ring[0], &stats);
	return stats.damaged;
}

/* The bytes must be those of the ring at the read position. */
static void check_bytes(struct scene *scene, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (((const uint8_t *)bytes)[i] !=
		    scene->data[0][(scene->at + i) & (scene->size - 1)])
			abort();
	scene->at += size;
}

/* The next record of the first ring. If there is none, everything up to the head must be read. */
static const struct perch_record_header *next_record(struct scene *scene)
{
	uint64_t before = damages(scene);
	const struct perch_record_header *bytes = perch_ring_next(scene->ring[0]);

	if (damages(scene) != before)
		scene->at_valid = false;
	if (!bytes && !scene->overwrite) {
		if (scene->at_valid && (uint32_t)scene->at != (uint32_t)head_of(scene))
			abort();
		scene->at = head_of(scene);
		scene->at_valid = true;
	}
	if (bytes && ((uintptr_t)bytes & 7 || bytes->size < 8 || bytes->size & 7 ||
		      bytes->size > scene->size))
		abort();
	if (bytes && scene->at_valid)
		check_bytes(scene, bytes, bytes->size);
	return bytes;
}

static void read_records(struct scene *scene, size_t most)
{
	const struct perch_record_header *bytes;
	struct perch_record record;

	while (most-- && (bytes = next_record(scene))) {
		touch_bytes(bytes, bytes->size);
		if (perch_decoder_decode(scene->decoder, &record, bytes, bytes->size, NULL) >= 0)
			touch_record(&record);
	}
}

static void read_merged(struct scene *scene, bool flush)
{
	struct perch_record record;
	struct perch_error err;
	uint64_t time;
	size_t ring;

	scene->at_valid = scene->at_valid && !scene->merge;
	for (int n = 0; scene->merge && n < MAX_RECORDS; n++) {
		int rc = perch_merge_next(scene->merge, flush, &record, &ring, &err);

		if (!rc)
			break;
		if (ring > 1)
			abort();
		if (perch_decoder_time(scene->decoder, record.bytes, record.size, &time)) {
			scene->out_of_order += time < scene->latest;
			scene->latest = time > scene->latest ? time : scene->latest;
		}
		if (scene->out_of_order != perch_merge_out_of_order(scene->merge))
			abort();
		if (rc > 0)
			touch_record(&record);
	}
}

/* Reads a whole snapshot, and stores the sizes of its records. */
static ssize_t list_snapshot(struct scene *scene, enum perch_snapshot_order order, uint16_t *sizes)
{
	const struct perch_record_header *bytes;
	struct perch_error err;
	ssize_t reported = perch_ring_snapshot(scene->ring[0], order, &err), nr = 0;

	if (reported > (ssize_t)(scene->size / 8))
		abort();
	scene->at = head_of(scene);
	scene->at_valid = reported >= 0 && order == PERCH_SNAPSHOT_NEWEST_FIRST;
	while (reported >= 0 && (bytes = next_record(scene)))
		sizes[nr++] = bytes->size;
	scene->at_valid = false;
	if (reported >= 0 && nr != reported)
		abort();
	return reported < 0 ? reported : nr;
}

static void take_snapshot(struct scene *scene, enum perch_snapshot_order order)
{
	static uint16_t newest[MAX_SIZE / 8], oldest[MAX_SIZE / 8];
	struct perch_error err;
	ssize_t nr;

	if (!scene->overwrite) {
		if (perch_ring_snapshot(scene->ring[0], order, &err) >= 0)
			abort();
		return;
	}
	nr = list_snapshot(scene, PERCH_SNAPSHOT_NEWEST_FIRST, newest);
	if (list_snapshot(scene, PERCH_SNAPSHOT_OLDEST_FIRST, oldest) != nr)
		abort();
	for (ssize_t i = 0; i < nr; i++)
		if (newest[i] != oldest[nr - 1 - i])
			abort();
	if (nr >= 0 && perch_ring_snapshot(scene->ring[0], order, &err) == nr)
		read_records(scene, order == PERCH_SNAPSHOT_OLDEST_FIRST ? nr / 2 + 1 : nr);
}

/* The trace from the tail to the head, if the area can have that head. */
static void peek_aux(struct scene *scene, struct input *input)
{
	const struct perch_mmap_page *control = scene->control[0];
	uint64_t tail = control->aux_tail, wanted = take_word(input, 2);
	struct iovec pieces[2];
	size_t bytes = perch_ring_aux_peek(scene->ring[0], pieces);

	touch_pieces(pieces, bytes, scene->area, scene->aux_size);
	if (bytes && (pieces[0].iov_base != scene->area + (tail & (scene->aux_size - 1)) ||
		      control->aux_tail != tail))
		abort();
	tail = control->aux_tail;
	perch_ring_aux_consume(scene->ring[0], wanted);
	if (control->aux_tail - tail > wanted || control->aux_tail - tail > scene->aux_size)
		abort();
}

static void read_aux(struct scene *scene, struct input *input)
{
	struct perch_record record = { .type = PERCH_RECORD_AUX };
	struct iovec pieces[2];
	ssize_t bytes;

	record.aux.offset = take_word(input, 8);
	record.aux.size = take_word(input, 8);
	record.aux.flags = take_word(input, 1);
	bytes = perch_ring_aux_data(scene->ring[0], &record, pieces);
	touch_pieces(pieces, bytes < 0 ? 0 : bytes, scene->area, scene->aux_size);
	peek_aux(scene, input);
	bytes = perch_ring_aux_snapshot(scene->ring[0], pieces);
	touch_pieces(pieces, bytes, scene->area, scene->aux_size);
}

/* Only complete records, without a gap. */
static void check_batch(const struct scene *scene, size_t bytes)
{
	struct perch_record_header header;

	for (size_t at = 0; at < bytes; at += header.size) {
		memcpy(&header, scene->data[0] + ((scene->at + at) & (scene->size - 1)),
		       sizeof(header));
		if (header.size < 8 || header.size & 7 || header.size > bytes - at)
			abort();
	}
}

static void peek(struct scene *scene, struct input *input)
{
	uint64_t before = damages(scene), wanted = take_word(input, 2);
	struct iovec pieces[2];
	size_t bytes = perch_ring_peek(scene->ring[0], pieces);
	uint32_t left;

	touch_pieces(pieces, bytes, scene->data[0], scene->size);
	if (!scene->overwrite && damages(scene) != before) {
		if (bytes)
			abort();
		scene->at = head_of(scene);
		scene->at_valid = true;
	}
	if (scene->at_valid && bytes) {
		if (pieces[0].iov_base != scene->data[0] + (scene->at & (scene->size - 1)))
			abort();
		check_batch(scene, bytes);
	}
	perch_ring_consume(scene->ring[0], wanted);
	left = (uint32_t)(head_of(scene) - scene->at);
	scene->at += (wanted < left ? wanted : left) & ~7ull;
}

/* Writes bytes of the input to a ring as the kernel does, and moves the head after or before them.
 */
static void write_ring(struct scene *scene, struct input *input, unsigned which, bool backward)
{
	struct perch_mmap_page *control = scene->control[which];
	size_t bytes = take_word(input, 1) * 8, start;

	if (backward)
		control->data_head -= bytes;
	start = control->data_head;
	for (size_t i = 0; i < bytes; i++)
		take(input, &scene->data[which][(start + i) & (scene->size - 1)], 1);
	if (!backward)
		control->data_head += bytes;
}

static bool step(struct scene *scene, struct input *input)
{
	struct perch_ring_stats stats;
	uint8_t code;

	if (!input->left)
		return false;
	code = take_word(input, 1);
	switch (code % 16) {
	case 0:
		scene->control[code >> 7]->data_head = take_word(input, 8);
		break;
	case 1:
		scene->control[code >> 7]->data_head += take_word(input, 2);
		break;
	case 2:
		scene->control[0]->data_tail = take_word(input, 8);
		break;
	case 3:
		scene->control[0]->aux_head = take_word(input, 8);
		break;
	case 4:
		scene->control[0]->aux_head += take_word(input, 2);
		break;
	case 5:
		write_ring(scene, input, code >> 7, code & 64);
		break;
	case 6:
		write_ring(scene, input, code >> 7, true);
		break;
	case 7:
		read_records(scene, take_word(input, 1));
		break;
	case 8:
		peek(scene, input);
		break;
	case 9:
		take_snapshot(scene, PERCH_SNAPSHOT_NEWEST_FIRST);
		break;
	case 10:
		take_snapshot(scene, PERCH_SNAPSHOT_OLDEST_FIRST);
		break;
	case 11:
		perch_ring_resume(scene->ring[0], NULL);
		break;
	case 12:
		read_merged(scene, code & 16);
		break;
	case 13:
		read_aux(scene, input);
		break;
	case 14:
		write_ring(scene, input, code >> 7, false);
		break;
	default:
		perch_ring_get_stats(scene->ring[0], &stats);
	}
	return true;
}

static void close_scene(struct scene *scene)
{
	perch_merge_free(scene->merge);
	perch_decoder_free(scene->decoder);
	for (int i = 0; i < 2; i++) {
		perch_ring_close(scene->ring[i]);
		free(scene->control[i]);
		free(scene->data[i]);
	}
	free(scene->area);
}

static bool open_scene(struct scene *scene, const struct setting *setting)
{
	const struct perch_attr attr = { .size = sizeof(attr),
					 .sample_type = setting->sample_type,
					 .sample_id_all = 1 };
	const struct perch_decoder_event event = { .attr = &attr };
	enum perch_ring_mode mode = setting->overwrite & 1 ? PERCH_RING_OVERWRITE
							   : PERCH_RING_FORWARD;

	scene->size = 8ull << setting->ring_bits % MAX_BITS;
	scene->aux_size = 8ull << setting->aux_bits % 8;
	scene->area = calloc(1, scene->aux_size);
	scene->overwrite = mode == PERCH_RING_OVERWRITE;
	scene->at = setting->tail & ~7ull;
	scene->at_valid = !scene->overwrite;
	for (int i = 0; i < 2; i++) {
		scene->control[i] = calloc(1, sizeof(*scene->control[i]));
		scene->data[i] = calloc(1, scene->size);
		if (!scene->control[i] || !scene->data[i])
			return false;
		scene->control[i]->data_head = setting->head;
		scene->control[i]->data_tail = setting->tail & ~7ull;
		scene->control[i]->aux_head = setting->aux_head;
		scene->control[i]->aux_tail = setting->aux_tail;
		if (perch_ring_from_memory(&scene->ring[i], scene->control[i], scene->data[i],
					   scene->size, i ? PERCH_RING_FORWARD : mode, NULL))
			return false;
	}
	if (!scene->area ||
	    perch_decoder_new(&scene->decoder, &event, 1, PERCH_BYTES_NATIVE, NULL) ||
	    perch_ring_aux_from_memory(
		    scene->ring[0], scene->area, scene->aux_size,
		    setting->aux_overwrite & 1 ? PERCH_RING_OVERWRITE : PERCH_RING_FORWARD, NULL))
		return false;
	/* fails with an overwrite ring */
	perch_merge_new(&scene->merge, scene->ring, 2, scene->decoder, NULL);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	struct scene scene = { 0 };
	struct setting setting;

	take(&input, &setting, sizeof(setting));
	if (open_scene(&scene, &setting))
		while (step(&scene, &input))
			;
	close_scene(&scene);
	return 0;
}

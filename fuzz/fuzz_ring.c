/* SPDX-License-Identifier: MIT */
/*
 * The input sets the control page, the data and the AUX area of a ring to any values, and changes
 * them between steps. The target reads the ring in all modes, by snapshots, and merged with a
 * second ring. The records must be the bytes of the ring from the read position to the head,
 * without a gap. Snapshots in both orders must have the same records. The input is a struct setting
 * followed by steps. A step is one byte, which selects the operation, and its arguments.
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

struct fixture {
	struct perch_mmap_page *control[2];
	uint8_t *data[2];
	size_t size, aux_size;
	uint8_t *area;
	struct perch_ring *ring[2];
	struct perch_decoder *decoder;
	struct perch_merge *merge;
	/* the position of the first ring's next record; its lower half, as 32-bit kernels count */
	uint64_t at;
	bool at_valid; /* false after damage, until all records are read */
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

static uint64_t head_of(const struct fixture *fixture)
{
	return fixture->control[0]->data_head & ~7ull;
}

static uint64_t damages(const struct fixture *fixture)
{
	struct perch_ring_stats stats;

	perch_ring_get_stats(fixture->ring[0], &stats);
	return stats.damaged;
}

/* The bytes must be those of the ring at the read position. */
static void check_bytes(struct fixture *fixture, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (((const uint8_t *)bytes)[i] !=
		    fixture->data[0][(fixture->at + i) & (fixture->size - 1)])
			abort();
	fixture->at += size;
}

/* The next record of the first ring. If there is none, everything up to the head must be read. */
static const struct perch_record_header *next_record(struct fixture *fixture)
{
	uint64_t before = damages(fixture);
	const struct perch_record_header *bytes = perch_ring_next(fixture->ring[0]);

	/* the end of a round: the next one has what was written since it began */
	if (!bytes && !fixture->overwrite)
		bytes = perch_ring_next(fixture->ring[0]);
	if (damages(fixture) != before)
		fixture->at_valid = false;
	if (!bytes && !fixture->overwrite) {
		if (fixture->at_valid && (uint32_t)fixture->at != (uint32_t)head_of(fixture))
			abort();
		fixture->at = head_of(fixture);
		fixture->at_valid = true;
	}
	if (bytes && ((uintptr_t)bytes & 7 || bytes->size < 8 || bytes->size & 7 ||
		      bytes->size > fixture->size))
		abort();
	if (bytes && fixture->at_valid)
		check_bytes(fixture, bytes, bytes->size);
	return bytes;
}

static void read_records(struct fixture *fixture, size_t most)
{
	const struct perch_record_header *bytes;
	struct perch_record record;

	while (most-- && (bytes = next_record(fixture))) {
		touch_bytes(bytes, bytes->size);
		if (perch_decoder_decode(fixture->decoder, bytes, bytes->size, &record, NULL) >= 0)
			touch_record(&record);
	}
}

static void read_merged(struct fixture *fixture, bool flush)
{
	struct perch_record record;
	struct perch_error err;
	uint64_t time;
	size_t ring;

	fixture->at_valid = fixture->at_valid && !fixture->merge;
	for (int n = 0; fixture->merge && n < MAX_RECORDS; n++) {
		int rc = perch_merge_next(fixture->merge, flush, &record, &ring, &err);

		if (!rc)
			break;
		if (ring > 1)
			abort();
		if (perch_decoder_time(fixture->decoder, record.bytes, record.size, &time)) {
			fixture->out_of_order += time < fixture->latest;
			fixture->latest = time > fixture->latest ? time : fixture->latest;
		}
		if (fixture->out_of_order != perch_merge_out_of_order(fixture->merge))
			abort();
		if (rc > 0)
			touch_record(&record);
	}
}

/* Reads a whole snapshot, and stores the sizes of its records. */
static ssize_t list_snapshot(struct fixture *fixture, enum perch_snapshot_order order,
			     uint16_t *sizes)
{
	const struct perch_record_header *bytes;
	struct perch_error err;
	ssize_t reported = perch_ring_snapshot(fixture->ring[0], order, &err), nr = 0;

	if (reported > (ssize_t)(fixture->size / 8))
		abort();
	fixture->at = head_of(fixture);
	fixture->at_valid = reported >= 0 && order == PERCH_SNAPSHOT_NEWEST_FIRST;
	while (reported >= 0 && (bytes = next_record(fixture)))
		sizes[nr++] = bytes->size;
	fixture->at_valid = false;
	if (reported >= 0 && nr != reported)
		abort();
	return reported < 0 ? reported : nr;
}

static void take_snapshot(struct fixture *fixture, enum perch_snapshot_order order)
{
	static uint16_t newest[MAX_SIZE / 8], oldest[MAX_SIZE / 8];
	struct perch_error err;
	ssize_t nr;

	if (!fixture->overwrite) {
		if (perch_ring_snapshot(fixture->ring[0], order, &err) >= 0)
			abort();
		return;
	}
	nr = list_snapshot(fixture, PERCH_SNAPSHOT_NEWEST_FIRST, newest);
	if (list_snapshot(fixture, PERCH_SNAPSHOT_OLDEST_FIRST, oldest) != nr)
		abort();
	for (ssize_t i = 0; i < nr; i++)
		if (newest[i] != oldest[nr - 1 - i])
			abort();
	if (nr >= 0 && perch_ring_snapshot(fixture->ring[0], order, &err) == nr)
		read_records(fixture, order == PERCH_SNAPSHOT_OLDEST_FIRST ? nr / 2 + 1 : nr);
}

/* The trace from the tail to the head, if the area can have that head. */
static void peek_aux(struct fixture *fixture, struct input *input)
{
	const struct perch_mmap_page *control = fixture->control[0];
	uint64_t tail = control->aux_tail, wanted = take_word(input, 2);
	struct iovec pieces[2];
	size_t bytes = perch_ring_aux_peek(fixture->ring[0], pieces);

	touch_pieces(pieces, bytes, fixture->area, fixture->aux_size);
	if (bytes && (pieces[0].iov_base != fixture->area + (tail & (fixture->aux_size - 1)) ||
		      control->aux_tail != tail))
		abort();
	tail = control->aux_tail;
	perch_ring_aux_consume(fixture->ring[0], wanted);
	if (control->aux_tail - tail > wanted || control->aux_tail - tail > fixture->aux_size)
		abort();
}

static void read_aux(struct fixture *fixture, struct input *input)
{
	struct perch_record record = { .type = PERCH_RECORD_AUX };
	struct iovec pieces[2];
	ssize_t bytes;

	record.aux.offset = take_word(input, 8);
	record.aux.size = take_word(input, 8);
	record.aux.flags = take_word(input, 1);
	bytes = perch_ring_aux_data(fixture->ring[0], &record, pieces);
	touch_pieces(pieces, bytes < 0 ? 0 : bytes, fixture->area, fixture->aux_size);
	peek_aux(fixture, input);
	bytes = perch_ring_aux_snapshot(fixture->ring[0], pieces);
	touch_pieces(pieces, bytes, fixture->area, fixture->aux_size);
}

/* Only complete records, without a gap. */
static void check_batch(const struct fixture *fixture, size_t bytes)
{
	struct perch_record_header header;

	for (size_t at = 0; at < bytes; at += header.size) {
		memcpy(&header, fixture->data[0] + ((fixture->at + at) & (fixture->size - 1)),
		       sizeof(header));
		if (header.size < 8 || header.size & 7 || header.size > bytes - at)
			abort();
	}
}

static void peek(struct fixture *fixture, struct input *input)
{
	uint64_t before = damages(fixture), wanted = take_word(input, 2);
	struct iovec pieces[2];
	size_t bytes = perch_ring_peek(fixture->ring[0], pieces);
	uint32_t left;

	touch_pieces(pieces, bytes, fixture->data[0], fixture->size);
	if (!fixture->overwrite && damages(fixture) != before) {
		if (bytes)
			abort();
		fixture->at = head_of(fixture);
		fixture->at_valid = true;
	}
	if (fixture->at_valid && bytes) {
		if (pieces[0].iov_base != fixture->data[0] + (fixture->at & (fixture->size - 1)))
			abort();
		check_batch(fixture, bytes);
	}
	perch_ring_consume(fixture->ring[0], wanted);
	left = (uint32_t)(head_of(fixture) - fixture->at);
	fixture->at += (wanted < left ? wanted : left) & ~7ull;
}

/*
 * Writes bytes of the input to a ring as the kernel does, and moves the head to their end or start.
 */
static void write_ring(struct fixture *fixture, struct input *input, unsigned which, bool backward)
{
	struct perch_mmap_page *control = fixture->control[which];
	size_t bytes = take_word(input, 1) * 8, start;

	if (backward)
		control->data_head -= bytes;
	start = control->data_head;
	for (size_t i = 0; i < bytes; i++)
		take(input, &fixture->data[which][(start + i) & (fixture->size - 1)], 1);
	if (!backward)
		control->data_head += bytes;
}

static bool step(struct fixture *fixture, struct input *input)
{
	struct perch_ring_stats stats;
	uint8_t code;

	if (!input->left)
		return false;
	code = take_word(input, 1);
	switch (code % 16) {
	case 0:
		fixture->control[code >> 7]->data_head = take_word(input, 8);
		break;
	case 1:
		fixture->control[code >> 7]->data_head += take_word(input, 2);
		break;
	case 2:
		fixture->control[0]->data_tail = take_word(input, 8);
		break;
	case 3:
		fixture->control[0]->aux_head = take_word(input, 8);
		break;
	case 4:
		fixture->control[0]->aux_head += take_word(input, 2);
		break;
	case 5:
		write_ring(fixture, input, code >> 7, code & 64);
		break;
	case 6:
		write_ring(fixture, input, code >> 7, true);
		break;
	case 7:
		read_records(fixture, take_word(input, 1));
		break;
	case 8:
		peek(fixture, input);
		break;
	case 9:
		take_snapshot(fixture, PERCH_SNAPSHOT_NEWEST_FIRST);
		break;
	case 10:
		take_snapshot(fixture, PERCH_SNAPSHOT_OLDEST_FIRST);
		break;
	case 11:
		perch_ring_resume(fixture->ring[0], NULL);
		break;
	case 12:
		read_merged(fixture, code & 16);
		break;
	case 13:
		read_aux(fixture, input);
		break;
	case 14:
		write_ring(fixture, input, code >> 7, false);
		break;
	default:
		perch_ring_get_stats(fixture->ring[0], &stats);
	}
	return true;
}

static void close_fixture(struct fixture *fixture)
{
	perch_merge_free(fixture->merge);
	perch_decoder_free(fixture->decoder);
	for (int i = 0; i < 2; i++) {
		perch_ring_close(fixture->ring[i]);
		free(fixture->control[i]);
		free(fixture->data[i]);
	}
	free(fixture->area);
}

static bool open_fixture(struct fixture *fixture, const struct setting *setting)
{
	const struct perch_attr attr = { .size = sizeof(attr),
					 .sample_type = setting->sample_type,
					 .sample_id_all = 1 };
	const struct perch_decoder_event event = { .attr = &attr };
	enum perch_ring_mode mode = setting->overwrite & 1 ? PERCH_RING_OVERWRITE
							   : PERCH_RING_FORWARD;

	fixture->size = 8ull << setting->ring_bits % MAX_BITS;
	fixture->aux_size = 8ull << setting->aux_bits % 8;
	fixture->area = calloc(1, fixture->aux_size);
	fixture->overwrite = mode == PERCH_RING_OVERWRITE;
	fixture->at = setting->tail & ~7ull;
	fixture->at_valid = !fixture->overwrite;
	for (int i = 0; i < 2; i++) {
		fixture->control[i] = calloc(1, sizeof(*fixture->control[i]));
		fixture->data[i] = calloc(1, fixture->size);
		if (!fixture->control[i] || !fixture->data[i])
			return false;
		fixture->control[i]->data_head = setting->head;
		fixture->control[i]->data_tail = setting->tail & ~7ull;
		fixture->control[i]->aux_head = setting->aux_head;
		fixture->control[i]->aux_tail = setting->aux_tail;
		if (perch_ring_from_memory(&fixture->ring[i], fixture->control[i], fixture->data[i],
					   fixture->size, i ? PERCH_RING_FORWARD : mode, NULL))
			return false;
	}
	if (!fixture->area ||
	    perch_decoder_new(&fixture->decoder, &event, 1, PERCH_BYTES_NATIVE, NULL) ||
	    perch_ring_aux_from_memory(
		    fixture->ring[0], fixture->area, fixture->aux_size,
		    setting->aux_overwrite & 1 ? PERCH_RING_OVERWRITE : PERCH_RING_FORWARD, NULL))
		return false;
	/* fails with an overwrite ring */
	perch_merge_new(&fixture->merge, fixture->ring, 2, fixture->decoder, NULL);
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	struct fixture fixture = { 0 };
	struct setting setting;

	take(&input, &setting, sizeof(setting));
	if (open_fixture(&fixture, &setting))
		while (step(&fixture, &input))
			;
	close_fixture(&fixture);
	return 0;
}

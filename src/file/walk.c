/* SPDX-License-Identifier: MIT */
/*
 * From record to record in the order of the file, stepping over payloads and into compressed
 * records.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "internal.h"

#define HEADER_BYTES 8u

static void enter_piece(const struct perch_reader *reader, struct perch__walk *walk, size_t number)
{
	walk->piece = number;
	walk->at = reader->piece[number].start;
	walk->end = reader->piece[number].end;
}

void perch__walk_start(struct perch_reader *reader, struct perch__walk *walk)
{
	*walk = (struct perch__walk){ 0 };
	enter_piece(reader, walk, 0);
	reader->nr_packs = 0;
	perch__unpack_restart(reader);
}

/* Two types have bytes behind the record that its 16-bit size does not count. */
uint64_t perch__record_payload(bool swapped, const uint8_t *record, uint16_t size)
{
	uint32_t type = perch__u32(record), brief;
	uint64_t payload;

	if (swapped)
		type = __builtin_bswap32(type);
	if (type == PERCH_RECORD_AUXTRACE && size >= 16) {
		payload = perch__u64(record + 8);
		return swapped ? __builtin_bswap64(payload) : payload;
	}
	if (type == PERCH_RECORD_HEADER_TRACING_DATA && size >= 12) {
		brief = perch__u32(record + 8);
		return ((swapped ? __builtin_bswap32(brief) : brief) + 7ull) & ~7ull;
	}
	return 0;
}

/* ---- unpacked records ---- */

/*
 * The next whole record among the unpacked bytes: 1, or 0 when there is none (a part may wait for
 * more).
 */
static int next_unpacked(struct perch_reader *reader, struct perch__walk *walk, uint64_t *offset)
{
	uint64_t left = walk->unpacked_end - walk->unpacked_at;
	uint16_t size;

	if (left < HEADER_BYTES)
		return 0;
	size = perch__file_u16(reader, reader->unpacked + walk->unpacked_at + 6);
	if (size < HEADER_BYTES) {
		walk->garbled += left;
		walk->unpacked_at = walk->unpacked_end;
		return 0;
	}
	if (size > left)
		return 0;
	*offset = reader->extent + walk->unpacked_at;
	walk->unpacked_at += size;
	return 1;
}

/* In file order only what is not yet read of the unpacked bytes is kept. */
static void forget_unpacked(struct perch_reader *reader, struct perch__walk *walk)
{
	uint64_t left = walk->unpacked_end - walk->unpacked_at;

	if (reader->order != PERCH_ORDER_FILE || !walk->unpacked_at)
		return;
	memmove(reader->unpacked, reader->unpacked + walk->unpacked_at, left);
	walk->unpacked_at = 0;
	walk->unpacked_end = left;
	reader->nr_packs = 0;
}

/* Remembers what has been unpacked last as that of the packed record at `offset`. */
static bool note_pack(struct perch_reader *reader, const struct perch__walk *walk, uint64_t offset)
{
	if (reader->nr_packs == reader->room_packs) {
		size_t room = reader->room_packs ? 2 * reader->room_packs : 16;
		struct perch__pack *packs = realloc(reader->pack, room * sizeof(*packs));

		if (!packs)
			return false;
		reader->pack = packs;
		reader->room_packs = room;
	}
	reader->pack[reader->nr_packs++] =
		(struct perch__pack){ .end = walk->unpacked_end, .offset = offset };
	return true;
}

static int unpack(struct perch_reader *reader, struct perch__walk *walk, uint64_t offset,
		  uint16_t size, struct perch_error *err)
{
	int rc;

	forget_unpacked(reader, walk);
	rc = perch__unpack(reader, reader->file + offset, size, &walk->unpacked_end, err);
	if (rc == -EBADMSG || rc == -EFBIG) {
		walk->garbled += size;
		walk->too_large |= rc == -EFBIG;
		rc = 0;
	}
	walk->unpacking = true;
	if (!rc && !note_pack(reader, walk, offset))
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory to unpack compressed records");
	return rc;
}

/* ---- the files' records ---- */

static bool is_cut_off(const struct perch_reader *reader, const struct perch__walk *walk)
{
	return !walk->piece && (reader->missing || reader->unfinished);
}

/*
 * What follows cannot be told apart into records. A cut at the end of a cut-off file has been told
 * already.
 */
static void stop(const struct perch_reader *reader, struct perch__walk *walk, bool cut)
{
	if (!cut || !is_cut_off(reader, walk))
		walk->garbled += walk->end - walk->at;
	walk->at = walk->end;
}

/* The size of the record at walk->at; 0 when there is none. */
static inline uint16_t whole_record(const struct perch_reader *reader, struct perch__walk *walk)
{
	uint64_t left = walk->end - walk->at;
	uint16_t size;

	if (__builtin_expect(left < HEADER_BYTES, 0)) {
		if (left)
			stop(reader, walk, true);
		return 0;
	}
	size = perch__file_u16(reader, reader->file + walk->at + 6);
	if (__builtin_expect(size < HEADER_BYTES || size > left, 0)) {
		stop(reader, walk, size >= HEADER_BYTES);
		return 0;
	}
	return size;
}

static void step_over_payload(const struct perch_reader *reader, struct perch__walk *walk,
			      uint64_t payload)
{
	if (__builtin_expect(payload > walk->end - walk->at, 0))
		stop(reader, walk, true);
	else
		walk->at += payload;
}

/* The next file of a directory: what is packed there is a stream of its own. */
static bool next_piece(struct perch_reader *reader, struct perch__walk *walk)
{
	/* a part of a record whose rest never came */
	if (!is_cut_off(reader, walk))
		walk->garbled += walk->unpacked_end - walk->unpacked_at;
	walk->unpacked_at = walk->unpacked_end;
	if (walk->piece + 1 >= reader->nr_pieces)
		return false;
	perch__unpack_begin(reader);
	enter_piece(reader, walk, walk->piece + 1);
	return true;
}

static int next_in_file(struct perch_reader *reader, struct perch__walk *walk, uint64_t *offset,
			struct perch_error *err)
{
	const uint8_t *record;
	uint16_t size;

	while (!(size = whole_record(reader, walk)))
		if (!next_piece(reader, walk))
			return 0;
	record = reader->file + walk->at;
	*offset = walk->at;
	if (__builtin_expect(perch__file_u32(reader, record) < PERCH_RECORD_HEADER_ATTR, 1)) {
		walk->at += size;
		return 1;
	}
	walk->at += size;
	step_over_payload(reader, walk, perch__record_payload(reader->swapped, record, size));
	if (perch__is_packed(perch__file_u32(reader, record))) {
		int rc = unpack(reader, walk, *offset, size, err);

		if (rc)
			return rc;
	}
	return 1;
}

int perch__walk_next(struct perch_reader *reader, struct perch__walk *walk, uint64_t *offset,
		     struct perch_error *err)
{
	if (__builtin_expect(walk->unpacking, 0)) {
		if (next_unpacked(reader, walk, offset))
			return 1;
		walk->unpacking = false;
	}
	return next_in_file(reader, walk, offset, err);
}

/* ---- places ---- */

/* Where the packed record lies that a byte of the unpacked ones came from. */
static uint64_t pack_of(const struct perch_reader *reader, uint64_t last)
{
	size_t low = 0, high = reader->nr_packs;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reader->pack[middle].end <= last)
			low = middle + 1;
		else
			high = middle;
	}
	return low < reader->nr_packs ? reader->pack[low].offset : 0;
}

static uint64_t base_of(const struct perch_reader *reader, uint64_t offset)
{
	size_t low = 0, high = reader->nr_pieces - 1;

	while (low < high) {
		size_t middle = low + (high - low + 1) / 2;

		if (reader->piece[middle].base > offset)
			high = middle - 1;
		else
			low = middle;
	}
	return reader->piece[low].base;
}

uint64_t perch__file_offset(const struct perch_reader *reader, uint64_t offset, uint16_t size)
{
	if (__builtin_expect(offset >= reader->extent, 0))
		offset = pack_of(reader, offset - reader->extent + size - 1);
	return __builtin_expect(reader->nr_pieces > 1, 0) ? offset - base_of(reader, offset)
							  : offset;
}

/*
 * Private pages of a read-only mapping: dropped now, they are read again from the page cache if
 * anyone still looks. So views stay valid, and a report over a large file does not count it as its
 * own memory.
 */
void perch__release(struct perch_reader *reader, uint64_t before)
{
	uint64_t page = sysconf(_SC_PAGESIZE);

	if (reader->read_in || before <= reader->released)
		return;
	before = before / page * page;
	if (before > reader->released)
		madvise((void *)(reader->file + reader->released), before - reader->released,
			MADV_DONTNEED);
	reader->released = before;
}

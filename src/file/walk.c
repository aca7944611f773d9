/* SPDX-License-Identifier: MIT */
/*
 * From record to record in the order of the file, stepping over payloads and into compressed
 * records.
 */
#include <sys/mman.h>
#include <unistd.h>
#include "internal.h"

#define HEADER_BYTES 8u

void perch__walk_start(struct perch_reader *reader, struct perch__walk *walk)
{
	*walk = (struct perch__walk){ .at = reader->data_offset };
	perch__unpack_restart(reader);
}

/* Two types have bytes behind the record that its 16-bit size does not count. */
uint64_t perch__record_extent(const uint8_t *record, uint16_t size, uint64_t left)
{
	uint32_t type = perch__u32(record);
	uint64_t payload = 0;

	if (__builtin_expect(type == PERCH_RECORD_AUXTRACE, 0) && size >= 16)
		payload = perch__u64(record + 8);
	if (__builtin_expect(type == PERCH_RECORD_HEADER_TRACING_DATA, 0) && size >= 12)
		payload = (perch__u32(record + 8) + 7ull) & ~7ull;
	return payload > left - size ? left : size + payload;
}

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
	size = perch__u16(reader->unpacked + walk->unpacked_at + 6);
	if (size < HEADER_BYTES) {
		walk->garbled += left;
		walk->unpacked_at = walk->unpacked_end;
		return 0;
	}
	if (size > left)
		return 0;
	*offset = reader->size + walk->unpacked_at;
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
}

static int unpack(struct perch_reader *reader, struct perch__walk *walk, const uint8_t *record,
		  uint16_t size, struct perch_error *err)
{
	int rc;

	forget_unpacked(reader, walk);
	rc = perch__unpack(reader, record, size, &walk->unpacked_end, err);
	if (rc == -EBADMSG || rc == -EFBIG) {
		walk->garbled += size;
		walk->too_large |= rc == -EFBIG;
		rc = 0;
	}
	walk->unpacking = true;
	return rc;
}

/*
 * What follows cannot be told apart into records. A cut at the end of a cut-off file has been told
 * already.
 */
static int stop(struct perch_reader *reader, struct perch__walk *walk, bool cut)
{
	if (!cut || (!reader->missing && !reader->unfinished))
		walk->garbled += reader->data_end - walk->at;
	walk->at = reader->data_end;
	return 0;
}

static int next_in_file(struct perch_reader *reader, struct perch__walk *walk, uint64_t *offset,
			struct perch_error *err)
{
	uint64_t left = reader->data_end - walk->at;
	const uint8_t *record = reader->file + walk->at;
	uint16_t size;

	if (!left)
		return 0;
	if (left < HEADER_BYTES)
		return stop(reader, walk, true);
	size = perch__u16(record + 6);
	if (size < HEADER_BYTES)
		return stop(reader, walk, false);
	if (size > left)
		return stop(reader, walk, true);
	*offset = walk->at;
	walk->at += perch__record_extent(record, size, left);
	if (__builtin_expect(perch__is_packed(perch__u32(record)), 0)) {
		int rc = unpack(reader, walk, record, size, err);

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

/*
 * Private pages of a read-only mapping: dropped now, they are read again from the page cache if
 * anyone still looks. So views stay valid, and a report over a large file does not count it as its
 * own memory.
 */
void perch__release(struct perch_reader *reader, uint64_t before)
{
	uint64_t page = sysconf(_SC_PAGESIZE);

	if (!reader->mapped || before <= reader->released)
		return;
	before = before / page * page;
	if (before > reader->released)
		madvise((void *)(reader->file + reader->released), before - reader->released,
			MADV_DONTNEED);
	reader->released = before;
}

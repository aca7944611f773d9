/* SPDX-License-Identifier: MIT */
/*
 * Iterates over the records in file order. It skips payloads after records, and decompresses
 * compressed records.
 */
#include <sys/mman.h>
#include <unistd.h>
#include "base/no_memory.h"
#include "base/search.h"
#include "internal.h"

#define HEADER_BYTES 8u

static void enter_range(const struct perch_reader *reader, struct perch__cursor *cursor,
			size_t number)
{
	cursor->range = number;
	cursor->at = reader->range[number].start;
	cursor->end = reader->range[number].end;
}

void perch__cursor_start(struct perch_reader *reader, struct perch__cursor *cursor)
{
	struct perch__output *output = &reader->blocks.all[0].output;

	*cursor = (struct perch__cursor){ .output = output };
	enter_range(reader, cursor, 0);
	output->nr_compressed = 0;
	output->discarded = output->at = output->end = 0;
	reader->output = output;
	perch__decompress_restart(reader);
}

void perch__cursor_of_range(const struct perch_reader *reader, struct perch__cursor *cursor,
			    size_t number)
{
	*cursor = (struct perch__cursor){ .one_range = true };
	enter_range(reader, cursor, number);
}

/* Two record types have a payload that their 16-bit size does not include. */
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
		brief = swapped ? __builtin_bswap32(brief) : brief;
		/* simpleperf before 2017: the size of the record includes them */
		return brief <= size - 12u ? 0 : (brief + 7ull) & ~7ull;
	}
	return 0;
}

/* ---- decompressed records ---- */

/*
 * Finds the next complete decompressed record. Returns 1, or 0 if there is none. The rest of a
 * partial record is in the next compressed record.
 */
static int next_decompressed(struct perch_reader *reader, struct perch__cursor *cursor,
			     uint64_t *offset)
{
	struct perch__output *output = cursor->output;
	uint64_t left = output->end - output->at;
	uint16_t size;

	if (left < HEADER_BYTES)
		return 0;
	size = perch__file_u16(reader, output->bytes + output->at + 6);
	if (size < HEADER_BYTES) {
		cursor->corrupt += left;
		output->at = output->end;
		return 0;
	}
	if (size > left)
		return 0;
	*offset = reader->extent + output->discarded + output->at;
	output->at += size;
	return 1;
}

int perch__output_move(struct perch__output *to, const struct perch__output *from, uint64_t bytes)
{
	uint64_t discarded = from->discarded + bytes, at = from->at - bytes;
	size_t size = from->end - bytes, first = 0, nr;

	if (to == from && !bytes)
		return 0;
	while (first < from->nr_compressed && from->compressed[first].end <= discarded)
		first++;
	nr = from->nr_compressed - first;
	if (to != from && (PERCH__ARRAY_RESERVE(to->bytes, to->capacity, size) ||
			   PERCH__ARRAY_RESERVE(to->compressed, to->compressed_capacity, nr)))
		return -ENOMEM;
	if (size)
		memmove(to->bytes, from->bytes + bytes, size);
	if (nr)
		memmove(to->compressed, from->compressed + first, nr * sizeof(*to->compressed));
	to->nr_compressed = nr;
	to->discarded = discarded;
	to->at = at;
	to->end = size;
	return 0;
}

void perch__output_free(struct perch__output *output)
{
	free(output->bytes);
	free(output->compressed);
}

/* Stores the offset of the compressed record that was decompressed last. */
static bool add_compressed(struct perch__output *output, uint64_t offset)
{
	struct perch__compressed *compressed = PERCH__ARRAY_APPEND(
		output->compressed, output->nr_compressed, output->compressed_capacity);

	if (!compressed)
		return false;
	compressed->end = output->discarded + output->end;
	compressed->offset = offset;
	return true;
}

static int decompress_record(struct perch_reader *reader, struct perch__cursor *cursor,
			     uint64_t offset, uint16_t size, struct perch_error *err)
{
	struct perch__output *output = cursor->output;
	int rc;

	/* in file order, decompressed records are discarded once they are delivered */
	if (reader->order == PERCH_ORDER_FILE)
		perch__output_move(output, output, output->at);
	rc = perch__decompress(reader, reader->file + offset, size, output, err);
	if (rc == -EBADMSG || rc == -EFBIG) {
		cursor->corrupt += size;
		cursor->too_large |= rc == -EFBIG;
		rc = 0;
	}
	cursor->decompressing = true;
	if (!rc && !add_compressed(output, offset))
		return PERCH__NO_MEMORY(err, "to decompress records");
	return rc;
}

/* ---- records of the file ---- */

static bool is_cut_off(const struct perch_reader *reader, const struct perch__cursor *cursor)
{
	return !cursor->range && (reader->missing_bytes || reader->unfinished);
}

/*
 * Ends the range: no record can be found in the rest. The rest is counted as corrupt, except at the
 * end of a truncated file, which is reported by other numbers.
 */
static void stop_cursor(const struct perch_reader *reader, struct perch__cursor *cursor, bool cut)
{
	if (!cut || !is_cut_off(reader, cursor))
		cursor->corrupt += cursor->end - cursor->at;
	cursor->at = cursor->end;
}

/* Returns the size of the complete record at cursor->at, or 0. */
static inline uint16_t whole_record(const struct perch_reader *reader, struct perch__cursor *cursor)
{
	uint64_t left = cursor->end - cursor->at;
	uint16_t size;

	if (__builtin_expect(left < HEADER_BYTES, 0)) {
		if (left)
			stop_cursor(reader, cursor, true);
		return 0;
	}
	size = perch__file_u16(reader, reader->file + cursor->at + 6);
	if (__builtin_expect(size < HEADER_BYTES || size > left, 0)) {
		stop_cursor(reader, cursor, size >= HEADER_BYTES);
		return 0;
	}
	return size;
}

static void step_over_payload(const struct perch_reader *reader, struct perch__cursor *cursor,
			      uint64_t payload)
{
	if (__builtin_expect(payload > cursor->end - cursor->at, 0))
		stop_cursor(reader, cursor, true);
	else
		cursor->at += payload;
}

/* Enters the next file of a directory, whose compressed records are another stream. */
static bool next_range(struct perch_reader *reader, struct perch__cursor *cursor)
{
	if (cursor->one_range)
		return false;
	/* bytes of a partial record without its rest */
	if (!is_cut_off(reader, cursor))
		cursor->corrupt += cursor->output->end - cursor->output->at;
	cursor->output->at = cursor->output->end;
	if (cursor->range + 1 >= reader->nr_ranges)
		return false;
	perch__decompress_begin(reader);
	enter_range(reader, cursor, cursor->range + 1);
	return true;
}

static int next_in_file(struct perch_reader *reader, struct perch__cursor *cursor, uint64_t *offset,
			struct perch_error *err)
{
	const uint8_t *record;
	uint16_t size;

	while (!(size = whole_record(reader, cursor)))
		if (!next_range(reader, cursor))
			return 0;
	record = reader->file + cursor->at;
	*offset = cursor->at;
	if (__builtin_expect(perch__file_u32(reader, record) < PERCH_RECORD_HEADER_ATTR, 1)) {
		cursor->at += size;
		return 1;
	}
	cursor->at += size;
	step_over_payload(reader, cursor, perch__record_payload(reader->swapped, record, size));
	if (perch__is_compressed(perch__file_u32(reader, record))) {
		int rc;

		/* it had no such record before: another program has changed it */
		if (cursor->one_range) {
			cursor->corrupt += size;
			return 1;
		}
		rc = decompress_record(reader, cursor, *offset, size, err);

		if (rc)
			return rc;
	}
	return 1;
}

int perch__cursor_next(struct perch_reader *reader, struct perch__cursor *cursor, uint64_t *offset,
		       struct perch_error *err)
{
	if (__builtin_expect(cursor->decompressing, 0)) {
		if (next_decompressed(reader, cursor, offset))
			return 1;
		cursor->decompressing = false;
	}
	return next_in_file(reader, cursor, offset, err);
}

/* ---- offsets ---- */

/* Returns the offset of the compressed record whose output has byte `last`. */
static uint64_t compressed_record_of(const struct perch__output *output, uint64_t last)
{
	size_t low = PERCH__SEARCH(output->nr_compressed, i, output->compressed[i].end <= last);

	return low < output->nr_compressed ? output->compressed[low].offset : 0;
}

static uint64_t base_of(const struct perch_reader *reader, uint64_t offset)
{
	size_t low = 0, high = reader->nr_ranges - 1;

	while (low < high) {
		size_t middle = low + (high - low + 1) / 2;

		if (reader->range[middle].base > offset)
			high = middle - 1;
		else
			low = middle;
	}
	return reader->range[low].base;
}

uint64_t perch__file_offset(const struct perch_reader *reader, const struct perch__output *output,
			    uint64_t offset, uint16_t size)
{
	if (__builtin_expect(offset >= reader->extent, 0))
		offset = compressed_record_of(output, offset - reader->extent + size - 1);
	return __builtin_expect(reader->nr_ranges > 1, 0) ? offset - base_of(reader, offset)
							  : offset;
}

/*
 * Releases pages with MADV_DONTNEED: the mapping is private and read-only, so a later access reads
 * them from the page cache again. Views stay valid, and the file does not add to the memory of the
 * process.
 */
void perch__release(const struct perch_reader *reader, uint64_t *released, uint64_t before)
{
	uint64_t page = sysconf(_SC_PAGESIZE);

	if (reader->copied || before <= *released)
		return;
	before = before / page * page;
	if (before > *released)
		madvise((void *)(reader->file + *released / page * page),
			before - *released / page * page, MADV_DONTNEED);
	*released = before;
}

uint64_t perch__cursor_position(const struct perch_reader *reader,
				const struct perch__cursor *cursor)
{
	uint64_t position = cursor->at - reader->range[cursor->range].start;

	for (size_t i = 0; i < cursor->range; i++)
		position += reader->range[i].end - reader->range[i].start;
	return position;
}

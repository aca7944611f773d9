/* SPDX-License-Identifier: MIT */
/*
 * COMPRESSED and COMPRESSED2 records hold pieces of one zstd stream; unpacked, they are records
 * again, which may reach from one piece into the next. A small file may claim to unpack to any
 * size, so there is a limit.
 */
#include <stdlib.h>
#ifdef PERCH_HAVE_ZSTD
#include <zstd.h>
#endif
#include "internal.h"

#define HEADER_BYTES 8u
#define ROOM_LEAST   (64u << 20) /* what any file may unpack to, */
#define RATIO_MOST   64u	 /* and how much more for each of its bytes */

bool perch__is_packed(uint32_t type)
{
	return type == PERCH_RECORD_COMPRESSED || type == PERCH_RECORD_COMPRESSED2;
}

#ifdef PERCH_HAVE_ZSTD

struct perch__unpacker {
	ZSTD_DCtx *zstd;
	uint64_t total;
	int broken; /* why what follows in the stream is of no use any more: a negative errno */
};

void perch__unpack_begin(struct perch_reader *reader)
{
	struct perch__unpacker *unpacker = reader->unpacker;

	if (!unpacker)
		return;
	ZSTD_DCtx_reset(unpacker->zstd, ZSTD_reset_session_only);
	if (unpacker->broken == -EBADMSG)
		unpacker->broken = 0;
}

void perch__unpack_restart(struct perch_reader *reader)
{
	struct perch__unpacker *unpacker = reader->unpacker;

	if (!unpacker)
		return;
	perch__unpack_begin(reader);
	unpacker->total = 0;
	unpacker->broken = 0;
}

void perch__unpack_free(struct perch_reader *reader)
{
	if (reader->unpacker)
		ZSTD_freeDCtx(reader->unpacker->zstd);
	free(reader->unpacker);
}

static struct perch__unpacker *get_unpacker(struct perch_reader *reader)
{
	struct perch__unpacker *unpacker = reader->unpacker;

	if (unpacker)
		return unpacker;
	unpacker = calloc(1, sizeof(*unpacker));
	if (!unpacker)
		return NULL;
	unpacker->zstd = ZSTD_createDCtx();
	if (!unpacker->zstd) {
		free(unpacker);
		return NULL;
	}
	reader->unpacker = unpacker;
	return unpacker;
}

static bool make_room(struct perch_reader *reader, uint64_t end)
{
	uint64_t room = reader->room_unpacked ? 2 * reader->room_unpacked : 1u << 20;
	uint8_t *bytes;

	if (reader->room_unpacked - end >= ZSTD_BLOCKSIZE_MAX)
		return true;
	bytes = realloc(reader->unpacked, room);
	if (!bytes)
		return false;
	reader->unpacked = bytes;
	reader->room_unpacked = room;
	return true;
}

/* COMPRESSED: all behind the header. COMPRESSED2: u64 size, the bytes, padding. */
static ZSTD_inBuffer packed_bytes(const struct perch_reader *reader, const uint8_t *record,
				  uint16_t size)
{
	ZSTD_inBuffer in = { .src = record + HEADER_BYTES, .size = size - HEADER_BYTES };

	if (perch__file_u32(reader, record) == PERCH_RECORD_COMPRESSED2) {
		uint64_t packed = in.size < 8 ? 0 : perch__file_u64(reader, in.src);

		in.size = in.size < 8 ? 0 : in.size - 8;
		in.src = record + HEADER_BYTES + 8;
		if (packed < in.size)
			in.size = packed;
	}
	return in;
}

/* Output that fills all the room may not be all there is, also when no input is left. */
static int unpack(struct perch_reader *reader, struct perch__unpacker *unpacker, ZSTD_inBuffer *in,
		  uint64_t *end)
{
	uint64_t most = ROOM_LEAST + RATIO_MOST * reader->extent;
	bool full = false;

	while (in->pos < in->size || full) {
		ZSTD_outBuffer out;
		size_t rc;

		if (!make_room(reader, *end))
			return -ENOMEM;
		out = (ZSTD_outBuffer){ .dst = reader->unpacked + *end,
					.size = reader->room_unpacked - *end };
		rc = ZSTD_decompressStream(unpacker->zstd, &out, in);
		if (ZSTD_isError(rc) || unpacker->total + out.pos > most) {
			unpacker->broken = ZSTD_isError(rc) ? -EBADMSG : -EFBIG;
			return unpacker->broken;
		}
		*end += out.pos;
		unpacker->total += out.pos;
		full = out.pos == out.size;
	}
	return 0;
}

int perch__unpack(struct perch_reader *reader, const uint8_t *record, uint16_t size, uint64_t *end,
		  struct perch_error *err)
{
	struct perch__unpacker *unpacker = get_unpacker(reader);
	ZSTD_inBuffer in = packed_bytes(reader, record, size);
	int rc;

	if (unpacker && unpacker->broken)
		return unpacker->broken;
	rc = unpacker ? unpack(reader, unpacker, &in, end) : -ENOMEM;
	if (rc == -ENOMEM)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory to unpack compressed records");
	return rc;
}

#else

void perch__unpack_begin(struct perch_reader *reader)
{
	(void)reader;
}

void perch__unpack_restart(struct perch_reader *reader)
{
	(void)reader;
}

void perch__unpack_free(struct perch_reader *reader)
{
	(void)reader;
}

int perch__unpack(struct perch_reader *reader, const uint8_t *record, uint16_t size, uint64_t *end,
		  struct perch_error *err)
{
	(void)reader;
	(void)record;
	(void)size;
	(void)end;
	return perch_error_set(err, ENOTSUP, PERCH_ERROR_UNSUPPORTED_FILE,
			       "the records are compressed, and perch was built without libzstd");
}

#endif

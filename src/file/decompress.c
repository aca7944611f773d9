/* SPDX-License-Identifier: MIT */
/*
 * COMPRESSED and COMPRESSED2 records hold pieces of one zstd stream; decompressed, they are records
 * again, which may reach from one piece into the next. A small file may claim to unpack to any
 * size, so there is a limit.
 */
#include <stdlib.h>
#ifdef PERCH_HAVE_ZSTD
#include <zstd.h>
#endif
#include "internal.h"

#define HEADER_BYTES 8u
#define OUTPUT_LEAST (64u << 20) /* what any file may unpack to, */
#define RATIO_MOST   64u	 /* and how much more for each of its bytes */

bool perch__is_compressed(uint32_t type)
{
	return type == PERCH_RECORD_COMPRESSED || type == PERCH_RECORD_COMPRESSED2;
}

#ifdef PERCH_HAVE_ZSTD

struct perch__decompressor {
	ZSTD_DCtx *zstd;
	uint64_t total;
	int error; /* why what follows in the stream is of no use any more: a negative errno */
};

void perch__decompress_begin(struct perch_reader *reader)
{
	struct perch__decompressor *decompressor = reader->decompressor;

	if (!decompressor)
		return;
	ZSTD_DCtx_reset(decompressor->zstd, ZSTD_reset_session_only);
	if (decompressor->error == -EBADMSG)
		decompressor->error = 0;
}

void perch__decompress_restart(struct perch_reader *reader)
{
	struct perch__decompressor *decompressor = reader->decompressor;

	if (!decompressor)
		return;
	perch__decompress_begin(reader);
	decompressor->total = 0;
	decompressor->error = 0;
}

void perch__decompress_free(struct perch_reader *reader)
{
	if (reader->decompressor)
		ZSTD_freeDCtx(reader->decompressor->zstd);
	free(reader->decompressor);
}

static struct perch__decompressor *get_decompressor(struct perch_reader *reader)
{
	struct perch__decompressor *decompressor = reader->decompressor;

	if (decompressor)
		return decompressor;
	decompressor = calloc(1, sizeof(*decompressor));
	if (!decompressor)
		return NULL;
	decompressor->zstd = ZSTD_createDCtx();
	if (!decompressor->zstd) {
		free(decompressor);
		return NULL;
	}
	reader->decompressor = decompressor;
	return decompressor;
}

static bool reserve(struct perch_reader *reader, uint64_t end)
{
	uint64_t capacity = reader->decompressed_capacity ? 2 * reader->decompressed_capacity
							  : 1u << 20;
	uint8_t *bytes;

	if (reader->decompressed_capacity - end >= ZSTD_BLOCKSIZE_MAX)
		return true;
	bytes = realloc(reader->decompressed, capacity);
	if (!bytes)
		return false;
	reader->decompressed = bytes;
	reader->decompressed_capacity = capacity;
	return true;
}

/* COMPRESSED: all behind the header. COMPRESSED2: u64 size, the bytes, padding. */
static ZSTD_inBuffer compressed_bytes(const struct perch_reader *reader, const uint8_t *record,
				      uint16_t size)
{
	ZSTD_inBuffer in = { .src = record + HEADER_BYTES, .size = size - HEADER_BYTES };

	if (perch__file_u32(reader, record) == PERCH_RECORD_COMPRESSED2) {
		uint64_t compressed_size = in.size < 8 ? 0 : perch__file_u64(reader, in.src);

		in.size = in.size < 8 ? 0 : in.size - 8;
		in.src = record + HEADER_BYTES + 8;
		if (compressed_size < in.size)
			in.size = compressed_size;
	}
	return in;
}

/* Output that fills all the capacity may not be all there is, also when no input is left. */
static int decompress(struct perch_reader *reader, struct perch__decompressor *decompressor,
		      ZSTD_inBuffer *in, uint64_t *end)
{
	uint64_t most = OUTPUT_LEAST + RATIO_MOST * reader->extent;
	bool full = false;

	while (in->pos < in->size || full) {
		ZSTD_outBuffer out;
		size_t rc;

		if (!reserve(reader, *end))
			return -ENOMEM;
		out = (ZSTD_outBuffer){ .dst = reader->decompressed + *end,
					.size = reader->decompressed_capacity - *end };
		rc = ZSTD_decompressStream(decompressor->zstd, &out, in);
		if (ZSTD_isError(rc) || decompressor->total + out.pos > most) {
			decompressor->error = ZSTD_isError(rc) ? -EBADMSG : -EFBIG;
			return decompressor->error;
		}
		*end += out.pos;
		decompressor->total += out.pos;
		full = out.pos == out.size;
	}
	return 0;
}

int perch__decompress(struct perch_reader *reader, const uint8_t *record, uint16_t size,
		      uint64_t *end, struct perch_error *err)
{
	struct perch__decompressor *decompressor = get_decompressor(reader);
	ZSTD_inBuffer in = compressed_bytes(reader, record, size);
	int rc;

	if (decompressor && decompressor->error)
		return decompressor->error;
	rc = decompressor ? decompress(reader, decompressor, &in, end) : -ENOMEM;
	if (rc == -ENOMEM)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory to unpack compressed records");
	return rc;
}

#else

void perch__decompress_begin(struct perch_reader *reader)
{
	(void)reader;
}

void perch__decompress_restart(struct perch_reader *reader)
{
	(void)reader;
}

void perch__decompress_free(struct perch_reader *reader)
{
	(void)reader;
}

int perch__decompress(struct perch_reader *reader, const uint8_t *record, uint16_t size,
		      uint64_t *end, struct perch_error *err)
{
	(void)reader;
	(void)record;
	(void)size;
	(void)end;
	return perch_error_set(err, ENOTSUP, PERCH_ERROR_UNSUPPORTED_FILE,
			       "the records are compressed, and perch was built without libzstd");
}

#endif

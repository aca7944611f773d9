/* SPDX-License-Identifier: MIT */
/*
 * Decompresses COMPRESSED and COMPRESSED2 records. They contain parts of one zstd stream of
 * records; a record may continue in the next part. The output is limited, because a small file can
 * expand to any size.
 */
#ifdef PERCH_HAVE_ZSTD
#include <zstd.h>
#endif
#include "base/no_memory.h"
#include "internal.h"

#define HEADER_BYTES   8u
#define FIRST_CAPACITY (1u << 20) /* of the output */
/*
 * The limit of the output is MIN_OUTPUT + MAX_RATIO * size of the file. Copies of a stack that
 * seldom changes have a ratio of up to 900. Of that, MIN_MEMORY + MAX_MEMORY_RATIO * size may be in
 * memory at once.
 */
#define MIN_OUTPUT	 (64u << 20)
#define MAX_RATIO	 2048u
#define MIN_MEMORY	 (256u << 20)
#define MAX_MEMORY_RATIO 256u

#ifdef PERCH_HAVE_ZSTD

struct perch__decompressor {
	ZSTD_DCtx *zstd;
	uint64_t total;
	int error; /* negative errno: the rest of the stream cannot be decompressed */
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

static bool reserve_bytes(struct perch__output *output)
{
	size_t need = output->end + ZSTD_BLOCKSIZE_MAX;

	if (need < FIRST_CAPACITY)
		need = FIRST_CAPACITY;
	return !PERCH__ARRAY_RESERVE(output->bytes, output->capacity, need);
}

/* COMPRESSED: all bytes after the header. COMPRESSED2: u64 size, bytes, padding. */
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

/* If the output buffer is full, there may be more output even without further input. */
static int decompress_frames(struct perch_reader *reader, struct perch__decompressor *decompressor,
			     ZSTD_inBuffer *in, struct perch__output *output)
{
	uint64_t most = MIN_OUTPUT + MAX_RATIO * reader->extent;
	uint64_t most_memory = MIN_MEMORY + MAX_MEMORY_RATIO * reader->extent;
	bool full = false;

	while (in->pos < in->size || full) {
		ZSTD_outBuffer out;
		size_t rc;

		if (!reserve_bytes(output))
			return -ENOMEM;
		out = (ZSTD_outBuffer){ .dst = output->bytes + output->end,
					.size = output->capacity - output->end };
		rc = ZSTD_decompressStream(decompressor->zstd, &out, in);
		if (ZSTD_isError(rc) || decompressor->total + out.pos > most ||
		    output->end + out.pos > most_memory) {
			decompressor->error = ZSTD_isError(rc) ? -EBADMSG : -EFBIG;
			return decompressor->error;
		}
		output->end += out.pos;
		decompressor->total += out.pos;
		full = out.pos == out.size;
	}
	return 0;
}

int perch__decompress(struct perch_reader *reader, const uint8_t *record, uint16_t size,
		      struct perch__output *output, struct perch_error *err)
{
	struct perch__decompressor *decompressor = get_decompressor(reader);
	ZSTD_inBuffer in = compressed_bytes(reader, record, size);
	int rc;

	if (decompressor && decompressor->error)
		return decompressor->error;
	rc = decompressor ? decompress_frames(reader, decompressor, &in, output) : -ENOMEM;
	if (rc == -ENOMEM)
		return PERCH__NO_MEMORY(err, "to decompress records");
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
		      struct perch__output *output, struct perch_error *err)
{
	(void)reader;
	(void)record;
	(void)size;
	(void)output;
	perch_error_set(err, ENOTSUP, PERCH_ERROR_UNSUPPORTED_FILE,
			"the records are compressed, but perch was built without libzstd");
	perch_error_remedy(err, "Build it with -Dzstd=enabled, or record without -z");
	return -ENOTSUP;
}

#endif

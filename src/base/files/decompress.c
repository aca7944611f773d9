/* SPDX-License-Identifier: MIT */
/*
 * Decompresses a part of a file into another file: gzip, zstd and xz; or in memory: zlib and zstd.
 * The input is not trusted: the size of the output and the memory are limited.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>
#include <zlib.h>
#ifdef PERCH_HAVE_DEFLATE
#include <libdeflate.h>
#endif
#ifdef PERCH_HAVE_ZSTD
#include <zstd.h>
#endif
#ifdef PERCH_HAVE_LZMA
#include <lzma.h>
#endif

#include "base/memory.h"
#include "base/nr.h"
#include "io.h"
#include "base/library.h"
#include "decompress.h"

#define LZMA_LIBRARY "liblzma.so.5" /* since 5.0, of 2010 */

enum { BLOCK = 1 << 16, MOST_XZ_MEMORY = 256 << 20, MOST_ZSTD_WINDOW_LOG = 27 };

/* The two files, and the bytes between them. */
struct transfer {
	int from, to;
	uint64_t at, left; /* of the input that is not read */
	uint64_t to_at, written, most;
	const uint8_t *next; /* of the input in memory */
	size_t nr_in, nr_out;
	uint8_t in[BLOCK], out[BLOCK];
};

/* Reads input if none is in memory; there is none at the end. Returns 0 or a negative errno. */
static int need_input(struct transfer *transfer)
{
	size_t size = transfer->left < BLOCK ? (size_t)transfer->left : BLOCK;
	ssize_t got;

	if (!size || transfer->nr_in)
		return 0;
	do
		got = pread(transfer->from, transfer->in, size, (off_t)transfer->at);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	if (!got) /* the file was truncated */
		return -EBADMSG;
	transfer->at += (size_t)got;
	transfer->left -= (size_t)got;
	transfer->next = transfer->in;
	transfer->nr_in = (size_t)got;
	return 0;
}

static int put_output(struct transfer *transfer)
{
	int rc;

	if (transfer->nr_out > transfer->most - transfer->written)
		return -EFBIG;
	rc = perch__pwrite_all(transfer->to, transfer->out, transfer->nr_out,
			       transfer->to_at + transfer->written);
	transfer->written += rc ? 0 : transfer->nr_out;
	return rc;
}

/* Moves transfer->next over what it decompresses, and sets nr_in and nr_out. stream: of a library.
 * Returns 0, 1 at the end of the stream, or a negative errno. */
typedef int decompress_block(struct transfer *transfer, void *stream);

static int decompress_stream(struct transfer *transfer, decompress_block *block, void *stream)
{
	int rc = 0;

	while (!rc) {
		int error = need_input(transfer);

		rc = error ? error : block(transfer, stream);
		error = rc < 0 ? rc : put_output(transfer);
		rc = error ? error : rc;
	}
	return rc < 0 ? rc : 0;
}

/* A gzip file may have several members, whose contents follow each other. What is behind them and
 * no member is ignored, as by gzip(1). */
static int next_member(struct transfer *transfer, z_stream *stream)
{
	int rc = need_input(transfer);

	if (rc || !transfer->nr_in || *transfer->next != 0x1f)
		return rc ? rc : 1;
	return inflateReset(stream) == Z_OK ? 0 : -EBADMSG;
}

static int gzip_block(struct transfer *transfer, void *context)
{
	z_stream *stream = context;
	int status;

	stream->next_in = (uint8_t *)transfer->next;
	stream->avail_in = (uInt)transfer->nr_in;
	stream->next_out = transfer->out;
	stream->avail_out = BLOCK;
	status = inflate(stream, Z_NO_FLUSH);
	transfer->next = stream->next_in;
	transfer->nr_in = stream->avail_in;
	transfer->nr_out = BLOCK - stream->avail_out;
	if (status == Z_STREAM_END)
		return next_member(transfer, stream);
	return status == Z_OK ? 0 : status == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

static int gzip_all(struct transfer *transfer)
{
	z_stream stream = { 0 };
	int rc;

	if (inflateInit2(&stream, MAX_WBITS + 16) != Z_OK)
		return -ENOMEM;
	rc = decompress_stream(transfer, gzip_block, &stream);
	inflateEnd(&stream);
	return rc;
}

#ifdef PERCH_HAVE_ZSTD
struct zstd {
	ZSTD_DStream *stream;
	size_t hint; /* 0 at the end of a frame */
};

static int zstd_block(struct transfer *transfer, void *context)
{
	struct zstd *zstd = context;
	ZSTD_inBuffer in = { .src = transfer->next, .size = transfer->nr_in };
	ZSTD_outBuffer out = { .dst = transfer->out, .size = BLOCK };

	transfer->nr_out = 0;
	if (!transfer->nr_in && !zstd->hint) /* the end of a frame, and of the input */
		return 1;
	zstd->hint = ZSTD_decompressStream(zstd->stream, &out, &in);
	transfer->next += in.pos;
	transfer->nr_in -= in.pos;
	transfer->nr_out = out.pos;
	return ZSTD_isError(zstd->hint) ||
			       (!out.pos && !transfer->nr_in && !transfer->left && zstd->hint)
		       ? -EBADMSG
		       : 0;
}

static int zstd_all(struct transfer *transfer)
{
	struct zstd zstd = { .stream = ZSTD_createDStream(), .hint = 1 };
	int rc;

	if (!zstd.stream)
		return -ENOMEM;
	ZSTD_DCtx_setParameter(zstd.stream, ZSTD_d_windowLogMax, MOST_ZSTD_WINDOW_LOG);
	rc = decompress_stream(transfer, zstd_block, &zstd);
	ZSTD_freeDStream(zstd.stream);
	return rc;
}
#else
static int zstd_all(struct transfer *transfer)
{
	(void)transfer;
	return -ENOTSUP;
}
#endif

#ifdef PERCH_HAVE_LZMA
/* Linked in a static program only: as an archive, it asks the CPU for features whenever perch
 * starts. */
static struct {
	__typeof__(lzma_stream_decoder) *decoder;
	__typeof__(lzma_code) *code;
	__typeof__(lzma_end) *end;
	bool ready;
} xz;

static void load_xz(void)
{
#ifdef PERCH_STATIC
	xz.decoder = lzma_stream_decoder, xz.code = lzma_code, xz.end = lzma_end;
	xz.ready = true;
#else
	const struct perch__function functions[] = {
		{ "lzma_stream_decoder", &xz.decoder },
		{ "lzma_code", &xz.code },
		{ "lzma_end", &xz.end },
	};

	xz.ready = perch__load_library(LZMA_LIBRARY, functions, PERCH__NR(functions));
#endif
}

static int xz_block(struct transfer *transfer, void *context)
{
	lzma_stream *stream = context;
	lzma_ret status;

	stream->next_in = transfer->next;
	stream->avail_in = transfer->nr_in;
	stream->next_out = transfer->out;
	stream->avail_out = BLOCK;
	status = xz.code(stream, transfer->left ? LZMA_RUN : LZMA_FINISH);
	transfer->next = stream->next_in;
	transfer->nr_in = stream->avail_in;
	transfer->nr_out = BLOCK - stream->avail_out;
	if (status == LZMA_OK || status == LZMA_STREAM_END)
		return status == LZMA_STREAM_END;
	return status == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
}

static int xz_all(struct transfer *transfer)
{
	static once_flag once = ONCE_FLAG_INIT;
	lzma_stream stream = LZMA_STREAM_INIT;
	int rc;

	call_once(&once, load_xz);
	if (!xz.ready)
		return -ENOTSUP;
	if (xz.decoder(&stream, MOST_XZ_MEMORY, LZMA_CONCATENATED) != LZMA_OK)
		return -ENOMEM;
	rc = decompress_stream(transfer, xz_block, &stream);
	xz.end(&stream);
	return rc;
}
#else
static int xz_all(struct transfer *transfer)
{
	(void)transfer;
	return -ENOTSUP;
}
#endif

int perch__decompress_range(enum compression compression, int from, uint64_t offset, uint64_t size,
			    int to, uint64_t to_offset, uint64_t most, uint64_t *written)
{
	struct transfer *transfer =
		perch__malloc(sizeof(*transfer)); /* too large for some stacks */
	int rc = -ENOTSUP;

	*written = 0;
	if (!transfer)
		return -ENOMEM;
	transfer->from = from;
	transfer->to = to;
	transfer->at = offset;
	transfer->left = size;
	transfer->to_at = to_offset;
	transfer->written = 0;
	transfer->most = most;
	transfer->nr_in = 0;
	if (compression == COMPRESSION_GZIP)
		rc = gzip_all(transfer);
	else if (compression == COMPRESSION_ZSTD)
		rc = zstd_all(transfer);
	else if (compression == COMPRESSION_XZ)
		rc = xz_all(transfer);
	*written = transfer->written;
	free(transfer);
	return rc;
}

/* ---- in memory ---- */

#ifdef PERCH_HAVE_DEFLATE
/* Twice as fast as zlib, which can decompress in parts. */
static int inflate_memory(const void *from, size_t size, void *to, size_t to_size)
{
	struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
	enum libdeflate_result result;

	if (!decompressor)
		return -ENOMEM;
	result = libdeflate_zlib_decompress(decompressor, from, size, to, to_size, NULL);
	libdeflate_free_decompressor(decompressor);
	return result == LIBDEFLATE_SUCCESS ? 0 : -EBADMSG;
}

/* Several times as fast as zlib. */
uint32_t perch__crc32(uint32_t crc, const void *bytes, size_t size)
{
	return libdeflate_crc32(crc, bytes, size);
}
#else
static int inflate_memory(const void *from, size_t size, void *to, size_t to_size)
{
	uLongf written = to_size;
	int status = uncompress(to, &written, from, size);

	if (status == Z_MEM_ERROR)
		return -ENOMEM;
	return status == Z_OK && written == to_size ? 0 : -EBADMSG;
}

uint32_t perch__crc32(uint32_t crc, const void *bytes, size_t size)
{
	return (uint32_t)crc32_z(crc, bytes, size);
}
#endif

int perch__decompress_memory(enum compression compression, const void *from, size_t size, void *to,
			     size_t to_size)
{
	if (compression == COMPRESSION_ZLIB)
		return inflate_memory(from, size, to, to_size);
#ifdef PERCH_HAVE_ZSTD
	if (compression == COMPRESSION_ZSTD)
		return ZSTD_decompress(to, to_size, from, size) == to_size ? 0 : -EBADMSG;
#endif
	return -ENOTSUP;
}

int perch__decompress_part(const struct compressed_part *part)
{
	void *compressed = perch__malloc(part->size);
	int rc = compressed ? perch__pread_all(part->fd, compressed, part->size, part->offset)
			    : -ENOMEM;

	if (!rc)
		rc = perch__decompress_memory(part->compression, compressed, part->size, part->to,
					      part->to_size);
	free(compressed);
	return rc;
}

/* SPDX-License-Identifier: MIT */
/*
 * Decompresses a part of a file into another file: zlib, gzip, zstd and xz, or in memory. The input
 * is not trusted: the size of the output and the memory are limited.
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
#include "io.h"
#include "base/library.h"
#include "decompress.h"

#define LZMA_LIBRARY "liblzma.so.5" /* since 5.0, of 2010 */

enum { BLOCK = 1 << 16, MOST_XZ_MEMORY = 256 << 20, MOST_ZSTD_WINDOW_LOG = 27 };

/* The two files, and the bytes between them. */
struct transfer {
	int from, to;
	uint64_t at, left; /* of the input */
	uint64_t to_at, written, most;
	uint8_t in[BLOCK], out[BLOCK];
};

/* Reads the next bytes of the input. Returns their number, 0 at the end, or a negative errno. */
static ssize_t next_input(struct transfer *transfer)
{
	size_t size = transfer->left < BLOCK ? (size_t)transfer->left : BLOCK;
	ssize_t got;

	if (!size)
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
	return got;
}

static int put_output(struct transfer *transfer, size_t size)
{
	int rc;

	if (size > transfer->most - transfer->written)
		return -EFBIG;
	rc = perch__pwrite_all(transfer->to, transfer->out, size,
			       transfer->to_at + transfer->written);
	transfer->written += rc ? 0 : size;
	return rc;
}

/* A gzip file may have several members, whose contents follow each other. What is behind them and
 * no member is ignored, as by gzip(1). */
static int next_member(struct transfer *transfer, z_stream *stream, int *status)
{
	ssize_t got = stream->avail_in ? 0 : next_input(transfer);

	if (got < 0)
		return (int)got;
	if (got) {
		stream->next_in = transfer->in;
		stream->avail_in = (uInt)got;
	}
	if (!stream->avail_in || stream->next_in[0] != 0x1f)
		return 0;
	*status = Z_OK;
	return inflateReset(stream) == Z_OK ? 0 : -EBADMSG;
}

/* bits: of the window; 16 more for a gzip header */
static int inflate_all(struct transfer *transfer, int bits)
{
	z_stream stream = { 0 };
	int status = Z_OK, rc = 0;

	if (inflateInit2(&stream, bits) != Z_OK)
		return -ENOMEM;
	while (!rc && status != Z_STREAM_END) {
		ssize_t got = stream.avail_in ? 0 : next_input(transfer);

		if (got < 0) {
			rc = (int)got;
			break;
		}
		if (got) {
			stream.next_in = transfer->in;
			stream.avail_in = (uInt)got;
		}
		stream.next_out = transfer->out;
		stream.avail_out = BLOCK;
		status = inflate(&stream, Z_NO_FLUSH);
		if (status != Z_OK && status != Z_STREAM_END)
			rc = status == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
		else
			rc = put_output(transfer, BLOCK - stream.avail_out);
		if (!rc && status == Z_STREAM_END && bits > MAX_WBITS)
			rc = next_member(transfer, &stream, &status);
	}
	inflateEnd(&stream);
	return rc;
}

#ifdef PERCH_HAVE_ZSTD
static int zstd_all(struct transfer *transfer)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	ZSTD_inBuffer in = { .src = transfer->in };
	size_t hint = 1;
	int rc = 0;

	if (!stream)
		return -ENOMEM;
	ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, MOST_ZSTD_WINDOW_LOG);
	while (!rc) {
		ZSTD_outBuffer out = { .dst = transfer->out, .size = BLOCK };

		if (in.pos == in.size) {
			ssize_t got = next_input(transfer);

			if (got < 0) {
				rc = (int)got;
				break;
			}
			in.size = (size_t)got;
			in.pos = 0;
		}
		if (in.pos == in.size && !hint) /* the end of a frame, and of the input */
			break;
		hint = ZSTD_decompressStream(stream, &out, &in);
		if (ZSTD_isError(hint) ||
		    (!out.pos && in.pos == in.size && !transfer->left && hint))
			rc = -EBADMSG;
		else
			rc = put_output(transfer, out.pos);
	}
	ZSTD_freeDStream(stream);
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
/* Not linked: linked as an archive, it asks the CPU for features whenever perch starts. */
static struct {
	__typeof__(lzma_stream_decoder) *decoder;
	__typeof__(lzma_code) *code;
	__typeof__(lzma_end) *end;
	bool ready;
} xz;

static void load_xz(void)
{
	const struct perch__function functions[] = {
		{ "lzma_stream_decoder", &xz.decoder },
		{ "lzma_code", &xz.code },
		{ "lzma_end", &xz.end },
	};

	xz.ready = perch__load_library(LZMA_LIBRARY, functions,
				       sizeof(functions) / sizeof(functions[0]));
}

static int xz_all(struct transfer *transfer)
{
	static once_flag once = ONCE_FLAG_INIT;
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret status = LZMA_OK;
	int rc = 0;

	call_once(&once, load_xz);
	if (!xz.ready)
		return -ENOTSUP;
	if (xz.decoder(&stream, MOST_XZ_MEMORY, LZMA_CONCATENATED) != LZMA_OK)
		return -ENOMEM;
	while (!rc && status != LZMA_STREAM_END) {
		ssize_t got = stream.avail_in ? 0 : next_input(transfer);

		if (got < 0) {
			rc = (int)got;
			break;
		}
		if (got) {
			stream.next_in = transfer->in;
			stream.avail_in = (size_t)got;
		}
		stream.next_out = transfer->out;
		stream.avail_out = BLOCK;
		status = xz.code(&stream, transfer->left ? LZMA_RUN : LZMA_FINISH);
		if (status != LZMA_OK && status != LZMA_STREAM_END)
			rc = status == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
		else
			rc = put_output(transfer, BLOCK - stream.avail_out);
	}
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
	switch (compression) {
	case COMPRESSION_ZLIB:
		rc = inflate_all(transfer, MAX_WBITS);
		break;
	case COMPRESSION_GZIP:
		rc = inflate_all(transfer, MAX_WBITS + 16);
		break;
	case COMPRESSION_ZSTD:
		rc = zstd_all(transfer);
		break;
	case COMPRESSION_XZ:
		rc = xz_all(transfer);
		break;
	}
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

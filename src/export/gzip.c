/* SPDX-License-Identifier: MIT */
/*
 * Compresses by gzip, in blocks. A thread compresses a block while the next ones are made; without
 * it, a full block is compressed at once. The bytes are the same.
 */
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/batch_thread.h"
#include "internal.h"

#define BLOCKS		 4
#define BLOCK_BYTES	 (256u << 10)
#define COMPRESSED_BYTES 65536
#define GZIP_WINDOW	 (16 + MAX_WBITS) /* zlib writes the header of gzip */
#define MEMORY_LEVEL	 8
#define LEVEL		 1 /* of an export, level 6 takes four times as long for 13 % less */

struct gzip_block {
	size_t size;
	uint8_t bytes[BLOCK_BYTES];
};

struct gzip {
	z_stream stream;
	FILE *out;
	int error; /* of writing: an errno, or 0 */
	uint8_t compressed[COMPRESSED_BYTES];
	struct gzip_block *block; /* that is filled */
	bool may_start;
	struct perch__batch_thread *thread; /* NULL: there is none */
};

struct gzip *perch__gzip_open(FILE *out, bool threads)
{
	struct gzip *gzip = calloc(1, sizeof(*gzip));

	if (gzip)
		gzip->block = calloc(1, sizeof(*gzip->block));
	if (!gzip || !gzip->block) {
		free(gzip);
		return NULL;
	}
	gzip->out = out;
	gzip->may_start = threads;
	if (deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) == Z_OK)
		return gzip;
	free(gzip->block);
	free(gzip);
	return NULL;
}

static void compress_bytes(struct gzip *gzip, const void *bytes, size_t size, int flush)
{
	z_stream *stream = &gzip->stream;
	size_t got;

	stream->next_in = (uint8_t *)bytes;
	stream->avail_in = (unsigned)size;
	do {
		stream->next_out = gzip->compressed;
		stream->avail_out = sizeof(gzip->compressed);
		deflate(stream, flush);
		got = sizeof(gzip->compressed) - stream->avail_out;
		errno = 0;
		if (fwrite(gzip->compressed, 1, got, gzip->out) < got && !gzip->error)
			gzip->error = errno ? errno : EIO;
	} while (!stream->avail_out);
}

static int compress_block(void *context, void *batch)
{
	struct gzip *gzip = context;
	struct gzip_block *block = batch;

	if (block->size)
		compress_bytes(gzip, block->bytes, block->size, Z_NO_FLUSH);
	block->size = 0;
	return 0;
}

/* Starts the thread if it is wanted. Without memory or threads there is none. */
static void start_gzip(struct gzip *gzip)
{
	gzip->may_start = false;
	gzip->thread = perch__batch_thread_new(&(struct perch__batch_job){
		.nr_batches = BLOCKS,
		.batch_size = sizeof(struct gzip_block),
		.run = compress_block,
		.context = gzip,
		.writes = true,
	});
}

static void end_block(struct gzip *gzip)
{
	void *block = gzip->block;

	if (gzip->may_start)
		start_gzip(gzip);
	if (!gzip->thread) {
		compress_block(gzip, block);
		return;
	}
	perch__batch_thread_pass(gzip->thread, &block);
	gzip->block = block;
}

void perch__gzip_write(struct gzip *gzip, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		struct gzip_block *block = gzip->block;
		size_t space = BLOCK_BYTES - block->size, some = size < space ? size : space;

		memcpy(block->bytes + block->size, at, some);
		block->size += some;
		at += some;
		size -= some;
		if (block->size == BLOCK_BYTES)
			end_block(gzip);
	}
}

int perch__gzip_close(struct gzip *gzip)
{
	int error;

	if (!gzip)
		return 0;
	if (gzip->thread)
		perch__batch_thread_wait(gzip->thread);
	perch__batch_thread_free(gzip->thread);
	compress_block(gzip, gzip->block);
	compress_bytes(gzip, NULL, 0, Z_FINISH);
	deflateEnd(&gzip->stream);
	error = gzip->error;
	free(gzip->block);
	free(gzip);
	return error;
}

/* SPDX-License-Identifier: MIT */
/* Compresses by gzip. */
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "internal.h"

#define COMPRESSED_BYTES 65536
#define GZIP_WINDOW	 (16 + MAX_WBITS) /* zlib writes the header of gzip */
#define MEMORY_LEVEL	 8
#define LEVEL		 1 /* of an export, level 6 takes four times as long for 13 % less */

struct gzip {
	z_stream stream;
	FILE *out;
	int error; /* of writing: an errno, or 0 */
	uint8_t compressed[COMPRESSED_BYTES];
};

struct gzip *perch__gzip_open(FILE *out)
{
	struct gzip *gzip = calloc(1, sizeof(*gzip));

	if (!gzip)
		return NULL;
	gzip->out = out;
	if (deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) == Z_OK)
		return gzip;
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

void perch__gzip_write(struct gzip *gzip, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size) {
		size_t some = size < INT32_MAX ? size : INT32_MAX;

		compress_bytes(gzip, at, some, Z_NO_FLUSH);
		at += some;
		size -= some;
	}
}

int perch__gzip_close(struct gzip *gzip)
{
	int error;

	if (!gzip)
		return 0;
	compress_bytes(gzip, NULL, 0, Z_FINISH);
	deflateEnd(&gzip->stream);
	error = gzip->error;
	free(gzip);
	return error;
}

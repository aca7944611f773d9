/* SPDX-License-Identifier: MIT */
/*
 * Compresses the records that a writer appends: parts of one zstd stream, in COMPRESSED or
 * COMPRESSED2 records. Each of them has the whole output of its input, so a file that ends after
 * any of them is readable up to there.
 */
#ifdef PERCH_HAVE_ZSTD
#include <zstd.h>
#endif
#include "base/no_memory.h"
#include "writer.h"

/* Input of a compressed record. Also what cannot be compressed fits a record. */
#define MOST_INPUT (60u << 10)
/* Compressed records are written when they have this size. */
#define WRITE_BYTES (1u << 20)

#ifdef PERCH_HAVE_ZSTD

#define MOST_RECORD 65528u
/* of zstd: RFC 8878, 3.1.1.1 */
#define FRAME_HEADER 18u
#define BLOCK_HEADER 3u

_Static_assert(sizeof(struct perch_record_header) + sizeof(uint64_t) + MOST_INPUT +
			       MOST_INPUT / 256 + 64 + FRAME_HEADER + 8 * BLOCK_HEADER <=
		       MOST_RECORD,
	       "a record has space for input that cannot be compressed");

/* A compressed record that waits to be written. */
struct compressed_record {
	size_t end;   /* in the bytes */
	size_t input; /* of this record and those before it */
};

struct perch__compressor {
	ZSTD_CCtx *zstd;
	uint32_t type;
	uint8_t *bytes; /* records that wait to be written */
	size_t used, capacity;
	struct compressed_record *record;
	size_t nr, nr_capacity;
	uint64_t input; /* bytes that the file has */
	bool broken;	/* the file lacks a part of the stream, so it cannot go on */
};

static int zstd_failed(size_t code, struct perch_error *err)
{
	return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "cannot compress records: %s",
			       ZSTD_getErrorName(code));
}

/* Compresses the next bytes of the pieces, and completes their output. */
static int compress_input(struct perch__compressor *compressor, struct perch__position *from,
			  size_t size, ZSTD_outBuffer *out, struct perch_error *err)
{
	while (size) {
		size_t left = from->iov->iov_len - from->offset;
		size_t part = left < size ? left : size;
		ZSTD_inBuffer in = { .size = part };
		ZSTD_EndDirective directive = part == size ? ZSTD_e_flush : ZSTD_e_continue;
		size_t rc;

		if (part) { /* an empty piece may be NULL */
			in.src = (const char *)from->iov->iov_base + from->offset;
			do
				rc = ZSTD_compressStream2(compressor->zstd, out, &in, directive);
			while (!ZSTD_isError(rc) &&
			       (directive == ZSTD_e_flush ? rc > 0 : in.pos < part));
			if (ZSTD_isError(rc))
				return zstd_failed(rc, err);
		}
		size -= part;
		from->offset += part;
		if (part == left) {
			from->iov++;
			from->offset = 0;
		}
	}
	return 0;
}

/*
 * Records have a multiple of 8 bytes. COMPRESSED has no size of its data, so blocks without bytes
 * fill it: they are 3 zeros.
 */
static size_t padding(uint32_t type, size_t size)
{
	size_t missing = (8 - size % 8) % 8;

	return type == PERCH_RECORD_COMPRESSED2 ? missing : BLOCK_HEADER * (missing * 3 % 8);
}

static int add_record(struct perch__compressor *compressor, struct perch__position *from,
		      size_t size, struct perch_error *err)
{
	const bool has_size = compressor->type == PERCH_RECORD_COMPRESSED2;
	const size_t head = sizeof(struct perch_record_header) + (has_size ? sizeof(uint64_t) : 0);
	const size_t start = compressor->used;
	struct perch_record_header header = { .type = compressor->type };
	struct compressed_record *record =
		PERCH__ARRAY_APPEND(compressor->record, compressor->nr, compressor->nr_capacity);
	ZSTD_outBuffer out = { .size = MOST_RECORD - head };
	uint64_t data_size;
	int rc;

	if (!record ||
	    PERCH__ARRAY_RESERVE(compressor->bytes, compressor->capacity, start + MOST_RECORD))
		return PERCH__NO_MEMORY(err, "to compress records");
	out.dst = compressor->bytes + start + head;
	rc = compress_input(compressor, from, size, &out, err);
	if (rc)
		return rc;
	data_size = out.pos;
	out.pos += padding(compressor->type, out.pos);
	memset((char *)out.dst + data_size, 0, out.pos - data_size);
	header.size = (uint16_t)(head + out.pos);
	memcpy(compressor->bytes + start, &header, sizeof(header));
	if (has_size)
		memcpy(compressor->bytes + start + sizeof(header), &data_size, sizeof(data_size));
	compressor->used = record->end = start + header.size;
	record->input = size + (compressor->nr > 1 ? record[-1].input : 0);
	return 0;
}

int perch__compress(struct perch__compressor *compressor, struct perch__position *from,
		    size_t *size, struct iovec *records, struct perch_error *err)
{
	int rc = 0;

	compressor->nr = compressor->used = 0;
	while (!rc && *size && compressor->used < WRITE_BYTES) {
		size_t most = *size < MOST_INPUT ? *size : MOST_INPUT;
		/* so that a full disk cuts no record off, except a large one */
		size_t whole = perch__whole_records(*from, most), part = whole ? whole : most;

		rc = add_record(compressor, from, part, err);
		*size -= part;
	}
	if (rc) {
		compressor->broken = true;
		compressor->nr = compressor->used = 0;
	}
	*records = (struct iovec){ compressor->bytes, compressor->used };
	return rc;
}

void perch__compress_written(struct perch__compressor *compressor, uint64_t bytes)
{
	size_t nr = 0;

	while (nr < compressor->nr && compressor->record[nr].end <= bytes)
		nr++;
	compressor->input += nr ? compressor->record[nr - 1].input : 0;
	compressor->broken |= nr < compressor->nr;
}

bool perch__compressor_works(const struct perch__compressor *compressor)
{
	return compressor && !compressor->broken;
}

uint64_t perch__compressor_input(const struct perch__compressor *compressor)
{
	return compressor->input;
}

void perch__compressor_free(struct perch__compressor *compressor)
{
	if (!compressor)
		return;
	ZSTD_freeCCtx(compressor->zstd);
	free(compressor->bytes);
	free(compressor->record);
	free(compressor);
}

int perch__compressor_new(struct perch__compressor **result, int level, uint32_t type,
			  struct perch_error *err)
{
	struct perch__compressor *compressor = calloc(1, sizeof(*compressor));
	size_t rc;

	*result = NULL;
	if (!compressor)
		return PERCH__NO_MEMORY(err, "to compress records");
	compressor->type = type;
	compressor->zstd = ZSTD_createCCtx();
	if (!compressor->zstd) {
		perch__compressor_free(compressor);
		return PERCH__NO_MEMORY(err, "to compress records");
	}
	rc = ZSTD_CCtx_setParameter(compressor->zstd, ZSTD_c_compressionLevel, level);
	if (ZSTD_isError(rc)) {
		perch__compressor_free(compressor);
		return zstd_failed(rc, err);
	}
	*result = compressor;
	return 0;
}

#else

int perch__compress(struct perch__compressor *compressor, struct perch__position *from,
		    size_t *size, struct iovec *records, struct perch_error *err)
{
	(void)compressor;
	(void)from;
	(void)size;
	(void)records;
	(void)err;
	return -ENOTSUP;
}

void perch__compress_written(struct perch__compressor *compressor, uint64_t bytes)
{
	(void)compressor;
	(void)bytes;
}

bool perch__compressor_works(const struct perch__compressor *compressor)
{
	(void)compressor;
	return false;
}

uint64_t perch__compressor_input(const struct perch__compressor *compressor)
{
	(void)compressor;
	return 0;
}

void perch__compressor_free(struct perch__compressor *compressor)
{
	(void)compressor;
}

int perch__compressor_new(struct perch__compressor **compressor, int level, uint32_t type,
			  struct perch_error *err)
{
	(void)level;
	(void)type;
	*compressor = NULL;
	perch_error_set(err, ENOTSUP, PERCH_ERROR_UNSUPPORTED_FILE,
			"records cannot be compressed: perch was built without libzstd");
	perch_error_remedy(err, "Build it with -Dzstd=enabled, or compress the file later");
	return -ENOTSUP;
}

#endif

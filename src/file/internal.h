/* SPDX-License-Identifier: MIT */
#ifndef PERCH_FILE_INTERNAL_H
#define PERCH_FILE_INTERNAL_H

#include <errno.h>
#include <string.h>
#include <time.h>
#include <perch/event.h>
#include <perch/file.h>
#include "format.h"

/* ---- bytes of unknown alignment ---- */

static inline uint16_t perch__u16(const void *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline uint32_t perch__u32(const void *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline uint64_t perch__u64(const void *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/*
 * A cursor over a feature's bytes. Each taker gives false, and takes nothing, when too little is
 * left. Numbers come out in this machine's order.
 */
struct perch__view {
	const uint8_t *at;
	size_t left;
	bool swapped;
};

static inline bool perch__take(struct perch__view *view, void *to, size_t size)
{
	if (view->left < size)
		return false;
	memcpy(to, view->at, size);
	view->at += size;
	view->left -= size;
	return true;
}

static inline bool perch__take_u32(struct perch__view *view, uint32_t *value)
{
	if (!perch__take(view, value, sizeof(*value)))
		return false;
	if (view->swapped)
		*value = __builtin_bswap32(*value);
	return true;
}

static inline bool perch__take_u64(struct perch__view *view, uint64_t *value)
{
	if (!perch__take(view, value, sizeof(*value)))
		return false;
	if (view->swapped)
		*value = __builtin_bswap64(*value);
	return true;
}

/*
 * A string of a feature: u32 length, then that many bytes, of which those up to the first NUL
 * count.
 */
bool perch__take_text(struct perch__view *view, const char **text, size_t *length);

/* ---- the reader ---- */

struct perch__allocation; /* memory that lives as long as the reader */

/* Records that follow each other: those of a file, or of one file of a directory. */
struct perch__range {
	uint64_t base;	     /* where its file begins, */
	uint64_t start, end; /* and these records: offsets in reader->file */
};

/* Records that lie unpacked up to here came out of the packed one at `offset`, all or their end. */
struct perch__compressed {
	uint64_t end, offset;
};

/* A place among the records, and what has been found wrong on the way. */
struct perch__cursor {
	size_t range;
	uint64_t at;		   /* offset in the file of the next record, */
	uint64_t end;		   /* and where its piece ends */
	uint64_t decompressed_at;  /* the next record among the unpacked bytes, */
	uint64_t decompressed_end; /* and where these end */
	bool decompressing;	   /* there may be whole records among them */
	bool too_large;		   /* more was packed than may be unpacked */
	uint64_t corrupt;
};

struct perch__index_entry {
	uint64_t time;
	uint64_t offset;
};

struct perch_reader {
	char *path;
	time_t changed; /* st_ctime: what perf calls "captured on" */
	/*
	 * The files lie one behind the other, each from a page's start. The first one has the
	 * header, and `size` bytes; all of them take `extent`.
	 */
	const uint8_t *file;
	uint64_t size, extent;
	bool copied; /* not mapped but read: nothing of it can be given back */
	bool directory;
	bool pipe;
	bool swapped; /* written on a machine of the other byte order */

	struct perch__file_header header;
	uint64_t data_offset, data_end; /* the records of the first file that are there */
	struct perch__range *range;
	size_t nr_ranges;
	uint64_t records_end; /* of the last piece */
	uint64_t missing_bytes;
	uint32_t missing_files;
	bool unfinished;

	struct perch__allocation *allocations;
	struct perch_file_event *events;
	size_t nr_events, events_capacity;
	/* in a pipe: behind the event named last, and how many were looked at for names */
	size_t updated, searched;
	struct perch_decoder *decoder;
	struct perch_parse_info no_parse_info; /* of records that cannot be decoded */

	struct perch__view feature[PERCH_FEATURE_MAX]; /* at NULL: absent */
	const char *text[PERCH_FEATURE_MAX];
	const char **arguments;
	size_t nr_arguments;
	struct perch_build_id *build_ids;
	size_t nr_build_ids, build_ids_capacity;

	enum perch_order order;
	struct perch__cursor cursor;
	uint64_t released; /* pages before this offset were given back */
	bool indexed;
	struct perch__index_entry *index; /* PERCH_ORDER_TIME */
	size_t nr_index, next_index;
	uint64_t *needed_from; /* for each block: the least offset that it and later ones need */
	uint64_t undecoded, unknown;
	bool keep_damaged;

	struct perch_deferred *deferred;
	/* while delivering_deferred: the samples that it completes are delivered, before it */
	struct perch_record callchain_deferred;
	bool merging_deferred, delivering_deferred, ended;

	struct perch__decompressor *decompressor;
	uint8_t *decompressed; /* offsets of `extent` and above are in here */
	uint64_t decompressed_capacity;
	struct perch__compressed *compressed;
	size_t nr_compressed, compressed_capacity;
	uint64_t *scratch; /* for a record that is not aligned */
};

/* Zeroed memory that perch_reader_close() frees; NULL when there is none. */
void *perch__reader_alloc(struct perch_reader *reader, size_t size);
const char *perch__reader_strndup(struct perch_reader *reader, const char *text, size_t length);

/* ---- numbers of the file ---- */

static inline uint16_t perch__file_u16(const struct perch_reader *reader, const void *at)
{
	uint16_t value = perch__u16(at);

	return __builtin_expect(reader->swapped, 0) ? __builtin_bswap16(value) : value;
}

static inline uint32_t perch__file_u32(const struct perch_reader *reader, const void *at)
{
	uint32_t value = perch__u32(at);

	return __builtin_expect(reader->swapped, 0) ? __builtin_bswap32(value) : value;
}

static inline uint64_t perch__file_u64(const struct perch_reader *reader, const void *at)
{
	uint64_t value = perch__u64(at);

	return __builtin_expect(reader->swapped, 0) ? __builtin_bswap64(value) : value;
}

static inline struct perch__section perch__file_section(const struct perch_reader *reader,
							const uint8_t *at)
{
	return (struct perch__section){ .offset = perch__file_u64(reader, at),
					.size = perch__file_u64(reader, at + 8) };
}

/* load.c: a file, what comes out of a pipe, or the files of a directory, in memory. */
int perch__load(struct perch_reader *reader, struct perch_error *err);
void perch__unload(struct perch_reader *reader);
/*
 * spool.c: what comes out of fd, to its end or to where a piped recording has no more records, in a
 * file without a name: its descriptor, or a negative errno.
 */
int perch__spool(int fd, struct perch_error *err);

/* header.c: what lies outside of the records. */
bool perch__is_magic(uint64_t word);
int perch__read_header(struct perch_reader *reader, struct perch_error *err);
int perch__add_attr(struct perch_reader *reader, const uint8_t *attr, size_t attr_bytes,
		    const uint8_t *ids, uint64_t nr_ids, struct perch_error *err);

/* pipe.c: the same from the records of a pipe. */
int perch__read_pipe(struct perch_reader *reader, struct perch_error *err);

/* feature.c */
int perch__read_features(struct perch_reader *reader, struct perch_error *err);
int perch__parse_features(struct perch_reader *reader, struct perch_error *err);
int perch__add_build_id(struct perch_reader *reader, const uint8_t *record, size_t size,
			struct perch_error *err);

/*
 * cursor.c: the next record in the order of the file: 1 and its offset (see perch__record_at()), 0
 * at the end, or a negative errno.
 */
int perch__cursor_next(struct perch_reader *reader, struct perch__cursor *cursor, uint64_t *offset,
		       struct perch_error *err);
void perch__cursor_start(struct perch_reader *reader, struct perch__cursor *cursor);
/*
 * How many bytes behind a record belong to it; a claim. The size is given as it was checked: the
 * file may be written to meanwhile.
 */
uint64_t perch__record_payload(bool swapped, const uint8_t *record, uint16_t size);
/* The bytes of a record, wherever they are. */
static inline const uint8_t *perch__record_at(const struct perch_reader *reader, uint64_t offset)
{
	return offset < reader->extent ? reader->file + offset
				       : reader->decompressed + (offset - reader->extent);
}
/*
 * How many bytes there are from a record on, as far as records go. Its size lies in a mapping that
 * others may write to, so that it can differ from what the walk saw; it is never read beyond this.
 */
static inline uint64_t perch__record_available(const struct perch_reader *reader, uint64_t offset)
{
	return offset < reader->extent
		       ? reader->records_end - offset
		       : reader->cursor.decompressed_end - (offset - reader->extent);
}
/* Where a record lies in its file; for one that was packed, where the packed one does. */
uint64_t perch__file_offset(const struct perch_reader *reader, uint64_t offset, uint16_t size);
/* Gives the memory of the mapped file before this offset back. */
void perch__release(struct perch_reader *reader, uint64_t before);

/* reader.c: the next record, as it lies in the file. */
int perch__reader_record(struct perch_reader *reader, struct perch_record *record,
			 struct perch_error *err);

/* merge_deferred.c: the same with whole callchains. */
int perch__deferred_next(struct perch_reader *reader, struct perch_record *record,
			 struct perch_error *err);
void perch__deferred_restart(struct perch_reader *reader);

/* unpack.c: COMPRESSED and COMPRESSED2 records. */
bool perch__is_compressed(uint32_t type);
/*
 * Appends what a record of `size` bytes holds to reader->decompressed at *end. 0, or a negative
 * errno when it cannot be unpacked.
 */
int perch__decompress(struct perch_reader *reader, const uint8_t *record, uint16_t size,
		      uint64_t *end, struct perch_error *err);
/* The next packed record begins a stream of its own. */
void perch__decompress_begin(struct perch_reader *reader);
void perch__decompress_restart(struct perch_reader *reader);
void perch__decompress_free(struct perch_reader *reader);

/* order.c */
#define PERCH__INDEX_BLOCK 8192u
int perch__index_build(struct perch_reader *reader, struct perch_error *err);
int perch__index_sort(struct perch__index_entry *entries, size_t nr);

/* print_attr.c: the fields of an attr, each as ", name = value". */
void perch__file_print_attr(FILE *stream, const struct perch_attr *attr);

/* ---- the writer's features ---- */

/* A growing buffer. When memory ran out `failed` is set and the content is worthless. */
struct perch__bytes {
	uint8_t *data;
	size_t size, capacity;
	bool failed;
};
void perch__bytes_put(struct perch__bytes *bytes, const void *data, size_t size);
void perch__bytes_put_u32(struct perch__bytes *bytes, uint32_t value);
void perch__bytes_put_u64(struct perch__bytes *bytes, uint64_t value);
void perch__bytes_put_text(struct perch__bytes *bytes, const char *text);
void perch__bytes_put_zeros(struct perch__bytes *bytes, size_t size);
void perch__bytes_free(struct perch__bytes *bytes);

/* Which events the file has, as it was opened with them. */
const struct perch_file_event *perch__writer_events(const struct perch_writer *writer, size_t *nr);
/* Bytes of an attr as this file has them. */
uint32_t perch__writer_attr_size(const struct perch_writer *writer);
/* Moves the bytes into the writer as a feature's section. */
int perch__writer_set_feature(struct perch_writer *writer, enum perch_feature feature,
			      struct perch__bytes *bytes, struct perch_error *err);

#endif

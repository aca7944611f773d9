/* SPDX-License-Identifier: MIT */
/*
 * Reads and writes perf.data. A file is readable at every moment of its recording: header, attrs
 * and ids are written first, records are appended, then the data size in the header is updated.
 * Features come last. If the disk becomes full, the whole records that fit stay.
 *
 * The reader maps the file and trusts only its size at opening. Complete and incomplete files,
 * both byte orders, directories, pipe format and compressed records become one stream of records,
 * in file order or by time. By time, it sorts an index of the records of some rounds, delivers
 * each record that no later round can precede, and discards it with its pages: memory does not
 * grow with the file. A file without FINISHED_ROUND is one block. The files of a directory are read
 * side by side; compressed ones are one block. Records of wrong rounds are delivered late, and
 * counted. A file calls only files below its own:
 *
 *	fields/fields_records.c		fields of the records of perf.data itself
 *	  fields/fields_variable.c	  those of variable size
 *	  fields/fields_attr.c		  those of attrs
 *	  fields/fields.c		  emits fields
 *	reader.c			opens a recording, delivers its records
 *	  pipe.c			  pipe format
 *	  order/blocks.c		  blocks of sorted records
 *	    order/order.c		    sorts records by time
 *	      order/sort.c		      a stable merge of runs
 *	      order/streams.c		      the files of a directory, side by side
 *	  header.c			  header and attrs
 *	    foreign.c			    names files of other tools
 *	  load.c			  maps a file, a copy of a pipe or a directory
 *	    spool.c			    copies a pipe to an unnamed file
 *	  cursor.c			  records in file order
 *	    decompress.c		    compressed records
 *	print/print.c			header features as text
 *	  print/print_machine.c		  CPUs, caches and memory
 *	times.c				when a recording was made
 *	topology.c			where the CPUs of the machine are
 *	feature.c			finds and parses header features
 *	  simpleperf.c			  functions that recordings of Android have
 *	  tracing_data.c		  formats of tracepoints
 *	describe.c			writes features about machine, command and events
 *	writer_records.c		appends records
 *	writer.c			start and end of a file that is written
 *	  writer_pipe.c			  pipe format
 *	  writer_directory.c		  directories
 *	bpf.c				BPF programs of the recorded machine
 *	  writer_base.c			  buffers, errors, events
 *	  compress.c			  compressed records
 *	  pieces.c			  records in pieces
 *	common.c			parts of the reader
 */
#ifndef PERCH_FILE_INTERNAL_H
#define PERCH_FILE_INTERNAL_H

#include <pthread.h>
#include <time.h>
#include <perch/event.h>
#include <perch/file.h>
#include "base/array.h"
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
 * Bytes of a feature that are still to be parsed. The perch__take*() functions remove a value from
 * the front, in this machine's byte order. They return false and remove nothing if there are too
 * few bytes.
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

/* Reads a string: u32 length, then that many bytes. The string ends at the first NUL. */
bool perch__take_text(struct perch__view *view, const char **text, size_t *length);

/* Features of simpleperf that are read, from number PERCH__SIMPLEPERF_FIRST on. */
enum {
	PERCH__SIMPLEPERF_FIRST = 128,
	PERCH__SIMPLEPERF_FILE = 0,
	PERCH__SIMPLEPERF_META_INFO = 1,
	PERCH__SIMPLEPERF_FILE2 = 4,
	PERCH__SIMPLEPERF_MAX
};

/* ---- the reader ---- */

struct perch__allocation; /* memory that lives as long as the reader */

/* Records without a gap: those of a file, or of one file of a directory. Offsets in reader->file.
 */
struct perch__range {
	uint64_t base; /* start of its file */
	uint64_t start, end;
};

/* A compressed record that was read: its offset, and the end of its output among all decompressed
 * bytes. */
struct perch__compressed {
	uint64_t end, offset;
};

/* Decompressed records. A record offset of the reader's `extent` or more refers to them: extent +
 * discarded is the first byte. */
struct perch__output {
	uint8_t *bytes;
	size_t capacity;
	uint64_t discarded; /* bytes that were before the first one */
	uint64_t at, end;   /* of the next record, and of all bytes */
	struct perch__compressed *compressed;
	size_t nr_compressed, compressed_capacity;
};

/* A position among the records, and the errors up to there. */
struct perch__cursor {
	size_t range;
	uint64_t at;		      /* offset of the next record in the file */
	uint64_t end;		      /* end of the range */
	struct perch__output *output; /* what it decompresses; NULL with one_range */
	bool decompressing;	      /* the next record may be a decompressed one */
	bool too_large;		      /* the limit of decompressed bytes was reached */
	bool one_range;		      /* it ends with its range */
	uint64_t corrupt;	      /* bytes that were skipped */
};

struct perch__index_entry {
	uint64_t time;
	uint64_t offset;
};

/* The rounds of a recorder up to here: times of records, 0 if there is none. */
struct perch__rounds {
	size_t range;	       /* each file of a directory has its own rounds */
	uint64_t latest;       /* the highest time so far */
	uint64_t round_latest; /* the highest time in this round */
	uint64_t last_round;   /* the highest time at the last FINISHED_ROUND */
	uint64_t limit;	       /* all later records have this time or a higher one */
	uint64_t delivered;    /* the highest time that is in a batch before */
	uint64_t late;	       /* records that are older than that */
	bool any_in_order;     /* the round has a record that is not */
	bool ended;	       /* the last record was FINISHED_ROUND */
};

/* A file of a directory that is read beside others. */
struct perch__stream {
	struct perch__cursor cursor;
	struct perch__rounds rounds; /* for records without a time */
	uint64_t released;	     /* its pages before this offset were */
	uint64_t *limit;	     /* by block: the lowest time of it and all later ones */
	size_t nr_limits, limits_capacity;
	size_t at; /* the next block */
	bool ended;
};

/*
 * PERCH_ORDER_TIME: an index of the records of some rounds. The first ones, in the order of time,
 * can be delivered. The others are in the next block, too.
 */
struct perch__block {
	struct perch__index_entry *entries;
	size_t nr, capacity;
	size_t ready; /* entries that may be delivered */
	/* the lowest offset that is needed, by PERCH__INDEX_BLOCK entries: that they and later ones
	 * need; with streams by range: that the next block needs */
	uint64_t *needed_from;
	size_t needed_capacity;
	struct perch__output output;
	struct perch__cursor cursor; /* at the end of the block */
	uint64_t from;		     /* position of the block, for the progress */
	uint64_t late;		     /* of the rounds, up to the end of the block */
	bool ended;		     /* it is the last one */
	bool whole;		     /* it has all records of the file */
	struct perch_error err;	     /* if it could not be made: why; else errnum is 0 */
};

/* One is delivered. The others are made meanwhile, or are ready. */
#define PERCH__BLOCKS 3u

/* PERCH_ORDER_TIME: what makes blocks. One thread at a time may do so. */
struct perch__sorter {
	struct perch__block *last;    /* that was made; NULL: none */
	struct perch__stream *stream; /* one for each range; NULL: one after the other is read */
	struct perch__index_entry *copy;
	size_t copy_capacity;
	struct perch__rounds rounds;
};

/* The blocks of a reader, and who has them. */
struct perch__blocks {
	struct perch__block *block; /* that is delivered; NULL: none */
	size_t next;		    /* its entry that is next */
	uint32_t process;	    /* the generation of a process with other threads; 0: none */
	size_t batch;		    /* records in a block, at least */
	pthread_mutex_t mutex;	    /* of the members below */
	pthread_cond_t made;
	struct perch__block *ready[PERCH__BLOCKS]; /* in their order */
	size_t nr_ready;
	struct perch__block *unused[PERCH__BLOCKS];
	size_t nr_unused;
	bool making; /* a thread makes a block: it has the sorter, and reader->cursor */
	bool ended;  /* the last block was made, or one could not be made */
	struct perch__sorter sorter;
	struct perch__block all[PERCH__BLOCKS];
};

struct perch_reader {
	char *path; /* NULL: fd is read */
	int fd;
	struct timespec modified; /* st_mtim: "captured on" without the feature CLOCK_DATA */
	uid_t owner;		  /* of a file that was opened by its path, or in a directory */
	bool has_owner;
	/*
	 * All files of the recording, each mapped at a page boundary. The first one has the header
	 * and `size` bytes. The mapping has `extent` bytes.
	 */
	const uint8_t *file;
	uint64_t size, extent;
	bool copied; /* a file was read instead of mapped: its pages cannot be released */
	bool directory;
	bool was_compressed; /* the file is what a compressed one has */
	bool pipe;
	bool swapped; /* the file has the other byte order */

	struct perch__file_header header;
	uint64_t data_offset, data_end; /* records of the first file, as far as it has them */
	struct perch__range *range;
	size_t nr_ranges;
	uint64_t records_end; /* of the last range */
	uint64_t missing_bytes;
	uint32_t missing_files;
	bool unfinished;

	struct perch__allocation *allocations;
	struct perch_file_event *events;
	size_t nr_events, events_capacity;
	/* of a pipe: the event after the one that was named last, and the length of all searches */
	size_t updated, searched;
	struct perch_decoder *decoder;
	struct perch_parse_info no_parse_info; /* of records that cannot be decoded */

	struct perch__view feature[PERCH__FEATURE_BITS]; /* at is NULL: absent */
	/* features that are not read: how many, and the number of the first */
	uint32_t unknown_features, unknown_feature;
	/* simpleperf.c */
	struct perch__view simpleperf[PERCH__SIMPLEPERF_MAX];
	struct perch_recorded_file *recorded_file;
	size_t nr_recorded_files;
	bool damaged_functions;
	const char *text[PERCH_FEATURE_MAX];
	const char **arguments;
	size_t nr_arguments;
	struct perch_build_id *build_ids;
	size_t nr_build_ids, build_ids_capacity;
	/* tracing_data.c: by id; has_tracepoints: TRACING_DATA was read */
	struct perch__tracepoint *tracepoints;
	size_t nr_tracepoints, tracepoints_capacity;
	bool has_tracepoints;
	const char *trace_strings; /* printk_formats; NULL if there are none */
	size_t trace_strings_size;

	enum perch_order order;
	uint64_t released; /* pages before this offset were released */
	uint64_t undecoded, unknown;
	bool keep_damaged;

	struct perch_deferred *deferred;
	/* while delivering_deferred: the record that completes samples; it is delivered after them
	 */
	struct perch_record callchain_deferred;
	bool merging_deferred, delivering_deferred, ended;

	struct perch__decompressor *decompressor;
	uint64_t *scratch; /* for a record that is not aligned */
	/* of the records that are delivered; with PERCH_ORDER_FILE that of blocks.all[0] */
	const struct perch__output *output;
	struct perch__blocks blocks;
	/* with PERCH_ORDER_TIME that of the thread that makes a block: far from what others write
	 */
	struct perch__cursor cursor;
};

/* common.c: returns zeroed memory that perch_reader_close() frees, or NULL if out of memory. */
void *perch__reader_alloc(struct perch_reader *reader, size_t size);
const char *perch__reader_strndup(struct perch_reader *reader, const char *text, size_t length);
void perch__reader_free_all(struct perch_reader *reader);
/* True if the first 8 bytes of a file are the magic number of either version and byte order. */
bool perch__is_magic(uint64_t word);
/* After an error was set: says what to read in place of the file. Returns rc. */
int perch__ask_for_recording(int rc, struct perch_error *err);

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

/* load.c: maps the file, or the files of a directory. Input from a pipe is copied to a file first.
 */
int perch__load(struct perch_reader *reader, struct perch_error *err);
void perch__unload(struct perch_reader *reader);
/*
 * spool.c: copies fd to an unnamed temporary file, up to its end, or up to the last record of a
 * piped recording. Returns the descriptor of the file, or a negative errno.
 */
int perch__spool(int fd, struct perch_error *err);

/* foreign.c: refuses a file that is not one of perf.data, and names what it is. */
int perch__refuse_foreign(const struct perch_reader *reader, struct perch_error *err);
/* Refuses a file of a directory of files: it names the directory. */
int perch__refuse_part(const struct perch_reader *reader, struct perch_error *err);

/* header.c: reads the header. Then, unless reader->pipe is set, attrs and the range of records. */
int perch__read_header(struct perch_reader *reader, struct perch_error *err);
int perch__add_attr(struct perch_reader *reader, const uint8_t *attr, size_t attr_bytes,
		    const uint8_t *ids, uint64_t nr_ids, struct perch_error *err);

/* tracing_data.c */
void perch__free_tracepoints(struct perch_reader *reader);

/* pipe.c: reads attrs and features of a piped recording from its records. */
int perch__read_pipe(struct perch_reader *reader, struct perch_error *err);

static inline bool perch__is_feature(uint64_t number)
{
	return number < PERCH_FEATURE_MAX || number == PERCH_FEATURE_RECORDING_COST;
}

/* feature.c: finds the feature sections, and parses what the public functions need. */
int perch__read_features(struct perch_reader *reader, struct perch_error *err);
int perch__parse_features(struct perch_reader *reader, struct perch_error *err);
/* Counts a feature that is not read. */
void perch__unknown_feature(struct perch_reader *reader, uint64_t number);
/* simpleperf.c: functions that the recording has, and names of events. */
int perch__parse_recorded_files(struct perch_reader *reader, struct perch_error *err);
int perch__parse_meta_info(struct perch_reader *reader, struct perch_error *err);
int perch__add_build_id(struct perch_reader *reader, const uint8_t *record, size_t size,
			struct perch_error *err);

static inline enum perch_byte_order perch__byte_order(bool swapped)
{
	const bool big_here = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

	if (!swapped)
		return PERCH_BYTES_NATIVE;
	return big_here ? PERCH_BYTES_LITTLE : PERCH_BYTES_BIG;
}

/*
 * cursor.c: the next record in file order. Returns 1 and its offset for perch__record_at(), 0 at
 * the end, or a negative errno.
 */
int perch__cursor_next(struct perch_reader *reader, struct perch__cursor *cursor, uint64_t *offset,
		       struct perch_error *err);
void perch__cursor_start(struct perch_reader *reader, struct perch__cursor *cursor);
/* A cursor of one file of a directory, without compressed records. */
void perch__cursor_of_range(const struct perch_reader *reader, struct perch__cursor *cursor,
			    size_t number);
/*
 * Returns the number of bytes after a record that belong to it. It is not checked. size: the
 * checked size of the record, because the file may change meanwhile.
 */
uint64_t perch__record_payload(bool swapped, const uint8_t *record, uint16_t size);
/* Returns the bytes of a record in the file, or of a decompressed record of the output. */
static inline const uint8_t *perch__record_at(const struct perch_reader *reader,
					      const struct perch__output *output, uint64_t offset)
{
	return offset < reader->extent
		       ? reader->file + offset
		       : output->bytes + (offset - reader->extent - output->discarded);
}
/*
 * Returns the number of bytes from a record to the end of all records. Other programs may change
 * the mapped file, so the record's size may not be the one that the cursor checked: nothing is read
 * beyond this.
 */
static inline uint64_t perch__record_available(const struct perch_reader *reader,
					       const struct perch__output *output, uint64_t offset)
{
	return offset < reader->extent
		       ? reader->records_end - offset
		       : output->discarded + output->end - (offset - reader->extent);
}
/*
 * Returns the offset of a record in its own file; of a decompressed record, that of the compressed
 * one.
 */
uint64_t perch__file_offset(const struct perch_reader *reader, const struct perch__output *output,
			    uint64_t offset, uint16_t size);
/* Releases the pages of the mapped file from *released to before this offset. */
void perch__release(const struct perch_reader *reader, uint64_t *released, uint64_t before);
/*
 * Moves an output to another one, or to itself, without its first bytes. Returns 0, or -ENOMEM if
 * it is another one.
 */
int perch__output_move(struct perch__output *to, const struct perch__output *from, uint64_t bytes);
void perch__output_free(struct perch__output *output);
/* Returns the number of bytes of records that the cursor has passed. */
uint64_t perch__cursor_position(const struct perch_reader *reader,
				const struct perch__cursor *cursor);

/* decompress.c: COMPRESSED and COMPRESSED2 records. */
static inline bool perch__is_compressed(uint32_t type)
{
	return type == PERCH_RECORD_COMPRESSED || type == PERCH_RECORD_COMPRESSED2;
}
/*
 * Appends the records in a compressed record of `size` bytes to the output. Returns 0, or a
 * negative errno: -EBADMSG if it is corrupt, -EFBIG at the limit of the output.
 */
int perch__decompress(struct perch_reader *reader, const uint8_t *record, uint16_t size,
		      struct perch__output *output, struct perch_error *err);
/* The next compressed record starts another stream. */
void perch__decompress_begin(struct perch_reader *reader);
void perch__decompress_restart(struct perch_reader *reader);
void perch__decompress_free(struct perch_reader *reader);

/*
 * order/blocks.c: the next record by time. Returns 1 and its offset for perch__record_at(), 0 at
 * the end, or a negative errno.
 */
int perch__blocks_next(struct perch_reader *reader, uint64_t *offset, struct perch_error *err);
void perch__blocks_init(struct perch_reader *reader);
void perch__blocks_rewind(struct perch_reader *reader);
/* True in a child of fork(2) if a thread of the parent may have changed the reader meanwhile. */
bool perch__blocks_are_forked(const struct perch_reader *reader);
void perch__blocks_free(struct perch_reader *reader);

/* ---- writer.c ---- */

/* A growing buffer. failed: out of memory, and the content is not valid. */
struct perch__bytes {
	uint8_t *data;
	size_t size, capacity;
	bool failed;
};
void perch__bytes_put(struct perch__bytes *bytes, const void *data, size_t size);
void perch__bytes_put_zeros(struct perch__bytes *bytes, size_t size);
void perch__bytes_put_u32(struct perch__bytes *bytes, uint32_t value);
void perch__bytes_put_u64(struct perch__bytes *bytes, uint64_t value);
void perch__bytes_put_text(struct perch__bytes *bytes, const char *text);
void perch__bytes_free(struct perch__bytes *bytes);

/* ---- bpf.c ---- */

/* Prints the names, tags and addresses of BPF_PROG_INFO. */
void perch__print_bpf_programs(struct perch_reader *reader, FILE *stream, struct perch__view view);
/* Prints the ids of BPF_BTF. */
void perch__print_btfs(struct perch_reader *reader, FILE *stream, struct perch__view view);

/* Returns the events of the file. */
const struct perch_file_event *perch__writer_events(const struct perch_writer *writer, size_t *nr);
/* Returns the size of an attr in the file, in bytes. */
uint32_t perch__writer_attr_size(const struct perch_writer *writer);
/* Moves the bytes into the writer, as a feature's section. */
int perch__writer_set_feature(struct perch_writer *writer, enum perch_feature feature,
			      struct perch__bytes *bytes, struct perch_error *err);

#endif

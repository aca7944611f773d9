/* SPDX-License-Identifier: MIT */
/*
 * The reader: opens a recording and delivers its records. The file is mapped. Nothing in it is
 * trusted, and its size is the one at the time it was opened.
 */
#include <unistd.h>
#include "base/no_memory.h"
#include "internal.h"
#include "record/group_decoder.h"

#define RELEASE_EVERY (8u << 20)

/* ---- opening and closing ---- */

static int make_decoder(struct perch_reader *reader, struct perch_error *err)
{
	struct perch_decoder_event *events = calloc(reader->nr_events, sizeof(*events));
	uint32_t *leader = calloc(reader->nr_events, sizeof(*leader));
	size_t group = 0;
	int rc;

	for (size_t i = 0; events && leader && i < reader->nr_events; i++) {
		if (i >= group + reader->events[group].members)
			group = i;
		leader[i] = group;
		events[i].attr = &reader->events[i].attr;
		events[i].ids = reader->events[i].ids;
		events[i].nr_ids = reader->events[i].nr_ids;
	}
	if (events && leader)
		rc = perch__group_decoder_new(&reader->decoder, events, leader, reader->nr_events,
					      perch_reader_byte_order(reader), err);
	else
		rc = PERCH__NO_MEMORY(err, "for its events");
	free(events);
	free(leader);
	return rc;
}

/* perf's versions of the directory format: in version 0 all records are in "data", in version 1 the
 * records of the rings are in data.N: "data" alone has no samples. */
static int check_directory(struct perch_reader *reader, struct perch_error *err)
{
	struct perch__view view = reader->feature[PERCH_FEATURE_DIR_FORMAT];
	uint64_t version = 1;

	if (!view.at || !perch__take_u64(&view, &version))
		return 0;
	if (!reader->directory)
		return version == 1 ? perch__refuse_part(reader, err) : 0;
	if (version > 1)
		return perch_error_set(
			err, ENOTSUP, PERCH_ERROR_UNSUPPORTED_FILE,
			"a directory of version %llu: this version of perch reads 0 and 1",
			(unsigned long long)version);
	if (version == 0)
		reader->nr_ranges = 1;
	return 0;
}

static void set_ranges(struct perch_reader *reader)
{
	reader->range[0] = (struct perch__range){ 0, reader->data_offset, reader->data_end };
	reader->records_end = reader->range[reader->nr_ranges - 1].end;
}

static int open_file(struct perch_reader *reader, struct perch_error *err)
{
	static const struct perch_attr no_attr;
	int rc = perch__load(reader, err);

	if (!rc)
		rc = perch__read_header(reader, err);
	if (!rc && reader->pipe)
		rc = perch__read_pipe(reader, err);
	if (!rc)
		rc = check_directory(reader, err);
	if (!rc)
		rc = make_decoder(reader, err);
	if (rc)
		return rc;
	set_ranges(reader);
	perch_parse_info_init(&reader->no_parse_info, &no_attr, perch_reader_byte_order(reader));
	perch_reader_rewind(reader);
	return 0;
}

/* path: NULL reads fd. */
static int new_reader(struct perch_reader **result, const char *path, int fd,
		      enum perch_order order, struct perch_error *err)
{
	struct perch_reader *reader;
	int rc;

	*result = NULL;
	if (order != PERCH_ORDER_FILE && order != PERCH_ORDER_TIME)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "invalid order of records: %d", (int)order);
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return PERCH__NO_MEMORY(err, "to read a file");
	reader->order = order;
	perch__blocks_init(reader);
	reader->fd = fd;
	reader->path = path ? strdup(path) : NULL;
	rc = reader->path || !path ? open_file(reader, err)
				   : PERCH__NO_MEMORY(err, "to read a file");
	if (rc)
		perch_reader_close(reader);
	else
		*result = reader;
	return rc;
}

int perch_reader_open(struct perch_reader **reader, const char *path, enum perch_order order,
		      struct perch_error *err)
{
	bool standard_input = !strcmp(path, "-");
	size_t length = strlen(path);
	int rc = new_reader(reader, standard_input ? NULL : path, STDIN_FILENO, order, err);

	if (rc)
		/* the end of a very long path, because a message has a fixed size */
		perch_error_prefix(err, "%s: ",
				   standard_input ? "standard input"
				   : length > 200 ? path + length - 200
						  : path);
	return rc;
}

int perch_reader_open_fd(struct perch_reader **reader, int fd, enum perch_order order,
			 struct perch_error *err)
{
	int rc = new_reader(reader, NULL, fd, order, err);

	if (rc)
		perch_error_prefix(err, "descriptor %d: ", fd);
	return rc;
}

int perch_reader_get_owner(const struct perch_reader *reader, uid_t *owner)
{
	if (!reader->has_owner)
		return -ENODATA;
	*owner = reader->owner;
	return 0;
}

void perch_reader_close(struct perch_reader *reader)
{
	if (!reader)
		return;
	perch__reader_free_all(reader);
	perch__unload(reader);
	/* what a thread of the parent may have been changing stays allocated: its pointers may be
	 * those of memory that is free */
	if (!perch__blocks_are_forked(reader)) {
		perch__decompress_free(reader);
		perch__blocks_free(reader);
	}
	perch_deferred_free(reader->deferred);
	perch_decoder_free(reader->decoder);
	perch__free_tracepoints(reader);
	free(reader->build_ids);
	free(reader->scratch);
	free(reader->path);
	free(reader);
}

size_t perch_reader_events(const struct perch_reader *reader,
			   const struct perch_file_event **events)
{
	*events = reader->events;
	return reader->nr_events;
}

enum perch_byte_order perch_reader_byte_order(const struct perch_reader *reader)
{
	return perch__byte_order(reader->swapped);
}

enum perch_arch perch_reader_arch(const struct perch_reader *reader)
{
	const char *name = perch_reader_text(reader, PERCH_FEATURE_ARCH);

	return name ? perch_arch_by_name(name) : PERCH_ARCH_UNKNOWN;
}

/* ---- records ---- */

static void restart_deferred(struct perch_reader *reader)
{
	struct perch_record record;

	reader->delivering_deferred = false;
	reader->ended = false;
	while (reader->merging_deferred && perch_deferred_next(reader->deferred, NULL, &record) > 0)
		;
}

void perch_reader_rewind(struct perch_reader *reader)
{
	reader->undecoded = 0;
	reader->unknown = 0;
	reader->released = 0;
	restart_deferred(reader);
	if (reader->order == PERCH_ORDER_TIME)
		perch__blocks_rewind(reader);
	else
		perch__cursor_start(reader, &reader->cursor);
}

static int next_in_order(struct perch_reader *reader, uint64_t *offset, struct perch_error *err)
{
	int rc;

	if (reader->order == PERCH_ORDER_TIME)
		return perch__blocks_next(reader, offset, err);
	rc = perch__cursor_next(reader, &reader->cursor, offset, err);
	/* the pages of the last record stay until the next call */
	if (rc > 0 && *offset < reader->extent && reader->released + RELEASE_EVERY < *offset)
		perch__release(reader, &reader->released, *offset);
	return rc;
}

/* Recorders align records to 8 bytes. Other records are copied to aligned memory. */
static const void *aligned_record(struct perch_reader *reader, const uint8_t *bytes,
				  uint64_t available)
{
	uint16_t size;

	if (__builtin_expect((uintptr_t)bytes % sizeof(uint64_t) == 0, 1))
		return bytes;
	if (!reader->scratch)
		reader->scratch = malloc(PERCH__MOST_RECORD);
	if (!reader->scratch)
		return NULL;
	size = perch__file_u16(reader, bytes + 6);
	memcpy(reader->scratch, bytes, size < available ? size : available);
	return reader->scratch;
}

/* Fills in a record that cannot be decoded. */
static void copy_header(const struct perch_reader *reader, struct perch_record *record,
			const uint8_t *bytes)
{
	memset(record, 0, sizeof(*record));
	record->type = perch__file_u32(reader, bytes);
	record->misc = perch__file_u16(reader, bytes + 4);
	record->size = perch__file_u16(reader, bytes + 6);
	record->bytes = bytes;
	record->parse_info = &reader->no_parse_info;
}

static int next_record(struct perch_reader *reader, struct perch_record *record,
		       struct perch_error *err)
{
	uint64_t offset;
	int rc;

	while ((rc = next_in_order(reader, &offset, err)) > 0) {
		const struct perch__output *output = reader->output;
		uint64_t available = perch__record_available(reader, output, offset);
		const void *bytes =
			aligned_record(reader, perch__record_at(reader, output, offset), available);

		if (!bytes)
			return PERCH__NO_MEMORY(err, "for a record");
		if (available > PERCH__MOST_RECORD)
			available = PERCH__MOST_RECORD;
		rc = perch_decoder_decode(reader->decoder, bytes, available, record,
					  reader->keep_damaged ? err : NULL);
		if (__builtin_expect(rc < 0, 0)) {
			reader->undecoded++;
			if (!reader->keep_damaged)
				continue;
			copy_header(reader, record, bytes);
			record->offset = perch__file_offset(reader, output, offset, record->size);
			return -EBADMSG;
		}
		record->offset = perch__file_offset(reader, output, offset, record->size);
		if (__builtin_expect(record->type - 1 >= PERCH_RECORD_SAMPLE, 0) &&
		    !perch_record_name(record->type))
			reader->unknown++;
		return 1;
	}
	return rc;
}

/* ---- deferred call chains ---- */

static bool has_deferred_callchains(const struct perch_reader *reader)
{
	for (size_t i = 0; i < reader->nr_events; i++)
		if (reader->events[i].attr.defer_callchain)
			return true;
	return false;
}

int perch_reader_merge_deferred(struct perch_reader *reader, struct perch_error *err)
{
	int rc;

	if (reader->merging_deferred || !has_deferred_callchains(reader))
		return 0;
	rc = perch_deferred_new(&reader->deferred, 0, err);
	reader->merging_deferred = !rc;
	return rc;
}

/*
 * Delivers the samples that the CALLCHAIN_DEFERRED record completes, older ones of the thread whose
 * record is missing before them, then the record itself.
 */
static int next_merged(struct perch_reader *reader, struct perch_record *record)
{
	const struct perch_record *from = &reader->callchain_deferred;

	if (perch_deferred_next_incomplete(reader->deferred, from, record) <= 0 &&
	    perch_deferred_next(reader->deferred, from, record) <= 0) {
		reader->delivering_deferred = false;
		*record = reader->callchain_deferred;
	}
	return 1;
}

static int next_with_deferred(struct perch_reader *reader, struct perch_record *record,
			      struct perch_error *err)
{
	int rc;

	if (reader->delivering_deferred)
		return next_merged(reader, record);
	while (!reader->ended) {
		rc = next_record(reader, record, err);
		if (rc < 0)
			return rc;
		reader->ended = !rc;
		if (rc && record->type == PERCH_RECORD_CALLCHAIN_DEFERRED) {
			reader->delivering_deferred = true;
			reader->callchain_deferred = *record;
			return next_merged(reader, record);
		}
		if (rc && (perch_deferred_complete(reader->deferred, record) > 0 ||
			   perch_deferred_hold(reader->deferred, record) <= 0))
			return 1;
	}
	return perch_deferred_next(reader->deferred, NULL, record) > 0;
}

int perch_reader_next(struct perch_reader *reader, struct perch_record *record,
		      struct perch_error *err)
{
	return __builtin_expect(reader->merging_deferred, 0)
		       ? next_with_deferred(reader, record, err)
		       : next_record(reader, record, err);
}

void perch_reader_keep_damaged(struct perch_reader *reader, bool keep)
{
	reader->keep_damaged = keep;
}

/* Up to the end of what was sorted for the record that was delivered last. */
static const struct perch__cursor *delivered_cursor(const struct perch_reader *reader)
{
	return reader->order == PERCH_ORDER_TIME && reader->blocks.block
		       ? &reader->blocks.block->cursor
		       : &reader->cursor;
}

void perch_reader_get_damage(const struct perch_reader *reader, struct perch_reader_damage *damage)
{
	const struct perch__cursor *cursor = delivered_cursor(reader);

	*damage = (struct perch_reader_damage){
		.missing_bytes = reader->missing_bytes,
		.corrupt_bytes = cursor->corrupt,
		.late_records = reader->blocks.block ? reader->blocks.block->late : 0,
		.undecoded_records = reader->undecoded,
		.unknown_records = reader->unknown,
		.unknown_features = reader->unknown_features,
		.unknown_feature = reader->unknown_feature,
		.damaged_functions = reader->damaged_functions,
		.missing_files = reader->nr_ranges > 1 ? reader->missing_files : 0,
		.unfinished = reader->unfinished,
		.too_large = cursor->too_large,
	};
}

void perch_reader_progress(const struct perch_reader *reader, uint64_t *done, uint64_t *total)
{
	const struct perch__block *block = reader->blocks.block;
	size_t next = reader->blocks.next;

	*total = 0;
	for (size_t i = 0; i < reader->nr_ranges; i++)
		*total += reader->range[i].end - reader->range[i].start;
	*done = perch__cursor_position(reader, delivered_cursor(reader));
	if (block && next < block->ready)
		*done = block->from + (double)next / block->ready * (*done - block->from);
}

/* SPDX-License-Identifier: MIT */
/*
 * The input is a perf.data file of either byte order. The target reads it in file order and by
 * time, and also cut in two, as a directory with a header file and the file of a ring. The last two
 * bytes of the input say where to cut.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <perch/file.h>
#include <string.h>
#include "build/touch.h"
#include "file/ahead.h"
#include "file/order/order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Visits all fields, also of perf.data's own records. */
static void touch_file_fields(struct perch_reader *reader, const struct perch_record *record)
{
	struct touch_walk walk = { 0 };

	if (perch_file_record_fields(reader, record, touch_field, &walk) || walk.depth)
		abort();
}

/* Each call that fails has passed a record, so the loop ends. */
static void read_records(struct perch_reader *reader, bool ahead)
{
	struct perch_record record;
	struct perch_error err;
	int rc;

	while ((rc = perch_reader_next(reader, &record, &err)) > 0 || rc == -EBADMSG) {
		touch_bytes(record.bytes, record.size);
		if (ahead)
			perch__reader_read_ahead(reader);
		if (rc <= 0)
			continue;
		touch_record(&record);
		touch_file_fields(reader, &record);
	}
}

static void touch_header(struct perch_reader *reader)
{
	const struct perch_file_event *events;
	const struct perch_build_id *ids;
	const char *const *arguments;
	size_t nr = perch_reader_events(reader, &events);

	for (size_t i = 0; i < nr; i++) {
		struct touch_walk walk = { 0 };

		if (perch_attr_each_field(&events[i].attr, touch_field, &walk))
			abort();
		touch_bytes(events[i].ids, events[i].nr_ids * sizeof(uint64_t));
		touch_bytes(events[i].name, strlen(events[i].name));
		if (events[i].members > nr - i)
			abort();
	}
	nr = perch_reader_build_ids(reader, &ids);
	for (size_t i = 0; i < nr; i++) {
		touch_bytes(ids[i].bytes, ids[i].size);
		touch_bytes(ids[i].path, strlen(ids[i].path));
	}
	nr = perch_reader_command_line(reader, &arguments);
	for (size_t i = 0; i < nr; i++)
		touch_bytes(arguments[i], strlen(arguments[i]));
}

/* The formats of tracepoints: ids of tracing data are those of this machine or small. */
static void touch_tracepoints(struct perch_reader *reader)
{
	const struct perch_tracepoint_format *format;
	const struct perch_tracepoint_field *fields;
	const struct perch_file_event *events;
	struct perch_tracepoint_text text;
	size_t nr = perch_reader_events(reader, &events);

	for (size_t i = 0; i < nr; i++) {
		if (!perch_reader_tracepoint_text(reader, events[i].attr.config, &text, NULL))
			touch_bytes(text.text, text.size);
		if (!perch_reader_tracepoint(reader, events[i].attr.config, &format, NULL) &&
		    !perch_tracepoint_format_fields(format, &fields))
			abort();
	}
}

static void read_file(const char *path, enum perch_order order, size_t batch, FILE *nowhere)
{
	struct perch_reader_damage damage;
	struct perch_reader *reader;
	struct perch_error err;
	uint64_t done, total;

	if (perch_reader_open(&reader, path, order, &err))
		return;
	reader->blocks.batch = batch;
	touch_header(reader);
	touch_tracepoints(reader);
	perch_reader_print_long_header(reader, nowhere);
	perch_reader_merge_deferred(reader, NULL);
	read_records(reader, false);
	perch_reader_progress(reader, &done, &total);
	if (done > total)
		abort();
	perch_reader_rewind(reader);
	perch_reader_keep_damaged(reader, true);
	read_records(reader, true);
	perch_reader_get_damage(reader, &damage);
	perch_reader_close(reader);
}

/* A file in memory, and its path. */
struct memory_file {
	int fd;
	char path[64];
};

static void make(struct memory_file *file)
{
	file->fd = memfd_create("perf.data", MFD_CLOEXEC);
	snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
	if (file->fd < 0)
		abort();
}

static void fill(const struct memory_file *file, const uint8_t *data, size_t size)
{
	if (ftruncate(file->fd, 0) || pwrite(file->fd, data, size, 0) != (ssize_t)size)
		abort();
}

static char directory[] = "/tmp/perch-fuzz-XXXXXX";

static void remove_directory(void)
{
	char name[64];

	for (const char *const *at = (const char *const[]){ "data", "data.0", NULL }; *at; at++) {
		snprintf(name, sizeof(name), "%s/%s", directory, *at);
		unlink(name);
	}
	rmdir(directory);
}

static void make_directory(const struct memory_file *header, const struct memory_file *ring)
{
	char name[64];

	if (!mkdtemp(directory))
		abort();
	atexit(remove_directory);
	snprintf(name, sizeof(name), "%s/data", directory);
	if (symlink(header->path, name))
		abort();
	snprintf(name, sizeof(name), "%s/data.0", directory);
	if (symlink(ring->path, name))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory_file file, ring;
	static FILE *nowhere;
	size_t cut;

	if (!nowhere) {
		nowhere = fopen("/dev/null", "w");
		if (!nowhere)
			abort();
		make(&file);
		make(&ring);
		make_directory(&file, &ring);
	}
	fill(&file, data, size);
	read_file(file.path, PERCH_ORDER_FILE, 0, nowhere);
	read_file(file.path, PERCH_ORDER_TIME, 1, nowhere);
	read_file(file.path, PERCH_ORDER_TIME, PERCH__BATCH_RECORDS, nowhere);
	cut = size < 2 ? 0 : (data[size - 2] | data[size - 1] << 8) % size;
	if (!cut)
		return 0;
	fill(&file, data, cut);
	fill(&ring, data + cut, size - cut);
	read_file(directory, PERCH_ORDER_FILE, 0, nowhere);
	read_file(directory, PERCH_ORDER_TIME, 1, nowhere);
	return 0;
}

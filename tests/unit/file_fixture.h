/* SPDX-License-Identifier: MIT */
/* A small recording in a temporary directory, for the tests of perf.data files. */
#ifndef FILE_FIXTURE_H
#define FILE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/file.h>
#include "build_record.h"
#include "file/internal.h"

static char test_directory[] = "/tmp/perch-test-file-XXXXXX";
static char path[128], old_path[160];

#define TYPE                                                                                \
	(PERCH_SAMPLE_IDENTIFIER | PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | \
	 PERCH_SAMPLE_PERIOD)

static const uint64_t ids[] = { 21, 22, 31 };
static const struct perch_file_event events[] = {
	{
		.attr = { .type = PERCH_TYPE_SOFTWARE,
			  .sample_type = TYPE,
			  .sample_id_all = 1,
			  .sample_period = 1000,
			  .mmap = 1 },
		.name = "cpu-clock",
		.ids = ids,
		.nr_ids = 2,
		.members = 2,
	},
	{
		.attr = { .type = PERCH_TYPE_SOFTWARE,
			  .config = PERCH_COUNT_SW_PAGE_FAULTS,
			  .sample_type = TYPE,
			  .sample_id_all = 1 },
		.name = "page-faults",
		.ids = ids + 2,
		.nr_ids = 1,
	},
};

/* ---- files ---- */

static inline struct iovec piece(struct built *b)
{
	return (struct iovec){ .iov_base = b->bytes, .iov_len = b->size };
}

static inline void build_sample(struct built *b, uint64_t id, uint64_t time)
{
	start_record(b, PERCH_RECORD_SAMPLE, PERCH_MISC_USER);
	put_u64(b, id);
	put_u64(b, 0x401000 + time);
	put_u32(b, BUILT_PID);
	put_u32(b, BUILT_TID);
	put_u64(b, time);
	put_u64(b, 1000);
	end_record(b);
}

static inline void build_comm(struct built *b, uint64_t time)
{
	start_record(b, PERCH_RECORD_COMM, 0);
	put_u32(b, BUILT_PID);
	put_u32(b, BUILT_TID);
	put_name(b, "worker");
	put_trailer(b, TYPE, time, 21);
	end_record(b);
}

static inline void put_record(struct perch_writer *writer, struct built *b)
{
	struct iovec one = piece(b);

	assert_int_equal(perch_writer_append(writer, &one, 1, NULL), 0);
}

static inline void put_sample(struct perch_writer *writer, uint64_t id, uint64_t time)
{
	struct built b;

	build_sample(&b, id, time);
	put_record(writer, &b);
}

static inline void put_plain(struct perch_writer *writer, uint32_t type)
{
	struct built b;

	start_record(&b, type, 0);
	end_record(&b);
	put_record(writer, &b);
}

static inline struct perch_writer *open_writer(void)
{
	struct perch_writer *writer;
	struct perch_error err = { 0 };

	if (perch_writer_open(&writer, path, events, 2, &err))
		fail_msg("%s", err.message);
	return writer;
}

static inline void close_writer(struct perch_writer *writer)
{
	struct perch_error err = { 0 };

	if (perch_writer_close(writer, &err))
		fail_msg("%s", err.message);
}

static const uint8_t build_id[20] = { 0xde, 0xad, 0xbe, 0xef, 5, 6, 7, 8, 9, 10 };

/* Writes a COMM record, ten samples in pairs, and features. */
static inline void make_file(void)
{
	struct perch_writer *writer = open_writer();
	struct built b;

	build_comm(&b, 1);
	put_record(writer, &b);
	for (uint64_t i = 0; i < 10; i++)
		put_sample(writer, ids[i % 3], 100 + 10 * i);
	assert_int_equal(perch_writer_set_sample_time(writer, 100, 190, NULL), 0);
	assert_int_equal(perch_writer_add_build_id(writer, PERCH_MISC_USER, build_id, 20,
						   "/bin/worker", NULL),
			 0);
	assert_int_equal(perch_writer_add_build_id(writer, PERCH_MISC_KERNEL, build_id, 8,
						   "[kernel.kallsyms]", NULL),
			 0);
	close_writer(writer);
}

static inline uint8_t *read_whole_file(const char *name, size_t *size)
{
	FILE *stream = fopen(name, "rb");
	uint8_t *bytes;

	assert_non_null(stream);
	fseek(stream, 0, SEEK_END);
	*size = ftell(stream);
	rewind(stream);
	bytes = malloc(*size + 1);
	assert_int_equal(fread(bytes, 1, *size, stream), *size);
	fclose(stream);
	return bytes;
}

static inline void write_whole_file(const char *name, const void *bytes, size_t size)
{
	FILE *stream = fopen(name, "wb");

	assert_non_null(stream);
	assert_int_equal(fwrite(bytes, 1, size, stream), size);
	assert_int_equal(fclose(stream), 0);
}

static inline struct perch_reader *open_reader(enum perch_order order)
{
	struct perch_error err = { 0 };
	struct perch_reader *reader;

	if (perch_reader_open(&reader, path, order, &err))
		fail_msg("%s", err.message);
	return reader;
}

/* Reads all records. Returns their number. */
static inline size_t read_all(struct perch_reader *reader)
{
	struct perch_record record;
	struct perch_error err = { 0 };
	size_t nr = 0;
	int rc;

	while ((rc = perch_reader_next(reader, &record, &err)) > 0) {
		nr++;
		if (record.type == PERCH_RECORD_COMM)
			assert_int_equal(strlen(record.comm.comm.text), record.comm.comm.length);
	}
	assert_true(rc == 0 || err.message[0]);
	return nr;
}

/* The number of records that a reader finds in the current file. */
static inline size_t count_now(struct perch_reader_damage *damage)
{
	struct perch_reader *reader = open_reader(PERCH_ORDER_TIME);
	size_t nr = read_all(reader);

	perch_reader_get_damage(reader, damage);
	perch_reader_close(reader);
	return nr;
}

static inline int make_test_directory(void **state)
{
	(void)state;
	if (!mkdtemp(test_directory))
		return -1;
	snprintf(path, sizeof(path), "%s/perf.data", test_directory);
	snprintf(old_path, sizeof(old_path), "%s.old", path);
	return 0;
}

static inline int remove_test_directory(void **state)
{
	(void)state;
	unlink(path);
	unlink(old_path);
	return rmdir(test_directory);
}

/* Appends pieces while the file may have at most `bytes` bytes: RLIMIT_FSIZE simulates a full disk.
 */
static inline int append_limited(struct perch_writer *writer, const struct iovec *pieces, int nr,
				 uint64_t bytes, struct perch_error *err)
{
	struct rlimit before, limit;
	int rc;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = bytes;
	setrlimit(RLIMIT_FSIZE, &limit);
	rc = perch_writer_append(writer, pieces, nr, err);
	setrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_DFL);
	return rc;
}

#endif

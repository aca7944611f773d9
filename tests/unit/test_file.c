/* SPDX-License-Identifier: MIT */
/* Tests the writer, and the reader with files of the writer, in both orders. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "file_fixture.h"
#include "file/order/order.h"

/* ---- the writer ---- */

static void reads_what_was_written(void **state)
{
	const struct perch_file_event *got;
	const struct perch_build_id *build_ids;
	struct perch_reader_damage damage;
	struct perch_reader *reader;
	struct perch_record record;

	(void)state;
	make_file();
	reader = open_reader(PERCH_ORDER_FILE);
	assert_int_equal(perch_reader_events(reader, &got), 2);
	assert_int_equal(got[0].nr_ids, 2);
	assert_int_equal(got[0].ids[1], 22);
	assert_int_equal(got[1].attr.config, PERCH_COUNT_SW_PAGE_FAULTS);
	assert_string_equal(got[1].name, "page-faults");
	assert_int_equal(perch_reader_next(reader, &record, NULL), 1);
	assert_int_equal(record.type, PERCH_RECORD_COMM);
	assert_string_equal(record.comm.comm.text, "worker");
	for (uint64_t i = 0; i < 10; i++) {
		assert_int_equal(perch_reader_next(reader, &record, NULL), 1);
		assert_int_equal(record.type, PERCH_RECORD_SAMPLE);
		assert_int_equal(record.event, i % 3 / 2);
		assert_int_equal(record.sample.time, 100 + 10 * i);
		assert_true(record.offset > 0);
	}
	assert_int_equal(perch_reader_next(reader, &record, NULL), 0);
	assert_int_equal(perch_reader_next(reader, &record, NULL), 0);
	perch_reader_get_damage(reader, &damage);
	assert_false(damage.unfinished);
	assert_int_equal(damage.missing_bytes + damage.corrupt_bytes + damage.undecoded_records, 0);
	assert_int_equal(perch_reader_build_ids(reader, &build_ids), 2);
	assert_string_equal(build_ids[0].path, "/bin/worker");
	assert_int_equal(build_ids[0].misc, PERCH_MISC_USER);
	assert_int_equal(build_ids[0].size, 20);
	assert_memory_equal(build_ids[0].bytes, build_id, 20);
	assert_int_equal(build_ids[1].size, 8);
	perch_reader_rewind(reader);
	assert_int_equal(read_all(reader), 11);
	perch_reader_close(reader);
}

static void file_is_readable_at_every_moment(void **state)
{
	struct perch_writer *writer = open_writer();
	struct perch_reader_damage damage;
	int fd;

	(void)state;
	assert_int_equal(count_now(&damage), 0);
	assert_true(damage.unfinished);
	for (uint64_t i = 0; i < 5; i++) {
		put_sample(writer, 21, i + 1);
		assert_int_equal(count_now(&damage), i + 1);
		assert_true(damage.unfinished);
		assert_int_equal(damage.corrupt_bytes + damage.missing_bytes, 0);
	}
	assert_int_equal(perch_writer_size(writer), 5 * 48);
	/* killed between the records and the data size: the records do not count */
	fd = open(path, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "half a record", 13), 13);
	close(fd);
	assert_int_equal(count_now(&damage), 5);
	assert_int_equal(damage.corrupt_bytes + damage.missing_bytes, 0);
	close_writer(writer);
	assert_int_equal(count_now(&damage), 5);
	assert_false(damage.unfinished);
}

static void appends_many_pieces(void **state)
{
	struct perch_writer *writer = open_writer();
	struct perch_reader_damage damage;
	struct iovec pieces[3000];
	struct built b;

	(void)state;
	build_sample(&b, 22, 5);
	for (size_t i = 0; i < 3000;
	     i++) /* more than one pwritev(2) takes; three pieces per record */
		pieces[i] = (struct iovec){ b.bytes + i % 3 * 16, 16 };
	assert_int_equal(perch_writer_append(writer, pieces, 3000, NULL), 0);
	assert_int_equal(perch_writer_append(writer, pieces, 0, NULL), 0);
	close_writer(writer);
	assert_int_equal(count_now(&damage), 1000);
}

static void renames_the_old_file(void **state)
{
	struct stat status;

	(void)state;
	write_whole_file(path, "old", 3);
	write_whole_file(old_path, "older", 5);
	make_file();
	assert_int_equal(stat(old_path, &status), 0);
	assert_int_equal(status.st_size, 3);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
}

static void refuses_invalid_paths(void **state)
{
	struct perch_writer *writer;
	struct perch_error err = { 0 };

	(void)state;
	assert_int_equal(perch_writer_open(&writer, test_directory, events, 2, &err), -EISDIR);
	assert_null(writer);
	assert_non_null(strstr(err.message, "directory"));
	assert_true(err.remedy[0]);
	assert_int_equal(perch_writer_open(&writer, "/proc/none/x", events, 2, &err), -ENOENT);
	assert_int_equal(err.kind, PERCH_ERROR_FILE);
	assert_non_null(strstr(err.remedy, "Make its directory"));
	assert_int_equal(perch_writer_open(&writer, "/proc/x", events, 2, &err), -ENOENT);
	assert_int_equal(perch_writer_open(&writer, path, events, 0, &err), -EINVAL);
	write_whole_file(path, "old", 3);
	unlink(old_path);
	assert_int_equal(mkdir(old_path, 0700), 0);
	assert_int_equal(perch_writer_open(&writer, path, events, 2, &err), -EISDIR);
	assert_string_equal(err.remedy, "Name another file");
	assert_int_equal(rmdir(old_path), 0);
	assert_int_equal(perch_writer_open(&writer, "/dev/null", events, 2, &err), 0);
	assert_int_equal(access("/dev/null.old", F_OK), -1);
	put_sample(writer, 21, 1);
	assert_int_equal(perch_writer_close(writer, &err), 0);
	assert_int_equal(perch_writer_close(NULL, &err), 0);
}

/* The whole records that fit stay, wherever the disk becomes full and however the records lie in
 * pieces. Later records are written once there is space. */
static void full_disk_keeps_whole_records(void **state)
{
	static uint8_t many[64 * 48];
	const size_t cuts[] = { 48, 17, 1000, 49, 8 };
	struct built b;

	(void)state;
	build_sample(&b, 21, 7);
	for (size_t i = 0; i < 64; i++)
		memcpy(many + 48 * i, b.bytes, 48);
	for (size_t cut = 0; cut < sizeof(cuts) / sizeof(cuts[0]); cut++)
		for (size_t space = 0; space < 150; space += 7) {
			struct iovec pieces[] = {
				{ many, cuts[cut] },
				{ NULL, 0 },
				{ many + cuts[cut], sizeof(many) - cuts[cut] },
			};
			struct perch_writer *writer = open_writer();
			struct perch_reader_damage damage;
			struct perch_error err = { 0 };
			struct stat status;

			put_sample(writer, 21, 6);
			assert_int_equal(stat(path, &status), 0);
			assert_int_equal(append_limited(writer, pieces, 3,
							(uint64_t)status.st_size + space, &err),
					 -EFBIG);
			assert_non_null(strstr(err.message, path));
			assert_non_null(strstr(err.remedy, "ulimit -f"));
			assert_int_equal(perch_writer_size(writer), 48 + space / 48 * 48);
			assert_int_equal(count_now(&damage), 1 + space / 48);
			assert_int_equal(damage.corrupt_bytes + damage.missing_bytes, 0);
			put_sample(writer, 22, 8);
			close_writer(writer);
			assert_int_equal(count_now(&damage), 2 + space / 48);
			assert_int_equal(damage.corrupt_bytes + damage.missing_bytes, 0);
			assert_false(damage.unfinished);
		}
}

/* The bytes after an AUXTRACE record belong to it. */
static void full_disk_keeps_aux_data_with_its_record(void **state)
{
	uint64_t trace[1 + 5 + 4] = { 0 };
	const struct perch_record_header header = { PERCH_RECORD_AUXTRACE, 0, 48 };
	struct iovec piece_of_trace = { trace, sizeof(trace) };

	(void)state;
	memcpy(trace, &header, sizeof(header));
	trace[1] = 32; /* bytes that follow the record */
	for (size_t space = 40; space < 80; space += 8) {
		struct perch_writer *writer = open_writer();
		struct perch_error err;
		struct stat status;

		put_sample(writer, 21, 6);
		assert_int_equal(stat(path, &status), 0);
		assert_int_equal(append_limited(writer, &piece_of_trace, 1,
						(uint64_t)status.st_size + space, &err),
				 -EFBIG);
		assert_int_equal(perch_writer_size(writer), 48);
		close_writer(writer);
	}
}

/* Failed opens, also repeated ones, change nothing. */
static void full_disk_restores_the_old_file(void **state)
{
	struct rlimit before, limit;
	struct perch_writer *writer;
	struct perch_error err;
	uint8_t *bytes;
	size_t size;

	(void)state;
	unlink(old_path);
	write_whole_file(path, "precious", 8);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = 100;
	for (int i = 0; i < 4; i++) {
		if (i == 3)
			unlink(path);
		setrlimit(RLIMIT_FSIZE, &limit);
		assert_int_equal(perch_writer_open(&writer, path, events, 2, &err), -EFBIG);
		setrlimit(RLIMIT_FSIZE, &before);
		assert_null(writer);
		assert_int_equal(access(old_path, F_OK), -1);
		if (i == 3)
			break;
		bytes = read_whole_file(path, &size);
		assert_int_equal(size, 8);
		assert_memory_equal(bytes, "precious", 8);
		free(bytes);
	}
	assert_int_equal(access(path, F_OK), -1);
	signal(SIGXFSZ, SIG_DFL);
}

static void attr_size_depends_on_fields(void **state)
{
	static const struct {
		uint64_t config3, config4, size;
	} cases[] = { { 0, 0, 128 }, { 1, 0, 136 }, { 0, 1, 144 } };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct perch_file_event event = events[0];
		const struct perch_file_event *got;
		struct perch_reader *reader;
		struct perch_writer *writer;

		event.attr.config3 = cases[i].config3;
		event.attr.config4 = cases[i].config4;
		assert_int_equal(perch_writer_open(&writer, path, &event, 1, NULL), 0);
		close_writer(writer);
		reader = open_reader(PERCH_ORDER_FILE);
		assert_int_equal(perch_reader_events(reader, &got), 1);
		assert_int_equal(got->attr.size, cases[i].size);
		assert_int_equal(got->attr.config3, cases[i].config3);
		assert_int_equal(got->attr.config4, cases[i].config4);
		assert_int_equal(reader->header.attr_size, cases[i].size + 16);
		perch_reader_close(reader);
	}
}

static void writes_features(void **state)
{
	char *arguments[] = { (char *)"perch", (char *)"record", (char *)"it's" };
	const char *const *got;
	struct perch_machine *machine;
	struct perch_writer *writer = open_writer();
	struct perch_reader *reader;
	const struct perch_file_event *got_events;
	char *text = NULL;
	size_t size;
	FILE *stream;

	(void)state;
	assert_int_equal(perch_machine_new(&machine, NULL, NULL, NULL), 0);
	assert_int_equal(perch_writer_describe(writer, "1.2.3", 3, arguments, machine, NULL), 0);
	perch_machine_free(machine);
	close_writer(writer);
	reader = open_reader(PERCH_ORDER_FILE);
	assert_string_equal(perch_reader_text(reader, PERCH_FEATURE_VERSION), "1.2.3");
	assert_non_null(perch_reader_text(reader, PERCH_FEATURE_OSRELEASE));
	assert_null(perch_reader_text(reader, PERCH_FEATURE_CMDLINE));
	assert_null(perch_reader_text(reader, PERCH_FEATURE_MAX));
	assert_int_equal(perch_reader_command_line(reader, &got), 3);
	assert_string_equal(got[2], "it's");
	perch_reader_events(reader, &got_events);
	assert_int_equal(got_events[0].members, 2);
	stream = open_memstream(&text, &size);
	assert_int_equal(perch_reader_print_header(reader, stream), 0);
	fclose(stream);
	assert_non_null(strstr(text, "# perf version : 1.2.3\n"));
	assert_non_null(strstr(text, "# cmdline : perch record it\\'s \n"));
	assert_non_null(strstr(
		text, "# event : name = cpu-clock, , id = { 21, 22 }, type = 1, size = 128, "));
	assert_non_null(strstr(text, "# group: {cpu-clock,page-faults}\n"));
	free(text);
	perch_reader_close(reader);
}

/* ---- order ---- */

static void delivers_records_by_time(void **state)
{
	static const uint64_t file_order[] = { 10, 20, 30, 15, 25, 25, 12, 40, 40, 35 };
	static const uint64_t time_order[] = { 10, 12, 15, 20, 25, 25, 30, 35, 40, 40 };
	struct perch_writer *writer = open_writer();
	struct perch_reader *reader;
	struct perch_record record;
	uint64_t done, total, last_offset = 0, last_time = 0;

	(void)state;
	for (size_t i = 0; i < 10; i++)
		put_sample(writer, 21, file_order[i]);
	close_writer(writer);
	reader = open_reader(PERCH_ORDER_TIME);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < 10; i++) {
			assert_int_equal(perch_reader_next(reader, &record, NULL), 1);
			assert_int_equal(record.sample.time, time_order[i]);
			if (record.sample.time == last_time)
				assert_true(record.offset > last_offset);
			last_time = record.sample.time;
			last_offset = record.offset;
		}
		assert_int_equal(perch_reader_next(reader, &record, NULL), 0);
		perch_reader_progress(reader, &done, &total);
		assert_int_equal(done, total);
		perch_reader_rewind(reader);
	}
	perch_reader_close(reader);
}

/* Records without a time are delivered after the earlier rounds, and before records that wait for
 * the end of their round. */
static void delivers_records_without_time_in_their_round(void **state)
{
	static const uint32_t want[] = {
		PERCH_RECORD_THREAD_MAP,     PERCH_RECORD_SAMPLE,  PERCH_RECORD_SAMPLE,
		PERCH_RECORD_FINISHED_ROUND, PERCH_RECORD_CPU_MAP,
	};
	struct perch_writer *writer = open_writer();
	struct perch_reader *reader;
	struct perch_record record;

	(void)state;
	put_plain(writer, PERCH_RECORD_THREAD_MAP);
	put_sample(writer, 21, 20);
	put_sample(writer, 21, 10);
	put_plain(writer, PERCH_RECORD_FINISHED_ROUND);
	put_sample(writer, 21, 30);
	put_plain(writer, PERCH_RECORD_FINISHED_ROUND);
	put_plain(writer, PERCH_RECORD_CPU_MAP);
	close_writer(writer);
	reader = open_reader(PERCH_ORDER_TIME);
	assert_int_equal(perch_reader_next(reader, &record, NULL), 1);
	assert_int_equal(record.type, want[0]);
	assert_int_equal(perch_reader_next(reader, &record, NULL), 1);
	assert_int_equal(record.type, PERCH_RECORD_FINISHED_ROUND);
	for (size_t i = 1; i < 5; i++) {
		assert_int_equal(perch_reader_next(reader, &record, NULL), 1);
		assert_int_equal(record.type, want[i]);
	}
	assert_int_equal(perch_reader_next(reader, &record, NULL), 1);
	assert_int_equal(record.sample.time, 30);
	assert_int_equal(perch_reader_next(reader, &record, NULL), 0);
	perch_reader_close(reader);
}

static int compare_entries(const void *a, const void *b)
{
	const struct perch__index_entry *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Compares with qsort(3): few and many equal times, rounds of runs, falling times, extremes. */
static void sort_is_stable(void **state)
{
	enum { MOST = 5000 };
	static struct perch__index_entry entries[MOST], want[MOST];
	struct perch__index_entry *copy = NULL;
	size_t capacity = 0;

	(void)state;
	srand(1);
	for (int kind = 0; kind < 8; kind++) {
		for (size_t nr = 0; nr < MOST; nr = nr * 3 / 2 + 1) {
			for (size_t i = 0; i < nr; i++) {
				static const uint64_t extremes[] = { 0, 1, UINT64_MAX,
								     UINT64_MAX - 1 };
				uint64_t times[] = { rand(),
						     rand() % 3,
						     i / 100 * 50 + i % 100,
						     nr - i,
						     7,
						     extremes[rand() % 4],
						     i % 100 * 10 + i / 100,
						     i };

				entries[i] = (struct perch__index_entry){ times[kind], i };
			}
			memcpy(want, entries, sizeof(want));
			qsort(want, nr, sizeof(*want), compare_entries);
			assert_int_equal(perch__index_sort(entries, nr, &copy, &capacity), 0);
			assert_memory_equal(entries, want, nr * sizeof(*want));
		}
	}
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_was_written),
		cmocka_unit_test(file_is_readable_at_every_moment),
		cmocka_unit_test(appends_many_pieces),
		cmocka_unit_test(renames_the_old_file),
		cmocka_unit_test(refuses_invalid_paths),
		cmocka_unit_test(full_disk_keeps_whole_records),
		cmocka_unit_test(full_disk_keeps_aux_data_with_its_record),
		cmocka_unit_test(full_disk_restores_the_old_file),
		cmocka_unit_test(attr_size_depends_on_fields),
		cmocka_unit_test(writes_features),
		cmocka_unit_test(delivers_records_by_time),
		cmocka_unit_test(delivers_records_without_time_in_their_round),
		cmocka_unit_test(sort_is_stable),
	};

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}

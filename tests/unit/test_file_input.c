/* SPDX-License-Identifier: MIT */
/* Tests recordings from pipes, standard input and directories. */
#include "file_fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char directory[64];

static size_t count_of(const char *name, enum perch_order order)
{
	struct perch_error err = { 0 };
	struct perch_reader *reader;
	size_t nr;

	if (perch_reader_open(&reader, name, order, &err))
		fail_msg("%s", err.message);
	nr = read_all(reader);
	perch_reader_close(reader);
	return nr;
}

/* ---- pipes ---- */

/* Forks a child that writes the file in small pieces, with delays. */
static pid_t feed(int fd, const char *name, const uint8_t *bytes, size_t size)
{
	pid_t child = fork();

	if (child)
		return child;
	if (name)
		fd = open(name, O_WRONLY);
	for (size_t at = 0; at < size; at += 100) {
		if (at % 1000 == 0)
			usleep(2000);
		if (write(fd, bytes + at, size - at < 100 ? size - at : 100) < 0)
			break;
	}
	_exit(0);
}

static void reads_fifo(void **state)
{
	char fifo[160];
	uint8_t *bytes;
	size_t size;
	pid_t child;

	(void)state;
	make_file();
	bytes = read_whole_file(path, &size);
	snprintf(fifo, sizeof(fifo), "%s/fifo", test_directory);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	child = feed(-1, fifo, bytes, size);
	assert_int_equal(count_of(fifo, PERCH_ORDER_TIME), 11);
	assert_int_equal(waitpid(child, NULL, 0), child);
	unlink(fifo);
	free(bytes);
}

/* Opens "-" with fd as standard input. */
static size_t count_of_input(int fd)
{
	int saved = dup(STDIN_FILENO);
	size_t nr;

	assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	nr = count_of("-", PERCH_ORDER_FILE);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	close(saved);
	return nr;
}

static void reads_standard_input(void **state)
{
	uint8_t *bytes;
	size_t size;
	int ends[2], fd;
	pid_t child;

	(void)state;
	make_file();
	bytes = read_whole_file(path, &size);
	assert_int_equal(pipe(ends), 0);
	/* a descriptor with O_NONBLOCK */
	assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	child = feed(ends[1], NULL, bytes, size);
	close(ends[1]);
	assert_int_equal(count_of_input(ends[0]), 11);
	close(ends[0]);
	assert_int_equal(waitpid(child, NULL, 0), child);

	fd = open(path, O_RDONLY);
	assert_int_equal(count_of_input(fd), 11);
	close(fd);
	/* the rest of a file is a recording */
	write_whole_file(old_path, "head----", 8);
	fd = open(old_path, O_RDWR | O_APPEND);
	assert_int_equal(write(fd, bytes, size), size);
	lseek(fd, 8, SEEK_SET);
	assert_int_equal(count_of_input(fd), 11);
	close(fd);
	free(bytes);
}

static int refusal_of_input(int fd, struct perch_error *err)
{
	int saved = dup(STDIN_FILENO), rc;
	struct perch_reader *reader;

	assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	rc = perch_reader_open(&reader, "-", PERCH_ORDER_FILE, err);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	close(saved);
	assert_null(reader);
	assert_int_equal(strncmp(err->message, "standard input: ", 16), 0);
	return rc;
}

static void refuses_other_input(void **state)
{
	struct perch_error err = { 0 };
	int ends[2], fd;

	(void)state;
	fd = open("/dev/zero", O_RDONLY); /* never ends */
	assert_int_equal(refusal_of_input(fd, &err), -EBADMSG);
	assert_int_equal(err.kind, PERCH_ERROR_FORMAT);
	close(fd);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "PER", 3), 3);
	close(ends[1]);
	assert_int_equal(refusal_of_input(ends[0], &err), -EBADMSG);
	close(ends[0]);
	fd = open("/dev/null", O_RDONLY);
	assert_int_equal(refusal_of_input(fd, &err), -EBADMSG);
	assert_int_equal(err.kind, PERCH_ERROR_TRUNCATED);
	close(fd);

	/* an invalid TMPDIR */
	assert_int_equal(pipe(ends), 0);
	close(ends[1]);
	setenv("TMPDIR", "/proc/none", 1);
	assert_int_equal(refusal_of_input(ends[0], &err), -ENOENT);
	assert_non_null(strstr(err.remedy, "TMPDIR"));
	unsetenv("TMPDIR");
	close(ends[0]);
}

/* Endless zeros after the last record, in pieces of any size: the records before them are read. */
static void ends_endless_input(void **state)
{
	uint64_t start[2] = { PERCH__MAGIC, 16 };
	const uint8_t zeros[4096] = { 0 };
	struct perch_attr attr = { .type = 1, .sample_type = PERCH_SAMPLE_IP };
	struct built b;
	pid_t child;
	int ends[2], status;

	(void)state;
	attr.size = sizeof(attr);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child) {
		signal(SIGPIPE, SIG_IGN);
		close(ends[0]);
		if (write(ends[1], start, 3) < 0 || usleep(1000) ||
		    write(ends[1], (uint8_t *)start + 3, 13) < 0)
			_exit(1);
		start_record(&b, PERCH_RECORD_HEADER_ATTR, 0);
		put_bytes(&b, &attr, sizeof(attr));
		put_u64(&b, 7);
		end_record(&b);
		if (write(ends[1], b.bytes, 20) < 0 || usleep(1000) ||
		    write(ends[1], b.bytes + 20, b.size - 20) < 0)
			_exit(1);
		start_record(&b, PERCH_RECORD_AUXTRACE, 0);
		put_u64(&b, sizeof(zeros));
		end_record(&b);
		if (write(ends[1], b.bytes, b.size) < 0)
			_exit(1);
		while (write(ends[1], zeros, sizeof(zeros)) > 0)
			;
		_exit(errno == EPIPE ? 0 : 2);
	}
	close(ends[1]);
	assert_int_equal(count_of_input(ends[0]), 2);
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* ---- directories ---- */

static void name_part(char *name, size_t size, unsigned int number)
{
	snprintf(name, size, "%s/data.%u", directory, number);
}

static void write_part_file(unsigned int number, const void *bytes, size_t size)
{
	char name[160];

	name_part(name, sizeof(name), number);
	write_whole_file(name, bytes, size);
}

static void write_sample_file(unsigned int number, uint64_t time)
{
	struct built b;

	build_sample(&b, 22, time);
	write_part_file(number, b.bytes, b.size);
}

/* Writes "data" with samples at 100, 200, 300. version UINT64_MAX: without the feature DIR_FORMAT.
 */
static void make_directory(uint64_t version)
{
	char saved[sizeof(path)];
	struct perch_writer *writer;

	snprintf(directory, sizeof(directory), "%.40s/dir", test_directory);
	if (mkdir(directory, 0700) && errno != EEXIST)
		fail();
	memcpy(saved, path, sizeof(path));
	snprintf(path, sizeof(path), "%s/data", directory);
	unlink(path);
	writer = open_writer();
	for (uint64_t time = 100; time <= 300; time += 100)
		put_sample(writer, 21, time);
	if (version != UINT64_MAX)
		assert_int_equal(perch_writer_set_feature(writer, PERCH_FEATURE_DIR_FORMAT,
							  &version, sizeof(version), NULL),
				 0);
	close_writer(writer);
	memcpy(path, saved, sizeof(path));
}

static void remove_directory(void)
{
	char name[160];

	for (unsigned int i = 0; i < 12; i++) {
		name_part(name, sizeof(name), i);
		unlink(name);
		rmdir(name);
	}
	snprintf(name, sizeof(name), "%s/data", directory);
	unlink(name);
	assert_int_equal(rmdir(directory), 0);
}

static struct perch_reader *open_directory(enum perch_order order)
{
	struct perch_error err = { 0 };
	struct perch_reader *reader;

	if (perch_reader_open(&reader, directory, order, &err))
		fail_msg("%s", err.message);
	return reader;
}

static void expect_times(enum perch_order order, const uint64_t *times, size_t nr)
{
	struct perch_reader *reader = open_directory(order);
	struct perch_reader_damage damage;
	struct perch_record record;
	uint64_t done, total;

	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < nr; i++) {
			assert_int_equal(perch_reader_next(reader, &record, NULL), 1);
			assert_int_equal(record.sample.time, times[i]);
			/* the offset in its own file: "data" starts with header and attrs */
			assert_int_equal(record.offset < 48, times[i] % 100 != 0);
		}
		assert_int_equal(perch_reader_next(reader, &record, NULL), 0);
		perch_reader_progress(reader, &done, &total);
		assert_int_equal(total, nr * 48);
		assert_int_equal(done, total);
		perch_reader_rewind(reader);
	}
	perch_reader_get_damage(reader, &damage);
	assert_int_equal(damage.corrupt_bytes + damage.undecoded_records, 0);
	perch_reader_close(reader);
}

static void reads_directory_as_one_stream(void **state)
{
	const uint64_t in_files[] = { 100, 200, 300, 250, 150, 50 },
		       by_time[] = { 50, 100, 150, 200, 250, 300 };

	(void)state;
	make_directory(1);
	write_sample_file(10, 50); /* sorted by number, not by name */
	write_sample_file(0, 250);
	write_sample_file(9, 150);
	write_part_file(3, "", 0);
	expect_times(PERCH_ORDER_FILE, in_files, 6);
	expect_times(PERCH_ORDER_TIME, by_time, 6);
	/* a killed recorder has not written DIR_FORMAT */
	make_directory(UINT64_MAX);
	expect_times(PERCH_ORDER_TIME, by_time, 6);
	/* perf record --kcore: a directory with one file of records */
	make_directory(0);
	expect_times(PERCH_ORDER_TIME, (const uint64_t[]){ 100, 200, 300 }, 3);
	remove_directory();
}

static void reads_damaged_directories(void **state)
{
	const uint8_t garbage[100] = { 9, 0, 0, 0, 0, 0, 3, 0 };
	struct perch_reader_damage damage;
	struct perch_reader *reader;
	struct built b;

	(void)state;
	make_directory(1);
	build_sample(&b, 22, 50);
	write_part_file(0, b.bytes, 47);
	write_part_file(1, garbage, sizeof(garbage));
	write_part_file(2, b.bytes, 3);
	write_sample_file(4, 150);
	for (int order = PERCH_ORDER_FILE; order <= PERCH_ORDER_TIME; order++) {
		reader = open_directory(order);
		assert_int_equal(read_all(reader), 4);
		perch_reader_get_damage(reader, &damage);
		assert_int_equal(damage.corrupt_bytes, 47 + 100 + 3);
		assert_int_equal(damage.missing_files, 1); /* data.3 */
		perch_reader_close(reader);
	}
	remove_directory();
}

static void refuses_invalid_directories(void **state)
{
	struct perch_error err = { 0 };
	struct perch_reader *reader;
	char name[160];

	(void)state;
	assert_int_equal(perch_reader_open(&reader, path, (enum perch_order)9, &err), -EINVAL);
	make_directory(2);
	assert_int_equal(perch_reader_open(&reader, directory, PERCH_ORDER_FILE, &err), -ENOTSUP);
	assert_int_equal(err.kind, PERCH_ERROR_UNSUPPORTED_FILE);
	make_directory(1);
	name_part(name, sizeof(name), 3);
	assert_int_equal(mkdir(name, 0700), 0);
	assert_int_equal(perch_reader_open(&reader, directory, PERCH_ORDER_FILE, &err), -ENOTSUP);
	assert_non_null(strstr(err.message, "data.3"));
	assert_int_equal(rmdir(name), 0);
	snprintf(name, sizeof(name), "%s/data", directory);
	assert_int_equal(truncate(name, 0), 0);
	assert_int_equal(perch_reader_open(&reader, directory, PERCH_ORDER_FILE, &err), -EBADMSG);
	assert_int_equal(err.kind, PERCH_ERROR_TRUNCATED);
	unlink(name);
	assert_int_equal(perch_reader_open(&reader, directory, PERCH_ORDER_FILE, &err), -EISDIR);
	make_directory(1);
	remove_directory();
}

/* A compressed sample without its last bytes, or without the start of the stream. */
static size_t pack_sample(struct built *b, uint64_t time, bool first, uint32_t bytes)
{
	static const uint8_t frame[6] = { 0x28, 0xb5, 0x2f, 0xfd, 0, 0x38 };
	struct built sample;
	uint32_t head = bytes << 3;

	build_sample(&sample, 22, time);
	start_record(b, PERCH_RECORD_COMPRESSED, 0);
	if (first)
		put_bytes(b, frame, sizeof(frame));
	put_bytes(b, &head, 3);
	put_bytes(b, sample.bytes, bytes);
	end_record(b);
	return b->size;
}

/* The compressed records of each file are a stream of their own, also after an unfinished one. */
static void compressed_streams_end_with_their_file(void **state)
{
	struct perch_reader_damage damage;
	struct perch_reader *reader;
	struct perch_record record;
	struct perch_error err = { 0 };
	struct built b;
	int rc;

	(void)state;
	make_directory(1);
	pack_sample(&b, 40, true, 30);
	write_part_file(0, b.bytes, b.size);
	pack_sample(&b, 50, true, 48);
	write_part_file(1, b.bytes, b.size);
	reader = open_directory(PERCH_ORDER_FILE);
	while ((rc = perch_reader_next(reader, &record, &err)) > 0)
		;
	perch_reader_close(reader);
	if (rc != -ENOTSUP) {
		for (int order = PERCH_ORDER_FILE; order <= PERCH_ORDER_TIME; order++) {
			reader = open_directory(order);
			assert_int_equal(read_all(reader), 3 + 2 + 1);
			perch_reader_get_damage(reader, &damage);
			assert_int_equal(damage.corrupt_bytes, 30);
			perch_reader_close(reader);
		}
	}
	remove_directory();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_fifo),
		cmocka_unit_test(reads_standard_input),
		cmocka_unit_test(refuses_other_input),
		cmocka_unit_test(ends_endless_input),
		cmocka_unit_test(reads_directory_as_one_stream),
		cmocka_unit_test(reads_damaged_directories),
		cmocka_unit_test(refuses_invalid_directories),
		cmocka_unit_test(compressed_streams_end_with_their_file),
	};

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}

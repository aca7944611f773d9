/* SPDX-License-Identifier: MIT */
/* Records that are read ahead of time, by the program or by another thread: what is delivered is
 * the same, after each record. */
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include "file_fixture.h"
#include "file/ahead.h"
#include "wiped.h"

#define ROUNDS 120
#define RINGS  3
#define MOST   8000u

static unsigned calls, failing; /* each failing-th call of realloc(3) fails; 0 is none */

/* The linker replaces realloc(3) of the libraries by this. */
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_realloc(void *old, size_t size)
{
	return failing && ++calls % failing == 0 ? NULL : __real_realloc(old, size);
}

/* ---- reading with a helper ---- */

enum helper { NOBODY, PROGRAM, THREAD, NR_HELPERS };

/* What is known after a record. Without padding: all bytes are compared. */
struct step {
	uint64_t type, time, offset, sum, corrupt, late, done;
};

struct delivery {
	struct step step[MOST];
	size_t nr;
	int rc;
	struct perch_reader_damage damage;
};

struct helping {
	struct perch_reader *reader;
	pthread_t thread;
	bool stop;
	size_t made;
};

static void *help(void *context)
{
	struct helping *helping = context;

	while (!__atomic_load_n(&helping->stop, __ATOMIC_RELAXED))
		if (perch__reader_read_ahead(helping->reader))
			helping->made++;
		else
			sched_yield();
	return NULL;
}

static void start_help(struct helping *helping, struct perch_reader *reader)
{
	*helping = (struct helping){ .reader = reader };
	assert_int_equal(pthread_create(&helping->thread, NULL, help, helping), 0);
}

static void end_help(struct helping *helping)
{
	__atomic_store_n(&helping->stop, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(helping->thread, NULL), 0);
}

static uint64_t sum_of(const struct perch_record *record)
{
	const uint8_t *bytes = record->bytes;
	uint64_t sum = 0;

	for (size_t i = 0; i < record->size; i++)
		sum = sum * 31 + bytes[i];
	return sum;
}

static void add_step(struct delivery *delivery, struct perch_reader *reader,
		     const struct perch_record *record)
{
	struct perch_reader_damage damage;
	uint64_t done, total;

	assert_true(delivery->nr < MOST);
	perch_reader_get_damage(reader, &damage);
	perch_reader_progress(reader, &done, &total);
	delivery->step[delivery->nr++] = (struct step){
		.type = record->type,
		.time = record->type == PERCH_RECORD_SAMPLE ? record->sample.time : 0,
		.offset = record->offset,
		.sum = sum_of(record),
		.corrupt = damage.corrupt_bytes,
		.late = damage.late_records,
		.done = done,
	};
}

/* Reads at most this many records. Returns how many blocks were made ahead. */
static size_t deliver(struct perch_reader *reader, enum helper helper, size_t most,
		      struct delivery *delivery)
{
	struct helping helping = { 0 };
	struct perch_record record;

	delivery->nr = 0;
	delivery->rc = 1;
	if (helper == THREAD)
		start_help(&helping, reader);
	while (delivery->nr < most) {
		if (helper == PROGRAM && rand() % 4 == 0)
			helping.made += perch__reader_read_ahead(reader);
		delivery->rc = perch_reader_next(reader, &record, NULL);
		if (delivery->rc <= 0)
			break;
		add_step(delivery, reader, &record);
	}
	if (helper == THREAD)
		end_help(&helping);
	perch_reader_get_damage(reader, &delivery->damage);
	return helping.made;
}

static void check_equal(const struct delivery *a, const struct delivery *b)
{
	assert_int_equal(a->rc, b->rc);
	assert_int_equal(a->nr, b->nr);
	assert_memory_equal(a->step, b->step, a->nr * sizeof(*a->step));
	assert_memory_equal(&a->damage, &b->damage, sizeof(a->damage));
}

/* Reads the file with each helper, also a part of it before. Returns how many blocks were made
 * ahead. */
static size_t check_file(size_t batch, struct delivery *whole)
{
	static struct delivery part;
	struct perch_reader *reader = open_reader(PERCH_ORDER_TIME);
	size_t made = 0;

	reader->blocks.batch = batch;
	assert_int_equal(deliver(reader, NOBODY, SIZE_MAX, whole), 0);
	perch_reader_close(reader);
	for (enum helper helper = NOBODY; helper < NR_HELPERS; helper++) {
		reader = open_reader(PERCH_ORDER_TIME);
		reader->blocks.batch = batch;
		for (size_t parts = 0; parts < 3; parts++) {
			made += deliver(reader, helper, whole->nr * parts / 3, &part);
			assert_memory_equal(part.step, whole->step, part.nr * sizeof(*part.step));
			perch_reader_rewind(reader);
		}
		made += deliver(reader, helper, SIZE_MAX, &part);
		check_equal(&part, whole);
		perch_reader_close(reader);
	}
	return made;
}

/* ---- files ---- */

static bool can_compress(void)
{
	return !perch_writer_compress(NULL, 1, PERCH_RECORD_COMPRESSED, NULL);
}

/* Rings are read one after the other. Their times overlap with those of the rounds beside, and some
 * are wrong. */
static void write_rounds(unsigned seed, bool compressed)
{
	struct perch_writer *writer = open_writer();

	srand(seed);
	if (compressed)
		assert_int_equal(perch_writer_compress(writer, 1, PERCH_RECORD_COMPRESSED, NULL),
				 0);
	put_plain(writer, PERCH_RECORD_THREAD_MAP);
	for (uint64_t round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < RINGS * 4; i++) {
			uint64_t time = 1000 * round + 100 + 300 * (i % 4) + (uint64_t)rand() % 200;

			if (rand() % 200 == 0)
				time = (uint64_t)rand() % 200000;
			put_sample(writer, ids[i % 3], time);
		}
		if (rand() % 4 == 0)
			put_plain(writer, PERCH_RECORD_CPU_MAP);
		put_plain(writer, PERCH_RECORD_FINISHED_ROUND);
	}
	close_writer(writer);
}

static const size_t batches[] = { 1, 50, 700 };
#define NR_BATCHES (sizeof(batches) / sizeof(*batches))

static void check_rounds(bool compressed)
{
	static struct delivery whole;

	for (unsigned seed = 0; seed < 6; seed++) {
		write_rounds(seed, compressed);
		for (size_t i = 0; i < NR_BATCHES; i++) {
			assert_true(check_file(batches[i], &whole) > 0);
			assert_int_equal(whole.rc, 0);
			assert_true(whole.nr > ROUNDS * RINGS * 4);
		}
	}
}

static void rounds(void **state)
{
	(void)state;
	check_rounds(false);
}

static void compressed_rounds(void **state)
{
	(void)state;
	if (!can_compress()) {
		print_message("skipped: built without libzstd\n");
		skip();
	}
	check_rounds(true);
}

/* ---- damaged files ---- */

/* Of changed records and of a cut, also among compressed bytes. */
static void check_damaged(bool compressed)
{
	static struct delivery whole;
	struct perch__file_header header;
	size_t size, damaged = 0;
	uint8_t *bytes;

	write_rounds(1, compressed);
	bytes = read_whole_file(path, &size);
	memcpy(&header, bytes, sizeof(header));
	for (unsigned seed = 0; seed < 40; seed++) {
		uint8_t *copy = malloc(size);
		size_t start = header.data.offset, left = size;

		memcpy(copy, bytes, size);
		srand(seed);
		for (unsigned i = 0; i < seed % 7; i++)
			copy[start + (size_t)rand() % header.data.size] ^= 1 << rand() % 8;
		if (seed % 3 == 0)
			left = start + (size_t)rand() % header.data.size;
		write_whole_file(path, copy, left);
		check_file(batches[seed % NR_BATCHES], &whole);
		damaged += whole.damage.corrupt_bytes || whole.damage.missing_bytes ||
			   whole.damage.undecoded_records;
		free(copy);
	}
	assert_true(damaged > 10);
	free(bytes);
}

static void damaged_files(void **state)
{
	(void)state;
	check_damaged(false);
	if (can_compress())
		check_damaged(true);
}

/* ---- directories ---- */

static void remove_files(void)
{
	char name[200];

	for (int i = 0; i < RINGS; i++) {
		snprintf(name, sizeof(name), "%s/data.%d", path, i);
		assert_int_equal(unlink(name), 0);
	}
	snprintf(name, sizeof(name), "%s/data", path);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(rmdir(path), 0);
}

static void files_of_a_directory(void **state)
{
	static struct delivery whole;
	struct perch_writer *writer, *part[RINGS];

	(void)state;
	unlink(path);
	assert_int_equal(perch_writer_open_directory(&writer, path, events, 2, NULL), 0);
	for (size_t i = 0; i < RINGS; i++)
		assert_int_equal(perch_writer_open_part(&part[i], writer, NULL), 0);
	srand(3);
	for (uint64_t i = 0; i < 6000; i++)
		put_sample(part[rand() % RINGS], 21, 1 + 10 * i + (uint64_t)rand() % 900);
	for (size_t i = 0; i < RINGS; i++)
		assert_int_equal(perch_writer_close(part[i], NULL), 0);
	close_writer(writer);
	for (size_t i = 0; i < NR_BATCHES; i++) {
		assert_true(check_file(batches[i], &whole) > 0);
		assert_true(whole.nr >= 6000);
	}
	remove_files();
}

/* ---- when nothing is read ahead ---- */

static void no_other_thread_for_one_block(void **state)
{
	struct perch_reader *reader;
	struct perch_record record;

	(void)state;
	write_rounds(0, false);
	reader = open_reader(PERCH_ORDER_TIME);
	assert_false(perch__reader_read_ahead(reader)); /* it is not known what is read */
	assert_int_equal(perch_reader_next(reader, &record, NULL), 1);
	assert_false(perch__reader_read_ahead(reader)); /* all is read */
	perch_reader_close(reader);
	reader = open_reader(PERCH_ORDER_FILE);
	assert_int_equal(perch_reader_next(reader, &record, NULL), 1);
	assert_false(perch__reader_read_ahead(reader));
	perch_reader_close(reader);
}

/* ---- failures ---- */

static void stays_failed_until_it_is_rewound(void **state)
{
	static struct delivery whole, part;
	struct perch_error err = { 0 };
	struct perch_record record;

	(void)state;
	write_rounds(2, false);
	check_file(50, &whole);
	for (unsigned period = 2; period < 30; period++) {
		struct perch_reader *reader = open_reader(PERCH_ORDER_TIME);

		reader->blocks.batch = 50;
		calls = 0;
		failing = period;
		deliver(reader, PROGRAM, SIZE_MAX, &part);
		failing = 0;
		assert_memory_equal(part.step, whole.step, part.nr * sizeof(*part.step));
		assert_true(part.rc == -ENOMEM || part.nr == whole.nr);
		if (part.rc) {
			assert_int_equal(perch_reader_next(reader, &record, &err), -ENOMEM);
			assert_string_equal(err.message, "reading the file has failed before");
		}
		perch_reader_rewind(reader);
		deliver(reader, PROGRAM, SIZE_MAX, &part);
		check_equal(&part, &whole);
		perch_reader_close(reader);
	}
}

/* ---- fork(2) ---- */

static void end_child(struct perch_reader *reader)
{
	struct perch_error err = { 0 };
	struct perch_record record;
	int rc;

	while ((rc = perch_reader_next(reader, &record, &err)) > 0)
		;
	perch_reader_rewind(reader);
	perch_reader_close(reader);
	_exit(rc == -ESTALE && err.kind == PERCH_ERROR_FORK ? 0 : 1);
}

/* A thread of the parent makes a block, or not. */
static void child_can_close(void **state)
{
	(void)state;
	if (!is_wiped_on_fork()) {
		print_message("skipped: a child does not know here that it is one\n");
		skip();
	}
	write_rounds(4, can_compress());
	for (size_t nr = 20; nr < 400; nr += 40) {
		static struct delivery part;
		struct perch_reader *reader = open_reader(PERCH_ORDER_TIME);
		struct helping helping;
		int status;
		pid_t child;

		reader->blocks.batch = 1;
		deliver(reader, PROGRAM, nr, &part);
		perch__reader_read_ahead(reader);
		start_help(&helping, reader);
		child = fork();
		if (!child)
			end_child(reader);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		end_help(&helping);
		perch_reader_close(reader);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds),
		cmocka_unit_test(compressed_rounds),
		cmocka_unit_test(damaged_files),
		cmocka_unit_test(files_of_a_directory),
		cmocka_unit_test(no_other_thread_for_one_block),
		cmocka_unit_test(stays_failed_until_it_is_rewound),
		cmocka_unit_test(child_can_close),
	};

	return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}

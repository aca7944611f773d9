/* SPDX-License-Identifier: MIT */
/* A recorder and a simulated kernel: the test writes the records of the rings. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <perch/recorder.h>

#include "build/one_target.h"
#include "sampler_fixture.h"
#include "tree.h"

static int two_cpus_list[] = { 0, 1 };
static const struct perch_cpus two_cpus = { 2, two_cpus_list };

/* What the recorder has written. */
struct taken {
	uint32_t types[64];
	size_t nr;
	int fail; /* with this errno */
};

struct fixture {
	struct kernel k;
	struct perch_syscalls calls;
	struct perch_machine *machine;
	struct perch_recorder *recorder;
	struct perch_recorder_options options;
	struct taken taken;
	struct perch_error err;
	bool refills;
	char root[PATH_MAX];
};

static int take(void *context, const struct iovec *pieces, int nr, struct perch_error *err)
{
	struct taken *taken = context;

	if (taken->fail)
		return perch_error_set(err, taken->fail, PERCH_ERROR_FILE, "refused");
	for (int i = 0; i < nr; i++) /* no record here is in two pieces */
		for (size_t at = 0; at < pieces[i].iov_len;) {
			const struct perch_record_header *header =
				(void *)((char *)pieces[i].iov_base + at);

			assert_true(taken->nr < 64);
			taken->types[taken->nr++] = header->type;
			at += header->size;
		}
	return 0;
}

static int set_up_release(void **state, const char *release)
{
	const struct tree_file files[] = { { "/proc/sys/kernel/osrelease", release },
					   { "/sys/devices/system/cpu/online", "0-1\n" } };
	struct fixture *s = calloc(1, sizeof(*s));

	tree_make(s->root, files, 2);
	s->k.gone = -5;
	s->calls = fake_calls(&s->k);
	assert_int_equal(perch_machine_new(&s->machine, s->root, &s->calls, NULL), 0);
	s->options = (struct perch_recorder_options){
		.sampler = { .event = { .period = 1000000, .machine = s->machine },
			     .ring_pages = 4 },
		.no_kernel = true,
		.no_bpf = true,
		.no_build_ids = true,
		.sink = take,
		.context = &s->taken,
	};
	*state = s;
	return 0;
}

static int set_up(void **state)
{
	return set_up_release(state, "6.18.0\n");
}

static int tear_down(void **state)
{
	struct fixture *s = *state;

	perch_recorder_close(s->recorder);
	perch_machine_free(s->machine);
	assert_int_equal(s->k.maps, s->k.unmaps);
	for (int i = 0; i < s->k.nr; i++)
		assert_true(s->k.fd[i].closed);
	tree_remove(s->root);
	free(s);
	return 0;
}

static int open_fixture(struct fixture *s, const char *events)
{
	const pid_t tid = 11;
	struct perch_targets targets = make_targets(&tid, 1, &two_cpus);
	int rc = perch_recorder_open(&s->recorder, events, &targets, &s->options, &s->err);

	perch_targets_clear(&targets);
	return rc;
}

/* Returns the index in s->k.fd of the event, or of the tracking event, on a CPU. */
static int find(const struct fixture *s, int cpu, bool tracking)
{
	for (int i = 0; i < s->k.nr; i++)
		if (s->k.fd[i].cpu == cpu &&
		    (s->k.fd[i].attr.config == PERCH_COUNT_SW_DUMMY) == tracking)
			return i;
	fail();
	return -1;
}

static void put(struct fixture *s, int ring, const void *record, size_t size)
{
	struct perch_mmap_page *control = s->k.rings[ring];
	size_t page = sysconf(_SC_PAGESIZE), bytes = s->k.mapped[ring].pages * page;

	for (size_t i = 0; i < size; i++)
		((char *)control + page)[(control->data_head + i) % bytes] =
			((const char *)record)[i];
	control->data_head += size;
}

struct sample { /* IDENTIFIER IP TID TIME ID */
	struct perch_record_header header;
	uint64_t words[5];
};

static void put_sample(struct fixture *s, int ring, uint64_t time)
{
	/* the time is where the sample of several events, or of one, has it */
	struct sample sample = { { PERCH_RECORD_SAMPLE, 0, sizeof(sample) },
				 { 1, time, time, time, time } };

	put(s, ring, &sample, sizeof(sample));
}

static void put_lost(struct fixture *s, int ring, uint64_t lost)
{
	struct {
		struct perch_record_header header;
		uint64_t id, lost;
	} record = { { PERCH_RECORD_LOST, 0, sizeof(record) }, 7000, lost };

	put(s, ring, &record, sizeof(record));
}

/* The records of all rings, then the end of the round; the ring is free again. */
static void writes_rounds(void **state)
{
	static const uint32_t expected[] = { PERCH_RECORD_SAMPLE, PERCH_RECORD_SAMPLE,
					     PERCH_RECORD_SAMPLE, PERCH_RECORD_FINISHED_ROUND };
	struct fixture *s = *state;
	struct perch_recorder_stats stats;

	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	assert_int_equal(perch_recorder_start(s->recorder, &s->err), 0);
	assert_true(s->k.fd[find(s, 0, false)].on);
	assert_int_equal(s->taken.types[0], PERCH_RECORD_ID_INDEX);
	assert_int_equal(s->taken.types[1], PERCH_RECORD_THREAD_MAP);
	assert_int_equal(s->taken.types[2], PERCH_RECORD_CPU_MAP);
	s->taken.nr = 0;
	assert_int_equal(perch_recorder_write(s->recorder, &s->err), 0);
	assert_int_equal(s->taken.nr, 0); /* an empty round has no end */
	put_sample(s, 0, 300);
	put_sample(s, 1, 100);
	put_sample(s, 1, 200);
	assert_int_equal(perch_recorder_write(s->recorder, &s->err), 3 * sizeof(struct sample));
	assert_int_equal(s->taken.nr, 4);
	assert_memory_equal(s->taken.types, expected, sizeof(expected));
	for (int ring = 0; ring < 2; ring++)
		assert_int_equal(s->k.rings[ring]->data_tail, s->k.rings[ring]->data_head);
	perch_recorder_get_stats(s->recorder, &stats);
	assert_int_equal(stats.samples, 3);
	assert_int_equal(stats.first_time, 100);
	assert_int_equal(stats.last_time, 300);
}

/* A kernel that writes while the recorder does: the rings are never empty. */
static int refill(void *context, const struct iovec *pieces, int nr, struct perch_error *err)
{
	struct fixture *s = context;

	if (s->refills) {
		put_sample(s, 0, 100);
		put_sample(s, 1, 100);
	}
	return take(&s->taken, pieces, nr, err);
}

/* A round has what the rings had when it began, so each call returns. */
static void rounds_end_while_rings_fill(void **state)
{
	struct fixture *s = *state;

	s->options.sink = refill;
	s->options.context = s;
	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	assert_int_equal(perch_recorder_start(s->recorder, &s->err), 0);
	s->refills = true;
	s->taken.nr = 0;
	put_sample(s, 0, 100);
	assert_int_equal(perch_recorder_write(s->recorder, &s->err), sizeof(struct sample));
	for (int i = 0; i < 300; i++) { /* the samples fit the rings in one piece */
		s->taken.nr = 0;
		assert_int_equal(perch_recorder_write(s->recorder, &s->err),
				 2 * sizeof(struct sample));
		assert_int_equal(s->taken.nr, 3);
	}
	s->taken.nr = 0;
	assert_int_equal(perch_recorder_stop(s->recorder, &s->err), 0);
	assert_int_equal(s->taken.nr, 3);
}

/* A round that cannot be written is counted, and so is what comes until the end. */
static void counts_what_is_not_written(void **state)
{
	struct fixture *s = *state;
	struct perch_recorder_stats stats;

	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	assert_int_equal(perch_recorder_start(s->recorder, &s->err), 0);
	put_sample(s, 0, 1);
	assert_true(perch_recorder_write(s->recorder, &s->err) > 0);
	s->taken.fail = ENOSPC;
	put_sample(s, 0, 2);
	put_sample(s, 1, 3);
	assert_int_equal(perch_recorder_write(s->recorder, &s->err), -ENOSPC);
	assert_string_equal(s->err.message, "refused");
	put_sample(s, 1, 4);
	assert_int_equal(perch_recorder_stop(s->recorder, &s->err), 0);
	assert_false(s->k.fd[find(s, 0, false)].on);
	perch_recorder_get_stats(s->recorder, &stats);
	assert_int_equal(stats.samples, 1);
	assert_int_equal(stats.unwritten_samples, 3);
	assert_int_equal(stats.unwritten_bytes, 3 * sizeof(struct sample));
}

/* Since Linux 6.0 each event has its number; LOST records are then not added to it. */
static void counts_lost_records(void **state)
{
	struct fixture *s = *state;
	struct perch_recorder_stats stats;

	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	assert_int_equal(perch_recorder_start(s->recorder, &s->err), 0);
	put_lost(s, 1, 5);
	s->k.fd[find(s, 1, false)].lost = 7; /* two of them after the last record */
	assert_true(perch_recorder_write(s->recorder, &s->err) > 0);
	assert_int_equal(perch_recorder_stop(s->recorder, &s->err), 0);
	s->taken.nr = 0;
	assert_int_equal(perch_recorder_end_file(s->recorder, &s->err), 0);
	assert_int_equal(s->taken.nr, 1);
	assert_int_equal(s->taken.types[0], PERCH_RECORD_LOST_SAMPLES);
	perch_recorder_get_stats(s->recorder, &stats);
	assert_int_equal(stats.lost, 7);
	assert_int_equal(perch_recorder_lost(s->recorder, 0, 0), 0);
	assert_int_equal(perch_recorder_lost(s->recorder, 0, 1), 7);
	assert_int_equal(perch_recorder_lost(s->recorder, SIZE_MAX, 1), 0);
	assert_int_equal(perch_recorder_lost(s->recorder, 9, 1), 0);
	assert_int_equal(perch_recorder_lost(s->recorder, 0, 9), 0);
}

static int without_numbers(const struct perch_attr *attr, int cpu, int group)
{
	(void)cpu, (void)group;
	return attr->read_format & PERCH_FORMAT_LOST ? EINVAL : 0;
}

static void counts_lost_records_of_old_kernels(void **state)
{
	struct fixture *s = *state;
	struct perch_recorder_stats stats;

	s->k.refuse = without_numbers;
	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	assert_int_equal(perch_recorder_start(s->recorder, &s->err), 0);
	put_lost(s, 1, 5);
	assert_true(perch_recorder_write(s->recorder, &s->err) > 0);
	assert_int_equal(perch_recorder_stop(s->recorder, &s->err), 0);
	assert_int_equal(perch_recorder_end_file(s->recorder, &s->err), 0);
	perch_recorder_get_stats(s->recorder, &stats);
	assert_int_equal(stats.lost, 5);
	assert_int_equal(perch_recorder_lost(s->recorder, 0, 1), 0);
	assert_int_equal(perch_recorder_lost(s->recorder, SIZE_MAX, 1), 5);
}

static int without_cycles(const struct perch_attr *attr, int cpu, int group)
{
	(void)cpu, (void)group;
	return attr->type == PERCH_TYPE_HARDWARE ? ENOENT : 0;
}

/* Only if the options allow it, and only cycles. */
static void replaces_cycles(void **state)
{
	struct fixture *s = *state;
	const struct perch_file_event *events;

	s->k.refuse = without_cycles;
	assert_int_equal(open_fixture(s, "cycles:u"), -ENOENT);
	assert_null(s->recorder);
	s->options.cycles = PERCH_RECORDER_CYCLES_REPLACED;
	assert_int_equal(open_fixture(s, "instructions:u"), -ENOENT);
	assert_int_equal(open_fixture(s, "cycles:u"), 0);
	assert_true(perch_recorder_replaced_cycles(s->recorder));
	perch_recorder_events(s->recorder, &events);
	assert_string_equal(events[0].name, "cpu-clock:u");
	assert_int_equal(events[0].attr.type, PERCH_TYPE_SOFTWARE);
	assert_int_equal(events[0].attr.config, PERCH_COUNT_SW_CPU_CLOCK);
}

/* A copy of the rings needs a path, so does a series of files; without any output nothing starts.
 */
static void needs_an_output(void **state)
{
	struct fixture *s = *state;

	s->options.sampler.overwrite = true;
	assert_int_equal(open_fixture(s, "cpu-clock"), -EINVAL);
	s->options.sampler.overwrite = false;
	s->options.compression_level = 1; /* for a function */
	assert_int_equal(open_fixture(s, "cpu-clock"), -EINVAL);
	s->options.sink = NULL;
	s->options.compression_level = 23;
	assert_int_equal(open_fixture(s, "cpu-clock"), -EINVAL);
	s->options.compression_level = 0;
	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	assert_int_equal(perch_recorder_start(s->recorder, &s->err), -EINVAL);
	assert_false(s->k.fd[find(s, 0, false)].on);
}

/* Of 6.12 before 6.12.113, as all releases but the ones that are listed, the kernel marks records
 * of other recordings. */
static void kernel_writes_build_ids(void **state)
{
	struct fixture *s = *state;

	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	assert_int_equal(s->k.fd[find(s, 0, true)].attr.build_id, 1);
}

static void recorder_reads_build_ids(void **state)
{
	struct fixture *s = *state;

	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	assert_int_equal(s->k.fd[find(s, 0, true)].attr.build_id, 0);
}

static int set_up_fixed(void **state)
{
	return set_up_release(state, "6.12.113-1\n");
}

static int set_up_before_it(void **state)
{
	return set_up_release(state, "6.12.112-1\n");
}

static int set_up_later(void **state)
{
	return set_up_release(state, "7.4.0\n");
}

static int take_synthesized(void *context, const void *bytes, size_t size, struct perch_error *err)
{
	return take(context, &(struct iovec){ (void *)bytes, size }, 1, err);
}

/* A program that takes the records of the rings itself gets those of what already runs. */
static void synthesizes_for_a_program(void **state)
{
	static const struct tree_file process[] = {
		{ "/proc/sys/kernel/osrelease", "6.18.0\n" },
		{ "/sys/devices/system/cpu/online", "0-1\n" },
		{ "/proc/11/status", "Name:\tworker\nTgid:\t11\nPid:\t11\nPPid:\t3\n" },
		{ "/proc/11/task/11/comm", "worker\n" },
		{ "/proc/11/maps", "1000-3000 r-xp 00002000 fe:01 77 /bin/worker\n" },
	};
	struct fixture *s = *state;
	char root[PATH_MAX];

	perch_machine_free(s->machine);
	tree_make(root, process, 5);
	assert_int_equal(perch_machine_new(&s->machine, root, &s->calls, NULL), 0);
	s->options.sampler.event.machine = s->machine;
	s->options.no_kernel = false;
	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	for (int i = 0; i < 2; i++) { /* each time all of them */
		s->taken.nr = 0;
		assert_int_equal(perch_recorder_synthesize(s->recorder, take_synthesized, &s->taken,
							   &s->err),
				 0);
		assert_int_equal(s->taken.nr, 2);
		assert_int_equal(s->taken.types[0], PERCH_RECORD_COMM);
		assert_int_equal(s->taken.types[1], PERCH_RECORD_MMAP2);
		assert_non_null(perch_recorder_lacks(s->recorder, PERCH_RECORDER_KERNEL));
		assert_null(perch_recorder_lacks(s->recorder, PERCH_RECORDER_PROCESSES));
	}
	s->taken.fail = ENOSPC;
	assert_int_equal(perch_recorder_synthesize(s->recorder, take_synthesized, &s->taken,
						   &s->err),
			 -ENOSPC);
	assert_string_equal(s->err.message, "refused");
	tree_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(writes_rounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rounds_end_while_rings_fill, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counts_what_is_not_written, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counts_lost_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counts_lost_records_of_old_kernels, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(replaces_cycles, set_up, tear_down),
		cmocka_unit_test_setup_teardown(synthesizes_for_a_program, set_up, tear_down),
		cmocka_unit_test_setup_teardown(needs_an_output, set_up, tear_down),
		cmocka_unit_test_setup_teardown(kernel_writes_build_ids, set_up_fixed, tear_down),
		cmocka_unit_test_setup_teardown(recorder_reads_build_ids, set_up_before_it,
						tear_down),
		cmocka_unit_test_setup_teardown(kernel_writes_build_ids, set_up_later, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* A sampler with .overwrite and a simulated kernel; the test writes the records. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "build/one_target.h"
#include "sampler_fixture.h"
#include "tree.h"

static int two_cpus_list[] = { 0, 1 };
static const struct perch_cpus two_cpus = { 2, two_cpus_list };

struct fixture {
	struct kernel k;
	struct perch_syscalls calls;
	struct perch_machine *machine;
	struct perch_sampler *sampler;
	struct perch_sampler_options options;
	struct perch_error err;
};

static int set_up(void **state)
{
	struct fixture *s = calloc(1, sizeof(*s));

	s->k.gone = -5;
	s->calls = fake_calls(&s->k);
	assert_int_equal(perch_machine_new(&s->machine, "", &s->calls, NULL), 0);
	s->options = (struct perch_sampler_options){
		.event = { .period = 1000,
			   .sideband = PERCH_SIDEBAND_MMAP | PERCH_SIDEBAND_TASK,
			   .machine = s->machine },
		.overwrite = true,
		.ring_pages = 4,
	};
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *s = *state;

	perch_sampler_close(s->sampler);
	perch_machine_free(s->machine);
	assert_int_equal(s->k.maps, s->k.unmaps);
	for (int i = 0; i < s->k.nr; i++)
		assert_true(s->k.fd[i].closed);
	free(s);
	return 0;
}

static int open_fixture(struct fixture *s, const char *events)
{
	const pid_t tid = 11;
	struct perch_targets targets = make_targets(&tid, 1, &two_cpus);
	int rc = perch_sampler_open(&s->sampler, events, &targets, &s->options, &s->err);

	perch_targets_clear(&targets);
	return rc;
}

struct sample { /* IDENTIFIER TID TIME */
	struct perch_record_header header;
	uint64_t id, tid, time;
};

/* Writes as the kernel: downwards, with the bytes of a record upwards. */
static void put_backward(struct fixture *s, int ring, uint64_t id, uint64_t time)
{
	struct sample sample = { { PERCH_RECORD_SAMPLE, 0, sizeof(sample) }, id, 11, time };
	struct perch_mmap_page *control = s->k.rings[ring];
	size_t page = sysconf(_SC_PAGESIZE), size = s->k.mapped[ring].pages * page;

	if (s->k.fd[s->k.mapped[ring].fd - 1000].paused)
		return;
	control->data_head -= sizeof(sample);
	for (size_t i = 0; i < sizeof(sample); i++)
		((char *)control + page)[(control->data_head + i) % size] =
			((const char *)&sample)[i];
}

static uint64_t id_of(const struct fixture *s, size_t event, size_t index)
{
	const uint64_t *ids;
	const char *name;
	size_t nr;

	perch_sampler_event(s->sampler, event, &name, &ids, &nr);
	assert_true(index < nr);
	return ids[index];
}

/*
 * The caller's events write backward into read-only rings; the tracking event into forward rings.
 */
static void has_two_rings_per_cpu(void **state)
{
	struct fixture *s = *state;
	size_t ring;
	pid_t pid;
	int cpu;

	assert_int_equal(open_fixture(s, "{cpu-clock,page-faults}"), 0);
	assert_int_equal(perch_sampler_rings(s->sampler), 4);
	assert_int_equal(s->k.nr, 6);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(s->k.fd[i].attr.write_backward, i < 4);
		assert_int_equal(s->k.fd[i].attr.mmap, i >= 4);
		assert_int_equal(s->k.fd[i].attr.disabled, i < 4 && i % 2 == 0);
		assert_int_equal(s->k.fd[i].output, i < 4 && i % 2 ? 1000 + i - 1 : -1);
	}
	for (int i = 0; i < 4; i++) {
		assert_int_equal(s->k.mapped[i].protection,
				 i < 2 ? PROT_READ : PROT_READ | PROT_WRITE);
		assert_int_equal(s->k.mapped[i].fd, i < 2 ? 1000 + 2 * i : 1002 + i);
		assert_int_equal(perch_sampler_ring_fd(s->sampler, i), s->k.mapped[i].fd);
	}
	assert_int_equal(s->k.mapped[0].pages, 4);
	assert_int_equal(perch_sampler_id_info(s->sampler, 1, 1, &cpu, &pid, &ring), 0);
	assert_int_equal(cpu, 1);
	assert_int_equal(ring, 1);
	assert_int_equal(perch_sampler_id_info(s->sampler, 2, 1, &cpu, &pid, &ring), 0);
	assert_int_equal(ring, 3);
}

static void needs_no_tracking_event_without_sideband(void **state)
{
	struct perch_record record;
	struct fixture *s = *state;

	s->options.event.sideband = 0;
	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	assert_int_equal(perch_sampler_rings(s->sampler), 2);
	assert_int_equal(s->k.nr, 2);
	assert_int_equal(perch_sampler_next(s->sampler, &record, NULL), 0);
	assert_int_equal(perch_sampler_next_ordered(s->sampler, true, &record, NULL), 0);
}

struct seen {
	const struct fixture *s;
	size_t calls, records, ring[8];
	uint64_t last, first;
	int answer;
};

/* All rings are paused during a snapshot; the records of a ring are in order. */
static int look(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	struct seen *seen = context;

	seen->calls++;
	for (int i = 0; i < 2; i++)
		assert_true(seen->s->k.fd[seen->s->k.mapped[i].fd - 1000].paused);
	for (int i = 0; i < nr; i++)
		for (size_t at = 0; at < pieces[i].iov_len; at += sizeof(struct sample)) {
			const struct sample *sample =
				(const void *)((const char *)pieces[i].iov_base + at);

			assert_int_equal(sample->header.size, sizeof(*sample));
			if (seen->ring[ring])
				assert_int_equal(sample->time, seen->last + 1);
			else
				seen->first = sample->time;
			seen->last = sample->time;
			seen->ring[ring]++;
			seen->records++;
		}
	return seen->answer;
}

/*
 * Far more than the rings hold: the newest records are there, the others are counted as
 * overwritten.
 */
static void snapshot_has_the_newest_records(void **state)
{
	struct fixture *s = *state;
	struct seen seen = { .s = s };
	struct perch_sampler_stats stats;
	struct perch_ring_stats ring;
	size_t size = 4 * sysconf(_SC_PAGESIZE), most = size / sizeof(struct sample);

	s->options.event.sample = PERCH_SAMPLE_IDENTIFIER;
	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	for (uint64_t i = 1; i <= 3 * most; i++)
		put_backward(s, 0, id_of(s, 0, 0), i);
	for (uint64_t i = 1; i <= 10; i++)
		put_backward(s, 1, id_of(s, 0, 1), i);
	/* nothing to drain, and the descriptors have no target */
	assert_int_equal(perch_sampler_wait(s->sampler, 0, NULL), -ENODATA);
	assert_int_equal(perch_sampler_snapshot(s->sampler, look, &seen, &s->err),
			 (most + 10) * sizeof(struct sample));
	assert_int_equal(seen.ring[0], most);
	assert_int_equal(seen.ring[1], 10);
	assert_int_equal(seen.last, 10);
	for (int i = 0; i < s->k.nr; i++)
		assert_false(s->k.fd[i].paused);
	perch_sampler_get_ring_stats(s->sampler, 0, &stats);
	assert_int_equal(stats.records, most);
	assert_int_equal(stats.samples, most);
	perch_ring_get_stats(perch_sampler_ring(s->sampler, 0), &ring);
	assert_int_equal(ring.overwritten, 2 * most * sizeof(struct sample));

	/* the new records, and the old ones that are still there */
	put_backward(s, 1, id_of(s, 0, 1), 11);
	seen = (struct seen){ .s = s };
	assert_true(perch_sampler_snapshot(s->sampler, look, &seen, &s->err) > 0);
	assert_int_equal(seen.ring[1], 11);
	assert_int_equal(seen.last, 11);
}

/* After an advance the records of the last snapshot are left out; without it they are returned
 * again. */
static void advance_leaves_out_records(void **state)
{
	struct fixture *s = *state;
	struct seen seen = { .s = s };
	struct perch_sampler_stats stats;
	struct perch_ring_stats ring;
	size_t most = 4 * sysconf(_SC_PAGESIZE) / sizeof(struct sample);
	uint64_t time = 0;

	s->options.event.sample = PERCH_SAMPLE_IDENTIFIER;
	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	perch_sampler_snapshot_advance(s->sampler);
	while (time < 20)
		put_backward(s, 0, id_of(s, 0, 0), ++time);
	assert_true(perch_sampler_snapshot(s->sampler, look, &seen, &s->err) > 0);
	put_backward(s, 0, id_of(s, 0, 0), ++time);
	seen = (struct seen){ .s = s };
	assert_true(perch_sampler_snapshot(s->sampler, look, &seen, &s->err) > 0);
	assert_int_equal(seen.ring[0], 21);
	perch_sampler_snapshot_advance(s->sampler);
	assert_int_equal(perch_sampler_snapshot(s->sampler, look, &seen, &s->err), 0);
	while (time < 30)
		put_backward(s, 0, id_of(s, 0, 0), ++time);
	seen = (struct seen){ .s = s, .answer = -ENOSPC };
	assert_int_equal(perch_sampler_snapshot(s->sampler, look, &seen, &s->err), -ENOSPC);
	seen = (struct seen){ .s = s };
	assert_int_equal(perch_sampler_snapshot(s->sampler, look, &seen, &s->err),
			 9 * sizeof(struct sample));
	assert_int_equal(seen.first, 22);
	assert_int_equal(seen.last, 30);
	perch_sampler_snapshot_advance(s->sampler);
	for (size_t i = 0; i < most + 5; i++)
		put_backward(s, 0, id_of(s, 0, 0), ++time);
	seen = (struct seen){ .s = s };
	assert_true(perch_sampler_snapshot(s->sampler, look, &seen, &s->err) > 0);
	assert_int_equal(seen.ring[0], most);
	assert_int_equal(seen.last, time);
	perch_ring_get_stats(perch_sampler_ring(s->sampler, 0), &ring);
	assert_int_equal(ring.overwritten, 5 * sizeof(struct sample));
	perch_sampler_get_ring_stats(s->sampler, 0, &stats);
	assert_int_equal(stats.samples, 20 + 21 + 9 + 9 + most);
}

/* A late writer overwrites the next record to be copied after its size was checked. */
static int write_late(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	struct seen *seen = context;
	const struct kernel *k = &seen->s->k;
	char *data = (char *)k->rings[0] + sysconf(_SC_PAGESIZE);
	size_t size = k->mapped[0].pages * sysconf(_SC_PAGESIZE);

	(void)ring;
	for (int i = 0; i < nr; i++)
		for (size_t at = 0; at < pieces[i].iov_len;
		     at += sizeof(struct sample), seen->records++)
			assert_int_equal(
				((const struct perch_record_header *)((char *)pieces[i].iov_base +
								      at))
					->size,
				sizeof(struct sample));
	if (!seen->calls++) /* oldest first: they are in memory downwards from the end */
		memset(data + size - (seen->records + 1) * sizeof(struct sample), 0,
		       sizeof(struct sample));
	return 0;
}

static void survives_a_late_writer(void **state)
{
	struct fixture *s = *state;
	struct seen seen = { .s = s };
	size_t nr;

	s->options.event.sample = PERCH_SAMPLE_IDENTIFIER;
	s->options.ring_pages = 128;
	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	nr = 128 * sysconf(_SC_PAGESIZE) / sizeof(struct sample);
	for (uint64_t i = 1; i <= nr; i++)
		put_backward(s, 0, id_of(s, 0, 0), i);
	assert_true(perch_sampler_snapshot(s->sampler, write_late, &seen, &s->err) > 0);
	assert_true(seen.calls >= 2);
	assert_int_equal(seen.records, nr - 1);
}

/* The limit leaves nothing for the rings of the tracking event, which have the minimum size. */
static void rings_are_smaller_if_tracking_rings_do_not_fit(void **state)
{
	struct fixture *s = *state;
	size_t pages;

	s->options.ring_pages = 0;
	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	pages = s->k.mapped[0].pages;
	perch_sampler_close(s->sampler);
	assert_true(pages >= 8);

	s->k.max_locked = 2 * (pages + 1) + 4;
	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	assert_int_equal(perch_sampler_rings(s->sampler), 4);
	assert_int_equal(s->k.mapped[s->k.maps - 4].pages, pages / 2);
	perch_sampler_close(s->sampler);

	/* an error if the smallest rings do not fit */
	s->k.max_locked = 2 * 5 + 4;
	assert_int_equal(open_fixture(s, "cpu-clock"), -EPERM);
}

static void failed_snapshot_resumes(void **state)
{
	struct fixture *s = *state;
	struct seen seen = { .s = s, .answer = -ENOSPC };

	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	put_backward(s, 0, id_of(s, 0, 0), 1);
	put_backward(s, 1, id_of(s, 0, 1), 1);
	assert_int_equal(perch_sampler_snapshot(s->sampler, look, &seen, &s->err), -ENOSPC);
	assert_int_equal(seen.calls, 1);
	for (int i = 0; i < s->k.nr; i++)
		assert_false(s->k.fd[i].paused);
	s->k.refuse_pause = s->k.mapped[1].fd;
	assert_int_equal(perch_sampler_snapshot(s->sampler, look, &seen, &s->err), -EINVAL);
	assert_int_equal(seen.calls, 1);
	s->k.refuse_pause = 0;
	assert_false(s->k.fd[0].paused);

	/* a ring that the caller paused stays paused */
	seen = (struct seen){ .s = s };
	assert_int_equal(perch_sampler_pause(s->sampler, &s->err), 0);
	assert_true(perch_sampler_snapshot(s->sampler, look, &seen, &s->err) > 0);
	assert_true(s->k.fd[0].paused);
	assert_int_equal(perch_sampler_resume(s->sampler, &s->err), 0);
	assert_false(s->k.fd[0].paused);
}

/* The term of an event and the option must agree, or are refused with a remedy. */
static void refuses_contradictions(void **state)
{
	struct fixture *s = *state;

	assert_int_equal(open_fixture(s, "cpu-clock,page-faults/no-overwrite/"), -EINVAL);
	assert_non_null(strstr(s->err.message, "no-overwrite"));
	s->options.overwrite = false;
	assert_int_equal(open_fixture(s, "cpu-clock/overwrite/"), -EINVAL);
	assert_non_null(strstr(s->err.remedy, ".overwrite"));
	assert_string_equal(s->err.field, "write_backward");
	s->options.event.write_backward = 1;
	assert_int_equal(open_fixture(s, "cpu-clock"), -EINVAL);
}

static void accepts_the_term_and_the_option(void **state)
{
	struct fixture *s = *state;

	s->options.event.write_backward = 1;
	assert_int_equal(open_fixture(s, "cpu-clock/overwrite/,page-faults"), 0);
	for (int i = 0; i < 4; i++)
		assert_true(s->k.fd[i].attr.write_backward);
}

static void snapshot_needs_overwrite(void **state)
{
	struct fixture *s = *state;

	s->options.overwrite = false;
	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	assert_int_equal(perch_sampler_snapshot(s->sampler, look, NULL, &s->err), -EINVAL);
	assert_int_equal(s->err.kind, PERCH_ERROR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(has_two_rings_per_cpu, set_up, tear_down),
		cmocka_unit_test_setup_teardown(needs_no_tracking_event_without_sideband, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(snapshot_has_the_newest_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(advance_leaves_out_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(survives_a_late_writer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rings_are_smaller_if_tracking_rings_do_not_fit,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(failed_snapshot_resumes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_contradictions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(accepts_the_term_and_the_option, set_up, tear_down),
		cmocka_unit_test_setup_teardown(snapshot_needs_overwrite, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

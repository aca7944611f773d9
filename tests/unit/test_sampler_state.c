/* SPDX-License-Identifier: MIT */
/*
 * The state and statistics of a sampler's rings, and records in order of time, with a simulated
 * kernel.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "build/one_target.h"
#include "sampler_fixture.h"
#include "tree.h"

#define ONLINE "/sys/devices/system/cpu/online"

static const struct tree_file two_cpus[] = { { ONLINE, "0-1\n" },
					     { "/sys/devices/system/cpu/present", "0-1\n" } };

struct fixture {
	char root[PATH_MAX];
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

	tree_make(s->root, two_cpus, 2);
	s->k.gone = -5;
	s->calls = fake_calls(&s->k);
	assert_int_equal(perch_machine_new(&s->machine, s->root, &s->calls, NULL), 0);
	s->options = (struct perch_sampler_options){
		.event = { .period = 1000,
			   .sample = PERCH_SAMPLE_IDENTIFIER,
			   .machine = s->machine },
		.ring_pages = 1,
	};
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *s = *state;

	perch_sampler_close(s->sampler);
	perch_machine_free(s->machine);
	tree_remove(s->root);
	assert_int_equal(s->k.maps, s->k.unmaps);
	free(s);
	return 0;
}

static int open_fixture(struct fixture *s, const char *events)
{
	static const struct perch_target other_thread = { .tid = 11, .cpu = -1 };

	return perch_sampler_open(&s->sampler, events, ONE_TARGET(&other_thread), &s->options,
				  &s->err);
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

static void put(struct fixture *s, int ring, const void *bytes, size_t size)
{
	struct perch_mmap_page *control = s->k.rings[ring];
	size_t page = sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < size; i++)
		((char *)control + page)[(control->data_head + i) % page] =
			((const char *)bytes)[i];
	control->data_head += size;
}

static void put_sample(struct fixture *s, int ring, uint64_t id, uint64_t time)
{
	/* IDENTIFIER TID TIME */
	struct {
		struct perch_record_header header;
		uint64_t id, tid, time;
	} sample = { { PERCH_RECORD_SAMPLE, 0, sizeof(sample) }, id, 11, time };

	put(s, ring, &sample, sizeof(sample));
}

/* The trailer: TID TIME IDENTIFIER. */
static void put_lost(struct fixture *s, int ring, uint64_t id, uint64_t lost, uint64_t time)
{
	struct {
		struct perch_record_header header;
		uint64_t id, lost, tid, time, identifier;
	} record = { { PERCH_RECORD_LOST, 0, sizeof(record) }, id, lost, 11, time, id };

	put(s, ring, &record, sizeof(record));
}

static void put_throttle(struct fixture *s, int ring, uint32_t type, uint64_t id, uint64_t time)
{
	struct {
		struct perch_record_header header;
		uint64_t time, id, stream_id, tid, trailer_time, identifier;
	} record = { { type, 0, sizeof(record) }, time, id, id, 11, time, id };

	put(s, ring, &record, sizeof(record));
}

static void put_all(struct fixture *s)
{
	for (uint64_t i = 0; i < 3; i++)
		put_sample(s, 0, id_of(s, 0, 0), 10 + i);
	put_sample(s, 1, id_of(s, 1, 1), 11);
	put_lost(s, 0, id_of(s, 1, 0), 42, 20);
	put_lost(s, 1, id_of(s, 0, 1), 7, 21);
	put_throttle(s, 1, PERCH_RECORD_THROTTLE, id_of(s, 1, 1), 22);
	put_throttle(s, 1, PERCH_RECORD_UNTHROTTLE, id_of(s, 1, 1), 23);
}

static void check_rings(struct fixture *s)
{
	struct perch_sampler_stats stats;

	assert_int_equal(perch_sampler_get_ring_stats(s->sampler, 0, &stats), 0);
	assert_int_equal(stats.records, 4);
	assert_int_equal(stats.samples, 3);
	assert_int_equal(stats.lost, 42);
	assert_int_equal(stats.bytes, 3 * 32 + 48);
	assert_int_equal(perch_sampler_get_ring_stats(s->sampler, 1, &stats), 0);
	assert_int_equal(stats.records, 4);
	assert_int_equal(stats.samples, 1);
	assert_int_equal(stats.lost, 7);
	assert_int_equal(stats.throttled, 1);
	assert_int_equal(stats.unthrottled, 1);
	perch_sampler_get_stats(s->sampler, &stats);
	assert_int_equal(stats.records, 8);
	assert_int_equal(stats.samples, 4);
	assert_int_equal(stats.lost, 49);
	assert_int_equal(perch_sampler_get_ring_stats(s->sampler, 2, &stats), -EINVAL);
	assert_int_equal(perch_sampler_get_event_stats(s->sampler, 2, &stats), -EINVAL);
}

static void check_counted(struct fixture *s, uint64_t samples)
{
	struct perch_sampler_stats first, second;

	assert_int_equal(perch_sampler_get_event_stats(s->sampler, 0, &first), 0);
	assert_int_equal(perch_sampler_get_event_stats(s->sampler, 1, &second), 0);
	assert_int_equal(first.samples, samples ? 3 : 0);
	assert_int_equal(second.samples, samples ? 1 : 0);
	assert_int_equal(first.lost, 7);
	assert_int_equal(second.lost, 42);
	assert_int_equal(first.throttled, 0);
	assert_int_equal(second.throttled, 1);
	assert_int_equal(second.unthrottled, 1);
}

static void counts_by_ring_and_event(void **state)
{
	struct perch_record record;
	struct fixture *s = *state;
	int nr = 0;

	assert_int_equal(open_fixture(s, "cpu-clock,page-faults"), 0);
	put_all(s);
	while (perch_sampler_next(s->sampler, &record, NULL) > 0)
		nr++;
	assert_int_equal(nr, 8);
	check_rings(s);
	check_counted(s, 1);
}

static int take(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	(void)ring;
	for (int i = 0; i < nr; i++)
		*(size_t *)context += pieces[i].iov_len;
	return 0;
}

/* Batches are not decoded, but losses are counted for their event. */
static void counts_drained_records(void **state)
{
	struct perch_sampler_stats stats;
	struct fixture *s = *state;
	size_t bytes = 0;

	assert_int_equal(open_fixture(s, "cpu-clock,page-faults"), 0);
	/* once it wraps inside a LOST record */
	for (int round = 0; round < 23; round++) {
		put_all(s);
		assert_true(perch_sampler_drain(s->sampler, take, &bytes, NULL) > 0);
		if (!round) {
			check_rings(s);
			check_counted(s, 0);
		}
	}
	perch_sampler_get_event_stats(s->sampler, 1, &stats);
	assert_int_equal(stats.lost, 23 * 42);
}

static void merges_by_time(void **state)
{
	uint64_t before = 0, nr = 0;
	struct perch_sampler_stats stats;
	struct perch_record record;
	struct fixture *s = *state;

	assert_int_equal(open_fixture(s, "cpu-clock,page-faults"), 0);
	for (uint64_t i = 0; i < 40; i++)
		put_sample(s, i % 3 != 0, id_of(s, i % 2, i % 3 != 0), 100 + i);
	/* the first round finds the records, the second delivers them */
	assert_int_equal(perch_sampler_next_ordered(s->sampler, false, &record, NULL), 0);
	while (perch_sampler_next_ordered(s->sampler, false, &record, NULL) > 0) {
		assert_true(record.sample.time > before);
		assert_int_equal(record.event, (record.sample.time - 100) % 2);
		before = record.sample.time;
		nr++;
	}
	assert_int_equal(nr, 40);
	put_sample(s, 0, id_of(s, 0, 0), 200);
	put_sample(s, 1, id_of(s, 0, 1), 150);
	assert_int_equal(perch_sampler_next_ordered(s->sampler, true, &record, NULL), 1);
	assert_int_equal(record.sample.time, 150);
	assert_int_equal(perch_sampler_next_ordered(s->sampler, true, &record, NULL), 1);
	assert_int_equal(record.sample.time, 200);
	assert_int_equal(perch_sampler_next_ordered(s->sampler, true, &record, NULL), 0);
	perch_sampler_get_stats(s->sampler, &stats);
	assert_int_equal(stats.samples, 42);
}

/* A sample with an unknown id is skipped and counted; the next record follows. */
static void counts_damage_by_ring(void **state)
{
	struct perch_sampler_stats stats;
	struct perch_record record;
	struct fixture *s = *state;

	assert_int_equal(open_fixture(s, "cpu-clock,page-faults"), 0);
	put_sample(s, 1, 4711, 1);
	put_sample(s, 1, id_of(s, 0, 1), 2);
	assert_int_equal(perch_sampler_next_ordered(s->sampler, true, &record, NULL), 1);
	assert_int_equal(record.sample.time, 2);
	perch_sampler_get_ring_stats(s->sampler, 1, &stats);
	assert_int_equal(stats.damaged, 1);
	assert_int_equal(stats.records, 2);
	perch_sampler_get_ring_stats(s->sampler, 0, &stats);
	assert_int_equal(stats.damaged, 0);
}

static enum perch_ring_state state_of(const struct fixture *s, size_t ring)
{
	enum perch_ring_state state;

	assert_int_equal(perch_sampler_ring_state(s->sampler, ring, &state), 0);
	return state;
}

static void reports_pauses_and_ends(void **state)
{
	enum perch_ring_state none;
	struct fixture *s = *state;

	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	assert_int_equal(state_of(s, 0), PERCH_RING_STATE_RUNNING);
	assert_int_equal(perch_sampler_pause(s->sampler, &s->err), 0);
	assert_true(s->k.fd[0].paused && s->k.fd[1].paused);
	assert_int_equal(state_of(s, 1), PERCH_RING_STATE_PAUSED);
	assert_int_equal(perch_sampler_resume(s->sampler, &s->err), 0);
	assert_false(s->k.fd[0].paused || s->k.fd[1].paused);
	assert_int_equal(state_of(s, 1), PERCH_RING_STATE_RUNNING);
	assert_int_equal(perch_sampler_ring_state(s->sampler, 2, &none), -EINVAL);

	/* these descriptors have no target */
	assert_int_equal(perch_sampler_wait(s->sampler, 0, NULL), -ENODATA);
	assert_int_equal(state_of(s, 0), PERCH_RING_STATE_ENDED);
}

/*
 * A descriptor that poll(2) reports in error, as that of a pinned event without a counter: a pipe
 * without a reader.
 */
static void reports_events_in_error(void **state)
{
	struct fixture *s = *state;
	int pipes[2], good[2];

	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(pipe(good), 0);
	close(pipes[0]);
	assert_int_equal(dup2(pipes[1], 1000), 1000);
	assert_int_equal(dup2(good[0], 1001), 1001);
	assert_int_equal(perch_sampler_wait(s->sampler, 15, NULL), 0);
	assert_int_equal(state_of(s, 0), PERCH_RING_STATE_FAILED);
	assert_int_equal(state_of(s, 1), PERCH_RING_STATE_RUNNING);

	/* after enabling it has its counter again */
	assert_int_equal(dup2(good[0], 1000), 1000);
	assert_int_equal(perch_sampler_wait(s->sampler, 0, NULL), 0);
	assert_int_equal(state_of(s, 0), PERCH_RING_STATE_RUNNING);
	for (int i = 0; i < 2; i++)
		close(1000 + i), close(good[i]);
	close(pipes[1]);
}

static void failed_pause_resumes(void **state)
{
	struct fixture *s = *state;

	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	s->k.refuse_pause = 1001;
	assert_int_equal(perch_sampler_pause(s->sampler, &s->err), -EINVAL);
	assert_false(s->k.fd[0].paused);
	assert_int_equal(state_of(s, 0), PERCH_RING_STATE_RUNNING);
}

/* Read on every call, not cached. */
static void reports_offline_cpus(void **state)
{
	struct fixture *s = *state;
	char path[PATH_MAX + 64];
	FILE *file;

	assert_int_equal(open_fixture(s, "cpu-clock"), 0);
	snprintf(path, sizeof(path), "%s" ONLINE, s->root);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("0\n", file);
	fclose(file);
	assert_int_equal(state_of(s, 0), PERCH_RING_STATE_RUNNING);
	assert_int_equal(state_of(s, 1), PERCH_RING_STATE_OFFLINE);
	assert_int_equal(unlink(path), 0); /* unknown: not offline */
	assert_int_equal(state_of(s, 1), PERCH_RING_STATE_RUNNING);
}

static void refreshes_sampling_events(void **state)
{
	struct fixture *s = *state;

	s->options.event.sideband = PERCH_SIDEBAND_MMAP;
	s->options.tracking_event = true;
	assert_int_equal(open_fixture(s, "cpu-clock,{page-faults,cs}:S"), 0);
	assert_int_equal(perch_sampler_refresh(s->sampler, 5, &s->err), 0);
	assert_int_equal(s->k.nr, 8);
	for (int i = 0; i < 8; i++)
		assert_int_equal(s->k.fd[i].refreshed, i % 4 < 2 ? 5 : 0);
	assert_int_equal(perch_sampler_refresh(s->sampler, 0, &s->err), -EINVAL);
	assert_int_equal(perch_sampler_refresh(s->sampler, -3, &s->err), -EINVAL);
}

static void refresh_needs_a_sampling_event(void **state)
{
	struct fixture *s = *state;

	s->options.event.sideband = PERCH_SIDEBAND_MMAP;
	s->options.event.period = 0;
	assert_int_equal(open_fixture(s, "dummy"), 0);
	assert_int_equal(perch_sampler_refresh(s->sampler, 1, &s->err), -EINVAL);
	assert_non_null(strstr(s->err.message, "needs an event that takes samples"));
}

/* All events defer their call chains; the records go to the event with the side-band records. */
static void one_event_gets_deferred_call_chains(void **state)
{
	struct fixture *s = *state;

	s->options.event.sample = PERCH_SAMPLE_CALLCHAIN;
	s->options.event.defer_callchain = s->options.event.defer_output = 1;
	s->options.event.sideband = PERCH_SIDEBAND_MMAP;
	for (int tracking = 0; tracking < 2; tracking++) {
		s->options.tracking_event = tracking;
		assert_int_equal(open_fixture(s, "cpu-clock,page-faults,cs/call-graph=no/"), 0);
		for (size_t i = 0; i < 3u + tracking; i++) {
			const struct perch_attr *attr =
				perch_sampler_event(s->sampler, i, &(const char *){ NULL },
						    &(const uint64_t *){ NULL }, &(size_t){ 0 });

			assert_int_equal(attr->defer_output, i == (tracking ? 3 : 0));
			assert_int_equal(attr->mmap, attr->defer_output);
			assert_int_equal(attr->defer_callchain, i < 2);
		}
		perch_sampler_close(s->sampler);
		s->sampler = NULL;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counts_by_ring_and_event, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counts_drained_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(merges_by_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counts_damage_by_ring, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reports_pauses_and_ends, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reports_events_in_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(failed_pause_resumes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reports_offline_cpus, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refreshes_sampling_events, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refresh_needs_a_sampling_event, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_event_gets_deferred_call_chains, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Samplers with a simulated kernel. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "build/one_target.h"
#include "sampler_fixture.h"
#include "tree.h"

static const pid_t three_threads[] = { 11, 12, 13 };
static int two_cpus_list[] = { 0, 1 };
static const struct perch_cpus two_cpus = { 2, two_cpus_list };

/* The root of the machine; "" is this machine. */
static char root[PATH_MAX];

/* On two CPUs. */
static int open_threads(struct perch_sampler **sampler, struct perch_machine **machine,
			struct kernel *k, struct perch_syscalls *calls, const char *events,
			const pid_t *threads, size_t nr, struct perch_sampler_options *options,
			struct perch_error *err)
{
	struct perch_targets targets = make_targets(threads, nr, &two_cpus);
	int rc;

	*calls = (struct perch_syscalls){ k,	    fake_open,	fake_control, fake_read,
					  fake_map, fake_unmap, fake_close,   NULL };
	assert_int_equal(perch_machine_new(machine, root, calls, NULL), 0);
	options->event.machine = *machine;
	options->event.sample |= PERCH_SAMPLE_IP;
	rc = perch_sampler_open(sampler, events, &targets, options, err);
	perch_targets_clear(&targets);
	return rc;
}

static int open_fake(struct perch_sampler **sampler, struct perch_machine **machine,
		     struct kernel *k, struct perch_syscalls *calls, const char *events,
		     struct perch_sampler_options *options, struct perch_error *err)
{
	return open_threads(sampler, machine, k, calls, events, three_threads, 1, options, err);
}

static void end_fake(struct perch_sampler *sampler, struct perch_machine *machine,
		     const struct kernel *k)
{
	perch_sampler_close(sampler);
	perch_machine_free(machine);
	assert_int_equal(k->maps, k->unmaps);
	for (int i = 0; i < k->nr; i++)
		assert_true(k->fd[i].closed);
}

/*
 * Two CPUs, three threads, a group of two: two rings, and all events of a CPU write into its ring.
 */
static void redirects_into_one_ring(void **state)
{
	struct perch_sampler_options options = {
		.event = { .period = 1000, .sideband = PERCH_SIDEBAND_MMAP },
	};
	struct kernel k = { .gone = -5 };
	struct perch_sampler *sampler;
	struct perch_machine *machine;
	struct perch_syscalls calls;
	const uint64_t *ids;
	const char *name;
	size_t nr;

	(void)state;
	assert_int_equal(open_threads(&sampler, &machine, &k, &calls, "{cpu-clock,page-faults}",
				      three_threads, 3, &options, NULL),
			 0);
	assert_int_equal(k.nr, 12);
	assert_int_equal(perch_sampler_rings(sampler), 2);
	assert_int_equal(k.maps, 2);
	for (int i = 0; i < k.nr; i++) {
		assert_int_equal(k.fd[i].cpu, i / 6);
		assert_int_equal(k.fd[i].pid, three_threads[i / 2 % 3]);
		assert_int_equal(k.fd[i].group, i % 2 ? 1000 + i - 1 : -1);
		assert_int_equal(k.fd[i].output, i % 6 ? 1000 + i / 6 * 6 : -1);
		assert_int_equal(k.fd[i].attr.disabled, !(i % 2));
		assert_int_equal(k.fd[i].attr.mmap, !(i % 2));
		assert_true(k.fd[i].attr.sample_id_all);
		assert_int_equal(k.fd[i].attr.sample_type, PERCH_SAMPLE_IP | PERCH_SAMPLE_TID |
								   PERCH_SAMPLE_TIME |
								   PERCH_SAMPLE_IDENTIFIER);
	}
	assert_int_equal(perch_sampler_event(sampler, 1, &name, &ids, &nr)->config,
			 PERCH_COUNT_SW_PAGE_FAULTS);
	assert_string_equal(name, "page-faults");
	assert_int_equal(nr, 6);
	assert_int_equal(ids[5], 8011);
	perch_sampler_event(sampler, 2, &name, &ids, &nr);
	assert_int_equal(nr, 0);
	assert_int_equal(perch_sampler_enable(sampler, NULL), 0);
	for (int i = 0; i < k.nr; i++)
		assert_int_equal(k.fd[i].on, !(i % 2));
	end_fake(sampler, machine, &k);
}

static void skips_ended_threads(void **state)
{
	struct perch_sampler_options options = { .event = { .period = 1 } };
	struct kernel k = { .gone = 11 };
	struct perch_sampler *sampler;
	struct perch_machine *machine;
	struct perch_syscalls calls;
	struct perch_error err;

	(void)state;
	assert_int_equal(open_threads(&sampler, &machine, &k, &calls, "cpu-clock", three_threads, 3,
				      &options, &err),
			 -ESRCH);
	assert_null(sampler);
	end_fake(sampler, machine, &k);

	k = (struct kernel){ .gone = 11 };
	options.event.may = PERCH_MAY_LOSE_TARGETS;
	err.kind = PERCH_ERROR_NONE;
	assert_int_equal(open_threads(&sampler, &machine, &k, &calls, "cpu-clock", three_threads, 3,
				      &options, &err),
			 0);
	assert_int_equal(err.kind, PERCH_ERROR_NONE);
	assert_int_equal(k.nr, 4);
	assert_int_equal(k.fd[0].pid, 12);
	end_fake(sampler, machine, &k);

	k = (struct kernel){ .gone = 11 };
	assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "cpu-clock", &options, &err),
			 -ESRCH);
	assert_null(sampler);
	end_fake(sampler, machine, &k);
}

static void refuses_invalid_targets(void **state)
{
	static const struct {
		struct perch_target target;
		bool per_thread;
		int rc;
		const char *message;
	} rows[] = {
		{ { -5, -1, 0, 0 }, false, -EINVAL, "-5 is not a thread" },
		{ { 11, -2, 0, 0 }, false, -EINVAL, "-2 is not a CPU" },
		{ { -1, -1, -1, 1 }, false, -EBADF, "cgroup_fd is -1" },
		{ { -1, -1, 50, 0 }, false, -EINVAL, "cgroup_fd needs use_cgroup" },
		{ { -1, -1, 0, 0 }, true, -EINVAL, "not all processes" },
		{ { 11, 1, 0, 0 }, true, -EINVAL, "not a thread on one CPU" },
		{ { -1, -1, 50, 1 }, true, -EINVAL, "not a cgroup" },
	};
	static const struct perch_targets empty;

	(void)state;
	for (size_t i = 0; i <= sizeof(rows) / sizeof(*rows); i++) {
		bool last = i == sizeof(rows) / sizeof(*rows);
		struct perch_sampler_options options = { .event.period = 1 };
		struct kernel k = { .gone = -5 };
		struct perch_syscalls calls = fake_calls(&k);
		struct perch_sampler *sampler;
		struct perch_error err;

		assert_int_equal(perch_machine_new(&options.event.machine, NULL, &calls, NULL), 0);
		options.per_thread = !last && rows[i].per_thread;
		assert_int_equal(perch_sampler_open(&sampler, "cpu-clock",
						    last ? &empty : ONE_TARGET(&rows[i].target),
						    &options, &err),
				 last ? -EINVAL : rows[i].rc);
		assert_non_null(strstr(err.message, last ? "empty" : rows[i].message));
		assert_true(!last || strstr(err.remedy, "NULL for the calling thread"));
		assert_null(sampler);
		assert_int_equal(k.nr, 0);
		perch_machine_free(options.event.machine);
	}
}

static void leaves_out_members_without_a_leader(void **state)
{
	struct perch_sampler_options options = { .event = { .period = 1,
							    .may = PERCH_MAY_LOSE_TARGETS } };
	/* from the open call of the first leader on */
	struct kernel k = { .gone = 11, .ended_times = 1 };
	struct perch_sampler *sampler;
	struct perch_machine *machine;
	struct perch_syscalls calls;

	(void)state;
	assert_int_equal(open_threads(&sampler, &machine, &k, &calls, "{cpu-clock,page-faults}",
				      three_threads, 3, &options, NULL),
			 0);
	assert_int_equal(k.nr, 10);
	for (int i = 0; i < k.nr; i++)
		assert_int_equal(k.fd[i].group, i % 2 ? 1000 + i - 1 : -1);
	end_fake(sampler, machine, &k);
}

/* An event without a rate takes no samples, but other records may be requested. */
static void refuses_events_without_a_rate(void **state)
{
	static const struct {
		const char *events;
		struct perch_options event;
		int rc;
	} cases[] = {
		{ "cpu-clock", { 0 }, -EINVAL },
		{ "cpu-clock/period=1000/,page-faults", { 0 }, -EINVAL },
		{ "cpu-clock/period=1000/,page-faults/freq=10/", { 0 }, 0 },
		{ "page-faults", { .frequency = 100 }, 0 },
		{ "{page-faults/period=10/,minor-faults}:S", { 0 }, 0 },
		{ "{page-faults,minor-faults/period=10/}:S", { 0 }, -EINVAL },
		{ "page-faults", { .sideband = PERCH_SIDEBAND_COMM }, 0 },
		{ "page-faults", { .inherit = 1, .inherit_stat = 1 }, 0 },
		{ "dummy", { 0 }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perch_sampler_options options = { .event = cases[i].event };
		struct kernel k = { .gone = -5 };
		struct perch_sampler *sampler = (void *)1;
		struct perch_machine *machine;
		struct perch_syscalls calls;
		struct perch_error err;

		if (open_fake(&sampler, &machine, &k, &calls, cases[i].events, &options, &err) !=
		    cases[i].rc)
			fail_msg("'%s', case %zu", cases[i].events, i);
		if (cases[i].rc) {
			assert_null(sampler);
			assert_int_equal(k.nr, 0);
			assert_int_equal(err.kind, PERCH_ERROR_USAGE);
			assert_string_equal(err.field, "sample_period");
			assert_non_null(strstr(err.remedy, "frequency"));
		}
		end_fake(sampler, machine, &k);
	}
}

static void default_target_is_the_calling_thread(void **state)
{
	struct perch_sampler_options options = { .event = { .period = 1000 } };
	struct kernel k = { .gone = -5 };
	struct perch_syscalls calls = fake_calls(&k);
	struct perch_sampler *sampler;

	(void)state;
	assert_int_equal(perch_machine_new(&options.event.machine, NULL, &calls, NULL), 0);
	assert_int_equal(perch_sampler_open(&sampler, "page-faults", NULL, &options, NULL), 0);
	assert_int_equal(k.fd[0].pid, 0);
	end_fake(sampler, options.event.machine, &k);
}

static void refuses_overwrite_rings(void **state)
{
	struct perch_sampler_options options = { .event = { .period = 1, .write_backward = 1 } };
	struct kernel k = { .gone = -5 };
	struct perch_sampler *sampler;
	struct perch_machine *machine;
	struct perch_syscalls calls;
	struct perch_error err;

	(void)state;
	assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "cpu-clock", &options, &err),
			 -EINVAL);
	assert_null(sampler);
	assert_int_equal(k.nr, 0);
	assert_int_equal(err.kind, PERCH_ERROR_USAGE);
	assert_string_equal(err.field, "write_backward");
	assert_true(err.remedy[0]);
	end_fake(sampler, machine, &k);
}

static struct perch_options copying(uint32_t bytes)
{
	return (struct perch_options){ .period = 1,
				       .sample = PERCH_SAMPLE_STACK_USER | PERCH_SAMPLE_REGS_USER,
				       .sample_stack_user = bytes,
				       .sample_regs_user = 7 };
}

/* A sample larger than the ring would be lost, or would overwrite itself. */
static void refuses_too_small_rings(void **state)
{
	/* header IDENTIFIER? IP? TID TIME, abi and three registers, the stack between two sizes;
	 * and a LOST record's 72 */
	static const struct {
		uint32_t stack;
		size_t bytes;
		bool is_valid;
	} rows[] = {
		{ 16384, 16384, false },	   { 16384 - 136, 16384, false },
		{ 16384 - 144 - 16, 16384, true }, { 16384, 32768, true },
		{ 65528, 65536, false },	   { 65528, 131072, true },
	};
	size_t page = sysconf(_SC_PAGESIZE);

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(*rows); i++) {
		struct perch_sampler_options options = { .event = copying(rows[i / 2].stack),
							 .overwrite = i % 2 };
		struct kernel k = { .gone = -5 };
		struct perch_sampler *sampler;
		struct perch_machine *machine;
		struct perch_syscalls calls;
		struct perch_error err = { 0 };

		options.ring_pages = rows[i / 2].bytes / page;
		if (!options.ring_pages)
			continue; /* pages are larger than that */
		assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "cpu-clock", &options,
					   &err),
				 rows[i / 2].is_valid ? 0 : -EINVAL);
		if (!rows[i / 2].is_valid) {
			assert_int_equal(k.nr, 0);
			assert_string_equal(err.field, "sample_stack_user");
			assert_non_null(strstr(err.message, "too small for a sample"));
			assert_non_null(strstr(
				err.remedy, rows[i / 2].bytes == 16384 ? "(32 KiB)" : "(128 KiB)"));
		}
		end_fake(sampler, machine, &k);
	}
}

/* For an unprivileged user: root has no limit. */
static void shrinks_rings_to_the_limit(void **state)
{
	static const struct tree_file files[] = {
		{ "/proc/sys/kernel/perf_event_paranoid", "2\n" },
		{ "/proc/sys/kernel/perf_event_mlock_kb", "516\n" },
		{ "/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n" },
		{ "/proc/self/limits",
		  "Max open files            1024                 4096                 files     \n"
		  "Max locked memory         65536                65536                bytes     \n" },
		{ "/sys/devices/system/cpu/online", "0-1\n" },
	};
	struct perch_sampler_options options = { .event.period = 1 };
	struct kernel k = { .gone = -5, .max_pages = 16 };
	struct perch_sampler *sampler;
	struct perch_machine *machine;
	struct perch_syscalls calls;
	struct perch_error err;

	(void)state;
	tree_make(root, files, sizeof(files) / sizeof(*files));
	err.kind = PERCH_ERROR_NONE;
	assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "cpu-clock", &options, &err), 0);
	assert_int_equal(err.kind, PERCH_ERROR_NONE);
	end_fake(sampler, machine, &k);

	k = (struct kernel){ .gone = -5, .max_pages = 2 };
	assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "cpu-clock", &options, &err),
			 -EPERM);
	assert_int_equal(err.kind, PERCH_ERROR_MLOCK);
	assert_non_null(strstr(err.message, "perf_event_mlock_kb"));
	assert_non_null(strstr(err.message, "(516) x 2 CPUs = 1032 KiB"));
	assert_non_null(strstr(err.message, "RLIMIT_MEMLOCK (64 KiB)"));
	assert_int_equal(err.cause, PERCH_CAUSE_MMAP_LOCKED);
	assert_true(err.remedy[0]);
	end_fake(sampler, machine, &k);

	k = (struct kernel){ .gone = -5, .max_pages = 16 };
	options.ring_pages = 32; /* requested: not shrunk */
	assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "cpu-clock", &options, &err),
			 -EPERM);
	end_fake(sampler, machine, &k);

	/* smaller ones could be opened, but are too small for a sample */
	options = (struct perch_sampler_options){ .event = copying(65528) };
	assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "cpu-clock", &options, &err),
			 -EPERM);
	assert_int_equal(err.kind, PERCH_ERROR_MLOCK);
	end_fake(sampler, machine, &k);
	options.event = copying(32768);
	assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "cpu-clock", &options, &err), 0);
	end_fake(sampler, machine, &k);
	tree_remove(root);
	root[0] = '\0';
}

static void finds_the_supported_precision(void **state)
{
	struct perch_sampler_options options = { .event.frequency = 99 };
	struct kernel k = { .gone = -5, .max_precise = 1 };
	struct perch_sampler *sampler;
	struct perch_machine *machine;
	struct perch_syscalls calls;
	struct perch_error err = { 0 };
	const uint64_t *ids;
	const char *name;
	size_t nr;

	(void)state;
	assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "cycles:P", &options, &err), 0);
	assert_int_equal(err.kind, PERCH_ERROR_NONE);
	assert_int_equal(perch_sampler_event(sampler, 0, &name, &ids, &nr)->precise_ip, 1);
	assert_int_equal(k.nr, 2);
	end_fake(sampler, machine, &k);
}

static void keeps_an_event_s_own_period(void **state)
{
	struct perch_sampler_options options = { .event.frequency = 99, .event.machine = NULL };
	struct perch_target target = { .tid = 11, .cpu = 0 };
	struct perch_events events = { 0 };
	struct kernel k = { .gone = -5 };
	struct perch_syscalls calls = { &k,	  fake_open,  fake_control, fake_read,
					fake_map, fake_unmap, fake_close,   NULL };
	struct perch_sampler *sampler;
	struct perch_machine *machine;

	(void)state;
	assert_int_equal(perch_machine_new(&machine, NULL, &calls, NULL), 0);
	assert_int_equal(perch_events_parse(&events, "cpu-clock,page-faults", machine, NULL), 0);
	events.event[1].attr.sample_period = 5;
	options.event.machine = machine;
	assert_int_equal(perch_sampler_open_events(&sampler, &events, ONE_TARGET(&target), &options,
						   NULL),
			 0);
	assert_int_equal(k.nr, 2);
	assert_true(k.fd[0].attr.freq);
	assert_int_equal(k.fd[0].attr.sample_freq, 99);
	assert_false(k.fd[1].attr.freq);
	assert_int_equal(k.fd[1].attr.sample_period, 5);
	perch_events_clear(&events);
	end_fake(sampler, machine, &k);
}

/* A record as the kernel writes it: the words of the body, then pid, tid and time. */
static void inject(struct kernel *k, uint32_t type, const uint64_t *body, size_t words)
{
	char *data = (char *)k->ring + sysconf(_SC_PAGESIZE);
	struct perch_record_header header = { type, 0, (uint16_t)(8 + 8 * words) };

	memcpy(data + k->ring->data_head, &header, sizeof(header));
	memcpy(data + k->ring->data_head + 8, body, 8 * words);
	k->ring->data_head += header.size;
}

static void inject_some(struct kernel *k)
{
	static const uint64_t sample[] = { 0x401000, 11, 1000 };
	static const uint64_t lost[] = { 7, 30, 11, 1000 };
	static const uint64_t lost_samples[] = { 12, 11, 1000 };
	static const uint64_t throttle[] = { 1000, 7, 7, 11, 1000 };

	inject(k, PERCH_RECORD_SAMPLE, sample, 3);
	inject(k, PERCH_RECORD_SAMPLE, sample, 3);
	inject(k, PERCH_RECORD_LOST, lost, 4);
	inject(k, PERCH_RECORD_LOST_SAMPLES, lost_samples, 3);
	inject(k, PERCH_RECORD_THROTTLE, throttle, 5);
	inject(k, PERCH_RECORD_UNTHROTTLE, throttle, 5);
	inject(k, 4711, throttle, 5); /* of a newer kernel */
}

static int take(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	size_t *bytes = context;

	assert_int_equal(ring, 0);
	for (int i = 0; i < nr; i++)
		*bytes += pieces[i].iov_len;
	return 0;
}

static int refuse(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	(void)context;
	(void)ring;
	(void)pieces;
	(void)nr;
	return -ENOSPC;
}

static void counts_drained_records(void **state)
{
	static const uint64_t short_sample[] = { 0x401000 };
	struct perch_sampler_options options = { .event.period = 1 };
	struct perch_target target = { .tid = 11, .cpu = 0 };
	struct kernel k = { .gone = -5 };
	struct perch_syscalls calls = { &k,	  fake_open,  fake_control, fake_read,
					fake_map, fake_unmap, fake_close,   NULL };
	struct perch_sampler_stats stats;
	struct perch_sampler *sampler;
	struct perch_machine *machine;
	struct perch_record record;
	size_t bytes = 0, records = 0;

	(void)state;
	assert_int_equal(perch_machine_new(&machine, NULL, &calls, NULL), 0);
	options.event.machine = machine;
	options.event.sample = PERCH_SAMPLE_IP;
	assert_int_equal(
		perch_sampler_open(&sampler, "cpu-clock", ONE_TARGET(&target), &options, NULL), 0);
	assert_int_equal(perch_sampler_drain(sampler, take, &bytes, NULL), 0);
	inject_some(&k);
	assert_int_equal(perch_sampler_drain(sampler, take, &bytes, NULL), k.ring->data_head);
	assert_int_equal(bytes, k.ring->data_tail);
	inject_some(&k);
	inject(&k, PERCH_RECORD_SAMPLE, short_sample, 1);
	for (; perch_sampler_next(sampler, &record, NULL) > 0; records++)
		assert_int_equal(record.sample_id.pid,
				 record.type == 4711 ? record.sample_id.pid : 11);
	assert_int_equal(records, 7);
	perch_sampler_get_stats(sampler, &stats);
	assert_int_equal(stats.records, 15);
	assert_int_equal(stats.samples, 5);
	assert_int_equal(stats.lost, 84);
	assert_int_equal(stats.throttled, 2);
	assert_int_equal(stats.unthrottled, 2);
	assert_int_equal(stats.unknown, 2);
	assert_int_equal(stats.damaged, 1);
	assert_int_equal(stats.bytes, k.ring->data_head);
	inject_some(&k);
	assert_int_equal(perch_sampler_drain(sampler, refuse, NULL, NULL), -ENOSPC);
	end_fake(sampler, machine, &k);
}

/*
 * The tail of a ring is published when its batch ends, before the batches of other rings are read.
 */
static void publishes_each_tail_at_its_batch_end(void **state)
{
	struct perch_sampler_options options = { .event.period = 1 };
	struct kernel k = { .gone = -5 };
	struct perch_sampler *sampler;
	struct perch_machine *machine;
	struct perch_record record;
	struct perch_syscalls calls;

	(void)state;
	assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "cpu-clock", &options, NULL), 0);
	assert_int_equal(k.maps, 2);
	for (int i = 0; i < 2; i++) {
		k.ring = k.rings[i];
		inject_some(&k);
	}
	for (int i = 0; i < 8; i++)
		assert_int_equal(perch_sampler_next(sampler, &record, NULL), 1);
	/* either ring may be first: seven records are of one ring, and the eighth of the other */
	assert_int_equal(k.rings[0]->data_tail + k.rings[1]->data_tail, k.rings[0]->data_head);
	while (perch_sampler_next(sampler, &record, NULL) > 0)
		;
	assert_int_equal(k.rings[0]->data_tail, k.rings[0]->data_head);
	assert_int_equal(k.rings[1]->data_tail, k.rings[1]->data_head);
	end_fake(sampler, machine, &k);
}

/*
 * Replaces a descriptor of the simulated kernel by one end of a pipe: poll(2) waits on the read
 * end, and finds an error on the write end.
 */
static int lay_descriptors(bool in_error)
{
	int pipes[2];

	assert_int_equal(pipe(pipes), 0);
	for (int fd = 1000; fd < 1002; fd++)
		if (dup2(pipes[in_error], fd) < 0) {
			print_message("skipped: no descriptor %d: %s\n", fd, strerror(errno));
			skip();
		}
	close(pipes[in_error]);
	if (in_error)
		/* else the other end stays open, or the read end would hang up */
		close(pipes[0]);
	return in_error ? -1 : pipes[1];
}

static void does_not_wait_if_there_is_data(void **state)
{
	struct perch_sampler_options options = { .event.period = 1 };
	struct kernel k = { .gone = -5 };
	struct perch_sampler *sampler;
	struct perch_machine *machine;
	struct perch_record record;
	struct perch_syscalls calls;

	(void)state;
	lay_descriptors(false);
	assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "cpu-clock", &options, NULL), 0);
	assert_int_equal(perch_sampler_wait(sampler, 0, NULL), 0);
	inject_some(&k);
	alarm(20);
	for (int i = 0; i < 7; i++) {
		assert_int_equal(perch_sampler_wait(sampler, -1, NULL), 1);
		assert_int_equal(perch_sampler_next(sampler, &record, NULL), 1);
	}
	alarm(0);
	assert_int_equal(perch_sampler_wait(sampler, 1, NULL), 0);
	end_fake(sampler, machine, &k);
	close(1000);
	close(1001);
}

/*
 * The kernel writes as fast as the program reads, and wakes it each time: a round ends, and the
 * next one follows at once.
 */
static void a_round_ends_although_rings_fill(void **state)
{
	struct perch_sampler_options options = { .event.period = 1 };
	int writer = lay_descriptors(false);

	(void)state;
	assert_int_equal(write(writer, "x", 1), 1); /* the descriptors stay ready */
	for (int ordered = 0; ordered < 2; ordered++) {
		struct kernel k = { .gone = -5 };
		struct perch_sampler *sampler;
		struct perch_machine *machine;
		struct perch_record record;
		struct perch_syscalls calls;
		struct perch_sampler_stats stats;
		int fd;

		assert_int_equal(
			open_fake(&sampler, &machine, &k, &calls, "cpu-clock", &options, NULL), 0);
		fd = perch_sampler_fd(sampler, NULL);
		assert_true(fd >= 0);
		for (int round = 0; round < 3; round++) {
			int read = 0;

			inject_some(&k);
			while ((ordered ? perch_sampler_next_ordered(sampler, false, &record, NULL)
					: perch_sampler_next(sampler, &record, NULL)) > 0) {
				if (record.type == PERCH_RECORD_SAMPLE)
					inject_some(&k);
				assert_true(++read < 200);
			}
		}
		/* those of the last rounds are waited for, and read when the events are disabled */
		assert_int_equal(perch_sampler_wait(sampler, 0, NULL), 1);
		perch_sampler_disable(sampler, NULL);
		while ((ordered ? perch_sampler_next_ordered(sampler, true, &record, NULL)
				: perch_sampler_next(sampler, &record, NULL)) > 0)
			;
		perch_sampler_get_stats(sampler, &stats);
		assert_int_equal(stats.bytes, k.ring->data_head);
		end_fake(sampler, machine, &k);
	}
	close(writer);
	close(1000);
	close(1001);
}

static void poll_error_is_no_exit(void **state)
{
	struct perch_sampler_options options = { .event.period = 1 };
	struct kernel k = { .gone = -5 };
	struct perch_sampler *sampler;
	struct perch_machine *machine;
	struct perch_syscalls calls;

	(void)state;
	lay_descriptors(true);
	assert_int_equal(open_fake(&sampler, &machine, &k, &calls, "cpu-clock", &options, NULL), 0);
	alarm(20);
	assert_int_equal(perch_sampler_wait(sampler, 0, NULL), 0);
	assert_int_equal(perch_sampler_wait(sampler, 30, NULL), 0);
	assert_int_equal(perch_sampler_ring_fd(sampler, 0), 1000);
	inject_some(&k);
	assert_int_equal(perch_sampler_wait(sampler, -1, NULL), 1);
	alarm(0);
	end_fake(sampler, machine, &k);
	close(1000);
	close(1001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(redirects_into_one_ring),
		cmocka_unit_test(skips_ended_threads),
		cmocka_unit_test(refuses_too_small_rings),
		cmocka_unit_test(shrinks_rings_to_the_limit),
		cmocka_unit_test(finds_the_supported_precision),
		cmocka_unit_test(keeps_an_event_s_own_period),
		cmocka_unit_test(counts_drained_records),
		cmocka_unit_test(refuses_invalid_targets),
		cmocka_unit_test(leaves_out_members_without_a_leader),
		cmocka_unit_test(refuses_events_without_a_rate),
		cmocka_unit_test(default_target_is_the_calling_thread),
		cmocka_unit_test(refuses_overwrite_rings),
		cmocka_unit_test(publishes_each_tail_at_its_batch_end),
		cmocka_unit_test(does_not_wait_if_there_is_data),
		cmocka_unit_test(a_round_ends_although_rings_fill),
		cmocka_unit_test(poll_error_is_no_exit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* The recording of perch agent starts anew while samples go on, when CPUs come and go, and goes on
 * if it cannot. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/recording/held_files.h"
#include "agent/source.h"
#include "../simulated_events.h"
#include "tree.h"

#define SECOND	  1000000000ull
#define MOST_WAIT 60 /* seconds of CPU time, until there must be a sample */

struct fixture {
	struct perch_machine *machine;
	struct perch_targets targets;
	struct agent_source_options options;
	struct agent_window *window;
	struct agent_source *source;
	uint64_t time; /* of the window */
};

static uint64_t now_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static void close_source(struct fixture *fixture)
{
	agent_source_close(fixture->source);
	agent_window_free(fixture->window);
	perch_targets_clear(&fixture->targets);
	perch_machine_free(fixture->machine);
}

static void open_source(struct fixture *fixture)
{
	struct perch_error err = { 0 };

	assert_int_equal(perch_machine_new(&fixture->machine, NULL, NULL, NULL), 0);
	assert_int_equal(
		perch_targets_add_thread(&fixture->targets, gettid(), fixture->machine, NULL), 0);
	fixture->options = (struct agent_source_options){ .events = "cpu-clock:u",
							  .targets = &fixture->targets,
							  .frequency = 997,
							  .machine = fixture->machine };
	fixture->window = agent_window_new(1 << 20, 60);
	assert_non_null(fixture->window);
	if (agent_source_open(&fixture->source, &fixture->options, fixture->window, &err) < 0) {
		print_message("skipped: %s\n", err.message);
		close_source(fixture);
		skip();
	}
}

/* Runs until there are more samples. Returns their number. */
static uint64_t get_samples(struct fixture *fixture)
{
	uint64_t before = agent_source_samples(fixture->source, 0), now = before,
		 start = now_of(CLOCK_THREAD_CPUTIME_ID);
	struct perch_error err;

	while (now == before) {
		for (volatile unsigned i = 0; i < 1000000; i++)
			;
		assert_true(agent_source_read(fixture->source, &err) >= 0);
		now = agent_source_samples(fixture->source, 0);
		assert_true(now_of(CLOCK_THREAD_CPUTIME_ID) - start < MOST_WAIT * SECOND);
	}
	return now;
}

/* They become too old for the window. */
static void discard_samples(struct fixture *fixture)
{
	for (int i = 0; i < 3; i++) {
		fixture->time += 100 * SECOND;
		agent_window_cut(fixture->window, fixture->time);
	}
}

static void starts_anew(void **state)
{
	struct fixture fixture = { .machine = NULL };
	struct agent_source_stats stats;
	struct perch_error err;
	uint64_t samples, now;

	(void)state;
	open_source(&fixture);
	samples = get_samples(&fixture);
	for (unsigned i = 2; i < 5; i++) {
		now = now_of(CLOCK_MONOTONIC);
		assert_int_equal(agent_source_renew(fixture.source, now, &err), 0);
		agent_source_get_stats(fixture.source, &stats);
		assert_int_equal(stats.starts, i);
		assert_true(stats.samples >= samples);
		/* the window may have stacks of the one before */
		assert_false(agent_source_free_old(fixture.source, now));
		/* until then, another one is not begun */
		assert_int_equal(agent_source_renew(fixture.source, now, &err), 0);
		assert_true(get_samples(&fixture) > samples);
		samples = agent_source_samples(fixture.source, 0);
		discard_samples(&fixture);
		assert_true(agent_source_free_old(fixture.source, now + 1));
	}
	close_source(&fixture);
}

/* Files are open while the window has samples of them, also those of the recording before. */
static void closes_files(void **state)
{
	struct fixture fixture = { .machine = NULL };
	const struct agent_held_files *files;
	struct perch_error err;
	uint64_t now;
	size_t nr;

	(void)state;
	open_source(&fixture);
	get_samples(&fixture);
	files = agent_source_held_files(fixture.source);
	nr = files->nr;
	if (!nr) {
		print_message("skipped: files are not those of /proc/self/maps here\n");
		close_source(&fixture);
		skip();
	}
	for (int i = 0; i < 20; i++)
		agent_source_tidy(fixture.source);
	assert_true(files->nr == nr);
	now = now_of(CLOCK_MONOTONIC);
	assert_int_equal(agent_source_renew(fixture.source, now, &err), 0);
	assert_true(files->nr >= nr);
	assert_true(files->file[0].old);
	discard_samples(&fixture);
	assert_true(agent_source_free_old(fixture.source, now + 1));
	get_samples(&fixture);
	assert_true(files->nr > 0 && !files->file[0].old);
	discard_samples(&fixture);
	for (int i = 0; i < 20; i++)
		agent_source_tidy(fixture.source);
	assert_int_equal(files->nr, 0);
	close_source(&fixture);
}

/* Without descriptors for two recordings, the first one goes on. */
static void goes_on_without_descriptors(void **state)
{
	struct fixture fixture = { .machine = NULL };
	struct rlimit limit, less;
	struct perch_error err;
	uint64_t samples;
	int fd;

	(void)state;
	open_source(&fixture);
	samples = get_samples(&fixture);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	fd = dup(0);
	assert_true(fd >= 0);
	close(fd);
	less = limit;
	less.rlim_cur = (rlim_t)fd;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
	for (int i = 0; i < 3; i++) {
		assert_true(agent_source_renew(fixture.source, now_of(CLOCK_MONOTONIC), &err) < 0);
		assert_true(err.message[0]);
		assert_true(agent_source_free_old(fixture.source, 0));
		assert_true(get_samples(&fixture) > samples);
		samples = agent_source_samples(fixture.source, 0);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(agent_source_renew(fixture.source, now_of(CLOCK_MONOTONIC), &err), 0);
	assert_true(get_samples(&fixture) > samples);
	close_source(&fixture);
}

/* ---- a simulated kernel ---- */

enum { FDS = 1024 };

static struct {
	unsigned online; /* CPUs, by bit */
	int refused;	 /* errno of all opens; 0: none */
	int writer[FDS]; /* the other end of an event; 0: none */
	char online_path[PATH_MAX + 64];
} kernel;

/* An event that hangs up when its other end is closed. */
static int open_event(void *context, const struct perch_attr *attr, pid_t pid, int cpu, int group,
		      unsigned long flags)
{
	int ends[2];

	(void)context;
	(void)attr;
	(void)pid;
	(void)group;
	(void)flags;
	if (kernel.refused || !(kernel.online >> cpu & 1))
		return errno = kernel.refused ? kernel.refused : ENODEV, -1;
	if (pipe(ends))
		return -1;
	assert_true(ends[0] < FDS);
	kernel.writer[ends[0]] = ends[1];
	return ends[0];
}

static int control(void *context, int fd, unsigned long request, unsigned long argument)
{
	(void)context;
	if (request == PERCH_IOC_ID)
		*(uint64_t *)argument = 1000 + (uint64_t)fd;
	return 0;
}

static void *map_ring(void *context, size_t size, int protection, int flags, int fd, off_t offset)
{
	(void)context;
	(void)protection;
	(void)flags;
	(void)fd;
	(void)offset;
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int unmap_ring(void *context, void *address, size_t size)
{
	(void)context;
	return munmap(address, size);
}

static void hang_up(int fd)
{
	if (kernel.writer[fd])
		close(kernel.writer[fd]);
	kernel.writer[fd] = 0;
}

static int close_simulated(void *context, int fd)
{
	if (fd >= 0 && fd < FDS)
		hang_up(fd);
	return close_event(context, fd);
}

/* Opens a recording of all CPUs, which are those of a list. */
static void open_simulated(struct fixture *fixture, char *root)
{
	static const struct perch_syscalls calls = {
		.perf_event_open = open_event,
		.ioctl = control,
		.read = read_event,
		.mmap = map_ring,
		.munmap = unmap_ring,
		.close = close_simulated,
	};
	static const struct tree_file files[] = {
		{ "/sys/devices/system/cpu/online", "0-2\n" },
		{ "/proc/sys/kernel/osrelease", "6.18.0\n" },
	};
	struct perch_error err;

	tree_make(root, files, 2);
	snprintf(kernel.online_path, sizeof(kernel.online_path), "%s%s", root, files[0].path);
	kernel.online = 7;
	kernel.refused = 0;
	assert_int_equal(perch_machine_new(&fixture->machine, root, &calls, NULL), 0);
	assert_int_equal(perch_targets_add_cpus(&fixture->targets, NULL, fixture->machine, NULL),
			 0);
	fixture->options = (struct agent_source_options){ .events = "cpu-clock",
							  .targets = &fixture->targets,
							  .all_cpus = true,
							  .frequency = 19,
							  .machine = fixture->machine };
	fixture->window = agent_window_new(1 << 20, 60);
	assert_non_null(fixture->window);
	if (agent_source_open(&fixture->source, &fixture->options, fixture->window, &err) < 0)
		fail_msg("%s", err.message);
}

static size_t rings_of(const struct fixture *fixture)
{
	struct agent_source_stats stats;

	agent_source_get_stats(fixture->source, &stats);
	return stats.rings;
}

static void renew(struct fixture *fixture)
{
	struct perch_error err;

	if (agent_source_renew(fixture->source, now_of(CLOCK_MONOTONIC), &err) < 0)
		fail_msg("%s", err.message);
	assert_true(agent_source_free_old(fixture->source, UINT64_MAX));
	assert_int_equal(agent_source_read(fixture->source, &err), 0);
}

/* CPUs go away, come back, and new ones come. */
static void keeps_up_with_cpus(void **state)
{
	static const struct {
		const char *list;
		unsigned online;
		size_t rings;
	} steps[] = {
		{ "0-1\n", 3, 2 },
		{ "0-2\n", 7, 3 },
		{ "0-5\n", 63, 6 },
		{ "0,2\n", 5, 2 },
	};
	struct fixture fixture = { .machine = NULL };
	struct perch_error err;
	char root[PATH_MAX];

	(void)state;
	open_simulated(&fixture, root);
	assert_int_equal(rings_of(&fixture), 3);
	assert_false(agent_source_cpus_changed(fixture.source));
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		kernel.online = steps[i].online;
		tree_write(kernel.online_path, steps[i].list);
		assert_true(agent_source_cpus_changed(fixture.source));
		renew(&fixture);
		assert_int_equal(rings_of(&fixture), steps[i].rings);
		assert_int_equal(agent_source_targets(fixture.source)->nr, steps[i].rings);
		assert_false(agent_source_cpus_changed(fixture.source));
	}
	/* one goes away after the list was read: the next second has another list */
	tree_write(kernel.online_path, "0-2\n");
	assert_true(agent_source_cpus_changed(fixture.source));
	assert_int_equal(agent_source_renew(fixture.source, 1, &err), -ENODEV);
	assert_int_equal(rings_of(&fixture), 2);
	/* only chosen ones */
	fixture.options.all_cpus = false;
	kernel.online = 3;
	tree_write(kernel.online_path, "0-1\n");
	assert_true(agent_source_cpus_changed(fixture.source));
	renew(&fixture);
	assert_int_equal(rings_of(&fixture), 2);
	close_source(&fixture);
	tree_remove(root);
}

/* Events that cannot be opened leave those of before; where these have hung up, new ones follow. */
static void replaces_ended_rings(void **state)
{
	static const int errors[] = { EIO, ENODEV, EMFILE, ENOMEM };
	struct fixture fixture = { .machine = NULL };
	struct agent_source_stats stats;
	char root[PATH_MAX];
	struct perch_error err;

	(void)state;
	open_simulated(&fixture, root);
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		kernel.refused = errors[i];
		err.message[0] = 0;
		assert_int_equal(agent_source_renew(fixture.source, 1, &err), -errors[i]);
		agent_source_get_stats(fixture.source, &stats);
		assert_int_equal(stats.starts, 1);
		assert_true(err.message[0]);
		assert_true(agent_source_free_old(fixture.source, 0));
		assert_int_equal(agent_source_read(fixture.source, &err), 0);
		assert_int_equal(rings_of(&fixture), 3);
		assert_false(agent_source_ended(fixture.source));
	}
	kernel.refused = 0;
	for (int fd = 0; fd < FDS; fd++)
		hang_up(fd);
	assert_int_equal(agent_source_read(fixture.source, &err), 0);
	assert_true(agent_source_ended(fixture.source));
	renew(&fixture);
	assert_false(agent_source_ended(fixture.source));
	assert_int_equal(rings_of(&fixture), 3);
	close_source(&fixture);
	tree_remove(root);
}

/* Copied stacks would be unwound by the agent itself. */
static void refuses_stacks(void **state)
{
	struct fixture fixture = { .machine = NULL };
	struct perch_error err;
	char root[PATH_MAX];

	(void)state;
	open_simulated(&fixture, root);
	agent_source_close(fixture.source);
	fixture.options.events = "cpu-clock/call-graph=dwarf/";
	assert_int_equal(agent_source_open(&fixture.source, &fixture.options, fixture.window, &err),
			 -EINVAL);
	assert_int_equal(err.kind, PERCH_ERROR_USAGE);
	assert_non_null(strstr(err.remedy, "call-graph=fp"));
	close_source(&fixture);
	tree_remove(root);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_anew),
		cmocka_unit_test(closes_files),
		cmocka_unit_test(goes_on_without_descriptors),
		cmocka_unit_test(keeps_up_with_cpus),
		cmocka_unit_test(replaces_ended_rings),
		cmocka_unit_test(refuses_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

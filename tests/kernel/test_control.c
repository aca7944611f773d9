/* SPDX-License-Identifier: MIT */
/* Every ioctl(2) and prctl(2) on open events: its effect, and the error when the kernel refuses. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/count.h>

#include "needs.h"

#define HITS 100

static struct perch_attr last; /* attr of the last open */

static int open_event(const char *text, const struct perch_options *options)
{
	struct perch_events events;
	struct perch_error err;
	int fd;

	if (perch_events_parse(&events, text, NULL, &err) ||
	    perch_attr_build(&last, &events.event[0], options, &err))
		fail_msg("%s: %s", text, err.message);
	fd = perch_open(&last, &perch_self, -1, 0, NULL, &err);
	perch_events_clear(&events);
	if (fd == -EACCES || fd == -EPERM) {
		print_message("needs root: %s\n", err.message);
		skip();
	}
	if (fd < 0)
		fail_msg("%s: %s", text, err.message);
	return fd;
}

/* Opens a tracepoint; skips if tracefs cannot be read. */
static int open_tracepoint(const char *text, const struct perch_options *options)
{
	struct perch_events events;
	struct perch_error err;

	if (perch_events_parse(&events, text, NULL, &err)) {
		print_message("no tracepoint: %s\n", err.message);
		skip();
	}
	perch_events_clear(&events);
	return open_event(text, options);
}

static uint64_t value_of(int fd)
{
	uint64_t words[5] = { 0 };

	assert_true(read(fd, words, sizeof(words)) >= 8);
	return words[0];
}

static void expect(int rc, int errnum, const struct perch_error *err, const char *words)
{
	if (rc != -errnum || err->errnum != errnum || !strstr(err->message, words))
		fail_msg("%d, not %d: '%s' lacks '%s'", rc, -errnum, err->message, words);
	if (errnum != ENOTTY)
		assert_true(err->remedy[0] || err->kind == PERCH_ERROR_USAGE ||
			    err->kind == PERCH_ERROR_PERIOD);
}

static void getppid_times(int times)
{
	for (int i = 0; i < times; i++)
		syscall(SYS_getppid);
}

static void touch_pages(int nr)
{
	size_t page = sysconf(_SC_PAGESIZE);
	volatile char *pages =
		mmap(NULL, nr * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(pages, MAP_FAILED);
	madvise((void *)pages, nr * page, MADV_NOHUGEPAGE);
	for (int i = 0; i < nr; i++)
		pages[i * page] = 1;
	munmap((void *)pages, nr * page);
}

/* ---- Rings, read directly ---- */

#define RING_PAGES 8

static struct perch_mmap_page *map_ring(int fd)
{
	size_t page = sysconf(_SC_PAGESIZE);
	void *ring = mmap(NULL, (1 + RING_PAGES) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_ptr_not_equal(ring, MAP_FAILED);
	return ring;
}

static void unmap_ring(struct perch_mmap_page *ring)
{
	munmap(ring, (1 + RING_PAGES) * sysconf(_SC_PAGESIZE));
}

/* Counts the samples in a ring that has not wrapped. ids gets the IDENTIFIER of each. */
static size_t samples_in(const struct perch_mmap_page *ring, uint64_t *ids, size_t capacity)
{
	const char *data = (const char *)ring + ring->data_offset;
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	size_t nr = 0;

	assert_true(head <= ring->data_size);
	for (uint64_t at = 0; at < head;) {
		const struct perch_record_header *header = (const void *)(data + at);

		assert_true(header->size >= sizeof(*header));
		if (header->type == PERCH_RECORD_SAMPLE) {
			if (nr < capacity)
				memcpy(&ids[nr], header + 1, sizeof(*ids));
			nr++;
		}
		at += header->size;
	}
	return nr;
}

/* ---- Enable, disable, reset, refresh, period ---- */

static void enables_disables_resets(void **state)
{
	struct perch_error err;
	int fd = open_tracepoint("syscalls:sys_enter_getppid", NULL);

	(void)state;
	getppid_times(3);
	assert_int_equal(value_of(fd), 0);
	assert_int_equal(perch_event_enable(fd, false, NULL, &err), 0);
	getppid_times(HITS);
	assert_int_equal(perch_event_disable(fd, true, NULL, &err), 0);
	getppid_times(3);
	assert_int_equal(value_of(fd), HITS);
	assert_int_equal(perch_event_reset(fd, false, NULL, &err), 0);
	assert_int_equal(value_of(fd), 0);
	close(fd);
	expect(perch_event_enable(fd, false, NULL, &err), EBADF, &err, "not open");
	expect(perch_event_disable(0, false, NULL, &err), ENOTTY, &err, "not an event");
	expect(perch_event_reset(-1, false, NULL, &err), EBADF, &err, "not open");
	assert_int_equal(perch_event_reset(-1, false, NULL, NULL), -EBADF);
}

static void enables_all_events_of_the_thread(void **state)
{
	struct perch_error err;
	int one = open_tracepoint("syscalls:sys_enter_getppid", NULL),
	    other = open_tracepoint("syscalls:sys_enter_getppid", NULL);

	(void)state;
	assert_int_equal(perch_tasks_enable(NULL, &err), 0);
	getppid_times(HITS);
	assert_int_equal(perch_tasks_disable(NULL, &err), 0);
	getppid_times(3);
	assert_int_equal(value_of(one), HITS);
	assert_int_equal(value_of(other), HITS);
	close(one);
	close(other);
}

/* The prctl acts on members, and on events that measure another process or a CPU. */
static void enables_members_and_events_of_others(void **state)
{
	const struct perch_options plain = { 0 };
	struct perch_target targets[2] = { { .cpu = -1 }, { .tid = -1, .cpu = 0 } };
	struct perch_event event = { .name = "task-clock",
				     .attr = { .type = PERCH_TYPE_SOFTWARE,
					       .config = PERCH_COUNT_SW_TASK_CLOCK } };
	struct perch_attr attr;
	int leader = open_tracepoint("syscalls:sys_enter_getppid", NULL), member, fds[2];
	pid_t child = fork();
	uint64_t times[2];

	(void)state;
	if (!child)
		for (;;)
			;
	targets[0].tid = child;
	assert_int_equal(perch_attr_build(&attr, &event, &plain, NULL), 0);
	attr.disabled = 1;
	attr.read_format = PERCH_FORMAT_TOTAL_TIME_ENABLED;
	member = perch_open(&attr, NULL, leader, 0, NULL, NULL);
	for (size_t i = 0; i < 2; i++)
		fds[i] = perch_open(&attr, &targets[i], -1, 0, NULL, NULL);
	assert_int_equal(perch_tasks_enable(NULL, NULL), 0);
	/* its time passes while it runs: on a busy machine it waits for a CPU */
	do {
		usleep(50000);
		assert_int_equal(read(fds[0], times, sizeof(times)), sizeof(times));
	} while (!times[1]);
	assert_int_equal(perch_tasks_disable(NULL, NULL), 0);
	assert_int_equal(read(member, times, sizeof(times)), sizeof(times));
	assert_true(times[1] > 0);
	for (size_t i = 0; i < 2; i++) {
		if (fds[i] < 0)
			continue; /* an ordinary user may not measure CPUs */
		assert_int_equal(read(fds[i], times, sizeof(times)), sizeof(times));
		print_message("event %zu was enabled for %llu ns\n", i,
			      (unsigned long long)times[1]);
		assert_true(times[1] > 0);
		close(fds[i]);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(member);
	close(leader);
}

static volatile sig_atomic_t signals, hang_ups;

static void count_signal(int number, siginfo_t *info, void *unused)
{
	(void)number, (void)unused;
	signals++;
	hang_ups += info->si_code == POLL_HUP;
}

/* Every sample sends SIGIO to this thread. */
static void request_signals(int fd)
{
	const struct sigaction action = { .sa_sigaction = count_signal, .sa_flags = SA_SIGINFO };
	const struct f_owner_ex owner = { F_OWNER_TID, gettid() };

	assert_int_equal(sigaction(SIGIO, &action, NULL), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_ASYNC), 0);
	assert_int_equal(fcntl(fd, F_SETSIG, SIGIO), 0);
	assert_int_equal(fcntl(fd, F_SETOWN_EX, &owner), 0);
}

static void refreshes(void **state)
{
	const struct perch_options sampling = { .period = 1,
						.sample = PERCH_SAMPLE_IDENTIFIER,
						.wakeup_events = 1 };
	const struct perch_options inherited = { .period = 1, .inherit = 1 };
	struct perch_mmap_page *ring;
	struct perch_error err;
	int fd;

	(void)state;
	fd = open_tracepoint("syscalls:sys_enter_getppid", &sampling);
	ring = map_ring(fd);
	request_signals(fd);
	assert_int_equal(perch_event_refresh(fd, 5, NULL, &err), 0);
	getppid_times(4);
	assert_int_equal(signals, 4);
	assert_int_equal(hang_ups, 0);
	getppid_times(HITS);
	assert_int_equal(signals, 5);
	assert_int_equal(hang_ups, 1);
	assert_int_equal(samples_in(ring, NULL, 0), 5);
	assert_int_equal(value_of(fd), 5); /* the last sample has disabled the event */
	expect(perch_event_refresh(fd, 0, NULL, &err), EINVAL, &err, "must be 1..");
	expect(perch_event_refresh(fd, 1u << 31, NULL, &err), EINVAL, &err, "must be 1..");
	unmap_ring(ring);
	close(fd);
	/* several times; not with tracepoints, which some kernels (6.18) do not enable again */
	fd = open_event("page-faults:u", &(struct perch_options){ .period = 1 });
	for (unsigned times = 1; times < 4; times++) {
		assert_int_equal(perch_event_refresh(fd, times, NULL, &err), 0);
		touch_pages(HITS);
		assert_int_equal(value_of(fd), times * (times + 1) / 2);
	}
	close(fd);
	fd = open_event("page-faults", NULL);
	expect(perch_event_refresh(fd, 1, NULL, &err), EINVAL, &err, "only counts");
	close(fd);
	fd = open_event("page-faults", &inherited);
	expect(perch_event_refresh(fd, 1, NULL, &err), EINVAL, &err, "without inherit");
	close(fd);
}

static void changes_the_period(void **state)
{
	const struct perch_options sampling = { .period = 10,
						.sample = PERCH_SAMPLE_IDENTIFIER,
						.enabled = 1 };
	const struct perch_options often = { .frequency = 10 };
	struct perch_mmap_page *ring;
	size_t before;
	struct perch_error err;
	int fd = open_tracepoint("syscalls:sys_enter_getppid", &sampling);

	(void)state;
	ring = map_ring(fd);
	getppid_times(100);
	assert_int_equal(samples_in(ring, NULL, 0), 10);
	assert_int_equal(perch_event_set_period(fd, 2, NULL, &err), 0);
	getppid_times(100);
	before = samples_in(ring, NULL, 0);
	assert_in_range(before, 55, 61); /* the first samples still have the old period */
	getppid_times(100);
	assert_int_equal(samples_in(ring, NULL, 0), before + 50);
	expect(perch_event_set_period(fd, 0, NULL, &err), EINVAL, &err, "must be 1..");
	assert_string_equal(err.field, "sample_period");
	expect(perch_event_set_period(fd, 1ull << 63, NULL, &err), EINVAL, &err, "2^63-1");
	unmap_ring(ring);
	close(fd);
	fd = open_event("cpu-clock", NULL);
	expect(perch_event_set_period(fd, 7, NULL, &err), EINVAL, &err, "only counts");
	close(fd);
	fd = open_event("page-faults", &often);
	expect(perch_event_set_period(fd, 1ull << 62, NULL, &err), EINVAL, &err, "max_sample_rate");
	close(fd);
}

/* ---- Output, filter, id ---- */

static void redirects_output(void **state)
{
	const struct perch_options sampling = { .period = 1,
						.sample = PERCH_SAMPLE_IDENTIFIER,
						.enabled = 1 };
	const struct perch_options backward = { .period = 1, .write_backward = 1 };
	struct perch_mmap_page *ring, *second;
	uint64_t ids[8] = { 0 }, one_id = 0, other_id = 0;
	struct perch_error err;
	int one = open_tracepoint("syscalls:sys_enter_getppid", &sampling);
	int other = open_tracepoint("syscalls:sys_enter_getuid", &sampling),
	    third = open_event("dummy", &backward);

	(void)state;
	expect(perch_event_set_output(other, one, NULL, &err), EINVAL, &err, "has no ring");
	ring = map_ring(one);
	assert_int_equal(perch_event_set_output(other, one, NULL, &err), 0);
	assert_int_equal(perch_event_id(one, NULL, &one_id, &err), 0);
	assert_int_equal(perch_event_id(other, NULL, &other_id, &err), 0);
	assert_true(one_id && other_id && one_id != other_id);
	getppid_times(1);
	syscall(SYS_getuid);
	getppid_times(1);
	assert_int_equal(samples_in(ring, ids, 8), 3);
	assert_true(ids[0] == one_id && ids[1] == other_id && ids[2] == one_id);
	/* its own ring, which is not mapped */
	assert_int_equal(perch_event_set_output(other, -1, NULL, &err), 0);
	syscall(SYS_getuid);
	assert_int_equal(samples_in(ring, NULL, 0), 3);
	expect(perch_event_set_output(one, one, NULL, &err), EINVAL, &err, "itself");
	expect(perch_event_set_output(third, one, NULL, &err), EINVAL, &err, "write_backward");
	expect(perch_event_set_output(other, 0, NULL, &err), EBADF, &err, "is not an open event");
	expect(perch_event_set_output(other, 99999, NULL, &err), EBADF, &err,
	       "is not an open event");
	second = map_ring(other);
	expect(perch_event_set_output(other, one, NULL, &err), EINVAL, &err, "own ring mapped");
	unmap_ring(second);
	unmap_ring(ring);
	close(one);
	close(other);
	close(third);
	expect(perch_event_id(-1, NULL, &one_id, &err), EBADF, &err, "not open");
	expect(perch_event_id(0, NULL, &one_id, &err), ENOTTY, &err, "is not an event");
}

static void filters_a_tracepoint(void **state)
{
	static const struct {
		const char *filter;
		int errnum;
		const char *words;
	} bad[] = {
		{ "no_such_field == 1", EINVAL, "valid expression" },
		{ "sig ==", EINVAL, "valid expression" },
		{ "", EINVAL, "empty" },
		{ "(sig == 1", ENOENT, "without a closing" },
		{ "sig == 1)", EPERM, "without an opening" },
		{ "comm == \"x", ESRCH, "closing quote" },
	};
	const struct perch_options counting = { .enabled = 1 };
	struct perch_error err;
	int fd = open_tracepoint("signal:signal_generate", &counting);

	(void)state;
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	for (int i = 0; i < HITS; i++)
		kill(getpid(), i % 2 ? SIGUSR1 : SIGUSR2);
	assert_int_equal(value_of(fd), HITS);
	assert_int_equal(perch_event_set_filter(fd, "sig == 10", NULL, NULL, &err), 0);
	assert_int_equal(SIGUSR1, 10);
	for (int i = 0; i < HITS; i++)
		kill(getpid(), i % 2 ? SIGUSR1 : SIGUSR2);
	assert_int_equal(value_of(fd), HITS + HITS / 2);
	expect(perch_event_set_filter(fd, "sig == 12", NULL, NULL, &err), EEXIST, &err, "already");
	close(fd);
	fd = open_event("signal:signal_generate", &counting);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		expect(perch_event_set_filter(fd, bad[i].filter, NULL, NULL, &err), bad[i].errnum,
		       &err, bad[i].words);
		assert_non_null(strstr(err.message, bad[i].filter));
	}
	expect(perch_event_set_filter(fd, NULL, NULL, NULL, &err), EINVAL, &err, "it is NULL");
	close(fd);
	fd = open_event("page-faults", NULL);
	expect(perch_event_set_filter(fd, "sig == 10", NULL, NULL, &err), EINVAL, &err,
	       "takes no filter");
	close(fd);
}

/* A counter knows its attr, so the error is about the filter of a tracepoint. */
static void names_the_tracepoint_of_an_invalid_filter(void **state)
{
	struct perch_counter *counter;
	struct perch_events events;
	struct perch_error err;
	int fd = open_tracepoint("signal:signal_generate", NULL);

	(void)state;
	expect(perch_event_set_filter(fd, "comm == 5", NULL, NULL, &err), EINVAL, &err,
	       "takes no filter, or");
	close(fd);
	assert_int_equal(perch_events_parse(&events, "signal:signal_generate", NULL, &err), 0);
	assert_int_equal(perch_events_set_filter(&events, 0, "comm == 5", NULL, &err), 0);
	expect(perch_counter_open_event(&counter, events.event, NULL, NULL, &err), EINVAL, &err,
	       "the filter compares");
	perch_events_clear(&events);
}

static void pauses_output(void **state)
{
	const struct perch_options sampling = { .period = 1,
						.sample = PERCH_SAMPLE_IDENTIFIER,
						.enabled = 1 };
	struct perch_mmap_page *ring;
	struct perch_error err;
	int fd = open_tracepoint("syscalls:sys_enter_getppid", &sampling);

	(void)state;
	expect(perch_event_pause_output(fd, true, NULL, &err), EINVAL, &err, "has none");
	ring = map_ring(fd);
	getppid_times(2);
	assert_int_equal(perch_event_pause_output(fd, true, NULL, &err), 0);
	getppid_times(HITS);
	assert_int_equal(samples_in(ring, NULL, 0), 2);
	assert_int_equal(perch_event_pause_output(fd, false, NULL, &err), 0);
	getppid_times(3);
	assert_int_equal(samples_in(ring, NULL, 0), 5);
	assert_int_equal(value_of(fd), HITS + 5);
	unmap_ring(ring);
	close(fd);
}

/* ---- BPF ---- */

/* A program that returns 0: the tracepoint does not count. */
static int load_program(unsigned type)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = type,
		.insns = (uintptr_t)code,
		.insn_cnt = 2,
		.license = (uintptr_t) "GPL",
	};

	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static void runs_bpf_programs(void **state)
{
	struct perch_error err;
	uint32_t ids[4] = { 0 }, nr = 77;
	int program = load_program(BPF_PROG_TYPE_TRACEPOINT), filter, fd, software;

	(void)state;
	if (program < 0) {
		print_message("no BPF program can be loaded here: %s\n", strerror(errno));
		skip();
	}
	fd = open_tracepoint("syscalls:sys_enter_getpgrp", &(struct perch_options){ .enabled = 1 });
	filter = load_program(BPF_PROG_TYPE_SOCKET_FILTER);
	software = open_event("page-faults", NULL);
	assert_int_equal(perch_event_query_bpf(fd, NULL, ids, 4, &nr, &err), 0);
	assert_int_equal(nr, 0);
	syscall(SYS_getpgrp);
	assert_int_equal(value_of(fd), 1);
	expect(perch_event_set_bpf(fd, 99999, NULL, &err), EBADF, &err, "not open");
	expect(perch_event_set_bpf(fd, filter, NULL, &err), EINVAL, &err, "its type");
	expect(perch_event_set_bpf(software, program, NULL, &err), EINVAL, &err, "its type");
	assert_int_equal(perch_event_set_bpf(fd, program, NULL, &err), 0);
	syscall(SYS_getpgrp);
	assert_int_equal(value_of(fd), 1);
	assert_int_equal(perch_event_query_bpf(fd, NULL, ids, 4, &nr, &err), 0);
	assert_int_equal(nr, 1);
	assert_true(ids[0] && !ids[1]);
	nr = 77;
	assert_int_equal(perch_event_query_bpf(fd, NULL, NULL, 0, &nr, &err), 0);
	assert_int_equal(nr, 1);
	assert_int_equal(perch_event_query_bpf(fd, NULL, ids, 4, &nr, &err), 0);
	expect(perch_event_set_bpf(fd, program, NULL, &err), EEXIST, &err, "already");
	expect(perch_event_query_bpf(software, NULL, ids, 4, &nr, &err), EINVAL, &err,
	       "a tracepoint");
	expect(perch_event_set_bpf(0, program, NULL, &err), ENOTTY, &err, "is not an event");
	close(fd);
	close(software);
	close(program);
	close(filter);
}

/* ---- Breakpoints ---- */

static volatile long watched[2];

static void moves_a_breakpoint(void **state)
{
	const struct perch_options counting = { .enabled = 1 };
	struct perch_event event = { .name = "write", .attr = { .type = PERCH_TYPE_BREAKPOINT } };
	struct perch_attr attr, wrong;
	struct perch_error err;
	int fd, software;

	(void)state;
	needs_breakpoints_that_fire();
	event.attr.bp_type = PERCH_BREAKPOINT_W;
	event.attr.bp_addr = (unsigned long)&watched[0];
	event.attr.bp_len = 8;
	event.attr.exclude_kernel = event.attr.exclude_hv = 1;
	assert_int_equal(perch_attr_build(&attr, &event, &counting, NULL), 0);
	fd = perch_open(&attr, &perch_self, -1, 0, NULL, &err);
	if (fd < 0) {
		print_message("no breakpoint: %s\n", err.message);
		skip();
	}
	wrong = attr;
	for (int i = 0; i < HITS; i++)
		watched[0] = watched[1] = i;
	assert_int_equal(value_of(fd), HITS);
	attr.bp_addr = (unsigned long)&watched[1];
	if (perch_event_modify(fd, &attr, NULL, &err))
		fail_msg("%s", err.message);
	for (int i = 0; i < HITS; i++)
		watched[1] = i;
	assert_int_equal(value_of(fd), 2 * HITS);
	watched[0] = 1;
	assert_int_equal(value_of(fd), 2 * HITS);
	wrong.sample_period = 3;
	expect(perch_event_modify(fd, &wrong, NULL, &err), EINVAL, &err, "more than address");
	wrong = attr;
	wrong.bp_len = 3;
	expect(perch_event_modify(fd, &wrong, NULL, &err), EINVAL, &err, "more than address");
	software = open_event("page-faults:u", NULL);
	expect(perch_event_modify(software, &last, NULL, &err), EOPNOTSUPP, &err,
	       "only breakpoints");
	wrong.size = 3;
	expect(perch_event_modify(fd, &wrong, NULL, &err), E2BIG, &err, "attr.size");
	expect(perch_event_modify(0, &attr, NULL, &err), ENOTTY, &err, "is not an event");
	close(software);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(enables_disables_resets),
		cmocka_unit_test(enables_all_events_of_the_thread),
		cmocka_unit_test(enables_members_and_events_of_others),
		cmocka_unit_test(refreshes),
		cmocka_unit_test(changes_the_period),
		cmocka_unit_test(redirects_output),
		cmocka_unit_test(filters_a_tracepoint),
		cmocka_unit_test(names_the_tracepoint_of_an_invalid_filter),
		cmocka_unit_test(pauses_output),
		cmocka_unit_test(runs_bpf_programs),
		cmocka_unit_test(moves_a_breakpoint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

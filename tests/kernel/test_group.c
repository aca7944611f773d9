/* SPDX-License-Identifier: MIT */
/* On the running kernel: members that join a group, the attr as opened, events over descriptors
 * that came from elsewhere, and events without the kernel for an ordinary user. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <cmocka.h>

#include <perch/count.h>
#include <perch/ring.h>

#include "unprivileged.h"
#include "work.h"
#include "needs.h"

#define FAULTS	   40
#define PAGE_BYTES ((size_t)sysconf(_SC_PAGESIZE))

#define OK(call)                                       \
	do {                                           \
		if ((call) < 0)                        \
			fail_msg("%s", error.message); \
	} while (0)
static struct perch_error error;

static void read_group(struct perch_group *group, struct perch_count *counts, size_t nr)
{
	OK(perch_group_read(group, counts, nr, &error));
}

/* The new member counts from then on, and its times begin then. Names and attrs of the others stay
 * where they are. */
static void members_join_an_enabled_group(void **state)
{
	const struct perch_options enabled = { .enabled = 1, .read = PERCH_FORMAT_ID };
	const struct perch_options sampling = { .period = 7, .sample = PERCH_SAMPLE_IP };
	const struct perch_attr *first_attr;
	struct perch_count counts[3];
	struct perch_group *group;
	const char *first_name;
	uint64_t id;

	(void)state;
	OK(perch_group_open(&group, "{page-faults,dummy}:u", NULL, &enabled, &error));
	first_name = perch_group_name(group, 0);
	first_attr = perch_group_attr(group, 0);
	assert_string_equal(first_name, "page-faults:u");
	burn(0.01);
	fault(FAULTS);
	OK(perch_group_add(group, "minor-faults:u", &sampling, &error));
	assert_int_equal(perch_group_size(group), 3);
	assert_ptr_equal(first_name, perch_group_name(group, 0));
	assert_ptr_equal(first_attr, perch_group_attr(group, 0));
	assert_int_equal(perch_group_attr(group, 2)->sample_period, 7);
	assert_null(perch_group_attr(group, 3));
	fault(FAULTS);
	pass_time();
	read_group(group, counts, 3);
	print_message("%llu and %llu faults\n", (unsigned long long)counts[0].value,
		      (unsigned long long)counts[2].value);
	assert_true(counts[2].value >= FAULTS && counts[0].value >= counts[2].value + FAULTS);
	assert_int_equal(counts[2].state, PERCH_COUNT_STATE_EXACT);
	assert_true(counts[2].enabled_ns && counts[2].enabled_ns + 5000000 < counts[0].enabled_ns);
	OK(perch_group_id(group, 2, &id, &error));
	assert_int_equal(counts[2].id, id);
	assert_int_equal(perch_group_find(group, id, &error), 2);
	assert_int_equal(perch_group_find(group, counts[0].id, &error), 0);
	assert_int_equal(perch_group_find(group, 1ull << 60, &error), -ENOENT);
	perch_group_close(group);
}

static void refuses_members_that_cannot_join(void **state)
{
	const struct perch_options pinned = { .pinned = 1 },
				   clock = { .use_clockid = 1, .clockid = CLOCK_MONOTONIC_RAW },
				   skip_it = { .may = PERCH_MAY_SKIP };
	struct perch_count counts[1];
	struct perch_group *group;

	(void)state;
	OK(perch_group_open(&group, "page-faults:u", NULL, NULL, &error));
	assert_int_equal(perch_group_add(group, "dummy:u", &pinned, &error), -EINVAL);
	assert_string_equal(error.field, "pinned");
	assert_int_equal(perch_group_add(group, "dummy:u", &clock, &error), -EINVAL);
	assert_int_equal(perch_group_add(group, "dummy:u", &skip_it, &error), -EINVAL);
	assert_string_equal(error.field, "may");
	assert_int_equal(perch_group_add(group, "dummy:u,dummy:u", NULL, &error), -EINVAL);
	assert_int_equal(perch_group_add(group, "no-such-event", NULL, &error), -ENOENT);
	assert_int_equal(perch_group_size(group), 1);
	read_group(group, counts, 1);
	perch_group_close(group);
}

static void opens_parsed_events(void **state)
{
	struct perch_events events = { 0 };
	struct perch_count counts[2];
	struct perch_group *group;

	(void)state;
	OK(perch_events_parse(&events, "page-faults:u,minor-faults:u", NULL, &error));
	OK(perch_group_open_events(&group, &events, NULL, NULL, &error));
	perch_events_clear(&events);
	OK(perch_group_enable(group, &error));
	fault(FAULTS);
	read_group(group, counts, 2);
	assert_true(counts[0].value >= FAULTS && counts[0].value == counts[1].value);
	OK(perch_group_disable(group, &error));
	OK(perch_group_reset(group, &error));
	read_group(group, counts, 2);
	assert_int_equal(counts[1].value, 0);
	perch_group_close(group);
	assert_int_equal(perch_group_open_events(&group, &events, NULL, NULL, &error), -EINVAL);
}

/* The counter adds the times to read_format: with the attr of perch_attr_build(), records that have
 * the count (PERCH_SAMPLE_READ) would be decoded with wrong fields. */
static void the_attr_as_opened_decodes_the_ring(void **state)
{
	const struct perch_options options = {
		.period = 1,
		.read = PERCH_FORMAT_ID,
		.sample = PERCH_SAMPLE_READ | PERCH_SAMPLE_ADDR | PERCH_SAMPLE_IP,
		.exclude_kernel = 1,
	};
	const struct perch_record_header *header;
	struct perch_parse_info as_opened;
	struct perch_counter *counter;
	struct perch_read_value value;
	struct perch_record record;
	struct perch_ring *ring;
	size_t samples = 0;
	uint64_t id;

	(void)state;
	OK(perch_counter_open(&counter, "page-faults", NULL, &options, &error));
	OK(perch_ring_open(&ring, perch_counter_fd(counter), 8, PERCH_RING_FORWARD, NULL, &error));
	OK(perch_counter_id(counter, &id, &error));
	perch_parse_info_init(&as_opened, perch_counter_attr(counter), PERCH_BYTES_NATIVE);
	OK(perch_counter_enable(counter, &error));
	fault(FAULTS);
	OK(perch_counter_disable(counter, &error));
	while ((header = perch_ring_next(ring))) {
		OK(perch_record_decode(&record, &as_opened, header, header->size, &error));
		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		samples++;
		assert_int_equal(record.sample.read.nr, 1);
		perch_read_values_at(&record.sample.read, 0, &value);
		assert_int_equal(value.value, samples);
		assert_int_equal(value.id, id);
	}
	assert_true(samples >= FAULTS);
	perch_ring_close(ring);
	perch_counter_close(counter);
}

#ifdef __x86_64__
/* CLOCK_MONOTONIC_RAW runs at the same rate. */
static double ratio_of_clocks(const struct perch_clock_conversion *clock)
{
	uint64_t begin = __builtin_ia32_rdtsc(), end;
	double start = clock_seconds(CLOCK_MONOTONIC_RAW), took;

	usleep(20000);
	took = (clock_seconds(CLOCK_MONOTONIC_RAW) - start) * 1e9;
	end = __builtin_ia32_rdtsc();
	return took / (perch_clock_to_time(clock, end) - perch_clock_to_time(clock, begin));
}
#endif

/* Times of the control page, and the clock where the machine relates it to times of samples. */
static void times_without_a_system_call(void **state)
{
	const struct perch_options enabled = { .enabled = 1 }, inherit = { .inherit = 1 };
	struct perch_clock_conversion clock;
	uint64_t enabled_ns, running_ns;
	struct perch_counter *counter;
	struct perch_count count;

	(void)state;
	OK(perch_counter_open(&counter, "page-faults:u", NULL, &inherit, &error));
	assert_int_equal(perch_counter_times(counter, &enabled_ns, &running_ns, &error), -EINVAL);
	perch_counter_close(counter);
	OK(perch_counter_open(&counter, "page-faults:u", NULL, &enabled, &error));
	OK(perch_counter_times(counter, &enabled_ns, &running_ns, &error));
	burn(0.01);
	usleep(2000); /* the kernel writes the page when the thread runs again */
	OK(perch_counter_times(counter, &enabled_ns, &running_ns, &error));
	OK(perch_counter_read(counter, &count, &error));
	print_message("enabled for %llu ns of %llu\n", (unsigned long long)enabled_ns,
		      (unsigned long long)count.enabled_ns);
	/* the clock of events may be slower than that of burn() */
	assert_true(enabled_ns >= 9000000 && enabled_ns <= count.enabled_ns);
	assert_true(running_ns <= enabled_ns);
	if (perch_counter_clock(counter, &clock, &error)) {
		print_message("no clock: %s\n", error.message);
		assert_int_equal(error.errnum, EOPNOTSUPP);
	} else {
#ifdef __x86_64__
		/* others may run between the readings of both, but not each time */
		double ratio = 0;

		for (int i = 0; i < 100 && (ratio < 0.9 || ratio > 1.1); i++)
			ratio = ratio_of_clocks(&clock);
		print_message("ratio of the clocks: %f\n", ratio);
		assert_true(ratio > 0.9 && ratio < 1.1);
#endif
	}
	perch_counter_close(counter);
}

static volatile long watched[2];

static void the_attr_as_opened_modifies_a_breakpoint(void **state)
{
	const struct perch_options enabled = { .enabled = 1, .exclude_kernel = 1 };
	struct perch_counter *counter;
	struct perch_count count;
	struct perch_attr attr;
	char text[64];

	(void)state;
	needs_breakpoints_that_fire();
	snprintf(text, sizeof(text), "mem:0x%lx/8:w:u", (unsigned long)&watched[0]);
	if (perch_counter_open(&counter, text, NULL, &enabled, &error)) {
		print_message("no breakpoint: %s\n", error.message);
		skip();
	}
	attr = *perch_counter_attr(counter);
	attr.bp_addr = (unsigned long)&watched[1];
	OK(perch_event_modify(perch_counter_fd(counter), &attr, NULL, &error));
	watched[0] = 1;
	watched[1] = watched[1] + 1;
	watched[1] = watched[1] + 1;
	OK(perch_counter_read(counter, &count, &error));
	assert_int_equal(count.value, 2);
	perch_counter_close(counter);
}

static void send_descriptor(int to, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	char byte[1] = { 'x' };
	struct iovec data = { .iov_base = byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	assert_int_equal(sendmsg(to, &message, 0), 1);
}

static int receive_descriptor(int from)
{
	char control[CMSG_SPACE(sizeof(int))] __attribute__((aligned(8))), byte;
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	int fd;

	if (recvmsg(from, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

/* Opens a group on itself, sends attrs and descriptors, and causes page faults. */
static int sender(int socket, int ready)
{
	const struct perch_options options = { .enabled = 1, .read = PERCH_FORMAT_ID };
	struct perch_group *group;

	if (perch_group_open(&group, "{page-faults,minor-faults}:u", NULL, &options, NULL))
		return 1;
	fault(FAULTS);
	if (perch_group_disable(group, NULL))
		return 2;
	for (size_t i = 0; i < 2; i++) {
		if (write(socket, perch_group_attr(group, i), sizeof(struct perch_attr)) < 0)
			return 3;
		send_descriptor(socket, perch_group_fd(group, i));
	}
	return read(ready, &(char){ 0 }, 1) < 0; /* until the other process has read the counts */
}

static void descriptors_come_over_a_socket(void **state)
{
	struct perch_attr attrs[2], wrong;
	struct perch_count counts[2], single;
	struct perch_counter *counter;
	struct perch_group *group;
	int sockets[2], ready[2], fds[2], swapped[2], status;
	pid_t child;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child = fork();
	if (!child) {
		close(ready[1]);
		_exit(sender(sockets[1], ready[0]));
	}
	close(sockets[1]);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(recv(sockets[0], &attrs[i], sizeof(attrs[i]), MSG_WAITALL),
				 sizeof(attrs[i]));
		fds[i] = receive_descriptor(sockets[0]);
		assert_true(fds[i] >= 0);
		swapped[1 - i] = fds[i];
	}
	wrong = attrs[0];
	wrong.read_format &= ~(uint64_t)PERCH_FORMAT_ID;
	assert_int_equal(perch_group_from_fds(&group, fds, &wrong, 1, NULL, &error), -EINVAL);
	assert_string_equal(error.field, "read_format");
	assert_int_equal(perch_group_from_fds(&group, swapped, attrs, 2, NULL, &error), -EINVAL);
	assert_int_equal(perch_counter_from_fd(&counter, fds[0], &attrs[0], NULL, NULL, &error),
			 -EINVAL); /* PERCH_FORMAT_GROUP */
	assert_int_equal(perch_group_from_fds(&group, &sockets[0], attrs, 1, NULL, &error),
			 -ENOTTY);
	OK(perch_group_from_fds(&group, fds, attrs, 2, NULL, &error));
	read_group(group, counts, 2);
	print_message("%llu faults of '%s' in the other process\n",
		      (unsigned long long)counts[0].value, perch_group_name(group, 0));
	assert_true(counts[0].value >= FAULTS && counts[1].value >= FAULTS);
	assert_int_equal(perch_group_find(group, counts[1].id, &error), 1);
	assert_int_equal(perch_group_add(group, "dummy:u", NULL, &error), -EINVAL);
	OK(perch_group_reset(group, &error));
	read_group(group, counts, 2);
	assert_int_equal(counts[0].value, 0);
	(void)single;
	close(ready[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	perch_group_close(group);
	close(sockets[0]);
	close(ready[0]);
}

/* The new program of descriptors_survive_an_exec(): argv[2] is the attr as hexadecimal digits. */
static int after_exec(int fd, const char *digits)
{
	struct perch_counter *counter;
	struct perch_count before, after;
	struct perch_attr attr;

	for (size_t i = 0; i < sizeof(attr); i++)
		if (sscanf(digits + 2 * i, "%2hhx", (unsigned char *)&attr + i) != 1)
			return 1;
	if (perch_counter_from_fd(&counter, fd, &attr, "faults", NULL, &error) ||
	    perch_counter_read(counter, &before, &error)) {
		perch_error_print(stderr, &error);
		return 2;
	}
	fault(FAULTS);
	if (perch_counter_read(counter, &after, &error) || before.value < FAULTS ||
	    after.value < before.value + FAULTS || strcmp(perch_counter_name(counter), "faults"))
		return 3;
	perch_counter_close(counter);
	return 0;
}

static void descriptors_survive_an_exec(void **state)
{
	const struct perch_options options = { .enabled = 1, .no_cloexec = 1 }, plain = { 0 };
	char digits[2 * sizeof(struct perch_attr) + 1], number[16];
	struct perch_counter *counter, *closed;
	int status;
	pid_t child;

	(void)state;
	OK(perch_counter_open(&closed, "page-faults:u", NULL, &plain, &error));
	assert_true(fcntl(perch_counter_fd(closed), F_GETFD) & FD_CLOEXEC);
	perch_counter_close(closed);
	child = fork();
	if (!child) {
		if (perch_counter_open(&counter, "page-faults:u", NULL, &options, NULL))
			_exit(10);
		fault(FAULTS);
		for (size_t i = 0; i < sizeof(struct perch_attr); i++)
			snprintf(digits + 2 * i, 3, "%02x",
				 ((const unsigned char *)perch_counter_attr(counter))[i]);
		snprintf(number, sizeof(number), "%d", perch_counter_fd(counter));
		execl("/proc/self/exe", "group", number, digits, NULL);
		_exit(11);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Returns 0, or the number of the check that failed. */
static int open_as_nobody(void)
{
	const struct perch_options options = { .may = PERCH_MAY_EXCLUDE_KERNEL };
	const struct perch_target init = { .tid = 1, .cpu = -1 };
	struct perch_counter *counter;
	struct perch_group *group;

	if (perch_counter_open(&counter, "page-faults", NULL, NULL, &error) != -EACCES)
		return 2;
	if (perch_counter_open(&counter, "page-faults", NULL, &options, &error) ||
	    !perch_counter_user_only(counter) || !perch_counter_attr(counter)->exclude_kernel)
		return 3;
	perch_counter_close(counter);
	if (perch_counter_open(&counter, "page-faults:u", NULL, &options, &error) ||
	    perch_counter_user_only(counter))
		return 4;
	perch_counter_close(counter);
	if (perch_counter_open(&counter, "context-switches", NULL, &options, &error) != -EACCES ||
	    !strstr(error.message, "occurs only in the kernel"))
		return 5;
	memset(&error, 0, sizeof(error));
	if (perch_group_open(&group, "{page-faults,dummy:u}", NULL, &options, &error) ||
	    !perch_group_user_only(group, 0) || perch_group_user_only(group, 1))
		return 6;
	if (error.errnum) /* success leaves it unchanged */
		return 9;
	if (perch_group_add(group, "cpu-migrations", &options, &error) != -EACCES)
		return 7;
	if (perch_group_add(group, "minor-faults", &options, &error) ||
	    !perch_group_user_only(group, 2))
		return 8;
	perch_group_close(group);
	/* without the kernel another rule refuses it */
	if (perch_counter_open(&counter, "page-faults", &init, &options, &error) != -EACCES ||
	    error.kind == PERCH_ERROR_PARANOID || !strstr(error.message, "process 1 "))
		return 10;
	return 0;
}

static void excludes_the_kernel_if_not_permitted(void **state)
{
	(void)state;
	run_unprivileged(open_as_nobody);
}

/* The table of perch_event_is_kernel_only() is what this kernel does: the count without the kernel
 * is 0 although the event occurs. */
static void kernel_only_events_count_nothing_in_user_space(void **state)
{
	static const char *const names[] = { "context-switches", "raw_syscalls:sys_enter",
					     "sched:sched_switch", "syscalls:sys_enter_close",
					     "page-faults" };
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct perch_options enabled = { .enabled = 1 };
		struct perch_events events = { 0 };
		struct perch_counter *all, *user;
		struct perch_count in_all, in_user;

		if (perch_events_parse(&events, names[i], NULL, &error) ||
		    perch_counter_open(&all, names[i], NULL, &enabled, &error)) {
			print_message("%s: %s\n", names[i], error.message);
			perch_events_clear(&events);
			continue;
		}
		snprintf(text, sizeof(text), "%s:u", names[i]);
		OK(perch_counter_open(&user, text, NULL, &enabled, &error));
		/* on a slow machine the time to sleep may be over before the task sleeps */
		for (int k = 0; k < 1000; k++) {
			fault(FAULTS);
			usleep(2000);
			close(-1);
			OK(perch_counter_read(all, &in_all, &error));
			if (in_all.value)
				break;
		}
		OK(perch_counter_read(user, &in_user, &error));
		print_message("%s: %llu, %llu in user space\n", names[i],
			      (unsigned long long)in_all.value, (unsigned long long)in_user.value);
		assert_true(in_all.value > 0);
		assert_int_equal(in_user.value == 0,
				 perch_event_is_kernel_only(&events.event[0], NULL));
		perch_counter_close(all);
		perch_counter_close(user);
		perch_events_clear(&events);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_join_an_enabled_group),
		cmocka_unit_test(refuses_members_that_cannot_join),
		cmocka_unit_test(opens_parsed_events),
		cmocka_unit_test(the_attr_as_opened_decodes_the_ring),
		cmocka_unit_test(the_attr_as_opened_modifies_a_breakpoint),
		cmocka_unit_test(times_without_a_system_call),
		cmocka_unit_test(descriptors_come_over_a_socket),
		cmocka_unit_test(descriptors_survive_an_exec),
		cmocka_unit_test(excludes_the_kernel_if_not_permitted),
		cmocka_unit_test(kernel_only_events_count_nothing_in_user_space),
	};

	if (argc == 3)
		return after_exec(atoi(argv[1]), argv[2]);
	if (every_event_is_refused())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

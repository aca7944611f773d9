/* SPDX-License-Identifier: MIT */
/* Refused mmap, ioctl and read calls of the real kernel, and their explanations: cause, field,
 * values. */
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
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/explain.h>

#define RW	  (PROT_READ | PROT_WRITE)
#define NR(array) (sizeof(array) / sizeof((array)[0]))

static struct perch_machine *machine;
static size_t page;

/* An event and its open call. */
struct event {
	struct perch_attr attr;
	pid_t pid;
	int cpu, fd;
	char *ring;
	size_t ring_size;
	size_t group_size;
};

static int open_raw(struct perch_attr *attr, pid_t pid, int cpu, int group, unsigned long flags)
{
	attr->size = sizeof(*attr);
	attr->exclude_kernel = attr->exclude_hv = attr->type != PERCH_TYPE_TRACEPOINT;
	return syscall(SYS_perf_event_open, attr, pid, cpu, group, flags);
}

static struct event open_at(struct perch_attr attr, pid_t pid, int cpu)
{
	struct event event = { .attr = attr, .pid = pid, .cpu = cpu, .group_size = 1 };

	event.fd = open_raw(&event.attr, pid, cpu, -1, 0);
	if (event.fd < 0) {
		print_message("the event cannot be opened: %s\n", strerror(errno));
		skip();
	}
	return event;
}

static struct event open_event(struct perch_attr attr)
{
	return open_at(attr, 0, -1);
}

static void map_ring(struct event *event, size_t pages)
{
	event->ring_size = (1 + pages) * page;
	event->ring = mmap(NULL, event->ring_size, RW, MAP_SHARED, event->fd, 0);
	assert_ptr_not_equal(event->ring, MAP_FAILED);
}

static void close_event(struct event *event)
{
	if (event->ring)
		munmap(event->ring, event->ring_size);
	close(event->fd);
}

/* The explanation is certain, with that cause and first field, and has these words. */
static struct perch_explanation answer;

static void expect(struct perch_operation op, const struct event *event, int errnum,
		   enum perch_cause cause, const char *field, const char *words)
{
	const struct perch_finding *first = &answer.finding[0];

	op.errnum = errnum;
	if (event) {
		op.attr = &event->attr;
		op.pid = event->pid;
		op.cpu = event->cpu;
		op.ring_size = event->ring_size;
		op.group_size = event->group_size;
	}
	assert_int_equal(perch_explain_operation(&op, machine, &answer), 0);
	if (first->cause != cause || !strstr(first->message, words))
		fail_msg("%s (%s), not %s: '%s' lacks '%s'", perch_cause_slug(first->cause),
			 strerror(errnum), perch_cause_slug(cause), first->message, words);
	assert_int_equal(answer.confidence, PERCH_CONFIDENCE_CERTAIN);
	if (field)
		assert_string_equal(first->field[0], field);
	assert_true(first->remedy[0]);
}

/* ---- mmap ---- */

/* The mmap must fail with this errno, and must have this explanation. */
static void refuse_map(const struct event *event, size_t length, int protection, int flags,
		       uint64_t offset, int errnum, enum perch_cause cause, const char *field,
		       const char *words)
{
	const struct perch_operation op = { .kind = PERCH_OPERATION_MMAP,
					    .length = length,
					    .protection = protection,
					    .map_flags = flags,
					    .offset = offset,
					    .other_fd = -1 };
	void *got = mmap(NULL, length, protection, flags, event->fd, offset);

	if (got != MAP_FAILED || errno != errnum)
		fail_msg("%s: mmap gave %p, %s", words, got, strerror(errno));
	expect(op, event, errnum, cause, field, words);
}

/* True, with a message, if this kernel maps such a ring, which newer kernels refuse. */
static bool maps(const struct event *event, size_t length, int protection, const char *what)
{
	void *got = mmap(NULL, length, protection, MAP_SHARED, event->fd, 0);

	if (got == MAP_FAILED)
		return false;
	munmap(got, length);
	print_message("no refusal to explain: this kernel maps %s\n", what);
	return true;
}

static void rings(void **state)
{
	struct event event = open_event(
		(struct perch_attr){ .type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_DUMMY });
	struct event inherited =
		open_event((struct perch_attr){ .type = PERCH_TYPE_SOFTWARE, .inherit = 1 });
	const size_t huge = ((1ul << 32) + 1) * page;
	char words[64];

	(void)state;
	refuse_map(&event, 9 * page, RW, MAP_PRIVATE, 0, EINVAL, PERCH_CAUSE_MMAP_PRIVATE, "flags",
		   "MAP_PRIVATE");
	snprintf(words, sizeof(words), "1 + 3 pages of %zu", page);
	refuse_map(&event, 4 * page, RW, MAP_SHARED, 0, EINVAL, PERCH_CAUSE_MMAP_LENGTH, "length",
		   words);
	refuse_map(&event, 8 * page, RW, MAP_SHARED, 0, EINVAL, PERCH_CAUSE_MMAP_LENGTH, "length",
		   "1 + 2^n pages");
	refuse_map(&event, 0, RW, MAP_SHARED, 0, EINVAL, PERCH_CAUSE_MMAP_LENGTH, "length", "is 0");
	if (!maps(&event, 9 * page, RW | PROT_EXEC, "rings with PROT_EXEC")) /* until 6.12 */
		refuse_map(&event, 9 * page, RW | PROT_EXEC, MAP_SHARED, 0, EPERM,
			   PERCH_CAUSE_MMAP_EXEC, "protection", "PROT_EXEC");
	refuse_map(&event, 9 * page, RW, MAP_SHARED, 100, EINVAL, PERCH_CAUSE_MMAP_OFFSET, "offset",
		   "offset 100");
	refuse_map(&event, 9 * page, RW, 0, 0, EINVAL, PERCH_CAUSE_MMAP_PRIVATE, "flags",
		   "neither");
	refuse_map(&event, 2 << 20, RW, MAP_SHARED | MAP_HUGETLB, 0, EINVAL, PERCH_CAUSE_MMAP_FLAGS,
		   "flags", "HUGETLB");
	/*
	 * until 6.12 the kernel uses the lowest 32 bits of the number of pages; 5.10 checks the
	 * limit of locked memory of an ordinary user first
	 */
	if (!maps(&event, huge, RW, "rings of 2^32 pages") && errno != EPERM)
		refuse_map(&event, huge, RW, MAP_SHARED, 0, ENOMEM, PERCH_CAUSE_MMAP_MEMORY,
			   "length", "pages are more");
	refuse_map(&event, page, RW, MAP_SHARED, 16 * page, EINVAL, PERCH_CAUSE_MMAP_OFFSET,
		   "offset", "AUX");
	refuse_map(&inherited, 9 * page, RW, MAP_SHARED, 0, EINVAL, PERCH_CAUSE_MMAP_INHERIT,
		   "inherit", "cpu -1");
	refuse_map(&inherited, 4 * page, RW, MAP_PRIVATE, 0, EINVAL, PERCH_CAUSE_MMAP_INHERIT,
		   "inherit", "cpu -1");
	assert_int_equal(answer.nr_next, 2);
	assert_int_equal(answer.next[0].cause, PERCH_CAUSE_MMAP_PRIVATE);
	assert_int_equal(answer.next[1].cause, PERCH_CAUSE_MMAP_LENGTH);
	map_ring(&event, 8);
	refuse_map(&event, 5 * page, RW, MAP_SHARED, 0, EINVAL, PERCH_CAUSE_MMAP_EXISTING, "length",
		   "already has a ring");
	close_event(&event);
	close_event(&inherited);
	refuse_map(&event, 9 * page, RW, MAP_SHARED, 0, EBADF, PERCH_CAUSE_NOT_AN_EVENT, "fd",
		   "not open");
}

static void redirected_rings(void **state)
{
	struct event ring = open_event((struct perch_attr){ .type = PERCH_TYPE_SOFTWARE });
	struct event event = open_event((struct perch_attr){ .type = PERCH_TYPE_SOFTWARE });

	(void)state;
	map_ring(&ring, 8);
	assert_int_equal(ioctl(event.fd, PERCH_IOC_SET_OUTPUT, (long)ring.fd), 0);
	if (mmap(NULL, 9 * page, RW, MAP_SHARED, event.fd, 0) != MAP_FAILED || errno != EBUSY) {
		print_message("this kernel maps redirected events, or returns another errno\n");
		skip();
	}
	refuse_map(&event, 9 * page, RW, MAP_SHARED, 0, EBUSY, PERCH_CAUSE_MMAP_REDIRECTED, "fd",
		   "another event's ring");
	assert_int_equal(ioctl(event.fd, PERCH_IOC_SET_OUTPUT, -1L), 0); /* the remedy */
	map_ring(&event, 8);
	close_event(&event);
	close_event(&ring);
}

/* The kernel checks the fields before it finds that the event has no AUX area. */
static void aux_areas(void **state)
{
	struct event event = open_event((struct perch_attr){ .type = PERCH_TYPE_SOFTWARE });
	struct perch_mmap_page *control;

	(void)state;
	map_ring(&event, 8);
	control = (struct perch_mmap_page *)event.ring;
	control->aux_offset = 16 * page;
	control->aux_size = 4 * page;
	refuse_map(&event, 4 * page, RW, MAP_SHARED, 16 * page, EOPNOTSUPP, PERCH_CAUSE_MMAP_NO_AUX,
		   "offset", "no AUX area");
	refuse_map(&event, 2 * page, RW, MAP_SHARED, 16 * page, EINVAL, PERCH_CAUSE_MMAP_OFFSET,
		   "offset", "this type of event");
	close_event(&event);
}

static void unmapped_parts(void **state)
{
	struct event event = open_event((struct perch_attr){ .type = PERCH_TYPE_SOFTWARE });
	const struct perch_operation op = {
		.kind = PERCH_OPERATION_MUNMAP, .length = page, .offset = page, .other_fd = -1
	};

	(void)state;
	map_ring(&event, 8);
	if (!munmap(event.ring + page, page)) {
		event.ring_size = page; /* what is left of it in front */
		close_event(&event);
		print_message("this kernel splits the mappings of rings\n");
		skip();
	}
	expect(op, &event, errno, PERCH_CAUSE_MUNMAP_PART, "length", "a part of the mapping");
	close_event(&event);
}

/* What children find out. */
struct findings {
	size_t length;		   /* of the smallest refused ring */
	unsigned long memlock_kib; /* what the remedy advises */
};

/* In a child that becomes an unprivileged user: the event, or -1. */
static int event_of_unprivileged_user(uid_t uid, unsigned long memlock_kib, struct perch_attr *attr)
{
	struct rlimit limit = { memlock_kib << 10, memlock_kib << 10 };

	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(uid) || setuid(uid))
		return -1;
	return open_raw(attr, 0, -1, -1, 0);
}

/* 0 when all is right. */
static int locked_memory_of(uid_t uid, struct findings *findings)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_DUMMY };
	struct perch_operation op = { .kind = PERCH_OPERATION_MMAP,
				      .errnum = EPERM,
				      .attr = &attr,
				      .cpu = -1,
				      .protection = RW,
				      .map_flags = MAP_SHARED,
				      .other_fd = -1 };
	int fd = event_of_unprivileged_user(uid, 64, &attr);
	struct perch_machine *own;
	const char *advice;
	size_t pages, fits;

	if (fd < 0 || perch_machine_new(&own, NULL, NULL, NULL))
		return 77;
	for (pages = 1; pages <= 1 << 18; pages *= 2) {
		void *ring = mmap(NULL, (1 + pages) * page, RW, MAP_SHARED, fd, 0);

		if (ring == MAP_FAILED)
			break;
		munmap(ring, (1 + pages) * page);
	}
	if (pages > 1 << 18 || errno != EPERM)
		return 77; /* paranoid -1, or no limit */
	op.length = findings->length = (1 + pages) * page;
	if (perch_explain_operation(&op, own, &answer) ||
	    answer.finding[0].cause != PERCH_CAUSE_MMAP_LOCKED ||
	    answer.confidence != PERCH_CONFIDENCE_CERTAIN ||
	    answer.finding[0].kind != PERCH_ERROR_MLOCK)
		return 11;
	/* the largest ring that was accepted */
	advice = strstr(answer.finding[0].remedy, "at most 1 + ");
	if (!advice || sscanf(advice, "at most 1 + %zu pages", &fits) != 1 || fits != pages / 2)
		return 12;
	advice = strstr(answer.finding[0].remedy, "RLIMIT_MEMLOCK to ");
	if (!advice || sscanf(advice, "RLIMIT_MEMLOCK to %lu", &findings->memlock_kib) != 1)
		return 13;
	perch_machine_free(own);
	return strstr(answer.finding[0].message, "RLIMIT_MEMLOCK (64 KiB)") ? 0 : 14;
}

/* The same ring with the limit of the remedy. */
static int ring_with_advised_limit(uid_t uid, const struct findings *findings)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_DUMMY };
	int fd = event_of_unprivileged_user(uid, findings->memlock_kib, &attr);

	return mmap(NULL, findings->length, RW, MAP_SHARED, fd, 0) == MAP_FAILED ? 15 : 0;
}

static int exit_status(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void locked_memory(void **state)
{
	const uid_t nobody_else = 64533; /* who has no other ring */
	struct findings *findings =
		mmap(NULL, sizeof(*findings), RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;
	int rc;

	(void)state;
	if (getuid())
		skip();
	assert_ptr_not_equal(findings, MAP_FAILED);
	child = fork();
	if (!child)
		_exit(locked_memory_of(nobody_else, findings));
	rc = exit_status(child);
	if (rc == 77)
		skip();
	assert_int_equal(rc, 0);
	child = fork();
	if (!child)
		_exit(ring_with_advised_limit(nobody_else, findings));
	assert_int_equal(exit_status(child), 0);
	munmap(findings, sizeof(*findings));
}

/* ---- ioctl ---- */

static void refuse_control(const struct event *event, struct perch_operation op,
			   unsigned long request, unsigned long argument, int errnum,
			   enum perch_cause cause, const char *field, const char *words)
{
	op.kind = PERCH_OPERATION_IOCTL;
	op.request = request;
	op.argument = argument;
	if (ioctl(event->fd, request, argument) >= 0 || errno != errnum)
		fail_msg("%s: ioctl gave %s", words, strerror(errno));
	expect(op, event, errnum, cause, field, words);
}

#define REFUSE(event, request, argument, ...)                                      \
	refuse_control(event, (struct perch_operation){ .other_fd = -1 }, request, \
		       (unsigned long)(argument), __VA_ARGS__)

static void requests(void **state)
{
	struct event event = open_event(
		(struct perch_attr){ .type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_DUMMY });
	struct event clock = open_event((struct perch_attr){ .type = PERCH_TYPE_SOFTWARE });
	struct event none = { .fd = open("/dev/null", O_RDONLY) };
	struct perch_operation unknown = { .kind = PERCH_OPERATION_IOCTL,
					   .request = PERCH_IOC_ENABLE,
					   .other_fd = -1 };
	struct perch_attr attr = event.attr;

	(void)state;
	REFUSE(&event, 0x2499, 0, ENOTTY, PERCH_CAUSE_IOCTL_UNKNOWN, "request", "0x2499");
	REFUSE(&event, PERCH_IOC_ID, 0, EFAULT, PERCH_CAUSE_IOCTL_POINTER, "argument",
	       "read the id");
	REFUSE(&event, PERCH_IOC_PAUSE_OUTPUT, 1, EINVAL, PERCH_CAUSE_IOCTL_PAUSE, "fd",
	       "has none");
	REFUSE(&event, PERCH_IOC_MODIFY_ATTRIBUTES, 0, EFAULT, PERCH_CAUSE_IOCTL_POINTER,
	       "argument", "attr");
	REFUSE(&event, PERCH_IOC_MODIFY_ATTRIBUTES, &attr, EOPNOTSUPP, PERCH_CAUSE_IOCTL_MODIFY,
	       "type", "only breakpoints");
	attr = clock.attr;
	/* since 6.2 */
	if (ioctl(clock.fd, PERCH_IOC_MODIFY_ATTRIBUTES, &attr) && errno == EINVAL)
		REFUSE(&clock, PERCH_IOC_MODIFY_ATTRIBUTES, &attr, EINVAL, PERCH_CAUSE_IOCTL_MODIFY,
		       "type", "only breakpoints");
	attr.size = 3;
	REFUSE(&event, PERCH_IOC_MODIFY_ATTRIBUTES, &attr, E2BIG, PERCH_CAUSE_IOCTL_MODIFY, "size",
	       "below 64");
	map_ring(&event, 8);
	REFUSE(&event, PERCH_IOC_SET_OUTPUT, -1L, EINVAL, PERCH_CAUSE_IOCTL_OUTPUT, "fd",
	       "own ring mapped");
	assert_int_equal(ioctl(none.fd, PERCH_IOC_ENABLE, 0), -1);
	expect(unknown, NULL, errno, PERCH_CAUSE_NOT_AN_EVENT, "fd", "not an event");
	assert_int_equal(ioctl(-1, PERCH_IOC_ENABLE, 0), -1);
	expect(unknown, NULL, errno, PERCH_CAUSE_NOT_AN_EVENT, "fd", "not open");
	close(none.fd);
	close_event(&event);
	close_event(&clock);
}

static void refresh_and_period(void **state)
{
	const struct perch_attr faults = { .type = PERCH_TYPE_SOFTWARE,
					   .config = PERCH_COUNT_SW_PAGE_FAULTS };
	struct perch_attr children = { .type = PERCH_TYPE_SOFTWARE,
				       .sample_period = 9,
				       .inherit = 1 },
			  often = faults;
	struct event counting = open_event(faults), inherited = open_event(children), frequent;
	struct perch_operation op = { .other_fd = -1, .period_known = true };
	long rate;

	(void)state;
	often.freq = 1;
	often.sample_freq = 10;
	frequent = open_event(often);
	REFUSE(&counting, PERCH_IOC_REFRESH, 1, EINVAL, PERCH_CAUSE_IOCTL_REFRESH, "sample_period",
	       "counts");
	REFUSE(&inherited, PERCH_IOC_REFRESH, 1, EINVAL, PERCH_CAUSE_IOCTL_REFRESH, "inherit",
	       "without inherit");
	REFUSE(&inherited, PERCH_IOC_PERIOD, 2000, EFAULT, PERCH_CAUSE_IOCTL_POINTER, "argument",
	       "0x7d0");
	refuse_control(&inherited, op, PERCH_IOC_PERIOD, (unsigned long)&op.period, EINVAL,
		       PERCH_CAUSE_IOCTL_PERIOD, "sample_period", "is 0");
	op.period = 1ull << 63;
	refuse_control(&inherited, op, PERCH_IOC_PERIOD, (unsigned long)&op.period, EINVAL,
		       PERCH_CAUSE_IOCTL_PERIOD, "sample_period", "below 2^63");
	op.period = 5;
	refuse_control(&counting, op, PERCH_IOC_PERIOD, (unsigned long)&op.period, EINVAL,
		       PERCH_CAUSE_IOCTL_PERIOD, "sample_period", "counts");
	assert_int_equal(perch_machine_sysctl(machine, PERCH_SYSCTL_MAX_SAMPLE_RATE, &rate, NULL),
			 0);
	op.period = rate + 1;
	refuse_control(&frequent, op, PERCH_IOC_PERIOD, (unsigned long)&op.period, EINVAL,
		       PERCH_CAUSE_IOCTL_PERIOD, "sample_freq", " Hz needs");
	close_event(&counting);
	close_event(&inherited);
	close_event(&frequent);
}

/* Breaks one rule of SET_OUTPUT at a time. Except for the last, the other event has a ring. */
static void outputs(void **state)
{
	const struct perch_attr plain = { .type = PERCH_TYPE_SOFTWARE };
	struct perch_attr clock = plain, backward = plain;
	struct event ring = open_event(plain), event, empty;
	struct perch_open_call_leader other = { .attr = &ring.attr, .cpu = -1, .has_ring = true };
	struct perch_operation op = { .other = &other };

	(void)state;
	map_ring(&ring, 8);
	op.other_fd = ring.fd;
	event = open_at(plain, 0, 0);
	refuse_control(&event, op, PERCH_IOC_SET_OUTPUT, ring.fd, EINVAL, PERCH_CAUSE_IOCTL_OUTPUT,
		       "cpu", "on CPU 0, the other");
	close_event(&event);
	clock.use_clockid = 1;
	clock.clockid = CLOCK_MONOTONIC;
	event = open_event(clock);
	refuse_control(&event, op, PERCH_IOC_SET_OUTPUT, ring.fd, EINVAL, PERCH_CAUSE_IOCTL_OUTPUT,
		       "use_clockid", "CLOCK_MONOTONIC");
	close_event(&event);
	backward.write_backward = 1;
	event = open_event(backward);
	refuse_control(&event, op, PERCH_IOC_SET_OUTPUT, ring.fd, EINVAL, PERCH_CAUSE_IOCTL_OUTPUT,
		       "write_backward", "only one of them");
	close_event(&event);
	event = open_event(plain);
	REFUSE(&event, PERCH_IOC_SET_OUTPUT, 0xffffffffu, EBADF, PERCH_CAUSE_IOCTL_OUTPUT_FD,
	       "argument", "as an int");
	REFUSE(&event, PERCH_IOC_SET_OUTPUT, 99999, EBADF, PERCH_CAUSE_IOCTL_OUTPUT_FD, "argument",
	       "99999");
	empty = open_event(plain);
	other.has_ring = false;
	refuse_control(&event, op, PERCH_IOC_SET_OUTPUT, empty.fd, EINVAL, PERCH_CAUSE_IOCTL_OUTPUT,
		       "argument", "no ring yet");
	other.has_ring = true;
	map_ring(&event, 8);
	refuse_control(&event, op, PERCH_IOC_SET_OUTPUT, ring.fd, EINVAL, PERCH_CAUSE_IOCTL_OUTPUT,
		       "fd", "own ring mapped");
	close_event(&event);
	close_event(&empty);
	close_event(&ring);
}

static void output_of_another_thread(void **state)
{
	struct event ring = open_event((struct perch_attr){ .type = PERCH_TYPE_SOFTWARE }), event;
	struct perch_open_call_leader other = {
		.attr = &ring.attr, .pid = getpid(), .cpu = -1, .has_ring = true
	};
	struct perch_operation op = { .other = &other };
	pid_t child = fork();

	(void)state;
	if (!child) {
		pause();
		_exit(0);
	}
	map_ring(&ring, 8);
	event = open_at((struct perch_attr){ .type = PERCH_TYPE_SOFTWARE }, child, -1);
	refuse_control(&event, op, PERCH_IOC_SET_OUTPUT, ring.fd, EINVAL, PERCH_CAUSE_IOCTL_OUTPUT,
		       "pid", "the other one thread");
	close_event(&event);
	close_event(&ring);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* ---- Filters and programs ---- */

static struct event open_tracepoint(void)
{
	struct perch_attr attr = { .type = PERCH_TYPE_TRACEPOINT };
	char path[256], text[32];
	FILE *file = NULL;

	if (perch_machine_tracefs(machine, path, sizeof(path) - 64, NULL) >= 0) {
		strcat(path, "/events/signal/signal_generate/id");
		file = fopen(path, "r");
	}
	if (!file || !fgets(text, sizeof(text), file)) {
		print_message("no tracefs\n");
		skip();
	}
	fclose(file);
	attr.config = strtoul(text, NULL, 10);
	return open_event(attr);
}

static void filters(void **state)
{
	struct event software = open_event((struct perch_attr){ .type = PERCH_TYPE_SOFTWARE });
	struct event event = open_tracepoint();
	char *longest = malloc(3 * page);
	struct perch_operation op = { .other_fd = -1 };
	static const struct {
		const char *filter;
		int errnum;
		const char *words;
	} bad[] = {
		{ "", EINVAL, "empty" },
		{ "(sig == 1", ENOENT, "without a closing" },
		{ "sig == 1)", EPERM, "without an opening" },
		{ "comm ~ \"x", ESRCH, "closing quote" },
		{ "nosuch == 1", EINVAL, "unknown field: signal:signal_" },
		{ "sig == 1 && nosuch == 1", EINVAL, "has no 'nosuch'" },
		{ "sig = 1", EINVAL, "no valid operator after the field 'sig': '='" },
		{ "sig", EINVAL, "no valid operator after the field 'sig'" },
		{ "comm < \"x\"", EINVAL, "only for numbers" },
		{ "sig ~ 1", EINVAL, "only for strings" },
		{ "comm == 1", EINVAL, "not in quotes" },
		{ "comm == x", EINVAL, "not in quotes" },
		{ "sig == \"1\"", EINVAL, "compares the number 'sig'" },
		{ "comm ~ 1", EINVAL, "not in quotes" },
		{ "comm ==", EINVAL, "no valid value for the field 'comm'" },
		{ "sig == 1x", EINVAL, "no valid value for the field 'sig': '1x'" },
		{ "sig == 99999999999999999999", EINVAL, "no valid value" },
		{ "sig == 9223372036854775808", EINVAL, "no valid value for the field 'sig'" },
		{ "common_type == -1", EINVAL, "no valid value for the field 'common_type'" },
		{ "sig == 1 sig == 2", EPERM, "only && or || can" },
		{ "sig == 1 & 2", EPERM, "'&' follows a comparison" },
		{ "&& sig == 1", EPERM, "where a field must be" },
		{ "sig == 1 && && sig == 2", EPERM, "where a field must be" },
		{ "> 5", EPERM, "'>' is where a field must be" },
		{ "$sig == 1", EPERM, "'$sig' is where a field must be" },
		{ "sig == 1 && > 5", EPERM, "'>' is where a field must be" },
		{ "(sig == 1 && )", EPERM, "')' is where a field must be" },
		{ "()", EINVAL, "a field is missing before ')'" },
	};

	(void)state;
	memset(longest, 'x', 3 * page);
	longest[3 * page - 1] = '\0';
	op.filter = longest;
	refuse_control(&event, op, PERCH_IOC_SET_FILTER, (unsigned long)longest, EINVAL,
		       PERCH_CAUSE_IOCTL_FILTER, "argument", "shorter than a page");
	for (size_t i = 0; i < NR(bad); i++) {
		op.filter = bad[i].filter;
		refuse_control(&event, op, PERCH_IOC_SET_FILTER, (unsigned long)bad[i].filter,
			       bad[i].errnum, PERCH_CAUSE_IOCTL_FILTER, "argument", bad[i].words);
	}
	REFUSE(&event, PERCH_IOC_SET_FILTER, 0, EFAULT, PERCH_CAUSE_IOCTL_POINTER, "argument",
	       "0x0");
	op.filter = "sig == 1";
	refuse_control(&software, op, PERCH_IOC_SET_FILTER, (unsigned long)op.filter, EINVAL,
		       PERCH_CAUSE_IOCTL_FILTER, "type", "take a filter");
	assert_int_equal(ioctl(event.fd, PERCH_IOC_SET_FILTER, op.filter), 0);
	refuse_control(&event, op, PERCH_IOC_SET_FILTER, (unsigned long)op.filter, EEXIST,
		       PERCH_CAUSE_IOCTL_FILTER_SET, "fd", "already");
	free(longest);
	close_event(&event);
	close_event(&software);
}

static void programs(void **state)
{
	struct event software = open_event((struct perch_attr){ .type = PERCH_TYPE_SOFTWARE });
	struct event event = open_tracepoint();
	uint32_t query[70] = { 65 };

	(void)state;
	if (ioctl(event.fd, PERCH_IOC_QUERY_BPF, query) != -1 || errno != E2BIG)
		skip();
	REFUSE(&event, PERCH_IOC_QUERY_BPF, query, E2BIG, PERCH_CAUSE_IOCTL_BPF_QUERY, "argument",
	       "64");
	REFUSE(&event, PERCH_IOC_QUERY_BPF, 0, EFAULT, PERCH_CAUSE_IOCTL_POINTER, "argument",
	       "query");
	REFUSE(&software, PERCH_IOC_QUERY_BPF, query, EINVAL, PERCH_CAUSE_IOCTL_BPF_QUERY, "type",
	       "a tracepoint");
	REFUSE(&event, PERCH_IOC_SET_BPF, 99999, EBADF, PERCH_CAUSE_IOCTL_BPF, "argument", "99999");
	close_event(&event);
	close_event(&software);
}

/* ---- read ---- */

static void refuse_read(const struct event *event, void *buffer, size_t size, int errnum,
			enum perch_cause cause, const char *field, const char *words)
{
	const struct perch_operation op = { .kind = PERCH_OPERATION_READ,
					    .size = size,
					    .other_fd = -1 };

	if (read(event->fd, buffer, size) >= 0 || errno != errnum)
		fail_msg("%s: read gave %s", words, strerror(errno));
	expect(op, event, errnum, cause, field, words);
}

/* The size in the remedy is enough, and one byte less is not. */
static void reads(void **state)
{
	struct event event, member;
	uint64_t words[64];
	char text[64];

	(void)state;
	for (uint64_t format = 0; format < PERCH_FORMAT_MAX; format++) {
		size_t need;

		event = open_event((struct perch_attr){ .type = PERCH_TYPE_SOFTWARE,
							.read_format = format & ~16ull });
		member = (struct event){ .attr = event.attr };
		member.fd = open_raw(&member.attr, 0, -1, event.fd, 0);
		assert_true(member.fd >= 0);
		event.group_size = 2;
		refuse_read(&event, words, 7, ENOSPC, PERCH_CAUSE_READ_SHORT, "size", "7 bytes");
		assert_int_equal(sscanf(answer.finding[0].remedy, "pass a buffer of at least %zu",
					&need),
				 1);
		snprintf(text, sizeof(text), "needs %zu bytes", need);
		refuse_read(&event, words, need - 1, ENOSPC, PERCH_CAUSE_READ_SHORT, "size", text);
		assert_int_equal(read(event.fd, words, need), need);
		close_event(&member);
		close_event(&event);
	}
	event = open_event((struct perch_attr){ .type = PERCH_TYPE_SOFTWARE });
	refuse_read(&event, (void *)8, 8, EFAULT, PERCH_CAUSE_READ_POINTER, "argument",
		    "not writable");
	close_event(&event);
	refuse_read(&event, words, 8, EBADF, PERCH_CAUSE_NOT_AN_EVENT, "fd", "not open");
}

static int setup(void **state)
{
	(void)state;
	page = sysconf(_SC_PAGESIZE);
	return perch_machine_new(&machine, NULL, NULL, NULL);
}

static int teardown(void **state)
{
	(void)state;
	perch_machine_free(machine);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings),
		cmocka_unit_test(redirected_rings),
		cmocka_unit_test(aux_areas),
		cmocka_unit_test(unmapped_parts),
		cmocka_unit_test(locked_memory),
		cmocka_unit_test(requests),
		cmocka_unit_test(refresh_and_period),
		cmocka_unit_test(outputs),
		cmocka_unit_test(output_of_another_thread),
		cmocka_unit_test(filters),
		cmocka_unit_test(programs),
		cmocka_unit_test(reads),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

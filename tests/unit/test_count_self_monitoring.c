/* SPDX-License-Identifier: MIT */
/* Self-monitoring reads (rdpmc): the arithmetic on artificial pages, and the fallback to read(2).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/wide.h"
#include "count/user_pages.h"
#include "tree.h"

static struct perch_mmap_page page;
static uint64_t in_register, in_clock;
static uint32_t requested_index;
static int reads, changes_left;

/* Changes the lock and the offset while the counter is read, as the kernel does in an interrupt. */
static bool read_counter(uint32_t index, uint64_t *value)
{
	reads++;
	requested_index = index;
	*value = in_register;
	if (changes_left) {
		changes_left--;
		page.lock += 2;
		page.offset += 1000;
	}
	return index && index != 99;
}

static uint64_t read_clock(void)
{
	return in_clock;
}

static int setup(void **state)
{
	(void)state;
	memset(&page, 0, sizeof(page));
	page.lock = 6;
	page.index = 3;
	page.cap_user_rdpmc = page.cap_user_time = 1;
#ifdef __aarch64__
	page.cap_user_time_short = 1;
	page.time_mask = UINT64_MAX;
#endif
	page.pmc_width = 48;
	page.time_mult = 1;
	in_register = in_clock = requested_index = reads = changes_left = 0;
	return 0;
}

static enum perch__rdpmc_state read_page(uint64_t words[3])
{
	return perch__page_read(&page, words, read_counter, read_clock);
}

static void values_are_signed(void **state)
{
	static const struct {
		unsigned width;
		uint64_t in_register;
		int64_t offset;
		uint64_t value;
	} cases[] = {
		{ 48, 5, 100, 105 },
		{ 48, 0xffffffffffff, 100, 99 },	     /* -1 */
		{ 48, 0x800000000000, INT64_C(1) << 47, 0 }, /* the smallest value */
		{ 48, 0x7fffffffffff, 1, UINT64_C(1) << 47 },
		{ 40, 0xfffffffffe, 10, 8 },
		{ 40, 0x7fffffffff, 0, 0x7fffffffff },
		/* bits above the width are ignored */
		{ 40, 0xab7f00000001, 0, 0x7f00000001 },
		{ 32, 0xffffffff, 0x100000000, 0xffffffff },
		{ 32, 0x80000000, 0x80000000, 0 },
		{ 64, 0xfffffffffffffff0, 0x20, 0x10 },
		{ 64, 0x123456789abcdef0, 0, 0x123456789abcdef0 },
		/* after a reset the kernel's copy is unsigned: offset is -0x80001000 or
		   -0xffff00000000 */
		{ 32, 0x80001234, -INT64_C(0x80001000), 0x234 },
		{ 48, 0xffff00000077, -INT64_C(0xffff00000000), 0x77 },
	};
	uint64_t words[3];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		page.pmc_width = cases[i].width;
		page.offset = cases[i].offset;
		in_register = cases[i].in_register;
		assert_int_equal(read_page(words), PERCH__RDPMC_USED);
		if (words[0] != cases[i].value)
			fail_msg("case %zu: %#llx", i, (unsigned long long)words[0]);
	}
	assert_int_equal(requested_index, 3);
	/* every width has a defined result */
	for (unsigned width = 0; width < 200; width++)
		(void)perch__sign_extend(0x123456789abcdef0, width);
}

static void times_advance(void **state)
{
	uint64_t words[3];

	(void)state;
	page.time_enabled = 5000;
	page.time_running = 3000;
	/* the page was written at clock 7 << 20; 1 ns per tick */
	page.time_offset = -(UINT64_C(7) << 20);
	in_clock = (7 << 20) + 250;
	assert_int_equal(read_page(words), PERCH__RDPMC_USED);
	assert_int_equal(words[1], 5250);
	assert_int_equal(words[2], 3250);
	/* 2.5 GHz: 0.4 ns per tick; the product has more than 64 bits */
	page.time_shift = 31;
	page.time_mult = 858993459;
	page.time_offset = 0;
	in_clock = UINT64_C(1) << 60;
	assert_int_equal(read_page(words), PERCH__RDPMC_USED);
	assert_true(words[1] - 5000 ==
		    perch__divide_product(in_clock, page.time_mult, 0, UINT64_C(1) << 31));
	assert_true(words[1] - words[2] == 2000);
	/* a clock that is slower than the kernel's: times are less than in the page */
	page.time_shift = 0;
	page.time_mult = 1;
	page.time_offset = -UINT64_C(100);
	in_clock = 90;
	assert_int_equal(read_page(words), PERCH__RDPMC_USED);
	assert_int_equal(words[1], 4990);
}

static void short_clocks_wrap(void **state)
{
	uint64_t words[3];

	(void)state;
	page.cap_user_time_short = 1;
	page.time_mask = 0xffffffff;
	page.time_cycles = 0x3fffffff0; /* 34 bits, more than the clock has */
	page.time_offset = -UINT64_C(0x3fffffff0);
	in_clock = 0x10; /* wrapped since */
	assert_int_equal(read_page(words), PERCH__RDPMC_USED);
	assert_int_equal(words[1], 0x20);
	in_clock = 0xfffffff8; /* not wrapped */
	assert_int_equal(read_page(words), PERCH__RDPMC_USED);
	assert_int_equal(words[1], 8);
	page.cap_user_time_short = PERCH__ALWAYS_SHORT;
	page.time_mask = UINT64_MAX;
	in_clock = 0x3fffffff8;
	assert_int_equal(read_page(words), PERCH__RDPMC_USED);
	assert_int_equal(words[1], 8);
}

static void a_changing_page_is_read_again(void **state)
{
	uint64_t words[3];

	(void)state;
	in_register = 5;
	changes_left = 3;
	assert_int_equal(read_page(words), PERCH__RDPMC_USED);
	assert_int_equal(reads, 4);
	assert_int_equal(words[0], 3005); /* of the last attempt */
	reads = 0;
	changes_left = 1000;
	assert_int_equal(read_page(words), PERCH__RDPMC_BUSY);
	assert_int_equal(reads, PERCH__RDPMC_TRIES);
	changes_left = 0;
	page.lock = 7; /* odd: being written */
	assert_int_equal(read_page(words), PERCH__RDPMC_BUSY);
}

static void pages_without_counter_or_clock(void **state)
{
	uint64_t words[3];

	(void)state;
	page.index = 0;
	assert_int_equal(read_page(words), PERCH__RDPMC_OFF_PMU);
	page.index = 99;
	assert_int_equal(read_page(words), PERCH__RDPMC_NO_REGISTER);
	page.index = 3;
	page.cap_user_time = page.cap_user_time_short = 0;
	assert_int_equal(read_page(words), PERCH__RDPMC_NO_CLOCK);
	page.cap_user_rdpmc = 0;
	assert_int_equal(read_page(words), PERCH__RDPMC_FORBIDDEN);
}

/* The masks match the bits of the struct. */
static void capability_masks_match_the_struct(void **state)
{
	struct perch_mmap_page can = { 0 };

	(void)state;
	can.cap_user_rdpmc = 1;
	assert_true(can.capabilities == PERCH__CAN_READ);
	can.capabilities = 0;
	can.cap_user_time = 1;
	assert_true(can.capabilities == PERCH__CAN_TIME);
	can.capabilities = 0;
	can.cap_user_time_short = 1;
	assert_true(can.capabilities == PERCH__CAN_TIME_SHORT);
}

/* ---- several pages ---- */

static struct perch_mmap_page member_page[3];
static int stops_left;

/* Each register has 10 times its index. While the last one is read the group leaves the PMU and
 * comes back: the kernel writes all pages. */
static bool read_member(uint32_t index, uint64_t *value)
{
	reads++;
	*value = 10 * index;
	if (index == 3 && stops_left) {
		stops_left--;
		for (size_t i = 0; i < 3; i++) {
			member_page[i].lock += 2;
			member_page[i].offset += 1000;
		}
	}
	return index;
}

static enum perch__rdpmc_state read_members(struct perch_count counts[6], uint64_t times[2])
{
	const struct perch_mmap_page *pages[6] = { &member_page[0], NULL, &member_page[1], NULL,
						   &member_page[2], NULL };

	return perch__user_pages_read(pages, 2, 3, counts, times, read_member, read_clock);
}

/* As in a set with two targets: every second count. Times are those of the leader. */
static void members_are_read_at_one_time(void **state)
{
	const struct perch__base base = { 100, 100 };
	struct perch_count counts[6] = { 0 };
	uint64_t times[2];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		member_page[i] = page;
		member_page[i].index = i + 1;
		member_page[i].time_enabled = member_page[i].time_running = 500 + i;
	}
	stops_left = 2;
	in_clock = 7;
	assert_int_equal(read_members(counts, times), PERCH__RDPMC_USED);
	assert_int_equal(reads, 9);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(counts[2 * i].value, 2000 + 10 * (i + 1));
		assert_int_equal(counts[2 * i + 1].value, 0);
	}
	assert_int_equal(times[0], 507);
	assert_int_equal(times[1], 507);
	perch__user_pages_count(&counts[0], times, 9, &base);
	assert_int_equal(counts[0].state, PERCH_COUNT_STATE_EXACT);
	assert_int_equal(counts[0].enabled_ns, 407);
	assert_int_equal(counts[0].scaled, 2010);
	assert_int_equal(counts[0].id, 9);
	stops_left = 1000;
	assert_int_equal(read_members(counts, times), PERCH__RDPMC_BUSY);
	stops_left = 0;
	member_page[1].index = 0;
	assert_int_equal(read_members(counts, times), PERCH__RDPMC_OFF_PMU);
}

/* A replayed kernel: all events share one page, and read(2) returns 77. */
static struct {
	struct perch_mmap_page *page; /* the last one that was mapped */
	int maps, unmaps, reads, map_errno, good_maps, opened, refuse_first;
	size_t mapped;
	uint64_t config1[4];
} kernel;

static int replay_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
		       int group_fd, unsigned long flags)
{
	(void)context, (void)pid, (void)cpu, (void)group_fd, (void)flags;
	kernel.config1[kernel.opened++ & 3] = attr->config1;
	if (kernel.opened <= kernel.refuse_first) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return 1000;
}

static int replay_control(void *context, int fd, unsigned long request, unsigned long argument)
{
	(void)context, (void)fd;
	if (request == PERCH_IOC_ID)
		*(uint64_t *)argument = 4711;
	return 0;
}

static ssize_t replay_read(void *context, int fd, void *buffer, size_t size)
{
	const uint64_t words[] = { 77, 10, 10, 4711 };

	(void)context, (void)fd;
	kernel.reads++;
	memcpy(buffer, words, size < sizeof(words) ? size : sizeof(words));
	return size;
}

static void *replay_map(void *context, size_t size, int protection, int flags, int fd,
			int64_t offset)
{
	(void)context;
	assert_int_equal(protection, PROT_READ);
	assert_int_equal(flags, MAP_SHARED);
	assert_int_equal(offset, 0);
	assert_int_equal(fd, 1000);
	kernel.maps++;
	kernel.mapped = size;
	if (kernel.map_errno && kernel.maps > kernel.good_maps) {
		errno = kernel.map_errno;
		return MAP_FAILED;
	}
	kernel.page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return kernel.page;
}

static int replay_unmap(void *context, void *address, size_t size)
{
	(void)context;
	kernel.unmaps++;
	return munmap(address, size);
}

static int replay_close(void *context, int fd)
{
	(void)context, (void)fd;
	return 0;
}

static const struct perch_syscalls calls = {
	.perf_event_open = replay_open,
	.ioctl = replay_control,
	.read = replay_read,
	.mmap = replay_map,
	.munmap = replay_unmap,
	.close = replay_close,
};
static struct perch_machine *machine;

static int setup_kernel(void **state)
{
	(void)state;
	memset(&kernel, 0, sizeof(kernel));
	return perch_machine_new(&machine, "/nowhere", &calls, NULL);
}

static int teardown_kernel(void **state)
{
	(void)state;
	assert_int_equal(kernel.unmaps, kernel.maps - !!kernel.map_errno);
	perch_machine_free(machine);
	return 0;
}

static struct perch_counter *open_counter(const char *text, const struct perch_target *target,
					  uint64_t read_format)
{
	struct perch_options options = { .machine = machine,
					 .self_monitoring = 1,
					 .read = read_format };
	struct perch_counter *counter;
	struct perch_error err;

	if (perch_counter_open(&counter, text, target, &options, &err))
		fail_msg("%s", err.message);
	return counter;
}

static void uses_read_when_not_on_the_pmu(void **state)
{
	struct perch_counter *counter = open_counter("cycles:u", NULL, PERCH_FORMAT_ID);
	struct perch_count count;
	struct perch_error err;

	(void)state;
#if PERCH__RDPMC_ARCH
	assert_int_equal(kernel.maps, 1);
	assert_int_equal(kernel.mapped, sysconf(_SC_PAGESIZE));
	assert_false(perch_counter_self_monitoring(counter, &err));
	assert_non_null(strstr(err.message, "the counter was not read yet"));
	assert_int_equal(perch_counter_read(counter, &count, NULL), 0);
	assert_false(perch_counter_self_monitoring(counter, &err));
	/* a page of zeros has no capability */
	assert_int_equal(err.kind, PERCH_ERROR_PRIVILEGE);
	kernel.page->cap_user_rdpmc = kernel.page->cap_user_time =
		kernel.page->cap_user_time_short = 1;
	assert_int_equal(perch_counter_read(counter, &count, NULL), 0);
	assert_false(perch_counter_self_monitoring(counter, &err));
	assert_int_equal(err.kind, PERCH_ERROR_SCHEDULE);
	assert_non_null(strstr(err.message, "cycles:u"));
	assert_int_equal(kernel.reads, 2);
#else
	assert_int_equal(perch_counter_read(counter, &count, NULL), 0);
	assert_false(perch_counter_self_monitoring(counter, &err));
	assert_int_equal(err.kind, PERCH_ERROR_NOT_SUPPORTED);
#endif
	assert_int_equal(count.value, 77);
	assert_int_equal(count.id, 4711);
	perch_counter_close(counter);
}

static void *read_in_thread(void *given)
{
	struct perch_count count;

	return perch_counter_read(given, &count, NULL) || count.value != 77 ? given : NULL;
}

/* Another thread may be on another CPU and must not read the register: without the capability the
 * instruction would kill the test. */
static void other_threads_use_read_and_children_are_refused(void **state)
{
	struct perch_counter *counter = open_counter("cycles:u", NULL, 0);
	struct perch_count count;
	struct perch_error err;
	pthread_t thread;
	void *failed;
	int status;
	pid_t pid;

	(void)state;
	if (kernel.page) {
		kernel.page->cap_user_rdpmc = kernel.page->cap_user_time =
			kernel.page->cap_user_time_short = 1;
		kernel.page->index = 1;
		/* like the kernel's pages */
		madvise(kernel.page, kernel.mapped, MADV_DONTFORK);
	}
	assert_int_equal(pthread_create(&thread, NULL, read_in_thread, counter), 0);
	assert_int_equal(pthread_join(thread, &failed), 0);
	assert_null(failed);
	assert_int_equal(kernel.reads, 1);
	assert_false(perch_counter_self_monitoring(counter, &err));
	if (kernel.page)
		assert_non_null(strstr(err.message, "another thread"));
	pid = fork();
	if (!pid) {
		status = perch_counter_read(counter, &count, NULL) != -ESTALE;
		perch_counter_close(counter);
		_exit(status);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	perch_counter_close(counter);
}

static void reports_why_there_is_no_page(void **state)
{
	static const struct perch_target other_process = { .tid = 1, .cpu = -1 };
	struct perch_options options = { .machine = machine };
	struct perch_counter *counter;
	struct perch_count count;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_counter_open(&counter, "cycles", NULL, &options, &err), 0);
	assert_int_equal(perch_counter_read(counter, &count, NULL), 0);
	assert_false(perch_counter_self_monitoring(counter, &err));
	assert_int_equal(err.kind, PERCH_ERROR_USAGE);
	assert_false(perch_counter_self_monitoring(counter, NULL));
	perch_counter_close(counter);
#if PERCH__RDPMC_ARCH
	static const struct {
		const char *text, *sentence;
		bool other;
		uint64_t read_format;
	} cases[] = {
		{ "page-faults", "the kernel counts this event, not", false, 0 },
		{ "cycles", "only events of the calling thread", true, 0 },
		{ "cycles", "PERCH_FORMAT_LOST", false, PERCH_FORMAT_LOST },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		counter = open_counter(cases[i].text, cases[i].other ? &other_process : NULL,
				       cases[i].read_format);
		assert_int_equal(perch_counter_read(counter, &count, NULL), 0);
		assert_int_equal(count.value, 77);
		assert_false(perch_counter_self_monitoring(counter, &err));
		if (!strstr(err.message, cases[i].sentence))
			fail_msg("%s", err.message);
		perch_counter_close(counter);
	}
	assert_int_equal(kernel.maps, 0);
	kernel.map_errno = EPERM;
	counter = open_counter("cycles", NULL, 0);
	assert_int_equal(perch_counter_read(counter, &count, NULL), 0);
	assert_false(perch_counter_self_monitoring(counter, &err));
	assert_int_equal(err.errnum, EPERM);
	perch_counter_close(counter);
#else
	(void)other_process;
#endif
}

/* read(2) of the replayed kernel has one format, so groups are read separately. */
static struct perch_group *open_group(const char *text)
{
	struct perch_options options = { .machine = machine, .self_monitoring = 1 };
	struct perch_group *group;
	struct perch_error err;

	if (perch_group_open(&group, text, NULL, &options, &err))
		fail_msg("%s", err.message);
	return group;
}

static void groups_have_a_page_for_each_member(void **state)
{
	struct perch_group *group = open_group("{cycles:u,instructions:u}");
#if PERCH__RDPMC_ARCH
	struct perch_error err;

	assert_int_equal(kernel.maps, 2);
	assert_false(perch_group_self_monitoring(group, &err));
	assert_non_null(strstr(err.message, "not read yet"));
	/* a member that cannot join: the others keep their pages */
	assert_int_equal(perch_group_add(group, "page-faults:u", NULL, &err), -EIO);
	assert_int_equal(kernel.maps, 2);
	assert_int_equal(kernel.unmaps, 0);
	assert_false(perch_group_self_monitoring(group, &err));
	assert_non_null(strstr(err.message, "not read yet"));
#endif
	(void)state;
	perch_group_close(group);
}

static void groups_report_the_member_that_has_no_page(void **state)
{
	struct perch_group *group = open_group("{cycles:u,page-faults:u}");
#if PERCH__RDPMC_ARCH
	struct perch_error err;

	assert_int_equal(kernel.maps, 0);
	assert_false(perch_group_self_monitoring(group, &err));
	assert_non_null(strstr(err.message, "'page-faults:u'"));
	perch_group_close(group);
	kernel.map_errno = EPERM;
	kernel.good_maps = 1;
	group = open_group("{cycles:u,instructions:u}");
	assert_int_equal(kernel.unmaps, 1);
	assert_false(perch_group_self_monitoring(group, &err));
	assert_int_equal(err.errnum, EPERM);
	assert_non_null(strstr(err.message, "'instructions:u'"));
#endif
	(void)state;
	perch_group_close(group);
}

static void sets_have_pages_on_the_calling_thread_only(void **state)
{
	struct perch_target target[] = { { .tid = 0, .cpu = -1 },
					 { .tid = 1, .cpu = -1 },
					 { .tid = gettid(), .cpu = -1 } };
	const struct perch_targets targets = { .nr = 3, .target = target };
	struct perch_options options = { .machine = machine, .self_monitoring = 1 };
	struct perch_events events = { 0 };
	struct perch_set *set;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_events_parse(&events, "cycles:u,page-faults:u,instructions:u",
					    machine, NULL),
			 0);
	assert_int_equal(perch_set_open(&set, &events, &targets, &options, &err), 0);
#if PERCH__RDPMC_ARCH
	static const struct {
		size_t event, target;
		const char *before, *after;
	} cases[] = {
		{ 0, 0, "not read yet", "does not allow" },
		{ 0, 1, "only events of the calling thread", "only events of the calling thread" },
		{ 0, 2, "not read yet", "does not allow" },
		{ 1, 0, "the kernel counts this event", "the kernel counts this event" },
		{ 2, 2, "not read yet", "does not allow" },
		{ 3, 0, "is not open", "is not open" },
		{ 0, 3, "is not open", "is not open" },
	};
	struct perch_count counts[9];

	assert_int_equal(kernel.maps, 4);
	for (size_t after = 0; after < 2; after++) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			assert_false(perch_set_self_monitoring(set, cases[i].event, cases[i].target,
							       &err));
			if (!strstr(err.message, after ? cases[i].after : cases[i].before))
				fail_msg("case %zu: %s", i, err.message);
		}
		assert_int_equal(perch_set_read(set, counts, 9, &err), 0);
	}
	/* pages of zeros have no capability: all counts are those of read(2) */
	assert_int_equal(kernel.reads, 18);
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(counts[i].value, 77);
#endif
	perch_set_close(set);
	/* of a group on one target, one page cannot be mapped */
	perch_events_clear(&events);
	kernel.map_errno = EPERM;
	kernel.good_maps = kernel.maps + 1;
	assert_int_equal(perch_events_parse(&events, "{cycles:u,instructions:u}", machine, NULL),
			 0);
	assert_int_equal(perch_set_open(&set, &events, NULL, &options, &err), 0);
#if PERCH__RDPMC_ARCH
	assert_int_equal(kernel.unmaps, kernel.maps - 1);
	assert_false(perch_set_self_monitoring(set, 0, 0, &err));
	assert_int_equal(err.errnum, EPERM);
#endif
	perch_set_close(set);
	perch_events_clear(&events);
#if !PERCH__RDPMC_ARCH
	kernel.map_errno = 0;
#endif
}

/* The remedies for core PMUs do not help for other PMUs. */
static void no_remedy_for_other_pmus(void **state)
{
	static const struct tree_file files[] = {
		{ "/sys/bus/event_source/devices/apart/type", "40\n" },
		{ "/sys/bus/event_source/devices/cpu/type", "41\n" },
		{ "/sys/bus/event_source/devices/cpu/caps/max_precise", "3\n" },
	};
	struct perch_machine *other;
	struct perch_error err;
	char root[PATH_MAX];

	(void)state;
	tree_make(root, files, sizeof(files) / sizeof(files[0]));
	assert_int_equal(perch_machine_new(&other, root, &perch_kernel_syscalls, NULL), 0);
	assert_int_equal(perch__rdpmc_cause(PERCH__RDPMC_FORBIDDEN, 40, other),
			 PERCH__RDPMC_NO_CORE);
	assert_int_equal(perch__rdpmc_cause(PERCH__RDPMC_OFF_PMU, 40, other), PERCH__RDPMC_NO_CORE);
	assert_int_equal(perch__rdpmc_cause(PERCH__RDPMC_FORBIDDEN, 41, other),
			 PERCH__RDPMC_FORBIDDEN);
	assert_int_equal(perch__rdpmc_cause(PERCH__RDPMC_FORBIDDEN, PERCH_TYPE_HARDWARE, other),
			 PERCH__RDPMC_FORBIDDEN);
	assert_int_equal(perch__rdpmc_cause(PERCH__RDPMC_NOT_SELF, 40, other),
			 PERCH__RDPMC_NOT_SELF);
	assert_int_equal(perch__rdpmc_cause(PERCH__RDPMC_USED, 40, other), PERCH__RDPMC_USED);
	assert_false(perch__rdpmc_report(PERCH__RDPMC_NO_CORE, 0, "apart/x/", &err));
	assert_non_null(strstr(err.message, "only hardware counters of the CPU's cores"));
	assert_string_equal(err.remedy, "");
	perch_machine_free(other);
	tree_remove(root);
}

int main(void)
{
#define PAGE(name) cmocka_unit_test_setup(name, setup)
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup_kernel, teardown_kernel)
	const struct CMUnitTest tests[] = {
		PAGE(values_are_signed),
		PAGE(times_advance),
		PAGE(short_clocks_wrap),
		PAGE(a_changing_page_is_read_again),
		PAGE(pages_without_counter_or_clock),
		PAGE(capability_masks_match_the_struct),
		PAGE(members_are_read_at_one_time),
		CASE(uses_read_when_not_on_the_pmu),
		CASE(other_threads_use_read_and_children_are_refused),
		CASE(reports_why_there_is_no_page),
		CASE(groups_have_a_page_for_each_member),
		CASE(groups_report_the_member_that_has_no_page),
		CASE(sets_have_pages_on_the_calling_thread_only),
		cmocka_unit_test(no_remedy_for_other_pmus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

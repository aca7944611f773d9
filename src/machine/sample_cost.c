/* SPDX-License-Identifier: MIT */
/*
 * What one sample of a timer (cpu-clock, task-clock) costs. On hardware it takes a microsecond, in
 * a virtual machine whose timer traps to the hypervisor 10 to 50 us: more than the shortest period
 * that the kernel allows (10 us), so that a timer of that period leaves no time for anything else.
 *
 * The thread reads a clock again and again while a timer of its own interrupts it. A step of the
 * clock in which the head of the ring has moved contains one sample with all that the thread does
 * not see: the exits to the hypervisor before and after the interrupt. The lower quartile leaves
 * out steps in which other interrupts, threads or virtual machines ran: 15 samples of 14 us had a
 * median of 298 us on a machine with a load of 17. A large result is measured again.
 *
 * Between two looks at the clock the thread reads the head of the ring, in user space, for longer
 * than a look takes: where the vDSO does not have the clock, each look is a system call, which may
 * trap to the hypervisor. The timer takes no samples in the kernel, which most users may not
 * sample, and would take too few.
 *
 * The kernel itself ends the measurement: it disables the event after SAMPLES samples, also if the
 * thread gets no time to do so. Until then the timer takes at most one CPU, for SAMPLES samples.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define SAMPLES	     15
#define LEAST	     5	   /* below this number they say nothing */
#define ROUNDS	     3	   /* at most */
#define CHEAP_NS     25000 /* a tenth of the CPU time at 4000 samples per second */
#define PERIOD_NS    100000
#define PREEMPTED_NS 1000000 /* a step in which other threads ran */
#define MOST_LOOKS   (1u << 20)
#define MOST_RUN_NS  30000000	/* the kernel may throttle the timer */
#define MOST_NS	     1000000000 /* the thread may get little CPU time */

/* The fields of samples that take time. */
#define COSTLY                                                                       \
	(PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_REGS_USER | PERCH_SAMPLE_STACK_USER | \
	 PERCH_SAMPLE_REGS_INTR)

static uint64_t cpu_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Each call takes as long as any other. */
static uint64_t read_head(const struct perch_mmap_page *page, unsigned looks)
{
	uint64_t head;

	do
		head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	while (--looks);
	return head;
}

/* The number of looks at the head that take at least twice as long as one at the clock. */
static unsigned choose_looks(const struct perch_mmap_page *page)
{
	uint64_t clock = UINT64_MAX, start, passed;
	unsigned looks = 16;

	for (int i = 0; i < 5; i++) {
		start = cpu_ns();
		passed = cpu_ns() - start;
		clock = passed < clock ? passed : clock;
	}
	for (; looks < MOST_LOOKS; looks *= 2) {
		start = cpu_ns();
		read_head(page, looks);
		passed = cpu_ns() - start;
		if (passed >= 3 * clock)
			break;
	}
	return looks;
}

/* A sample lies in the step before or after the look at the head. Returns the number of samples. */
static size_t take_steps(struct perch_mmap_page *page, unsigned looks, uint64_t step[SAMPLES])
{
	uint64_t start = cpu_ns(), last = start, before = 0, least = UINT64_MAX, seen = 0, run = 0;
	size_t nr = 0;

	while (nr < SAMPLES && run < MOST_RUN_NS && last - start < MOST_NS) {
		uint64_t head = read_head(page, looks), time = cpu_ns(), passed = time - last;

		run += passed < PREEMPTED_NS ? passed : 0;
		least = passed < least ? passed : least;
		if (head != seen) {
			step[nr++] = passed > before ? passed : before;
			__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
		}
		seen = head;
		before = passed;
		last = time;
	}
	for (size_t i = 0; i < nr; i++)
		step[i] -= least < step[i] ? least : step[i];
	return nr;
}

static void make_attr(struct perch_attr *attr, const struct perch_attr *like)
{
	*attr = (struct perch_attr){
		.type = PERCH_TYPE_SOFTWARE,
		.size = PERCH_ATTR_SIZE_VER5,
		.config = PERCH_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD_NS,
		.sample_type = PERCH_SAMPLE_TIME,
		.disabled = 1,
		.exclude_kernel = 1, /* each user may sample user space */
		.exclude_hv = 1,
	};
	if (!like)
		return;
	attr->sample_type |= like->sample_type & COSTLY;
	attr->sample_regs_user = like->sample_regs_user;
	attr->sample_regs_intr = like->sample_regs_intr;
	attr->sample_stack_user = like->sample_stack_user;
	attr->sample_max_stack = like->sample_max_stack;
	attr->exclude_callchain_user = like->exclude_callchain_user;
	attr->exclude_callchain_kernel = like->exclude_callchain_kernel;
}

/* Pages after the control page: a power of two, for two samples. */
static size_t ring_size(const struct perch_attr *attr)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	while (size < 2 * (attr->sample_stack_user + 4096ull))
		size *= 2;
	return size + (size_t)sysconf(_SC_PAGESIZE);
}

/* The stack that samples copy exists. The kernel copies less than 64 KB. */
static size_t take_steps_below(struct perch_mmap_page *page, unsigned looks, uint64_t step[SAMPLES])
{
	char bytes[UINT16_MAX];

	memset(bytes, 0, sizeof(bytes));
	__asm__ volatile("" : : "r"(bytes) : "memory");
	return take_steps(page, looks, step);
}

/* Returns ns, or a negative errno. */
static int64_t measure_cost(const struct perch_attr *attr, const struct perch_syscalls *calls)
{
	uint64_t step[SAMPLES];
	struct perch_mmap_page *page;
	const size_t size = ring_size(attr);
	unsigned looks = 0;
	size_t nr = 0;
	int fd, error;

	fd = calls->perf_event_open(calls->context, attr, 0, -1, -1, PERCH_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	page = calls->mmap(calls->context, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	error = page == MAP_FAILED ? errno : 0;
	if (!error)
		looks = choose_looks(page);
	if (!error && calls->ioctl(calls->context, fd, PERCH_IOC_REFRESH, SAMPLES) < 0)
		error = errno;
	if (!error)
		nr = attr->sample_stack_user ? take_steps_below(page, looks, step)
					     : take_steps(page, looks, step);
	if (page != MAP_FAILED)
		calls->munmap(calls->context, page, size);
	calls->close(calls->context, fd);
	if (error || nr < LEAST)
		return error ? -error : -EAGAIN;
	qsort(step, nr, sizeof(step[0]), by_size);
	return (int64_t)step[nr / 4];
}

/* Returns the least of several rounds, or a negative errno. */
static int64_t measure_rounds(const struct perch_attr *attr, const struct perch_syscalls *calls)
{
	int64_t least = -EAGAIN;

	for (int i = 0; i < ROUNDS && (i == 0 || least > CHEAP_NS || least == -EAGAIN); i++) {
		int64_t found = measure_cost(attr, calls);

		if (least < 0 || (found >= 0 && found < least))
			least = found;
	}
	return least;
}

int perch_machine_sample_cost(struct perch_machine *machine, const struct perch_attr *like,
			      uint64_t *ns, struct perch_error *err)
{
	struct perch_attr attr;
	int64_t found;

	*ns = 0;
	make_attr(&attr, like);
	if (machine && machine->sample_cost.ns && machine->sample_cost.fields == attr.sample_type &&
	    machine->sample_cost.stack == attr.sample_stack_user) {
		*ns = machine->sample_cost.ns;
		return 0;
	}
	found = measure_rounds(&attr, perch_machine_syscalls(machine));
	if (found < 0)
		return perch_error_set(err, (int)-found, PERCH_ERROR_SYSTEM,
				       "what a sample costs here is unknown: %s",
				       found == -EAGAIN ? "the timer that asks took no samples"
							: strerror((int)-found));
	*ns = found ? (uint64_t)found : 1;
	if (machine) {
		machine->sample_cost.fields = attr.sample_type;
		machine->sample_cost.stack = attr.sample_stack_user;
		machine->sample_cost.ns = *ns;
	}
	return 0;
}

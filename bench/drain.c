/* SPDX-License-Identifier: MIT */
/*
 * Live draining beside a bare loop that only advances the tail, and one that also reads a word of each cache line, which
 * is the least that anybody pays who looks at what came: what is lost, and what a record costs. A child on one CPU
 * makes events as fast as it can, one record each; the reader is on another CPU. Where the bare loop loses some, the
 * child is slowed down until that loses none: that is the rate for all. The sides take turns; the least of the rounds counts,
 * as what is beyond it was somebody else's. Then: snapshots of an overwrite ring of 8 MB.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <perch/ring.h>

#define RECORDS 1000000
#define ROUNDS 7
#define RING_PAGES 2048
#define SHOT_BYTES (8u << 20)
#define SHOTS 21
#define RECORD 40		/* bytes of a sample: header IP TID TIME CPU */
#define LINE 64			/* bytes of a cache line */

enum side { BARE, TOUCH, DRAIN, NEXT, IN_TIME, SIDES };
static const char *const side_names[SIDES] = { "bare", "touch", "drain", "next", "in time" };

static int writer_cpu, reader_cpu;
static const char *event_name;
static unsigned pause_spins;		/* of the child, between two events */
static volatile unsigned sink;

struct costs {
	double reader_ns, both_ns;	/* CPU time for each record */
	double rate;			/* records a second */
	uint64_t lost, records;
	int losing;			/* rounds that lost some */
};

static void must(bool done, const char *what)
{
	if (done)
		return;
	fprintf(stderr, "%s failed: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static double cpu_ns(const struct rusage *usage)
{
	return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1e9 + (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1e3;
}

static void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity(2)");
}

/* The first and the last of the CPUs that we may run on. */
static void choose_cpus(void)
{
	cpu_set_t set;

	must(!sched_getaffinity(0, sizeof(set), &set), "sched_getaffinity(2)");
	for (writer_cpu = 0; !CPU_ISSET(writer_cpu, &set);)
		writer_cpu++;
	for (reader_cpu = CPU_SETSIZE - 1; !CPU_ISSET(reader_cpu, &set);)
		reader_cpu--;
}

static void rest(void)
{
	for (unsigned i = 0; i < pause_spins; i++)
		sink = i;
}

static void make_calls(size_t nr)
{
	for (size_t i = 0; i < nr; i++, rest())
		syscall(SYS_getppid);
}

static void make_faults(size_t nr)
{
	size_t page = sysconf(_SC_PAGESIZE), pages = 1024;
	char *memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(memory != MAP_FAILED, "mmap(2)");
	madvise(memory, pages * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < nr; i++, rest()) {
		((volatile char *)memory)[i % pages * page] = 1;
		if (i % pages == pages - 1)
			madvise(memory, pages * page, MADV_DONTNEED);
	}
}

static void make_events(size_t nr)
{
	if (!strcmp(event_name, "page-faults"))
		make_faults(nr);
	else
		make_calls(nr);
}

struct child {
	pid_t pid;
	int go[2];
};

static void start_child(struct child *child, size_t nr)
{
	char byte;

	must(!pipe(child->go), "pipe(2)");
	child->pid = fork();
	must(child->pid >= 0, "fork(2)");
	if (child->pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pin_to(writer_cpu);
	if (read(child->go[0], &byte, 1) == 1)
		make_events(nr);
	_exit(0);
}

static struct perch_options event_options(void)
{
	return (struct perch_options){
		.period = 1, .sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_CPU,
		.read = PERCH_FORMAT_LOST, .sample_id_all = 1,
	};
}

static void touch_lines(const struct perch_mmap_page *control, uint64_t head)
{
	const char *data = (const char *)control + sysconf(_SC_PAGESIZE);
	uint64_t mask = RING_PAGES * (uint64_t)sysconf(_SC_PAGESIZE) - 1, sum = 0;

	for (uint64_t at = control->data_tail; at < head; at += LINE)
		sum += *(const uint64_t *)(data + (at & mask));
	sink = (unsigned)sum;
}

/* The same event and the same size of ring, by hand. */
static uint64_t read_by_hand(enum side side, pid_t pid, const struct child *child, double *cpu)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct perch_target target = { pid, writer_cpu, 0 };
	struct perch_options options = event_options();
	struct perch_events events = { 0 };
	struct rusage before, after;
	struct perch_mmap_page *control;
	struct perch_error err;
	struct perch_attr attr;
	uint64_t values[8];
	struct pollfd polled;
	int fd;

	must(perch_events_parse(&events, event_name, NULL, &err) >= 0, event_name);
	must(perch_attr_build(&attr, &events.event[0], &options, &err) >= 0, "perch_attr_build()");
	perch_events_clear(&events);
	attr.disabled = 0;
	fd = perch_open(&attr, &target, -1, 0, NULL, &err);
	must(fd >= 0, "perch_open()");
	control = mmap(NULL, (RING_PAGES + 1) * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(control != MAP_FAILED, "mmap(2)");
	polled = (struct pollfd){ fd, POLLIN, 0 };
	getrusage(RUSAGE_THREAD, &before);
	must(write(child->go[1], "", 1) == 1, "write(2)");
	for (;;) {
		uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);

		if (side == TOUCH)
			touch_lines(control, head);
		if (head != control->data_tail)
			__atomic_store_n(&control->data_tail, head, __ATOMIC_RELEASE);
		else if (polled.revents & POLLHUP)
			break;
		poll(&polled, 1, 100);
	}
	getrusage(RUSAGE_THREAD, &after);
	*cpu = cpu_ns(&after) - cpu_ns(&before);
	must(read(fd, values, sizeof(values)) >= 16, "read(2)");
	munmap(control, (RING_PAGES + 1) * page);
	close(fd);
	return values[1];
}

static int take(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	(void)ring;
	for (int i = 0; i < nr; i++)
		*(size_t *)context += pieces[i].iov_len;
	return 0;
}

static struct perch_sampler *open_sampler(pid_t pid, bool overwrite, size_t pages)
{
	struct perch_sampler_options options = { .event = event_options(), .ring_pages = pages, .overwrite = overwrite };
	struct perch_target target = { pid, writer_cpu, 0 };
	struct perch_sampler *sampler;
	struct perch_error err;

	if (perch_sampler_open(&sampler, event_name, &target, &options, &err) < 0) {
		perch_error_print(stderr, &err);
		exit(EXIT_FAILURE);
	}
	must(perch_sampler_enable(sampler) >= 0, "perch_sampler_enable()");
	return sampler;
}

/* One of perch's ways out of the rings. */
static uint64_t read_perch(enum side side, pid_t pid, const struct child *child, double *cpu)
{
	struct perch_sampler *sampler = open_sampler(pid, false, RING_PAGES);
	struct perch_sampler_stats stats;
	struct rusage before, after;
	struct perch_record record;
	uint64_t lost, times = 0;
	size_t bytes = 0;
	int rc = 1;

	getrusage(RUSAGE_THREAD, &before);
	must(write(child->go[1], "", 1) == 1, "write(2)");
	while (rc >= 0) {
		rc = perch_sampler_wait(sampler, 100);
		if (side == DRAIN)
			perch_sampler_drain(sampler, take, &bytes);
		while (side == NEXT && perch_sampler_next(sampler, &record) > 0)
			times += record.sample_id.time;
		while (side == IN_TIME && perch_sampler_next_ordered(sampler, rc < 0, &record) > 0)
			times += record.sample_id.time;
	}
	getrusage(RUSAGE_THREAD, &after);
	sink = (unsigned)times;
	*cpu = cpu_ns(&after) - cpu_ns(&before);
	must(perch_sampler_lost(sampler, 0, 0, &lost, NULL) >= 0, "perch_sampler_lost()");
	perch_sampler_get_stats(sampler, &stats);
	if (stats.samples + lost < RECORDS) {
		fprintf(stderr, "%s: %llu samples and %llu lost of %d\n", side_names[side], (unsigned long long)stats.samples,
			(unsigned long long)lost, RECORDS);
		exit(EXIT_FAILURE);
	}
	perch_sampler_close(sampler);
	return lost;
}

static void run(enum side side, struct costs *costs)
{
	struct rusage usage;
	struct child child;
	double cpu, start, took, reader, both;
	uint64_t lost;

	start_child(&child, RECORDS);
	start = now_ns();
	lost = side >= DRAIN ? read_perch(side, child.pid, &child, &cpu) : read_by_hand(side, child.pid, &child, &cpu);
	took = now_ns() - start;
	must(wait4(child.pid, NULL, 0, &usage) == child.pid, "wait4(2)");
	close(child.go[0]);
	close(child.go[1]);
	reader = cpu / RECORDS;
	both = (cpu + cpu_ns(&usage)) / RECORDS;
	if (!costs->records || both < costs->both_ns)
		costs->both_ns = both;
	if (!costs->records || reader < costs->reader_ns)
		costs->reader_ns = reader;
	if (RECORDS / took * 1e9 > costs->rate)
		costs->rate = RECORDS / took * 1e9;
	costs->lost += lost;
	costs->losing += lost != 0;
	costs->records += RECORDS;
}

/* As fast as the bare loop bears. */
static void find_rate(void)
{
	for (int good = 0; good < 3;) {
		struct costs costs = { 0 };

		run(BARE, &costs);
		good = costs.lost ? 0 : good + 1;
		if (costs.lost)
			pause_spins = pause_spins ? 2 * pause_spins : 64;
		must(pause_spins < 1u << 20, "a rate at which the bare loop loses nothing");
	}
}

static const char *judge(double ratio, double target)
{
	return ratio > target ? "MISSED" : "ok";
}

static void compare_sides(void)
{
	struct costs costs[SIDES] = { 0 };

	find_rate();
	for (int round = 0; round < ROUNDS; round++)
		for (enum side side = BARE; side < SIDES; side++)
			run(side, &costs[side]);
	printf("drain: %s, %.2f million records a second%s\n", event_name, costs[BARE].rate / 1e6,
	       pause_spins ? ", slowed down until the bare loop loses none" : ", as fast as they are made");
	for (enum side side = BARE; side < SIDES; side++)
		printf("  %-8s reader %6.1f ns a record, writer and reader %6.1f ns, lost %llu of %llu, in %d of %d rounds\n",
		       side_names[side], costs[side].reader_ns, costs[side].both_ns, (unsigned long long)costs[side].lost,
		       (unsigned long long)costs[side].records, costs[side].losing, ROUNDS);
	/* the bound is told in both of the meanings that it can have */
	for (enum side side = TOUCH; side < SIDES; side++) {
		double reader = costs[side].reader_ns / costs[BARE].reader_ns, both = costs[side].both_ns / costs[BARE].both_ns;

		printf("  %s/bare, CPU time of a record in the reader alone: %.2f (target <= 1.30: %s)\n", side_names[side], reader,
		       judge(reader, 1.3));
		printf("  %s/bare, CPU time of a record, written and read: %.2f (target <= 1.30: %s)\n", side_names[side], both,
		       judge(both, 1.3));
	}
	printf("  drain/touch, CPU time of a record in the reader alone: %.2f\n",
	       costs[DRAIN].reader_ns / costs[TOUCH].reader_ns);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void take_snapshots(void)
{
	struct perch_sampler *sampler;
	size_t wanted = SHOT_BYTES / RECORD * 2;
	double took[SHOTS];
	struct perch_error err;
	struct child child;
	size_t bytes = 0;

	start_child(&child, wanted);
	sampler = open_sampler(child.pid, true, SHOT_BYTES / sysconf(_SC_PAGESIZE));
	must(write(child.go[1], "", 1) == 1, "write(2)");
	must(waitpid(child.pid, NULL, 0) == child.pid, "waitpid(2)");
	for (int i = 0; i < SHOTS; i++) {
		double start = now_ns();

		bytes = 0;
		must(perch_sampler_snapshot(sampler, take, &bytes, &err) > 0, "perch_sampler_snapshot()");
		took[i] = now_ns() - start;
	}
	qsort(took, SHOTS, sizeof(*took), by_size);
	printf("snapshot of %.2f MB (%zu records): median %.2f ms (target < 5: %s), least %.2f, most %.2f\n", bytes / 1048576.0,
	       bytes / RECORD, took[SHOTS / 2] / 1e6, judge(took[SHOTS / 2] / 1e6, 5), took[0] / 1e6, took[SHOTS - 1] / 1e6);
	perch_sampler_close(sampler);
	close(child.go[0]);
	close(child.go[1]);
}

/* A tracepoint, which is quicker to make than a page fault, where this user may have it. */
static const char *choose_event(void)
{
	const struct perch_sampler_options options = { .event = { .period = 1 }, .ring_pages = 1 };
	struct perch_sampler *sampler;
	int rc = perch_sampler_open(&sampler, "raw_syscalls:sys_enter", NULL, &options, NULL);

	perch_sampler_close(sampler);
	return rc < 0 ? "page-faults" : "raw_syscalls:sys_enter";
}

int main(void)
{
	choose_cpus();
	if (writer_cpu == reader_cpu) {
		puts("drain: one CPU alone, where reader and writer take turns: skipped");
		return 77;
	}
	event_name = choose_event();
	pin_to(reader_cpu);
	compare_sides();
	take_snapshots();
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Compares readers of a live ring: a bare loop that only advances data_tail, a loop that also
 * reads one word of each cache line, and the functions of libperch. It prints the records lost and
 * the CPU time of a record. A child on one CPU makes events as fast as it can, one record each; the
 * reader runs on another CPU. If the bare loop loses records, the child is slowed down until it
 * loses none, and all readers get that rate. The readers alternate, and the least of the rounds is
 * the result. Then it measures snapshots of an overwrite ring of 8 MB.
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
#include <unistd.h>

#include <perch/sampler.h>

#include "bench.h"

#define RECORDS	       1000000
#define ROUNDS	       7
#define RING_PAGES     2048
#define SNAPSHOT_BYTES (8u << 20)
#define SNAPSHOTS      21
#define RECORD	       40 /* bytes of a sample: header IP TID TIME CPU */
#define LINE	       64 /* bytes of a cache line */

enum reader { BARE, TOUCH, DRAIN, NEXT, IN_TIME, READERS };
static const char *const reader_names[READERS] = { "bare", "touch", "drain", "next", "in time" };

static int writer_cpu, reader_cpu;
static const char *event_name;
static unsigned pause_spins; /* of the child, between two events */
static volatile unsigned sink;

struct costs {
	double reader_ns, both_ns; /* CPU time for each record */
	double rate;		   /* records a second */
	uint64_t lost, records;
	int rounds_with_losses;
};

static void must(bool done, const char *what)
{
	if (done)
		return;
	fprintf(stderr, "%s failed: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static size_t records_each;

static double cpu_ns(const struct rusage *usage)
{
	return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1e9 +
	       (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1e3;
}

static void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity(2)");
}

/* The first and the last CPU that this process may use. */
static void choose_cpus(void)
{
	cpu_set_t set;

	must(!sched_getaffinity(0, sizeof(set), &set), "sched_getaffinity(2)");
	for (writer_cpu = 0; !CPU_ISSET(writer_cpu, &set);)
		writer_cpu++;
	for (reader_cpu = CPU_SETSIZE - 1; !CPU_ISSET(reader_cpu, &set);)
		reader_cpu--;
}

static void pause_between_events(void)
{
	for (unsigned i = 0; i < pause_spins; i++)
		sink = i;
}

static void make_calls(size_t nr)
{
	for (size_t i = 0; i < nr; i++, pause_between_events())
		syscall(SYS_getppid);
}

static void make_faults(size_t nr)
{
	size_t page = sysconf(_SC_PAGESIZE), pages = 1024;
	char *memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	must(memory != MAP_FAILED, "mmap(2)");
	madvise(memory, pages * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < nr; i++, pause_between_events()) {
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
		.period = 1,
		.sample = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_CPU,
		.read = PERCH_FORMAT_LOST,
		.sample_id_all = 1,
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

/* The same event and ring size, by system calls. */
static uint64_t read_directly(enum reader reader, pid_t pid, const struct child *child, double *cpu)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct perch_target target = { .tid = pid, .cpu = writer_cpu };
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

		if (reader == TOUCH)
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

static int count_bytes(void *context, size_t ring, const struct iovec *pieces, int nr)
{
	(void)ring;
	for (int i = 0; i < nr; i++)
		*(size_t *)context += pieces[i].iov_len;
	return 0;
}

static struct perch_sampler *open_sampler(pid_t pid, bool overwrite, size_t pages)
{
	struct perch_sampler_options options = { .event = event_options(),
						 .ring_pages = pages,
						 .overwrite = overwrite };
	struct perch_target target = { .tid = pid, .cpu = writer_cpu };
	const struct perch_targets targets = { .nr = 1, .target = &target };
	struct perch_sampler *sampler;
	struct perch_error err;

	if (perch_sampler_open(&sampler, event_name, &targets, &options, &err) < 0) {
		perch_error_print(stderr, &err);
		exit(EXIT_FAILURE);
	}
	must(perch_sampler_enable(sampler, NULL) >= 0, "perch_sampler_enable()");
	return sampler;
}

/* The readers of libperch. */
static uint64_t read_perch(enum reader reader, pid_t pid, const struct child *child, double *cpu)
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
		rc = perch_sampler_wait(sampler, 100, NULL);
		if (reader == DRAIN)
			perch_sampler_drain(sampler, count_bytes, &bytes, NULL);
		while (reader == NEXT && perch_sampler_next(sampler, &record, NULL) > 0)
			times += record.sample_id.time;
		while (reader == IN_TIME &&
		       perch_sampler_next_ordered(sampler, rc < 0, &record, NULL) > 0)
			times += record.sample_id.time;
	}
	getrusage(RUSAGE_THREAD, &after);
	sink = (unsigned)times;
	*cpu = cpu_ns(&after) - cpu_ns(&before);
	must(perch_sampler_lost(sampler, 0, 0, &lost, NULL) >= 0, "perch_sampler_lost()");
	perch_sampler_get_stats(sampler, &stats);
	if (stats.samples + lost < records_each) {
		fprintf(stderr, "%s: %llu samples and %llu lost of %zu\n", reader_names[reader],
			(unsigned long long)stats.samples, (unsigned long long)lost, records_each);
		exit(EXIT_FAILURE);
	}
	perch_sampler_close(sampler);
	return lost;
}

static void run(enum reader reader, struct costs *costs)
{
	struct rusage usage;
	struct child child;
	double cpu, start, took, rate;
	uint64_t lost;

	start_child(&child, records_each);
	start = bench_now_ns();
	if (reader >= DRAIN)
		lost = read_perch(reader, child.pid, &child, &cpu);
	else
		lost = read_directly(reader, child.pid, &child, &cpu);
	took = bench_now_ns() - start;
	must(wait4(child.pid, NULL, 0, &usage) == child.pid, "wait4(2)");
	close(child.go[0]);
	close(child.go[1]);
	bench_keep_minimum(&costs->reader_ns, cpu / records_each);
	bench_keep_minimum(&costs->both_ns, (cpu + cpu_ns(&usage)) / records_each);
	rate = records_each / took * 1e9;
	if (rate > costs->rate)
		costs->rate = rate;
	costs->lost += lost;
	costs->rounds_with_losses += lost != 0;
	costs->records += records_each;
}

/* The fastest rate at which the bare loop loses nothing. */
static void find_rate(void)
{
	const int wanted = bench_size(3, 1);

	for (int good = 0; good < wanted;) {
		struct costs costs = { 0 };

		run(BARE, &costs);
		good = costs.lost ? 0 : good + 1;
		if (costs.lost)
			pause_spins = pause_spins ? 2 * pause_spins : 64;
		must(pause_spins < 1u << 20, "finding a rate at which the bare loop loses nothing");
	}
}

static void print_ratio(const char *name, const char *what, double ratio)
{
	printf("  %s/bare, CPU time of a record, %s: %.2f (target <= 1.30%s)\n", name, what, ratio,
	       bench_missed(ratio <= 1.3));
}

static void compare_readers(void)
{
	const int rounds = bench_size(ROUNDS, 1);
	struct costs costs[READERS] = { 0 };

	find_rate();
	for (int round = 0; round < rounds; round++)
		for (enum reader reader = BARE; reader < READERS; reader++)
			run(reader, &costs[reader]);
	printf("drain: %s, %.2f million records a second%s\n", event_name, costs[BARE].rate / 1e6,
	       pause_spins ? ", slowed down until the bare loop loses none"
			   : ", as fast as they are made");
	for (enum reader reader = BARE; reader < READERS; reader++)
		printf("  %-8s reader %6.1f ns a record, writer and reader %6.1f ns, lost %llu of %llu, in %d of %d rounds\n",
		       reader_names[reader], costs[reader].reader_ns, costs[reader].both_ns,
		       (unsigned long long)costs[reader].lost,
		       (unsigned long long)costs[reader].records, costs[reader].rounds_with_losses,
		       rounds);
	for (enum reader reader = TOUCH; reader < READERS; reader++) {
		print_ratio(reader_names[reader], "reader alone",
			    costs[reader].reader_ns / costs[BARE].reader_ns);
		print_ratio(reader_names[reader], "writer and reader",
			    costs[reader].both_ns / costs[BARE].both_ns);
	}
	printf("  drain/touch, CPU time of a record, reader alone: %.2f\n",
	       costs[DRAIN].reader_ns / costs[TOUCH].reader_ns);
}

static void take_snapshots(void)
{
	struct perch_sampler *sampler;
	const size_t nr = bench_size(SNAPSHOTS, 1),
		     ring_bytes = bench_size(SNAPSHOT_BYTES, 64 << 10);
	double took[SNAPSHOTS] = { 0 }, median;
	struct perch_error err;
	struct child child;
	size_t bytes = 0;

	start_child(&child, ring_bytes / RECORD * 2);
	sampler = open_sampler(child.pid, true, ring_bytes / sysconf(_SC_PAGESIZE));
	must(write(child.go[1], "", 1) == 1, "write(2)");
	must(waitpid(child.pid, NULL, 0) == child.pid, "waitpid(2)");
	for (size_t i = 0; i < nr; i++) {
		double start = bench_now_ns();

		bytes = 0;
		must(perch_sampler_snapshot(sampler, count_bytes, &bytes, &err) > 0,
		     "perch_sampler_snapshot()");
		took[i] = bench_now_ns() - start;
	}
	median = bench_median(took, nr) / 1e6;
	printf("snapshot of %.2f MB (%zu records): median %.2f ms (target <= 5%s), least %.2f, most %.2f\n",
	       bytes / 1048576.0, bytes / RECORD, median, bench_missed(median <= 5), took[0] / 1e6,
	       took[nr - 1] / 1e6);
	perch_sampler_close(sampler);
	close(child.go[0]);
	close(child.go[1]);
}

/* A tracepoint is faster than a page fault, but this user may not have the right to open it. */
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
	records_each = bench_size(RECORDS, 5000);
	choose_cpus();
	if (writer_cpu == reader_cpu) {
		puts("drain: skipped, it needs a CPU for the writer and another one for the reader");
		return BENCH_SKIPPED;
	}
	event_name = choose_event();
	pin_to(reader_cpu);
	compare_readers();
	take_snapshots();
	return 0;
}

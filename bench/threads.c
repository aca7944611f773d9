/* SPDX-License-Identifier: MIT */
/*
 * The recorder with 256 simulated rings, read by 1, 2 and 4 threads: the CPU time of a record, and
 * how many records a thread can take in a second of its CPU time. A thread of the benchmark sets
 * data_head of the rings as a kernel would that always has half a ring of samples. The recorder
 * reads them, and writes them to a directory in $TMPDIR or /var/tmp.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <perch/recorder.h>

#include "bench.h"
#include "simulated_events.h"

#define CPUS	   256
#define RING_PAGES 128
#define LEAST_RATE 1.5e6 /* records in a CPU second of a thread */

struct sample {
	struct perch_record_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time;
	uint64_t cpu, period;
	uint64_t word;
};

static struct perch_mmap_page *rings[CPUS];
static int nr_rings;
static size_t ring_bytes;
static atomic_bool stop;
static char directory[4096], root[4096];
static double producer_seconds;

static void fail(const char *what, const struct perch_error *err)
{
	fprintf(stderr, "threads: %s: %s\n", what, err ? err->message : strerror(errno));
	exit(1);
}

/* ---- the simulated kernel ---- */

/* A descriptor that is always ready: there are always samples. */
static int open_event(void *context, const struct perch_attr *attr, pid_t pid, int cpu, int group,
		      unsigned long flags)
{
	(void)context;
	(void)attr;
	(void)pid;
	(void)cpu;
	(void)group;
	(void)flags;
	return eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
}

static int control(void *context, int fd, unsigned long request, unsigned long argument)
{
	(void)context;
	if (request == PERCH_IOC_ID)
		*(uint64_t *)argument = 1000 + (uint64_t)fd;
	return 0;
}

static void fill_ring(char *data)
{
	struct sample sample = { .header = { PERCH_RECORD_SAMPLE, PERCH_MISC_USER, sizeof(sample) },
				 .pid = 100 };

	for (size_t i = 0; i < ring_bytes / sizeof(sample); i++) {
		sample.ip = 0x401000 + i * 64 % 8192;
		sample.time = 1000 * i;
		sample.tid = (uint32_t)(100 + i / 50 % 8);
		memcpy(data + i * sizeof(sample), &sample, sizeof(sample));
	}
}

static void *map_ring(void *context, size_t size, int protection, int flags, int fd, off_t offset)
{
	char *ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)context;
	(void)protection;
	(void)flags;
	(void)fd;
	(void)offset;
	/* a small one is of an event that only reads the clock */
	if (ring == MAP_FAILED || nr_rings == CPUS || size < ring_bytes)
		return ring;
	fill_ring(ring + size - ring_bytes);
	rings[nr_rings++] = (struct perch_mmap_page *)ring;
	return ring;
}

static int unmap_ring(void *context, void *address, size_t size)
{
	(void)context;
	return munmap(address, size);
}

static double cpu_seconds(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Each ring gets samples again when all that it had were read. */
static void *produce(void *context)
{
	const struct timespec pause = { 0, 20000 };

	(void)context;
	while (!atomic_load(&stop)) {
		for (int i = 0; i < nr_rings; i++) {
			uint64_t tail = __atomic_load_n(&rings[i]->data_tail, __ATOMIC_ACQUIRE);

			if (rings[i]->data_head == tail)
				__atomic_store_n(&rings[i]->data_head, tail + ring_bytes / 2,
						 __ATOMIC_RELEASE);
		}
		nanosleep(&pause, NULL);
	}
	producer_seconds = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

/* ---- a recording ---- */

static void write_file(const char *path, const char *text)
{
	char whole[8192];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	file = fopen(whole, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		fail(whole, NULL);
}

static void make_root(void)
{
	static const char *const parts[] = {
		"sys",	"sys/devices", "sys/devices/system", "sys/devices/system/cpu",
		"proc", "proc/sys",    "proc/sys/kernel"
	};
	char path[8192];

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, parts[i]);
		if (mkdir(path, 0700))
			fail(path, NULL);
	}
	write_file("sys/devices/system/cpu/online", "0-255\n");
	write_file("proc/sys/kernel/osrelease", "6.18.0\n");
}

/* The CPUs of `threads` threads, each of which may run anywhere. */
static void spec(int threads, char *text, size_t size)
{
	size_t used = 0;

	for (int i = 0; i < threads; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%d-%d/0-%ld", i ? ":" : "",
					 i * CPUS / threads, (i + 1) * CPUS / threads - 1,
					 sysconf(_SC_NPROCESSORS_ONLN) - 1);
}

static struct perch_recorder *open_recorder(const char *threads, struct perch_machine *machine,
					    int level)
{
	struct perch_recorder_options options = {
		.sampler = { .event = { .period = 1000, .machine = machine },
			     .ring_pages = RING_PAGES },
		.no_kernel = true,
		.no_bpf = true,
		.no_build_ids = true,
		.map_ids = PERCH_RECORDER_NO_IDS,
		.path = directory,
		.compression_level = level,
		.threads = threads,
	};
	struct perch_targets targets = { 0 };
	struct perch_recorder *recorder = NULL;
	struct perch_error err;

	if (perch_targets_add_cpus(&targets, NULL, machine, &err) < 0 ||
	    perch_recorder_open(&recorder, "cpu-clock", &targets, &options, &err) < 0)
		fail("open", &err);
	perch_targets_clear(&targets);
	return recorder;
}

struct cost {
	double ns, records, seconds;
};

static struct cost measure(int threads, uint64_t most, int level)
{
	const struct perch_syscalls calls = {
		.perf_event_open = open_event,
		.ioctl = control,
		.read = read_event,
		.mmap = map_ring,
		.munmap = unmap_ring,
		.close = close_event,
	};
	const struct timespec pause = { 0, 1000000 };
	struct perch_machine *machine;
	struct perch_recorder_stats stats = { 0 };
	struct perch_recorder *recorder;
	struct perch_error err;
	double cpu, start;
	pthread_t producer;
	char text[256];

	nr_rings = 0;
	ring_bytes = RING_PAGES * (size_t)sysconf(_SC_PAGESIZE);
	atomic_store(&stop, false);
	if (perch_machine_new(&machine, root, &calls, &err) < 0)
		fail("machine", &err);
	spec(threads, text, sizeof(text));
	recorder = open_recorder(text, machine, level);
	cpu = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
	start = cpu_seconds(CLOCK_MONOTONIC);
	if (perch_recorder_start(recorder, &err) < 0)
		fail("start", &err);
	if (pthread_create(&producer, NULL, produce, NULL))
		fail("thread", NULL);
	while (stats.samples < most) {
		nanosleep(&pause, NULL);
		if (perch_recorder_write(recorder, &err) < 0)
			fail("write", &err);
		perch_recorder_get_stats(recorder, &stats);
	}
	atomic_store(&stop, true);
	pthread_join(producer, NULL);
	if (perch_recorder_stop(recorder, &err) < 0 || perch_recorder_end_file(recorder, &err) < 0)
		fail("end", &err);
	cpu = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu - producer_seconds;
	perch_recorder_get_stats(recorder, &stats);
	start = cpu_seconds(CLOCK_MONOTONIC) - start;
	perch_recorder_close(recorder);
	perch_machine_free(machine);
	return (struct cost){ cpu * 1e9 / (double)stats.samples, (double)stats.samples, start };
}

static struct cost best_of(int threads, uint64_t most, int level)
{
	struct cost best = { 0 };

	for (size_t round = 0; round < bench_size(3, 1); round++) {
		struct cost cost = measure(threads, most, level);

		if (!round || cost.ns < best.ns)
			best = cost;
	}
	return best;
}

/* Removes the directory of the last recording, and the one before. */
static void remove_all(void)
{
	char command[16384];

	snprintf(command, sizeof(command), "rm -rf '%s' '%s' '%s.old'", root, directory, directory);
	if (system(command))
		fprintf(stderr, "threads: cannot remove %s\n", directory);
}

int main(void)
{
	const uint64_t most = bench_size(4000000, 100000);
	const char *temporary = getenv("TMPDIR");
	struct rlimit limit;
	double one = 0;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	snprintf(root, sizeof(root), "%s/perch-threads-XXXXXX", temporary ? temporary : "/var/tmp");
	if (!mkdtemp(root))
		fail(root, NULL);
	atexit(remove_all);
	snprintf(directory, sizeof(directory), "%.4000s.data", root);
	make_root();
	for (int level = 0; level <= 1; level++)
		for (int threads = 1; threads <= 4; threads *= 2) {
			struct cost cost = best_of(threads, most, level);
			double rate = 1e9 / cost.ns;

			if (threads == 1)
				one = cost.ns;
			printf("%d rings, %d thread%s%s: %.0f ns of CPU time a record, %.1f "
			       "million a CPU second (target >= %.1f%s), to one thread %.2f "
			       "(target <= 1.25%s), %.1f million a second\n",
			       CPUS, threads, threads > 1 ? "s" : "", level ? ", -z" : "", cost.ns,
			       rate / 1e6, LEAST_RATE / 1e6, rate < LEAST_RATE ? ", MISSED" : "",
			       cost.ns / one, cost.ns / one > 1.25 ? ", MISSED" : "",
			       cost.records / cost.seconds / 1e6);
		}
	return 0;
}

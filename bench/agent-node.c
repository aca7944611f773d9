/* SPDX-License-Identifier: MIT */
/*
 * All of perch agent on a simulated node: 64 CPUs that are always busy are sampled at 19 Hz. A
 * thread writes samples to the rings as the kernel would, of programs that map the files of this
 * process; the agent reads them, keeps them, and pushes windows with names to a server in another
 * process. Prints the CPU time that the agent took of the node, without that thread, and its
 * memory. The interrupts of the samples are not part of it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/push/push.h"
#include "agent_load.h"
#include "bench.h"
#include "simulated_events.h"

enum {
	CPUS = 64,
	SERVICES = 30,
	FIRST_PID = 1000,
	FDS = 4096,
	MAPS = 64,
	RECORD_MAX = 4096,
	MOST_MB = 64,
};
#define SECOND	 1000000000ull
#define MOST_CPU 0.1 /* % of the node */

struct ring {
	struct perch_mmap_page *control;
	char *data;
	uint64_t size, head, id;
};

/* An executable mapping of this process, which the programs have, too. */
struct text {
	uint64_t start, length, offset, inode;
	uint32_t major, minor;
	char path[256];
};

static struct ring rings[CPUS];
static atomic_int nr_rings;
static int cpu_of[FDS];
static uint64_t sample_type;
static struct text texts[MAPS];
static size_t nr_texts;
static uint64_t written, without_space, unread;
static struct {
	uint64_t windows, bytes;
} * received; /* by the server, which is another process */
static unsigned seconds;
static double producer_seconds;
static char root[256];

static void fail(const char *what, const struct perch_error *err)
{
	fprintf(stderr, "agent-node: %s: %s\n", what, err ? err->message : strerror(errno));
	exit(1);
}

/* ---- the simulated kernel ---- */

static int open_event(void *context, const struct perch_attr *attr, pid_t pid, int cpu, int group,
		      unsigned long flags)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

	(void)context;
	(void)pid;
	(void)group;
	(void)flags;
	if (fd < 0 || fd >= FDS || cpu < 0 || cpu >= CPUS)
		return fd;
	cpu_of[fd] = cpu;
	if (attr->sample_type & PERCH_SAMPLE_CALLCHAIN) {
		rings[cpu].id = 1000 + (uint64_t)fd;
		sample_type = attr->sample_type;
	}
	return fd;
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
	char *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ring *ring = &rings[cpu_of[fd]];

	(void)context;
	(void)protection;
	(void)flags;
	(void)offset;
	if (bytes == MAP_FAILED || ring->control || size <= 2 * page)
		return bytes;
	ring->control = (struct perch_mmap_page *)bytes;
	ring->data = bytes + page;
	ring->size = size - page;
	atomic_fetch_add(&nr_rings, 1);
	return bytes;
}

static int unmap_ring(void *context, void *address, size_t size)
{
	(void)context;
	for (size_t i = 0; i < CPUS; i++)
		if (address == rings[i].control)
			unread += rings[i].head - rings[i].control->data_tail;
	return munmap(address, size);
}

/* ---- records ---- */

struct record {
	uint64_t words[RECORD_MAX / 8];
	size_t nr;
};

static void put(struct record *record, uint64_t word)
{
	record->words[record->nr++] = word;
}

static void put_pair(struct record *record, uint32_t low, uint32_t high)
{
	const uint32_t pair[] = { low, high };
	uint64_t word;

	memcpy(&word, pair, sizeof(word));
	put(record, word);
}

static void put_text(struct record *record, const char *text)
{
	size_t words = strlen(text) / 8 + 1;

	memset(&record->words[record->nr], 0, words * 8);
	memcpy(&record->words[record->nr], text, strlen(text));
	record->nr += words;
}

static void write_record(uint32_t cpu, struct record *record, uint32_t type, uint16_t misc)
{
	struct ring *ring = &rings[cpu];
	struct perch_record_header header = { type, misc, (uint16_t)(record->nr * 8) };
	uint64_t tail = __atomic_load_n(&ring->control->data_tail, __ATOMIC_ACQUIRE);

	if (ring->size - (ring->head - tail) <= header.size) {
		without_space++;
		return;
	}
	memcpy(record->words, &header, sizeof(header));
	for (size_t i = 0; i < record->nr; i++, ring->head += 8)
		memcpy(ring->data + ring->head % ring->size, &record->words[i], 8);
	__atomic_store_n(&ring->control->data_head, ring->head, __ATOMIC_RELEASE);
}

/* A record that is no sample ends with fields of samples. */
static void write_sideband(uint32_t cpu, struct record *record, uint32_t type, uint16_t misc,
			   uint32_t pid)
{
	if (sample_type & PERCH_SAMPLE_TID)
		put_pair(record, pid, pid);
	if (sample_type & PERCH_SAMPLE_TIME)
		put(record, (uint64_t)bench_now_ns());
	if (sample_type & PERCH_SAMPLE_ID)
		put(record, rings[cpu].id);
	if (sample_type & PERCH_SAMPLE_CPU)
		put_pair(record, cpu, 0);
	if (sample_type & PERCH_SAMPLE_IDENTIFIER)
		put(record, rings[cpu].id);
	write_record(cpu, record, type, misc);
}

static uint32_t pid_of(uint32_t service)
{
	return FIRST_PID + service;
}

/* The program of a service starts: its cgroup, its name and its mappings. */
static void write_process(uint32_t service)
{
	uint32_t cpu = service % CPUS, pid = pid_of(service);
	struct record record = { .nr = 1 };
	char text[64];

	put(&record, service + 1);
	snprintf(text, sizeof(text), "/system.slice/service-%u.service", service);
	put_text(&record, text);
	write_sideband(cpu, &record, PERCH_RECORD_CGROUP, 0, pid);
	record.nr = 1;
	put_pair(&record, pid, pid);
	snprintf(text, sizeof(text), "service-%u", service);
	put_text(&record, text);
	write_sideband(cpu, &record, PERCH_RECORD_COMM, PERCH_MISC_COMM_EXEC, pid);
	for (size_t i = 0; i < nr_texts; i++) {
		const struct text *map = &texts[i];

		record.nr = 1;
		put_pair(&record, pid, pid);
		put(&record, map->start);
		put(&record, map->length);
		put(&record, map->offset);
		put_pair(&record, map->major, map->minor);
		put(&record, map->inode);
		put(&record, 0);
		put_pair(&record, PROT_READ | PROT_EXEC, MAP_PRIVATE);
		put_text(&record, map->path);
		write_sideband(cpu, &record, PERCH_RECORD_MMAP2, PERCH_MISC_USER, pid);
	}
}

/* The first third of the functions is of a library. */
static uint64_t address_of(uint32_t function)
{
	const struct text *map = &texts[function < FUNCTIONS / 3 ? nr_texts / 2 : 0];

	return map->start + function * 64 % map->length;
}

static void write_sample(uint32_t cpu, uint64_t time)
{
	uint32_t function[DEPTH_MAX], service = random_rank(SERVICES), pid = pid_of(service),
				      depth = chain_of(service, random_rank(STACKS), function);
	struct record record = { .nr = 1 };

	if (sample_type & PERCH_SAMPLE_IDENTIFIER)
		put(&record, rings[cpu].id);
	if (sample_type & PERCH_SAMPLE_IP)
		put(&record, address_of(function[depth - 1]));
	if (sample_type & PERCH_SAMPLE_TID)
		put_pair(&record, pid, pid);
	if (sample_type & PERCH_SAMPLE_TIME)
		put(&record, time);
	if (sample_type & PERCH_SAMPLE_ID)
		put(&record, rings[cpu].id);
	if (sample_type & PERCH_SAMPLE_CPU)
		put_pair(&record, cpu, 0);
	if (sample_type & PERCH_SAMPLE_PERIOD)
		put(&record, SECOND / HZ);
	put(&record, depth + 1);
	put(&record, PERCH_CONTEXT_USER);
	while (depth--)
		put(&record, address_of(function[depth]));
	if (sample_type & PERCH_SAMPLE_CGROUP)
		put(&record, service + 1);
	write_record(cpu, &record, PERCH_RECORD_SAMPLE, PERCH_MISC_USER);
	written++;
}

/* Each CPU is sampled at moments of its own, and the agent is ended after the time. */
static void *produce(void *context)
{
	const struct timespec pause = { 0, 50000000 };
	uint64_t start, due = 0, all = (uint64_t)seconds * HZ * CPUS, now;

	(void)context;
	while (atomic_load(&nr_rings) < CPUS)
		nanosleep(&pause, NULL);
	for (uint32_t service = 0; service < SERVICES; service++)
		write_process(service);
	for (start = (uint64_t)bench_now_ns(); due < all; nanosleep(&pause, NULL)) {
		now = (uint64_t)bench_now_ns();
		for (; due < all && start + due * SECOND / HZ / CPUS <= now; due++)
			write_sample(due % CPUS, start + due * SECOND / HZ / CPUS);
	}
	producer_seconds = bench_ns_of(CLOCK_THREAD_CPUTIME_ID) / 1e9;
	kill(getpid(), SIGTERM);
	return NULL;
}

/* ---- the node ---- */

static void read_texts(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	struct text *text = texts;
	char line[1024], mode[8];
	uint64_t end;

	if (!file)
		fail("/proc/self/maps", NULL);
	while (text < texts + MAPS && fgets(line, sizeof(line), file)) {
		if (sscanf(line,
			   "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %255[^\n]",
			   &text->start, &end, mode, &text->offset, &text->major, &text->minor,
			   &text->inode, text->path) != 8 ||
		    !strchr(mode, 'x') || text->path[0] != '/')
			continue;
		text->length = end - text->start;
		text++;
	}
	fclose(file);
	nr_texts = (size_t)(text - texts);
}

static void write_file(const char *path, const char *text)
{
	char whole[512];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s/%s", root, path);
	for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = 0;
		if (mkdir(whole, 0700) && errno != EEXIST)
			fail(whole, NULL);
	}
	file = fopen(whole, "w");
	if (!file || fputs(text, file) < 0 || fclose(file))
		fail(whole, NULL);
}

static void remove_root(void)
{
	char command[512];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	if (system(command))
		fprintf(stderr, "agent-node: cannot remove %s\n", root);
}

/* ---- the server ---- */

static void answer(int client)
{
	static const char ok[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	static char bytes[1 << 16];
	size_t used = 0, body;
	ssize_t size;

	while ((size = read(client, bytes + used, sizeof(bytes) - 1 - used)) > 0) {
		char *end, *length;
		size_t left;

		used += (size_t)size;
		bytes[used] = 0;
		end = strstr(bytes, "\r\n\r\n");
		length = strcasestr(bytes, "\r\ncontent-length:");
		if (!end || !length)
			continue;
		body = strtoul(length + 17, NULL, 10); /* which may take the place of the head */
		left = body + (size_t)(end + 4 - bytes) - used;
		for (; left && (size = read(client, bytes,
					    left < sizeof(bytes) ? left : sizeof(bytes))) > 0;)
			left -= (size_t)size;
		received->windows++;
		received->bytes += body;
		used = 0;
		if (write(client, ok, sizeof(ok) - 1) < 0)
			return;
	}
}

/* Starts a process that takes all windows. Returns its port. */
static unsigned start_server(pid_t *pid)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), client;

	received = mmap(NULL, sizeof(*received), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (received == MAP_FAILED || bind(server, (struct sockaddr *)&address, size) ||
	    listen(server, 8) || getsockname(server, (struct sockaddr *)&address, &size))
		fail("server", NULL);
	*pid = fork();
	if (!*pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while ((client = accept(server, NULL, NULL)) >= 0) {
			answer(client);
			close(client);
		}
		_exit(0);
	}
	close(server);
	return ntohs(address.sin_port);
}

/* ---- the agent ---- */

static void note(void *context, const char *text)
{
	(void)context;
	fprintf(stderr, "agent-node: %s\n", text);
}

static void run_agent(struct perch_machine *machine, unsigned port)
{
	struct agent_push_target target;
	struct perch_targets targets = { 0 };
	struct agent_options options = {
		.source = { .events = "cpu-clock",
			    .targets = &targets,
			    .frequency = HZ,
			    .machine = machine },
		.window_bytes = 16 << 20,
		.seconds = HISTORY_SECONDS,
		.send = { .target = &target, .nr = 1, .interval = WINDOW_SECONDS * SECOND },
		.note = note,
	};
	struct perch_error err;
	char url[64];
	int rc;

	if (seconds < 2 * WINDOW_SECONDS)
		options.send.interval = SECOND;
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
	if (agent_push_target_parse(&target, url, &err) ||
	    perch_targets_add_cpus(&targets, NULL, machine, &err) < 0)
		fail("targets", &err);
	rc = agent_run(&options, &err);
	if (rc == -ENOSYS) {
		printf("agent-node: skipped: %s\n", err.message);
		exit(BENCH_SKIPPED);
	}
	if (rc < 0)
		fail("run", &err);
	perch_targets_clear(&targets);
	agent_push_target_clear(&target);
}

static void print_result(const struct rusage *before)
{
	struct rusage own, profiles;
	double agent, children, part, mb, profile_mb;

	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &profiles);
	agent = bench_cpu_seconds(&own) - bench_cpu_seconds(before) - producer_seconds;
	children = bench_cpu_seconds(&profiles);
	part = (agent + children) * 100 / seconds / CPUS;
	mb = (double)own.ru_maxrss / 1024;
	profile_mb = (double)profiles.ru_maxrss / 1024;
	printf("agent of %d busy CPUs, %d Hz, %u s: %" PRIu64 " samples, %" PRIu64
	       " without space, %" PRIu64 " bytes unread; %" PRIu64 " windows of %.0f kB sent\n",
	       CPUS, HZ, seconds, written, without_space, unread, received->windows,
	       received->windows ? (double)received->bytes / 1e3 / (double)received->windows : 0);
	printf("  CPU time %.0f ms, and %.0f ms for profiles: %.4f %% of the node (target <= %g%s)\n",
	       agent * 1e3, children * 1e3, part, MOST_CPU, bench_missed(part <= MOST_CPU));
	printf("  peak memory %.1f MB with the rings, and %.1f MB of a profile, some of it shared: "
	       "at most %.1f MB (target <= %d%s)\n",
	       mb, profile_mb, mb + profile_mb, MOST_MB, bench_missed(mb + profile_mb <= MOST_MB));
}

int main(void)
{
	const struct perch_syscalls calls = {
		.perf_event_open = open_event,
		.ioctl = control,
		.read = read_event,
		.mmap = map_ring,
		.munmap = unmap_ring,
		.close = close_event,
	};
	const char *temporary = getenv("TMPDIR");
	struct perch_machine *machine;
	struct perch_error err;
	struct rusage before;
	pthread_t producer;
	sigset_t signals;
	unsigned port;
	pid_t server;

	seconds = (unsigned)bench_size(60, 2);
	read_texts();
	port = start_server(&server);
	snprintf(root, sizeof(root), "%s/perch-node-XXXXXX", temporary ? temporary : "/var/tmp");
	if (!mkdtemp(root))
		fail(root, NULL);
	atexit(remove_root);
	write_file("sys/devices/system/cpu/online", "0-63\n");
	write_file("proc/sys/kernel/osrelease", "6.18.0\n");
	if (perch_machine_new(&machine, root, &calls, &err) < 0)
		fail("machine", &err);
	/* the signal that ends the agent is not for this thread's peers */
	sigfillset(&signals);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (pthread_create(&producer, NULL, produce, NULL))
		fail("thread", NULL);
	getrusage(RUSAGE_SELF, &before);
	run_agent(machine, port);
	pthread_join(producer, NULL);
	print_result(&before);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	perch_machine_free(machine);
	return without_space || unread || !received->windows;
}

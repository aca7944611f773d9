/* SPDX-License-Identifier: MIT */
/*
 * What tests ask about the host. Each function asks by trying. A test multiplies its limits by
 * host_slowness(): scripts/test measures it once for all tests, in PERCH_HOST_SLOWNESS; a test that
 * runs alone measures it itself.
 */
#ifndef PERCH_TESTS_HOST_H
#define PERCH_TESTS_HOST_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <perch/abi.h>

static inline double host_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static inline int host_open(struct perch_attr attr)
{
	attr.size = PERCH_ATTR_SIZE_VER5;
	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERCH_FLAG_FD_CLOEXEC);
}

/* Returns the seconds that a loop takes. */
static inline double host_loop(unsigned rounds)
{
	static volatile unsigned long host_sink;
	double start = host_seconds();

	for (unsigned i = 0; i < rounds; i++)
		host_sink += i;
	(void)host_sink; /* for clang, which calls it unused */
	return host_seconds() - start;
}

#define HOST_LOOPS 60

/* Returns the shortest of several times: the others have what the machine did beside it. */
static inline double host_shortest_loop(unsigned rounds)
{
	double shortest = host_loop(rounds);

	for (int i = 1; i < HOST_LOOPS; i++) {
		double time = host_loop(rounds);

		shortest = time < shortest ? time : shortest;
	}
	return shortest;
}

/* Maps the ring of an event of IP samples, and returns its control page, or NULL. */
static inline struct perch_mmap_page *host_ring(int event, size_t pages)
{
	void *ring = mmap(NULL, (pages + 1) * sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE,
			  MAP_SHARED, event, 0);

	return ring == MAP_FAILED ? NULL : ring;
}

/*
 * Returns the seconds that a sample of cpu-clock takes, or a negative number if none can be taken:
 * the difference between a loop of a millisecond with and without samples.
 */
static inline double host_sample_cost(void)
{
	enum { PAGES = 16, RECORD = 16 };
	int event = host_open((struct perch_attr){ .type = PERCH_TYPE_SOFTWARE,
						   .config = PERCH_COUNT_SW_CPU_CLOCK,
						   .sample_period = 250000,
						   .sample_type = PERCH_SAMPLE_IP,
						   .disabled = 1,
						   .exclude_kernel = 1 });
	struct perch_mmap_page *ring = event < 0 ? NULL : host_ring(event, PAGES);
	unsigned rounds = 1e-3 / (host_shortest_loop(100000) + 1e-9) * 100000;
	double cost = -1, without, with;

	if (ring) {
		without = host_shortest_loop(rounds);
		ioctl(event, PERCH_IOC_ENABLE, 0);
		with = host_shortest_loop(rounds);
		ioctl(event, PERCH_IOC_DISABLE, 0);
		if (ring->data_head >= RECORD)
			cost = with < without
				       ? 0
				       : (with - without) * HOST_LOOPS * RECORD / ring->data_head;
		munmap(ring, (PAGES + 1) * sysconf(_SC_PAGESIZE));
	}
	if (event >= 0)
		close(event);
	return cost;
}

/* Returns the seconds that some processes take which do nothing. */
static inline double host_processes(int nr)
{
	double start = host_seconds();

	for (int i = 0; i < nr; i++) {
		pid_t child = fork();

		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	return host_seconds() - start;
}

/*
 * Returns how many times slower than on the machine for which the limits of tests were chosen a
 * loop, a process or a sample is, whatever is the slowest; at least 1.
 */
static inline double host_measured_slowness(void)
{
	const double of[] = { host_loop(3000000) / 6e-3, host_processes(20) / 6e-3,
			      host_sample_cost() / 10e-6 };
	double slowness = 1;

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		slowness = of[i] > slowness ? of[i] : slowness;
	return slowness < 100 ? slowness : 100;
}

static inline double host_slowness(void)
{
	static double slowness;
	const char *text = getenv("PERCH_HOST_SLOWNESS");

	if (!slowness)
		slowness = text ? atof(text) : 0;
	if (slowness < 1)
		slowness = text ? 1 : host_measured_slowness();
	return slowness;
}

/*
 * Returns 1 if a breakpoint on a word counts the writes of it, 0 if it can be opened and counts
 * none, as where a hypervisor does not pass debug exceptions on, or a negative errno.
 */
static inline int host_breakpoints_fire(void)
{
	static volatile uint64_t word;
	int event = host_open((struct perch_attr){ .type = PERCH_TYPE_BREAKPOINT,
						   .bp_type = PERCH_BREAKPOINT_W,
						   .bp_addr = (uintptr_t)&word,
						   .bp_len = sizeof(word),
						   .exclude_kernel = 1 });
	uint64_t hits = 0;
	int rc;

	if (event < 0)
		return -errno;
	for (int i = 0; i < 10; i++)
		word = i;
	rc = read(event, &hits, sizeof(hits)) == sizeof(hits) ? hits > 0 : -EIO;
	close(event);
	return rc;
}

#ifdef __x86_64__
/* An ELF file of i386 that calls exit(0). */
static const struct {
	uint8_t ident[16];
	uint16_t type, machine;
	uint32_t version, entry, phoff, shoff, flags;
	uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
	uint32_t p_type, p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_flags, p_align;
	uint8_t code[12];
} host_narrow_program = {
	.ident = "\177ELF\1\1\1",
	.type = 2,
	.machine = 3,
	.version = 1,
	.entry = 0x8048000 + 84,
	.phoff = 52,
	.ehsize = 52,
	.phentsize = 32,
	.phnum = 1,
	.p_type = 1,
	.p_vaddr = 0x8048000,
	.p_paddr = 0x8048000,
	.p_filesz = 96,
	.p_memsz = 96,
	.p_flags = 5,
	.p_align = 4096,
	/* xor %ebx, %ebx; xor %eax, %eax; inc %eax; int $0x80 */
	.code = { 0x31, 0xdb, 0x31, 0xc0, 0x40, 0xcd, 0x80, 0x90, 0x90, 0x90, 0x90, 0x90 },
};

/* Returns 0 if the kernel executes 32-bit programs of x86, or why not: a negative errno. */
static inline int host_executes_32_bits(void)
{
	int fd = memfd_create("narrow", MFD_CLOEXEC), status = 0;
	bool written = fd >= 0 && write(fd, &host_narrow_program, sizeof(host_narrow_program)) ==
					  sizeof(host_narrow_program);
	pid_t child = written ? fork() : -1;

	if (!child) {
		char *argv[] = { (char *)"narrow", NULL };

		fexecve(fd, argv, argv + 1);
		_exit(errno);
	}
	if (child > 0)
		waitpid(child, &status, 0);
	if (fd >= 0)
		close(fd);
	return child < 0 ? -errno : WIFEXITED(status) ? -WEXITSTATUS(status) : -ENOEXEC;
}
#else
static inline int host_executes_32_bits(void)
{
	return -ENOEXEC;
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A program with a JIT compiler: it makes functions, runs them, and writes a jitdump and a perf map
 * of them. For jit.sh.
 *
 *	jit_program dump|map|both DIRECTORY [anon|memfd [stay]]
 *
 * jit_first, then jit_second run at the same address, one after the other; jit_moves runs at one
 * address, then at another one. Each runs for a time of the CPU. With stay, it waits for a line
 * before, and for the end of its input after it has printed its process id.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "jitdump.h"

static struct jitdump dump;
static FILE *map;
static uint64_t next_index;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A function that counts its argument down, with a frame pointer. */
#if defined(__x86_64__)
#define MACHINE EM_X86_64
static const unsigned char code[] = {
	0x55,		  /* push %rbp */
	0x48, 0x89, 0xe5, /* mov %rsp, %rbp */
	0x48, 0xff, 0xcf, /* dec %rdi */
	0x75, 0xfb,	  /* jnz -5 */
	0x5d,		  /* pop %rbp */
	0xc3,		  /* ret */
};
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
static const unsigned char code[] = {
	0xfd, 0x7b, 0xbf, 0xa9, /* stp x29, x30, [sp, #-16]! */
	0xfd, 0x03, 0x00, 0x91, /* mov x29, sp */
	0x00, 0x04, 0x00, 0xf1, /* subs x0, x0, #1 */
	0xe1, 0xff, 0xff, 0x54, /* b.ne -4 */
	0xfd, 0x7b, 0xc1, 0xa8, /* ldp x29, x30, [sp], #16 */
	0xc0, 0x03, 0x5f, 0xd6, /* ret */
};
#else
#define MACHINE EM_NONE
static const unsigned char code[1];
#endif

static void run(void *address)
{
	void (*function)(long) = (void (*)(long))address;
	uint64_t end = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + 150000000;

	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end)
		function(1000000);
}

static void load(char *address, const char *name)
{
	uint64_t at = (uintptr_t)address;

	memcpy(address, code, sizeof(code));
	__builtin___clear_cache(address, address + sizeof(code));
	if (dump.file) {
		const struct jitdump_line lines[] = {
			{ at, 10 + (uint32_t)next_index * 10, "jit-source.txt" },
			{ at + 4, 11 + (uint32_t)next_index * 10, NULL },
			{ at + sizeof(code) - 2, 12 + (uint32_t)next_index * 10, NULL },
		};

		jitdump_lines(&dump, clock_ns(CLOCK_MONOTONIC), at, lines, 3);
		jitdump_load(&dump, clock_ns(CLOCK_MONOTONIC), next_index++, at, name, code,
			     sizeof(code));
		fflush(dump.file);
	}
	if (map) {
		perf_map_line(map, at, sizeof(code), name);
		fflush(map);
	}
	run(address);
}

/* Opens the dump, with the mapping by which recorders find it. */
static int open_dump(const char *directory)
{
	char path[4096];

	dump.pid = (uint32_t)getpid();
	snprintf(path, sizeof(path), "%s/jit-%u.dump", directory, dump.pid);
	dump.file = fopen(path, "w+");
	if (!dump.file)
		return -1;
	if (mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE,
		 fileno(dump.file), 0) == MAP_FAILED)
		return -1;
	jitdump_header(&dump, MACHINE, clock_ns(CLOCK_MONOTONIC), 0);
	return 0;
}

static int open_map(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", (unsigned)getpid());
	map = fopen(path, "w");
	return map ? 0 : -1;
}

/* Memory for code: anonymous, or a memfd as some compilers use. */
static char *code_memory(bool memfd)
{
	int fd = memfd ? memfd_create("doublemapper", 0) : -1;

	if (memfd && (fd < 0 || ftruncate(fd, 4096)))
		return NULL;
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    memfd ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
}

int main(int argc, char **argv)
{
	bool memfd = argc > 3 && !strcmp(argv[3], "memfd"), stay = argc > 4;
	char *memory = code_memory(memfd);

	while (stay && getchar() != '\n')
		if (feof(stdin))
			return 1;
	if (MACHINE == EM_NONE || argc < 3 || !memory || memory == MAP_FAILED)
		return 77;
	if (strcmp(argv[1], "map") && open_dump(argv[2]))
		return 1;
	if (strcmp(argv[1], "dump") && open_map())
		return 1;
	load(memory, "jit_first");
	/* the kernel reports the mapping again, as by compilers that write only to pages that are
	 * not executable */
	mprotect(memory, 4096, PROT_READ | PROT_WRITE);
	mprotect(memory, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
	load(memory, "jit_second");
	load(memory + 1024, "jit_moves");
	if (dump.file) {
		memcpy(memory + 2048, code, sizeof(code));
		__builtin___clear_cache(memory + 2048, memory + 2048 + sizeof(code));
		jitdump_move(&dump, clock_ns(CLOCK_MONOTONIC), next_index - 1,
			     (uintptr_t)memory + 1024, (uintptr_t)memory + 2048, sizeof(code));
		fflush(dump.file);
		run(memory + 2048);
		jitdump_close(&dump, clock_ns(CLOCK_MONOTONIC));
		fclose(dump.file);
	}
	printf("%u\n", (unsigned)getpid());
	fflush(stdout);
	while (stay && getchar() != EOF)
		;
	return 0;
}

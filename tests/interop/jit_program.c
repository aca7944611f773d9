/* SPDX-License-Identifier: MIT */
/*
 * A program with a JIT compiler: it makes functions, runs them, and writes a jitdump and a perf map
 * of them. For jit.sh.
 *
 *	jit_program dump|map|both DIRECTORY [anon|memfd|sysv|posix|zero|heap [stay]]
 *
 * jit_first, then jit_second run at the same address, one after the other; jit_moves runs at one
 * address, then at another one. Each runs for a time of the CPU. With stay, it waits for a line
 * before, and for the end of its input after it has printed its process id.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <time.h>
#include <unistd.h>

#include "jitdump.h"

/* for all functions; a page of most machines */
#define CODE_BYTES 4096u

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

#define CODE_PROTECTION (PROT_READ | PROT_WRITE | PROT_EXEC)

static char *map_code(int fd, int flags)
{
	if (fd >= 0 && ftruncate(fd, CODE_BYTES))
		return MAP_FAILED;
	return mmap(NULL, CODE_BYTES, CODE_PROTECTION, flags, fd, 0);
}

static char *anonymous(void)
{
	return map_code(-1, MAP_PRIVATE | MAP_ANONYMOUS);
}

/* As compilers that map it twice. */
static char *memfd(void)
{
	return map_code(memfd_create("doublemapper", 0), MAP_SHARED);
}

/* As PHP's opcache, for processes that share code. */
static char *of_system_v(void)
{
	int id = shmget(IPC_PRIVATE, CODE_BYTES, IPC_CREAT | 0600);
	char *memory = id < 0 ? MAP_FAILED : shmat(id, NULL, SHM_EXEC);

	if (id >= 0)
		shmctl(id, IPC_RMID, NULL);
	return memory;
}

static char *of_posix(void)
{
	char name[64], *memory;
	int fd;

	snprintf(name, sizeof(name), "/jit_program-%u", (unsigned)getpid());
	fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || ftruncate(fd, CODE_BYTES))
		return MAP_FAILED;
	memory = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	shm_unlink(name);
	return memory != MAP_FAILED && mprotect(memory, CODE_BYTES, CODE_PROTECTION) ? MAP_FAILED
										     : memory;
}

static char *shared_zeros(void)
{
	return map_code(-1, MAP_SHARED | MAP_ANONYMOUS);
}

static char *heap(void)
{
	uintptr_t end = (uintptr_t)sbrk(2 * CODE_BYTES);
	char *memory = (char *)((end + CODE_BYTES - 1) / CODE_BYTES * CODE_BYTES);

	return mprotect(memory, CODE_BYTES, CODE_PROTECTION) ? MAP_FAILED : memory;
}

/* Memory for code. Returns MAP_FAILED if there is none. */
static char *code_memory(const char *kind)
{
	static const struct {
		const char *kind;
		char *(*make)(void);
	} kinds[] = {
		{ "anon", anonymous }, { "memfd", memfd },	 { "sysv", of_system_v },
		{ "posix", of_posix }, { "zero", shared_zeros }, { "heap", heap },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kind, kinds[i].kind))
			return kinds[i].make();
	return MAP_FAILED;
}

int main(int argc, char **argv)
{
	char *memory = code_memory(argc > 3 ? argv[3] : "anon");
	bool stay = argc > 4;

	while (stay && getchar() != '\n')
		if (feof(stdin))
			return 1;
	if (MACHINE == EM_NONE || argc < 3 || memory == MAP_FAILED)
		return 77;
	if (strcmp(argv[1], "map") && open_dump(argv[2]))
		return 1;
	if (strcmp(argv[1], "dump") && open_map())
		return 1;
	load(memory, "jit_first");
	/* the kernel reports the mapping again, as by compilers that write only to pages that are
	 * not executable */
	mprotect(memory, CODE_BYTES, PROT_READ | PROT_WRITE);
	mprotect(memory, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC);
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

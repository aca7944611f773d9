/* SPDX-License-Identifier: MIT */
/*
 * Calls functions through trampolines as those of python -X perf, and writes their perf map. For
 * python.sh.
 *
 *	trampolines NUMBER [SECONDS]	NUMBER: of the kind of trampoline, from 0
 *
 * Ends with 77 if there is no such kind. Each stack is work, interpret, py::third, interpret,
 * py::second, interpret, py::first, main.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "jitdump.h"

struct kind {
	unsigned char size, code[32];
};

static const struct kind kinds[] = {
#if defined(__x86_64__)
	{ 11, { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3 } },
	{ 15,
	  { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08,
	    0xc3 } },
	{ 8, { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3 } },
	{ 12, { 0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3 } },
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	{ 20, { 0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x60, 0x00,
		0x3f, 0xd6, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6 } },
	{ 28,
	  { 0x3f, 0x23, 0x03, 0xd5, 0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x60, 0x00,
	    0x3f, 0xd6, 0xfd, 0x7b, 0xc1, 0xa8, 0xbf, 0x23, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6 } },
#endif
};

static volatile unsigned long sink;
static char *trampoline[3];

static void interpret(long depth, long n, long flag);
typedef void (*evaluator)(long depth, long n, long flag);

static void call(long depth, long n)
{
	void (*function)(long, long, long, evaluator) =
		(void (*)(long, long, long, evaluator))(uintptr_t)trampoline[depth];

	function(depth, n, 0, interpret);
	sink++;
}

__attribute__((noinline)) static void work(long n)
{
	for (long i = 0; i < n; i++)
		sink += (unsigned long)i;
}

__attribute__((noinline)) static void interpret(long depth, long n, long flag)
{
	/* a frame of its own size, and a callee-saved register that is no frame pointer */
	volatile char space[40];

	space[flag] = 1;
	if (depth == 2)
		work(n);
	else
		call(depth + 1, n);
	sink += (unsigned char)space[flag];
}

static int make_trampolines(const struct kind *kind)
{
	static const char *const names[] = { "py::first:a.py", "py::second:a.py",
					     "py::third:a.py" };
	char path[64], *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", (unsigned)getpid());
	map = fopen(path, "w");
	if (memory == MAP_FAILED || !map)
		return -1;
	for (size_t i = 0; i < 3; i++) {
		trampoline[i] = memory + 32 * i;
		memcpy(trampoline[i], kind->code, kind->size);
		perf_map_line(map, (uintptr_t)trampoline[i], kind->size, names[i]);
	}
	__builtin___clear_cache(memory, memory + 4096);
	return fclose(map);
}

int main(int argc, char **argv)
{
	size_t number = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 0.3;
	clock_t end;

	if (number >= sizeof(kinds) / sizeof(kinds[0]))
		return 77;
	if (make_trampolines(&kinds[number]))
		return 1;
	printf("%u\n", (unsigned)getpid());
	fflush(stdout);
	for (end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC); clock() < end;)
		call(0, 100000);
	return 0;
}

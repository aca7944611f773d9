/* SPDX-License-Identifier: MIT */
/*
 * A program that copies a part of its text to anonymous memory at the same addresses, as for large
 * pages, and computes there. For copied_text.sh.
 *
 *	copied_text [MILLISECONDS]	prints "ready" when the text is copied
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* The linker defines symbols for its start and end. With larger pages the program ends. */
#define COPIED __attribute__((section("copied_text"), aligned(4096), noinline))
extern char copied_text_start[] __asm__("__start_copied_text");
extern char copied_text_end[] __asm__("__stop_copied_text");

static volatile unsigned long sink;
static volatile int count = 100000; /* unknown to the compiler, which makes no clone for it */

static inline __attribute__((always_inline)) void copied_inlined(int n)
{
	for (int i = 0; i < n; i++)
		sink += (unsigned long)i;
}

COPIED static void copied_leaf(int n)
{
	copied_inlined(n);
	sink++;
}

COPIED static int copied_caller(int n)
{
	copied_leaf(n);
	return (int)sink;
}

static int copy_text(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *start = copied_text_start;
	size_t size = ((size_t)(copied_text_end - start) + page - 1) / page * page;
	char *saved = malloc(size);

	if (!saved)
		return -1;
	memcpy(saved, start, size);
	if (mmap(start, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) != start)
		return -1;
	memcpy(start, saved, size);
	__builtin___clear_cache(start, start + size);
	free(saved);
	return mprotect(start, size, PROT_READ | PROT_EXEC);
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	double end = argc > 1 ? strtod(argv[1], NULL) / 1000 : 0.3;
	int n = 0;

	if (copy_text())
		return 1;
	puts("ready");
	fflush(stdout);
	for (end += cpu_seconds(); cpu_seconds() < end;)
		n += copied_caller(count);
	return n == -1;
}

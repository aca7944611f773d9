/* SPDX-License-Identifier: MIT */
#include "memory.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#ifdef __GLIBC_PREREQ
#define HAS_MALLINFO2 __GLIBC_PREREQ(2, 33)
#else
#define HAS_MALLINFO2 0
#endif

/* A field of /proc/self/statm, in bytes. */
static uint64_t read_pages(const char *format)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (!file)
		return 0;
	if (fscanf(file, format, &pages) != 1)
		pages = 0;
	fclose(file);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t agent_allocated_memory(void)
{
#if HAS_MALLINFO2
	struct mallinfo2 info = mallinfo2();

	return (uint64_t)info.uordblks + info.hblkhd;
#else
	return agent_used_memory();
#endif
}

uint64_t agent_used_memory(void)
{
	return read_pages("%*u %*u %*u %*u %*u %lu");
}

void agent_trim_memory(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

uint64_t agent_resident_memory(void)
{
	return read_pages("%*u %lu");
}

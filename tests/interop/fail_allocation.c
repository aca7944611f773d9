/* SPDX-License-Identifier: MIT */
/*
 * An allocator one of whose allocations fails, for out_of_memory.py: LD_PRELOAD has it, and
 * FAIL_ALLOCATION the number of the allocation, from 1. Only the first program fails: those that
 * it starts get neither variable. FAIL_ALLOCATION_FD is a descriptor that gets a byte when the
 * allocation fails, so that the test finds the end of a program's allocations.
 *
 * The allocator below is glibc's own, by the names that it exports for this.
 */
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t nr, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_long left; /* allocations until the one that fails; 0 or below: none fails */
static int report = -1;
static pid_t program;

__attribute__((constructor)) static void begin(void)
{
	const char *number = getenv("FAIL_ALLOCATION");
	const char *fd = getenv("FAIL_ALLOCATION_FD");

	report = fd ? atoi(fd) : -1;
	program = getpid();
	left = number ? atol(number) : 0;
	unsetenv("LD_PRELOAD");
	unsetenv("FAIL_ALLOCATION");
	unsetenv("FAIL_ALLOCATION_FD");
}

static int fails(void)
{
	if (atomic_load_explicit(&left, memory_order_relaxed) <= 0 ||
	    atomic_fetch_sub(&left, 1) != 1 || getpid() != program)
		return 0;
	if (report >= 0 && write(report, "f", 1) != 1)
		_exit(99);
	errno = ENOMEM;
	return 1;
}

#pragma GCC visibility push(default) /* these are the functions of the program */

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t nr, size_t size)
{
	return fails() ? NULL : __libc_calloc(nr, size);
}

void *realloc(void *old, size_t size)
{
	return fails() ? NULL : __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size)
{
	return fails() ? NULL : __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
	*memory = memalign(alignment, size);
	return *memory ? 0 : ENOMEM;
}

#pragma GCC visibility pop

/* SPDX-License-Identifier: MIT */
/* Counts the allocations of a test by replacing the allocator. Include it once in a program, after
 * cmocka.h. */
#ifndef PERCH_COUNT_ALLOCATIONS_H
#define PERCH_COUNT_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "sanitized.h"

/* volatile: compilers assume that malloc(3) changes no variable */
static volatile size_t allocations;

#if SANITIZED
/* A sanitizer has its own allocator, with hooks. */
int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void *, size_t),
					      void (*freed)(const volatile void *));

static void count(const volatile void *memory, size_t size)
{
	(void)memory;
	(void)size;
	allocations++;
}

static void ignore(const volatile void *memory)
{
	(void)memory;
}

static bool count_allocations(void)
{
	return __sanitizer_install_malloc_and_free_hooks(count, ignore);
}
#elif defined(__GLIBC__)
/* These replace the functions of the C library and call them by their internal names. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t nr, size_t size);
extern void *__libc_realloc(void *old, size_t size);

void *malloc(size_t size)
{
	allocations++;
	return __libc_malloc(size);
}

void *calloc(size_t nr, size_t size)
{
	allocations++;
	return __libc_calloc(nr, size);
}

void *realloc(void *old, size_t size)
{
	allocations++;
	return __libc_realloc(old, size);
}

static bool count_allocations(void)
{
	return true;
}
#else
static bool count_allocations(void)
{
	return false;
}
#endif

#endif

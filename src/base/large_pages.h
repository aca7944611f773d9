/* SPDX-License-Identifier: MIT */
/* Large pages for large arrays: a page fault then adds 2 MB, not 4 KB. And pages that are not
 * needed any more. */
#ifndef PERCH_BASE_LARGE_PAGES_H
#define PERCH_BASE_LARGE_PAGES_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory.h"

enum { PERCH__LARGE_PAGES_FROM = 2 << 20 }; /* bytes of an array */

/*
 * For memory that malloc() or calloc() has just returned, or that realloc() has made larger. A
 * kernel without large pages ignores it. It is for whole pages around the memory: with a part of a
 * mapping realloc() could not move the mapping, and would copy it.
 */
static inline void perch__use_large_pages(const void *memory, size_t size)
{
	const uintptr_t page = 4096;
	uintptr_t start = (uintptr_t)memory & ~(page - 1);
	uintptr_t end = ((uintptr_t)memory + size + page - 1) & ~(page - 1);
	int saved = errno;

	if (!memory || size < PERCH__LARGE_PAGES_FROM)
		return;
	madvise((void *)start, end - start, MADV_HUGEPAGE);
	errno = saved;
}

/*
 * Allocates memory for an array of about this size, in large pages from its start on. Until it is
 * used it takes no pages. realloc() moves a large array to where its pages are small ones, so an
 * array whose size is known should not grow. free() frees it. Returns NULL if out of memory.
 */
static inline void *perch__large_alloc(size_t size)
{
	const size_t page = PERCH__LARGE_PAGES_FROM;
	void *memory;

	if (size > PTRDIFF_MAX - page)
		return NULL;
	if (size < page)
		return perch__malloc(size);
	size = (size + page - 1) & ~(page - 1);
	memory = aligned_alloc(page, size);
	perch__use_large_pages(memory, size);
	return memory;
}

/* Gives the whole pages in this memory back to the kernel. The memory stays allocated; its content
 * is lost. */
static inline void perch__release_pages(const void *memory, size_t size)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = ((uintptr_t)memory + page - 1) & ~(page - 1);
	uintptr_t end = ((uintptr_t)memory + size) & ~(page - 1);
	int saved = errno;

	if (start < end)
		madvise((void *)start, end - start, MADV_DONTNEED);
	errno = saved;
}

#endif

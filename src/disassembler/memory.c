/* SPDX-License-Identifier: MIT */
/*
 * Memory for capstone, which uses the results of some of its allocations without a check. If memory
 * runs out, it gets a reserve that holds several times what a disassembler needs: its instructions
 * stay right, and the failure is counted.
 */
#ifdef PERCH_HAVE_CAPSTONE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "internal.h"

enum { RESERVE = 64 << 10, ALIGNMENT = 16 };

static _Alignas(ALIGNMENT) unsigned char reserve[RESERVE];
static size_t reserved; /* bytes; above RESERVE once it is used up */

static void *from_reserve(size_t size)
{
	size_t at, bytes;

	perch__allocation_failed();
	if (size > RESERVE)
		return NULL;
	bytes = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	at = __atomic_fetch_add(&reserved, bytes, __ATOMIC_RELAXED);
	return at <= RESERVE - bytes ? reserve + at : NULL;
}

static void *allocate_memory(size_t size)
{
	void *memory = malloc(size);

	if (!memory)
		memory = from_reserve(size);
	return memory;
}

static void *allocate_zeroed(size_t nr, size_t size)
{
	void *memory = calloc(nr, size);

	/* the reserve is used once, so its bytes are 0 */
	if (!memory && (!size || nr <= RESERVE / size))
		memory = from_reserve(nr * size);
	return memory;
}

static bool is_reserved(const void *memory)
{
	return (uintptr_t)memory - (uintptr_t)reserve < RESERVE;
}

static void free_memory(void *memory)
{
	if (!is_reserved(memory))
		free(memory);
}

static void *resize(void *memory, size_t size)
{
	size_t most = (uintptr_t)reserve + RESERVE - (uintptr_t)memory; /* of reserved memory */
	void *moved;

	if (!is_reserved(memory))
		return perch__realloc(memory, size);
	moved = perch__malloc(size);
	if (moved)
		memcpy(moved, memory, size < most ? size : most);
	return moved;
}

const cs_opt_mem perch__capstone_memory = {
	.malloc = allocate_memory,
	.calloc = allocate_zeroed,
	.realloc = resize,
	.free = free_memory,
	.vsnprintf = vsnprintf,
};
#endif

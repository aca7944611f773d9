/* SPDX-License-Identifier: MIT */
/* The generation of this process; see fork.h. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fork.h"

static const uint32_t nothing_opened;
static uint32_t own_word;	 /* the generation if the kernel clears no page in a child */
static uint32_t last_generation; /* of this process or an ancestor */

const uint32_t *perch__fork_word = &nothing_opened;

static void clear_word(void)
{
	__atomic_store_n(&own_word, 0, __ATOMIC_RELAXED);
}

static uint32_t *map_word(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	if (!madvise(page, size, MADV_WIPEONFORK))
		return page;
	munmap(page, size);
	return NULL;
}

/*
 * Several threads may make a word at the same time: the first one is used by all. A second handler
 * of pthread_atfork(3) does no harm.
 */
static uint32_t *get_word(void)
{
	const uint32_t *used = __atomic_load_n(&perch__fork_word, __ATOMIC_ACQUIRE);
	uint32_t *made;

	if (used != &nothing_opened)
		return (uint32_t *)used;
	made = map_word();
	if (!made) {
		made = &own_word;
		pthread_atfork(NULL, NULL, clear_word);
	}
	if (__atomic_compare_exchange_n(&perch__fork_word, &used, made, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return made;
	if (made != &own_word)
		munmap(made, (size_t)sysconf(_SC_PAGESIZE));
	return (uint32_t *)used;
}

uint32_t perch__fork_generation(void)
{
	uint32_t *word = get_word(), generation = __atomic_load_n(word, __ATOMIC_ACQUIRE), next;

	if (generation)
		return generation;
	do
		next = __atomic_add_fetch(&last_generation, 1, __ATOMIC_RELAXED);
	while (!next);
	/* if another thread was first, its generation is used */
	if (__atomic_compare_exchange_n(word, &generation, next, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return next;
	return generation;
}

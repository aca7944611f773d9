/* SPDX-License-Identifier: MIT */
/*
 * Entries and exits become calls. A thread is in at most one system call, so a thread has one open
 * call or none. Memory is that of the threads that were seen and have not ended.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/hash_table.h"
#include "internal.h"

struct thread {
	struct perch_syscall_open open; /* .tid is 0: the slot is free */
	bool is_open;			/* in a call */
	bool seen;			/* an event of it was seen: a missing entry is a lost one */
	bool forked;			/* no event since its FORK record */
};

struct perch_syscall_joiner {
	struct perch__hash_table table;
	struct thread *thread;
	uint32_t nr, capacity;
	uint32_t *free; /* indexes of free slots; as many as capacity */
	uint32_t nr_free;
};

int perch_syscall_joiner_new(struct perch_syscall_joiner **joiner, struct perch_error *err)
{
	*joiner = perch__calloc(1, sizeof(**joiner));
	if (!*joiner)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "out of memory");
	(*joiner)->table.seed = perch__hash_seed(*joiner);
	return 0;
}

void perch_syscall_joiner_free(struct perch_syscall_joiner *joiner)
{
	if (!joiner)
		return;
	perch__hash_clear(&joiner->table);
	free(joiner->thread);
	free(joiner->free);
	free(joiner);
}

static bool same_tid(const void *items, uint32_t index, const void *key)
{
	return ((const struct thread *)items)[index].open.tid == *(const uint32_t *)key;
}

static struct thread *find_thread(const struct perch_syscall_joiner *joiner, uint32_t tid)
{
	uint64_t hash = perch__hash_integer(joiner->table.seed, tid);
	uint32_t index = perch__hash_find(&joiner->table, hash, same_tid, joiner->thread, &tid);

	return index == PERCH__HASH_NONE ? NULL : &joiner->thread[index];
}

static int add_slots(struct perch_syscall_joiner *joiner)
{
	uint32_t capacity = joiner->capacity ? joiner->capacity * 2 : 64;
	struct thread *thread;
	uint32_t *unused;

	if (capacity > PERCH__HASH_MAX / 2)
		return -ENOMEM;
	thread = realloc(joiner->thread, capacity * sizeof(*thread));
	if (!thread)
		return -ENOMEM;
	joiner->thread = thread;
	unused = realloc(joiner->free, capacity * sizeof(*unused));
	if (!unused)
		return -ENOMEM;
	joiner->free = unused;
	joiner->capacity = capacity;
	return 0;
}

/* Finds or adds a thread. Returns NULL if out of memory. */
static struct thread *get_thread(struct perch_syscall_joiner *joiner, uint32_t pid, uint32_t tid)
{
	struct thread *thread = find_thread(joiner, tid);
	uint32_t index;

	if (thread)
		return thread;
	if (!joiner->nr_free && joiner->nr == joiner->capacity && add_slots(joiner))
		return NULL;
	index = joiner->nr_free ? joiner->free[joiner->nr_free - 1] : joiner->nr;
	if (perch__hash_add(&joiner->table, perch__hash_integer(joiner->table.seed, tid), index))
		return NULL;
	if (joiner->nr_free)
		joiner->nr_free--;
	else
		joiner->nr++;
	joiner->thread[index] = (struct thread){ .open = { .pid = pid, .tid = tid } };
	return &joiner->thread[index];
}

/* Closes the open call of a thread, which *open becomes; .tid is 0 if there is none. */
static void close_call(struct thread *thread, struct perch_syscall_open *open)
{
	if (thread->is_open)
		*open = thread->open;
	else
		open->tid = 0;
	thread->is_open = false;
}

int perch_syscall_add_entry(struct perch_syscall_joiner *joiner,
			    const struct perch_syscall_open *call, struct perch_syscall_open **open,
			    struct perch_syscall_open *lost)
{
	struct thread *thread = get_thread(joiner, call->pid, call->tid);

	if (!thread)
		return -ENOMEM;
	close_call(thread, lost);
	thread->open = *call;
	thread->open.uncertain = false;
	memset(thread->open.user, 0, sizeof(thread->open.user));
	thread->is_open = thread->seen = true;
	thread->forked = false;
	*open = &thread->open;
	return 0;
}

int perch_syscall_add_exit(struct perch_syscall_joiner *joiner, uint32_t pid, uint32_t tid,
			   int64_t number, struct perch_syscall_open *open,
			   enum perch_syscall_exit *what)
{
	struct thread *thread = get_thread(joiner, pid, tid);

	if (!thread)
		return -ENOMEM;
	close_call(thread, open);
	/* rt_sigreturn(2) restores the registers of the program, and its exit has no number */
	if (open->tid && (open->number == number || number == -1))
		*what = open->uncertain ? PERCH_SYSCALL_UNCERTAIN : PERCH_SYSCALL_JOINED;
	else if (thread->forked)
		*what = PERCH_SYSCALL_IN_CHILD;
	else
		*what = thread->seen ? PERCH_SYSCALL_ENTRY_LOST : PERCH_SYSCALL_BEGAN_BEFORE;
	thread->seen = true;
	thread->forked = false;
	return 0;
}

void perch_syscall_lost(struct perch_syscall_joiner *joiner)
{
	for (uint32_t i = 0; i < joiner->nr; i++)
		joiner->thread[i].open.uncertain = true;
}

int perch_syscall_fork(struct perch_syscall_joiner *joiner, uint32_t pid, uint32_t tid)
{
	struct thread *thread = get_thread(joiner, pid, tid);

	if (!thread)
		return -ENOMEM;
	*thread = (struct thread){ .open = { .pid = pid, .tid = tid }, .forked = true };
	return 0;
}

void perch_syscall_end(struct perch_syscall_joiner *joiner, uint32_t tid,
		       struct perch_syscall_open *open)
{
	struct thread *thread = find_thread(joiner, tid);
	uint32_t index;

	open->tid = 0;
	if (!thread)
		return;
	close_call(thread, open);
	index = (uint32_t)(thread - joiner->thread);
	perch__hash_remove(&joiner->table, perch__hash_integer(joiner->table.seed, tid), index);
	joiner->free[joiner->nr_free++] = index;
	thread->open.tid = 0;
}

struct perch_syscall_open *perch_syscall_open_call(struct perch_syscall_joiner *joiner,
						   uint32_t tid)
{
	struct thread *thread = find_thread(joiner, tid);

	return thread && thread->is_open ? &thread->open : NULL;
}

struct perch_syscall_open *perch_syscall_next_open(struct perch_syscall_joiner *joiner, size_t *at)
{
	while (*at < joiner->nr) {
		struct thread *thread = &joiner->thread[(*at)++];

		if (thread->is_open)
			return &thread->open;
	}
	return NULL;
}

/* SPDX-License-Identifier: MIT */
/* The threads that live. An idle thread is found by its CPU, and has what is known of the CPU. */
#include "timeline/internal.h"

/* A thread with a tid has no CPU: one key for both. Those of CPUs are above all tids. */
static uint64_t thread_key(uint32_t tid, uint32_t cpu)
{
	return tid ? tid : ~(uint64_t)cpu;
}

static bool same_thread(const void *items, uint32_t index, const void *key)
{
	const struct perch_timeline_thread *thread =
		&((const struct timeline_thread *)items)[index].thread;

	return thread_key(thread->tid, thread->cpu) == *(const uint64_t *)key;
}

struct timeline_thread *perch__timeline_search(struct timeline_threads *threads, uint32_t tid,
					       uint32_t cpu)
{
	uint64_t key = thread_key(tid, cpu);
	uint32_t index = perch__hash_find(&threads->table,
					  perch__hash_integer(threads->table.seed, key),
					  same_thread, threads->thread, &key);

	if (index == PERCH__HASH_NONE)
		return NULL;
	*perch__timeline_recent(threads, tid, cpu) = index + 1;
	return &threads->thread[index];
}

int perch__timeline_get(struct timeline_threads *threads, uint32_t tid, uint32_t cpu,
			struct timeline_thread **thread)
{
	uint64_t key = thread_key(tid, cpu);
	uint32_t index;

	*thread = perch__timeline_find(threads, tid, cpu);
	if (*thread)
		return 0;
	if (threads->nr - threads->nr_unused >= threads->max)
		return -ENOSPC;
	if (!threads->table.seed)
		threads->table.seed = perch__hash_seed(threads);
	if (perch__hash_reserve(&threads->table, threads->nr + 1))
		return -ENOMEM;
	if (!threads->nr_unused) {
		if (PERCH__ARRAY_RESERVE(threads->unused, threads->unused_capacity,
					 threads->nr + 1) ||
		    !PERCH__ARRAY_APPEND(threads->thread, threads->nr, threads->capacity))
			return -ENOMEM;
		threads->unused[threads->nr_unused++] = (uint32_t)threads->nr - 1;
	}
	index = threads->unused[--threads->nr_unused];
	*thread = &threads->thread[index];
	**thread = (struct timeline_thread){
		.thread = { .tid = tid,
			    .index = index,
			    .parent_pid = UINT32_MAX,
			    .priority = -1,
			    .cpu = tid ? TIMELINE_UNKNOWN : cpu },
		.live = true,
		.current = TIMELINE_UNKNOWN,
	};
	return perch__hash_add(&threads->table, perch__hash_integer(threads->table.seed, key),
			       index);
}

void perch__timeline_remove(struct timeline_threads *threads, struct timeline_thread *thread)
{
	uint64_t key = thread_key(thread->thread.tid, thread->thread.cpu);

	perch__hash_remove(&threads->table, perch__hash_integer(threads->table.seed, key),
			   thread->thread.index);
	threads->unused[threads->nr_unused++] = thread->thread.index;
	thread->live = false;
}

void perch__timeline_clear_threads(struct timeline_threads *threads)
{
	perch__hash_clear(&threads->table);
	free(threads->thread);
	free(threads->unused);
	*threads = (struct timeline_threads){ .max = threads->max, .table = threads->table };
}

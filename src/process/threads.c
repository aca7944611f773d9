/* SPDX-License-Identifier: MIT */
/* The threads and processes of a recording, and their names. */
#include <stdio.h>

#include "internal.h"

static bool same_comm(const void *items, uint32_t index, const void *text)
{
	return !strcmp(((struct comm *const *)items)[index]->text, text);
}

const struct comm *perch__process_comm(struct perch_processes *processes, const char *text)
{
	size_t length = strlen(text);
	uint64_t hash = perch__hash_bytes(processes->seed, text, length);
	uint32_t index =
		perch__hash_find(&processes->by_comm, hash, same_comm, processes->comm, text);
	struct comm *comm;

	if (index != PERCH__HASH_NONE)
		return processes->comm[index];
	comm = malloc(sizeof(*comm) + length + 1);
	if (!comm || PERCH__ARRAY_RESERVE_BY_NR(processes->comm, processes->nr_comms, 1) ||
	    perch__hash_add(&processes->by_comm, hash, processes->nr_comms)) {
		free(comm);
		return NULL;
	}
	memcpy(comm->text, text, length + 1);
	comm->index = processes->nr_comms;
	processes->comm[processes->nr_comms++] = comm;
	return comm;
}

static bool same_pid(const void *items, uint32_t index, const void *pid)
{
	return ((struct process *const *)items)[index]->pid == *(const uint32_t *)pid;
}

struct process *perch__process_get(struct perch_processes *processes, uint32_t pid)
{
	uint64_t hash = perch__hash_integer(processes->seed, pid);
	uint32_t index =
		perch__hash_find(&processes->by_pid, hash, same_pid, processes->process, &pid);
	struct process *process;

	if (index != PERCH__HASH_NONE)
		return processes->process[index];
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	process->space = perch__space_new(++processes->generation);
	if (!process->space ||
	    PERCH__ARRAY_RESERVE_BY_NR(processes->process, processes->nr_processes, 1) ||
	    perch__hash_add(&processes->by_pid, hash, processes->nr_processes)) {
		perch__space_put(process->space);
		free(process);
		return NULL;
	}
	processes->process[processes->nr_processes++] = process;
	return process;
}

static bool same_tid(const void *items, uint32_t index, const void *tid)
{
	return ((struct perch_thread *const *)items)[index]->tid == *(const uint32_t *)tid;
}

uint32_t perch__thread_find(const struct perch_processes *processes, uint32_t tid)
{
	return perch__hash_find(&processes->by_tid, perch__hash_integer(processes->seed, tid),
				same_tid, processes->thread, &tid);
}

int perch__set_newest_thread(struct perch_processes *processes, uint32_t tid)
{
	uint64_t hash = perch__hash_integer(processes->seed, tid);
	uint32_t old = perch__thread_find(processes, tid);

	processes->last_thread = NULL;
	if (old == PERCH__HASH_NONE)
		return perch__hash_add(&processes->by_tid, hash, processes->nr_threads);
	perch__switches_end(processes, processes->thread[old]);
	perch__hash_move(&processes->by_tid, hash, old, processes->nr_threads);
	return 0;
}

const struct comm *perch__thread_default_comm(struct perch_processes *processes, uint32_t tid)
{
	char name[16];

	/* the kernel's idle tasks have no COMM record */
	if (tid == 0)
		snprintf(name, sizeof(name), "swapper");
	else
		snprintf(name, sizeof(name), ":%d", (int)tid);
	return perch__process_comm(processes, name);
}

static struct perch_thread *new_thread(struct perch_processes *processes, uint32_t pid,
				       uint32_t tid)
{
	struct perch_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return NULL;
	thread->pid = pid;
	thread->tid = tid;
	thread->process = perch__process_get(processes, pid);
	/* not the leader's: threads of a process may have names of their own */
	thread->comm = perch__thread_default_comm(processes, tid);
	thread->has_comm = tid == 0;
	if (!thread->process || !thread->comm ||
	    PERCH__ARRAY_RESERVE_BY_NR(processes->thread, processes->nr_threads, 1) ||
	    perch__set_newest_thread(processes, tid)) {
		free(thread);
		return NULL;
	}
	processes->thread[processes->nr_threads++] = thread;
	return thread;
}

struct perch_thread *perch__processes_thread(struct perch_processes *processes, uint32_t pid,
					     uint32_t tid)
{
	struct perch_thread *last = processes->last_thread;
	uint32_t index;

	if (last && last->tid == tid && last->pid == pid)
		return last;
	index = perch__thread_find(processes, tid);
	/* the same tid in another process is a new thread */
	if (index == PERCH__HASH_NONE || processes->thread[index]->pid != pid)
		return new_thread(processes, pid, tid);
	processes->last_thread = processes->thread[index];
	return processes->last_thread;
}

struct perch_thread *perch_processes_thread(struct perch_processes *processes, uint32_t pid,
					    uint32_t tid)
{
	processes->sampled = true;
	return perch__processes_thread(processes, pid, tid);
}

uint64_t perch_thread_generation(const struct perch_thread *thread)
{
	return thread->process->space->generation;
}

uint32_t perch_thread_pid(const struct perch_thread *thread)
{
	return thread->pid;
}

uint32_t perch_thread_tid(const struct perch_thread *thread)
{
	return thread->tid;
}

void perch_thread_cgroup_namespace(const struct perch_thread *thread,
				   struct perch_ns_link_info *link)
{
	*link = thread->cgroup_namespace;
}

const char *perch_thread_comm(const struct perch_thread *thread)
{
	return thread->comm->text;
}

uint32_t perch_thread_comm_index(const struct perch_thread *thread)
{
	return thread->comm->index;
}

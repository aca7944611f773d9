/* SPDX-License-Identifier: MIT */
/* Frees what has ended, for programs that follow a running system. */
#include "internal.h"

/* Calls after the EXIT record that a thread stays, + 1. */
#define FREED 2

static bool is_freed(const struct perch_thread *thread)
{
	return thread->ended >= FREED;
}

/* Returns the number of threads to free. */
static size_t mark_ended(struct perch_processes *processes)
{
	size_t freed = 0;

	for (size_t i = 0; i < processes->nr_processes; i++)
		processes->process[i]->has_threads = false;
	for (size_t i = 0; i < processes->nr_threads; i++) {
		struct perch_thread *thread = processes->thread[i];

		if (is_freed(thread)) {
			thread->process->had_threads = true;
			freed++;
		} else {
			thread->process->has_threads = true;
		}
	}
	return freed;
}

/* The table has slots for all threads. Later threads with the same tid replace earlier ones. */
static void free_threads(struct perch_processes *processes)
{
	size_t nr = processes->nr_threads;

	processes->last_thread = NULL;
	processes->nr_threads = 0;
	for (size_t i = 0; i < nr; i++) {
		struct perch_thread *thread = processes->thread[i];

		if (is_freed(thread)) {
			free(thread);
			continue;
		}
		perch__set_newest_thread(processes, thread->tid);
		processes->thread[processes->nr_threads++] = thread;
	}
}

static void free_processes(struct perch_processes *processes)
{
	size_t nr = processes->nr_processes;

	processes->nr_processes = 0;
	for (size_t i = 0; i < nr; i++) {
		struct process *process = processes->process[i];

		if (process->had_threads && !process->has_threads) {
			perch__jitdumps_leave(processes, process);
			perch__space_put(process->space);
			free(process);
			continue;
		}
		perch__hash_add(&processes->by_pid,
				perch__hash_integer(processes->seed, process->pid),
				processes->nr_processes);
		processes->process[processes->nr_processes++] = process;
	}
}

int64_t perch_processes_discard_ended(struct perch_processes *processes)
{
	struct perch__hash_table by_tid = { 0 }, by_pid = { 0 };
	size_t freed = mark_ended(processes);

	if (freed) {
		if (perch__hash_reserve(&by_tid, processes->nr_threads + 1) ||
		    perch__hash_reserve(&by_pid, processes->nr_processes + 1)) {
			perch__hash_clear(&by_tid);
			perch__hash_clear(&by_pid);
			return -ENOMEM;
		}
		perch__hash_clear(&processes->by_tid);
		perch__hash_clear(&processes->by_pid);
		processes->by_tid = by_tid;
		processes->by_pid = by_pid;
		free_threads(processes);
		free_processes(processes);
	}
	for (size_t i = 0; i < processes->nr_threads; i++)
		processes->thread[i]->ended += processes->thread[i]->ended > 0;
	return (int64_t)freed;
}

/* ---- DSOs ---- */

static void mark_maps(const struct map_node *node, bool *used)
{
	if (!node)
		return;
	/* where code of a JIT compiler was removed, there is none */
	if (node->map.dso)
		used[node->map.dso->index] = true;
	if (node->map.text)
		used[node->map.text->index] = true;
	mark_maps(node->left, used);
	mark_maps(node->right, used);
}

static void mark_space(const struct space *space, bool *used)
{
	for (; space; space = space->before) {
		mark_maps(space->root, used);
		mark_maps(space->code, used);
	}
}

size_t perch_processes_discard_dsos(struct perch_processes *processes, bool *used)
{
	mark_space(processes->kernel, used);
	for (size_t i = 0; i < processes->nr_processes; i++) {
		const struct process *process = processes->process[i];

		mark_space(process->space, used);
		if (process->generated)
			used[process->generated->index] = true;
	}
	used[processes->unmapped.unknown->index] = true;
	used[processes->unmapped.kernel_dso->index] = true;
	for (size_t i = 0; i < processes->nr_dsos; i++)
		if (processes->dso[i]->jitdump)
			used[i] |= processes->dso[i]->jitdump->process != NULL;
	perch__jitdumps_free_unused(&processes->jitdumps, used);
	return perch__dsos_free_unused(processes, used);
}

/* SPDX-License-Identifier: MIT */
/* Processes and threads, kept up to date by the records that tell of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

int perch_processes_new(struct perch_processes **result, struct perch_error *err)
{
	static const char unknown[] = "[unknown]", kernel[] = "[kernel.kallsyms]";
	struct perch_processes *processes = calloc(1, sizeof(*processes));

	if (processes) {
		processes->kernel = perch__space_new(0);
		processes->unknown = perch__dso_named(processes, unknown, sizeof(unknown) - 1,
						      PERCH_DSO_UNKNOWN, NULL, 0);
		processes->kernel_dso = perch__dso_named(processes, kernel, sizeof(kernel) - 1,
							 PERCH_DSO_KERNEL, NULL, 0);
	}
	if (!processes || !processes->kernel || !processes->unknown || !processes->kernel_dso) {
		perch_processes_free(processes);
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for address spaces");
	}
	*result = processes;
	return 0;
}

void perch_processes_free(struct perch_processes *processes)
{
	if (!processes)
		return;
	for (size_t i = 0; i < processes->nr_processes; i++) {
		perch__space_put(processes->process[i]->space);
		free(processes->process[i]);
	}
	for (size_t i = 0; i < processes->nr_threads; i++)
		free(processes->thread[i]);
	for (size_t i = 0; i < processes->nr_comms; i++)
		free(processes->comm[i]);
	for (size_t i = 0; i < processes->nr_dsos; i++) {
		free((char *)processes->dso[i]->path);
		free(processes->dso[i]);
	}
	for (size_t i = 0; i < processes->nr_header_build_ids; i++)
		free(processes->header_build_id[i]);
	perch__space_put(processes->kernel);
	free(processes->processes.slot);
	free(processes->threads.slot);
	free(processes->comms.slot);
	free(processes->dsos.slot);
	free(processes->builds.slot);
	free(processes->header_build_id_index.slot);
	free(processes->process);
	free(processes->thread);
	free(processes->comm);
	free(processes->dso);
	free(processes->header_build_id);
	free(processes);
}

static bool same_comm(const void *value, const void *key)
{
	return !strcmp(((const struct comm *)value)->text, key);
}

static const struct comm *get_comm(struct perch_processes *processes, const char *text)
{
	size_t length = strlen(text);
	uint64_t hash = perch__hash_bytes(text, length, 1);
	struct comm *comm = perch__strings_find(&processes->comms, hash, same_comm, text);

	if (comm)
		return comm;
	comm = malloc(sizeof(*comm) + length + 1);
	if (!comm || perch__grow(&processes->comm, processes->nr_comms, sizeof(comm)) ||
	    perch__strings_add(&processes->comms, hash, comm)) {
		free(comm);
		return NULL;
	}
	memcpy(comm->text, text, length + 1);
	comm->index = processes->nr_comms;
	processes->comm[processes->nr_comms++] = comm;
	return comm;
}

static struct process *get_process(struct perch_processes *processes, uint32_t pid)
{
	struct process *process = perch__table_get(&processes->processes, pid);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	process->space = perch__space_new(++processes->generation);
	if (!process->space ||
	    perch__grow(&processes->process, processes->nr_processes, sizeof(process)) ||
	    perch__table_put(&processes->processes, pid, process)) {
		perch__space_put(process->space);
		free(process);
		return NULL;
	}
	processes->process[processes->nr_processes++] = process;
	return process;
}

static struct perch_thread *new_thread(struct perch_processes *processes, uint32_t pid,
				       uint32_t tid)
{
	struct perch_thread *leader = perch__table_get(&processes->threads, pid);
	struct perch_thread *thread = calloc(1, sizeof(*thread));
	char name[16];

	if (!thread)
		return NULL;
	/* the kernel's own idle tasks have no COMM record */
	if (tid == 0)
		snprintf(name, sizeof(name), "swapper");
	else
		snprintf(name, sizeof(name), ":%u", tid);
	thread->pid = pid;
	thread->tid = tid;
	thread->process = get_process(processes, pid);
	thread->comm = leader && leader->pid == pid ? leader->comm : get_comm(processes, name);
	if (!thread->process || !thread->comm ||
	    perch__grow(&processes->thread, processes->nr_threads, sizeof(thread)) ||
	    perch__table_put(&processes->threads, tid, thread)) {
		free(thread);
		return NULL;
	}
	processes->thread[processes->nr_threads++] = thread;
	return thread;
}

struct perch_thread *perch_processes_thread(struct perch_processes *processes, uint32_t pid,
					    uint32_t tid)
{
	struct perch_thread *thread = perch__table_get(&processes->threads, tid);

	/* a tid that belongs to another process now is a new thread */
	if (thread && thread->pid == pid)
		return thread;
	return new_thread(processes, pid, tid);
}

/* The process's space, for a change: its own, and a new one for a new program. */
static struct space *writable_space(struct perch_processes *processes, struct process *process)
{
	struct space *space;

	if (process->replaced) {
		space = perch__space_new(processes->generation);
		if (space)
			perch__space_put(process->space);
	} else {
		space = perch__space_writable(process->space);
	}
	if (space) {
		process->space = space;
		process->replaced = false;
	}
	return space;
}

static int apply_mmap(struct perch_processes *processes, const struct perch_record *record)
{
	const struct perch_mmap_record *mmap = &record->mmap;
	unsigned cpumode = record->misc & PERCH_MISC_CPUMODE_MASK;
	bool kernel = cpumode == PERCH_MISC_KERNEL;
	struct map map = { mmap->start, mmap->start + mmap->length, mmap->page_offset, NULL };
	struct process *process;
	struct space *own;

	if (cpumode == PERCH_MISC_GUEST_KERNEL || cpumode == PERCH_MISC_GUEST_USER)
		return 0;
	if (map.end < map.start)
		map.end = UINT64_MAX;
	map.dso = perch__dso_of_mapping(processes, mmap, kernel);
	if (!map.dso)
		return -ENOMEM;
	if (kernel) {
		map.offset = map.start;
		processes->kernel_mapped = true;
		if (map.dso == processes->kernel_dso)
			processes->kernel_text_end = map.end;
		processes->kernel->generation++;
		return perch__space_insert(processes->kernel, &map);
	}
	process = get_process(processes, mmap->pid);
	own = process ? writable_space(processes, process) : NULL;
	if (!own)
		return -ENOMEM;
	own->generation = ++processes->generation;
	return perch__space_insert(own, &map);
}

/*
 * Each is a binary of its own, that is one function: programs of one name may lie at several
 * places. Where one is gone there is the kernel's memory again.
 */
static int apply_kernel_symbol(struct perch_processes *processes, const struct perch_record *record)
{
	const struct perch_ksymbol_record *symbol = &record->ksymbol;
	struct map map = { symbol->address, symbol->address + symbol->length, symbol->address,
			   processes->kernel_dso };

	if (map.end < map.start)
		map.end = UINT64_MAX;
	if (!(symbol->flags & PERCH_RECORD_KSYMBOL_FLAGS_UNREGISTER)) {
		map.dso = perch__dso_new(processes, symbol->name.text, symbol->name.length,
					 PERCH_DSO_KERNEL_CODE);
		if (!map.dso)
			return -ENOMEM;
		map.dso->start = map.start;
		map.dso->length = map.end - map.start;
	}
	processes->kernel->generation++;
	return perch__space_insert(processes->kernel, &map);
}

static int apply_comm(struct perch_processes *processes, const struct perch_record *record)
{
	const struct perch_comm_record *comm = &record->comm;
	struct perch_thread *thread = perch_processes_thread(processes, comm->pid, comm->tid);
	const struct comm *name = get_comm(processes, comm->comm.text);

	if (!thread || !name)
		return -ENOMEM;
	thread->comm = name;
	/* samples taken while exec is under way still have the old program's addresses */
	if (comm->exec)
		thread->process->replaced = true;
	return 0;
}

static int apply_fork(struct perch_processes *processes, const struct perch_record *record)
{
	const struct perch_task_record *task = &record->task;
	struct perch_thread *parent = perch_processes_thread(processes, task->ppid, task->ptid);
	struct perch_thread *child;

	/* thread 0 forks the kernel's threads only: nothing to inherit */
	child = parent ? perch_processes_thread(processes, task->pid, task->tid) : NULL;
	if (!child)
		return -ENOMEM;
	if (child == parent)
		return 0;
	child->comm = parent->comm;
	if (task->pid != task->ppid) {
		struct space *shared = perch__space_get(parent->process->space);

		perch__space_put(child->process->space);
		child->process->space = shared;
		child->process->replaced = false;
	}
	return 0;
}

int perch_processes_apply(struct perch_processes *processes, const struct perch_record *record)
{
	switch (record->type) {
	case PERCH_RECORD_MMAP:
	case PERCH_RECORD_MMAP2:
		return apply_mmap(processes, record);
	case PERCH_RECORD_COMM:
		return apply_comm(processes, record);
	case PERCH_RECORD_FORK:
		return apply_fork(processes, record);
	case PERCH_RECORD_KSYMBOL:
		return apply_kernel_symbol(processes, record);
	default:
		/* EXIT changes nothing: samples of the thread may still follow, and a FORK will
		 * tell of a reused tid */
		return 0;
	}
}

/*
 * Recorders map the kernel up to the end of its text; its data lie behind that, and then the text
 * of the boot, in which every idle CPU's stack ends. Modules are farther away.
 */
#define KERNEL_BEHIND_TEXT (256u << 20)
static bool is_behind_text(const struct perch_processes *processes, uint64_t address)
{
	return processes->kernel_text_end && address >= processes->kernel_text_end &&
	       address - processes->kernel_text_end < KERNEL_BEHIND_TEXT;
}

void perch_processes_resolve(struct perch_processes *processes, struct perch_thread *thread,
			     unsigned cpumode, uint64_t address, struct perch_location *location)
{
	bool kernel = cpumode == PERCH_MISC_KERNEL;
	const struct map *map = NULL;

	/* what runs in a guest or a hypervisor is in none of this machine's maps */
	if (kernel || cpumode == PERCH_MISC_USER)
		map = perch__space_find(kernel ? processes->kernel : thread->process->space,
					address);

	location->address = address;
	location->offset = address;
	if (map) {
		location->dso = map->dso;
		location->offset = address - map->start + map->offset;
		map->dso->used = true;
	} else if (kernel && (!processes->kernel_mapped || is_behind_text(processes, address))) {
		/* no map of the kernel was recorded: whatever it is, it is the kernel's */
		location->dso = processes->kernel_dso;
		processes->kernel_dso->used = true;
	} else {
		location->dso = processes->unknown;
	}
}

uint64_t perch_thread_generation(const struct perch_thread *thread)
{
	return thread->process->space->generation;
}

uint64_t perch_processes_kernel_generation(const struct perch_processes *processes)
{
	return processes->kernel->generation;
}

uint32_t perch_thread_pid(const struct perch_thread *thread)
{
	return thread->pid;
}

uint32_t perch_thread_tid(const struct perch_thread *thread)
{
	return thread->tid;
}

const char *perch_thread_comm(const struct perch_thread *thread)
{
	return thread->comm->text;
}

uint32_t perch_thread_comm_index(const struct perch_thread *thread)
{
	return thread->comm->index;
}

size_t perch_processes_dsos(const struct perch_processes *processes,
			    const struct perch_dso *const **dsos)
{
	*dsos = (const struct perch_dso *const *)processes->dso;
	return processes->nr_dsos;
}

/* SPDX-License-Identifier: MIT */
/* Processes and threads: applies records, and resolves addresses. */
#include <stdio.h>
#include <perch/file.h>

#include "base/kernel/process_owner.h"
#include "base/no_memory.h"
#include "internal.h"
#include "mappings.h"

int perch_processes_new(struct perch_processes **result, struct perch_error *err)
{
	static const char unknown[] = "[unknown]", kernel[] = "[kernel.kallsyms]";
	struct perch_processes *processes = calloc(1, sizeof(*processes));

	if (processes) {
		processes->seed = perch__hash_seed(processes);
		perch__jitdumps_init(&processes->jitdumps);
		processes->kernel = perch__space_new(0);
		processes->unmapped.unknown = perch__dso_named(
			processes, unknown, sizeof(unknown) - 1, PERCH_DSO_UNKNOWN, NULL, 0);
		processes->unmapped.kernel_dso = perch__dso_named(
			processes, kernel, sizeof(kernel) - 1, PERCH_DSO_KERNEL, NULL, 0);
	}
	if (!processes || !processes->kernel || !processes->unmapped.unknown ||
	    !processes->unmapped.kernel_dso) {
		perch_processes_free(processes);
		return PERCH__NO_MEMORY(err, "for address spaces");
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
	for (size_t i = 0; i < processes->nr_dsos; i++)
		perch__dso_free(processes->dso[i]);
	for (size_t i = 0; i < processes->nr_header_build_ids; i++)
		free(processes->header_build_id[i]);
	perch__space_put(processes->kernel);
	perch__jitdumps_free(&processes->jitdumps);
	perch__cgroups_clear(&processes->cgroups);
	perch__hash_clear(&processes->by_pid);
	perch__hash_clear(&processes->by_tid);
	perch__hash_clear(&processes->by_comm);
	perch__hash_clear(&processes->by_path);
	perch__hash_clear(&processes->by_build_id);
	perch__hash_clear(&processes->by_file);
	perch__hash_clear(&processes->header_paths);
	free(processes->process);
	free(processes->thread);
	free(processes->comm);
	free(processes->dso);
	free(processes->header_build_id);
	free(processes);
}

/* Returns the space of a process, not shared with others. After exec it is a new one. */
static struct space *writable_space(struct perch_processes *processes, struct process *process)
{
	struct space *space;

	if (process->replaced) {
		perch__jitdumps_leave(processes, process);
		space = perch__space_after(process->space);
		if (space && process->replaced == REPLACED_BY_LIST)
			perch__space_discard_before(space);
	} else {
		space = perch__space_writable(process->space);
	}
	if (space) {
		process->space = space;
		process->replaced = NOT_REPLACED;
		/* the next mapping is by the new program itself */
		if (space->has_vdso)
			perch__space_discard_before(space);
	}
	return space;
}

/* The DSO has the namespaces of the process that mapped it last, as its other members. */
static void set_namespaces(const struct perch_processes *processes, struct perch_dso *dso,
			   uint32_t pid)
{
	uint32_t index = perch__thread_find(processes, pid);
	const struct perch_thread *leader = index == PERCH__HASH_NONE ? NULL
								      : processes->thread[index];
	bool found = leader && leader->pid == pid;

	dso->mount_namespace = found ? leader->mount_namespace.ino : 0;
	dso->pid_namespace = found ? leader->pid_namespace.ino : 0;
}

static void set_generated(struct process *process, struct perch_dso *dso)
{
	process->generated = dso;
	dso->users = process->users;
}

/* A process that has more of them than there is space for keeps the last ones. */
static void add_user(struct perch_process_users *users, uint32_t user)
{
	const uint32_t most = PERCH__NR(users->user);

	if (perch__is_one_of_users(users->user, users->nr, user))
		return;
	if (users->nr == most)
		memmove(users->user, users->user + 1, --users->nr * sizeof(users->user[0]));
	users->user[users->nr++] = user;
}

/* Of the recorder of perch. */
static int apply_user(struct perch_processes *processes, const struct perch_record *record)
{
	bool swapped = record->parse_info->swapped;
	struct perch__user_record user;
	struct process *process;

	if (record->size != sizeof(user))
		return 0;
	memcpy(&user, record->bytes, sizeof(user));
	if (strncmp(user.name, PERCH__USER_RECORD_NAME, sizeof(user.name)) != 0)
		return 0;
	process = perch__process_get(processes, swapped ? __builtin_bswap32(user.pid) : user.pid);
	if (!process)
		return -ENOMEM;
	add_user(&process->users, swapped ? __builtin_bswap32(user.user) : user.user);
	if (process->generated)
		process->generated->users = process->users;
	return 0;
}

static int apply_mmap(struct perch_processes *processes, const struct perch_record *record)
{
	const struct perch_mmap_record *mmap = &record->mmap;
	unsigned cpumode = record->misc & PERCH_MISC_CPUMODE_MASK;
	bool kernel = cpumode == PERCH_MISC_KERNEL;
	struct map map = { .start = mmap->start,
			   .end = mmap->start + mmap->length,
			   .offset = mmap->page_offset,
			   .not_executable = record->misc & PERCH_MISC_MMAP_DATA };
	size_t nr_dsos = processes->nr_dsos;
	struct process *process;
	struct space *own;

	if (cpumode == PERCH_MISC_GUEST_KERNEL || cpumode == PERCH_MISC_GUEST_USER)
		return 0;
	if (map.end < map.start)
		map.end = UINT64_MAX;
	map.dso = perch__dso_of_mapping(processes, record, kernel);
	if (!map.dso)
		return -ENOMEM;
	if (kernel) {
		map.offset = map.start;
		processes->unmapped.kernel_mapped = true;
		if (map.dso == processes->unmapped.kernel_dso)
			processes->unmapped.kernel_text_end = map.end;
		processes->kernel->generation++;
		return perch__space_insert(processes->kernel, &map);
	}
	set_namespaces(processes, map.dso, mmap->pid);
	if (perch_dso_is(map.dso, PERCH_DSO_IS_MEMORY)) {
		map.offset = map.start;
		/* a recorder makes the records of older mappings, without a time */
		if (processes->nr_dsos > nr_dsos)
			map.dso->mapped_in_recording = record->sample_id.time != 0;
	}
	process = perch__process_get(processes, mmap->pid);
	own = process ? writable_space(processes, process) : NULL;
	if (!own)
		return -ENOMEM;
	if (perch_dso_is(map.dso, PERCH_DSO_IS_MEMORY))
		set_generated(process, map.dso);
	own->generation = ++processes->generation;
	perch__find_copied_text(own, &map);
	if (map.not_executable && perch_dso_is(map.dso, PERCH_DSO_IS_MEMORY))
		map.not_executable = !perch__space_has_generated(own, map.start, map.end);
	own->has_vdso |= map.dso->kind == PERCH_DSO_VDSO;
	/*
	 * A compiler that makes pages of its memory executable has a mapping of all of it, and the
	 * functions in it stay. A file replaces them.
	 */
	if (own->code && !perch_dso_is(map.dso, PERCH_DSO_IS_MEMORY) &&
	    perch__space_insert_code(own, &(struct map){ .start = map.start, .end = map.end }))
		return -ENOMEM;
	if (perch__space_insert(own, &map) || perch__insert_copied_text(own, &map))
		return -ENOMEM;
	return perch__jitdumps_mapped(processes, process, mmap);
}

/*
 * Each KSYMBOL is a DSO that consists of one function: several BPF programs may have the same name.
 * After UNREGISTER, the range belongs to the kernel's own DSO again.
 */
static int apply_kernel_symbol(struct perch_processes *processes, const struct perch_record *record)
{
	const struct perch_ksymbol_record *symbol = &record->ksymbol;
	struct map map = { .start = symbol->address,
			   .end = symbol->address + symbol->length,
			   .offset = symbol->address,
			   .dso = processes->unmapped.kernel_dso };

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
	struct perch_thread *thread = perch__processes_thread(processes, comm->pid, comm->tid);
	const struct comm *name = perch__process_comm(processes, comm->comm.text);

	if (!thread || !name)
		return -ENOMEM;
	thread->comm = name;
	thread->has_comm = true;
	thread->was_read = !record->sample_id.time;
	thread->ended = 0;
	/* samples during exec still have addresses of the old program */
	if (comm->exec) {
		thread->process->replaced = REPLACED_BY_EXEC;
		perch__switches_exec(processes, thread);
	}
	return 0;
}

static int apply_namespaces(struct perch_processes *processes, const struct perch_record *record)
{
	const struct perch_namespaces_record *namespaces = &record->namespaces;
	struct perch_thread *thread =
		perch__processes_thread(processes, namespaces->pid, namespaces->tid);

	if (!thread)
		return -ENOMEM;
	perch_namespace_at(record, PERCH_CGROUP_NS_INDEX, &thread->cgroup_namespace);
	perch_namespace_at(record, PERCH_MNT_NS_INDEX, &thread->mount_namespace);
	perch_namespace_at(record, PERCH_PID_NS_INDEX, &thread->pid_namespace);
	return 0;
}

/*
 * True if the child was read in /proc after the fork, but before the first sample: perf and perch
 * read the processes of the machine between the tracking event and the others. What was read of the
 * parent may be later than the fork: a program that it executed after it.
 */
static bool was_read_after(const struct perch_processes *processes,
			   const struct perch_thread *child, const struct perch_record *fork)
{
	return child->was_read && !child->ended && fork->sample_id.time && !processes->sampled;
}

static int apply_fork(struct perch_processes *processes, const struct perch_record *record)
{
	const struct perch_task_record *task = &record->task;
	struct perch_thread *parent = perch__processes_thread(processes, task->ppid, task->ptid);
	struct perch_thread *child;

	/* children of thread 0 are kernel threads, which have no maps to inherit */
	child = parent ? perch__processes_thread(processes, task->pid, task->tid) : NULL;
	if (!child)
		return -ENOMEM;
	if (was_read_after(processes, child, record))
		return 0;
	child->ended = 0;
	child->was_read = false;
	if (child == parent)
		return 0;
	perch__switches_end(processes, child);
	/* if the parent's COMM record was lost, the child's name is unknown too */
	child->comm = parent->has_comm ? parent->comm
				       : perch__thread_default_comm(processes, task->tid);
	child->has_comm = parent->has_comm;
	if (!child->comm)
		return -ENOMEM;
	/* a NAMESPACES record follows; a thread that had the tid before may have other ones */
	child->cgroup_namespace = child->mount_namespace = child->pid_namespace =
		(struct perch_ns_link_info){ 0 };
	/* a recorder that made the record from /proc adds the mappings itself */
	if (task->pid != task->ppid && !(record->misc & PERCH_MISC_FORK_EXEC)) {
		struct space *shared = perch__space_get(parent->process->space);

		perch__jitdumps_leave(processes, child->process);
		perch__space_put(child->process->space);
		child->process->space = shared;
		child->process->replaced = NOT_REPLACED;
	}
	return 0;
}

static void end_thread(struct perch_processes *processes, uint32_t pid, uint32_t tid)
{
	uint32_t index = perch__thread_find(processes, tid);

	if (index == PERCH__HASH_NONE || processes->thread[index]->pid != pid)
		return;
	perch__switches_end(processes, processes->thread[index]);
	if (!processes->thread[index]->ended)
		processes->thread[index]->ended = 1;
}

static int apply_switch(struct perch_processes *processes, const struct perch_record *record)
{
	struct perch_thread *thread;
	uint32_t pid, tid;

	if (!perch__switches_thread_of(processes, record, &pid, &tid))
		return 0;
	thread = perch_processes_thread(processes, pid, tid);
	if (!thread)
		return -ENOMEM;
	perch__switches_apply(processes, thread, record);
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
	case PERCH_RECORD_CGROUP:
		return perch__cgroups_apply(processes, record);
	case PERCH_RECORD_HEADER_EVENT_TYPE:
		return apply_user(processes, record);
	case PERCH_RECORD_NAMESPACES:
		return apply_namespaces(processes, record);
	case PERCH_RECORD_EXIT:
		/* the thread stays: samples may follow, and a reused tid has a FORK record */
		end_thread(processes, record->task.pid, record->task.tid);
		return 0;
	case PERCH_RECORD_SWITCH:
	case PERCH_RECORD_SWITCH_CPU_WIDE:
	case PERCH_RECORD_SAMPLE:
		return apply_switch(processes, record);
	default:
		return 0;
	}
}

/*
 * The kernel maps the vdso last, and then still copies arguments to the new stack for some time,
 * with the user registers of the old program. A static program maps nothing more when it runs: the
 * first address in a mapping of its own shows that it does. After that, an address in no mapping is
 * not one of the old program.
 */
static const struct map *find_in_exec(struct perch_processes *processes, struct space *space,
				      uint64_t address)
{
	const struct map *map = perch__space_find(space, address);

	if (!map)
		return perch__space_find(space->before, address);
	if (space->has_vdso) {
		perch__space_discard_before(space);
		space->generation = ++processes->generation;
	}
	return map;
}

void perch_processes_resolve(struct perch_processes *processes, struct perch_thread *thread,
			     unsigned cpumode, uint64_t address, struct perch_location *location)
{
	bool kernel = cpumode == PERCH_MISC_KERNEL;
	const struct map *map = NULL;

	/* addresses of guests and hypervisors are in no map of this machine */
	if (kernel || cpumode == PERCH_MISC_USER) {
		struct space *space = kernel ? processes->kernel : thread->process->space;

		if (__builtin_expect(space->code != NULL, 0))
			map = perch__space_find_code(space, address);
		if (!map)
			map = __builtin_expect(space->before != NULL, 0)
				      ? find_in_exec(processes, space, address)
				      : perch__space_find(space, address);
	}

	location->address = address;
	location->not_executable = map && map->not_executable;
	location->dso =
		perch__map_resolve(map, &processes->unmapped, kernel, address, &location->offset);
	if (location->dso != processes->unmapped.unknown)
		perch__dso_use(location->dso);
}

uint64_t perch_processes_kernel_generation(const struct perch_processes *processes)
{
	return processes->kernel->generation;
}

size_t perch_processes_dsos(const struct perch_processes *processes,
			    const struct perch_dso *const **dsos)
{
	*dsos = (const struct perch_dso *const *)processes->dso;
	return processes->nr_dsos;
}

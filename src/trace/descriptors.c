/* SPDX-License-Identifier: MIT */
/*
 * Processes by pid. Each has an array of descriptors sorted by number, because they are few and the
 * kernel allocates them in ascending order. A fork copies the array, not the events. The total is
 * limited, because a program may never close its descriptors.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash_table.h"
#include "base/search.h"
#include "descriptors.h"

#define DESCRIPTORS_MAX (1u << 20) /* of all processes; further ones are not recorded */

struct descriptor {
	int fd;
	struct trace_event *event; /* NULL: it was closed, and nothing else has its number */
	uint64_t number;	   /* of its open call */
};

struct process {
	pid_t pid;
	bool had_refusal; /* an open call failed: -1 may be used as a descriptor */
	size_t nr, capacity;
	struct descriptor *descriptor; /* sorted by fd */
};

struct trace_descriptors {
	struct process **process;
	size_t nr_processes, capacity;
	struct perch__hash_table by_pid;
	size_t nr;   /* descriptors of all processes */
	pid_t first; /* the first process; 0 for one that a log does not name */
	bool has_first, several;
};

static struct trace_descriptors *get_table(struct trace_job *job)
{
	if (!job->descriptors) {
		job->descriptors = calloc(1, sizeof(*job->descriptors));
		if (job->descriptors)
			job->descriptors->by_pid.seed = perch__hash_seed(job);
	}
	return job->descriptors;
}

bool trace_add_process(struct trace_job *job, pid_t process)
{
	struct trace_descriptors *table = get_table(job);

	if (!table)
		return false;
	if (!table->has_first)
		table->first = process;
	table->has_first = true;
	table->several |= table->first != process;
	return table->several;
}

static uint64_t hash_pid(const struct trace_descriptors *table, pid_t pid)
{
	return perch__hash_integer(table->by_pid.seed, (uint32_t)pid);
}

static bool has_pid(const void *processes, uint32_t index, const void *pid)
{
	struct process *const *process = processes;

	return process[index]->pid == *(const pid_t *)pid;
}

static uint32_t find_index(const struct trace_descriptors *table, pid_t pid)
{
	return perch__hash_find(&table->by_pid, hash_pid(table, pid), has_pid, table->process,
				&pid);
}

static struct process *find_process(const struct trace_descriptors *table, pid_t pid)
{
	uint32_t index = table ? find_index(table, pid) : PERCH__HASH_NONE;

	return index != PERCH__HASH_NONE ? table->process[index] : NULL;
}

/* Adds the process if it is new. Returns NULL if out of memory. */
static struct process *get_process(struct trace_descriptors *table, pid_t pid)
{
	struct process *process = find_process(table, pid);

	if (process)
		return process;
	process = calloc(1, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	if (PERCH__ARRAY_RESERVE(table->process, table->capacity, table->nr_processes + 1) ||
	    perch__hash_add(&table->by_pid, hash_pid(table, pid), table->nr_processes)) {
		free(process);
		return NULL;
	}
	table->process[table->nr_processes++] = process;
	return process;
}

/* Returns the index of the descriptor in the array, or where to insert it. */
static size_t find_position(const struct process *process, int fd)
{
	return PERCH__SEARCH(process->nr, i, process->descriptor[i].fd < fd);
}

static bool has_descriptor(const struct process *process, size_t position, int fd)
{
	return position < process->nr && process->descriptor[position].fd == fd;
}

struct trace_event *trace_find_event(const struct trace_descriptors *table, pid_t pid, int fd)
{
	const struct process *process = fd >= 0 ? find_process(table, pid) : NULL;
	size_t position;

	if (!process)
		return NULL;
	position = find_position(process, fd);
	return has_descriptor(process, position, fd) ? process->descriptor[position].event : NULL;
}

static void drop_reference(struct trace_event *event)
{
	if (!--event->references)
		free(event);
}

/* A member that is closed leaves its group. */
static void drop_descriptor(struct trace_event *event)
{
	if (!--event->descriptors && event->leader) {
		event->leader->members--;
		drop_reference(event->leader);
		event->leader = NULL;
	}
	drop_reference(event);
}

static void remove_at(struct trace_descriptors *table, struct process *process, size_t position)
{
	if (process->descriptor[position].event)
		drop_descriptor(process->descriptor[position].event);
	table->nr--;
	process->nr--;
	memmove(&process->descriptor[position], &process->descriptor[position + 1],
		(process->nr - position) * sizeof(*process->descriptor));
}

static bool insert_descriptor(struct trace_descriptors *table, struct process *process,
			      const struct descriptor *descriptor)
{
	const int fd = descriptor->fd;
	size_t position = find_position(process, fd);

	if (has_descriptor(process, position, fd))
		remove_at(table, process, position);
	if (table->nr >= DESCRIPTORS_MAX ||
	    PERCH__ARRAY_RESERVE(process->descriptor, process->capacity, process->nr + 1))
		return false;
	memmove(&process->descriptor[position + 1], &process->descriptor[position],
		(process->nr - position) * sizeof(*process->descriptor));
	process->descriptor[position] = *descriptor;
	process->nr++;
	table->nr++;
	if (descriptor->event) {
		descriptor->event->references++;
		descriptor->event->descriptors++;
	}
	return true;
}

size_t trace_readable_attr(const struct perch_attr *attr)
{
	size_t size = attr->size ? attr->size : PERCH_ATTR_SIZE_VER0;

	return size > 4096 ? 4096 : size;
}

bool trace_copy_attr(struct perch_attr *copy, const struct perch_attr *attr)
{
	size_t size;

	memset(copy, 0, sizeof(*copy));
	if (!attr)
		return false;
	size = trace_readable_attr(attr);
	if (size < offsetof(struct perch_attr, config))
		size = offsetof(struct perch_attr, config);
	memcpy(copy, attr, size < sizeof(*copy) ? size : sizeof(*copy));
	return true;
}

static void join_group(struct trace_event *event, struct trace_event *leader)
{
	if (!leader || event->flags & PERCH_FLAG_FD_NO_GROUP)
		return;
	event->leader = leader;
	leader->references++;
	leader->members++;
}

struct trace_event *trace_add_event(struct trace_job *job, pid_t pid, pid_t thread, int fd,
				    const struct perch_open_call *call)
{
	struct trace_descriptors *table = get_table(job);
	struct process *process = table && table->nr < DESCRIPTORS_MAX ? get_process(table, pid)
								       : NULL;
	struct trace_event *event = process && fd >= 0 ? calloc(1, sizeof(*event)) : NULL;
	struct trace_event *other;

	if (!event)
		return NULL;
	event->number = job->calls;
	event->pid = call->pid;
	event->thread = thread;
	event->cpu = call->cpu;
	event->group_fd = call->group_fd;
	event->flags = call->flags;
	event->members = 1;
	event->has_attr = trace_copy_attr(&event->attr, call->attr);
	if (event->attr.size > sizeof(event->attr))
		/* the kernel accepted the attr: the bytes beyond are zero */
		event->attr.size = sizeof(event->attr);
	other = call->group_fd == fd ? NULL : trace_find_event(table, pid, call->group_fd);
	if (!insert_descriptor(table, process, &(struct descriptor){ fd, event, event->number })) {
		free(event);
		return NULL;
	}
	join_group(event, other);
	event->has_output = other && call->flags & PERCH_FLAG_FD_OUTPUT;
	return event;
}

static bool is_leader(const struct trace_event *event)
{
	/* without its leader, a member leads itself */
	return !event->leader || !event->leader->descriptors;
}

bool trace_get_leader(const struct trace_event *event, pid_t thread,
		      struct perch_open_call_leader *leader)
{
	if (!event || !event->has_attr)
		return false;
	*leader = (struct perch_open_call_leader){
		.attr = &event->attr,
		.pid = event->pid || event->thread == thread || event->flags & PERCH_FLAG_PID_CGROUP
			       ? event->pid
			       : event->thread,
		.cpu = event->cpu,
		.flags = event->flags,
		.is_member = !is_leader(event),
		.has_ring = event->ring_size || event->has_output,
		.members = trace_group_size(event),
	};
	return true;
}

size_t trace_group_size(const struct trace_event *event)
{
	return is_leader(event) ? event->members : event->leader->members;
}

/* A log may report descriptors of the child before the fork. They are not removed. */
void trace_handle_fork(struct trace_job *job, pid_t parent, pid_t child)
{
	struct trace_descriptors *table = get_table(job);
	const struct process *from;
	struct process *to;

	if (!table || parent == child)
		return;
	trace_add_process(job, parent);
	trace_add_process(job, child);
	from = find_process(table, parent);
	if (!from || !(from->nr || from->had_refusal))
		return;
	to = get_process(table, child);
	if (!to)
		return;
	to->had_refusal |= from->had_refusal;
	for (size_t i = 0; i < from->nr; i++) {
		int fd = from->descriptor[i].fd;

		if (!has_descriptor(to, find_position(to, fd), fd) &&
		    !insert_descriptor(table, to, &from->descriptor[i]))
			return;
	}
}

void trace_handle_exec(struct trace_job *job, pid_t pid)
{
	struct process *process = find_process(job->descriptors, pid);

	if (!process)
		return;
	process->had_refusal = false; /* the new program has not seen it */
	for (size_t i = process->nr; i-- > 0;) {
		const struct trace_event *event = process->descriptor[i].event;

		if (!event || event->flags & PERCH_FLAG_FD_CLOEXEC)
			remove_at(job->descriptors, process, i);
	}
}

/* Returns NULL if nothing is recorded. */
static struct process *find_record(const struct trace_job *job, pid_t pid, int fd, size_t *position)
{
	struct process *process = fd >= 0 ? find_process(job->descriptors, pid) : NULL;

	if (!process)
		return NULL;
	*position = find_position(process, fd);
	return has_descriptor(process, *position, fd) ? process : NULL;
}

void trace_handle_close(struct trace_job *job, pid_t pid, int fd)
{
	struct trace_event *event;
	size_t position;
	struct process *process = find_record(job, pid, fd, &position);

	if (!process)
		return;
	event = process->descriptor[position].event;
	process->descriptor[position].event = NULL;
	if (event)
		drop_descriptor(event);
}

void trace_handle_reuse(struct trace_job *job, pid_t pid, int fd)
{
	size_t position;
	struct process *process = find_record(job, pid, fd, &position);

	if (process)
		remove_at(job->descriptors, process, position);
}

uint64_t trace_closed_number(const struct trace_job *job, pid_t pid, int fd)
{
	size_t position;
	const struct process *process = find_record(job, pid, fd, &position);

	return process && !process->descriptor[position].event
		       ? process->descriptor[position].number
		       : 0;
}

void trace_handle_refusal(struct trace_job *job, pid_t pid)
{
	struct trace_descriptors *table = get_table(job);
	struct process *process = table ? get_process(table, pid) : NULL;

	if (process)
		process->had_refusal = true;
}

bool trace_concerns_events(const struct trace_job *job, pid_t pid, int fd)
{
	const struct process *process = find_process(job->descriptors, pid);

	if (!process)
		return false;
	return fd < 0 ? process->had_refusal
		      : has_descriptor(process, find_position(process, fd), fd);
}

/* The last process moves into the free index of the array. */
static void remove_process(struct trace_descriptors *table, uint32_t index)
{
	struct process *process = table->process[index];
	uint32_t last = table->nr_processes - 1;

	while (process->nr)
		remove_at(table, process, process->nr - 1);
	perch__hash_remove(&table->by_pid, hash_pid(table, process->pid), index);
	if (index != last) {
		table->process[index] = table->process[last];
		perch__hash_move(&table->by_pid, hash_pid(table, table->process[index]->pid), last,
				 index);
	}
	table->nr_processes--;
	free(process->descriptor);
	free(process);
}

void trace_handle_exit(struct trace_job *job, pid_t pid)
{
	uint32_t index = job->descriptors ? find_index(job->descriptors, pid) : PERCH__HASH_NONE;

	if (index != PERCH__HASH_NONE)
		remove_process(job->descriptors, index);
}

bool trace_is_event(const struct trace_job *job, pid_t process, int fd)
{
	return trace_find_event(job->descriptors, process, fd) != NULL;
}

void trace_descriptors_free(struct trace_descriptors *table)
{
	if (!table)
		return;
	while (table->nr_processes)
		remove_process(table, table->nr_processes - 1);
	perch__hash_clear(&table->by_pid);
	free(table->process);
	free(table);
}

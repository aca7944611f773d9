/* SPDX-License-Identifier: MIT */
/*
 * Descriptors by process. A process has a sorted array of them, for they are handed out in
 * ascending order and there are few; a fork copies the array, not the events. Programs are not
 * trusted to close what they open: growth is bounded.
 */
#include <stdlib.h>
#include <string.h>

#include "explain_descriptors.h"

#define BUCKETS		256
#define DESCRIPTORS_MAX (1u << 20) /* of all processes; what comes later is not remembered */

struct descriptor {
	int fd;
	struct explain_event *event;
};

struct process {
	struct process *next;
	pid_t pid;
	size_t nr, room;
	struct descriptor *descriptor; /* by fd */
};

struct explain_descriptors {
	struct process *bucket[BUCKETS];
	size_t nr; /* descriptors of all */
	/* process seen; 0 is one too: of a log that does not name it */
	pid_t first;
	bool any, several;
};

static struct explain_descriptors *table_of(struct explain_job *job)
{
	if (!job->descriptors)
		job->descriptors = calloc(1, sizeof(*job->descriptors));
	return job->descriptors;
}

bool explain_add_process(struct explain_job *job, pid_t process)
{
	struct explain_descriptors *table = table_of(job);

	if (!table)
		return false;
	if (!table->any)
		table->first = process;
	table->any = true;
	table->several |= table->first != process;
	return table->several;
}

static struct process **slot_of(const struct explain_descriptors *table, pid_t pid)
{
	struct process **slot = (struct process **)&table->bucket[(uint32_t)pid % BUCKETS];

	while (*slot && (*slot)->pid != pid)
		slot = &(*slot)->next;
	return slot;
}

static struct process *process_of(struct explain_descriptors *table, pid_t pid)
{
	struct process **slot = slot_of(table, pid);

	if (!*slot) {
		*slot = calloc(1, sizeof(**slot));
		if (*slot)
			(*slot)->pid = pid;
	}
	return *slot;
}

/* Where the descriptor is, or belongs. */
static size_t place_of(const struct process *process, int fd)
{
	size_t low = 0, high = process->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (process->descriptor[middle].fd < fd)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool has(const struct process *process, size_t place, int fd)
{
	return place < process->nr && process->descriptor[place].fd == fd;
}

struct explain_event *explain_find_event(const struct explain_descriptors *table, pid_t pid, int fd)
{
	const struct process *process = table && fd >= 0 ? *slot_of(table, pid) : NULL;
	size_t place;

	if (!process)
		return NULL;
	place = place_of(process, fd);
	return has(process, place, fd) ? process->descriptor[place].event : NULL;
}

static void drop_reference(struct explain_event *event)
{
	if (!--event->references)
		free(event);
}

/* A member that is closed leaves its group. */
static void drop_descriptor(struct explain_descriptors *table, struct explain_event *event)
{
	table->nr--;
	if (!--event->descriptors && event->leader) {
		event->leader->members--;
		drop_reference(event->leader);
		event->leader = NULL;
	}
	drop_reference(event);
}

static void remove_at(struct explain_descriptors *table, struct process *process, size_t place)
{
	drop_descriptor(table, process->descriptor[place].event);
	process->nr--;
	memmove(&process->descriptor[place], &process->descriptor[place + 1],
		(process->nr - place) * sizeof(*process->descriptor));
}

static bool insert(struct explain_descriptors *table, struct process *process, int fd,
		   struct explain_event *event)
{
	size_t place = place_of(process, fd);

	if (has(process, place, fd))
		remove_at(table, process, place);
	if (table->nr >= DESCRIPTORS_MAX)
		return false;
	if (process->nr == process->room) {
		size_t room = process->room ? 2 * process->room : 16;
		struct descriptor *grown = reallocarray(process->descriptor, room, sizeof(*grown));

		if (!grown)
			return false;
		process->descriptor = grown;
		process->room = room;
	}
	memmove(&process->descriptor[place + 1], &process->descriptor[place],
		(process->nr - place) * sizeof(*process->descriptor));
	process->descriptor[place] = (struct descriptor){ fd, event };
	process->nr++;
	table->nr++;
	event->references++;
	event->descriptors++;
	return true;
}

static void note_attr(struct explain_event *event, const struct perch_attr *attr)
{
	size_t size;

	if (!attr)
		return;
	event->attr_known = true;
	size = attr->size ? attr->size : PERCH_ATTR_SIZE_VER0;
	if (size < 2 * sizeof(uint32_t))
		size = 2 * sizeof(uint32_t);
	if (size > sizeof(event->attr))
		size = sizeof(event->attr);
	memcpy(&event->attr, attr, size);
	if (event->attr.size > sizeof(event->attr))
		/* what is beyond was zero: the kernel took it */
		event->attr.size = sizeof(event->attr);
}

static void join(struct explain_event *event, struct explain_event *leader)
{
	if (!leader || event->flags & PERCH_FLAG_FD_NO_GROUP)
		return;
	event->leader = leader;
	leader->references++;
	leader->members++;
}

struct explain_event *explain_add_event(struct explain_job *job, pid_t pid, int fd,
					const struct perch_open_call *call)
{
	struct explain_descriptors *table = table_of(job);
	struct process *process = table && table->nr < DESCRIPTORS_MAX ? process_of(table, pid)
								       : NULL;
	struct explain_event *event = process && fd >= 0 ? calloc(1, sizeof(*event)) : NULL;
	struct explain_event *other;

	if (!event)
		return NULL;
	event->number = job->calls;
	event->pid = call->pid;
	event->cpu = call->cpu;
	event->group_fd = call->group_fd;
	event->flags = call->flags;
	event->members = 1;
	note_attr(event, call->attr);
	/* held while group_fd is looked up: fd may have been group_fd, in a bad log */
	event->references = 1;
	other = call->group_fd == fd ? NULL : explain_find_event(table, pid, call->group_fd);
	if (!insert(table, process, fd, event)) {
		free(event);
		return NULL;
	}
	event->references--;
	join(event, other);
	event->has_output = other && call->flags & PERCH_FLAG_FD_OUTPUT;
	return event;
}

static bool leads(const struct explain_event *event)
{
	/* a closed leader's members are on their own */
	return !event->leader || !event->leader->descriptors;
}

bool explain_get_leader(const struct explain_event *event, struct perch_open_call_leader *leader)
{
	if (!event || !event->attr_known)
		return false;
	*leader = (struct perch_open_call_leader){
		.attr = &event->attr,
		.pid = event->pid,
		.cpu = event->cpu,
		.flags = event->flags,
		.is_member = !leads(event),
		.has_ring = event->ring_size || event->has_output,
		.members = explain_group_size(event),
	};
	return true;
}

size_t explain_group_size(const struct explain_event *event)
{
	return leads(event) ? event->members : event->leader->members;
}

/* What the child has done already, where that was seen first, stays as it is. */
void explain_handle_fork(struct explain_job *job, pid_t parent, pid_t child)
{
	struct explain_descriptors *table = table_of(job);
	const struct process *from;
	struct process *to;

	if (!table || parent == child)
		return;
	explain_add_process(job, parent);
	explain_add_process(job, child);
	from = *slot_of(table, parent);
	if (!from || !from->nr)
		return;
	to = process_of(table, child);
	for (size_t i = 0; to && i < from->nr; i++) {
		int fd = from->descriptor[i].fd;

		if (!has(to, place_of(to, fd), fd) &&
		    !insert(table, to, fd, from->descriptor[i].event))
			return;
	}
}

void explain_handle_exec(struct explain_job *job, pid_t pid)
{
	struct process *process = job->descriptors ? *slot_of(job->descriptors, pid) : NULL;

	for (size_t i = process ? process->nr : 0; i-- > 0;)
		if (process->descriptor[i].event->flags & PERCH_FLAG_FD_CLOEXEC)
			remove_at(job->descriptors, process, i);
}

void explain_handle_close(struct explain_job *job, pid_t pid, int fd)
{
	struct process *process = job->descriptors && fd >= 0 ? *slot_of(job->descriptors, pid)
							      : NULL;
	size_t place;

	if (!process)
		return;
	place = place_of(process, fd);
	if (has(process, place, fd))
		remove_at(job->descriptors, process, place);
}

void explain_handle_exit(struct explain_job *job, pid_t pid)
{
	struct process **slot = job->descriptors ? slot_of(job->descriptors, pid) : NULL;
	struct process *process = slot ? *slot : NULL;

	if (!process)
		return;
	while (process->nr)
		remove_at(job->descriptors, process, process->nr - 1);
	*slot = process->next;
	free(process->descriptor);
	free(process);
}

bool explain_is_event(const struct explain_job *job, pid_t process, int fd)
{
	return explain_find_event(job->descriptors, process, fd) != NULL;
}

void explain_job_clear(struct explain_job *job)
{
	struct explain_descriptors *table = job->descriptors;

	for (size_t i = 0; table && i < BUCKETS; i++)
		while (table->bucket[i])
			explain_handle_exit(job, table->bucket[i]->pid);
	free(table);
	job->descriptors = NULL;
	explain_dedup_free(job);
}

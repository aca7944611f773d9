/* SPDX-License-Identifier: MIT */
/*
 * Of the records of CPUs, those of some processes and of their descendants. FORK records have
 * the parents. The kernel writes the FORK record of a process before it runs, maybe to the
 * ring of another CPU. So all rings are looked at twice: what they have at the first look is
 * written, and every FORK record that it depends on is there at the second one. FORK records that
 * are newer than all that is written wait for the next round, because others may be missing before
 * them.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/kernel/recorded_process.h"
#include "base/no_memory.h"
#include "recorder/descendants/descendants.h"
#include "recorder/pieces.h"

#define MAX_PROCESSES (1u << 22) /* the recorded programs make them */
#define SKEW_NS	      100000	 /* between the clocks of two CPUs */
#define SECOND_NS     1000000000ull
#define ID_FIELDS     (PERCH_SAMPLE_IDENTIFIER | PERCH_SAMPLE_IP | PERCH_SAMPLE_TID)

/* ---- processes ---- */

struct moment {
	uint32_t pid;
	uint64_t time;
};

static bool has_pid(const void *items, uint32_t index, const void *key)
{
	const struct recorder_process *process = (const struct recorder_process *)items + index;
	const struct moment *wanted = key;

	return process->pid == wanted->pid && process->from <= wanted->time &&
	       wanted->time < process->until;
}

static uint64_t hash_pid(const struct recorder_descendants *all, uint32_t pid)
{
	return perch__hash_integer(all->table.seed, pid);
}

/* Returns the process that had the id at a time, or NULL if that is not recorded. */
static struct recorder_process *find_process(const struct recorder_descendants *all, uint32_t pid,
					     uint64_t time)
{
	const struct moment wanted = { pid, time };
	uint32_t index =
		perch__hash_find(&all->table, hash_pid(all, pid), has_pid, all->process, &wanted);

	return index == PERCH__HASH_NONE ? NULL : &all->process[index];
}

static int add_process(struct recorder_descendants *all, uint32_t pid, uint64_t from)
{
	struct recorder_process *added;

	if (!all->nr)
		all->table.seed = perch__hash_seed(all);
	if (perch__hash_reserve(&all->table, all->nr + 1))
		return -ENOMEM;
	added = PERCH__ARRAY_APPEND_MAX(all->process, all->nr, all->capacity, MAX_PROCESSES);
	if (!added)
		return -ENOMEM;
	*added = (struct recorder_process){ .pid = pid, .from = from, .until = UINT64_MAX };
	return perch__hash_add(&all->table, hash_pid(all, pid), all->nr - 1);
}

static void remove_process(struct recorder_descendants *all, size_t index)
{
	uint32_t last = (uint32_t)all->nr - 1;

	perch__hash_remove(&all->table, hash_pid(all, all->process[index].pid), (uint32_t)index);
	if (index != last) {
		perch__hash_move(&all->table, hash_pid(all, all->process[last].pid), last,
				 (uint32_t)index);
		all->process[index] = all->process[last];
	}
	all->nr--;
}

/* True if all threads have ended; its parent may not have waited for it. */
static bool is_gone(const struct recorder_process *process)
{
	char text[1024], state;
	const char *values;
	int threads;

	if (kill((pid_t)process->pid, 0) < 0 && errno == ESRCH)
		return true;
	if (!process->leader_ended)
		return false;
	values = perch__process_stat(process->pid, text, sizeof(text));
	return values &&
	       sscanf(values,
		      " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d",
		      &state, &threads) == 2 &&
	       state == 'Z' && threads <= 1;
}

/* Another process may get the id of one that has ended, and its FORK record may be lost. */
static void remove_ended(struct recorder_descendants *all)
{
	if (all->newest < all->checked + SECOND_NS)
		return;
	all->checked = all->newest;
	for (size_t i = all->nr; i--;) {
		struct recorder_process *process = &all->process[i];

		if (process->until != UINT64_MAX && process->until + SECOND_NS < all->newest)
			remove_process(all, i);
		else if (process->until == UINT64_MAX && process->leader_ended && is_gone(process))
			process->until = all->newest + SECOND_NS;
	}
}

bool perch__recorder_descendants_ended(const struct recorder_descendants *all)
{
	for (size_t i = 0; i < all->nr; i++)
		if (all->process[i].until == UINT64_MAX && !is_gone(&all->process[i]))
			return false;
	return true;
}

/* ---- processes that run at the start ---- */

/* Takes FORK records, which /proc has made, of all threads. */
static int take_running(void *context, const void *bytes, size_t size, struct perch_error *err)
{
	struct recorder_descendants *all = context;
	const struct perch_record_header *header;

	for (size_t at = 0; at < size; at += header->size) {
		struct recorder_task *task;
		uint32_t ids[4]; /* pid, ppid, tid, ptid */

		header = (const void *)((const char *)bytes + at);
		if (header->type != PERCH_RECORD_FORK)
			continue;
		task = PERCH__ARRAY_APPEND(all->task, all->nr_tasks, all->tasks_capacity);
		if (!task)
			return PERCH__NO_MEMORY(err, "for the processes that run");
		memcpy(ids, header + 1, sizeof(ids));
		*task = (struct recorder_task){ header->type, ids[0], ids[1], ids[2], 0 };
	}
	return 0;
}

/* Adds the children of the added processes, until there are no more. */
static int add_running(struct recorder_descendants *all)
{
	size_t before;

	do {
		before = all->nr;
		for (size_t i = 0; i < all->nr_tasks; i++) {
			const struct recorder_task *task = &all->task[i];

			if (!find_process(all, task->pid, 0) && find_process(all, task->ppid, 0) &&
			    add_process(all, task->pid, 0) < 0)
				return -ENOMEM;
		}
	} while (all->nr > before);
	return 0;
}

int perch__recorder_descendants_begin_child(struct recorder_descendants *all, pid_t child,
					    struct perch_error *err)
{
	return add_process(all, (uint32_t)child, 0) < 0 ? PERCH__NO_MEMORY(err, "to record with")
							: 0;
}

int perch__recorder_descendants_begin(struct recorder_descendants *all, const pid_t *threads,
				      size_t nr, struct perch_machine *machine,
				      struct perch_error *err)
{
	const struct perch_synthesize_options options = { .records = PERCH_SYNTHESIZE_FORK };
	int rc = perch_synthesize_all_processes(&options, machine, take_running, all, NULL, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < nr; i++)
		for (size_t j = 0; j < all->nr_tasks; j++)
			if (all->task[j].tid == (uint32_t)threads[i] &&
			    !find_process(all, all->task[j].pid, 0) &&
			    add_process(all, all->task[j].pid, 0) < 0)
				return PERCH__NO_MEMORY(err, "to record with");
	if (add_running(all) < 0)
		return PERCH__NO_MEMORY(err, "to record with");
	all->nr_tasks = 0;
	return all->nr ? 0
		       : perch_error_set(err, ESRCH, PERCH_ERROR_NO_PROCESS,
					 "the processes have ended");
}

/* ---- tasks that start and end meanwhile ---- */

static int compare_times(const void *one, const void *other)
{
	uint64_t a = ((const struct recorder_task *)one)->time,
		 b = ((const struct recorder_task *)other)->time;

	return (a > b) - (a < b);
}

static int take_fork(struct recorder_descendants *all, const struct recorder_task *task)
{
	struct recorder_process *before;

	if (task->pid == task->ppid)
		return 0; /* a thread */
	before = find_process(all, task->pid, task->time);
	if (before)
		before->until = task->time;
	if (!find_process(all, task->ppid, task->time))
		return 0;
	return add_process(all, task->pid, task->time > SKEW_NS ? task->time - SKEW_NS : 0);
}

/* Takes the tasks that are not newer than what is written. Returns 0 or -ENOMEM. */
static int apply_tasks(struct recorder_descendants *all)
{
	size_t nr = 0;

	if (all->nr_tasks)
		qsort(all->task, all->nr_tasks, sizeof(*all->task), compare_times);
	for (; nr < all->nr_tasks && all->task[nr].time <= all->newest; nr++) {
		const struct recorder_task *task = &all->task[nr];
		struct recorder_process *process;

		if (task->type == PERCH_RECORD_FORK) {
			if (take_fork(all, task) < 0)
				return -ENOMEM;
			continue;
		}
		process = task->tid == task->pid ? find_process(all, task->pid, task->time) : NULL;
		if (process)
			process->leader_ended = true;
	}
	all->nr_tasks -= nr;
	if (all->nr_tasks)
		memmove(all->task, all->task + nr, all->nr_tasks * sizeof(*all->task));
	return 0;
}

/* ---- records ---- */

static const struct perch_record_header *header_at(const struct iovec pieces[2], size_t offset)
{
	return (const void *)recorder_byte_at(pieces, offset);
}

static size_t size_of(const struct iovec pieces[2])
{
	return pieces[0].iov_len + pieces[1].iov_len;
}

/* A word of a record; 0 if it has none there. */
static uint64_t word_of(const struct iovec pieces[2], size_t offset, size_t at)
{
	const size_t size = header_at(pieces, offset)->size;

	return at >= 8 && at <= size - 8 ? recorder_word_at(pieces, offset + at) : 0;
}

static bool is_task(const struct perch_record_header *header)
{
	return header->type == PERCH_RECORD_FORK || header->type == PERCH_RECORD_EXIT;
}

/* The time of a record; that of the newest one if it has none. That at the end of a FORK record is
 * earlier than its own one, by any time if a hypervisor stops the CPU. */
static uint64_t time_of(const struct recorder_descendants *all, const struct iovec pieces[2],
			size_t offset)
{
	const struct perch_record_header *header = header_at(pieces, offset);
	uint64_t time = 0;

	if (header->type == PERCH_RECORD_SAMPLE && all->time_word >= 0)
		time = word_of(pieces, offset, 8 + 8 * (size_t)all->time_word);
	else if (is_task(header))
		time = word_of(pieces, offset, 24);
	else if (header->type != PERCH_RECORD_SAMPLE && all->parse_info.trailer_time_word > 0)
		time = word_of(pieces, offset,
			       header->size - 8 * (size_t)all->parse_info.trailer_time_word);
	return time ? time : all->newest;
}

/* True for records that are not about a process: of events, and of the kernel's code. */
static bool is_of_no_process(const struct iovec pieces[2], size_t offset)
{
	const struct perch_record_header *header = header_at(pieces, offset);

	switch (header->type) {
	case PERCH_RECORD_LOST:
	case PERCH_RECORD_LOST_SAMPLES:
	case PERCH_RECORD_THROTTLE:
	case PERCH_RECORD_UNTHROTTLE:
	case PERCH_RECORD_KSYMBOL:
	case PERCH_RECORD_BPF_EVENT:
	case PERCH_RECORD_CGROUP:
	case PERCH_RECORD_TEXT_POKE:
		return true;
	case PERCH_RECORD_MMAP:
	case PERCH_RECORD_MMAP2:
		return (header->misc & PERCH_MISC_CPUMODE_MASK) == PERCH_MISC_KERNEL &&
		       (uint32_t)word_of(pieces, offset, 8) == UINT32_MAX;
	}
	return false;
}

static bool is_recorded(struct recorder_descendants *all, const struct iovec pieces[2],
			size_t offset)
{
	const struct perch_record_header *header = header_at(pieces, offset);
	const bool sample = header->type == PERCH_RECORD_SAMPLE;
	uint32_t ids[2]; /* pid, tid */
	uint64_t word;
	size_t at = 8;

	if (is_of_no_process(pieces, offset))
		return true;
	switch (header->type) {
	case PERCH_RECORD_MMAP:
	case PERCH_RECORD_MMAP2:
	case PERCH_RECORD_COMM:
	case PERCH_RECORD_FORK:
	case PERCH_RECORD_EXIT:
	case PERCH_RECORD_NAMESPACES:
	case PERCH_RECORD_READ:
		break;
	case PERCH_RECORD_SAMPLE:
		at = all->sample_ids;
		break;
	default:
		at = (size_t)header->size - all->parse_info.id_size;
	}
	word = word_of(pieces, offset, at);
	memcpy(ids, &word, sizeof(ids));
	if (find_process(all, ids[0], time_of(all, pieces, offset)))
		return true;
	all->other_samples += sample;
	return false;
}

static void copy_range(char *to, const struct iovec pieces[2], size_t from, size_t end)
{
	const size_t first = pieces[0].iov_len;

	if (from < first) {
		size_t size = (end < first ? end : first) - from;

		memcpy(to, (const char *)pieces[0].iov_base + from, size);
		to += size;
		from += size;
	}
	if (from < end)
		memcpy(to, (const char *)pieces[1].iov_base + (from - first), end - from);
}

static int keep_range(struct recorder_descendants *all, const struct iovec pieces[2], size_t from,
		      size_t end)
{
	if (from == end)
		return 0;
	if (PERCH__ARRAY_RESERVE(all->bytes, all->bytes_capacity, all->used + (end - from)))
		return -ENOMEM;
	copy_range(all->bytes + all->used, pieces, from, end);
	all->used += end - from;
	return 0;
}

void perch__recorder_descendants_next_round(struct recorder_descendants *all)
{
	all->used = 0;
}

int perch__recorder_descendants_look(struct recorder_descendants *all, const struct iovec pieces[2],
				     size_t written, size_t from)
{
	const size_t bytes = size_of(pieces);

	for (size_t offset = 0; offset < bytes; offset += header_at(pieces, offset)->size) {
		const struct perch_record_header *header = header_at(pieces, offset);
		uint64_t time = is_of_no_process(pieces, offset) ? 0 : time_of(all, pieces, offset);
		uint64_t ids[2];
		struct recorder_task *added;

		if (offset < written && time > all->newest)
			all->newest = time;
		if (!is_task(header) || offset < from)
			continue;
		added = PERCH__ARRAY_APPEND(all->task, all->nr_tasks, all->tasks_capacity);
		if (!added)
			return -ENOMEM;
		ids[0] = word_of(pieces, offset, 8);
		ids[1] = word_of(pieces, offset, 16);
		*added = (struct recorder_task){ header->type, (uint32_t)ids[0],
						 (uint32_t)(ids[0] >> 32), (uint32_t)ids[1],
						 word_of(pieces, offset, 24) };
	}
	return 0;
}

int perch__recorder_descendants_apply(struct recorder_descendants *all)
{
	int rc = apply_tasks(all);

	remove_ended(all);
	return rc;
}

ssize_t perch__recorder_descendants_keep(struct recorder_descendants *all,
					 const struct iovec pieces[2])
{
	const size_t bytes = size_of(pieces), before = all->used;
	size_t from = 0, offset, next;

	for (offset = 0; offset < bytes; offset = next) {
		next = offset + header_at(pieces, offset)->size;
		if (is_recorded(all, pieces, offset))
			continue;
		if (keep_range(all, pieces, from, offset) < 0)
			return -ENOMEM;
		from = next;
	}
	return keep_range(all, pieces, from, offset) < 0 ? -ENOMEM : (ssize_t)(all->used - before);
}

int perch__recorder_descendants_init(struct recorder_descendants *all,
				     const struct perch_file_event *events, size_t nr,
				     const struct recorder_scan *scan)
{
	const uint64_t fields = events[0].attr.sample_type & ID_FIELDS;

	for (size_t i = 0; i < nr; i++)
		if ((events[i].attr.sample_type & ID_FIELDS) != fields ||
		    !(fields & PERCH_SAMPLE_TID))
			return -EINVAL;
	all->sample_ids = 8 + 8 * ((fields & PERCH_SAMPLE_IDENTIFIER ? 1u : 0) +
				   (fields & PERCH_SAMPLE_IP ? 1u : 0));
	all->time_word = scan->same_time_word ? scan->parse_info.sample_time_word : -1;
	all->parse_info = scan->mmap_parse_info;
	return 0;
}

void perch__recorder_descendants_clear(struct recorder_descendants *all)
{
	perch__hash_clear(&all->table);
	free(all->process);
	free(all->task);
	free(all->bytes);
	*all = (struct recorder_descendants){ 0 };
}

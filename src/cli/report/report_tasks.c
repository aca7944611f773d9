/* SPDX-License-Identifier: MIT */
/* --tasks: the threads of a file, and --mmaps: their mappings. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "options.h"
#include "terminal/pager.h"
#include "report.h"
#include "report_maps.h"

struct task {
	uint32_t pid, tid, parent; /* parent: the thread that created it, or NO_PARENT */
	char *comm;
	uint32_t first_child, next; /* index + 1; 0: none */
};
#define NO_PARENT UINT32_MAX

struct tasks {
	struct task *task; /* sorted by tid */
	size_t nr, capacity;
	struct report_maps *maps; /* NULL: they are not printed */
};

/* Returns the index of the first task with this or a larger tid. */
static size_t position_of(const struct tasks *tasks, uint32_t tid)
{
	return PERCH__SEARCH(tasks->nr, i, tasks->task[i].tid < tid);
}

/* Returns 0, or -1 if out of memory. */
static int set_comm(struct task *task, const char *comm)
{
	char *copy = strdup(comm);

	if (!copy)
		return -1;
	free(task->comm);
	task->comm = copy;
	return 0;
}

/* Returns the task with the tid, which is added if it is new. NULL if out of memory. */
static struct task *find_task(struct tasks *tasks, uint32_t pid, uint32_t tid)
{
	size_t at = position_of(tasks, tid);
	struct task task = { .pid = pid, .tid = tid, .parent = NO_PARENT };
	char comm[16];

	if (at < tasks->nr && tasks->task[at].tid == tid)
		return &tasks->task[at];
	snprintf(comm, sizeof(comm), ":%" PRIu32, tid);
	if (PERCH__ARRAY_RESERVE(tasks->task, tasks->capacity, tasks->nr + 1) ||
	    set_comm(&task, comm))
		return NULL;
	memmove(&tasks->task[at + 1], &tasks->task[at], (tasks->nr - at) * sizeof(*tasks->task));
	tasks->nr++;
	tasks->task[at] = task;
	return &tasks->task[at];
}

static int name_task(struct tasks *tasks, const struct perch_comm_record *record)
{
	struct task *task = find_task(tasks, record->pid, record->tid);

	return task ? set_comm(task, record->comm.text) : -1;
}

/* A new thread has the name of its creator. */
static int fork_task(struct tasks *tasks, const struct perch_task_record *record)
{
	struct task *task = find_task(tasks, record->pid, record->tid);
	size_t at = position_of(tasks, record->ptid);
	char comm[16];

	if (!task)
		return -1;
	task->pid = record->pid;
	task->parent = record->ptid == record->tid ? NO_PARENT : record->ptid;
	if (at < tasks->nr && tasks->task[at].tid == record->ptid)
		return set_comm(task, tasks->task[at].comm);
	snprintf(comm, sizeof(comm), ":%" PRIu32, record->tid);
	return set_comm(task, comm);
}

/* Links each task to its parent. Returns the first task without one (index + 1). */
static uint32_t link_tasks(struct tasks *tasks)
{
	uint32_t root = 0;

	for (size_t i = tasks->nr; i-- > 0;) {
		struct task *task = &tasks->task[i];
		size_t at = task->parent == NO_PARENT ? tasks->nr
						      : position_of(tasks, task->parent);
		bool found = at < tasks->nr && tasks->task[at].tid == task->parent;
		uint32_t *first = found ? &tasks->task[at].first_child : &root;

		task->next = *first;
		*first = i + 1;
	}
	return root;
}

static void put_task(FILE *out, const struct tasks *tasks, const struct task *task, int level)
{
	fprintf(out, "  %8" PRIu32 " %8" PRIu32 " ", task->pid, task->tid);
	if (task->parent == NO_PARENT)
		fputs("      -1", out);
	else
		fprintf(out, "%8" PRIu32, task->parent);
	fprintf(out, " |%*s", level, "");
	cli_put_clean(out, task->comm);
	putc('\n', out);
	/* as in perf: two columns to the right of the name */
	if (tasks->maps)
		report_maps_put(out, tasks->maps, task->pid, 32 + level);
}

/* Prints all tasks, each below its parent. Tasks whose parents are a circle, after a reuse of
 * numbers, are printed last. */
static void put_tasks(FILE *out, struct tasks *tasks, uint32_t *path, bool *printed)
{
	uint32_t at = link_tasks(tasks);
	size_t level = 0;

	fprintf(out, "# %8s %8s %8s  %s\n", "pid", "tid", "ppid", "comm");
	while (at) {
		struct task *task = &tasks->task[at - 1];

		put_task(out, tasks, task, level < 64 ? level : 64);
		printed[at - 1] = true;
		path[level++] = at;
		at = task->first_child;
		while (!at && level)
			at = tasks->task[path[--level] - 1].next;
	}
	for (size_t i = 0; i < tasks->nr; i++)
		if (!printed[i])
			put_task(out, tasks, &tasks->task[i], 0);
}

static int add_record(struct tasks *tasks, const struct perch_record *record)
{
	int rc = record->type == PERCH_RECORD_COMM   ? name_task(tasks, &record->comm)
		 : record->type == PERCH_RECORD_FORK ? fork_task(tasks, &record->task)
						     : 0;

	return !rc && tasks->maps ? report_maps_add(tasks->maps, record) : rc;
}

int report_print_tasks(FILE *out, struct report *report)
{
	const struct perch_comm_record idle = { .comm = { "swapper", 7 } };
	struct tasks tasks = { NULL };
	struct perch_record record;
	bool *printed = NULL;
	uint32_t *path = NULL;
	int rc, status = CLI_EXIT_FAILURE;

	if (report->mmaps)
		tasks.maps = report_maps_new();
	rc = report->mmaps && !tasks.maps ? -1 : name_task(&tasks, &idle);
	while (!rc && (rc = cli_input_next(&report->input, &record)) > 0) {
		rc = add_record(&tasks, &record);
		if (rc)
			break;
	}
	path = calloc(tasks.nr + 1, sizeof(*path));
	printed = calloc(tasks.nr + 1, sizeof(*printed));
	if (!path || !printed) {
		cli_note(report->input.command, "no memory for %zu tasks", tasks.nr);
	} else if (!rc) {
		cli_start_pager();
		put_tasks(out, &tasks, path, printed);
		status = 0;
	}
	free(path);
	free(printed);
	for (size_t i = 0; i < tasks.nr; i++)
		free(tasks.task[i].comm);
	free(tasks.task);
	report_maps_free(tasks.maps);
	return status;
}

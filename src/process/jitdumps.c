/* SPDX-License-Identifier: MIT */
/* All jitdumps of the processes: applies their functions in the order of time. */
#include <stdio.h>
#include <time.h>

#include "base/kernel/recorded_process.h"
#include "base/reserved.h"
#include "base/no_memory.h"
#include "internal.h"

enum { CHECK_INTERVAL = 5 }; /* milliseconds between two looks at the files */

int perch_processes_use_jitdump(struct perch_processes *processes,
				const struct perch_jitdump_options *options,
				struct perch_error *err)
{
	struct jitdumps *jitdumps = &processes->jitdumps;
	char *root = NULL;

	if (PERCH__CHECK_RESERVED(options, "perch_jitdump_options", err))
		return -EINVAL;
	if (options && options->root && !(root = strdup(options->root)))
		return PERCH__NO_MEMORY(err, "for jitdump files");
	free(jitdumps->root);
	jitdumps->root = root;
	jitdumps->options = options ? *options : (struct perch_jitdump_options){ 0 };
	jitdumps->options.root = root;
	jitdumps->used = true;
	return 0;
}

static void no_ended(struct jitdumps *jitdumps)
{
	jitdumps->ended = NULL;
	jitdumps->last_ended = &jitdumps->ended;
	jitdumps->nr_ended = 0;
}

void perch__jitdumps_init(struct jitdumps *jitdumps)
{
	jitdumps->most_ended = SIZE_MAX;
	no_ended(jitdumps);
}

void perch__jitdumps_free(struct jitdumps *jitdumps)
{
	for (size_t i = 0; i < jitdumps->nr; i++)
		perch__jitdump_free(jitdumps->all[i]);
	free(jitdumps->all);
	free(jitdumps->root);
}

/* ---- the order of time ---- */

static uint64_t next_time(const struct perch_jitdump *jitdump)
{
	return jitdump->process && jitdump->next_change < jitdump->nr_changes
		       ? jitdump->change[jitdump->next_change].time
		       : UINT64_MAX;
}

static void sift_down(struct jitdumps *jitdumps, size_t at)
{
	struct perch_jitdump **all = jitdumps->all, *moved = all[at];
	uint64_t time = next_time(moved);
	size_t child;

	while ((child = 2 * at + 1) < jitdumps->nr) {
		if (child + 1 < jitdumps->nr && next_time(all[child + 1]) < next_time(all[child]))
			child++;
		if (next_time(all[child]) >= time)
			break;
		all[at] = all[child];
		at = child;
	}
	all[at] = moved;
}

static void sort_jitdumps(struct jitdumps *jitdumps)
{
	for (size_t at = jitdumps->nr / 2; at-- > 0;)
		sift_down(jitdumps, at);
	jitdumps->sorted = true;
}

/* ---- changes ---- */

/* Removes the code from its old address, unless other code is there by now. */
static int leave_address(struct space *space, const struct jit_function *function,
			 const struct perch_dso *dso, uint64_t address)
{
	const struct map *map = perch__space_find_code(space, address);

	if (!map || map->dso != dso || map->offset - (map->start - address) != function->offset)
		return 0;
	return perch__space_insert_code(space, &(struct map){ .start = address,
							      .end = address + function->size });
}

static int apply_change(struct perch_processes *processes, struct perch_jitdump *jitdump)
{
	const struct jit_change *change = &jitdump->change[jitdump->next_change++];
	const struct jit_function *function = &jitdump->function[change->function];
	struct process *process = jitdump->process;
	struct space *space;

	/* after exec, the functions are those of the old program */
	if (process->replaced)
		return 0;
	space = perch__space_writable(process->space);
	if (!space)
		return -ENOMEM;
	process->space = space;
	space->generation = ++processes->generation;
	if (change->moves && leave_address(space, function, jitdump->dso, change->from))
		return -ENOMEM;
	return perch__space_insert_code(space,
					&(struct map){ .start = change->address,
						       .end = change->address + function->size,
						       .offset = function->offset,
						       .dso = jitdump->dso });
}

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
	return time.tv_sec * INT64_C(1000) + time.tv_nsec / 1000000 + 1;
}

/* Reads what the files have in addition, at most once in an interval. */
static int read_more(struct jitdumps *jitdumps)
{
	int64_t time = now_ms();

	if (time - jitdumps->checked < CHECK_INTERVAL)
		return 0;
	jitdumps->checked = time;
	jitdumps->may_grow = false;
	for (size_t i = 0; i < jitdumps->nr; i++) {
		if (!jitdumps->all[i]->process || jitdumps->all[i]->complete)
			continue;
		if (perch__jitdump_read(jitdumps->all[i]))
			return -ENOMEM;
		jitdumps->may_grow |= !jitdumps->all[i]->complete;
	}
	jitdumps->sorted = false;
	jitdumps->next_time = 0;
	return 0;
}

int perch_processes_advance(struct perch_processes *processes, uint64_t time)
{
	struct jitdumps *jitdumps = &processes->jitdumps;
	int rc = 0;

	if (!jitdumps->nr)
		return 0;
	if (jitdumps->may_grow)
		rc = read_more(jitdumps);
	if (rc || time < jitdumps->next_time)
		return rc;
	if (!jitdumps->sorted)
		sort_jitdumps(jitdumps);
	while (!rc && next_time(jitdumps->all[0]) <= time &&
	       next_time(jitdumps->all[0]) != UINT64_MAX) {
		rc = apply_change(processes, jitdumps->all[0]);
		sift_down(jitdumps, 0);
	}
	jitdumps->next_time = next_time(jitdumps->all[0]);
	return rc;
}

static void add_ended(struct jitdumps *jitdumps, struct perch_jitdump *jitdump)
{
	jitdump->next = NULL;
	*jitdumps->last_ended = jitdump;
	jitdumps->last_ended = &jitdump->next;
	jitdumps->nr_ended++;
}

static void close_oldest(struct jitdumps *jitdumps)
{
	for (; jitdumps->nr_ended > jitdumps->most_ended; jitdumps->nr_ended--) {
		struct perch_jitdump *oldest = jitdumps->ended;

		jitdumps->ended = oldest->next;
		if (!jitdumps->ended)
			jitdumps->last_ended = &jitdumps->ended;
		perch__jitdump_close(oldest);
	}
}

void perch__jitdumps_leave(struct perch_processes *processes, struct process *process)
{
	struct perch_jitdump *at = process->jitdumps, *next;

	process->jitdumps = NULL;
	if (at)
		processes->jitdumps.sorted = false;
	for (; at; at = next) {
		next = at->next;
		at->process = NULL;
		if (at->fd >= 0)
			add_ended(&processes->jitdumps, at);
	}
	close_oldest(&processes->jitdumps);
}

void perch_processes_keep_jitdumps(struct perch_processes *processes, size_t nr)
{
	processes->jitdumps.most_ended = nr;
	close_oldest(&processes->jitdumps);
}

/* Keeps the jitdumps of used DSOs in the list of open ones. */
static void choose_ended(struct jitdumps *jitdumps, const bool *used)
{
	struct perch_jitdump *at = jitdumps->ended, *next;

	no_ended(jitdumps);
	for (; at; at = next) {
		next = at->next;
		if (used[at->dso->index])
			add_ended(jitdumps, at);
	}
}

void perch__jitdumps_free_unused(struct jitdumps *jitdumps, const bool *used)
{
	size_t nr = 0;

	choose_ended(jitdumps, used);
	for (size_t i = 0; i < jitdumps->nr; i++) {
		struct perch_jitdump *jitdump = jitdumps->all[i];

		if (used[jitdump->dso->index]) {
			jitdumps->all[nr++] = jitdump;
			continue;
		}
		jitdump->dso->jitdump = NULL;
		perch__jitdump_free(jitdump);
	}
	jitdumps->sorted &= nr == jitdumps->nr;
	jitdumps->nr = nr;
}

/* ---- mappings ---- */

/* True, with the process id in the name, for "jit-PID.dump", also of a file that was deleted when
 * the recording began. */
static bool is_jitdump(const struct perch_text *name, unsigned *pid)
{
	const char *slash = strrchr(name->text, '/');
	int length = 0;

	return slash && slash[1] == 'j' && sscanf(slash, "/jit-%u.dump%n", pid, &length) == 1 &&
	       length && (!slash[length] || !strcmp(slash + length, " (deleted)"));
}

/*
 * True if another process wrote the file, and this one has its mapping since fork(2). A process in
 * another pid namespace has another id in the name.
 */
static bool is_of_parent(const struct perch_processes *processes,
			 const struct perch_mmap_record *mmap, unsigned pid)
{
	const struct jitdumps *jitdumps = &processes->jitdumps;
	unsigned own;

	if (pid == mmap->pid)
		return false;
	own = jitdumps->options.foreign || jitdumps->root ||
			      !perch__recorded_process_runs(mmap->pid,
							    jitdumps->options.recorded_at)
		      ? 0
		      : perch__namespace_pid(mmap->pid);
	if (own)
		return own != pid;
	for (size_t i = 0; i < jitdumps->nr; i++)
		if (jitdumps->all[i]->process && jitdumps->all[i]->process->pid == pid &&
		    !strcmp(jitdumps->all[i]->dso->path, mmap->filename.text))
			return true;
	return false;
}

static bool is_open(const struct process *process, const char *path)
{
	for (const struct perch_jitdump *at = process->jitdumps; at; at = at->next)
		if (!strcmp(at->dso->path, path))
			return true;
	return false;
}

int perch__jitdumps_mapped(struct perch_processes *processes, struct process *process,
			   const struct perch_mmap_record *mmap)
{
	struct jitdumps *jitdumps = &processes->jitdumps;
	struct perch_jitdump *jitdump;
	unsigned pid;

	if (!jitdumps->used || !is_jitdump(&mmap->filename, &pid) ||
	    is_open(process, mmap->filename.text) || is_of_parent(processes, mmap, pid))
		return 0;
	if (PERCH__ARRAY_RESERVE(jitdumps->all, jitdumps->capacity, jitdumps->nr + 1))
		return -ENOMEM;
	jitdump = calloc(1, sizeof(*jitdump));
	if (!jitdump)
		return -ENOMEM;
	jitdump->dso = perch__dso_new(processes, mmap->filename.text, mmap->filename.length,
				      PERCH_DSO_JIT);
	if (!jitdump->dso) {
		free(jitdump);
		return -ENOMEM;
	}
	jitdump->process = process;
	perch__jitdump_open(jitdump, &jitdumps->options, mmap);
	jitdump->dso->jitdump = jitdump;
	jitdump->next = process->jitdumps;
	process->jitdumps = jitdump;
	jitdumps->all[jitdumps->nr++] = jitdump;
	jitdumps->sorted = false;
	jitdumps->next_time = 0;
	jitdumps->may_grow |= !jitdump->complete;
	return perch__jitdump_read(jitdump);
}

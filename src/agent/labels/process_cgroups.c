/* SPDX-License-Identifier: MIT */
/* The cgroups of running processes, where events do not know them. */
#define _GNU_SOURCE
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "labels.h"

enum { SETS = 2048, WAYS = 2, MOST_PARENTS = 8 };
#define VALID_NS 10000000000ull /* processes are moved, and ids are used again */

struct slot {
	pid_t pid, parent; /* parent 0: unknown */
	uint64_t time;	   /* when it was read; 0: not yet */
	uint64_t use;	   /* number of the last one */
	bool moved;	   /* it may have another path since */
	char *path;	   /* NULL: none is known */
};

struct agent_process_cgroups {
	/* so that two processes which run at once do not have the same slot again and again */
	struct slot slot[SETS][WAYS];
	uint64_t uses;
};

bool agent_has_cgroups_v1(const char *mounts)
{
	FILE *file = setmntent(mounts, "re");
	struct mntent entry;
	char line[4096];
	bool found = false;

	while (file && !found && getmntent_r(file, &entry, line, sizeof(line)))
		found = !strcmp(entry.mnt_type, "cgroup");
	if (file)
		endmntent(file);
	return found;
}

struct agent_process_cgroups *agent_process_cgroups_new(void)
{
	return calloc(1, sizeof(struct agent_process_cgroups));
}

void agent_process_cgroups_free(struct agent_process_cgroups *cgroups)
{
	for (size_t i = 0; cgroups && i < SETS * WAYS; i++)
		free(cgroups->slot[i / WAYS][i % WAYS].path);
	free(cgroups);
}

/* Empties the slot of a process and sets all but its use. */
static void set_slot(struct slot *slot, pid_t pid, pid_t parent, uint64_t time, char *path)
{
	free(slot->path);
	*slot = (struct slot){ pid, parent, time, slot->use, false, path };
}

/* Returns the slot of a process, that of another one if there is none. */
static struct slot *slot_of(struct agent_process_cgroups *cgroups, pid_t pid)
{
	struct slot *set = cgroups->slot[(size_t)pid % SETS], *slot = set;

	for (size_t i = 0; i < WAYS && slot->pid != pid; i++)
		if (set[i].pid == pid || set[i].use < slot->use)
			slot = &set[i];
	if (slot->pid != pid)
		set_slot(slot, pid, 0, 0, NULL);
	slot->use = ++cgroups->uses;
	return slot;
}

void agent_process_cgroups_forked(struct agent_process_cgroups *cgroups, pid_t pid, pid_t parent)
{
	if (pid > 0 && pid != parent) /* all else is of an earlier process */
		set_slot(slot_of(cgroups, pid), pid, parent, 0, NULL);
}

void agent_process_cgroups_executed(struct agent_process_cgroups *cgroups, pid_t pid)
{
	if (pid > 0)
		slot_of(cgroups, pid)->moved = true;
}

static const char *find_path(struct agent_process_cgroups *cgroups, pid_t pid, uint64_t now,
			     unsigned depth)
{
	char path[PATH_MAX];
	const char *found = path;
	char *copy;
	struct slot *slot;
	pid_t parent;
	bool is_new;

	if (pid <= 0 || depth > MOST_PARENTS)
		return NULL;
	slot = slot_of(cgroups, pid);
	is_new = slot->time && now - slot->time < VALID_NS;
	if (is_new && !slot->moved)
		return slot->path;
	parent = slot->parent;
	if (!agent_process_cgroup(pid, path)) {
		if (is_new && slot->path)
			return slot->path;
		/* it has ended: it began in the cgroup of its parent */
		found = parent ? find_path(cgroups, parent, now, depth + 1) : NULL;
	}
	copy = found ? strdup(found) : NULL;
	/* another process may have the slot of before */
	set_slot(slot_of(cgroups, pid), pid, parent, now, copy);
	return copy;
}

const char *agent_process_cgroups_find(struct agent_process_cgroups *cgroups, pid_t pid,
				       uint64_t now)
{
	return find_path(cgroups, pid, now, 0);
}

/* SPDX-License-Identifier: MIT */
/*
 * Names of tracepoints by their ids. tracefs has a file with the id of each tracepoint, more than a
 * thousand in all, so they are read once. Ids change when probes are defined or modules are loaded:
 * a name is checked against its file, and an id without a name is searched again.
 */
#define _GNU_SOURCE /* DT_DIR */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/format_field.h"
#include "internal.h"

struct tracepoint {
	uint32_t id;
	char *name; /* "sched:sched_switch" */
};

struct tracepoints {
	struct tracepoint *tracepoint;
	size_t nr, capacity;
	int error; /* the last negative errno of a file that could not be read, or 0 */
};

static void clear(struct tracepoints *all)
{
	for (size_t i = 0; i < all->nr; i++)
		free(all->tracepoint[i].name);
	free(all->tracepoint);
	*all = (struct tracepoints){ 0 };
}

/* Without the file, the result of a search would be wrong, unless the file is gone. */
static void note_unread(struct tracepoints *all, int error)
{
	if (error != -ENOENT && error != -ENOTDIR)
		all->error = error;
}

/* Reads the id in a directory of tracefs, whose path begins with the root of the machine. */
static int read_id(const char *directory, uint32_t *id)
{
	char path[PATH_MAX], text[32];
	ssize_t got;

	if (snprintf(path, sizeof(path), "%s/id", directory) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	got = perch_machine_read(NULL, path, text, sizeof(text));
	if (got < 0)
		return (int)got;
	return perch__span_number((struct perch__span){ text, (size_t)got }, id) ? 0 : -EBADMSG;
}

static void append(struct tracepoints *all, uint32_t id, const char *system, const char *name)
{
	struct tracepoint *tracepoint;
	char *text = NULL;

	if (asprintf(&text, "%s:%s", system, name) < 0)
		text = NULL;
	tracepoint = text ? PERCH__ARRAY_APPEND(all->tracepoint, all->nr, all->capacity) : NULL;
	if (tracepoint) {
		*tracepoint = (struct tracepoint){ id, text };
		return;
	}
	free(text);
	note_unread(all, -ENOMEM);
}

/* Calls the function for each directory; system is NULL in the directory of the systems. */
static void visit(struct tracepoints *all, const char *path, const char *system,
		  void (*function)(struct tracepoints *all, const char *path, const char *system,
				   const char *name))
{
	DIR *directory = opendir(path);
	const struct dirent *entry;
	char below[PATH_MAX];

	if (!directory)
		note_unread(all, -errno);
	while (directory && (entry = readdir(directory)))
		if (entry->d_name[0] != '.' &&
		    (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) &&
		    snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) <
			    (int)sizeof(below))
			function(all, below, system, entry->d_name);
	if (directory)
		closedir(directory);
}

static void read_tracepoint(struct tracepoints *all, const char *path, const char *system,
			    const char *name)
{
	uint32_t id;
	int rc = read_id(path, &id);

	if (rc)
		note_unread(all, rc);
	else
		append(all, id, system, name);
}

static void read_system(struct tracepoints *all, const char *path, const char *system,
			const char *name)
{
	(void)system;
	visit(all, path, name, read_tracepoint);
}

/* Returns the name, if its file still has the id. */
static const char *find(const struct tracepoints *all, uint64_t id, const char *events)
{
	for (size_t i = 0; i < all->nr; i++) {
		const char *name = all->tracepoint[i].name;
		const size_t system = strcspn(name, ":");
		char path[PATH_MAX];
		uint32_t now;

		if (all->tracepoint[i].id == id &&
		    snprintf(path, sizeof(path), "%s/%.*s/%s", events, (int)system, name,
			     name + system + 1) < (int)sizeof(path) &&
		    !read_id(path, &now) && now == id)
			return name;
	}
	return NULL;
}

static int copy_name(const char *name, char *buffer, size_t size, struct perch_error *err)
{
	if ((size_t)snprintf(buffer, size, "%s", name) < size)
		return 0;
	return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
			       "the buffer is too small for the name of the tracepoint");
}

static int not_found(const struct perch_machine *machine, const struct tracepoints *all,
		     uint64_t id, const char *events, struct perch_error *err)
{
	if (all->error == -EACCES)
		return perch_machine_tracefs_error(machine, err);
	if (all->error == -ENOMEM)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for the names of tracepoints");
	if (all->error)
		return perch_error_set(err, -all->error, PERCH_ERROR_FILE, "cannot read %s: %s",
				       events, strerror(-all->error));
	perch_error_set(err, ENOENT, PERCH_ERROR_UNKNOWN_EVENT, "no tracepoint has the id %llu",
			(unsigned long long)id);
	perch_error_remedy(err, "tracefs has a directory events/SYSTEM/NAME for each tracepoint");
	return -ENOENT;
}

int perch_machine_tracepoint(struct perch_machine *machine, uint64_t id, char *buffer, size_t size,
			     struct perch_error *err)
{
	struct tracepoints own = { 0 }, *all = &own;
	char events[PATH_MAX];
	const char *name = NULL;
	int rc = perch_machine_tracefs(machine, events, sizeof(events) - sizeof("/events"), err);

	if (rc)
		return rc;
	strcat(events, "/events");
	if (machine && !machine->tracepoints)
		machine->tracepoints = calloc(1, sizeof(*machine->tracepoints));
	if (machine && machine->tracepoints) {
		all = machine->tracepoints;
		name = find(all, id, events);
	}
	if (!name) {
		clear(all);
		visit(all, events, NULL, read_system);
		name = find(all, id, events);
	}
	rc = name ? copy_name(name, buffer, size, err) : not_found(machine, all, id, events, err);
	clear(&own);
	return rc;
}

void perch__clear_tracepoints(struct perch_machine *machine)
{
	if (machine->tracepoints)
		clear(machine->tracepoints);
	free(machine->tracepoints);
	machine->tracepoints = NULL;
}

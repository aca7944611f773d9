/* SPDX-License-Identifier: MIT */
/*
 * Names of tracepoints by their ids. tracefs has a file with the id of each tracepoint, more than a
 * thousand in all, which takes tens of milliseconds to read. available_events lists the names in
 * the order of their registration, and most ids are assigned in this order, so the name is first
 * searched there by bisection. Only if that fails, all ids are read, once. Ids change when probes
 * are defined or modules are loaded: the last answer is valid for a short time only. Then a name is
 * checked against its file, and an id without a name is searched again.
 */
#define _GNU_SOURCE /* DT_DIR */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/kernel/format_field.h"
#include "base/no_memory.h"
#include "internal.h"

struct listed_tracepoint {
	uint32_t id;
	char *name; /* "sched:sched_switch" */
};

struct tracepoints {
	struct listed_tracepoint *tracepoint;
	size_t nr, capacity;
	int error; /* the last negative errno of a file that could not be read, or 0 */
	/* the last answer, which is not checked again for a short time */
	uint64_t last_id, last_until_ms;
	const char *last_name; /* NULL: there is none */
};

static void clear_tracepoints(struct tracepoints *all)
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

/* Takes the name, from malloc(); NULL if there was no memory. */
static void append_tracepoint(struct tracepoints *all, uint32_t id, char *name)
{
	struct listed_tracepoint *tracepoint =
		name ? PERCH__ARRAY_APPEND(all->tracepoint, all->nr, all->capacity) : NULL;

	if (tracepoint) {
		*tracepoint = (struct listed_tracepoint){ id, name };
		return;
	}
	free(name);
	note_unread(all, -ENOMEM);
}

/* Calls the function for each directory; system is NULL in the directory of the systems. */
static void visit_system(struct tracepoints *all, const char *path, const char *system,
			 void (*function)(struct tracepoints *all, const char *path,
					  const char *system, const char *name))
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
	char *whole = NULL;
	uint32_t id;
	int rc = read_id(path, &id);

	if (rc)
		note_unread(all, rc);
	else
		append_tracepoint(all, id,
				  asprintf(&whole, "%s:%s", system, name) < 0 ? NULL : whole);
}

static void read_system(struct tracepoints *all, const char *path, const char *system,
			const char *name)
{
	(void)system;
	visit_system(all, path, name, read_tracepoint);
}

/* Reads the id of "system:name". */
static int read_id_of(const char *events, const char *name, size_t length, uint32_t *id)
{
	const char *colon = memchr(name, ':', length);
	char path[PATH_MAX];

	if (!colon ||
	    snprintf(path, sizeof(path), "%s/%.*s/%.*s", events, (int)(colon - name), name,
		     (int)(name + length - colon - 1), colon + 1) >= (int)sizeof(path))
		return -EBADMSG;
	return read_id(path, id);
}

/* Adds the tracepoint of the id, if bisection of the list, a text of lines, finds it. */
static void bisect(struct tracepoints *all, uint64_t id, const char *events, const char *list,
		   size_t length)
{
	size_t low = 0, high = length;

	while (low < high) {
		size_t start = low + (high - low) / 2, end;
		uint32_t found;

		while (start > low && list[start - 1] != '\n')
			start--;
		end = start + strcspn(list + start, "\n");
		if (read_id_of(events, list + start, end - start, &found))
			return;
		if (found == id) {
			append_tracepoint(all, found, strndup(list + start, end - start));
			return;
		}
		if (found > id)
			high = start;
		else
			low = end + 1;
	}
}

static void search_list(struct tracepoints *all, uint64_t id, const char *events)
{
	static const size_t size = 1 << 20; /* the names of Linux 6.18 take 62 KiB */
	char *list = malloc(size), path[PATH_MAX];
	ssize_t got;

	snprintf(path, sizeof(path), "%.*savailable_events",
		 (int)(strlen(events) - strlen("events")), events);
	got = list ? perch_machine_read(NULL, path, list, size) : -ENOMEM;
	if (got > 0)
		bisect(all, id, events, list, (size_t)got);
	free(list);
}

/* Returns the name, if its file still has the id. */
static const char *find_tracepoint(const struct tracepoints *all, uint64_t id, const char *events)
{
	for (size_t i = 0; i < all->nr; i++) {
		const char *name = all->tracepoint[i].name;
		uint32_t now;

		if (all->tracepoint[i].id == id && !read_id_of(events, name, strlen(name), &now) &&
		    now == id)
			return name;
	}
	return NULL;
}

/* With fresh, an absent id is searched again at once: a caller with err gets its own answer. */
static const char *search_tracepoint(struct tracepoints *all, uint64_t id, const char *events,
				     bool fresh)
{
	const char *name;

	if (id > UINT16_MAX) /* ids are the types of trace entries, of 16 bits */
		return NULL;
	if (id == all->last_id && perch__coarse_ms() < all->last_until_ms &&
	    (all->last_name || !fresh))
		return all->last_name;
	name = find_tracepoint(all, id, events);
	if (!name) {
		search_list(all, id, events);
		name = find_tracepoint(all, id, events);
	}
	if (!name) {
		clear_tracepoints(all);
		visit_system(all, events, NULL, read_system);
		name = find_tracepoint(all, id, events);
	}
	all->last_id = id;
	all->last_until_ms = perch__coarse_ms() + PERCH__LIFETIME_MS;
	all->last_name = name;
	return name;
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
		return PERCH__NO_MEMORY(err, "for the names of tracepoints");
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
	const char *name;
	int rc = perch_machine_tracefs(machine, events, sizeof(events) - sizeof("/events"), err);

	if (rc)
		return rc;
	strcat(events, "/events");
	if (machine && !machine->tracepoints)
		machine->tracepoints = calloc(1, sizeof(*machine->tracepoints));
	if (machine && machine->tracepoints)
		all = machine->tracepoints;
	name = search_tracepoint(all, id, events, err);
	rc = name ? copy_name(name, buffer, size, err) : not_found(machine, all, id, events, err);
	clear_tracepoints(&own);
	return rc;
}

void perch__clear_tracepoints(struct perch_machine *machine)
{
	if (machine->tracepoints)
		clear_tracepoints(machine->tracepoints);
	free(machine->tracepoints);
	machine->tracepoints = NULL;
}

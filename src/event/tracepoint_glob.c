/* SPDX-License-Identifier: MIT */
/* Tracepoints by globs: sched:*, sys*:sys_enter_*, with brackets as fnmatch(3) has them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* Names of a folder that match a glob, sorted. */
struct found {
	size_t nr;
	char **name;
};

static void forget(struct found *found)
{
	for (size_t i = 0; i < found->nr; i++)
		free(found->name[i]);
	free(found->name);
	*found = (struct found){ 0, NULL };
}

static int by_name(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static int keep(struct found *found, const char *name)
{
	char **larger = reallocarray(found->name, found->nr + 1, sizeof(*larger)), *copy;

	if (!larger)
		return -ENOMEM;
	found->name = larger;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	found->name[found->nr++] = copy;
	return 0;
}

/* A folder that cannot be read holds nothing. -ENOMEM. */
static int find(struct perch__parser *parser, size_t at, struct found *found, const char *path,
		const char *glob)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	int rc = 0;

	if (!folder)
		return 0;
	while (!rc && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && !fnmatch(glob, entry->d_name, 0))
			rc = keep(found, entry->d_name);
	closedir(folder);
	if (rc) {
		forget(found);
		return perch__parse_error(parser, at, ENOMEM, PERCH_ERROR_NO_MEMORY,
					  "no memory for the names of tracepoints");
	}
	if (found->nr)
		qsort(found->name, found->nr, sizeof(*found->name), by_name);
	return 0;
}

/* Each gets its own name for now; the terms and letters behind the glob are put to it when they are
 * read. */
static int add_system(struct perch__parser *parser, const char *events, const char *system,
		      const char *glob, size_t at)
{
	struct found names = { 0, NULL };
	struct perch_event *event;
	char path[PATH_MAX];
	int rc;

	if (snprintf(path, sizeof(path), "%s/%s", events, system) >= (int)sizeof(path))
		return 0;
	rc = find(parser, at, &names, path, glob);
	for (size_t i = 0; i < names.nr && !rc; i++) {
		rc = perch__add_tracepoint(parser, events, system, names.name[i], at);
		if (rc == -ENOENT) {
			rc = 0; /* enable, filter: files, not tracepoints */
		} else if (!rc) {
			event = &parser->events->event[parser->events->nr - 1];
			snprintf(event->name, sizeof(event->name), "%s:%s", system, names.name[i]);
		}
	}
	forget(&names);
	return rc;
}

static int nothing(struct perch__parser *parser, const char *events, const char *system, size_t at,
		   const char *name, size_t at_name, bool system_there)
{
	struct perch__suggestions suggestions = { .word = system };

	perch__parse_error(parser, system_there ? at_name : at, ENOENT, PERCH_ERROR_UNKNOWN_EVENT,
			   "no tracepoint matches '%s:%s'", system, name);
	if (!system_there)
		perch__suggest_directory(&suggestions, events);
	perch__suggestions_remedy(&suggestions, parser->err, "'perch list' shows the tracepoints");
	return -ENOENT;
}

int perch__tracepoint_glob(struct perch__parser *parser, const char *events, const char *system,
			   size_t at, const char *name, size_t at_name)
{
	size_t before = parser->events->nr;
	struct found systems = { 0, NULL };
	int rc = find(parser, at, &systems, events, system);
	bool there = systems.nr;

	for (size_t i = 0; i < systems.nr && !rc; i++)
		/* what lies in "ftrace" are no tracepoints but records of its own: only who names
		 * it means it */
		if (strcmp(systems.name[i], "ftrace") || !perch__is_glob(system))
			rc = add_system(parser, events, systems.name[i], name, at);
	forget(&systems);
	if (rc)
		return rc;
	return parser->events->nr > before
		       ? 0
		       : nothing(parser, events, system, at, name, at_name, there);
}

/* SPDX-License-Identifier: MIT */
/*
 * Tracepoints: system:name, both of which may be globs of fnmatch(3). The file "id" of a
 * tracepoint in tracefs has its config. Paths of tracefs begin with the root of the machine, so
 * perch_machine_read() gets no machine for them.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "internal.h"

/* A tracepoint of the text, which may be a glob. */
struct tracepoint_name {
	const char *events; /* directory of tracefs */
	const char *system, *name;
	size_t at, at_name; /* bytes of the text where system and name begin */
};

/* A name must not lead out of the directories of tracefs. */
static bool is_safe(const char *name)
{
	return name[0] != '.';
}

static int report_unknown(struct perch__parser *parser, const struct tracepoint_name *tracepoint)
{
	const char *system = tracepoint->system, *name = tracepoint->name;
	struct perch__suggestions suggestions = { .word = system };
	char directory[PATH_MAX], bytes[8];

	/* reading a directory fails with EISDIR, which shows that the system exists */
	if (is_safe(system) &&
	    snprintf(directory, sizeof(directory), "%s/%s/", tracepoint->events, system) <
		    (int)sizeof(directory) &&
	    perch_machine_read(NULL, directory, bytes, sizeof(bytes)) == -EISDIR) {
		suggestions.word = name;
		perch__parse_error(parser, tracepoint->at_name, ENOENT, PERCH_ERROR_UNKNOWN_EVENT,
				   "there is no tracepoint '%s:%s'", system, name);
		perch__suggest_directory(&suggestions, directory);
		perch__suggestions_remedy(
			&suggestions, parser->err,
			"tracefs has a directory events/SYSTEM/NAME for each tracepoint");
		return -ENOENT;
	}
	perch__parse_error(parser, tracepoint->at, ENOENT, PERCH_ERROR_UNKNOWN_EVENT,
			   "there is no event '%s' and no tracepoint '%s:%s'", system, system,
			   name);
	perch__suggest_directory(&suggestions, tracepoint->events);
	perch__suggest_generic_names(&suggestions);
	perch__suggest_keywords(&suggestions);
	perch__suggestions_remedy(
		&suggestions, parser->err,
		"see perch-events(7) for the names; /sys/bus/event_source/devices/*/events has those of this machine");
	return -ENOENT;
}

/* Adds the tracepoint to the error of a function of the machine. */
static int report_tracefs(struct perch__parser *parser, int rc,
			  const struct tracepoint_name *tracepoint)
{
	perch_error_prefix(parser->err, "tracepoint '%s:%s': ", tracepoint->system,
			   tracepoint->name);
	if (parser->err)
		parser->err->column = tracepoint->at;
	return rc;
}

/* Returns -ENOENT without an error message when there is no such tracepoint. */
static int add_tracepoint(struct perch__parser *parser, const struct tracepoint_name *tracepoint)
{
	char path[PATH_MAX], text[32];
	struct perch_event *event;
	ssize_t got = -ENOENT;
	uint64_t id;
	int rc;

	if (is_safe(tracepoint->system) && is_safe(tracepoint->name) &&
	    snprintf(path, sizeof(path), "%s/%s/%s/id", tracepoint->events, tracepoint->system,
		     tracepoint->name) < (int)sizeof(path))
		got = perch_machine_read(NULL, path, text, sizeof(text));
	if (got == -ENOENT || got == -ENOTDIR)
		return -ENOENT;
	if (got == -EACCES)
		return report_tracefs(parser,
				      perch_machine_tracefs_error(parser->machine, parser->err),
				      tracepoint);
	if (got < 0)
		return perch__parse_error(parser, tracepoint->at, -got, PERCH_ERROR_FILE,
					  "cannot read %s: %s", path, strerror(-got));
	if (perch__parse_number(text, strlen(text), &id))
		return perch__parse_error(parser, tracepoint->at, EBADMSG, PERCH_ERROR_FORMAT,
					  "%s must contain a number, not '%s'", path, text);
	rc = perch__add_event(parser, &event);
	if (rc)
		return rc;
	event->attr.type = PERCH_TYPE_TRACEPOINT;
	event->attr.config = id;
	return 0;
}

struct names {
	size_t nr, capacity;
	char **name;
};

static void clear_names(struct names *names)
{
	for (size_t i = 0; i < names->nr; i++)
		free(names->name[i]);
	free(names->name);
	*names = (struct names){ 0 };
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static int append_name(struct names *names, const char *name)
{
	char *copy = strdup(name), **slot;

	slot = copy ? PERCH__ARRAY_APPEND(names->name, names->nr, names->capacity) : NULL;
	if (!slot) {
		free(copy);
		return -ENOMEM;
	}
	*slot = copy;
	return 0;
}

/*
 * Lists the names in a directory that match a glob, sorted; none if the directory cannot be read.
 * Returns 0 or -ENOMEM.
 */
static int find_names(struct perch__parser *parser, size_t at, struct names *names,
		      const char *path, const char *glob)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	int rc = 0;

	if (!directory)
		return 0;
	while (!rc && (entry = readdir(directory)))
		if (entry->d_name[0] != '.' && !fnmatch(glob, entry->d_name, 0))
			rc = append_name(names, entry->d_name);
	closedir(directory);
	if (rc) {
		clear_names(names);
		return perch__parse_error(parser, at, ENOMEM, PERCH_ERROR_NO_MEMORY,
					  "no memory for the names of tracepoints");
	}
	if (names->nr)
		qsort(names->name, names->nr, sizeof(*names->name), compare_names);
	return 0;
}

/* Each event gets the name of its tracepoint; the parser appends the terms and modifiers later. */
static int add_system(struct perch__parser *parser, const struct tracepoint_name *glob,
		      const char *system)
{
	struct tracepoint_name tracepoint = *glob;
	struct names names = { 0 };
	struct perch_event *event;
	char path[PATH_MAX];
	int rc;

	if (snprintf(path, sizeof(path), "%s/%s", glob->events, system) >= (int)sizeof(path))
		return 0;
	rc = find_names(parser, glob->at, &names, path, glob->name);
	tracepoint.system = system;
	for (size_t i = 0; i < names.nr && !rc; i++) {
		tracepoint.name = names.name[i];
		rc = add_tracepoint(parser, &tracepoint);
		if (rc == -ENOENT) {
			rc = 0; /* a control file of the system, such as "enable" */
		} else if (!rc) {
			event = &parser->events->event[parser->events->nr - 1];
			snprintf(event->name, sizeof(event->name), "%s:%s", system, names.name[i]);
		}
	}
	clear_names(&names);
	return rc;
}

static int report_no_match(struct perch__parser *parser, const struct tracepoint_name *glob,
			   bool has_system)
{
	struct perch__suggestions suggestions = { .word = glob->system };

	perch__parse_error(parser, has_system ? glob->at_name : glob->at, ENOENT,
			   PERCH_ERROR_UNKNOWN_EVENT, "no tracepoint matches '%s:%s'", glob->system,
			   glob->name);
	if (!has_system)
		perch__suggest_directory(&suggestions, glob->events);
	perch__suggestions_remedy(&suggestions, parser->err,
				  "tracefs has a directory events/SYSTEM/NAME for each tracepoint");
	return -ENOENT;
}

static int add_matches(struct perch__parser *parser, const struct tracepoint_name *glob)
{
	size_t before = parser->events->nr;
	struct names systems = { 0 };
	int rc = find_names(parser, glob->at, &systems, glob->events, glob->system);
	bool has_system = systems.nr;

	for (size_t i = 0; i < systems.nr && !rc; i++)
		/* "ftrace" has entries of the trace file, few of which can be opened: only its
		 * exact name selects it */
		if (strcmp(systems.name[i], "ftrace") || !perch__is_glob(glob->system))
			rc = add_system(parser, glob, systems.name[i]);
	clear_names(&systems);
	if (rc)
		return rc;
	return parser->events->nr > before ? 0 : report_no_match(parser, glob, has_system);
}

int perch__add_tracepoints(struct perch__parser *parser, const char *system, size_t at,
			   const char *name, size_t at_name)
{
	struct tracepoint_name tracepoint = {
		.system = system, .name = name, .at = at, .at_name = at_name
	};
	char tracefs[PATH_MAX];
	int rc = perch__need_machine(parser);

	if (!rc)
		rc = perch_machine_tracefs(parser->machine, tracefs, sizeof(tracefs), parser->err);
	if (rc)
		return report_tracefs(parser, rc, &tracepoint);
	if (strlen(tracefs) + strlen("/events") >= sizeof(tracefs))
		return perch__parse_error(parser, at, ENAMETOOLONG, PERCH_ERROR_FILE,
					  "the path of tracefs is too long");
	strcat(tracefs, "/events");
	tracepoint.events = tracefs;
	if (perch__is_glob(system) || perch__is_glob(name))
		return add_matches(parser, &tracepoint);
	rc = add_tracepoint(parser, &tracepoint);
	return rc == -ENOENT ? report_unknown(parser, &tracepoint) : rc;
}

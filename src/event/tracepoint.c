/* SPDX-License-Identifier: MIT */
/* Tracepoints: system:name, known to the kernel by the number in their id file. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* Names that would lead out of tracefs' folders name nothing. */
static bool plain(const char *name)
{
	return name[0] != '.';
}

/* What is wrong with the name: no such system, or no such event in it. */
static int unknown(struct perch__parser *parser, const char *events, const char *system, size_t at,
		   const char *name, size_t at_name)
{
	struct perch__suggestions suggestions = { .word = system };
	char folder[PATH_MAX];

	if (plain(system) &&
	    snprintf(folder, sizeof(folder), "%s/%s/", events, system) < (int)sizeof(folder)) {
		char probe[8];

		/* a folder cannot be read as a file, but says that it is there */
		if (perch_machine_read(NULL, folder, probe, sizeof(probe)) == -EISDIR) {
			suggestions.word = name;
			perch__parse_error(parser, at_name, ENOENT, PERCH_ERROR_UNKNOWN_EVENT,
					   "there is no tracepoint '%s:%s'", system, name);
			perch__suggest_directory(&suggestions, folder);
			perch__suggestions_remedy(&suggestions, parser->err,
						  "'perch list' shows the tracepoints");
			return -ENOENT;
		}
	}
	perch__parse_error(parser, at, ENOENT, PERCH_ERROR_UNKNOWN_EVENT,
			   "there is no event '%s' and no tracepoint '%s:%s'", system, system,
			   name);
	perch__suggest_directory(&suggestions, events);
	perch__suggest_generic_names(&suggestions);
	perch__suggest_keywords(&suggestions);
	perch__suggestions_remedy(&suggestions, parser->err, "'perch list' shows the events");
	return -ENOENT;
}

/* What the machine says of tracefs, for this tracepoint. */
static int about(struct perch__parser *parser, int rc, const char *system, const char *name,
		 size_t at)
{
	perch_error_prefix(parser->err, "tracepoint '%s:%s': ", system, name);
	if (parser->err)
		parser->err->column = at;
	return rc;
}

int perch__add_tracepoint(struct perch__parser *parser, const char *events, const char *system,
			  const char *name, size_t at)
{
	char path[PATH_MAX], text[32];
	struct perch_event *event;
	ssize_t got = -ENOENT;
	uint64_t id;
	int rc;

	/* the path has the machine's root already, hence no machine here */
	if (plain(system) && plain(name) &&
	    snprintf(path, sizeof(path), "%s/%s/%s/id", events, system, name) < (int)sizeof(path))
		got = perch_machine_read(NULL, path, text, sizeof(text));
	if (got == -ENOENT || got == -ENOTDIR)
		return -ENOENT;
	if (got == -EACCES)
		return about(parser, perch_machine_tracefs_error(parser->machine, parser->err),
			     system, name, at);
	if (got < 0)
		return perch__parse_error(parser, at, -got, PERCH_ERROR_FILE, "cannot read %s: %s",
					  path, strerror(-got));
	if (perch__parse_number(text, strlen(text), &id))
		return perch__parse_error(parser, at, EBADMSG, PERCH_ERROR_FORMAT,
					  "%s says '%s', which is no number", path, text);
	rc = perch__add_event(parser, &event);
	if (rc)
		return rc;
	event->attr.type = PERCH_TYPE_TRACEPOINT;
	event->attr.config = id;
	return 0;
}

int perch__add_tracepoints(struct perch__parser *parser, const char *system, size_t at,
			   const char *name, size_t at_name)
{
	char tracefs[PATH_MAX];
	int rc = perch__need_machine(parser);

	if (!rc)
		rc = perch_machine_tracefs(parser->machine, tracefs, sizeof(tracefs), parser->err);
	if (rc)
		return about(parser, rc, system, name, at);
	if (strlen(tracefs) + strlen("/events") >= sizeof(tracefs))
		return perch__parse_error(parser, at, ENAMETOOLONG, PERCH_ERROR_FILE,
					  "tracefs has too long a path");
	strcat(tracefs, "/events");
	if (perch__is_glob(system) || perch__is_glob(name))
		return perch__tracepoint_glob(parser, tracefs, system, at, name, at_name);
	rc = perch__add_tracepoint(parser, tracefs, system, name, at);
	return rc == -ENOENT ? unknown(parser, tracefs, system, at, name, at_name) : rc;
}

/* SPDX-License-Identifier: MIT */
/*
 * Reads the formats of tracepoints from tracefs. Paths of tracefs begin with the root of the
 * machine, so perch_machine_read() gets no machine for them.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kernel/format_field.h"
#include "base/no_memory.h"
#include "tracepoint.h"

#define FIRST_BYTES (16u << 10) /* the first buffer for a format file: most are shorter */

/* A name is one directory of tracefs. */
static bool is_safe(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/');
}

static int unreadable(const char *path, int rc, struct perch_error *err)
{
	return perch_error_set(err, -rc, PERCH_ERROR_FILE, "cannot read %s: %s", path,
			       strerror(-rc));
}

/* Reads a whole file, which has no size before it is read. Returns a string to free, or NULL. */
static char *read_file(const char *path, size_t *length, int *rc, struct perch_error *err)
{
	char *text = NULL;

	for (size_t size = FIRST_BYTES; size <= 2 * PERCH__FORMAT_MAX; size *= 2) {
		char *larger = realloc(text, size);
		ssize_t got;

		if (!larger) {
			*rc = PERCH__NO_MEMORY(err, "for %s", path);
			break;
		}
		text = larger;
		got = perch_machine_read(NULL, path, text, size);
		if (got < 0) {
			*rc = unreadable(path, (int)got, err);
			break;
		}
		*length = (size_t)got;
		if (*length + 2 < size) /* it may be without its final newline */
			return text;
	}
	if (!*rc)
		*rc = perch_error_set(err, EFBIG, PERCH_ERROR_FORMAT, "%s is longer than 1 MiB",
				      path);
	free(text);
	return NULL;
}

static int read_format(struct perch_tracepoint_format **format, const char *events,
		       const char *system, const char *name, struct perch_error *err)
{
	struct perch_tracepoint_text text = { .system = system };
	char path[PATH_MAX];
	int rc = 0;
	char *bytes;

	if (snprintf(path, sizeof(path), "%s/%s/%s/format", events, system, name) >=
	    (int)sizeof(path))
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_FILE,
				       "the path of tracefs is too long");
	bytes = read_file(path, &text.size, &rc, err);
	if (!bytes)
		return rc;
	text.text = bytes;
	rc = perch_tracepoint_format_parse(format, &text, err);
	if (rc)
		perch_error_prefix(err, "%s: ", path);
	free(bytes);
	return rc;
}

static int find_events(struct perch_machine *machine, char *events, size_t size,
		       struct perch_error *err)
{
	int rc = perch_machine_tracefs(machine, events, size, err);

	if (rc < 0)
		return rc;
	if (strlen(events) + sizeof("/events") > size)
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_FILE,
				       "the path of tracefs is too long");
	strcat(events, "/events");
	return 0;
}

int perch_tracepoint_format_read(struct perch_tracepoint_format **format, const char *name,
				 struct perch_machine *machine, struct perch_error *err)
{
	size_t length = strcspn(name, ":");
	char events[PATH_MAX], system[NAME_MAX + 1];
	int rc;

	*format = NULL;
	snprintf(system, sizeof(system), "%.*s", (int)(length < NAME_MAX ? length : NAME_MAX),
		 name);
	if (name[length] != ':' || length > NAME_MAX || !is_safe(system) ||
	    !is_safe(name + length + 1))
		return perch_error_set(
			err, EINVAL, PERCH_ERROR_USAGE,
			"'%s' is not the name of a tracepoint: it must be SYSTEM:NAME", name);
	rc = find_events(machine, events, sizeof(events), err);
	if (rc)
		return rc;
	rc = read_format(format, events, system, name + length + 1, err);
	if (rc == -ENOENT || rc == -ENOTDIR) {
		rc = perch_error_set(err, ENOENT, PERCH_ERROR_UNKNOWN_EVENT,
				     "there is no tracepoint '%s'", name);
		perch_error_remedy(
			err, "tracefs has a directory events/SYSTEM/NAME for each tracepoint");
	} else if (rc == -EACCES) {
		rc = perch_machine_tracefs_error(machine, err);
	}
	return rc;
}

int perch_tracepoint_format_read_id(struct perch_tracepoint_format **format, uint64_t id,
				    struct perch_machine *machine, struct perch_error *err)
{
	char name[2 * NAME_MAX + 2];
	int rc;

	*format = NULL;
	rc = perch_machine_tracepoint(machine, id, name, sizeof(name), err);
	return rc ? rc : perch_tracepoint_format_read(format, name, machine, err);
}

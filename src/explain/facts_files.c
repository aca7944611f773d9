/* SPDX-License-Identifier: MIT */
/* Facts from single files: cpuinfo, tracefs, and the file of a uprobe. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "facts.h"

/* The flags of the first CPU count for all. */
enum perch__match perch__cpu_lacks(const struct perch__case *c, const char *flag)
{
	const char *text = perch__file_text(c, "/proc/cpuinfo"),
		   *line = text ? strstr(text, "\nflags") : NULL, *end;
	size_t length = strlen(flag);

	if (!line)
		return PERCH__UNKNOWN;
	end = line + 1 + strcspn(line + 1, "\n");
	for (const char *word = line; (word = strstr(word, flag)) && word < end; word += length)
		if (word[-1] == ' ' &&
		    (word[length] == ' ' || word[length] == '\n' || !word[length]))
			return PERCH__NO;
	return PERCH__YES;
}

enum perch__match perch__bare_metal(const struct perch__case *c)
{
	int virtual = c->machine ? perch_machine_virtual(c->machine) : -1;

	return virtual < 0 ? PERCH__UNKNOWN : virtual ? PERCH__NO : PERCH__YES;
}

/* The id of a tracepoint as text, NULL if tracefs is not readable. */
static const char *tracepoint_id(const struct perch__case *c, const char *name)
{
	static const char *const directories[] = { "/sys/kernel/tracing",
						   "/sys/kernel/debug/tracing" };
	const char *id = NULL;
	char path[256];

	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories) && !id; i++) {
		snprintf(path, sizeof(path), "%s/events/%s/id", directories[i], name);
		id = perch__file_text(c, path);
	}
	return id;
}

enum perch__match perch__tracepoint_is(const struct perch__case *c, const char *name)
{
	const char *id = tracepoint_id(c, name);

	return id ? perch__yes_if(strtoull(id, NULL, 10) == c->attr.config) : PERCH__UNKNOWN;
}

/*
 * The smallest ids, the directory ftrace of tracefs, are those of entries in the trace file. perf
 * can open only ftrace:function (1) and ftrace:print (5) of them. Linux 4.10 and later have at
 * least 16.
 */
static enum perch__match find_absence(const struct perch__case *c)
{
	const uint64_t id = c->attr.config, print = 5, last = 16;
	char name[512], path[PATH_MAX];
	int rc;

	if (id > 1 && id <= last && id != print)
		return perch__not(perch__may_lack_change(c, "4.10"));
	if (!c->machine || perch_machine_tracefs(c->machine, path, sizeof(path), NULL))
		return PERCH__UNKNOWN;
	rc = perch_machine_tracepoint(c->machine, id, name, sizeof(name), NULL);
	return rc == -ENOENT ? PERCH__YES : rc < 0 ? PERCH__UNKNOWN : PERCH__NO;
}

/* A search without a result takes milliseconds, so its result is kept. */
enum perch__match perch__tracepoint_absent(const struct perch__case *c)
{
	enum perch__match absent;

	if (c->shared && c->attr.config && c->shared->tracepoint == c->attr.config)
		return c->shared->no_tracepoint;
	absent = find_absence(c);
	if (c->shared) {
		c->shared->tracepoint = c->attr.config;
		c->shared->no_tracepoint = absent;
	}
	return absent;
}

uint64_t perch__existing_tracepoint(const struct perch__case *c)
{
	const char *id = tracepoint_id(c, "sched/sched_process_exit");

	return id ? strtoull(id, NULL, 10) : 0;
}

/* perch_machine_tracefs() returns a path with the root, perch_machine_read() takes one without. */
static ssize_t read_tracefs(const struct perch__case *c, const char *name, char *buffer,
			    size_t size)
{
	char root[PATH_MAX], tracefs[PATH_MAX], path[PATH_MAX + 256];
	int length;

	if (perch_machine_tracefs(c->machine, tracefs, sizeof(tracefs), NULL))
		return -ENOENT;
	length = perch_machine_path(c->machine, "", root, sizeof(root));
	if (length < 0)
		return length;
	snprintf(path, sizeof(path), "%s/%s", tracefs + length, name);
	return perch_machine_read(c->machine, path, buffer, size);
}

/* A kernel without function tracing refuses the list of functions too, even to root. */
enum perch__match perch__function_tracing_locked(const struct perch__case *c)
{
	char text[16];
	ssize_t got;

	if (!c->machine)
		return PERCH__UNKNOWN;
	got = read_tracefs(c, "available_filter_functions", text, sizeof(text));
	if (got == -EPERM)
		return PERCH__YES;
	return got > 0 ? PERCH__NO : PERCH__UNKNOWN;
}

/* The path as the process passed it. Returns false if unknown. */
static bool uprobe_path(const struct perch__case *c, char *path, size_t size)
{
	if (!c->machine || c->call->from_log || c->call->attr_is_partial || !c->attr.config1)
		return false;
	return !perch_machine_process_string(c->machine, c->attr.config1, path, size, NULL);
}

static enum perch__path check_path(const struct perch__case *c)
{
	char path[PATH_MAX], whole[PATH_MAX + 64];
	struct stat status;

	if (!uprobe_path(c, path, sizeof(path)))
		return PERCH__PATH_UNKNOWN;
	if (!path[0])
		return PERCH__PATH_EMPTY;
	if (perch_machine_process_path(c->machine, path, whole, sizeof(whole)) < 0 ||
	    stat(whole, &status))
		return PERCH__PATH_UNKNOWN;
	if (!S_ISREG(status.st_mode))
		return PERCH__PATH_NOT_REGULAR;
	return c->attr.probe_offset > (uint64_t)status.st_size ? PERCH__PATH_SHORT : PERCH__PATH_OK;
}

enum perch__match perch__path_is(const struct perch__case *c, enum perch__path what)
{
	enum perch__path found = c->shared ? c->shared->path : PERCH__PATH_NOT_READ;

	if (found == PERCH__PATH_NOT_READ)
		found = check_path(c);
	if (c->shared)
		c->shared->path = found;
	return perch__yes_if(found == what);
}

bool perch__write_path(const struct perch__case *c, char *buffer, size_t size)
{
	char path[PATH_MAX];

	if (!uprobe_path(c, path, sizeof(path)) || !path[0])
		return false;
	return snprintf(buffer, size, ": %.128s", path) > 0;
}

/* SPDX-License-Identifier: MIT */
/* Labels of a running process: its cgroup and, if allowed, a variable of its environment. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <perch/process.h>

#include "base/files/io.h"
#include "base/kernel/recorded_process.h"
#include "base/text.h"
#include "labels.h"

#define SERVICE_VARIABLE "OTEL_SERVICE_NAME"

enum {
	CGROUP_FILE_MAX = 64 << 10,
	CGROUP_PROCESSES_MAX = 64,   /* whose environment is read */
	ENVIRONMENT_MAX = 128 << 10, /* the variables after it are not found */
};

/* How much a path says: its container, its unit, or nothing. */
static int rank_of(const char *path, bool is_cgroup2)
{
	struct perch_cgroup_names names;

	perch_cgroup_find_names(path, &names);
	if (names.container_id[0] || names.container_name[0])
		return 4;
	return names.unit[0] ? 3 : is_cgroup2 ? 2 : 1;
}

bool agent_cgroup_path(char *text, char *path)
{
	int best = 0;

	for (char *line = text, *next; line && *line; line = next) {
		char *colon = strchr(line, ':'), *at = colon ? strchr(colon + 1, ':') : NULL;
		int rank;

		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		/* "12:cpu,cpuacct:/path", "0::/path" */
		if (!at || at[1] != '/' || (next && at >= next) || strlen(at + 1) >= PATH_MAX)
			continue;
		rank = rank_of(at + 1, !strncmp(line, "0::", 3));
		if (rank <= best)
			continue;
		best = rank;
		memcpy(path, at + 1, strlen(at + 1) + 1);
	}
	return best;
}

static bool is_clean(const char *text, size_t length)
{
	while (length) {
		struct perch__character character = perch__next_character(text, length);

		if (!character.printable)
			return false;
		text += character.size;
		length -= character.size;
	}
	return true;
}

bool agent_environment_value(const char *bytes, size_t size, const char *name, char *value)
{
	size_t name_length = strlen(name);

	for (size_t at = 0; at < size;) {
		const char *variable = bytes + at;
		size_t length = strnlen(variable, size - at), rest;

		at += length + 1;
		if (length <= name_length || memcmp(variable, name, name_length) ||
		    variable[name_length] != '=')
			continue;
		rest = length - name_length - 1;
		/* without a NUL it is the part of a longer one */
		if (!rest || rest > AGENT_LABEL_MAX || at > size ||
		    !is_clean(variable + name_length + 1, rest))
			return false;
		memcpy(value, variable + name_length + 1, rest);
		value[rest] = 0;
		return true;
	}
	return false;
}

/* Reads a file. Returns the number of bytes, and a NUL after them, or -errno. */
static ssize_t read_path(const char *path, char *bytes, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = perch__read_upto(fd, bytes, size - 1);
	close(fd);
	if (got >= 0)
		bytes[got] = 0;
	return got;
}

static ssize_t read_file(pid_t pid, const char *name, char *bytes, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return read_path(path, bytes, size);
}

/* bytes has ENVIRONMENT_MAX of them. */
static bool service_of(pid_t pid, char *bytes, char *value)
{
	ssize_t got = read_file(pid, "environ", bytes, ENVIRONMENT_MAX);

	return got > 0 && agent_environment_value(bytes, (size_t)got, SERVICE_VARIABLE, value);
}

/* Reads the processes of a cgroup, a number in each line. Returns how many values they have, 2 for
 * more; value is one of them. */
static unsigned count_services(const char *path, char *bytes, char *value)
{
	char list[CGROUP_PROCESSES_MAX * 8], other[AGENT_LABEL_MAX + 1] = "";
	ssize_t got = read_path(path, list, sizeof(list));
	unsigned nr = 0;
	char *at = list;

	for (size_t i = 0; got > 0 && i < CGROUP_PROCESSES_MAX && *at && nr < 2; i++) {
		char *end;
		long pid = strtol(at, &end, 10);

		if (end == at || *end != '\n' || pid <= 0 || pid > INT_MAX)
			break;
		at = end + 1;
		if (!service_of((pid_t)pid, bytes, nr ? other : value))
			continue;
		if (!nr || strcmp(other, value))
			nr++;
	}
	return nr;
}

bool agent_cgroup_service(const char *mount, const char *path, char *value)
{
	char file[2 * PATH_MAX], *bytes;
	bool found;

	/* processes of the root have nothing in common; the path is from outside */
	if (*path != '/' || !path[1] || strstr(path, "/..") || strlen(path) >= PATH_MAX)
		return false;
	if ((size_t)snprintf(file, sizeof(file), "%s%s/cgroup.procs", mount, path) >= sizeof(file))
		return false;
	bytes = malloc(ENVIRONMENT_MAX);
	found = bytes && count_services(file, bytes, value) == 1;
	free(bytes);
	return found;
}

bool agent_process_cgroup(pid_t pid, char *path)
{
	char *text = malloc(CGROUP_FILE_MAX);
	/* a process that ends is in the root of all hierarchies of version 1; one that still runs
	 * after the reading was no such process */
	bool found = text && read_file(pid, "cgroup", text, CGROUP_FILE_MAX) >= 0 &&
		     perch__task_runs((unsigned)pid) && agent_cgroup_path(text, path);

	free(text);
	return found;
}

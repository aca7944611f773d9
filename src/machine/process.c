/* SPDX-License-Identifier: MIT */
/* Facts of one process: capabilities, limits, descriptors, state. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "internal.h"

void perch_machine_set_process(struct perch_machine *machine, pid_t pid)
{
	machine->process = pid;
	machine->status_valid = false;
	machine->sandbox_valid = false;
	/* its mounts may be others */
	for (size_t i = 0; i < NR_HIERARCHIES; i++)
		machine->hierarchy[i].until_ms = 0;
}

void perch__process_path(const struct perch_machine *machine, char *path, size_t size,
			 const char *name)
{
	if (machine && machine->process)
		snprintf(path, size, "/proc/%d%s", (int)machine->process, name);
	else
		snprintf(path, size, "/proc/self%s", name);
}

/* Capabilities and filters belong to a thread, so thread-self is read first. A test machine may
 * lack it. */
static int read_own_status(const struct perch_machine *machine, struct status *status)
{
	char path[64];
	int rc;

	if (!machine || !machine->process) {
		rc = perch__read_status(machine, "/proc/thread-self/status", status);
		if (!rc || !perch__is_permanent(rc))
			return rc;
	}
	perch__process_path(machine, path, sizeof(path), "/status");
	return perch__read_status(machine, path, status);
}

int perch__process_status(struct perch_machine *machine, const struct status **status)
{
	if (!machine->status_valid) {
		machine->status_error = read_own_status(machine, &machine->status);
		machine->status_valid = perch__is_permanent(machine->status_error);
	}
	*status = &machine->status;
	return machine->status_error;
}

int perch__status_of(struct perch_machine *machine, struct status *fresh,
		     const struct status **status)
{
	if (machine)
		return perch__process_status(machine, status);
	*status = fresh;
	return read_own_status(NULL, fresh);
}

int perch_machine_capabilities(struct perch_machine *machine, uint64_t *effective,
			       struct perch_error *err)
{
	const struct status *status;
	struct status fresh;
	int rc = perch__status_of(machine, &fresh, &status);

	if (!rc && !status->has_capabilities)
		rc = -EBADMSG;
	if (rc)
		return perch_error_set(
			err, -rc, PERCH_ERROR_FILE, "cannot read the capabilities of %s: %s",
			machine && machine->process ? "that process" : "this process",
			strerror(-rc));
	*effective = status->effective;
	return 0;
}

bool perch__limit_line(const char *text, const char *name, uint64_t *soft, uint64_t *hard)
{
	const char *line = strstr(text, name);
	char values[2][32];

	if (!line || sscanf(line + strlen(name), "%31s %31s", values[0], values[1]) != 2)
		return false;
	*soft = strcmp(values[0], "unlimited") ? strtoull(values[0], NULL, 10) : UINT64_MAX;
	if (hard)
		*hard = strcmp(values[1], "unlimited") ? strtoull(values[1], NULL, 10) : UINT64_MAX;
	return true;
}

static uint64_t limit_value(rlim_t limit)
{
	return limit == RLIM_INFINITY ? UINT64_MAX : limit;
}

/* Works without a free descriptor, when no file can be read. */
static bool get_limits(const struct perch_machine *machine, struct perch_limits *limits)
{
	pid_t process = machine ? machine->process : 0;
	struct rlimit files, locked;

	if ((machine && machine->root[0]) || prlimit(process, RLIMIT_NOFILE, NULL, &files) ||
	    prlimit(process, RLIMIT_MEMLOCK, NULL, &locked))
		return false;
	limits->descriptors = limit_value(files.rlim_cur);
	limits->descriptors_hard = limit_value(files.rlim_max);
	limits->locked_bytes = limit_value(locked.rlim_cur);
	return true;
}

int perch_machine_limits(struct perch_machine *machine, struct perch_limits *limits,
			 struct perch_error *err)
{
	char path[64], text[4096];
	ssize_t got;

	limits->page_bytes = sysconf(_SC_PAGESIZE);
	perch__process_path(machine, path, sizeof(path), "/limits");
	got = perch_machine_read(machine, path, text, sizeof(text));
	if (got < 0 && get_limits(machine, limits))
		return 0;
	if (got < 0)
		return perch_error_set(err, -got, PERCH_ERROR_FILE, "cannot read %s: %s", path,
				       strerror(-got));
	if (!perch__limit_line(text, "Max open files", &limits->descriptors,
			       &limits->descriptors_hard) ||
	    !perch__limit_line(text, "Max locked memory", &limits->locked_bytes, NULL))
		return perch_error_set(err, EBADMSG, PERCH_ERROR_FORMAT, "%s lacks a limit", path);
	return 0;
}

/* Counts the descriptors below the limit, without the one that reads the directory. */
static size_t count_descriptors(DIR *directory, bool own, uint64_t limit)
{
	const struct dirent *entry;
	size_t nr = 0;

	while ((entry = readdir(directory))) {
		char *end;
		unsigned long number = strtoul(entry->d_name, &end, 10);

		if (entry->d_name[0] != '.' && !*end && number < limit &&
		    !(own && (int)number == dirfd(directory)))
			nr++;
	}
	return nr;
}

int perch_machine_open_descriptors(struct perch_machine *machine, size_t *nr,
				   struct perch_error *err)
{
	bool own = !machine || (!machine->process && !machine->root[0]);
	struct perch_limits limits = { .descriptors = UINT64_MAX };
	char path[64], full_path[PATH_MAX];
	DIR *directory;
	bool limited = !perch_machine_limits(machine, &limits, NULL);

	perch__process_path(machine, path, sizeof(path), "/fd");
	if (perch_machine_path(machine, path, full_path, sizeof(full_path)) < 0)
		return perch_error_set(err, ENAMETOOLONG, PERCH_ERROR_USAGE,
				       "the root of the machine is too long");
	directory = opendir(full_path);
	if (!directory && errno == EMFILE && own && limited) {
		*nr = limits.descriptors; /* all descriptors below the limit are open */
		return 0;
	}
	if (!directory)
		return perch_error_set(err, errno, PERCH_ERROR_FILE,
				       "cannot count the descriptors in %s: %s", full_path,
				       strerror(errno));
	*nr = count_descriptors(directory, own, limited ? limits.descriptors : UINT64_MAX);
	closedir(directory);
	return 0;
}

int perch_machine_process(struct perch_machine *machine, pid_t pid,
			  struct perch_process_state *state, struct perch_error *err)
{
	const struct status *own;
	struct status status;
	char path[64];
	int rc = -ESRCH;

	if (pid > 0) {
		snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
		rc = perch__read_status(machine, path, &status);
	} else if (!pid && machine) {
		rc = perch__process_status(machine, &own); /* cached */
		status = *own;
	} else if (!pid) {
		rc = read_own_status(NULL, &status);
	}
	if (rc == -ENOENT || rc == -ESRCH)
		return perch_error_set(err, ESRCH, PERCH_ERROR_NO_PROCESS,
				       "there is no process or thread %d", (int)pid);
	if (rc)
		return perch_error_set(err, -rc, PERCH_ERROR_FILE,
				       "cannot read the status of process %d: %s", (int)pid,
				       strerror(-rc));
	*state = (struct perch_process_state){
		.state = status.state,
		.uid = status.uid < 0 ? UINT32_MAX : (uint32_t)status.uid,
		.permitted = status.permitted,
	};
	memcpy(state->name, status.name, sizeof(state->name));
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* perch doctor --agent: what perch agent gets from this user's rights, and what a missing one
 * costs. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/library.h"
#include "base/hash_table.h"
#include "base/nr.h"
#include "commands/build_options.h"
#include "doctor.h"

#define GROUP	   "perch agent"
#define MOST_FILES 16384

/* Checks of the machine, and what perch agent lacks where they fail. */
static const struct {
	const char *id, *of, *title, *cost;
} rights[] = {
	{ "agent-cpus", "system-wide", "all CPUs",
	  "only processes of -p and -u are profiled, in user space and the kernel as they permit" },
	{ "agent-kernel", "sample-kernel", "samples in the kernel",
	  "time in the kernel is missing" },
	{ "agent-kernel-names", "kernel-symbols", "names of the kernel",
	  "functions of the kernel are addresses" },
	{ "agent-cgroups", "cgroups", "cgroups",
	  "labels of containers, pods and units may be missing" },
	{ "agent-off-cpu", "off-cpu", "time off the CPU", "--off-cpu has less, or nothing" },
	{ "agent-counters", "core-pmu", "hardware counters",
	  "metrics lack cycles, instructions and cache misses" },
	{ "agent-descriptors", "descriptors", "file descriptors",
	  "events of all CPUs may not be opened" },
};

static void check_right(const struct perch_checks *checks, size_t i, struct perch_check *result)
{
	const struct perch_check *found = perch_checks_find(checks, rights[i].of);

	if (found)
		*result = *found;
	else
		*result = (struct perch_check){ .status = PERCH_CHECK_UNKNOWN };
	result->id = rights[i].id;
	result->group = GROUP;
	result->title = rights[i].title;
	if (result->status != PERCH_CHECK_OK)
		snprintf(result->reason, sizeof(result->reason), "%s%s%.400s", rights[i].cost,
			 found && found->reason[0] ? ": " : "", found ? found->reason : "");
}

__attribute__((format(printf, 3, 4))) static void set_limited(struct perch_check *result,
							      const char *change,
							      const char *format, ...)
{
	va_list arguments;

	result->status = PERCH_CHECK_LIMITED;
	va_start(arguments, format);
	vsnprintf(result->reason, sizeof(result->reason), format, arguments);
	va_end(arguments);
	snprintf(result->change, sizeof(result->change), "%s", change);
}

struct readable {
	unsigned nr, denied; /* denied: this user may not read them */
};

/* access(2) would not ask for capabilities of a user who is not root. Others than regular files may
 * do something when they are opened. */
static void try_to_read(struct readable *files, const char *path)
{
	struct stat status;
	bool denied;
	int fd;

	if (!stat(path, &status) && !S_ISREG(status.st_mode))
		return;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	denied = fd < 0 && (errno == EACCES || errno == EPERM);
	files->nr += fd >= 0 || denied;
	files->denied += denied;
	if (fd >= 0)
		close(fd);
}

/* Calls a function with the path of the mappings of each process. */
static void visit_maps(void (*visit)(void *context, const char *maps), void *context)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;

	while (directory && (entry = readdir(directory))) {
		char path[300];

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/maps", entry->d_name);
		visit(context, path);
	}
	if (directory)
		closedir(directory);
}

static void try_maps(void *files, const char *maps)
{
	try_to_read(files, maps);
}

/* Since Linux 6.15 CAP_PERFMON is enough for mappings. */
static bool may_read_maps(struct perch_machine *machine)
{
	uint64_t effective = 0;
	struct perch_release release = { .text = "" };

	perch_machine_capabilities(machine, &effective, NULL);
	perch_machine_release(machine, &release, NULL);
	return effective & 1ull << PERCH_CAP_SYS_PTRACE ||
	       (effective & 1ull << PERCH_CAP_PERFMON &&
		perch_release_rank(release.text) >= perch_release_rank("6.15"));
}

/* Mappings that cannot be read now are those of programs that started before the agent. */
static void check_running(struct perch_check *result, struct perch_machine *machine)
{
	struct readable files = { .nr = 0 };

	*result = (struct perch_check){ .id = "agent-running",
					.group = GROUP,
					.title = "programs that run already" };
	visit_maps(try_maps, &files);
	snprintf(result->value, sizeof(result->value), "mappings of %u of %u can be read",
		 files.nr - files.denied, files.nr);
	if (files.denied && may_read_maps(machine))
		set_limited(result, "",
			    "functions of the others have no names until these programs start "
			    "again: a security module hides them, or they are in another user "
			    "namespace");
	else if (files.denied)
		set_limited(
			result,
			"grant CAP_SYS_PTRACE to perch agent; since Linux 6.15 CAP_PERFMON is enough",
			"functions of the others have no names until these programs start again");
}

/* Files of code that programs have mapped, each once. */
struct mapped_files {
	uint64_t seen[MOST_FILES]; /* hashes of paths; 0: free */
	unsigned nr;
	bool more; /* than are looked at */
	struct readable readable;
};

/* Returns false if the path was looked at before, or too many were. */
static bool note_path(struct mapped_files *files, const char *path)
{
	uint64_t hash = perch__hash_text(1, path) | 1;
	size_t at = hash % MOST_FILES;

	while (files->seen[at] && files->seen[at] != hash)
		at = (at + 1) % MOST_FILES;
	if (files->seen[at])
		return false;
	files->more = files->nr >= MOST_FILES / 2;
	if (files->more)
		return false;
	files->seen[at] = hash;
	files->nr++;
	return true;
}

/* A line is "START-END r-xp OFFSET DEVICE INODE PATH". */
static void look_at_mapping(struct mapped_files *files, char *line)
{
	char *path = strchr(line, '/'), executable;

	line[strcspn(line, "\n")] = '\0';
	if (!path || strstr(path, " (deleted)") || sscanf(line, "%*s %*2c%c", &executable) != 1 ||
	    executable != 'x' || !note_path(files, path))
		return;
	try_to_read(&files->readable, path);
}

static void look_at_process(void *files, const char *path)
{
	char *line = NULL;
	size_t capacity = 0;
	FILE *maps = fopen(path, "re");

	while (maps && getline(&line, &capacity, maps) > 0)
		look_at_mapping(files, line);
	free(line);
	if (maps)
		fclose(maps);
}

/* Paths in other mount namespaces may be those of other files here, or of none. */
static void check_files(struct perch_check *result)
{
	struct mapped_files *files = calloc(1, sizeof(*files));

	*result = (struct perch_check){ .id = "agent-files",
					.group = GROUP,
					.title = "files of programs" };
	if (files)
		visit_maps(look_at_process, files);
	if (files)
		snprintf(result->value, sizeof(result->value), "%u of %u can be read%s",
			 files->readable.nr - files->readable.denied, files->readable.nr,
			 files->more ? "; others were not tried" : "");
	if (files && files->readable.denied)
		set_limited(result, "grant CAP_DAC_READ_SEARCH to perch agent",
			    "functions of the others have no names");
	free(files);
}

/* A library that is loaded when it is needed. */
static void check_library(struct perch_check *result, const char *id, const char *title,
			  const char *library, const char *package, const char *cost)
{
	char change[128];

	*result = (struct perch_check){ .id = id, .group = GROUP, .title = title };
	snprintf(result->value, sizeof(result->value), "%s", library);
	if (!cli_has_build_option(id)) {
		set_limited(result, "use a perch that is built with it",
			    "this perch is built without %s: %s", library, cost);
		return;
	}
	if (perch__load_library(library, NULL, 0))
		return;
	snprintf(change, sizeof(change), "install %s", package);
	set_limited(result, change, "%s cannot be loaded: %s", library, cost);
}

size_t doctor_agent_results(const struct perch_checks *checks, struct perch_machine *machine,
			    struct perch_check results[DOCTOR_AGENT_RESULTS])
{
	size_t nr = 0;

	for (size_t i = 0; i < PERCH__NR(rights); i++)
		check_right(checks, i, &results[nr++]);
	check_running(&results[nr++], machine);
	check_files(&results[nr++]);
	check_library(&results[nr++], "agent-listen", "a server (--listen)", "libmicrohttpd.so.12",
		      "libmicrohttpd12", "profiles and metrics cannot be served");
	check_library(&results[nr++], "agent-push", "sending (--push)", "libcurl.so.4", "libcurl4",
		      "profiles cannot be sent");
	return nr;
}

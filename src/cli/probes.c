/* SPDX-License-Identifier: MIT */
/*
 * Defines probes in tracefs. The kernel cannot inherit an event whose attr points to a path: it
 * would read the path from the memory of the process that forks. A tracepoint has no path.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes.h"

#define SYSTEM "perch" /* the group of the definitions in tracefs */
/*
 * A definition is perch/p_NAMESPACE_PID_NUMBER. A process id is unique only in its namespace, and
 * the kernel adds a definition of an existing name to that one, which then counts both.
 */
#define NAME_FORMAT  "p_%lu_%d_%zu"
#define RETURN_PROBE 1u /* attr.config of the PMUs uprobe and kprobe */

/* For the function of atexit(3). */
static struct {
	pid_t owner;
	unsigned long pid_namespace;
	size_t nr;
	char tracefs[PATH_MAX - 128];
} defined;

static int write_definition(const char *tracefs, const char *file, const char *text)
{
	char path[PATH_MAX];
	int fd, error = 0;

	snprintf(path, sizeof(path), "%s/%s", tracefs, file);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		error = -errno;
	close(fd);
	return error;
}

/* One of the files knows the name; the other one refuses it. */
static void undefine(const char *tracefs, const char *name)
{
	char text[NAME_MAX + 16];

	snprintf(text, sizeof(text), "-:" SYSTEM "/%s\n", name);
	if (write_definition(tracefs, "uprobe_events", text))
		write_definition(tracefs, "kprobe_events", text);
}

static void set_name(char *name, size_t size, size_t number)
{
	snprintf(name, size, NAME_FORMAT, defined.pid_namespace, (int)defined.owner, number);
}

static void remove_defined(void)
{
	char name[64];

	if (getpid() != defined.owner)
		return;
	for (size_t i = 0; i < defined.nr; i++) {
		set_name(name, sizeof(name), i);
		undefine(defined.tracefs, name);
	}
}

/* Without /proc the command works in the first namespace, or alone */
static unsigned long own_pid_namespace(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) ? 0 : status.st_ino;
}

/*
 * Calls a function for the definitions of commands of this namespace that were killed, also of one
 * that had the id of this process.
 */
static void for_each_stale(const char *tracefs,
			   void (*call)(const char *tracefs, const char *name, void *context),
			   void *context)
{
	const unsigned long own = own_pid_namespace();
	const struct dirent *entry;
	char path[PATH_MAX];
	DIR *directory;

	snprintf(path, sizeof(path), "%s/events/" SYSTEM, tracefs);
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		unsigned long pid_namespace;
		int pid;

		if (sscanf(entry->d_name, "p_%lu_%d_", &pid_namespace, &pid) == 2 &&
		    pid_namespace == own && (pid == getpid() || (kill(pid, 0) && errno == ESRCH)))
			call(tracefs, entry->d_name, context);
	}
	if (directory)
		closedir(directory);
}

/* The kernel keeps a definition that is in use. */
static void remove_stale(const char *tracefs, const char *name, void *context)
{
	(void)context;
	undefine(tracefs, name);
}

static void count_stale(const char *tracefs, const char *name, void *context)
{
	struct cli_stale_probes *stale = context;

	(void)tracefs;
	stale->nr++;
	snprintf(stale->name, sizeof(stale->name), "%s", name);
}

void cli_find_stale_probes(const char *tracefs, struct cli_stale_probes *stale)
{
	*stale = (struct cli_stale_probes){ 0 };
	for_each_stale(tracefs, count_stale, stale);
}

/* Writes "p:perch/p_4026531836_7_0 /bin/true:0x1234(0x10)". path: of the file, or a function. */
static int write_probe(const struct perch_event *event, const char *path, bool is_user)
{
	const struct perch_attr *attr = &event->attr;
	unsigned long long offset = attr->config2, counter = attr->config >> 32;
	char text[PATH_MAX + 128], name[64];
	int length;

	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	set_name(name, sizeof(name), defined.nr);
	length = snprintf(text, sizeof(text), "%c:" SYSTEM "/%s %s%s%#llx",
			  attr->config & RETURN_PROBE ? 'r' : 'p', name, path, is_user ? ":" : "+",
			  offset);
	if (counter)
		length += snprintf(text + length, sizeof(text) - length, "(%#llx)", counter);
	snprintf(text + length, sizeof(text) - length, "\n");
	return write_definition(defined.tracefs, is_user ? "uprobe_events" : "kprobe_events", text);
}

/*
 * In the text a space ends the path, and a comment begins at '#'. The kernel looks the path up only
 * once, when the text is written: it may be that of an open file.
 */
static int define(const struct perch_event *event, bool is_user)
{
	char path[32];
	int fd, rc;

	if (!strpbrk(event->path, " \t\n\v\f\r#"))
		return write_probe(event, event->path, is_user);
	if (!is_user)
		return -EINVAL;
	fd = open(event->path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = write_probe(event, path, true);
	close(fd);
	return rc;
}

static int read_id(unsigned long *id)
{
	char path[PATH_MAX], name[64];
	FILE *file;
	int nr;

	set_name(name, sizeof(name), defined.nr);
	snprintf(path, sizeof(path), "%s/events/" SYSTEM "/%s/id", defined.tracefs, name);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	nr = fscanf(file, "%lu", id);
	fclose(file);
	return nr == 1 ? 0 : -EBADMSG;
}

/* The event becomes the tracepoint of its definition. */
static int replace(struct perch_event *event, bool is_user)
{
	unsigned long id;
	int rc = define(event, is_user);

	if (rc)
		return rc;
	rc = read_id(&id);
	defined.nr++;
	if (rc)
		return rc;
	event->attr.type = PERCH_TYPE_TRACEPOINT;
	event->attr.config = id;
	event->attr.config1 = event->attr.config2 = 0;
	free(event->path);
	event->path = NULL;
	return 0;
}

static int prepare_tracefs(struct perch_machine *machine)
{
	int rc;

	if (defined.owner)
		return 0;
	rc = perch_machine_tracefs(machine, defined.tracefs, sizeof(defined.tracefs), NULL);
	if (rc < 0)
		return rc;
	defined.pid_namespace = own_pid_namespace();
	defined.owner = getpid();
	for_each_stale(defined.tracefs, remove_stale, NULL);
	return atexit(remove_defined) ? -ENOMEM : 0;
}

static int refuse_probe(const char *command, const struct perch_event *event, int error)
{
	struct perch_error err;

	perch_error_set(
		&err, -error, PERCH_ERROR_NOT_SUPPORTED,
		"'%s' would miss new threads and children: they inherit a probe only if it is defined in tracefs, and that failed (%s)",
		event->name, strerror(-error));
	perch_error_remedy(
		&err,
		"measure only the first thread with -i, or every process with -a, or mount tracefs and make it writable");
	return cli_error(command, &err);
}

int cli_inherit_probes(const char *command, const struct cli_target *target,
		       struct perch_events *events, struct perch_machine *machine)
{
	if (cli_target_system_wide(target))
		return 0;
	for (size_t i = 0; i < events->nr; i++) {
		struct perch_event *event = &events->event[i];
		const struct perch_pmu *pmu;
		int rc;

		if (!event->path)
			continue;
		/* the open call of an ordinary user is refused, and the refusal is explained */
		if (!perch_machine_privileged(machine))
			return 0;
		pmu = perch_machine_pmu_of_type(machine, event->attr.type);
		rc = pmu ? prepare_tracefs(machine) : -ENOENT;
		if (!rc)
			rc = replace(event, !strcmp(pmu->name, "uprobe"));
		if (rc)
			return refuse_probe(command, event, rc);
		/* all events of a group have the same inherit, which the probe has cleared */
		for (size_t j = 0; j < events->nr; j++)
			if (events->event[j].leader == event->leader)
				events->event[j].terms.inherit = PERCH_TRISTATE_UNSET;
	}
	return 0;
}

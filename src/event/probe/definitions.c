/* SPDX-License-Identifier: MIT */
/* Definitions of probes in tracefs (perch/probes.h). */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <perch/probes.h>

#define SYSTEM "perch" /* the group of the definitions in tracefs */
/*
 * A definition is perch/p_NAMESPACE_PID_NUMBER. A process id is unique only in its namespace, and
 * the kernel adds a definition of an existing name to that one, which then counts both.
 */
#define NAME_FORMAT  "p_%lu_%d_%zu"
#define RETURN_PROBE 1u /* attr.config of the PMUs uprobe and kprobe */

/* What one call has defined. */
struct perch_probes {
	pid_t owner;
	unsigned long pid_namespace;
	size_t first, nr; /* numbers of the definitions */
	char tracefs[PATH_MAX - 128];
};

/* The names that this process has used. */
static struct {
	pid_t owner; /* another one after a fork */
	size_t nr;
} used;

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

static void set_name(const struct perch_probes *probes, char *name, size_t size, size_t number)
{
	snprintf(name, size, NAME_FORMAT, probes->pid_namespace, (int)probes->owner, number);
}

void perch_probes_free(struct perch_probes *probes)
{
	char name[64];

	for (size_t i = 0; probes && getpid() == probes->owner && i < probes->nr; i++) {
		set_name(probes, name, sizeof(name), probes->first + i);
		undefine(probes->tracefs, name);
	}
	free(probes);
}

/* Without /proc the process works in the first namespace, or alone. */
static unsigned long own_pid_namespace(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) ? 0 : status.st_ino;
}

/*
 * Calls a function for the definitions of processes of this namespace that were killed. own: also
 * of one that had the id of this process.
 */
static void for_each_stale(const char *tracefs, bool own,
			   void (*call)(const char *tracefs, const char *name, void *context),
			   void *context)
{
	const unsigned long here = own_pid_namespace();
	const struct dirent *entry;
	char path[PATH_MAX];
	DIR *directory;

	snprintf(path, sizeof(path), "%s/events/" SYSTEM, tracefs);
	directory = opendir(path);
	while (directory && (entry = readdir(directory))) {
		unsigned long pid_namespace;
		int pid;

		if (sscanf(entry->d_name, "p_%lu_%d_", &pid_namespace, &pid) == 2 &&
		    pid_namespace == here &&
		    (pid == getpid() ? own : kill(pid, 0) && errno == ESRCH))
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
	struct perch_stale_probes *stale = context;

	(void)tracefs;
	stale->nr++;
	snprintf(stale->name, sizeof(stale->name), "%s", name);
}

void perch_probes_find_stale(const char *tracefs, struct perch_stale_probes *stale)
{
	*stale = (struct perch_stale_probes){ 0 };
	for_each_stale(tracefs, used.owner != getpid(), count_stale, stale);
}

/* Writes "p:perch/p_4026531836_7_0 /bin/true:0x1234(0x10) n=%di:s32". path: of the file, or a
 * function. */
static int write_probe(const struct perch_probes *probes, const struct perch_event *event,
		       const char *path, bool is_user)
{
	const struct perch_attr *attr = &event->attr;
	unsigned long long offset = attr->config2, counter = attr->config >> 32;
	const char *arguments = event->arguments ? event->arguments : "";
	char text[2 * PATH_MAX + 128], name[64];
	int length;

	if (strlen(path) >= PATH_MAX || strlen(arguments) >= PATH_MAX)
		return -ENAMETOOLONG;
	set_name(probes, name, sizeof(name), probes->first + probes->nr);
	length = snprintf(text, sizeof(text), "%c:" SYSTEM "/%s %s%s%#llx",
			  attr->config & RETURN_PROBE ? 'r' : 'p', name, path, is_user ? ":" : "+",
			  offset);
	if (counter)
		length += snprintf(text + length, sizeof(text) - length, "(%#llx)", counter);
	snprintf(text + length, sizeof(text) - length, "%s%s\n", *arguments ? " " : "", arguments);
	return write_definition(probes->tracefs, is_user ? "uprobe_events" : "kprobe_events", text);
}

/*
 * In the text a space ends the path, and a comment begins at '#'. The kernel looks the path up only
 * once, when the text is written: it may be that of an open file.
 */
static int define(const struct perch_probes *probes, const struct perch_event *event, bool is_user)
{
	char path[32];
	int fd, rc;

	if (!strpbrk(event->path, " \t\n\v\f\r#"))
		return write_probe(probes, event, event->path, is_user);
	if (!is_user)
		return -EINVAL;
	fd = open(event->path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	rc = write_probe(probes, event, path, true);
	close(fd);
	return rc;
}

static int read_id(const struct perch_probes *probes, unsigned long *id)
{
	char path[PATH_MAX], name[64];
	FILE *file;
	int nr;

	set_name(probes, name, sizeof(name), probes->first + probes->nr);
	snprintf(path, sizeof(path), "%s/events/" SYSTEM "/%s/id", probes->tracefs, name);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	nr = fscanf(file, "%lu", id);
	fclose(file);
	return nr == 1 ? 0 : -EBADMSG;
}

/* The event becomes the tracepoint of its definition. */
static int replace_probe(struct perch_probes *probes, struct perch_event *event, bool is_user)
{
	unsigned long id;
	int rc = define(probes, event, is_user);

	if (rc)
		return rc;
	rc = read_id(probes, &id);
	probes->nr++;
	used.nr++;
	if (rc)
		return rc;
	event->attr.type = PERCH_TYPE_TRACEPOINT;
	event->attr.config = id;
	event->attr.config1 = event->attr.config2 = 0;
	free(event->path);
	free(event->arguments);
	event->path = event->arguments = NULL;
	return 0;
}

/* Returns 0 or a negative errno, for which no reason is stored. */
static int find_tracefs(struct perch_probes **probes, struct perch_machine *machine)
{
	struct perch_probes *new = *probes;
	bool first = used.owner != getpid();
	int rc;

	if (new)
		return 0;
	*probes = new = calloc(1, sizeof(*new));
	if (!new)
		return -ENOMEM;
	if (first)
		used.nr = 0;
	used.owner = new->owner = getpid();
	new->first = used.nr;
	new->pid_namespace = own_pid_namespace();
	rc = perch_machine_tracefs(machine, new->tracefs, sizeof(new->tracefs), NULL);
	if (!rc)
		for_each_stale(new->tracefs, first, remove_stale, NULL);
	return rc;
}

static int define_event(struct perch_probes **probes, struct perch_events *events, size_t index,
			struct perch_machine *machine)
{
	struct perch_event *event = &events->event[index];
	const struct perch_pmu *pmu = perch_machine_pmu_of_type(machine, event->attr.type);
	int rc = pmu ? find_tracefs(probes, machine) : -ENOENT;

	if (!rc)
		rc = replace_probe(*probes, event, !strcmp(pmu->name, "uprobe"));
	/* all events of a group have the same inherit, which the probe has cleared */
	for (size_t i = 0; !rc && i < events->nr; i++)
		if (events->event[i].leader == event->leader)
			events->event[i].terms.inherit = PERCH_TRISTATE_UNSET;
	return rc;
}

static void report_failure(const struct perch_event *event, int rc, struct perch_error *err)
{
	if (event->arguments && rc == -EINVAL) {
		perch_error_set(err, EINVAL, PERCH_ERROR_NOT_SUPPORTED,
				"'%s': the kernel refuses the arguments '%s'", event->name,
				event->arguments);
		perch_error_remedy(err, "the last lines of error_log in tracefs say why");
		return;
	}
	perch_error_set(
		err, -rc, PERCH_ERROR_NOT_SUPPORTED,
		event->arguments
			? "'%s': its arguments are read only if it is defined in tracefs, and that failed (%s)"
			: "'%s' would miss new threads and children: they inherit a probe only if it is defined in tracefs, and that failed (%s)",
		event->name, strerror(-rc));
	perch_error_remedy(err, "mount tracefs and make it writable");
}

static int define_all(struct perch_probes **probes, struct perch_events *events,
		      struct perch_machine *machine, struct perch_error *err)
{
	for (size_t i = 0; i < events->nr; i++) {
		int rc = events->event[i].path ? define_event(probes, events, i, machine) : 0;

		if (rc) {
			report_failure(&events->event[i], rc, err);
			return rc;
		}
	}
	return 0;
}

int perch_probes_define(struct perch_probes **probes, struct perch_events *events,
			struct perch_machine *machine, struct perch_error *err)
{
	struct perch_machine *own = NULL;
	int rc = 0;

	*probes = NULL;
	if (!machine)
		rc = perch_machine_new(&own, NULL, NULL, err);
	if (!rc)
		rc = define_all(probes, events, machine ? machine : own, err);
	perch_machine_free(own);
	if (rc) {
		perch_probes_free(*probes);
		*probes = NULL;
	}
	return rc;
}

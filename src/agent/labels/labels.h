/* SPDX-License-Identifier: MIT */
/*
 * Labels of a process without a container runtime: its cgroup path has the ids of its container and
 * its pod, and the name of its systemd unit. Rules of the user add labels or replace them. Paths
 * are from outside: values are cleaned, and cut never; what is too long is left out.
 */
#ifndef PERCH_AGENT_LABELS_H
#define PERCH_AGENT_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <perch/error.h>

enum {
	AGENT_LABELS_MAX = 16,
	AGENT_LABELS_BYTES = 2048, /* keys and values, each with a NUL */
	AGENT_LABEL_MAX = 255,	   /* bytes of a value */
	AGENT_RULES_MAX = 64,
};

/* Names of OpenTelemetry's conventions; it has none for units. */
#define AGENT_CONTAINER_ID	"container.id"
#define AGENT_CONTAINER_NAME	"container.name"
#define AGENT_CONTAINER_RUNTIME "container.runtime"
#define AGENT_POD_UID		"k8s.pod.uid"
#define AGENT_UNIT		"systemd.unit"
#define AGENT_SERVICE_NAME	"service.name"

/* A value that may be copied. Equal labels of two paths are equal in text and nr. */
struct agent_labels {
	struct {
		uint16_t key, value; /* offsets in text */
	} label[AGENT_LABELS_MAX];
	size_t nr, used;
	bool incomplete; /* a label was left out */
	char text[AGENT_LABELS_BYTES];
};

static inline const char *agent_label_key(const struct agent_labels *labels, size_t index)
{
	return labels->text + labels->label[index].key;
}

static inline const char *agent_label_value(const struct agent_labels *labels, size_t index)
{
	return labels->text + labels->label[index].value;
}

/* Returns the value of a label; NULL: there is none. */
const char *agent_label(const struct agent_labels *labels, const char *key);

/* ---- label_rules.c: --label ---- */

struct agent_label_rules; /* NULL stands for none */

/*
 * Adds a rule, and makes *rules if it is NULL:
 *
 *	KEY=VALUE		a label of all processes
 *	REGEX => KEY=VALUE	a label if the extended regular expression matches the cgroup path;
 *				\0 is the match, \1 to \9 are its groups; an empty value removes the
 *label
 *
 * A later rule replaces the label of an earlier one. Returns 0, -EINVAL or -ENOMEM.
 */
int agent_label_rules_add(struct agent_label_rules **rules, const char *text,
			  struct perch_error *err);
void agent_label_rules_free(struct agent_label_rules *rules);
/* Sets the labels of the rules that match the path. */
void agent_label_rules_apply(const struct agent_label_rules *rules, const char *path,
			     struct agent_labels *labels);
/* Sets the labels of a cgroup path, and those of the rules for it. */
void agent_labels_find(const struct agent_label_rules *rules, const char *path,
		       struct agent_labels *labels);

/* ---- labels.c ---- */

/* Sets a label, or removes it if the value is empty. */
void agent_labels_set(struct agent_labels *labels, const char *key, const char *value);
/* Sets the labels that a cgroup path has. */
void agent_labels_add_path(struct agent_labels *labels, const char *path);

/* ---- labels_process.c ---- */

/*
 * Chooses the path of a process from the text of /proc/PID/cgroup: that of a hierarchy in which it
 * has a container, else in which it has a unit, else of cgroup2. path has PATH_MAX bytes. Returns
 * false if there is none.
 */
bool agent_cgroup_path(char *text, char *path);
/*
 * Finds the value of a variable in the bytes of /proc/PID/environ. value has AGENT_LABEL_MAX + 1
 * bytes. Returns false if it is absent, empty, too long or no clean text.
 */
bool agent_environment_value(const char *bytes, size_t size, const char *name, char *value);
/*
 * Finds OTEL_SERVICE_NAME in the environments of the processes of a cgroup. mount: where cgroups
 * are. value has AGENT_LABEL_MAX + 1 bytes. Returns false if no process that can be read has it, or
 * if two have different ones; only the first 64 processes are read, and none of the root.
 */
bool agent_cgroup_service(const char *mount, const char *path, char *value);
/* Reads that path of a running process. Returns false if there is none, or if the process ends:
 * the kernel shows it in the root then. */
bool agent_process_cgroup(pid_t pid, char *path);

/* ---- process_cgroups.c ---- */

/* Paths of processes, each read once in ten seconds. */
struct agent_process_cgroups;

/* True if hierarchies of version 1 are mounted, by a file as /proc/self/mounts: a process has other
 * cgroups there than the one that events know. */
bool agent_has_cgroups_v1(const char *mounts);
struct agent_process_cgroups *agent_process_cgroups_new(void);
void agent_process_cgroups_free(struct agent_process_cgroups *cgroups);
/* A process has begun: if it ends before its cgroup is read, that of its parent counts. */
void agent_process_cgroups_forked(struct agent_process_cgroups *cgroups, pid_t pid, pid_t parent);
/* A process runs another program: one who starts a container moves it before. */
void agent_process_cgroups_executed(struct agent_process_cgroups *cgroups, pid_t pid);
/* now: ns. Returns the path, until the next call; NULL: unknown, or the process has ended. */
const char *agent_process_cgroups_find(struct agent_process_cgroups *cgroups, pid_t pid,
				       uint64_t now);

/* ---- service_reader.c ---- */

/*
 * Who maps a file of a server of his own over his environment decides when a read of it ends. So a
 * child reads, and has a second for a cgroup. One that needs more is killed, and after three of
 * them no environment is read any more.
 */
struct agent_service_reader {
	const char *mount;
	pid_t pid; /* of the child; 0: none */
	int fd;
	unsigned hung;
};

/* As agent_cgroup_service(). */
bool agent_service_reader_find(struct agent_service_reader *reader, const char *path, char *value);
void agent_service_reader_end(struct agent_service_reader *reader);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PERCH_MACHINE_INTERNAL_H
#define PERCH_MACHINE_INTERNAL_H

#include <errno.h>
#include <limits.h>
#include <perch/machine.h>

/* A fact that is read when first asked for. */
struct kept {
	bool known;
	int error; /* 0 or a negative errno */
	uint64_t value;
};

/* What /proc tells of a thread in its status. */
struct status {
	char state;		       /* '?': not told, and so on below */
	int64_t uid;		       /* effective; -1 */
	uint64_t effective, permitted; /* capabilities */
	bool has_capabilities;
	int seccomp, no_new_privileges; /* -1 */
	int filters;			/* of seccomp; -1, as before Linux 5.9 */
	/* numbers of the process, one for each pid namespace seen from here; 0 */
	int pid_levels;
	char name[16];
};

/* A NUMA node and the CPUs that belong to it. */
struct node {
	int number;
	struct perch_cpus cpus;
};

/* Who was asked about last (target.c). */
struct target {
	bool known;
	pid_t pid;
	int error;	   /* 0 or a negative errno */
	uint64_t until_ms; /* of CLOCK_MONOTONIC */
	struct perch_process_state state;
};

struct perch_machine {
	char root[PATH_MAX]; /* without a slash at its end; "" for this machine */
	const struct perch_syscalls *calls;
	struct kept sysctl[PERCH_SYSCTL_MAX];
	pid_t process; /* whose facts are asked for; 0: the caller's */
	bool probing;
	unsigned own_filters; /* seccomp filters of the process that refuse nothing */
	struct kept attr_size;
	struct kept is_virtual; /* value: as perch_machine_virtual() tells, plus 1 */
	int status_error;
	struct status status;
	struct perch_sandbox sandbox;
	bool status_known, confinement_known, release_known, cpus_known, pmus_known, nodes_known;
	struct perch_release release;
	struct perch_cpus cpus;
	struct perch_pmu *pmu;
	size_t nr_pmus;
	struct text *texts; /* texts.c */
	struct target target;
	struct node *node;
	size_t nr_nodes;
	const char *tracefs; /* where it was found; NULL */
	char *cgroups;	     /* the same */
	struct kept cpus_present;
};

/* Whether an error says something lasting of the machine, not that no descriptor or memory was
 * left. */
static inline bool perch__lasts(int error)
{
	return error != -EMFILE && error != -ENFILE && error != -ENOMEM && error != -EINTR;
}

/* Parses a status file, reading at most 1 MiB: the line of groups may be long. 0 or -errno. */
int perch__read_status(const struct perch_machine *machine, const char *path,
		       struct status *status);
/* The status of "this process", kept. */
int perch__process_status(struct perch_machine *machine, const struct status **status);
/* "/proc/self" + name, or "/proc/PID" + name. */
void perch__process_path(const struct perch_machine *machine, char *path, size_t size,
			 const char *name);
/* The marks of a container, below the process's own root folder; "" in name when there are none. */
void perch__find_container(const struct perch_machine *machine, char *name, size_t size);
/* Reads a number and nothing else from a small file. 0, -EBADMSG or another -errno. */
int perch__read_number(const struct perch_machine *machine, const char *path, long *value);

/* Reads a list of CPUs from a file of the machine; the caller frees it. */
int perch__read_cpus(struct perch_machine *machine, const char *path, struct perch_cpus *cpus,
		     struct perch_error *err);
void perch__forget_nodes(struct perch_machine *machine);
void perch__forget_texts(struct perch_machine *machine);

#endif

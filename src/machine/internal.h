/* SPDX-License-Identifier: MIT */
/*
 * Facts about the machine and the user. Each is read when it is first needed, and cached. The root
 * directory and the system calls can be replaced, so a test can describe any machine. A file calls
 * only files below its own:
 *
 *	breakpoints.c		whether hardware breakpoints fire
 *	sample_cost.c		what one sample of a timer costs
 *	hardware.c		hypervisor, capabilities of PMUs, size of the attr
 *	sandbox.c		restrictions of a process: seccomp, namespaces, lockdown, LSMs
 *	  container.c		  the container runtime
 *	machine.c		the machine: sysctls, release, privileges
 *	  cpu_topology.c	  cores, dies, sockets and NUMA nodes
 *	  cpus.c		  lists of CPUs and PMUs
 *	tracepoints.c		names of tracepoints by their ids
 *	  tracefs.c		  the mount point and its permissions
 *	cgroups.c		mounted cgroup hierarchies
 *	address_space.c		limits and mappings of a process
 *	descriptor.c		the path of a descriptor
 *	process_cache.c		the state of a target, cached for a short time
 *	  process.c		  capabilities, limits, descriptors, state of a process
 *	    status.c		    status files of /proc
 *	read_cached.c		files that do not change, cached
 *	system.c		facts of the whole system: distribution, open files
 *	file.c			small files below the root directory
 *	process_memory.c	memory and paths of a process, for system calls with pointers
 *	syscalls.c		the real system calls
 */
#ifndef PERCH_MACHINE_INTERNAL_H
#define PERCH_MACHINE_INTERNAL_H

#include <errno.h>
#include <limits.h>
#include <perch/machine.h>

/* A fact that is read when it is first needed. */
struct cached {
	bool valid;
	int error; /* 0 or a negative errno */
	uint64_t value;
};

/* The fields of /proc/PID/status. */
struct status {
	char state;		       /* '?' if missing */
	int64_t uid;		       /* effective; -1 if missing */
	uint64_t effective, permitted; /* capabilities */
	bool has_capabilities;
	int seccomp, no_new_privileges; /* -1 if missing */
	int filters;			/* seccomp filters; -1 if missing (before Linux 5.9) */
	/* pids of the process: one per pid namespace below that of /proc; 0 if missing */
	int pid_namespaces;
	char name[16];
};

/* A NUMA node and its CPUs. */
struct node {
	int number;
	struct perch_cpus cpus;
};

/* The last state that perch_machine_process_cached() read. */
struct process_cache {
	bool valid;
	pid_t pid;
	int error;	   /* 0 or a negative errno */
	uint64_t until_ms; /* of CLOCK_MONOTONIC */
	struct perch_process_state state;
};

/* The cgroup hierarchy of a path; "" if the path is not in a cgroup. */
enum { NR_HIERARCHIES = 4 };
struct hierarchy {
	char *path; /* NULL: none is cached */
	char name[80];
	uint64_t until_ms; /* of perch__coarse_ms() */
};

struct perch_machine {
	char root[PATH_MAX]; /* without a slash at its end; "" for this machine */
	const struct perch_syscalls *calls;
	struct cached sysctl[PERCH_SYSCTL_MAX];
	pid_t process; /* the process whose facts are read; 0 is the caller */
	bool probing;
	char *(*demangle)(const char *name);
	perch_probe_finder *find_probe;
	struct cached attr_size;
	struct cached breakpoints_fire; /* value: 1 if they fire; not valid while unknown */
	/* of samples with these fields, and a stack of so many bytes; ns is 0 while unknown */
	struct {
		uint64_t fields, ns;
		uint32_t stack;
	} sample_cost;
	struct cached is_virtual; /* value: the result of perch_machine_virtual() + 1 */
	int status_error;
	struct status status;
	struct perch_sandbox sandbox;
	unsigned sandbox_parts; /* enum perch__sandbox_part: what is valid */
	bool status_valid, sandbox_valid, release_valid, cpus_valid, pmus_valid, nodes_valid;
	struct perch_release release;
	struct perch_cpus cpus;
	struct perch_pmu *pmu;
	size_t nr_pmus;
	struct text *texts; /* files of perch_machine_read_cached() */
	struct process_cache process_cache;
	struct node *node;
	size_t nr_nodes;
	const char *tracefs; /* its mount point, or NULL */
	int tracefs_error;   /* negative errno until .. ms of perch__coarse_ms() */
	uint64_t tracefs_error_until_ms;
	struct tracepoints *tracepoints; /* of perch_machine_tracepoint() */
	char *cgroups;			 /* the same for cgroups */
	struct hierarchy hierarchy[NR_HIERARCHIES];
	unsigned next_hierarchy; /* the one to replace, modulo their number */
	struct cached cpus_present;
};

/* False for temporary errors: no descriptor or memory left, a signal. Those are not cached. */
static inline bool perch__is_permanent(int error)
{
	return error != -EMFILE && error != -ENFILE && error != -ENOMEM && error != -EINTR;
}

/*
 * Facts that may change at any time are cached for this time, because open calls often fail in
 * bursts: one per event and CPU of one thread.
 */
#define PERCH__LIFETIME_MS 10

/* Milliseconds of CLOCK_MONOTONIC, without a system call. */
uint64_t perch__coarse_ms(void);
/* Parses a status file. It reads at most 1 MiB, as the list of groups may be long. */
int perch__read_status(const struct perch_machine *machine, const char *path,
		       struct status *status);
/* Returns the cached status of the process of the machine. */
int perch__process_status(struct perch_machine *machine, const struct status **status);
/* The same; for machine NULL it reads the calling thread's status into fresh. */
int perch__status_of(struct perch_machine *machine, struct status *fresh,
		     const struct status **status);
/* Finds a line of /proc/PID/limits. UINT64_MAX is unlimited; hard may be NULL. */
bool perch__limit_line(const char *text, const char *name, uint64_t *soft, uint64_t *hard);
/* Makes "/proc/self" + name or "/proc/PID" + name. */
void perch__process_path(const struct perch_machine *machine, char *path, size_t size,
			 const char *name);
/* Finds the container runtime of the process; name is "" if there is none. */
void perch__find_container(const struct perch_machine *machine, char *name, size_t size);
/* Like perch_machine_read(), but opens the file from a directory. */
ssize_t perch__read_at(int directory, const char *path, char *buffer, size_t size);
/* Reads a number from a small file. Returns 0, -EBADMSG or another negative errno. */
int perch__read_number(const struct perch_machine *machine, const char *path, long *value);

/* Reads a list of CPUs from a file. The caller frees it. */
int perch__read_cpus(struct perch_machine *machine, const char *path, struct perch_cpus *cpus,
		     struct perch_error *err);
void perch__clear_nodes(struct perch_machine *machine);
void perch__clear_texts(struct perch_machine *machine);
void perch__clear_tracepoints(struct perch_machine *machine);

#endif

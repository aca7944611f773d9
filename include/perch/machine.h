/* SPDX-License-Identifier: MIT */
/*
 * Facts about this machine and this user, and the one table of calls through which perch touches
 * the kernel. Both are injectable: a test describes a machine that is not here by a folder tree and
 * a table of its own.
 */
#ifndef PERCH_MACHINE_H
#define PERCH_MACHINE_H

#include <stdbool.h>
#include <sys/types.h>
#include <perch/abi.h>
#include <perch/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Each member behaves as the system call does (-1 and errno on failure) and gets the table's own
 * context first. */
struct perch_syscalls {
	void *context;
	int (*perf_event_open)(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
			       int group_fd, unsigned long flags);
	/* ioctl(2) */
	int (*ioctl)(void *context, int fd, unsigned long request, unsigned long argument);
	ssize_t (*read)(void *context, int fd, void *buffer, size_t size);
	/* mmap(2) */
	void *(*mmap)(void *context, size_t size, int protection, int flags, int fd, off_t offset);
	int (*munmap)(void *context, void *address, size_t size);
	int (*close)(void *context, int fd);
	/* prctl(2): PR_TASK_PERF_EVENTS_ENABLE, _DISABLE; NULL: the kernel's */
	int (*prctl_tasks)(void *context, bool enable);
};

/* The real system calls. */
PERCH_API extern const struct perch_syscalls perch_kernel_syscalls;

/* Opaque: facts are read when first asked for and kept. Not for use by two threads at once. */
struct perch_machine;

/*
 * Describes the machine whose /proc and /sys are found below root ("" or NULL: this one). calls
 * NULL: the kernel's. Reads nothing yet.
 */
PERCH_API int perch_machine_new(struct perch_machine **machine, const char *root,
				const struct perch_syscalls *calls, struct perch_error *err);
PERCH_API void perch_machine_free(struct perch_machine *machine);

/* The calls to use with it; machine NULL: the kernel's. */
PERCH_API const struct perch_syscalls *perch_machine_syscalls(const struct perch_machine *machine);

/*
 * From now on "this process" is another one, whose capabilities, limits and confinement are looked
 * up in /proc/PID; 0: the caller again. What was kept of the one before is forgotten.
 */
PERCH_API void perch_machine_set_process(struct perch_machine *machine, pid_t pid);

/* How many seccomp filters of that process are the caller's own and refuse nothing: it is not
 * confined by them. */
PERCH_API void perch_machine_set_own_filters(struct perch_machine *machine, unsigned filters);

/* Whether refusals may be looked into by further calls (perch/explain.h); off at first. */
PERCH_API void perch_machine_set_probing(struct perch_machine *machine, bool allowed);
PERCH_API bool perch_machine_probing(const struct perch_machine *machine);

/* A file below the machine's root, as an absolute path in buffer. Returns the length, or
 * -ENAMETOOLONG. */
PERCH_API int perch_machine_path(const struct perch_machine *machine, char *buffer, size_t size,
				 const char *path);

struct perch_release {
	int major, minor, patch;
	char text[128]; /* as uname -r says */
};
PERCH_API int perch_machine_release(struct perch_machine *machine, struct perch_release *release,
				    struct perch_error *err);

/* The sysctls that bear on perf events, all below kernel. */
enum perch_sysctl {
	/* perf_event_paranoid: -1..2, 3 and 4 with distribution patches */
	PERCH_SYSCTL_PARANOID,
	PERCH_SYSCTL_MAX_SAMPLE_RATE, /* perf_event_max_sample_rate: samples a second */
	/* perf_event_mlock_kb: KiB of ring a user may lock, per CPU */
	PERCH_SYSCTL_MLOCK_KB,
	PERCH_SYSCTL_MAX_STACK,	       /* perf_event_max_stack: frames */
	PERCH_SYSCTL_MAX_CONTEXTS,     /* perf_event_max_contexts_per_stack */
	PERCH_SYSCTL_CPU_TIME_PERCENT, /* perf_cpu_time_max_percent */
	PERCH_SYSCTL_KPTR_RESTRICT,    /* kptr_restrict: 0, 1, 2 */
	PERCH_SYSCTL_NMI_WATCHDOG,     /* nmi_watchdog: takes one hardware counter when 1 */
	PERCH_SYSCTL_MAX
};
/* -ENOENT when the kernel has no such sysctl. */
PERCH_API int perch_machine_sysctl(struct perch_machine *machine, enum perch_sysctl which,
				   long *value, struct perch_error *err);
/* "kernel.perf_event_paranoid" */
PERCH_API const char *perch_sysctl_name(enum perch_sysctl which);

/* Effective capabilities of this process: bit n is CAP number n of capabilities(7). */
#define PERCH_CAP_IPC_LOCK   14
#define PERCH_CAP_KILL	     5
#define PERCH_CAP_SYS_PTRACE 19
#define PERCH_CAP_SYS_ADMIN  21
#define PERCH_CAP_SYSLOG     34
#define PERCH_CAP_PERFMON    38 /* since 5.8 */
PERCH_API int perch_machine_capabilities(struct perch_machine *machine, uint64_t *effective,
					 struct perch_error *err);
/* CAP_PERFMON or CAP_SYS_ADMIN in the initial user namespace: perf_event_paranoid does not apply.
 */
PERCH_API bool perch_machine_privileged(struct perch_machine *machine);

struct perch_limits {
	uint64_t descriptors; /* RLIMIT_NOFILE, soft */
	uint64_t descriptors_hard;
	uint64_t locked_bytes; /* RLIMIT_MEMLOCK, soft; UINT64_MAX: unlimited */
	size_t page_bytes;
};
PERCH_API int perch_machine_limits(struct perch_machine *machine, struct perch_limits *limits,
				   struct perch_error *err);

/*
 * Descriptors open in this process (/proc/self/fd) whose numbers are below its limit: those above
 * it, from before the limit was lowered, take no place. As many as it may have when not even that
 * folder can be opened.
 */
PERCH_API int perch_machine_open_descriptors(struct perch_machine *machine, size_t *nr,
					     struct perch_error *err);

/* The system's open files and their limit (/proc/sys/fs/file-nr). */
PERCH_API int perch_machine_open_files(struct perch_machine *machine, uint64_t *nr, uint64_t *limit,
				       struct perch_error *err);

enum perch_lockdown {			      /* /sys/kernel/security/lockdown; since 5.4 */
		      PERCH_LOCKDOWN_UNKNOWN, /* no lockdown module, or securityfs cannot be read */
		      PERCH_LOCKDOWN_NONE,
		      PERCH_LOCKDOWN_INTEGRITY,	      /* does not concern perf events */
		      PERCH_LOCKDOWN_CONFIDENTIALITY, /* forbids REGS_INTR and kprobes */
};

/* What stands between this process and the kernel beside sysctls and capabilities. -1: unknown. */
struct perch_sandbox {
	/* Seccomp of /proc/self/status: 0 none, 1 strict, 2 filter */
	int seccomp;
	int no_new_privileges; /* NoNewPrivs: 0, 1 */
	/* 1: not the initial one, where capabilities do not count for perf; 0: the initial one */
	int user_namespace;
	/* 1: not the initial one, so that pids are others than on the host; 0 */
	int pid_namespace;
	/* "docker", "podman", "lxc", "kubernetes", "systemd-nspawn"...; "" when none is seen */
	char container[32];
	enum perch_lockdown lockdown;
	/* /sys/kernel/security/lsm: "lockdown,capability,selinux"; "" unknown */
	char modules[256];
	int selinux; /* 1 enforcing, 0 permissive; -1 not there */
	int yama;    /* kernel.yama.ptrace_scope: 0..3; -1 not there */
};
PERCH_API int perch_machine_sandbox(struct perch_machine *machine, struct perch_sandbox *sandbox,
				    struct perch_error *err);

/* What /proc tells of a process or thread as a target. -ESRCH when there is none. Not kept: it may
 * change. */
struct perch_process_state {
	char state;	    /* R S D T Z X I of proc(5) */
	uint32_t uid;	    /* effective */
	uint64_t permitted; /* capabilities */
	char name[16];	    /* comm, as it is: not cleaned */
};
PERCH_API int perch_machine_process(struct perch_machine *machine, pid_t pid,
				    struct perch_process_state *state, struct perch_error *err);

/* The same, at most 10 ms old: for what is asked again and again. -ESRCH or another negative errno.
 */
PERCH_API int perch_machine_process_cached(struct perch_machine *machine, pid_t pid,
					   struct perch_process_state *state);

/*
 * The text (with its final NUL) that this process has at an address; -EFAULT, -ENAMETOOLONG,
 * -EPERM; -ENOSYS for a described machine, which has no memory.
 */
PERCH_API int perch_machine_process_string(struct perch_machine *machine, uint64_t address,
					   char *buffer, size_t size, struct perch_error *err);
/* A path of this process as the caller can open it. Returns the length, or -ENAMETOOLONG. */
PERCH_API int perch_machine_process_path(struct perch_machine *machine, const char *path,
					 char *buffer, size_t size);

/* "debian 12", "ubuntu 24.04" from /etc/os-release: ID and VERSION_ID. -ENOENT. */
PERCH_API int perch_machine_distribution(struct perch_machine *machine, char *buffer, size_t size,
					 struct perch_error *err);

/* Whether a hypervisor is below: 1, 0, -1 unknown (the CPU's flag, /sys/hypervisor, DMI). */
PERCH_API int perch_machine_virtual(struct perch_machine *machine);

/*
 * The size of struct perf_event_attr that the kernel knows, asked for by a call that must fail
 * (E2BIG). -ENOSYS, -EPERM and the like when that call is not answered by perf. Kept.
 */
PERCH_API int perch_machine_attr_size(struct perch_machine *machine, uint32_t *size,
				      struct perch_error *err);

/* CPU numbers in ascending order. */
struct perch_cpus {
	size_t nr;
	int *cpu;
};
/* The online CPUs; the machine keeps the array. */
PERCH_API int perch_machine_cpus(struct perch_machine *machine, const struct perch_cpus **cpus,
				 struct perch_error *err);
PERCH_API int perch_machine_cpus_present(struct perch_machine *machine, size_t *nr,
					 struct perch_error *err);
/* Parses "0-2,5". The caller frees with perch_cpus_clear(). At most 65536 CPUs. */
PERCH_API int perch_cpus_parse(struct perch_cpus *cpus, const char *text, struct perch_error *err);
PERCH_API void perch_cpus_clear(struct perch_cpus *cpus);

/* A PMU of /sys/bus/event_source/devices. */
struct perch_pmu {
	char name[64];
	uint32_t type;		/* attr.type */
	struct perch_cpus cpus; /* its cpumask or cpus file; nr 0: every CPU */
	/* counts what CPUs execute: "cpu", or one that has a cpus file (arm, hybrid x86) */
	bool core;
};
/* All PMUs, sorted by name; the machine keeps the array. */
PERCH_API int perch_machine_pmus(struct perch_machine *machine, const struct perch_pmu **pmus,
				 size_t *nr, struct perch_error *err);
PERCH_API const struct perch_pmu *perch_machine_pmu(struct perch_machine *machine,
						    const char *name);

/* The PMU of that type number; NULL when there is none. */
PERCH_API const struct perch_pmu *perch_machine_pmu_of_type(struct perch_machine *machine,
							    uint32_t type);

/* A number in the PMU's caps folder in sysfs, as "max_precise" or "branches". -ENOENT when it has
 * none. */
PERCH_API int perch_machine_pmu_cap(struct perch_machine *machine, const struct perch_pmu *pmu,
				    const char *name, long *value, struct perch_error *err);

/* Where a CPU sits. Numbers are the kernel's own; -1 where /sys does not say (perf shows it as 0).
 */
struct perch_cpu_topology {
	int cpu;
	int core;   /* topology/core_id: unique within a die */
	int die;    /* topology/die_id */
	int socket; /* topology/physical_package_id */
	int node;   /* the NUMA node whose folder lists the CPU */
};
PERCH_API int perch_machine_cpu_topology(struct perch_machine *machine, int cpu,
					 struct perch_cpu_topology *place, struct perch_error *err);

/*
 * Where the cgroups that events can be bound to are mounted: the v1 hierarchy with the perf_event
 * controller, else cgroup2's; with the root. -ENOENT.
 */
PERCH_API int perch_machine_cgroups(struct perch_machine *machine, char *buffer, size_t size,
				    struct perch_error *err);

/* Where tracefs is mounted ("/sys/kernel/tracing" or the debugfs one), with the root; -ENOENT,
 * -EACCES. */
PERCH_API int perch_machine_tracefs(struct perch_machine *machine, char *buffer, size_t size,
				    struct perch_error *err);
/*
 * Fills err for a tracefs, or files of it, that this user may not read: where it is, whose, and the
 * command that opens it to the caller's group. Returns -EACCES.
 */
PERCH_API int perch_machine_tracefs_error(const struct perch_machine *machine,
					  struct perch_error *err);

/* Reads a small text file of the machine (at most size - 1 bytes, NUL-terminated, trailing newline
 * cut). */
PERCH_API ssize_t perch_machine_read(const struct perch_machine *machine, const char *path,
				     char *buffer, size_t size);

/*
 * The text of a file that stays as it is, read once and kept with the machine; of a folder the
 * names in it, a line each. At most 8191 bytes. Returns the length or a negative errno; *content is
 * "" then, and a string in any case.
 */
PERCH_API ssize_t perch_machine_read_cached(struct perch_machine *machine, const char *path,
					    const char **content);

#ifdef __cplusplus
}
#endif
#endif

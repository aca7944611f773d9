/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Facts about this machine and this user, and the table of system calls.
 *
 * perch reaches the kernel through struct perch_syscalls only, and finds /proc and /sys below one
 * root directory. Both can be replaced, so a test can describe another machine.
 *
 * A machine reads each fact when it is first needed and caches it. Functions that take a machine
 * accept NULL where their parameter says so.
 *
 * Errors: a function that can fail fills err, with the file or limit that it could not read. Those
 * without err cannot fail, or say what their one failure is. A fact that cannot be read is unknown,
 * and makes no other function fail.
 *
 * Threads: one thread per machine at a time. Objects that were opened with a machine use it too.
 *
 * Fork: a child has a copy of the machine, and can use and free it. Facts about the process that
 * were read before the fork are those of the parent, until perch_machine_set_process() selects the
 * child.
 *
 * Signals: most functions read files and are not async-signal-safe. A function is so only
 * if its description says it; the signal handler must not interrupt a call that uses the same
 * machine.
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

/**
 * The system calls that perch makes. Each member behaves as the system call of its name: it returns
 * -1 and sets errno on failure. Its first argument is the context.
 */
struct perch_syscalls {
	void *context; /**< the first argument of each member */
	/** perf_event_open(2) */
	int (*perf_event_open)(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
			       int group_fd, unsigned long flags);
	/** ioctl(2) */
	int (*ioctl)(void *context, int fd, unsigned long request, unsigned long argument);
	/** read(2) */
	ssize_t (*read)(void *context, int fd, void *buffer, size_t size);
	/** mmap(2), with address NULL, and with an offset that never has the 32 bits of some off_t
	 */
	void *(*mmap)(void *context, size_t size, int protection, int flags, int fd,
		      int64_t offset);
	/** munmap(2) */
	int (*munmap)(void *context, void *address, size_t size);
	/** close(2) */
	int (*close)(void *context, int fd);
	/** prctl(2) with PR_TASK_PERF_EVENTS_ENABLE or _DISABLE; NULL is the real one */
	int (*prctl_tasks)(void *context, bool enable);
	/** bpf(2), to read the programs that are loaded; NULL is the real one */
	int (*bpf)(void *context, int command, void *attr, size_t size);
	void (*reserved[7])(void); /**< must be NULL */
};

/** The real system calls. Each function makes one, and is async-signal-safe. */
PERCH_API extern const struct perch_syscalls perch_kernel_syscalls;

/** A machine. */
struct perch_machine;

/**
 * Describes a machine. It reads nothing yet.
 *
 * @param[out] machine  the new machine
 * @param root          the directory that has proc and sys; "" or NULL is this machine
 * @param calls         the system calls, which must outlive the machine; NULL is the real ones
 * @param[out] err      NULL is allowed
 * @return 0, -ENOMEM, or -ENAMETOOLONG
 */
PERCH_API int perch_machine_new(struct perch_machine **machine, const char *root,
				const struct perch_syscalls *calls, struct perch_error *err);
/** Frees a machine. NULL is allowed. */
PERCH_API void perch_machine_free(struct perch_machine *machine);
/** Returns the system calls of a machine, the real ones for NULL. Async-signal-safe. */
PERCH_API const struct perch_syscalls *perch_machine_syscalls(const struct perch_machine *machine);
/**
 * Selects the process whose capabilities, limits and sandbox the machine reports. It clears the
 * cached facts of the previous process.
 *
 * @param machine  the machine
 * @param pid      a process, read from /proc/PID; 0 is the caller
 */
PERCH_API void perch_machine_set_process(struct perch_machine *machine, pid_t pid);
/**
 * Allows or forbids further system calls: to find the cause of a refusal (perch/explain.h), and
 * whether breakpoints fire (perch_machine_breakpoints_fire()). They are forbidden at first.
 *
 * Async-signal-safe.
 *
 * @param machine  the machine
 * @param allowed  true allows them
 */
PERCH_API void perch_machine_set_probing(struct perch_machine *machine, bool allowed);
/** Returns true if probing is allowed; false for NULL. Async-signal-safe. */
PERCH_API bool perch_machine_probing(const struct perch_machine *machine);
/**
 * Sets the function that demangles names of C++ and Rust, so that events may have demangled names
 * of functions ("uprobe:./server:'ns::f(int)'"). perch_demangle() of libperch-profile is one.
 *
 * @param machine   the machine
 * @param demangle  returns a demangled name, which free(3) frees, or NULL if the name is not
 *                  mangled; names of C++ have the types of the parameters. NULL: none, the default.
 */
PERCH_API void perch_machine_set_demangle(struct perch_machine *machine,
					  char *(*demangle)(const char *name));
/** Demangles a name by the function of perch_machine_set_demangle(). Returns NULL without one.
 * free(3) frees the result. */
PERCH_API char *perch_machine_demangle(const struct perch_machine *machine, const char *name);

/** What the text of a user probe means, if the symbol tables of its file do not say it. */
struct perch_probe_request {
	const char *path;      /**< of the file */
	const char *function;  /**< its name; NULL if offset is that of the probe */
	const char *source;    /**< the name of a source file, as the end of its path; or NULL */
	uint32_t line;	       /**< of the source file */
	uint64_t offset;       /**< of the probe in the file, without function and source */
	const char *arguments; /**< "count, item->name"; or NULL */
	bool returns;	       /**< it hits when the function returns */
	uint64_t reserved[4];  /**< for members of later versions */
};
/** A site of a probe. */
struct perch_probe_site {
	uint64_t offset; /**< of its instruction in the file */
	/** The arguments as in struct perch_event, or NULL; free(3) frees them. */
	char *arguments;
	char *unread; /**< the others, as in struct perch_event; free(3) frees them */
	/** A copy of a function that is inlined where it is called, or a clone beside such copies:
	 * a return probe there would change a variable of the function around it. */
	bool inlined;
	uint64_t reserved[1]; /**< for members of later versions */
};
/** Finds the sites of a probe: at most `most`. Returns their number, or a negative errno. */
typedef int perch_probe_finder(const struct perch_probe_request *request,
			       struct perch_probe_site *site, size_t most, struct perch_error *err);
/**
 * Sets the function that finds functions in debug files, lines and arguments of probes, so that
 * events may have them ("uprobe:./server:'serve(request->path)'", "uprobe:./server:serve.c:120").
 * perch_find_probe() of libperch-profile is one.
 *
 * @param machine  the machine
 * @param finder   NULL: none, the default
 */
PERCH_API void perch_machine_set_probe_finder(struct perch_machine *machine,
					      perch_probe_finder *finder);
/** Calls the function of perch_machine_set_probe_finder(). Returns -ENOSYS without one. */
PERCH_API int perch_machine_find_probe(const struct perch_machine *machine,
				       const struct perch_probe_request *request,
				       struct perch_probe_site *site, size_t most,
				       struct perch_error *err);

/**
 * Makes the path of a file below the root of the machine.
 *
 * @param machine      NULL is this machine
 * @param path         an absolute path, such as "/proc/stat"
 * @param[out] buffer  the path
 * @param size         bytes of buffer
 * @return the length, or -ENAMETOOLONG if buffer is too short: the only failure, so there is no err
 */
PERCH_API int perch_machine_path(const struct perch_machine *machine, const char *path,
				 char *buffer, size_t size);

/** A kernel release. */
struct perch_release {
	int major;	      /**< 6 of "6.13.2" */
	int minor;	      /**< 13 of "6.13.2" */
	int patch;	      /**< 2 of "6.13.2" */
	char text[128];	      /**< as uname -r prints it */
	uint64_t reserved[2]; /**< for members of later versions */
};
/**
 * Reads the kernel release.
 *
 * @param machine       NULL is this machine
 * @param[out] release  the release
 * @param[out] err      NULL is allowed
 * @return 0 or a negative errno
 */
PERCH_API int perch_machine_release(struct perch_machine *machine, struct perch_release *release,
				    struct perch_error *err);

/** The sysctls that concern perf events. All are below kernel. */
enum perch_sysctl {
	PERCH_SYSCTL_PARANOID, /**< perf_event_paranoid: -1 to 2; distributions add 3 and 4 */
	PERCH_SYSCTL_MAX_SAMPLE_RATE,  /**< perf_event_max_sample_rate: samples per second */
	PERCH_SYSCTL_MLOCK_KB,	       /**< perf_event_mlock_kb: KiB of rings per user and CPU */
	PERCH_SYSCTL_MAX_STACK,	       /**< perf_event_max_stack: frames of a call chain */
	PERCH_SYSCTL_MAX_CONTEXTS,     /**< perf_event_max_contexts_per_stack: context markers */
	PERCH_SYSCTL_CPU_TIME_PERCENT, /**< perf_cpu_time_max_percent */
	PERCH_SYSCTL_KPTR_RESTRICT,    /**< kptr_restrict: 0 to 2 */
	PERCH_SYSCTL_NMI_WATCHDOG,     /**< nmi_watchdog: 1 uses a hardware counter of each CPU */
	PERCH_SYSCTL_MAX
};
/**
 * Reads a sysctl.
 *
 * @param machine     NULL is this machine
 * @param which       the sysctl
 * @param[out] value  its value
 * @param[out] err    NULL is allowed
 * @return 0 or a negative errno
 * @retval -ENOENT the kernel has no such sysctl
 */
PERCH_API int perch_machine_sysctl(struct perch_machine *machine, enum perch_sysctl which,
				   long *value, struct perch_error *err);
/** Returns the name of a sysctl, such as "kernel.perf_event_paranoid". Async-signal-safe. */
PERCH_API const char *perch_sysctl_name(enum perch_sysctl which);

#define PERCH_CAP_IPC_LOCK   14 /**< capability number, see capabilities(7) */
#define PERCH_CAP_KILL	     5	/**< capability number */
#define PERCH_CAP_SYS_PTRACE 19 /**< capability number */
#define PERCH_CAP_SYS_ADMIN  21 /**< capability number */
#define PERCH_CAP_SYSLOG     34 /**< capability number */
#define PERCH_CAP_PERFMON    38 /**< capability number; since 5.8 */
/**
 * Reads the effective capabilities of the process.
 *
 * @param machine         NULL is this machine
 * @param[out] effective  bit n is capability number n
 * @param[out] err        NULL is allowed
 * @return 0 or a negative errno
 */
PERCH_API int perch_machine_capabilities(struct perch_machine *machine, uint64_t *effective,
					 struct perch_error *err);
/**
 * Returns true if perf_event_paranoid does not apply to the process: it has CAP_PERFMON or
 * CAP_SYS_ADMIN in the initial user namespace.
 */
PERCH_API bool perch_machine_privileged(struct perch_machine *machine);

/** Resource limits of the process. */
struct perch_limits {
	uint64_t descriptors;	   /**< RLIMIT_NOFILE, soft limit */
	uint64_t descriptors_hard; /**< RLIMIT_NOFILE, hard limit */
	uint64_t locked_bytes;	   /**< RLIMIT_MEMLOCK, soft limit; UINT64_MAX is unlimited */
	size_t page_bytes;	   /**< the size of a page */
	uint64_t reserved[4];	   /**< for members of later versions */
};
/**
 * Reads the resource limits of the process.
 *
 * @param machine      NULL is this machine
 * @param[out] limits  the limits
 * @param[out] err     NULL is allowed
 * @return 0 or a negative errno
 */
PERCH_API int perch_machine_limits(struct perch_machine *machine, struct perch_limits *limits,
				   struct perch_error *err);
/**
 * Counts the open descriptors of the process that are below RLIMIT_NOFILE. Descriptors above it
 * were opened under a higher limit. The result is the limit if no descriptor is left to read
 * /proc/PID/fd.
 *
 * @param machine   NULL is this machine
 * @param[out] nr   the number of descriptors
 * @param[out] err  NULL is allowed
 * @return 0 or a negative errno
 */
PERCH_API int perch_machine_open_descriptors(struct perch_machine *machine, size_t *nr,
					     struct perch_error *err);
/**
 * Reads the open files of the whole system and their limit from /proc/sys/fs/file-nr.
 *
 * @param machine     NULL is this machine
 * @param[out] nr     open files
 * @param[out] limit  the limit
 * @param[out] err    NULL is allowed
 * @return 0 or a negative errno
 */
PERCH_API int perch_machine_open_files(struct perch_machine *machine, uint64_t *nr, uint64_t *limit,
				       struct perch_error *err);

/** The kernel lockdown mode, from /sys/kernel/security/lockdown. Since 5.4. */
enum perch_lockdown {
	PERCH_LOCKDOWN_UNKNOWN,		/**< no lockdown module, or securityfs is not readable */
	PERCH_LOCKDOWN_NONE,		/**< no lockdown */
	PERCH_LOCKDOWN_INTEGRITY,	/**< does not concern perf events */
	PERCH_LOCKDOWN_CONFIDENTIALITY, /**< forbids PERCH_SAMPLE_REGS_INTR and kprobes */
};
/** Restrictions of a process other than sysctls and capabilities. -1 is unknown. */
struct perch_sandbox {
	int seccomp;	       /**< 0 none, 1 strict mode, 2 filters */
	int seccomp_filters;   /**< number of filters; since 5.9 */
	int no_new_privileges; /**< NoNewPrivs of /proc/PID/status: 0 or 1 */
	int user_namespace;    /**< 1 if not the initial one: capabilities do not count for perf */
	int pid_namespace;     /**< 1 if not the initial one: pids differ from those of the host */
	char container[32];    /**< "docker", "podman", "lxc", "kubernetes"...; "" for none */
	enum perch_lockdown lockdown; /**< kernel lockdown */
	char modules[256];	      /**< /sys/kernel/security/lsm, or "" */
	int selinux;		      /**< 1 enforcing, 0 permissive, -1 absent */
	int yama;		      /**< kernel.yama.ptrace_scope: 0 to 3; -1 absent */
	uint64_t reserved[8];	      /**< for members of later versions */
};
/**
 * Reads the restrictions of the process.
 *
 * @param machine       the machine, not NULL
 * @param[out] sandbox  the restrictions
 * @param[out] err      NULL is allowed
 * @return 0 or a negative errno
 */
PERCH_API int perch_machine_sandbox(struct perch_machine *machine, struct perch_sandbox *sandbox,
				    struct perch_error *err);
/**
 * Returns the seccomp mode of the process, from /proc/PID/status. It reads one file;
 * perch_machine_sandbox() reads about ten.
 *
 * @param machine   NULL is this machine and the calling thread
 * @param[out] err  NULL is allowed
 * @return 0 none, 1 strict mode, 2 filters, or a negative errno
 * @retval -ENODATA the kernel does not say it
 */
PERCH_API int perch_machine_seccomp(struct perch_machine *machine, struct perch_error *err);

/** The state of a process or thread, from /proc/PID/status. */
struct perch_process_state {
	char state;	      /**< R, S, D, T, Z, X or I, see proc(5) */
	uint32_t uid;	      /**< effective user id */
	uint64_t permitted;   /**< permitted capabilities */
	char name[16];	      /**< comm; untrusted, not cleaned */
	uint64_t reserved[4]; /**< for members of later versions */
};
/**
 * Reads the state of a process or thread. The state is not cached.
 *
 * @param machine     NULL is this machine
 * @param pid         a process or thread; 0 is the process of the machine
 * @param[out] state  its state
 * @param[out] err    NULL is allowed
 * @return 0 or a negative errno
 * @retval -ESRCH there is no such process or thread
 */
PERCH_API int perch_machine_process(struct perch_machine *machine, pid_t pid,
				    struct perch_process_state *state, struct perch_error *err);
/**
 * Like perch_machine_process(), but returns a state that was read up to 10 ms ago.
 *
 * @param machine     the machine, not NULL
 * @param pid         as above
 * @param[out] state  its state
 * @param[out] err    NULL is allowed
 * @return as perch_machine_process()
 */
PERCH_API int perch_machine_process_cached(struct perch_machine *machine, pid_t pid,
					   struct perch_process_state *state,
					   struct perch_error *err);
/**
 * Copies a string from the memory of the process.
 *
 * @param machine      the machine, not NULL
 * @param address      where the string starts in the process
 * @param[out] buffer  the string with its final NUL; untrusted
 * @param size         bytes of buffer
 * @param[out] err     NULL is allowed
 * @return 0 or a negative errno
 * @retval -EFAULT nothing is mapped at the address
 * @retval -ENAMETOOLONG the string does not fit into the buffer
 * @retval -EPERM the caller may not read the memory of the process
 * @retval -ENOSYS the machine has a root directory, so it has no memory
 */
PERCH_API int perch_machine_process_string(struct perch_machine *machine, uint64_t address,
					   char *buffer, size_t size, struct perch_error *err);
/**
 * Converts a path of the process to one that the caller can open (/proc/PID/root/...).
 *
 * @param machine      the machine, not NULL
 * @param path         the path in the process
 * @param[out] buffer  the path for the caller
 * @param size         bytes of buffer
 * @return the length, or -ENAMETOOLONG if buffer is too short: the only failure, so there is no err
 */
PERCH_API int perch_machine_process_path(struct perch_machine *machine, const char *path,
					 char *buffer, size_t size);

/**
 * Reads the distribution, such as "debian 12" or "ubuntu 24.04": ID and VERSION_ID of
 * os-release(5).
 *
 * @param machine      NULL is this machine
 * @param[out] buffer  the name; untrusted
 * @param size         bytes of buffer
 * @param[out] err     NULL is allowed
 * @return 0 or a negative errno
 * @retval -ENOENT no file has the name
 */
PERCH_API int perch_machine_distribution(struct perch_machine *machine, char *buffer, size_t size,
					 struct perch_error *err);
/**
 * Returns 1 on a virtual machine, 0 on a physical one, -1 if unknown. The sources are the flags of
 * the CPU, /sys/hypervisor and DMI.
 */
PERCH_API int perch_machine_virtual(struct perch_machine *machine);
/**
 * Finds the size of struct perf_event_attr in the running kernel, by a perf_event_open(2) that
 * fails with E2BIG. The size is cached.
 *
 * @param machine    NULL is this machine
 * @param[out] size  bytes
 * @param[out] err   NULL is allowed
 * @return 0 or a negative errno
 * @retval -ENOSYS the kernel has no perf_event_open(2)
 * @retval -EPERM a filter blocks the system call
 */
PERCH_API int perch_machine_attr_size(struct perch_machine *machine, uint32_t *size,
				      struct perch_error *err);
/**
 * Finds out whether hardware breakpoints fire.
 *
 * Some hypervisors accept breakpoints and pass no debug exception on: every breakpoint can be
 * opened there, and counts 0. This function opens a breakpoint on a word of its own, writes the
 * word once, and reads the count. It takes about 20 us, and the machine keeps the answer. The
 * answer holds for reads, writes and executions, in user space and in the kernel, of every thread
 * and CPU: all use the same debug registers.
 *
 * Functions that open events refuse breakpoints that would never fire (-EOPNOTSUPP,
 * PERCH_CAUSE_BREAKPOINT_NEVER_FIRES) if their machine has the answer, or may ask for it
 * (perch_machine_set_probing()). perch_lint() reports them then, too.
 *
 * Async-signal-safe if err is NULL.
 *
 * @param machine   NULL is this machine
 * @param[out] err  why the answer is unknown; NULL is allowed
 * @return 1 if breakpoints fire, 0 if they never fire, or a negative errno if that is unknown
 * @retval -ENOSPC all debug registers are in use
 * @retval -EACCES this user may open no event, or no breakpoint
 */
PERCH_API int perch_machine_breakpoints_fire(struct perch_machine *machine,
					     struct perch_error *err);
/**
 * Measures the CPU time that one sample of a timer (cpu-clock, task-clock) takes from the thread
 * that it interrupts: 1 us on hardware, 10 to 50 us in many virtual machines.
 *
 * It opens a timer of the calling thread, which the kernel disables after 15 samples, 100 us apart,
 * up to three times. It takes 2 to 6 ms, at most 90 ms of CPU time, and the machine keeps the
 * answer for samples of these fields.
 *
 * Real samples may cost more: their call chains are longer, and the caches are not as warm.
 *
 * @param machine   NULL is this machine
 * @param like      the call chain, registers and stack that samples have are those of this attr;
 *                  its other fields do not matter; NULL: none
 * @param[out] ns   nanoseconds; 0 after a failure
 * @param[out] err  why it is unknown; NULL is allowed
 * @return 0, or a negative errno
 * @retval -EAGAIN the timer took too few samples, as in a thread that gets no CPU time
 */
PERCH_API int perch_machine_sample_cost(struct perch_machine *machine,
					const struct perch_attr *like, uint64_t *ns,
					struct perch_error *err);

/** CPU numbers in ascending order. */
struct perch_cpus {
	size_t nr; /**< elements of cpu */
	int *cpu;  /**< the numbers */
};
/**
 * Reads the online CPUs: from sysfs, or without it from /proc/stat, as in a chroot.
 *
 * @param machine    the machine, not NULL
 * @param[out] cpus  the CPUs, owned by the machine
 * @param[out] err   NULL is allowed
 * @return 0 or a negative errno
 */
PERCH_API int perch_machine_cpus(struct perch_machine *machine, const struct perch_cpus **cpus,
				 struct perch_error *err);
/**
 * Reads the online CPUs again, for a program that runs for long: CPUs go away and come back.
 *
 * @param machine   the machine, not NULL
 * @param[out] err  NULL is allowed
 * @return 1 if they have changed: CPUs that perch_machine_cpus() returned are not valid any more; 0
 *         if they did not; or a negative errno: the list of before stays
 */
PERCH_API int perch_machine_update_cpus(struct perch_machine *machine, struct perch_error *err);
/**
 * Counts the present CPUs, online or not.
 *
 * @param machine   the machine, not NULL
 * @param[out] nr   the number of CPUs
 * @param[out] err  NULL is allowed
 * @return 0 or a negative errno
 */
PERCH_API int perch_machine_cpus_present(struct perch_machine *machine, size_t *nr,
					 struct perch_error *err);
/**
 * Parses a list of CPUs, such as "0-2,5".
 *
 * @param[out] cpus  the CPUs; the caller frees them by perch_cpus_clear()
 * @param text       the list, of at most 65536 CPUs
 * @param[out] err   NULL is allowed; column is the position of the error
 * @return 0, -EINVAL or -ENOMEM
 */
PERCH_API int perch_cpus_parse(struct perch_cpus *cpus, const char *text, struct perch_error *err);
/**
 * Returns whether a list has a CPU.
 *
 * Async-signal-safe.
 *
 * @param cpus  the CPUs; NULL is every CPU, as perch_attr_cpus() returns it
 * @param cpu   the number of the CPU
 * @return true if the CPU is in the list; needs no err, because it cannot fail
 */
PERCH_API bool perch_cpus_contains(const struct perch_cpus *cpus, int cpu);
/** Frees the numbers and empties the list. */
PERCH_API void perch_cpus_clear(struct perch_cpus *cpus);

/** A PMU of /sys/bus/event_source/devices. */
struct perch_pmu {
	char name[64];		/**< the name of its directory */
	uint32_t type;		/**< attr.type of its events */
	struct perch_cpus cpus; /**< its cpumask or cpus file; empty is every CPU */
	bool core; /**< counts for the cores: "cpu", or a PMU with a cpus file (arm, hybrid x86) */
	uint64_t reserved[8]; /**< for members of later versions */
};
/**
 * Lists the PMUs, sorted by name.
 *
 * @param machine    the machine, not NULL
 * @param[out] pmus  the PMUs, owned by the machine
 * @param[out] nr    the number of PMUs
 * @param[out] err   NULL is allowed
 * @return 0 or a negative errno
 */
PERCH_API int perch_machine_pmus(struct perch_machine *machine, const struct perch_pmu **pmus,
				 size_t *nr, struct perch_error *err);
/** Returns the PMU with this name; NULL if there is none, or if the PMUs cannot be listed, which
 * perch_machine_pmus() reports. */
PERCH_API const struct perch_pmu *perch_machine_pmu(struct perch_machine *machine,
						    const char *name);
/** Returns the PMU with this type number, or NULL as perch_machine_pmu(). */
PERCH_API const struct perch_pmu *perch_machine_pmu_of_type(struct perch_machine *machine,
							    uint32_t type);
/**
 * Reads a number from the caps directory of a PMU.
 *
 * @param machine     the machine, not NULL
 * @param pmu         the PMU
 * @param name        the name of the file, such as "max_precise" or "branches"
 * @param[out] value  the number
 * @param[out] err    NULL is allowed
 * @return 0 or a negative errno
 * @retval -ENOENT the PMU has no such file
 */
PERCH_API int perch_machine_pmu_cap(struct perch_machine *machine, const struct perch_pmu *pmu,
				    const char *name, long *value, struct perch_error *err);
/** The position of a CPU. Numbers are the kernel's; -1 is unknown, which perf prints as 0. */
struct perch_cpu_topology {
	int cpu;	      /**< the CPU */
	int core;	      /**< topology/core_id, unique within a die */
	int die;	      /**< topology/die_id */
	int socket;	      /**< topology/physical_package_id */
	int node;	      /**< NUMA node */
	uint64_t reserved[2]; /**< for members of later versions */
};
/**
 * Reads the position of a CPU.
 *
 * @param machine        the machine, not NULL
 * @param cpu            the CPU
 * @param[out] topology  its position
 * @param[out] err       NULL is allowed
 * @return 0 or a negative errno
 */
PERCH_API int perch_machine_cpu_topology(struct perch_machine *machine, int cpu,
					 struct perch_cpu_topology *topology,
					 struct perch_error *err);

/**
 * Finds the mount point of the cgroups that events can be bound to: the v1 hierarchy with the
 * perf_event controller, else cgroup2.
 *
 * @param machine      NULL is this machine
 * @param[out] buffer  the path, with the root of the machine
 * @param size         bytes of buffer
 * @param[out] err     NULL is allowed
 * @return 0 or a negative errno
 * @retval -ENOENT none is mounted
 */
PERCH_API int perch_machine_cgroups(struct perch_machine *machine, char *buffer, size_t size,
				    struct perch_error *err);
/**
 * Finds the mount point of tracefs: /sys/kernel/tracing or the one below debugfs.
 *
 * @param machine      NULL is this machine
 * @param[out] buffer  the path, with the root of the machine
 * @param size         bytes of buffer
 * @param[out] err     NULL is allowed
 * @return 0 or a negative errno
 * @retval -ENOENT it is not mounted
 * @retval -EACCES this user may not read it
 */
PERCH_API int perch_machine_tracefs(struct perch_machine *machine, char *buffer, size_t size,
				    struct perch_error *err);
/**
 * Describes a tracefs that this user may not read: its path, owner and mode, and the command that
 * gives the caller's group access.
 *
 * @param machine   NULL is this machine
 * @param[out] err  NULL is allowed
 * @return -EACCES
 */
PERCH_API int perch_machine_tracefs_error(const struct perch_machine *machine,
					  struct perch_error *err);
/**
 * Finds the name of a tracepoint by its id, the config of its event.
 *
 * The machine caches the names. If none of them has the id, all ids of tracefs are read again,
 * which takes some milliseconds.
 *
 * @param machine      NULL is this machine
 * @param id           the id, as in events/SYSTEM/NAME/id of tracefs
 * @param[out] buffer  the name: "sched:sched_switch"
 * @param size         bytes of buffer; 512 are always enough
 * @param[out] err     NULL is allowed
 * @return 0 or a negative errno
 * @retval -ENOENT no tracepoint has the id, or tracefs is not mounted: perch_machine_tracefs() then
 *                 fails too
 * @retval -EACCES this user may not read tracefs
 */
PERCH_API int perch_machine_tracepoint(struct perch_machine *machine, uint64_t id, char *buffer,
				       size_t size, struct perch_error *err);
/**
 * Reads a small text file.
 *
 * @param machine      NULL is this machine
 * @param path         an absolute path below the root of the machine
 * @param[out] buffer  the text with a final NUL, without a trailing newline
 * @param size         bytes of buffer; the text is cut to size - 1 bytes
 * @return the length, or the negative errno of open(2) or read(2) for that path: needs no err
 */
PERCH_API ssize_t perch_machine_read(const struct perch_machine *machine, const char *path,
				     char *buffer, size_t size);
/**
 * Reads a text file that does not change, once, and caches it. Of a directory it reads the names,
 * one per line. At most 8191 bytes are read.
 *
 * @param machine       the machine, not NULL
 * @param path          an absolute path below the root of the machine
 * @param[out] content  the text, owned by the machine; "" after an error
 * @return the length, or the negative errno of open(2) or read(2) for that path: needs no err
 */
PERCH_API ssize_t perch_machine_read_cached(struct perch_machine *machine, const char *path,
					    const char **content);

#ifdef __cplusplus
}
#endif
#endif

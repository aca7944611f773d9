/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Processes and their address spaces over time: resolves an address of a sample to a file and an
 * offset.
 *
 * Functions without err cannot fail, or their comment lists what they return. In all functions err
 * may be NULL.
 *
 * Threads: one thread per perch_processes object at a time, together with its threads and DSOs.
 * Different objects are independent.
 *
 * Fork: a child has a copy of the object, and can use and free it. Nothing that it does changes the
 * object of the parent.
 *
 * Signals: no function is async-signal-safe.
 */
#ifndef PERCH_PROCESS_H
#define PERCH_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>
#include <perch/error.h>
#include <perch/machine.h>
#include <perch/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The kind of a DSO. */
enum perch_dso_kind {
	PERCH_DSO_FILE,	  /**< an ELF file, or any other mapped file */
	PERCH_DSO_KERNEL, /**< the kernel: "[kernel.kallsyms]" */
	PERCH_DSO_MODULE, /**< a kernel module: path of the .ko file, or [name] */
	PERCH_DSO_VDSO,	  /**< the vdso */
	/** //anon, [heap], [stack]: memory without a file; memfd without a build id */
	PERCH_DSO_ANON,
	PERCH_DSO_UNKNOWN,     /**< "[unknown]": addresses without a mapping */
	PERCH_DSO_KERNEL_CODE, /**< generated code of the kernel (KSYMBOL); path is its name */
	PERCH_DSO_JIT,	       /**< functions of a jitdump file, see perch/jitdump.h */
};

/** Properties of the kinds of DSOs, for perch_dso_is(). */
enum perch_dso_property {
	PERCH_DSO_IS_MAPPED = 1 << 0,	 /**< something is at its addresses: any kind but UNKNOWN */
	PERCH_DSO_IS_FILE = 1 << 1,	 /**< processes map the file at its path: FILE */
	PERCH_DSO_IS_ELF = 1 << 2,	 /**< an ELF image: FILE, if it is one, MODULE, VDSO */
	PERCH_DSO_IS_ON_DISK = 1 << 3,	 /**< a file has its code: FILE, MODULE */
	PERCH_DSO_IS_KERNEL = 1 << 4,	 /**< the kernel without its modules: KERNEL */
	PERCH_DSO_IS_IN_KERNEL = 1 << 5, /**< code of the kernel: KERNEL, MODULE, KERNEL_CODE */
	PERCH_DSO_IS_MODULE = 1 << 6,	 /**< a module of the kernel: MODULE */
	PERCH_DSO_IS_MEMORY = 1 << 7,	 /**< memory of one process without a file: ANON */
	/** Programs write its code while they run: ANON, JIT. */
	PERCH_DSO_IS_GENERATED = 1 << 8,
};

/** A jitdump file, in which a JIT compiler writes its functions, see perch/jitdump.h. */
struct perch_jitdump;

/** The users of a process: the real one, the effective one, and those it has changed to. */
struct perch_process_users {
	uint32_t nr;	  /**< how many are known */
	uint32_t user[4]; /**< user ids */
};

/**
 * A mapped object. All processes that map it share one. Files with the same path are different
 * objects if their build ids differ, or if neither has a recorded build id and their devices or
 * inodes differ: processes in containers see other files at the same path.
 */
struct perch_dso {
	uint32_t index;		  /**< number from 0, without gaps */
	enum perch_dso_kind kind; /**< what it is */
	const char *path;	  /**< not trusted */
	uint64_t start;		  /**< kernel, module, kernel code: load address */
	uint64_t length;	  /**< kernel, module, kernel code: bytes */
	uint64_t text_start;	  /**< kernel: recorded address of its text symbol; 0 if unknown */
	const char *kernel_image; /**< kernel: path of its vmlinux file; NULL if unknown */
	uint8_t build_id_size;	  /**< bytes of build_id; 0 if unknown */
	uint8_t build_id[20];	  /**< the build id */
	bool used;		  /**< an address was resolved to it */
	bool has_code;		  /**< code_offset is known */
	/** The recording has the build id for the path, not for the mapping (MMAP2 without build
	 * ids).
	 */
	bool build_id_of_path;
	bool shared_path;      /**< another DSO of the kind PERCH_DSO_FILE has the same path */
	uint32_t device_major; /**< device of the mapped file, see inode */
	uint32_t device_minor; /**< device of the mapped file, see inode */
	/** The mapped file, as in /proc/PID/maps; 0 if unknown. stat(2) has another device for
	 * files of btrfs and overlayfs. */
	uint64_t inode;
	uint64_t inode_generation;     /**< 0 if unknown */
	uint32_t pid;		       /**< the last process that mapped it; 0 if unknown */
	uint64_t map_start;	       /**< where that process mapped it: the first address */
	uint64_t map_end;	       /**< the address after the last one */
	struct perch_jitdump *jitdump; /**< kind PERCH_DSO_JIT: its functions; else NULL */
	uint64_t code_size;	       /**< bytes of the last executable mapping; 0 if unknown */
	/** The lowest offset in the file of executable mappings; of all, where recordings do not
	 * have the protection (MMAP). */
	uint64_t code_offset;
	/** Kind ANON: the process made its first mapping during the recording. */
	bool mapped_in_recording;
	/** Inodes of the namespaces of that process when it mapped the DSO, by NAMESPACES records;
	 * 0 if unknown. */
	uint64_t mount_namespace, pid_namespace;
	/** The last mapping that a record says to be executable: where it begins in memory. */
	uint64_t code_map_start;
	uint64_t code_map_offset; /**< where it begins in the file */
	uint64_t code_map_size;	  /**< its bytes; 0 if unknown */
	/** Kind ANON: the users of the process, if the recording has them. */
	struct perch_process_users users;
};

/**
 * Returns a property of a DSO's kind. New kinds have an answer, too: prefer it to comparing
 * perch_dso.kind.
 *
 * @param dso       the DSO
 * @param property  one property
 * @return true if the kind has it
 */
PERCH_API bool perch_dso_is(const struct perch_dso *dso, enum perch_dso_property property);

/** A thread, with the state after the records that were applied so far. */
struct perch_thread;

/** Returns the process id. */
PERCH_API uint32_t perch_thread_pid(const struct perch_thread *thread);

/** Returns the thread id. */
PERCH_API uint32_t perch_thread_tid(const struct perch_thread *thread);

/**
 * Returns the name, which is not trusted; ":" and the thread id if no record gives it.
 *
 * COMM records change it. A FORK record gives the child the name of its parent if that is from a
 * record.
 */
PERCH_API const char *perch_thread_comm(const struct perch_thread *thread);

/** Returns a number for the name: equal names have the same number. Numbers start at 0, without
 * gaps.
 */
PERCH_API uint32_t perch_thread_comm_index(const struct perch_thread *thread);

/** A resolved address. It does not depend on process and load address. */
struct perch_location {
	const struct perch_dso *dso; /**< the DSO that is mapped at the address */
	/** File offset, also in a jitdump; kernel, modules and memory without a file: the address
	 * itself. */
	uint64_t offset;
	uint64_t address; /**< the address as sampled */
	/** 1 if the mapping is not executable; else 0, also if the recording does not say it, and
	 * for memory without a file that was executable: its code may be executable again. */
	uint64_t not_executable;
	uint64_t reserved[1]; /**< for members of later versions */
};

/** All processes of a recording. */
struct perch_processes;

/**
 * Creates an object without processes.
 *
 * @param[out] processes  the new object; NULL after a failure
 * @param[out] err        the reason of a failure
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_processes_new(struct perch_processes **processes, struct perch_error *err);

/** Frees processes, threads and DSOs. NULL is allowed. */
PERCH_API void perch_processes_free(struct perch_processes *processes);

/**
 * Adds a build id of the recording's header. The file may have been mapped already. A path with two
 * different build ids has none: they are of different files. Needs no err: it has one failure for
 * each errno.
 *
 * @param processes  the processes
 * @param path       path of the file, as in its MMAP records
 * @param bytes      the build id
 * @param size       bytes of the build id, 1 to 20
 * @return 0, -ENOMEM, or -EINVAL for an invalid size
 */
PERCH_API int perch_processes_add_build_id(struct perch_processes *processes, const char *path,
					   const uint8_t *bytes, size_t size);

/**
 * Applies a MMAP, MMAP2, COMM, FORK, EXIT, KSYMBOL or CGROUP record, and SWITCH and SAMPLE records
 * after perch_processes_count_running(). Ignores others.
 *
 * The kernel writes no records about processes and mappings that are older than the event. A
 * perf.data file has such records, because the recorder makes them from /proc. A program that reads
 * rings calls perch_processes_add_running() first. Needs no err: it fails only without memory.
 *
 * @param processes  the processes
 * @param record     the record; records must be applied in the order of time
 * @return 0 or -ENOMEM
 */
PERCH_API int perch_processes_apply(struct perch_processes *processes,
				    const struct perch_record *record);

/**
 * Adds a process that already runs: the present names of its threads and its executable mappings,
 * from /proc. Earlier mappings of the process are replaced.
 *
 * Open the sampler, call this function, then apply the records of the sampler. perch/synthesize.h
 * describes what /proc does not have.
 *
 * @param processes  the processes
 * @param pid        the process, or one of its threads; 0 is the calling process
 * @param machine    where /proc is read; NULL is this machine
 * @param[out] err   the reason of a failure
 * @return 0, or a negative errno
 * @retval -ESRCH   there is no such process
 * @retval -EACCES  this user may not read its mappings; its threads were added
 */
PERCH_API int perch_processes_add_running(struct perch_processes *processes, pid_t pid,
					  struct perch_machine *machine, struct perch_error *err);

/**
 * Applies synthesized records: a sink for the functions of perch/synthesize.h, for example to add
 * all processes, those of a sampler's targets, or the kernel with its modules:
 *
 *     perch_synthesize_targets(targets, NULL, machine, perch_processes_apply_synthesized,
 *                              processes, &counts, &err);
 *
 * The options of that function must not have an attr.
 *
 * @param processes  the struct perch_processes
 * @param records    the records
 * @param size       bytes of all records
 * @param[out] err   the reason of a failure
 * @return 0, -ENOMEM, or -EBADMSG for a damaged record
 */
PERCH_API int perch_processes_apply_synthesized(void *processes, const void *records, size_t size,
						struct perch_error *err);

/**
 * Frees the threads whose EXIT record was applied before the last call of this function, and
 * processes of which no thread is left. For programs that follow a running system: called at
 * intervals, it keeps memory proportional to the threads that run. Samples that the kernel takes
 * while a thread ends may follow its EXIT record, so threads stay until the second call.
 *
 * Names of threads stay, and DSOs until perch_processes_discard_dsos(). Needs no err: it fails only
 * without memory.
 *
 * @param processes  the processes; threads that perch_processes_thread() returned are no longer
 *                   valid
 * @return the number of threads that were freed, or -ENOMEM; then all stay
 */
PERCH_API int64_t perch_processes_discard_ended(struct perch_processes *processes);

/**
 * Frees the DSOs that nothing maps any more, so that a program which follows a running system for
 * days does not keep each file that ever ran. The indexes of the others change, and pointers to
 * freed DSOs are invalid: what has either must be freed before, as perch_symbols,
 * profiles, exports, unwinders, addresses and locations. So a session may not be used on that has
 * resolved or unwound a sample by its own symbols. Needs no err: it cannot fail.
 *
 * @param processes  the processes
 * @param used       by index, for all of perch_processes_dsos(): true for DSOs that the caller
 *                   still uses. The function sets it for mapped ones, and for jitdumps of
 *                   processes that run.
 * @return the number of DSOs that were freed
 */
PERCH_API size_t perch_processes_discard_dsos(struct perch_processes *processes, bool *used);

/**
 * Returns a thread. Adds it if it is new.
 *
 * @param processes  the processes
 * @param pid        process id
 * @param tid        thread id
 * @return the thread, or NULL when out of memory
 */
PERCH_API struct perch_thread *perch_processes_thread(struct perch_processes *processes,
						      uint32_t pid, uint32_t tid);

/**
 * Resolves an address. It does not fail: an address without a mapping belongs to the DSO of kind
 * PERCH_DSO_UNKNOWN.
 *
 * @param processes      the processes
 * @param thread         the thread of the sample
 * @param cpumode        PERCH_MISC_USER, PERCH_MISC_KERNEL, ...
 * @param address        the address
 * @param[out] location  DSO and offset
 */
PERCH_API void perch_processes_resolve(struct perch_processes *processes,
				       struct perch_thread *thread, unsigned cpumode,
				       uint64_t address, struct perch_location *location);

/**
 * Counts from now on the threads that run, for perch_processes_parallelism(). SWITCH and SAMPLE
 * records must be applied, too: those of an event of threads and their children
 * (attr.context_switch and attr.inherit). A SWITCH_CPU_WIDE record, or a sample of an idle task,
 * which are of events of CPUs, ends the counting.
 *
 * @param processes  the processes
 * @param cpus       CPUs of the machine: at most as many threads run; 0 if unknown
 */
PERCH_API void perch_processes_count_running(struct perch_processes *processes, uint32_t cpus);

/**
 * Returns the number of threads that run, after the records that were applied so far.
 *
 * A thread runs from its switch in, its exec or its first sample on, whichever is first, and until
 * its switch out or its end. So a thread that runs already when its events are enabled counts from
 * its first sample on.
 *
 * @param processes  the processes
 * @return the number, at least 1; 0 if it is unknown: without perch_processes_count_running(), or
 *         after a record of an event of a CPU
 */
PERCH_API uint32_t perch_processes_parallelism(const struct perch_processes *processes);

/**
 * Returns the path of a cgroup, by its CGROUP record. At most 65536 paths, and 16 MiB of them, are
 * stored; later cgroups have none.
 *
 * @param processes  the processes
 * @param id         perch_sample.cgroup
 * @return the path from the root of the hierarchy, "/user.slice/a.service", which is not trusted;
 * NULL if unknown. Valid until perch_processes_free().
 */
PERCH_API const char *perch_processes_cgroup_name(const struct perch_processes *processes,
						  uint64_t id);

/** What the path of a cgroup says. Texts are clean, and empty if the path does not say it. */
struct perch_cgroup_names {
	/** the id of the container: 64 hexadecimal digits */
	char container_id[68];
	/** its name: LXC has no ids */
	char container_name[256];
	/** "docker", "containerd", "cri-o", "podman", "lxc", "buildkit"; never NULL */
	const char *runtime;
	/** the uid of the Kubernetes pod; of a static pod 32 digits without dashes */
	char pod_uid[40];
	/** the innermost unit of systemd inside of the container, "nginx.service" or a scope */
	char unit[256];
	/** the service of the unit, "nginx", or the application of a desktop's unit */
	char service[256];
	uint64_t reserved[8]; /**< always 0 */
};

/**
 * Finds the container, the pod and the systemd unit in the path of a cgroup. The path is that of
 * any hierarchy, version 1 or 2, as Docker, containerd, CRI-O, Podman, BuildKit, LXC and the
 * kubelet make it, by systemd or by cgroupfs. Of nested containers it is the innermost one.
 *
 * Threads: any number of threads may call it.
 *
 * @param path  as perch_processes_cgroup_name() returns it, or the third field of a line of
 *              /proc/PID/cgroup; any text is allowed
 * @param names set
 */
PERCH_API void perch_cgroup_find_names(const char *path, struct perch_cgroup_names *names);

/**
 * Returns the cgroup namespace of a thread, by its NAMESPACES records.
 *
 * @param thread     the thread
 * @param[out] link  device and inode of the namespace; both 0 if no record has it
 */
PERCH_API void perch_thread_cgroup_namespace(const struct perch_thread *thread,
					     struct perch_ns_link_info *link);

/** Returns a number that changes with the mappings of the thread's process. It is a key for caches
 * of resolved addresses. */
PERCH_API uint64_t perch_thread_generation(const struct perch_thread *thread);

/** Returns a number that changes with the mappings of the kernel, for example when a module is
 * loaded. */
PERCH_API uint64_t perch_processes_kernel_generation(const struct perch_processes *processes);

/**
 * Returns all DSOs, by index.
 *
 * @param processes  the processes
 * @param[out] dsos  the DSOs; valid until the next record is applied
 * @return the number of DSOs
 */
PERCH_API size_t perch_processes_dsos(const struct perch_processes *processes,
				      const struct perch_dso *const **dsos);

#ifdef __cplusplus
}
#endif
#endif

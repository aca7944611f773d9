/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Records for what already runs.
 *
 * The kernel writes COMM, MMAP2, FORK, NAMESPACES, CGROUP, KSYMBOL and BPF_EVENT records only for
 * what happens while an event is open. These functions make the same records for processes, cgroups
 * and the kernel as they are now, from /proc and the cgroup file system. Recorders write them to
 * the file, live samplers apply them before the records of their rings.
 *
 * Open the sampler first, then synthesize: what changes in between is in both, and applying it
 * twice does no harm. In the other order, changes in between are missing.
 *
 * What synthesized records do not have:
 * - The past. A thread has its present name, a process its present mappings. Samples that were
 *   taken before a thread changed its name, or before a process executed another program or mapped
 *   other code at the same address, get the present name or mapping.
 * - One moment. /proc is read file by file. A mapping that is made or removed while the file is
 *   read may be missing. A process that ends in the meantime has only the records made until then;
 *   it is counted in .ended.
 * - What this user may not read. The mappings and namespaces of another user's process need
 *   CAP_SYS_PTRACE; recent kernels (Linux 6.18) let CAP_PERFMON read mappings, too. A
 *   process that is refused has COMM records without MMAP2 records, and is counted in .denied.
 *   Where /proc is mounted with hidepid, processes of other users are not visible and not counted.
 * - Code that no file describes: code of a JIT compiler is "//anon".
 * - Build ids (unless the options ask for them), the generation of the inode, whether a name was
 * set by execve(2), and the page offset of memory without a file, which is 0.
 *
 * Names of threads, paths and cgroups are untrusted: the processes choose them. A path is the one
 * that the process sees, which may be another file for the caller (containers, chroot). As in
 * records of the kernel, " (deleted)" follows the path of a removed file. /proc writes a newline in
 * a path as "\012"; the record has a newline. So a file whose name has these four characters gets a
 * newline in their place.
 *
 * pids are those of the mounted /proc. Samples have pids of the pid namespace of the process that
 * opened the event. Both are the same unless /proc belongs to another pid namespace.
 *
 * Threads: any number of threads may call these functions, with a machine of their own each or with
 * machine NULL. The functions keep no state and work in a child after fork(2). They allocate memory
 * and read files, so a signal handler must not call them.
 */
#ifndef PERCH_SYNTHESIZE_H
#define PERCH_SYNTHESIZE_H

#include <sys/types.h>
#include <perch/abi.h>
#include <perch/error.h>
#include <perch/machine.h>
#include <perch/open.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The records of a process, as bits. */
enum perch_synthesize_records {
	PERCH_SYNTHESIZE_COMM = 1 << 0, /**< COMM of each thread */
	PERCH_SYNTHESIZE_MMAP = 1 << 1, /**< MMAP2 of each executable mapping, once per process */
	/** MMAP2 of the other mappings too, with PERCH_MISC_MMAP_DATA. */
	PERCH_SYNTHESIZE_MMAP_DATA = 1 << 2,
	/** FORK of each thread, with PERCH_MISC_FORK_EXEC: the process inherits no mappings. The
	 * parent of a process is its present parent, which after the end of the real one is a
	 * reaper such as process 1. The thread that created a thread is unknown; ptid is pid. */
	PERCH_SYNTHESIZE_FORK = 1 << 3,
	PERCH_SYNTHESIZE_NAMESPACES = 1 << 4, /**< NAMESPACES of each process */
	PERCH_SYNTHESIZE_ALL = (1 << 5) - 1,  /**< all records */
	/** MMAP2 records have the build id of the file in place of device and inode, if it has one,
	 * as those of events with PERCH_SIDEBAND_BUILD_ID. Each file is opened once, as the process
	 * sees it: in /proc/PID/map_files, or below /proc/PID/root. */
	PERCH_SYNTHESIZE_BUILD_IDS = 1 << 5,
};

/** How records are made. All members may be 0. */
struct perch_synthesize_options {
	/** PERCH_SYNTHESIZE_* bits; without a record, PERCH_SYNTHESIZE_COMM |
	 * PERCH_SYNTHESIZE_MMAP are added. */
	uint32_t records;
	/**
	 * The records end as those of an event with this attr (sample_id_all), so the parse info of
	 * the attr decodes them. Process, thread, CPU and stream id are 0 there, as perf writes
	 * them. NULL: the records end without a sample id.
	 */
	const struct perch_attr *attr;
	/** Time of the records in ns, by the clock of the attr. 0, as perf writes it, sorts them
	 * before all others. */
	uint64_t time;
	/** Id of the event, for decoders of several events; 0, as perf writes it, is the first
	 * event. */
	uint64_t id;
	uint64_t reserved[4]; /**< must be 0 */
};

/** What was made, and what could not be read. */
struct perch_synthesize_counts {
	uint64_t records;   /**< records that were made */
	uint64_t processes; /**< processes with a record */
	/** Processes and threads that ended while they were read. Their records are missing or
	 * incomplete. */
	uint64_t ended;
	/** Processes with mappings or namespaces that this user may not read, modules with hidden
	 * addresses, and cgroups without a readable id. Their records are missing. */
	uint64_t denied;
	/** Lines of an unexpected form, and cgroups that are too many (more than 65536) or nested
	 * too deeply (more than 32 levels). Their records are missing. */
	uint64_t skipped;
	/** One of the processes in .denied: the first one; 0 if there is none. */
	uint64_t denied_pid;
	uint64_t reserved[3]; /**< for members of later versions */
};

/**
 * Receives records. All are complete, aligned to 8 bytes, and valid during the call.
 *
 * @param context   as passed to the function that makes the records
 * @param records   the records, one after the other; each is perch_record_header.size bytes
 * @param size      bytes of all records, at most 65536
 * @param[out] err  the reason of a failure; may be NULL
 * @return 0, or a negative errno, which ends the synthesis and is its result
 */
typedef int perch_synthesize_sink(void *context, const void *records, size_t size,
				  struct perch_error *err);

/**
 * Makes the records of one process and its threads.
 *
 * @param pid           the process, or one of its threads; 0 is the calling process
 * @param options       which records; NULL is all zeros
 * @param machine       where /proc is read; NULL is this machine
 * @param sink          receives the records
 * @param context       passed to sink
 * @param[out] counts   the counts are added to its members; NULL is allowed
 * @param[out] err      the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -ESRCH   there is no such process
 * @retval -EACCES  this user may not read its mappings or namespaces; its other records were made
 * @retval -EINVAL  the options are invalid
 */
PERCH_API int perch_synthesize_process(pid_t pid, const struct perch_synthesize_options *options,
				       struct perch_machine *machine, perch_synthesize_sink *sink,
				       void *context, struct perch_synthesize_counts *counts,
				       struct perch_error *err);

/**
 * Makes the records of all processes. Processes that this user may not read are counted; they are
 * no failure. Lists /proc again until it finds no new process, at most 4 times.
 *
 * @param options       which records; NULL is all zeros
 * @param machine       where /proc is read; NULL is this machine
 * @param sink          receives the records
 * @param context       passed to sink
 * @param[out] counts   the counts are added to its members; NULL is allowed
 * @param[out] err      the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 */
PERCH_API int perch_synthesize_all_processes(const struct perch_synthesize_options *options,
					     struct perch_machine *machine,
					     perch_synthesize_sink *sink, void *context,
					     struct perch_synthesize_counts *counts,
					     struct perch_error *err);

/**
 * Makes the records of the processes that a sampler measures: each process of a thread once; all
 * processes if a target is a CPU or a cgroup. Processes that have ended or that this user
 * may not read are counted; they are no failure.
 *
 * @param targets       the targets; NULL is the calling thread
 * @param options       which records; NULL is all zeros
 * @param machine       where /proc is read; NULL is this machine
 * @param sink          receives the records
 * @param context       passed to sink
 * @param[out] counts   the counts are added to its members; NULL is allowed
 * @param[out] err      the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 */
PERCH_API int perch_synthesize_targets(const struct perch_targets *targets,
				       const struct perch_synthesize_options *options,
				       struct perch_machine *machine, perch_synthesize_sink *sink,
				       void *context, struct perch_synthesize_counts *counts,
				       struct perch_error *err);

/**
 * Makes MMAP records of the kernel ("[kernel.kallsyms]_text") and its modules. A module has the
 * path of its file, as /lib/modules/RELEASE/modules.dep has it, or the name "[name]".
 *
 * @param options       .records is ignored; NULL is all zeros
 * @param machine       where /proc is read; NULL is this machine
 * @param sink          receives the records
 * @param context       passed to sink
 * @param[out] counts   the counts are added to its members; NULL is allowed
 * @param[out] err      the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -EACCES  the kernel hides its addresses from this user (kernel.kptr_restrict)
 * @retval -ENOENT  /proc/kallsyms is missing or has no symbol _text
 */
PERCH_API int perch_synthesize_kernel(const struct perch_synthesize_options *options,
				      struct perch_machine *machine, perch_synthesize_sink *sink,
				      void *context, struct perch_synthesize_counts *counts,
				      struct perch_error *err);

/**
 * Makes a CGROUP record of each cgroup: its id, as in samples with PERCH_SAMPLE_CGROUP, and its
 * path below the mount point.
 *
 * @param options       .records is ignored; NULL is all zeros
 * @param machine       where cgroups are mounted; NULL is this machine
 * @param sink          receives the records
 * @param context       passed to sink
 * @param[out] counts   the counts are added to its members; NULL is allowed
 * @param[out] err      the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -ENOENT  no cgroup hierarchy for perf events is mounted
 * @since Linux 5.7 has the ids in samples
 */
PERCH_API int perch_synthesize_cgroups(const struct perch_synthesize_options *options,
				       struct perch_machine *machine, perch_synthesize_sink *sink,
				       void *context, struct perch_synthesize_counts *counts,
				       struct perch_error *err);

/**
 * Makes KSYMBOL records of the functions of the BPF programs that are loaded, with the names that
 * the kernel gives them ("bpf_prog_TAG_NAME"), and a BPF_EVENT record of each program. Programs
 * whose addresses this user may not see are counted in .denied.
 *
 * @param options       .records is ignored; NULL is all zeros
 * @param machine       its system calls; NULL is this machine
 * @param sink          receives the records
 * @param context       passed to sink
 * @param[out] counts   the counts are added to its members; NULL is allowed
 * @param[out] err      the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -EACCES  this user may not list programs (CAP_SYS_ADMIN), or the kernel has no bpf(2)
 */
PERCH_API int perch_synthesize_bpf(const struct perch_synthesize_options *options,
				   struct perch_machine *machine, perch_synthesize_sink *sink,
				   void *context, struct perch_synthesize_counts *counts,
				   struct perch_error *err);

#ifdef __cplusplus
}
#endif
#endif

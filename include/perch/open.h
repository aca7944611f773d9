/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Attrs from events and options, descriptors from attrs and targets. It includes
 * perch/control.h, the system calls on open events.
 *
 * In all functions a target of NULL is the calling thread, a machine of NULL is the machine that
 * the program runs on, and err may be NULL. Kernel releases are those of Linux.
 *
 * Threads: one thread per object (list of targets, machine) at a time. A descriptor may
 * be used from any thread.
 *
 * Fork: a descriptor of perch_open() means the same event in a child of fork(2). A function on it
 * acts on the event of the parent: perch_event_disable() in the child stops the event for both.
 * This is not recognized here; the objects of perch/count.h, perch/ring.h and perch/sampler.h
 * recognize it. perch_tasks_enable() and perch_tasks_disable() do not reach the events that the
 * parent opened. The kernel keeps an event until every copy of its descriptor is closed. Lists of
 * targets are plain memory and descriptors of cgroups: a child can use and clear its copy.
 *
 * Signals: a function is async-signal-safe only if its description says so, and only with err NULL.
 * The signal handler must not interrupt a call that uses the same object. errno may change.
 */
#ifndef PERCH_OPEN_H
#define PERCH_OPEN_H

#include <stdbool.h>
#include <perch/abi.h>
#include <perch/control.h>
#include <perch/error.h>
#include <perch/event.h>
#include <perch/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The thread, CPU or cgroup that one event measures.
 *
 * The kernel measures threads: a process is perch_targets_add_process().
 */
struct perch_target {
	pid_t tid; /**< thread id; 0 is the calling thread, -1 all processes (needs a cpu) */
	int cpu;   /**< CPU number; -1 is every CPU that the thread runs on */
	/** Descriptor of a cgroup's directory (not O_PATH), used instead of tid. Needs use_cgroup
	 * and a cpu; 0 without use_cgroup. Since 2.6.39. */
	int cgroup_fd;
	/** cgroup_fd is used. A negative cgroup_fd, such as the result of a failed open(2), is
	 * refused with -EBADF. */
	unsigned use_cgroup : 1;
	uint64_t reserved[2]; /**< must be 0 */
};

/** The calling thread on every CPU. */
PERCH_API extern const struct perch_target perch_self;

/**
 * A list of targets, for example all threads of a process or all CPUs.
 *
 * Initialize it with { 0 } (in C++ with {}), add targets, use it, and clear it. A function that
 * fails to add targets leaves the list unchanged.
 */
struct perch_targets {
	size_t nr;		     /**< number of targets */
	struct perch_target *target; /**< array of nr targets, from malloc(3) */
	size_t nr_cgroups;	     /**< private */
	int *cgroup;		     /**< private: descriptors that perch_targets_clear() closes */
	uint64_t reserved[2];	     /**< must be 0 */
};

/** All processes on all CPUs: for samplers and sets, which open one event for each online CPU. It
 * is constant: do not pass it to functions that change a list. */
PERCH_API extern const struct perch_targets perch_all_cpus;

/**
 * Adds one target.
 *
 * @param targets   the list
 * @param target    the target, which is copied
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @retval -EBADF cgroup_fd is negative
 * @retval -EINVAL tid or cpu is less than -1, or cgroup_fd is not 0 without use_cgroup
 */
PERCH_API int perch_targets_add(struct perch_targets *targets, const struct perch_target *target,
				struct perch_error *err);

/**
 * Adds every thread that a process has now.
 *
 * With perch_options.inherit, threads and children that start after the open are counted too. Those
 * that start between this function and the open are not: stop the process to measure all of it.
 *
 * @param targets   the list
 * @param pid       process id; 0 is the calling process
 * @param machine   where /proc is read
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @retval -ESRCH there is no such process
 */
PERCH_API int perch_targets_add_process(struct perch_targets *targets, pid_t pid,
					struct perch_machine *machine, struct perch_error *err);

/**
 * Adds one thread.
 *
 * @param targets   the list
 * @param tid       thread id; 0 is the calling thread
 * @param machine   where /proc is read
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @retval -ESRCH there is no such thread
 */
PERCH_API int perch_targets_add_thread(struct perch_targets *targets, pid_t tid,
				       struct perch_machine *machine, struct perch_error *err);

/**
 * Adds all processes on each of some CPUs.
 *
 * @param targets   the list
 * @param cpus      the CPUs; NULL is all online CPUs
 * @param machine   where the online CPUs are read
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENODEV a CPU is offline or does not exist
 * @retval -EINVAL cpus is empty
 */
PERCH_API int perch_targets_add_cpus(struct perch_targets *targets, const struct perch_cpus *cpus,
				     struct perch_machine *machine, struct perch_error *err);

/**
 * Adds a cgroup on each of some CPUs. The list keeps the directory of the cgroup open.
 *
 * @param targets   the list
 * @param path      path below the cgroup mount point ("system.slice", or "/system.slice" as in
 *                  /proc/PID/cgroup), or the full path
 * @param cpus      the CPUs; NULL is all online CPUs
 * @param machine   where cgroups are mounted
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENOENT there is no such cgroup
 * @retval -ENODEV a CPU is offline or does not exist
 * @retval -EINVAL path leads out of the mount point, or cpus is empty
 * @since Linux 2.6.39
 */
PERCH_API int perch_targets_add_cgroup(struct perch_targets *targets, const char *path,
				       const struct perch_cpus *cpus, struct perch_machine *machine,
				       struct perch_error *err);

/**
 * Replaces each target that has cpu -1 by one target for each of some CPUs.
 *
 * @param targets   the list
 * @param cpus      the CPUs; NULL is all online CPUs
 * @param machine   where the online CPUs are read
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_targets_split(struct perch_targets *targets, const struct perch_cpus *cpus,
				  struct perch_machine *machine, struct perch_error *err);

/**
 * Closes the cgroups and frees the list, which is empty afterwards.
 *
 * @param targets  the list; NULL is allowed
 */
PERCH_API void perch_targets_clear(struct perch_targets *targets);

/**
 * What a refused open may do instead of failing, for perch_options.may; 0 is nothing.
 *
 * With both PERCH_MAY_SKIP and PERCH_MAY_EXCLUDE_KERNEL, an event that is not permitted (EACCES)
 * and whose PMU cannot exclude the kernel is skipped.
 */
enum perch_may {
	/** Skip events that the machine does not support (ENOENT, EOPNOTSUPP, EINVAL...), as long
	 * as one event is left. Only sets; other objects refuse it. */
	PERCH_MAY_SKIP = 1 << 0,
	/**
	 * Count only user space where kernel profiling is not permitted (EACCES): exclude_kernel,
	 * exclude_callchain_kernel if samples have call chains, and no TEXT_POKE records. Linux
	 * 7.3, and stable kernels with that change (7.2.10, 6.12.113), need the last two even for
	 * an event that excludes the kernel. An event that occurs only in the kernel
	 * (perch_event_is_kernel_only()) is not opened like that, because its count would be 0: it
	 * is refused, or skipped with PERCH_MAY_SKIP. If the open is refused for user space too,
	 * for another reason, the error has that reason.
	 */
	PERCH_MAY_EXCLUDE_KERNEL = 1 << 1,
	/** Ignore threads that have ended, as long as one target is left. Only sets and samplers;
	 * counters and groups have one target, and refuse it. */
	PERCH_MAY_LOSE_TARGETS = 1 << 2,
	/** As PERCH_MAY_SKIP, but the open succeeds even if every event is skipped. Only sets. */
	PERCH_MAY_SKIP_ALL = 1 << 3,
	/** Above the last bit; it and higher bits are refused. */
	PERCH_MAY_MAX = 1 << 4,
};

/** Side-band records that an event writes in addition to its samples, for perch_options.sideband.
 */
enum perch_sideband {
	/** MMAP2: executable mappings. Since 3.16. */
	PERCH_SIDEBAND_MMAP = 1 << 0,
	/** MMAP2: other mappings; MMAP if used without PERCH_SIDEBAND_MMAP. Since 2.6.36. */
	PERCH_SIDEBAND_MMAP_DATA = 1 << 1,
	/** COMM: thread names, with a flag for exec. Since 3.16. */
	PERCH_SIDEBAND_COMM = 1 << 2,
	/** FORK and EXIT. */
	PERCH_SIDEBAND_TASK = 1 << 3,
	/** SWITCH, or SWITCH_CPU_WIDE on a CPU: context switches. Since 4.3. */
	PERCH_SIDEBAND_SWITCH = 1 << 4,
	/** NAMESPACES. Since 4.12. */
	PERCH_SIDEBAND_NAMESPACES = 1 << 5,
	/** KSYMBOL: code added to the kernel. Since 5.1. */
	PERCH_SIDEBAND_KSYMBOL = 1 << 6,
	/** BPF_EVENT: BPF programs loaded and unloaded. Since 5.1. */
	PERCH_SIDEBAND_BPF = 1 << 7,
	/** CGROUP: names of new cgroups. Since 5.7. */
	PERCH_SIDEBAND_CGROUP = 1 << 8,
	/** TEXT_POKE: changes of kernel code. Since 5.9. */
	PERCH_SIDEBAND_TEXT_POKE = 1 << 9,
	/** Build ids in MMAP2 records. Needs PERCH_SIDEBAND_MMAP. Since 5.12. Before 7.3 this harms
	 * other recordings: their records of the same mappings get the mark of a build id, too
	 * (struct perch_mmap_record), which other programs than this library take for one. */
	PERCH_SIDEBAND_BUILD_ID = 1 << 10,
	/** Above the last bit; it and higher bits are refused. */
	PERCH_SIDEBAND_MAX = 1 << 11,
};

/**
 * Options of an event: everything that perf_event_open(2) offers.
 *
 * 0 is the default of each member and means that the feature is off. Modifiers of the event's text
 * add to the options. Terms of the event's text (struct perch_event_terms) override the options;
 * terms about samples are used only if the options request sampling, that is, if period, frequency
 * or sample is not 0. A member works on all kernels unless its description names a release.
 *
 * Where options may be NULL, the event is a disabled counter that reports its times.
 */
struct perch_options {
	/** Events per sample, 1..2^63-1; 0 uses frequency. Not with frequency.
	 * If both are 0, the event counts. */
	uint64_t period;
	/** Samples per second, at most kernel.perf_event_max_sample_rate; 0 uses period. */
	uint64_t frequency;
	/** Contents of a sample: PERCH_SAMPLE_* bits. */
	uint64_t sample;
	/** Contents of a read(2): PERCH_FORMAT_* bits. Counters, groups and sets add the bits that
	 * they need. */
	uint64_t read;
	/** Side-band records: PERCH_SIDEBAND_* bits. */
	uint32_t sideband;
	/** Samples between wakeups of poll(2); 0 uses wakeup_bytes. Not with wakeup_bytes.
	 */
	uint32_t wakeup_events;
	/** Bytes in the ring that wake up poll(2); 0 is half of the ring. Since 2.6.32.
	 */
	uint32_t wakeup_bytes;
	/** Allowed skid of the sampled address: 0 any, 1 constant, 2 none if possible, 3 none.
	 * Needs sampling. Software events, tracepoints and breakpoints have no skid and ignore it
	 * (perch_lint() reports it), so it can be an option of several events. Since 2.6.35. */
	unsigned precise : 2;
	/** The event is enabled at the open. Otherwise it is disabled (attr.disabled) until it is
	 * enabled.
	 */
	unsigned enabled : 1;
	/** Threads and children that start after the open are counted too. With PERCH_SAMPLE_READ
	 * it needs PERCH_SAMPLE_TID, since 6.12. Events with a path (kprobes and uprobes) are never
	 * inherited, because fork(2) in the measured process would fail: a parsed one, and the
	 * events of its group, have the term no-inherit, which overrides this option; for another
	 * one it is refused. */
	unsigned inherit : 1;
	/** Only threads inherit the event, not child processes. Needs inherit. Since 5.13. */
	unsigned inherit_thread : 1;
	/**
	 * Each task has its own count, and a READ record is written when a task ends. Needs
	 * inherit.
	 *
	 * One task can lack its READ record: when a CPU switches between two tasks with the same
	 * inherited events, the kernel exchanges their events in place of their counts. The task
	 * that ends with the original events, those of the target, writes no record. The others
	 * do. So all records but one come for each target, and all of them with one of these:
	 * - another event of the target that is not inherited, opened before the tasks start (a
	 *   disabled dummy event is enough);
	 * - PERCH_SAMPLE_READ and PERCH_SAMPLE_TID in the samples of the event, since 6.12.
	 */
	unsigned inherit_stat : 1;
	/** The event is always on the PMU; if that is impossible it goes into an error state, in
	 * which read(2) returns 0 bytes. For group leaders only. */
	unsigned pinned : 1;
	/** No other group shares the PMU with this one. For group leaders only. */
	unsigned exclusive : 1;
	/** User space is not counted. */
	unsigned exclude_user : 1;
	/** The kernel is not counted. Unprivileged users need this if kernel.perf_event_paranoid
	 * > 1, and exclude_callchain_kernel with call chains. */
	unsigned exclude_kernel : 1;
	/** The hypervisor is not counted. Few PMUs support it (powerpc). */
	unsigned exclude_hv : 1;
	/** The idle task is not counted. Few PMUs support it (arm64's do not). */
	unsigned exclude_idle : 1;
	/** Only guests are counted. Since 3.2. */
	unsigned exclude_host : 1;
	/** Guests are not counted. Since 3.2. */
	unsigned exclude_guest : 1;
	/** Call chains have no user part. Since 3.7. */
	unsigned exclude_callchain_user : 1;
	/** Call chains have no kernel part. Since Linux 7.3, and in stable kernels with that change
	 * (7.2.10, 6.12.113), unprivileged users need this for PERCH_SAMPLE_CALLCHAIN if
	 * kernel.perf_event_paranoid > 1. Since 3.7. */
	unsigned exclude_callchain_kernel : 1;
	/** The event is enabled when the target calls exec(2). Not with enabled or remove_on_exec.
	 */
	unsigned enable_on_exec : 1;
	/** The event is removed when the target calls exec(2). Not with enable_on_exec. Since 5.13.
	 */
	unsigned remove_on_exec : 1;
	/** All records have the fields TID, TIME, ID, STREAM_ID, CPU and IDENTIFIER of sample.
	 * Since 2.6.38. */
	unsigned sample_id_all : 1;
	/** Overwrite mode: the kernel writes the ring from its end towards its start. The ring must
	 * be mapped read-only. Since 4.7. */
	unsigned write_backward : 1;
	/** Samples are written into the AUX area of the group leader. Not with aux_sample_size,
	 * aux_pause or aux_resume. Since 5.4. */
	unsigned aux_output : 1;
	/** The AUX event starts paused. Not with aux_pause or aux_resume. Since 6.13. */
	unsigned aux_start_paused : 1;
	/** A sample pauses the AUX event of the group. Not with aux_resume. Since 6.13. */
	unsigned aux_pause : 1;
	/** A sample resumes the AUX event of the group. Since 6.13. */
	unsigned aux_resume : 1;
	/** User call chains are collected on the return to user space, see struct perch_deferred.
	 * Needs PERCH_SAMPLE_CALLCHAIN and an event with defer_output. A call graph mode other than
	 * PERCH_CALL_GRAPH_FP clears it. Since 6.19. */
	unsigned defer_callchain : 1;
	/** CALLCHAIN_DEFERRED records of the threads that the event measures are written into its
	 * ring. One event is enough; samplers set it for the event with the side-band records. For
	 * all threads of a CPU the kernel writes them only to an event with side-band records too:
	 * MMAP, COMM, TASK, SWITCH, KSYMBOL, BPF or TEXT_POKE. Since 6.19. */
	unsigned defer_output : 1;
	/** Each sample sends SIGTRAP to the thread. Needs sampling and remove_on_exec. Since 5.13.
	 */
	unsigned sigtrap : 1;
	/** Times are those of clockid. Otherwise they are those of the kernel's own clock.
	 * Since 4.1. */
	unsigned use_clockid : 1;
	/** CLOCK_MONOTONIC or CLOCK_MONOTONIC_RAW. Events that never occur in an NMI, such as
	 * software events, also take CLOCK_REALTIME, CLOCK_BOOTTIME and CLOCK_TAI. All events of a
	 * group and of a ring must have the same clock. Needs use_clockid. Since 4.1. */
	int32_t clockid;
	/** The value of si_perf_data in the SIGTRAP handler, truncated to the size of a long. Needs
	 * sigtrap. Since 5.13. */
	uint64_t sig_data;
	/** Branches to record: PERCH_SAMPLE_BRANCH_* bits, at least one branch type. Needs
	 * PERCH_SAMPLE_BRANCH_STACK. Since 3.4. */
	uint64_t branch_sample_type;
	/** User registers: bit n is register n of asm/perf_regs.h. Needs PERCH_SAMPLE_REGS_USER.
	 * Since 3.7. */
	uint64_t sample_regs_user;
	/** Registers at the sampled instruction, as in sample_regs_user. Needs
	 * PERCH_SAMPLE_REGS_INTR. Since 3.19. */
	uint64_t sample_regs_intr;
	/** Bytes of the user stack in a sample: a multiple of 8, 8..65528. Needs
	 * PERCH_SAMPLE_STACK_USER. Since 3.7. */
	uint32_t sample_stack_user;
	/** Bytes in the AUX area that wake up poll(2); 0 is half of the area. Events without an AUX
	 * area ignore it (perch_lint() reports it), so it can be an option of several events. Since
	 * 4.1. */
	uint32_t aux_watermark;
	/** Bytes of AUX data in a sample, 1..65535. Needs PERCH_SAMPLE_AUX. Since 5.5. */
	uint32_t aux_sample_size;
	/** Frames of a call chain, at most kernel.perf_event_max_stack; 0 is that maximum. Needs
	 * PERCH_SAMPLE_CALLCHAIN. Since 4.8. */
	uint16_t sample_max_stack;
	/** Counters, groups and sets are read without a system call where the machine allows it,
	 * see perch_counter_self_monitoring(). Samplers ignore it. arm64 needs an event on a thread
	 * and kernel.perf_user_access = 1, since 5.17. */
	unsigned self_monitoring : 1;
	/**
	 * Descriptors of counters, groups and sets stay open after exec(2), for
	 * perch_counter_from_fd() in the new program. By default exec(2) closes them. Samplers
	 * ignore it: their rings end with the memory of the process.
	 */
	unsigned no_cloexec : 1;
	/**
	 * Features that may be omitted on kernels that do not have them: each field that is not 0,
	 * and each bit of sample_type, read_format and branch_sample_type. NULL is none.
	 * perch_open_optional(), perch_counter_missing_features() and others report what was
	 * omitted.
	 */
	const struct perch_attr *optional;
	/** What a refused open may do instead of failing: PERCH_MAY_* bits. perch_attr_build() only
	 * checks them. */
	uint32_t may;
	/** The machine, and the system calls to use. NULL is this machine: after a refusal its
	 * facts are read for the error. A machine keeps them for later errors. */
	struct perch_machine *machine;
	uint64_t reserved[16]; /**< must be 0 */
};

/**
 * Builds the attr of an event.
 *
 * From event.attr it takes what a parsed event has: type, the config fields, the breakpoint, the
 * exclude_* bits, precise_ip, pinned, exclusive, and the period or frequency. Other fields belong
 * to the options: an event whose attr has them is refused with -EINVAL.
 *
 * attr.size is the smallest that holds the fields that are set, so old kernels accept it.
 *
 * @param[out] attr  the attr
 * @param event      the event
 * @param options    NULL is a disabled counter that reports its times
 * @param[out] err   the reason of a failure; it names both options of a contradiction
 * @return 0, or a negative errno
 * @retval -EINVAL options contradict each other, or a value is out of range
 */
PERCH_API int perch_attr_build(struct perch_attr *attr, const struct perch_event *event,
			       const struct perch_options *options, struct perch_error *err);

/**
 * Sets the options of a call graph mode, as the option --call-graph of perf does. An earlier mode
 * is replaced.
 *
 * PERCH_CALL_GRAPH_LBR becomes PERCH_CALL_GRAPH_FP with exclude_user, or if the options already
 * sample branches, because the CPU records only one branch type.
 *
 * @param options      the options to change
 * @param mode         the mode; PERCH_CALL_GRAPH_UNSET changes nothing
 * @param stack_bytes  for PERCH_CALL_GRAPH_DWARF: bytes of the user stack in each sample, at most
 *                     65528, rounded up to a multiple of 8; 0 is 8192
 * @param[out] err     the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_options_set_call_graph(struct perch_options *options,
					   enum perch_call_graph_mode mode, uint32_t stack_bytes,
					   struct perch_error *err);

/**
 * Calls perf_event_open(2), with PERCH_FLAG_FD_CLOEXEC added to flags (fcntl(2) F_SETFD clears it).
 *
 * err explains a refusal, with facts of the machine that are read after the refusal: /proc and /sys
 * of this machine if machine is NULL. Without a refusal, and if err is NULL, nothing is read.
 *
 * A breakpoint on a machine where breakpoints never fire is closed again (-EOPNOTSUPP), if machine
 * has found that or may probe, see perch_machine_breakpoints_fire(). This holds for all functions
 * that open events.
 *
 * Async-signal-safe.
 *
 * @param attr      the attr
 * @param target    thread, CPU or cgroup
 * @param group_fd  the group leader; -1 is no group
 * @param flags     PERCH_FLAG_* bits
 * @param machine   the machine
 * @param[out] err  the reason of a failure
 * @return the descriptor, or a negative errno
 */
PERCH_API int perch_open(const struct perch_attr *attr, const struct perch_target *target,
			 int group_fd, unsigned long flags, struct perch_machine *machine,
			 struct perch_error *err);

/**
 * Calls perf_event_open(2), and omits optional features that the kernel refuses (E2BIG, EINVAL).
 *
 * The newest features are omitted first, until the kernel accepts the attr. Then each of them
 * except the last is added again, and kept if the kernel accepts it. If the kernel refuses the attr
 * without all of them too, err explains that refusal.
 *
 * @param attr                   the attr; on success it becomes the attr that the kernel accepted
 * @param optional               features that may be omitted: each field that is not 0, and each
 * bit of sample_type, read_format and branch_sample_type; NULL is none
 * @param target                 thread, CPU or cgroup
 * @param group_fd               the group leader; -1 is no group
 * @param flags                  PERCH_FLAG_* bits
 * @param machine                the machine
 * @param[out] missing_features  the omitted features; NULL is allowed
 * @param[out] err               the reason of a failure
 * @return the descriptor, or a negative errno
 */
PERCH_API int perch_open_optional(struct perch_attr *attr, const struct perch_attr *optional,
				  const struct perch_target *target, int group_fd,
				  unsigned long flags, struct perch_machine *machine,
				  struct perch_attr *missing_features, struct perch_error *err);

/**
 * The relation between the clock of the CPU (TSC on x86, virtual counter on arm64) and times of
 * samples without clockid. The members have the names of those of a TIME_CONV record and of
 * struct perch_mmap_page.
 */
struct perch_clock_conversion {
	uint64_t time_zero;   /**< the time when the clock was 0, in ns */
	uint32_t time_mult;   /**< multiplier; not 0 */
	uint16_t time_shift;  /**< shift, at most 31 */
	uint64_t time_cycles; /**< a value of the clock; 0 without time_mask */
	uint64_t time_mask;   /**< bits of the clock; 0 is a clock of 64 bits */
	uint64_t reserved[2]; /**< for members of later versions */
};

/**
 * Reads the relation from the control page of an event.
 *
 * It holds for all events of the machine, until the kernel adjusts its clock. Async-signal-safe if
 * err is NULL.
 *
 * @param[out] clock  the relation
 * @param page        the first page of the mapping of an event
 * @param[out] err    the reason of a failure
 * @return 0, or a negative errno
 * @retval -EOPNOTSUPP the machine has no such relation (cap_user_time_zero is 0)
 * @since Linux 3.12
 */
PERCH_API int perch_clock_from_page(struct perch_clock_conversion *clock,
				    const struct perch_mmap_page *page, struct perch_error *err);

/**
 * Checks the members of a relation that comes from elsewhere, such as a TIME_CONV record.
 *
 * @param clock     the relation
 * @param[out] err  the reason of a failure
 * @return 0, or -EINVAL if it cannot be used
 */
PERCH_API int perch_clock_check(const struct perch_clock_conversion *clock,
				struct perch_error *err);

/** Converts cycles of the CPU's clock to a time of samples, in ns. It cannot fail with a relation
 * that perch_clock_check() accepts. Async-signal-safe. */
PERCH_API uint64_t perch_clock_to_time(const struct perch_clock_conversion *clock, uint64_t cycles);

/** Converts a time of samples, in ns, to cycles of the CPU's clock, see perch_clock_to_time(). The
 * result is exact to the cycles of one ns. Async-signal-safe. */
PERCH_API uint64_t perch_clock_from_time(const struct perch_clock_conversion *clock, uint64_t time);

/**
 * Reads the times of an event from its control page, without a system call.
 *
 * They are those of the last time when the kernel wrote the page: when it put the event on the PMU
 * or took a hardware event off it, and when the page was mapped. A read(2) returns the times of
 * now. Async-signal-safe if err is NULL.
 *
 * @param page             the first page of the mapping of an event
 * @param[out] enabled_ns  nanoseconds enabled since the open
 * @param[out] running_ns  nanoseconds on the PMU since the open
 * @param[out] err         the reason of a failure
 * @return 0, or -EAGAIN if the page was being written during each of many attempts
 */
PERCH_API int perch_page_times(const struct perch_mmap_page *page, uint64_t *enabled_ns,
			       uint64_t *running_ns, struct perch_error *err);

/**
 * Formats the names of the features in an attr that are not 0, such as "ksymbol, sample_type
 * CGROUP".
 *
 * @param attr         the attr, for example from perch_counter_missing_features()
 * @param[out] buffer  the text, truncated if it is too long
 * @param size         bytes of buffer
 * @return buffer
 */
PERCH_API const char *perch_format_attr_features(const struct perch_attr *attr, char *buffer,
						 size_t size);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The recorder: from events, targets and options to a complete perf.data file, a pipe, or a
 * function.
 *
 * A recorder opens the events by a sampler (perch/sampler.h), and writes what the rings get. It
 * also writes what a reader needs: records of what already runs, build ids of mapped files,
 * features that describe the machine, formats of tracepoints, and numbers of lost records.
 *
 *	perch_recorder_open(&recorder, "cpu-clock", &targets, &options, &err);
 *	perch_recorder_start(recorder, &err);
 *	while (!done && perch_sampler_wait(perch_recorder_sampler(recorder), 100, &err) != -ENODATA)
 *		perch_recorder_write(recorder, &err);
 *	perch_recorder_stop(recorder, &err);
 *	perch_recorder_end_file(recorder, &err);
 *	perch_recorder_close(recorder);
 *
 * The file is readable at every moment, see perch/file.h. A recorder prints nothing: what a user
 * may want to know is in its results. It starts threads if .durable or .threads
 * is set, else none.
 *
 * In all functions err may be NULL. Functions without err cannot fail.
 *
 * Threads: one thread per recorder at a time. It may be one of the threads that are recorded. It
 * sets its name, to the same one, because the COMM record of that dates the recording.
 *
 * Fork: a recorder belongs to the process that opened it, because both processes would write to the
 * same place of the file. In a child, functions that change the recording fail with -ESTALE, and
 * perch_recorder_close() closes the events of the child only.
 *
 * Signals: no function is async-signal-safe.
 */
#ifndef PERCH_RECORDER_H
#define PERCH_RECORDER_H

#include <perch/channel.h>
#include <perch/file.h>
#include <perch/off_cpu.h>
#include <perch/sampler.h>
#include <perch/session.h>
#include <perch/synthesize.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A recorder. */
struct perch_recorder;

/** What perch_recorder_open() does about hardware cycles on a machine that does not count them. */
enum perch_recorder_cycles {
	PERCH_RECORDER_CYCLES_REQUIRED, /**< it fails */
	PERCH_RECORDER_CYCLES_REPLACED, /**< it samples by the timer cpu-clock instead */
	/** The same also if only the precision of the event is not supported: for an event that the
	 * user has not chosen. */
	PERCH_RECORDER_CYCLES_DEFAULT,
};

/** Where the build ids in MMAP2 records come from. */
enum perch_recorder_map_ids {
	/** From the kernel if that harms no other recording, or else from the recorder. */
	PERCH_RECORDER_IDS_DEFAULT,
	/** From the kernel (attr.build_id). Releases since 5.12 mark the records of other
	 * recordings, too, except 6.12.113, 7.2.11, 7.3 and later ones. */
	PERCH_RECORDER_IDS_OF_KERNEL,
	/** The recorder reads them when it takes the record of a mapping from a ring. */
	PERCH_RECORDER_IDS_OF_RECORDER,
	PERCH_RECORDER_NO_IDS, /**< the records have device and inode */
};

/**
 * Receives the records of a recorder, in the order in which a file has them.
 *
 * @param context   perch_recorder_options.context
 * @param pieces    whole records, valid during the call; one may lie in several pieces
 * @param nr        number of pieces
 * @param[out] err  the reason of a failure; may be NULL
 * @return 0, or a negative errno, with which the recording fails
 */
typedef int perch_recorder_sink(void *context, const struct iovec *pieces, int nr,
				struct perch_error *err);

/** Records of what already runs that a recording may be without (.without): it starts earlier
 * where many processes run. Addresses of processes without them have no symbols. */
enum perch_recorder_without {
	PERCH_RECORDER_WITHOUT_TASKS = 1 << 0,	  /**< names and mappings of processes */
	PERCH_RECORDER_WITHOUT_MAPPINGS = 1 << 1, /**< mappings of processes */
	PERCH_RECORDER_WITHOUT_CGROUPS = 1 << 2,  /**< names of cgroups */
};

/** The time between calls of perch_recorder_write(), in ms. */
#define PERCH_RECORDER_WRITE_MS 200

/** How to record. Zeros are the defaults. */
struct perch_recorder_options {
	/**
	 * How the events are opened. Give a rate, .event.period or .event.frequency, unless
	 * the events have one: an event without a rate takes no samples, and is no error, because
	 * a recording may be of side-band records alone. The recorder adds to .event what
	 * recordings always have: address, thread and time in samples, the ids and, since
	 * Linux 6.0, the numbers of lost records, and side-band records of mappings, names, tasks
	 * and symbols of the kernel. Parts that the kernel is too old for are left out, and targets
	 * that have ended.
	 */
	struct perch_sampler_options sampler;
	/** What to do about hardware cycles. */
	enum perch_recorder_cycles cycles;

	/** The file, see perch_writer_open(). The string must outlive the recorder. With .several,
	 * the file that is open; each one is renamed to path.YYYYMMDDHHMMSSNN at its end. */
	const char *path;
	/** Without .path: the descriptor that gets a recording in pipe format, see
	 * perch_writer_open_fd(). 0 is none. */
	int fd;
	/** Without .path and .fd: receives the records. The attrs are those of
	 * perch_recorder_events(). */
	perch_recorder_sink *sink;
	void *context; /**< passed to .sink */

	/** Records of .path and .fd are compressed: see perch_writer_compress(), which has the
	 * levels. 0: they are not. */
	int compression_level;
	/** By records of the type COMPRESSED2, which perf reads from 6.16 on, instead of
	 * COMPRESSED, which each perf from 5.2 on reads. */
	bool compressed2;

	/**
	 * The rings are read by threads, of which each writes a file of a directory, which .path
	 * names. NULL: the thread of the program reads them, and no thread is started. "cpu",
	 * "core", "package" or "numa": a thread for each of these, which reads their rings and runs
	 * on their CPUs. Or for each thread two lists of CPUs: whose rings it reads, and on which
	 * it runs: "0-3/0:4-7/4". Each ring needs one thread. Excludes .several,
	 * .sampler.overwrite, .sampler.per_thread, .durable and .off_cpu. The string must outlive
	 * the recorder.
	 *
	 * perch_recorder_write() then only checks the threads. Wait by perch_recorder_fd(), not by
	 * the sampler. The threads block all signals but SIGBUS, and those of writing, SIGPIPE and
	 * SIGXFSZ.
	 */
	const char *threads;

	/** The recording is several files. Each begins with the mappings, names and tasks before
	 * it, so it is complete. */
	bool several;
	uint64_t switch_bytes; /**< another file is due at this size; 0 is never */
	uint64_t switch_ms;    /**< another file is due after this time; 0 is never */
	/** Older files are removed, so that this number is left; 0 keeps all. */
	uint64_t max_files;

	/** perch_recorder_start() does not enable the events: the program does so later
	 * (perch_sampler_enable()), or an execve(2) (.sampler.event.enable_on_exec). */
	bool disabled;
	/** A child that was forked, and that has not executed its program yet: its name is that of
	 * the calling thread until then. It must be the only target, or the only one of
	 * .descendants_of. 0 is none. */
	pid_t child;
	bool no_kernel;	   /**< no records of the kernel, its modules and BPF programs */
	bool no_bpf;	   /**< no records of BPF programs */
	bool no_build_ids; /**< no feature BUILD_ID */
	/** Where the build ids in records come from. */
	enum perch_recorder_map_ids map_ids;
	/** Mapped files are kept open, up to 256, for perch_recorder_fill_cache(). */
	bool pin_files;
	/**
	 * The file survives a failure of the machine, but for the last second at most, if
	 * perch_recorder_write() is called as it says. A thread calls fdatasync(2), so that the
	 * rings are read meanwhile. At its end, the file is on the disk before it gets its name
	 * and perch_recorder_end_file() returns. Only for a regular file (.path).
	 */
	bool durable;
	/** Samples of timers may take more than half of a CPU. */
	bool any_cost;

	/** Of the program, for the feature VERSION; NULL: of the library. It must outlive the
	 * recorder, as .sampler.event.machine must. */
	const char *version;
	int argc;	   /**< number of arguments of the program; 0 leaves CMDLINE out */
	char *const *argv; /**< arguments of the program, which must outlive the recorder */
	/**
	 * Records off-CPU time as well: the event "offcpu-time" is added, see perch/off_cpu.h. A
	 * sampler of its own counts each context switch of the targets, see
	 * perch_recorder_off_cpu_sampler(). Where this user may not profile the kernel
	 * (PERCH_MAY_EXCLUDE_KERNEL), the samples have no call chain. Not with .sampler.overwrite
	 * and .sampler.event_targets. The targets must be on all CPUs: a thread that continues on a
	 * CPU without events, which may have been offline at the open, counts as off the CPU.
	 */
	bool off_cpu;
	/**
	 * With .off_cpu: samples have who woke the thread, if that was a target, too, from
	 * sched:sched_waking. It needs tracefs and the right to use tracepoints (CAP_PERFMON).
	 */
	bool off_cpu_wakers;
	/** An interval of at least this time is a sample. Shorter ones are added up by thread,
	 * state and call chain, for a second each. */
	uint64_t off_cpu_threshold_ns;
	/**
	 * Of the records of CPUs, which the targets must be, only those of these processes and of
	 * their descendants are written; those of other processes are dropped when they are taken
	 * from the rings. So timers run on from one process to the next, and processes that end
	 * within a period have their share of the samples. A process is named by the id of any of
	 * its threads. Processes that start later are known by their FORK records, and running
	 * ones by their parents in /proc. NULL: all processes. Not needed after the return of
	 * perch_recorder_open(). Excludes .threads, .off_cpu, .sampler.overwrite,
	 * .sampler.event_targets and PERCH_SIDEBAND_SWITCH, whose records name other processes.
	 *
	 * The timers interrupt all CPUs, also those on which none of the processes runs: at 4000 Hz
	 * and on 256 CPUs a million times a second. A program should choose this by itself only at
	 * low rates; perch record does so up to 1000 interrupts a second of all CPUs.
	 */
	const pid_t *descendants_of;
	size_t nr_descendants_of;
	uint64_t without;      /**< enum perch_recorder_without */
	uint64_t reserved[11]; /**< must be 0 */
};

/** What was recorded. The members up to .overwritten are those of the file that is open, or that
 * ended last. */
struct perch_recorder_stats {
	uint64_t samples;   /**< SAMPLE records */
	uint64_t throttled; /**< THROTTLE records */
	/** Records that were lost because the rings were full. Known when the file has ended. With
	 * .sampler.overwrite, the ones lost while the rings were paused. */
	uint64_t lost;
	uint64_t first_time; /**< of the samples, in ns by their clock; 0 without samples */
	uint64_t last_time;  /**< of the samples */
	/** .sampler.overwrite: bytes that newer records replaced since the file before. */
	uint64_t overwritten;
	uint64_t files; /**< that have ended */
	/** Mappings, names and tasks that were lost with .sampler.overwrite, in all files. */
	uint64_t lost_sideband;
	/** Mappings, names and tasks that later files lack, because they exceeded 64 MiB. */
	uint64_t dropped_sideband;
	uint64_t unwritten_bytes;   /**< of records that could not be written */
	uint64_t unwritten_samples; /**< among them */
	uint64_t missing_files;	    /**< mapped files that could not be opened for a build id */
	const char *missing_path;   /**< one of them, not trusted; valid until the next call */
	uint64_t denied;	    /**< processes whose mappings this user may not read */
	uint64_t denied_pid;	    /**< one of them */
	/** The last file that has ended; valid until the next one ends. NULL: none, or no file. */
	const char *path;
	bool open; /**< a file is open */
	/** Bytes of the records of the file that is open, or that ended last, before they were
	 * compressed. */
	uint64_t record_bytes;
	uint64_t reserved[7]; /**< for members of later versions */
};

/** The off-CPU time of a recording, known after perch_recorder_stop(). */
struct perch_recorder_off_cpu {
	uint64_t intervals;	/**< in samples, those of sums included */
	uint64_t ns;		/**< their time */
	uint64_t summed;	/**< intervals in sums */
	uint64_t summed_ns;	/**< their time */
	uint64_t without_stack; /**< intervals in samples without a call chain */
	uint64_t not_ended;	/**< intervals that the end of the recording has ended */
	/** Intervals during which records were lost: the thread may have run meanwhile. They are in
	 * no sample. */
	uint64_t uncertain;
	uint64_t uncertain_ns; /**< their time */
	uint64_t dropped;      /**< intervals in no sample because memory was short */
	uint64_t dropped_ns;   /**< their time */
	uint64_t lost;	       /**< records of switches that were lost */
	bool stacks;	       /**< samples have call chains: this user may profile the kernel */
	/** Targets that waited already when the events were enabled, and whose /proc/TID/stack this
	 * user may not read: their first interval has no call chain. */
	uint64_t hidden_waits;
	uint64_t reserved[3]; /**< for members of later versions */
};

/** What a recording may lack because it could not be read. */
enum perch_recorder_part {
	PERCH_RECORDER_CGROUPS,	   /**< names of cgroups */
	PERCH_RECORDER_KERNEL,	   /**< addresses of the kernel and its modules */
	PERCH_RECORDER_BPF,	   /**< names of BPF programs */
	PERCH_RECORDER_NAMESPACES, /**< namespaces of .child */
	PERCH_RECORDER_PROCESSES,  /**< mappings of processes */
	PERCH_RECORDER_NR_PARTS
};

/**
 * Opens the events. They are disabled, and nothing is written.
 *
 * If timers (cpu-clock, task-clock, or the one that replaces cycles) would take more than 1000
 * samples per second, it first measures what one costs on this machine, in about 2 ms
 * (perch_machine_sample_cost()). The user's cache directory keeps the result until the next boot
 * (~/.cache/perch/sample-cost; PERCH_CACHE=off in the environment: it does not). In a virtual
 * machine, a short period can leave no CPU time for anything else: it fails if the samples would
 * take more than half of a CPU.
 *
 * @param[out] recorder  the new recorder; NULL after a failure
 * @param events         see perch-events(7)
 * @param targets        threads or CPUs; not needed after the return; NULL is all threads of the
 *                       calling process. For threads that start later, set .sampler.event.inherit.
 * @param options        not needed after the return
 * @param[out] err       the reason of a failure, explained
 * @return 0, or a negative errno, see perch_sampler_open()
 * @retval -EINVAL  the options contradict each other
 * @retval -ERANGE  samples would take too much CPU time, see .any_cost
 */
PERCH_API int perch_recorder_open(struct perch_recorder **recorder, const char *events,
				  const struct perch_targets *targets,
				  const struct perch_recorder_options *options,
				  struct perch_error *err);

/**
 * Opens parsed events as perch_recorder_open() does.
 *
 * @param[out] recorder  the new recorder; NULL after a failure
 * @param events         the events; not needed after the return. Replaced ones (.cycles)
 *                       change, and equal software events get samples of the same fields.
 * @param targets        as of perch_recorder_open()
 * @param options        not needed after the return
 * @param[out] err       the reason of a failure, explained
 * @return 0, or a negative errno
 */
PERCH_API int perch_recorder_open_events(struct perch_recorder **recorder,
					 struct perch_events *events,
					 const struct perch_targets *targets,
					 const struct perch_recorder_options *options,
					 struct perch_error *err);

/**
 * Frees the recorder and closes its events. A file that is still open stays as it is: readable,
 * without features, except in a pipe.
 *
 * @param recorder  NULL is allowed
 */
PERCH_API void perch_recorder_close(struct perch_recorder *recorder);

/**
 * Returns the sampler, to enable and disable the events, to wait for records, and for facts of the
 * events. Do not read records of a recorder that was started, and do not add or remove
 * threads.
 *
 * @param recorder  the recorder, which owns the sampler
 */
PERCH_API struct perch_sampler *perch_recorder_sampler(struct perch_recorder *recorder);

/**
 * Returns the events as a file has them: those of the caller, and the tracking event.
 *
 * @param recorder     the recorder
 * @param[out] events  the events; valid until perch_recorder_close()
 * @return the number of events
 */
PERCH_API size_t perch_recorder_events(const struct perch_recorder *recorder,
				       const struct perch_file_event **events);

/** Returns true if the timer cpu-clock has replaced hardware cycles (.cycles). */
PERCH_API bool perch_recorder_replaced_cycles(const struct perch_recorder *recorder);

/**
 * Enables the events, unless the options say otherwise, and if CPUs are recorded, reads all
 * processes before. Writes nothing.
 *
 * perch_recorder_start() does this if it was not done. A program that starts what it records calls
 * it before the execve(2), and perch_recorder_start() after it: if the execve(2) fails, no file is
 * made, and an earlier one is not replaced.
 *
 * @param recorder  the recorder
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_recorder_prepare(struct perch_recorder *recorder, struct perch_error *err);

/**
 * Enables the events: those of the sampler, and those of off-CPU time.
 *
 * @param recorder  the recorder
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_recorder_enable(struct perch_recorder *recorder, struct perch_error *err);

/**
 * Disables the events. The off-CPU time of threads that wait ends now; perch_recorder_write()
 * writes it.
 *
 * @param recorder  the recorder
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_recorder_disable(struct perch_recorder *recorder, struct perch_error *err);

/**
 * Opens the file, and writes the records of what already runs. With .sampler.overwrite it keeps
 * these records, and opens no file: perch_recorder_end_file() writes one.
 *
 * @param recorder  the recorder
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno. What could not be read is no failure: perch_recorder_lacks().
 * @retval -EINVAL  there is no .path, .fd and .sink, or it was started before
 */
PERCH_API int perch_recorder_start(struct perch_recorder *recorder, struct perch_error *err);

/**
 * Returns a descriptor that is readable when perch_recorder_write() is to be called: the rings have
 * data to half of their size, or targets have ended. With .threads, when a thread has failed, or
 * targets have ended.
 *
 * @param recorder  the recorder, which owns the descriptor
 * @param[out] err  the reason of a failure
 * @return the descriptor, or a negative errno
 */
PERCH_API int perch_recorder_fd(struct perch_recorder *recorder, struct perch_error *err);

/** Returns true if all targets have ended and the rings are empty; with .descendants_of, if none of
 * the processes runs. */
PERCH_API bool perch_recorder_ended(struct perch_recorder *recorder);

/**
 * Writes the records that the rings have, and one FINISHED_ROUND after them: at most what the rings
 * had when it began. Call it when the descriptor of the sampler (perch_sampler_fd()) is readable,
 * and each PERCH_RECORDER_WRITE_MS: then the file has what is older if the process is killed, and
 * files of programs that end soon are found while they run.
 *
 * @param recorder  the recorder
 * @param[out] err  the reason of a failure
 * @return the number of bytes, 0 if the rings were empty, or a negative errno: the recording has
 *         failed, and what could not be written is counted in the statistics
 */
PERCH_API ssize_t perch_recorder_write(struct perch_recorder *recorder, struct perch_error *err);

/**
 * Carries out the commands enable, disable and ping of a channel (perch/channel.h); the others are
 * those of the program. The tracking event stays enabled, so mappings and names are recorded while
 * the samples are disabled; set .sampler.tracking_event for this.
 *
 * @param recorder  the recorder
 * @param request   the command
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @retval -ENOENT      no event has this name
 * @retval -EOPNOTSUPP  the command is another one
 */
PERCH_API int perch_recorder_control(struct perch_recorder *recorder,
				     const struct perch_channel_request *request,
				     struct perch_error *err);

/**
 * Disables the events, and writes what the rings still have. After a failure nothing is written:
 * the records are only counted.
 *
 * @param recorder  the recorder
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_recorder_stop(struct perch_recorder *recorder, struct perch_error *err);

/**
 * Ends the file: writes the numbers of lost records and the features, and closes it. With
 * .sampler.overwrite it writes a file with the records that are in the rings now.
 *
 * Does this also after a failure, as far as possible: a file on a full disk has its records.
 *
 * @param recorder  the recorder
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 * @retval -EINVAL  no file is open
 */
PERCH_API int perch_recorder_end_file(struct perch_recorder *recorder, struct perch_error *err);

/**
 * Continues with another file after perch_recorder_end_file(), which has succeeded.
 *
 * @param recorder  opened with .several
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_recorder_next_file(struct perch_recorder *recorder, struct perch_error *err);

/**
 * Returns true if another file is due, by .switch_bytes or .switch_ms.
 *
 * @param recorder        the recorder
 * @param[in,out] wait_ms becomes at most the time until .switch_ms has passed
 */
PERCH_API bool perch_recorder_file_due(const struct perch_recorder *recorder, int *wait_ms);

/** Returns the bytes of records that the open file has, or that .sink has got; 0 without one. */
PERCH_API uint64_t perch_recorder_file_size(const struct perch_recorder *recorder);

/**
 * Returns the sampler of off-CPU time, to wait for its records: call perch_recorder_write() when
 * the descriptor of either sampler is readable.
 *
 * @param recorder  the recorder, which owns the sampler
 * @return the sampler; NULL without .off_cpu
 */
PERCH_API struct perch_sampler *perch_recorder_off_cpu_sampler(struct perch_recorder *recorder);

/** Returns the numbers of off-CPU time, in *off_cpu; zeros without .off_cpu. */
PERCH_API void perch_recorder_get_off_cpu(const struct perch_recorder *recorder,
					  struct perch_recorder_off_cpu *off_cpu);

/** Returns the statistics, in *stats. */
PERCH_API void perch_recorder_get_stats(const struct perch_recorder *recorder,
					struct perch_recorder_stats *stats);

/**
 * Returns what the recording costs: .sample_ns and .rate since it was opened, all of it for the
 * file that ended last. A file has it as feature RECORDING_COST, a pipe does not.
 *
 * @param recorder   the recorder
 * @param[out] cost  the cost
 */
PERCH_API void perch_recorder_get_cost(const struct perch_recorder *recorder,
				       struct perch_recording_cost *cost);

/**
 * Returns the number of records that a ring has lost, in the file that ended last.
 *
 * @param recorder  the recorder
 * @param event     index of the event that lost them. SIZE_MAX: the sum of the LOST records, for
 *                  kernels before Linux 6.0, which do not know the event; 0 on later ones
 * @param ring      index of a ring of the sampler
 */
PERCH_API uint64_t perch_recorder_lost(const struct perch_recorder *recorder, size_t event,
				       size_t ring);

/**
 * Returns why the recording lacks a part, or only has some of it.
 *
 * @param recorder  the recorder
 * @param part      the part
 * @return the reason; valid until perch_recorder_close(). NULL: nothing is missing.
 */
PERCH_API const struct perch_error *perch_recorder_lacks(const struct perch_recorder *recorder,
							 enum perch_recorder_part part);

/**
 * Adds the files that have samples in the file that ended last to the build id cache. With
 * .pin_files also files that are deleted, or whose process, container or mount has ended.
 *
 * @param recorder      the recorder
 * @param cache         the cache
 * @param[out] missing  the files that cannot be added are counted; set to zeros before
 * @param[out] err      the reason of a failure
 * @return 0, or a negative errno, see perch_session_fill_cache()
 * @retval -EINVAL  no file has ended
 */
PERCH_API int perch_recorder_fill_cache(const struct perch_recorder *recorder,
					const struct perch_build_id_cache *cache,
					struct perch_missing_files *missing,
					struct perch_error *err);

/**
 * Passes records of what already runs to a function: the kernel, BPF programs, cgroups and the
 * processes that are measured. For a program that does not start the recorder and takes the records
 * of the sampler itself:
 *
 *     perch_recorder_synthesize(recorder, perch_processes_apply_synthesized, processes, &err);
 *
 * What could not be read is no failure: perch_recorder_lacks() and the statistics have it.
 *
 * @param recorder  the recorder, which was not started
 * @param sink      the function; the records end without a sample id
 * @param context   passed to the function
 * @param[out] err  the reason of a failure
 * @return 0, or the negative errno of the sink
 */
PERCH_API int perch_recorder_synthesize(struct perch_recorder *recorder,
					perch_synthesize_sink *sink, void *context,
					struct perch_error *err);

/**
 * Writes a file that has the events, and no records: a session that opens it takes those of the
 * sampler (perch_session_put()).
 *
 * @param recorder  the recorder
 * @param path      the file, see perch_writer_open()
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_recorder_write_events(const struct perch_recorder *recorder, const char *path,
					  struct perch_error *err);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The sampler: opens events on CPUs and threads, with one ring per CPU, and reads their records.
 *
 * Threads: one thread per sampler at a time. Different samplers may be used at the same time.
 *
 * Fork: in a child of fork(2) the descriptors of a sampler still mean the events of the parent, and
 * its rings are not mapped. Functions on a sampler that was opened before the fork return -ESTALE
 * there (PERCH_ERROR_FORK) and do not change it; perch_sampler_ended() returns true. Names, attrs,
 * ids, statistics and numbers of rings can be read: they are those at the fork. Closing is allowed:
 * it closes the descriptors of the child and frees its memory, and the parent goes on. The kernel
 * keeps an event until each copy of its descriptor is closed, so a child that lives long should
 * close the samplers of its parent. It can open its own. The check makes no system call. A child of
 * vfork(2), or of clone(2) with CLONE_VM, uses the memory of its parent, and must leave its
 * samplers alone.
 *
 * Signals: a function is async-signal-safe only if its description says so. The rings of a sampler
 * have more of these functions, see perch/ring.h.
 */
#ifndef PERCH_SAMPLER_H
#define PERCH_SAMPLER_H

#include <poll.h>
#include <perch/open.h>
#include <perch/ring.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A sampler: events, opened on threads and CPUs, and one ring per CPU or per thread. */
struct perch_sampler;

/** Options of a sampler. Zeros are the defaults. */
struct perch_sampler_options {
	/**
	 * For every event. .sample also gets PERCH_SAMPLE_TID and PERCH_SAMPLE_TIME, with several
	 * events or a tracking event PERCH_SAMPLE_IDENTIFIER, and sample_id_all is set.
	 */
	struct perch_options event;
	/**
	 * Size of a ring in pages, a power of two. A size that cannot hold one sample is refused
	 * with -EINVAL.
	 *
	 * 0 is a default that leaves memory for other samplers: 512 KiB, or 128 KiB with
	 * .per_thread, but all rings together take at most a quarter of the memory that the user
	 * may lock: kernel.perf_event_mlock_kb x online CPUs + RLIMIT_MEMLOCK. The size is halved
	 * until that holds, and again when the kernel refuses a ring because of that limit, down to
	 * 4 pages or to what holds one sample. With .per_thread the ring of a thread that is added
	 * takes at most an eighth of what is left of that quarter; when it is used up, 4 pages.
	 * With CAP_IPC_LOCK and with kernel.perf_event_paranoid -1 there is no limit.
	 */
	size_t ring_pages;
	/**
	 * Use rings of mode OVERWRITE, which keep the newest records and are read by
	 * perch_sampler_snapshot(). The side-band records of .event.sideband then come from a
	 * tracking event with a forward ring per CPU, which is drained as usual.
	 */
	bool overwrite;
	/**
	 * One ring per thread instead of one per CPU: each event is opened once per thread, for any
	 * CPU, as by `perf record --per-thread`. For threads that sample themselves: a program with
	 * 200 threads on 128 CPUs needs 200 rings instead of 25600. Each target must be a thread
	 * with cpu -1. Not with inherit, in options or terms: the kernel refuses to map the ring of
	 * an inherited event on any CPU. Before Linux 6.2 the events must all be hardware events or
	 * all software events, or be one group. New threads are added with
	 * perch_sampler_add_thread().
	 */
	bool per_thread;
	/**
	 * For each event its own list of targets, or NULL for the list of the sampler. Then the
	 * list of the sampler is for the other events and the tracking event. Events that share a
	 * list (the same pointer) are opened together; members of a group must share that of their
	 * leader. NULL: all events have the list of the sampler.
	 */
	const struct perch_targets *const *event_targets;
	/**
	 * Always add a tracking event for the side-band records of .event.sideband. It is enabled
	 * from the start and on all online CPUs, not only on those of the targets. This is for
	 * events that are enabled later, and for tasks that migrate to the CPUs.
	 */
	bool tracking_event;
	uint64_t reserved[8]; /**< must be 0 */
};

/** Counts of a sampler, updated while its records are read. */
struct perch_sampler_stats {
	uint64_t records;     /**< records of all types */
	uint64_t samples;     /**< SAMPLE records */
	uint64_t lost;	      /**< sum of the LOST and LOST_SAMPLES records */
	uint64_t throttled;   /**< THROTTLE records */
	uint64_t unthrottled; /**< UNTHROTTLE records */
	uint64_t unknown;     /**< records of a type that this version does not know */
	uint64_t damaged;     /**< records that could not be decoded, and dropped batches */
	uint64_t bytes;	      /**< size of the records */
	uint64_t reserved[8]; /**< for members of later versions */
};

/**
 * Opens events on threads and CPUs, with one ring per CPU.
 *
 * Every event is opened for every target. A target without a CPU (cpu -1) gets one event for each
 * online CPU, because inherited events need that, unless .per_thread is set. A process is
 * perch_targets_add_process(), which adds all of its threads, one thread
 * perch_targets_add_thread(); perch_targets_split() selects CPUs. Events are disabled, unless
 * .event.enabled or .event.enable_on_exec is set. Filters are set before any event runs.
 *
 * Side-band records (.event.sideband) and CALLCHAIN_DEFERRED records (.event.defer_output) come
 * from the first event, if it can write them all. Otherwise, or with .tracking_event, the sampler
 * adds a tracking event: a software event "dummy", enabled from the start. It is needed if the
 * first event is not on all CPUs (its PMU), is pinned (it may lose its counter), has the terms
 * no-inherit or time=0, or if .event_targets or .overwrite is set.
 *
 * In a group with the modifier S only the leader takes samples. Each sample has the counts of all
 * members (PERCH_SAMPLE_READ, PERCH_FORMAT_GROUP and PERCH_FORMAT_ID). With .event.inherit the
 * group is inherited since Linux 6.12: samples of a new thread or child have its own counts, which
 * begin at 0. Earlier kernels do not inherit it: .inherit of the attr of perch_sampler_event() is
 * then 0. A group with the modifier W is broken up if the kernel refuses one of its members.
 *
 * Each event needs a period or a frequency, from .event or from its own terms: without one the
 * kernel never takes a sample. The exceptions are: other records are requested (.event.sideband,
 * .event.inherit_stat), the software event "dummy", members of a group with S, and PMUs that only
 * count.
 *
 * .event.may allows three ways to continue after a refusal. PERCH_MAY_LOSE_TARGETS: threads that
 * have ended are left out. PERCH_MAY_EXCLUDE_KERNEL: events exclude the kernel where it is not
 * permitted, see perch_sampler_user_only(). PERCH_MAY_SKIP: events that the machine does not
 * support are left out, see perch_sampler_skipped().
 *
 * @param[out] sampler  the new sampler; NULL after a failure
 * @param events        see perch-events(7)
 * @param targets       not needed after the return; NULL is the calling thread
 * @param options       NULL is the defaults
 * @param[out] err      the reason of a failure, explained; NULL is allowed
 * @return 0, or a negative errno
 * @retval -EINVAL  an event without a rate; write_backward (or the term overwrite) without
 *                  .overwrite, or not for all events; inherit for a probe with a path, unless its
 *                  terms clear it; inherit with .per_thread
 * @retval -ESRCH   a thread has ended; with PERCH_MAY_LOSE_TARGETS all of them
 */
PERCH_API int perch_sampler_open(struct perch_sampler **sampler, const char *events,
				 const struct perch_targets *targets,
				 const struct perch_sampler_options *options,
				 struct perch_error *err);

/**
 * Opens parsed events as perch_sampler_open() does.
 *
 * If the attr of an event has a sample_period or sample_freq, it is used instead of that of the
 * options. The fields of its sample_type are added to those of the options.
 *
 * @param[out] sampler  the new sampler; NULL after a failure
 * @param events        the events; not needed after the return
 * @param targets       not needed after the return; NULL is the calling thread
 * @param options       NULL is the defaults
 * @param[out] err      the reason of a failure, explained; NULL is allowed
 * @return 0, or a negative errno
 */
PERCH_API int perch_sampler_open_events(struct perch_sampler **sampler,
					const struct perch_events *events,
					const struct perch_targets *targets,
					const struct perch_sampler_options *options,
					struct perch_error *err);

/**
 * Closes all events and rings.
 *
 * @param sampler  NULL is allowed
 */
PERCH_API void perch_sampler_close(struct perch_sampler *sampler);

/**
 * Enables all events. The tracking event is enabled on all CPUs before the others.
 *
 * @param sampler  the sampler
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 */
PERCH_API int perch_sampler_enable(struct perch_sampler *sampler, struct perch_error *err);

/**
 * Disables all events. The tracking event is disabled after the others.
 *
 * @param sampler  the sampler
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 */
PERCH_API int perch_sampler_disable(struct perch_sampler *sampler, struct perch_error *err);

/**
 * Enables or disables one event on all targets. The members of a group count only while its leader
 * is enabled, too. The tracking event is enabled before the first one, and stays enabled. For
 * threads that are added later, the last call of perch_sampler_enable() or perch_sampler_disable()
 * counts.
 *
 * @param sampler   the sampler
 * @param event     index of the event
 * @param enable    true: enable it
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 */
PERCH_API int perch_sampler_control(struct perch_sampler *sampler, size_t event, bool enable,
				    struct perch_error *err);

/**
 * Adds a thread to a running sampler, with the events that have no list in .event_targets.
 *
 * Its events are opened on the CPUs of the sampler and write into their rings; with .per_thread the
 * thread gets a ring of its own. They are enabled if the sampler is: by perch_sampler_enable() or
 * .event.enabled. Filters, groups, the tracking event and signals are as for the other threads. An
 * order by time (perch_sampler_next_ordered()) continues.
 *
 * A CPU of the sampler may be offline now: the kernel accepts events of threads on it, and they
 * write records when it is online again. CPUs that were offline when the sampler was opened are not
 * CPUs of the sampler.
 *
 * Changes the ids of perch_sampler_event(). The record that was returned last becomes invalid.
 * Costs a few system calls per event and CPU, and time proportional to the number of ids.
 *
 * @param sampler   the sampler
 * @param tid       thread id; 0 is the calling thread
 * @param[out] err  the reason of a failure, explained; NULL is allowed
 * @return 0, or a negative errno; after a failure the sampler is unchanged
 * @retval -EEXIST  the thread is a target already
 * @retval -ESRCH   there is no such thread
 */
PERCH_API int perch_sampler_add_thread(struct perch_sampler *sampler, pid_t tid,
				       struct perch_error *err);

/**
 * Removes a thread from a running sampler: closes its events.
 *
 * The records that the thread has written before stay in the rings and are returned as usual.
 * When they have been read, the ids of the thread are removed from those of perch_sampler_event(),
 * and with .per_thread its ring is unmapped; the next added thread may get the index of the ring.
 * Records of a ring of mode OVERWRITE of .per_thread are lost. The record that was returned last
 * becomes invalid.
 *
 * A thread that has ended stays a target, without a cost for the reader, until it is removed.
 *
 * @param sampler   the sampler
 * @param tid       thread id, as it was added or listed in the targets; 0 is the calling thread
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -ESRCH  the thread is not a target of the sampler
 */
PERCH_API int perch_sampler_remove_thread(struct perch_sampler *sampler, pid_t tid,
					  struct perch_error *err);

/**
 * Returns a descriptor for the caller's event loop: poll(2) it for POLLIN.
 *
 * The descriptor is the same for the life of the sampler, also when threads end, are added or
 * removed. It becomes readable when the kernel wakes the reader of a ring (.event.wakeup_events,
 * .event.wakeup_bytes), when targets end, and, while perch_sampler_next_ordered() holds records for
 * its next round, after 10 ms. With a pinned event in error state it becomes readable ten times per
 * second.
 *
 * It is readable once for each of these. So when it is readable, read until perch_sampler_next() or
 * perch_sampler_next_ordered() returns 0, or call perch_sampler_drain() once. If records came
 * meanwhile whose wakeup these functions have taken, it is readable again. Then call
 * perch_sampler_ended() to find out if all targets have ended. These functions, with
 * perch_sampler_wait(), make it unreadable; after the end it stays unreadable.
 *
 * A child of fork(2) must not call epoll_wait(2) on its copy of the descriptor, because each event
 * is reported once: the parent would miss it.
 *
 * The first call makes the descriptor: an epoll(7), and a timer. From then on these functions make
 * an additional system call when the rings are empty, and perch_sampler_drain() one per call.
 *
 * @param sampler   the sampler, which owns the descriptor
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return the descriptor, or a negative errno
 */
PERCH_API int perch_sampler_fd(struct perch_sampler *sampler, struct perch_error *err);

/**
 * Returns true if all targets have ended and no ring has new data.
 *
 * Records that perch_sampler_next_ordered() holds for its next round may be left: get them with
 * flush. Cannot fail, so it needs no err.
 *
 * @param sampler  the sampler
 * @return true if no record follows, unless a thread is added; true in a child of the process that
 *         opened the sampler
 */
PERCH_API bool perch_sampler_ended(struct perch_sampler *sampler);

/**
 * Sends a signal to a thread for each sample, or with perch_sampler_refresh() also for the last
 * one.
 *
 * Sets F_SETOWN_EX, F_SETSIG and O_ASYNC of the descriptor of each event that takes samples, see
 * perch_event_set_signal(). The si_fd of the signal is the descriptor of the event:
 * perch_sampler_event_of_fd() finds the event. Threads that are added later send the signal too.
 *
 * @param sampler   the sampler
 * @param signal    the signal; 0 is none. A real-time signal is queued; of others one at a time is
 *                  pending, and they have no si_fd
 * @param tid       the thread that gets the signal; 0 is the calling thread
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 */
PERCH_API int perch_sampler_set_signal(struct perch_sampler *sampler, int signal, pid_t tid,
				       struct perch_error *err);

/**
 * Finds the event of a descriptor, such as the si_fd of a signal.
 *
 * Async-signal-safe: it only reads memory of the sampler. No other thread may add or remove threads
 * or close the sampler meanwhile. The only failure is that there is no such event, so it needs no
 * err.
 *
 * @param sampler     the sampler
 * @param fd          the descriptor
 * @param[out] index  of the event
 * @param[out] id     index in the ids of the event, for perch_sampler_id_info()
 * @return 0, or -EINVAL if no event of the sampler has this descriptor
 */
PERCH_API int perch_sampler_event_of_fd(const struct perch_sampler *sampler, int fd, size_t *index,
					size_t *id);

/**
 * Returns the number of rings. With .overwrite the rings of that mode precede the forward rings,
 * except for rings of added threads.
 *
 * @param sampler  the sampler
 * @return the number of rings
 */
PERCH_API size_t perch_sampler_rings(const struct perch_sampler *sampler);

/**
 * Returns the descriptor of the event that a ring is mapped from, for system calls on it.
 *
 * It is the same for the life of the ring. For an event loop use perch_sampler_fd(): poll(2) of
 * this descriptor reports POLLHUP for good once the thread of this event has ended, even if other
 * threads still write into the ring.
 *
 * @param sampler  the sampler
 * @param ring     index of the ring
 * @return the descriptor; -EINVAL if there is no such ring, which is the only failure
 */
PERCH_API int perch_sampler_ring_fd(const struct perch_sampler *sampler, size_t ring);

/**
 * Returns a ring of the sampler.
 *
 * @param sampler  the sampler, which owns the ring
 * @param ring     index of the ring
 * @return the ring; NULL if there is no such ring, or if its thread was removed (.per_thread)
 */
PERCH_API struct perch_ring *perch_sampler_ring(struct perch_sampler *sampler, size_t ring);

/**
 * Returns an event of the sampler: its attr, name and ids.
 *
 * The caller's events keep their indexes. The tracking event, if there is one, follows them. It
 * must also be in a file: perch_record.event of its records is its index.
 *
 * @param sampler    the sampler, which owns the result
 * @param index      of the event
 * @param[out] name  the name
 * @param[out] ids   one per CPU and thread; valid until a thread is added or removed, or records
 *                   of a removed thread are read
 * @param[out] nr    entries of ids; 0 if there is no such event
 * @return the attr that the kernel accepted; NULL if there is no such event
 */
PERCH_API const struct perch_attr *perch_sampler_event(const struct perch_sampler *sampler,
						       size_t index, const char **name,
						       const uint64_t **ids, size_t *nr);

/**
 * Returns the CPU, thread and ring of an id.
 *
 * @param sampler    the sampler
 * @param index      of the event
 * @param id         index in the ids of the event
 * @param[out] cpu   the CPU; -1 with .per_thread
 * @param[out] tid   the thread; -1 for all threads, or those of a cgroup
 * @param[out] ring  index of the ring
 * @return 0, or -EINVAL if there is no such id, which is the only failure
 */
PERCH_API int perch_sampler_id_info(const struct perch_sampler *sampler, size_t index, size_t id,
				    int *cpu, pid_t *tid, size_t *ring);

/**
 * Reads the number of samples that an event has lost because its ring was full.
 *
 * This counts all lost samples. LOST records miss the losses that no record follows.
 *
 * @param sampler    opened with PERCH_FORMAT_LOST in .event.read
 * @param index      of the event
 * @param id         index in the ids of the event
 * @param[out] lost  the number since the event was opened
 * @param[out] err   the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -EINVAL  there is no such id, or PERCH_FORMAT_LOST was not requested
 * @since Linux 6.0
 */
PERCH_API int perch_sampler_lost(struct perch_sampler *sampler, size_t index, size_t id,
				 uint64_t *lost, struct perch_error *err);

/**
 * Returns the group leader of an event.
 *
 * @param sampler  the sampler
 * @param index    of the event
 * @return index of the leader; that of the event itself if it has no group, or if its weak group
 *         was broken up
 */
PERCH_API size_t perch_sampler_leader(const struct perch_sampler *sampler, size_t index);

/**
 * Returns the optional parts (.event.optional) of an event that the kernel does not support.
 *
 * @param sampler  the sampler, which owns the result
 * @param index    of the event
 * @return an attr with these parts set; NULL if there are none
 */
PERCH_API const struct perch_attr *perch_sampler_missing_features(
	const struct perch_sampler *sampler, size_t index);

/**
 * Reads the time that the event of a ring was enabled and the time that it ran, without a system
 * call: from the control page of the ring.
 *
 * The kernel writes the times into the page when it starts the event on a CPU, and for a hardware
 * event at each overflow. While a hardware counter counts the event, the time since then is added
 * from the clock of the CPU. For other events (software events, tracepoints) the times are those of
 * the last start, at most what read(2) returns. Async-signal-safe if err is NULL.
 *
 * @param sampler          the sampler
 * @param ring             index of a ring into which one event writes: of one event without a
 *                         tracking event, with .per_thread or for one thread, or all processes, per
 *                         CPU
 * @param[out] enabled_ns  time enabled, in nanoseconds
 * @param[out] running_ns  time running, in nanoseconds
 * @param[out] err         the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -EINVAL  there is no such ring, or several events write into it
 * @retval -EAGAIN  the kernel changed the page during each attempt
 */
PERCH_API int perch_sampler_times(const struct perch_sampler *sampler, size_t ring,
				  uint64_t *enabled_ns, uint64_t *running_ns,
				  struct perch_error *err);

/**
 * Returns true if the kernel is excluded from an event because it is not permitted to sample it
 * (PERCH_MAY_EXCLUDE_KERNEL). The attr of perch_sampler_event() has all that was changed: an event
 * that excludes the kernel anyway may have lost TEXT_POKE records only.
 *
 * @param sampler  the sampler
 * @param index    of the event, or of the tracking event
 * @return false also if there is no such event
 */
PERCH_API bool perch_sampler_user_only(const struct perch_sampler *sampler, size_t index);

/**
 * Returns why an event was left out (PERCH_MAY_SKIP). It has no ids then.
 *
 * @param sampler  the sampler, which owns the result
 * @param index    of the event
 * @return the refusal; NULL if the event is open, or if there is no such event
 */
PERCH_API const struct perch_error *perch_sampler_skipped(const struct perch_sampler *sampler,
							  size_t index);

/**
 * Waits until a ring has data.
 *
 * @param sampler     the sampler
 * @param timeout_ms  in milliseconds; -1 waits without a limit
 * @param[out] err  the reason of a failure; NULL is allowed
 * @retval 1         a ring has data
 * @retval 0         timeout
 * @retval -ENODATA  all targets have ended, and the rings are empty
 * @retval -EINTR    a signal handler ran
 */
PERCH_API int perch_sampler_wait(struct perch_sampler *sampler, int timeout_ms,
				 struct perch_error *err);

/**
 * Waits until one of some rings has data to half of its size, for a thread that reads these rings.
 *
 * Several threads may call this at the same time for different rings. Meanwhile no thread may call
 * another function of the sampler that waits, perch_sampler_ended(), or functions that add or
 * remove threads, and perch_sampler_fd() must not have been called: a wakeup is seen once.
 *
 * @param sampler     the sampler
 * @param rings       indexes of the rings
 * @param nr          number of rings
 * @param wake_fd     another descriptor that ends the wait when it is readable; -1 is none
 * @param polls       memory for nr + 1 elements, which the function overwrites
 * @param timeout_ms  the longest time to wait; -1 is no limit
 * @return 1 if a ring or wake_fd may be ready, 0 after the timeout or a signal, or a negative
 * errno, which needs no err because poll(2) is the only call
 * @retval -ENODATA  all targets of these rings have ended; the rings may have data
 */
PERCH_API int perch_sampler_wait_rings(struct perch_sampler *sampler, const size_t *rings,
				       size_t nr, int wake_fd, struct pollfd *polls,
				       int timeout_ms);

/**
 * Returns the next record of any ring, ring by ring. Records of one ring keep their order.
 *
 * Records come in rounds. A round begins with a look at the heads of all rings, and has the records
 * before these. So a loop until 0 ends also if the kernel writes as fast as the program reads:
 * what was written meanwhile belongs to the next round. The first call after one that returned 0
 * begins a round, and so does one after perch_sampler_wait(), perch_sampler_ended() or
 * perch_sampler_disable(). After perch_sampler_disable() a loop until 0 reads all that is left.
 *
 * A round has up to the size of all rings of records. A program that must answer signals or keys
 * sooner leaves the loop between two records, and continues the round later.
 *
 * @param sampler      the sampler
 * @param[out] record  valid until the next call
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 1 with a record; 0 at the end of a round
 */
PERCH_API int perch_sampler_next(struct perch_sampler *sampler, struct perch_record *record,
				 struct perch_error *err);

/**
 * Receives complete records of one ring.
 *
 * @param context  as passed to perch_sampler_drain() or perch_sampler_snapshot()
 * @param ring     index of the ring
 * @param pieces   the records; valid until the function returns
 * @param nr       number of pieces: 1 or 2
 * @return 0 to continue; a negative errno ends the drain
 */
typedef int perch_drain_function(void *context, size_t ring, const struct iovec *pieces, int nr);

/**
 * Passes the new records of each ring to a function, and consumes them. Each ring is read once:
 * what the kernel writes meanwhile is for the next call.
 *
 * @param sampler   the sampler
 * @param function  called once per ring with data; its records are consumed even if it fails
 * @param context   passed to the function
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return the number of bytes, or the negative errno of the function
 */
PERCH_API ssize_t perch_sampler_drain(struct perch_sampler *sampler, perch_drain_function *function,
				      void *context, struct perch_error *err);

/**
 * Returns the next record of all rings in order of time, as perch_merge_next(). As there, a round
 * has only records that were in the rings when it began, so a loop until 0 always ends.
 *
 * After the first call perch_sampler_wait() returns 1 for new data, and after a short time also if
 * records are held for the next round.
 *
 * @param sampler      the sampler
 * @param flush        deliver all records: for the end
 * @param[out] record  valid until the next call
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 1 with a record; 0 at the end of a round; or a negative errno
 */
PERCH_API int perch_sampler_next_ordered(struct perch_sampler *sampler, bool flush,
					 struct perch_record *record, struct perch_error *err);

/**
 * Reads the statistics of all rings.
 *
 * @param sampler     the sampler
 * @param[out] stats  the sum of all rings
 */
PERCH_API void perch_sampler_get_stats(const struct perch_sampler *sampler,
				       struct perch_sampler_stats *stats);

/**
 * Reads the statistics of one ring. A snapshot counts its records each time.
 *
 * @param sampler     the sampler
 * @param ring        index of the ring
 * @param[out] stats  of this ring
 * @return 0, or -EINVAL if there is no such ring, which is the only failure
 */
PERCH_API int perch_sampler_get_ring_stats(const struct perch_sampler *sampler, size_t ring,
					   struct perch_sampler_stats *stats);

/**
 * Reads the statistics of one event: of the records with its ids.
 *
 * A LOST record has the id of the event that wrote the next record, but counts the lost records of
 * the whole ring. perch_sampler_drain() and perch_sampler_snapshot() do not decode records: they
 * count only lost, throttled and unthrottled here.
 *
 * @param sampler     the sampler
 * @param index       of the event
 * @param[out] stats  of this event
 * @return 0, or -EINVAL if there is no such event, which is the only failure
 */
PERCH_API int perch_sampler_get_event_stats(const struct perch_sampler *sampler, size_t index,
					    struct perch_sampler_stats *stats);

/** The state of a ring of a sampler. */
enum perch_ring_state {
	PERCH_RING_STATE_RUNNING, /**< none of the others */
	PERCH_RING_STATE_PAUSED,  /**< by perch_sampler_pause() */
	PERCH_RING_STATE_ENDED,	  /**< all targets of the ring have ended */
	PERCH_RING_STATE_FAILED,  /**< a pinned event has lost its counter */
	PERCH_RING_STATE_OFFLINE, /**< its CPU is offline; it gets no records after the CPU is
				     online again */
};

/**
 * Returns the state of a ring, as of the last perch_sampler_wait(). OFFLINE is always current.
 *
 * @param sampler     the sampler
 * @param ring        index of the ring
 * @param[out] state  the state
 * @return 0, -EINVAL if there is no such ring, or -ESTALE if the sampler was opened before a fork;
 *         there is no other failure, so it needs no err
 */
PERCH_API int perch_sampler_ring_state(const struct perch_sampler *sampler, size_t ring,
				       enum perch_ring_state *state);

/**
 * Pauses all rings, see perch_ring_pause(). After a failure, no ring is newly paused.
 *
 * @param sampler   the sampler
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @since Linux 4.7
 */
PERCH_API int perch_sampler_pause(struct perch_sampler *sampler, struct perch_error *err);

/**
 * Resumes all rings.
 *
 * @param sampler   the sampler
 * @param[out] err  the reason of the first failure; NULL is allowed
 * @return 0, or a negative errno
 * @since Linux 4.7
 */
PERCH_API int perch_sampler_resume(struct perch_sampler *sampler, struct perch_error *err);

/**
 * Lets each event take a number of further samples, after which the kernel disables it.
 *
 * With perch_sampler_set_signal() the signal of the last sample has the si_code POLL_HUP; poll(2)
 * does not report it. Not for inherited events.
 *
 * @param sampler   the sampler
 * @param samples   1 to 2^31-1, for each event that takes samples
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 */
PERCH_API int perch_sampler_refresh(struct perch_sampler *sampler, unsigned samples,
				    struct perch_error *err);

/**
 * Passes a snapshot of the rings of mode OVERWRITE to a function, oldest records first.
 *
 * Pauses all these rings first, and resumes them at the end, also after a failure.
 *
 * @param sampler   with .overwrite
 * @param function  called with complete records, one or more times per ring
 * @param context   passed to the function
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return the number of bytes, or a negative errno, also of the function
 */
PERCH_API ssize_t perch_sampler_snapshot(struct perch_sampler *sampler,
					 perch_drain_function *function, void *context,
					 struct perch_error *err);

/**
 * Leaves the records of the last snapshot out of later ones, which otherwise have them again.
 *
 * Call this after the snapshot was saved.
 *
 * @param sampler  with .overwrite
 */
PERCH_API void perch_sampler_snapshot_advance(struct perch_sampler *sampler);

#ifdef __cplusplus
}
#endif
#endif

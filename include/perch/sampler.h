/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The sampler: opens events on CPUs and threads, with one ring per CPU, and reads their records.
 *
 * Threads: one thread per sampler at a time.
 */
#ifndef PERCH_SAMPLER_H
#define PERCH_SAMPLER_H

#include <perch/open.h>
#include <perch/ring.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A sampler: events, opened on CPUs and threads, and one ring per CPU. */
struct perch_sampler;

/** Options of a sampler. Zeros are the defaults. */
struct perch_sampler_options {
	/** For every event. With several events, .sample also gets PERCH_SAMPLE_IDENTIFIER. */
	struct perch_options event;
	/**
	 * Size of a ring in pages, a power of two. 0 is 512 KiB, or less if the limit of locked
	 * memory requires it. A size that cannot hold one sample is refused with -EINVAL.
	 */
	size_t ring_pages;
	/**
	 * Use rings of mode OVERWRITE, which keep the newest records and are read by
	 * perch_sampler_snapshot(). The side-band records of .event.sideband then come from a
	 * tracking event with a forward ring per CPU, which is drained as usual.
	 */
	bool overwrite;
	const struct perch_cpus *cpus; /**< CPUs to sample; NULL is all online CPUs */
	/**
	 * Threads to sample instead of target.tid; 0 is the calling thread. If there are several,
	 * ended ones are skipped, unless all have ended. NULL with nr_threads 0.
	 */
	const pid_t *threads;
	size_t nr_threads; /**< entries of threads */
	/**
	 * For each event the descriptor of its cgroup's directory, or 0 for none. Needs target.tid
	 * -1. NULL: target.cgroup_fd is for all events.
	 */
	const int *cgroups;
	/**
	 * Always add a tracking event for the side-band records of .event.sideband. It is enabled
	 * from the start and on all online CPUs, not only on .cpus. This is for events that are
	 * enabled later, and for tasks that migrate to the CPUs.
	 */
	bool tracking_event;
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
};

/**
 * Opens events on CPUs and threads, with one ring per CPU.
 *
 * Every event is opened on every CPU, for every thread of the target. There are per-CPU rings also
 * for threads on any CPU (target.cpu -1), because inherited events need them. Events are disabled,
 * unless .event.enabled or .event.enable_on_exec is set. Filters are set before any event runs.
 *
 * Side-band records (.event.sideband) come from the first event, if it can write them all.
 * Otherwise, or with .tracking_event, the sampler adds a tracking event: a software event "dummy",
 * enabled from the start. It is needed if the first event is not on all CPUs (its PMU), is pinned
 * (it may lose its counter), has the terms no-inherit or time=0, or if .cgroups or .overwrite is
 * set.
 *
 * In a group with the modifier S only the leader takes samples. Each sample has the counts of all
 * members (PERCH_SAMPLE_READ, PERCH_FORMAT_GROUP and PERCH_FORMAT_ID), and the group is not
 * inherited. A group with the modifier W is broken up if the kernel refuses one of its members.
 *
 * Each event needs a period or a frequency, from .event or from its own terms: without one the
 * kernel never takes a sample. The exceptions are: other records are requested (.event.sideband,
 * .event.inherit_stat), the software event "dummy", members of a group with S, and PMUs that only
 * count.
 *
 * @param[out] sampler  the new sampler; NULL after a failure
 * @param events        see perch-events(7)
 * @param target        NULL is the calling thread
 * @param options       NULL is the defaults
 * @param[out] err      the reason of a failure, explained; NULL is allowed
 * @return 0, or a negative errno
 * @retval -EINVAL  an event without a rate; write_backward (or the term overwrite) without
 *                  .overwrite, or not for all events; inherit for a probe with a path, unless its
 *                  terms clear it
 */
PERCH_API int perch_sampler_open(struct perch_sampler **sampler, const char *events,
				 const struct perch_target *target,
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
 * @param target        NULL is the calling thread
 * @param options       NULL is the defaults
 * @param[out] err      the reason of a failure, explained; NULL is allowed
 * @return 0, or a negative errno
 */
PERCH_API int perch_sampler_open_events(struct perch_sampler **sampler,
					const struct perch_events *events,
					const struct perch_target *target,
					const struct perch_sampler_options *options,
					struct perch_error *err);

/**
 * Closes all events and rings.
 *
 * @param sampler  NULL is allowed
 */
PERCH_API void perch_sampler_close(struct perch_sampler *sampler);

/**
 * Enables all events.
 *
 * @param sampler  the sampler
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 */
PERCH_API int perch_sampler_enable(struct perch_sampler *sampler, struct perch_error *err);

/**
 * Disables all events, including the tracking event.
 *
 * @param sampler  the sampler
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 */
PERCH_API int perch_sampler_disable(struct perch_sampler *sampler, struct perch_error *err);

/**
 * Returns the number of rings. With .overwrite the rings of that mode precede the forward rings.
 *
 * @param sampler  the sampler
 * @return the number of rings
 */
PERCH_API size_t perch_sampler_rings(const struct perch_sampler *sampler);

/**
 * Returns the descriptor to poll for a ring, for the caller's event loop.
 *
 * Poll it for POLLIN. After POLLHUP, call perch_sampler_wait() with timeout 0 and get the
 * descriptor again, because it has changed. Rings of mode OVERWRITE are not drained: poll them for
 * no event except POLLHUP, which is always reported.
 *
 * @param sampler  the sampler
 * @param ring     index of the ring
 * @return the descriptor; -1 if all targets of the ring have ended; -EINVAL if there is no such
 *         ring
 */
PERCH_API int perch_sampler_ring_fd(const struct perch_sampler *sampler, size_t ring);

/**
 * Returns a ring of the sampler.
 *
 * @param sampler  the sampler, which owns the ring
 * @param ring     index of the ring
 * @return the ring; NULL if there is no such ring
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
 * @param[out] ids   one per CPU and thread
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
 * @param[out] cpu   the CPU
 * @param[out] pid   the thread; -1 for all threads, or those of a cgroup
 * @param[out] ring  index of the ring
 * @return 0, or -EINVAL if there is no such id
 */
PERCH_API int perch_sampler_id_info(const struct perch_sampler *sampler, size_t index, size_t id,
				    int *cpu, pid_t *pid, size_t *ring);

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
 * Returns the next record of any ring, ring by ring. Records of one ring keep their order.
 *
 * @param sampler      the sampler
 * @param[out] record  valid until the next call
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 1 with a record; 0 if all rings are empty
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
 * Passes the new records of each ring to a function, and consumes them.
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
 * Returns the next record of all rings in order of time, as perch_merge_next().
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
 * @return 0, or -EINVAL if there is no such ring
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
 * @return 0, or -EINVAL if there is no such event
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
 * @return 0, or -EINVAL if there is no such ring
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
 * With O_ASYNC (fcntl(2)) on perch_sampler_ring_fd(), the signal of the last sample has the si_code
 * POLL_HUP; poll(2) does not report it. Not for inherited events.
 *
 * @param sampler   the sampler
 * @param samples   1 to 2^31-1, for each event that takes samples
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 */
PERCH_API int perch_sampler_refresh(struct perch_sampler *sampler, int samples,
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

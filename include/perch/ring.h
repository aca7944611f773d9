/* SPDX-License-Identifier: MIT */
/*
 * The mmap'd ring buffers: one ring, and the sampler: events x CPUs x threads behind one handle.
 *
 * The functions that open store the object through their first argument: NULL there after any
 * failure. The close functions take NULL.
 */
#ifndef PERCH_RING_H
#define PERCH_RING_H

#include <stdbool.h>
#include <sys/uio.h>
#include <perch/abi.h>
#include <perch/error.h>
#include <perch/open.h>
#include <perch/record.h>

#ifdef __cplusplus
extern "C" {
#endif

struct perch_ring;

enum perch_ring_mode {
	/* the kernel stops where the reader is, and counts what it loses */
	PERCH_RING_FORWARD,
	/* mapped read-only: the kernel writes over the oldest and never waits */
	PERCH_RING_OVERWRITE,
};

/*
 * Maps 1 + pages pages of the event; pages is a power of two. machine NULL: this one; else it is to
 * live as long as the ring. A refusal is explained. The ring does not own fd, but pauses it: fd has
 * to stay open as long as the ring. OVERWRITE wants an event with write_backward (4.7), and pages
 * for more than the largest record: the kernel does not look whether one has room when it writes
 * over others. FORWARD wants one without: a descriptor does not tell, so of the other kind nothing
 * comes, and looking into it counts as damaged.
 */
PERCH_API int perch_ring_open(struct perch_ring **ring, int fd, size_t pages,
			      enum perch_ring_mode mode, struct perch_machine *machine,
			      struct perch_error *err);
/* A ring over memory that the caller laid out as the kernel does (tests, replay): control page,
 * then size bytes. */
PERCH_API int perch_ring_from_memory(struct perch_ring **ring, struct perch_mmap_page *control,
				     void *data, size_t size, enum perch_ring_mode mode,
				     struct perch_error *err);
PERCH_API void perch_ring_close(struct perch_ring *ring); /* NULL: nothing */
/*
 * What the kernel has written and the caller has not consumed, as one or two pieces (the second
 * when it wraps) of whole records. Returns the bytes. They stay valid until perch_ring_consume().
 * Of an OVERWRITE ring: 0.
 */
PERCH_API size_t perch_ring_peek(struct perch_ring *ring, struct iovec pieces[2]);
/* Gives bytes back to the kernel: the tail is published once. */
PERCH_API void perch_ring_consume(struct perch_ring *ring, size_t bytes);
/* The next whole record (a wrapped one is put together in the ring's own 64 KiB buffer), NULL when
 * there is none. Its memory is given back to the kernel with the batch: at the next call that finds
 * the batch at its end. Of an OVERWRITE ring the next one of the snapshot. */
PERCH_API const struct perch_record_header *perch_ring_next(struct perch_ring *ring);
/* PERF_EVENT_IOC_PAUSE_OUTPUT (4.7): while paused the kernel writes nothing; what would have come
 * is lost, and counted (LOST). Of a ring in memory: only noted. */
PERCH_API int perch_ring_pause(struct perch_ring *ring, struct perch_error *err);
PERCH_API int perch_ring_resume(struct perch_ring *ring, struct perch_error *err);

struct perch_ring_stats {
	uint64_t bytes;	  /* handed out */
	uint64_t damaged; /* batches dropped because the ring held no records */
	/* OVERWRITE: bytes that came after one snapshot and were gone, or cut, at the next */
	uint64_t overwritten;
	uint64_t cut; /* records of snapshots whose end had been written over */
	bool paused;
};
PERCH_API void perch_ring_get_stats(const struct perch_ring *ring, struct perch_ring_stats *stats);

/* ---- the flight recorder: rings of mode OVERWRITE ---- */

enum perch_snapshot_order { PERCH_SNAPSHOT_NEWEST_FIRST, PERCH_SNAPSHOT_OLDEST_FIRST };
/*
 * What the ring holds now, for perch_ring_next(): the number of records, or a negative errno. A
 * ring with a descriptor is paused, if it is not, and stays so until perch_ring_resume(); in memory
 * the caller sees to it that nobody writes. Since records were written backward, newest first needs
 * no memory; oldest first takes an index of 4 bytes a record, kept for the next time. A second
 * snapshot without resuming gives the same records again, and one after it those that are still
 * there. The oldest record, when the newest reaches into it, is left out and counted (cut). A
 * record that was being written when the ring was paused is waited for, 50 microseconds; should one
 * come still later, the head tells, and perch_ring_next() leaves out what it reached. What came
 * while paused is counted in a LOST record, which lies with the first record after the pause:
 * before it, newest first. -EINVAL: the ring was written upwards, without write_backward.
 */
PERCH_API ssize_t perch_ring_snapshot(struct perch_ring *ring, enum perch_snapshot_order order,
				      struct perch_error *err);
/* Later snapshots leave out what the last one had: they end where it began. Nothing is given back
 * to the kernel. */
PERCH_API void perch_ring_snapshot_advance(struct perch_ring *ring);

/* ---- the AUX area: bytes of a PMU's own trace (Intel PT, SPE, CoreSight...), since 4.1 ---- */

/* Maps the area behind the ring: pages is a power of two. mode OVERWRITE: read-only, the PMU never
 * stops (snapshots). */
PERCH_API int perch_ring_open_aux(struct perch_ring *ring, size_t pages, enum perch_ring_mode mode,
				  struct perch_machine *machine, struct perch_error *err);
/* The same over the caller's memory: size bytes, a power of two. */
PERCH_API int perch_ring_aux_from_memory(struct perch_ring *ring, void *area, size_t size,
					 enum perch_ring_mode mode, struct perch_error *err);
/* Bytes that came and were not consumed, as one or two pieces. FORWARD alone; 0 without an area. */
PERCH_API size_t perch_ring_aux_peek(struct perch_ring *ring, struct iovec pieces[2]);
/*
 * Gives back so many of the oldest bytes, at most what peek or an AUX record has told of; SIZE_MAX:
 * all of that. The tail runs freely, as the kernel compares it with its head: it is never masked.
 */
PERCH_API void perch_ring_aux_consume(struct perch_ring *ring, size_t bytes);
/*
 * The bytes that an AUX record tells of, as one or two pieces: their number, less than
 * record->aux.size when some were written over or consumed meanwhile (the end of them is there
 * then). -ENODATA: none of them. The flags (truncated, partial, collision) stand in the record and
 * are counted. Works before aux_head has moved: the kernel moves it after the record is out. Of a
 * record with the flag OVERWRITE the offset is where its bytes end. -EINVAL: no AUX record, or no
 * area.
 */
PERCH_API ssize_t perch_ring_aux_data(struct perch_ring *ring, const struct perch_record *record,
				      struct iovec pieces[2]);
/*
 * OVERWRITE: what the area holds now, oldest first. The event has to be disabled or paused. Of a
 * PMU whose aux_head is the place in the area and no running count, the area counts as full once
 * its last bytes are not all zero.
 */
PERCH_API size_t perch_ring_aux_snapshot(struct perch_ring *ring, struct iovec pieces[2]);

struct perch_aux_stats {
	/* told by AUX records that perch_ring_aux_data() was asked about */
	uint64_t bytes;
	uint64_t missing;				   /* of these, not there any more */
	uint64_t truncated, partial, collision, overwrite; /* AUX records with the flag */
};
PERCH_API void perch_ring_get_aux_stats(const struct perch_ring *ring,
					struct perch_aux_stats *stats);

/* ---- many rings as one stream by time ---- */

/*
 * Merges rings by the records' times, in place: it needs one entry a ring and no copy of records. A
 * round begins with the first call after perch_merge_next() answered 0. Guarantee: a round takes up
 * what all rings held when it began, and delivers only records that are not younger than the
 * youngest of the round before; the rest waits in its ring, for one round. So a record comes out of
 * order only when the kernel took longer to write it than a whole round, from one start to the
 * next: call it when there is news, and not again and again. A ring with nothing new holds up
 * nobody. Within a ring records keep their order, and of equal times in a round the lower ring's
 * come first. A ring that is more than half full at the start of a round is emptied down to its
 * half in that round, and the others as far in time, so that nothing is lost for the sake of order:
 * of what is delivered so early, nothing is guaranteed. What came out of order is counted. Times of
 * any value cost order alone, and that for a round: every record comes once.
 */
struct perch_merge;
/* Rings of mode FORWARD, which nobody else reads meanwhile. They and the decoder live longer than
 * the merge. */
PERCH_API int perch_merge_new(struct perch_merge **merge, struct perch_ring *const *rings,
			      size_t nr, struct perch_decoder *decoder, struct perch_error *err);
PERCH_API void perch_merge_free(struct perch_merge *merge); /* NULL: nothing; the rings stay */
/*
 * The next record and its ring, valid until the next call: 1; 0: none is due now. flush: what is
 * there at the first such call, however young (at the end). Records without a time come with the
 * one behind them; the last ones in a ring with the one before. -EBADMSG: one that cannot be
 * decoded, the next call goes on behind it.
 */
PERCH_API int perch_merge_next(struct perch_merge *merge, bool flush, struct perch_record *record,
			       size_t *ring, struct perch_error *err);
/* Records delivered after a younger one. */
PERCH_API uint64_t perch_merge_out_of_order(const struct perch_merge *merge);

/* A sampler counts what it drains. */
struct perch_sampler_stats {
	uint64_t records;
	uint64_t samples;
	uint64_t lost; /* sum of LOST and LOST_SAMPLES */
	uint64_t throttled, unthrottled;
	/* records of a type this version does not know; delivered all the same */
	uint64_t unknown;
	uint64_t damaged; /* records that could not be decoded; skipped */
	uint64_t bytes;
};

struct perch_sampler_options {
	/* for every event; .sample gets IDENTIFIER when there is more than one event */
	struct perch_options event;
	/*
	 * power of two; 0: 512 KiB per CPU, less when the mlock limit says so. -EINVAL: no room for
	 * one sample with the bytes of stack that are to be copied
	 */
	size_t ring_pages;
	/*
	 * a flight recorder: each CPU's ring keeps the newest records, and is read by snapshots
	 * alone. What .event.sideband asks for comes from the sampler's own event, through a
	 * forward ring for each CPU beside it, which is drained as usual
	 */
	bool overwrite;
	const struct perch_cpus *cpus; /* NULL: all online ones */
	/*
	 * with nr_threads: these instead of target.pid; 0: the caller. Of several, those that have
	 * ended (ESRCH) are passed over, unless none is left
	 */
	const pid_t *threads;
	size_t nr_threads;
	/*
	 * one an event: a descriptor of the cgroup's folder that it is bound to; 0: none. NULL:
	 * target.cgroup_fd holds for all. They want CPUs: a target.pid of -1
	 */
	const int *cgroups;
	/*
	 * what .event.sideband asks for comes from an event of the sampler's own, from the moment
	 * of opening, and from all online CPUs, also where .cpus has fewer: for events that are
	 * enabled later, and for tasks that come to the CPUs from elsewhere
	 */
	bool tracking_event;
};

struct perch_sampler;

/*
 * Opens every event on every CPU (and thread) of the target; one ring per CPU, into which all
 * events of the CPU write. With target.cpu -1 and a pid, per-CPU rings too, so that inheriting
 * works. Everything starts disabled unless enabled or enable_on_exec is set in options.
 *
 * What .event.sideband asks for comes from one event: the first, when it can tell all of it. When
 * it cannot (its PMU has not all of the CPUs, it is pinned and may lose its counter, its terms say
 * no-inherit or time=0, events are bound to cgroups each), or with tracking_event, the sampler adds
 * a software event "dummy" of its own, which runs from the start.
 *
 * Of a group with the modifier S the leader alone takes samples, each with the counts of all
 * members (PERCH_SAMPLE_READ, PERCH_FORMAT_GROUP and _ID), and the group is not inherited. A group
 * with W is broken up when the kernel refuses one of its members. The filter of an event is set
 * before anything runs. The term overwrite, like the option write_backward, must hold for all
 * events and go with .overwrite: -EINVAL. So is inherit for a probe with a path, which its
 * terms.inherit may leave out.
 *
 * Each event needs options.event.period or .frequency, or a rate of its own (terms period=, freq=):
 * without one no sample would ever come, which is refused, -EINVAL. Not so when other records are
 * asked for (.event.sideband, .inherit_stat), for the software event "dummy", for members of a
 * group with S, and for PMUs that only count.
 *
 * target NULL: the calling thread. *sampler is NULL after a failure.
 */
PERCH_API int perch_sampler_open(struct perch_sampler **sampler, const char *events,
				 const struct perch_target *target,
				 const struct perch_sampler_options *options,
				 struct perch_error *err);
/* The same with events parsed already. One whose attr has a sample_period or sample_freq keeps it,
 * and gets the fields of its own sample_type beside those of the options. */
PERCH_API int perch_sampler_open_events(struct perch_sampler **sampler,
					const struct perch_events *events,
					const struct perch_target *target,
					const struct perch_sampler_options *options,
					struct perch_error *err);
PERCH_API void perch_sampler_close(struct perch_sampler *sampler); /* NULL: nothing */
PERCH_API int perch_sampler_enable(struct perch_sampler *sampler);
PERCH_API int perch_sampler_disable(struct perch_sampler *sampler);
/*
 * Rings, for the caller's own event loop: poll their descriptors for POLLIN. After a POLLHUP call
 * perch_sampler_wait() with a timeout of 0, and ask for the descriptor again: it is another one, or
 * -1 when no target of the ring is left. With .overwrite the rings that snapshots read come first;
 * poll those for no event but POLLHUP, as there is nothing to fetch.
 */
PERCH_API size_t perch_sampler_rings(const struct perch_sampler *sampler);
PERCH_API int perch_sampler_ring_fd(const struct perch_sampler *sampler, size_t ring);
PERCH_API struct perch_ring *perch_sampler_ring(struct perch_sampler *sampler, size_t ring);
/*
 * The attr and the ids (one per CPU and thread) of event number index; *nr 0 past the end. The
 * caller's events keep their numbers; behind the last one comes the sampler's own, when it has one:
 * records in perch_record.event, and a file that is to be read again, need it like the others.
 */
PERCH_API const struct perch_attr *perch_sampler_event(const struct perch_sampler *sampler,
						       size_t index, const char **name,
						       const uint64_t **ids, size_t *nr);
/* Where id number id of an event counts: its CPU, the thread (-1: all, or those of a cgroup) and
 * the ring. -EINVAL. */
PERCH_API int perch_sampler_id_info(const struct perch_sampler *sampler, size_t index, size_t id,
				    int *cpu, pid_t *pid, size_t *ring);
/*
 * How many records of event number index, under its id number id, the kernel had no room for since
 * it was opened: with PERCH_FORMAT_LOST in options.event.read (6.0). A LOST record tells of those
 * alone that something was written behind. -EINVAL: no such id, or not asked for.
 */
PERCH_API int perch_sampler_lost(struct perch_sampler *sampler, size_t index, size_t id,
				 uint64_t *lost, struct perch_error *err);
/* The event that leads the group of event number index: its own number when alone, also when its
 * group was broken up. */
PERCH_API size_t perch_sampler_leader(const struct perch_sampler *sampler, size_t index);
/* What was left out of the event's attr because the kernel does not know it
 * (options.event.optional); NULL: nothing. */
PERCH_API const struct perch_attr *perch_sampler_missing_features(
	const struct perch_sampler *sampler, size_t index);
/* Waits until a ring has data: 1; 0 after timeout_ms (-1: for ever); -ENODATA when every target has
 * exited and the rings are empty; -EINTR. */
PERCH_API int perch_sampler_wait(struct perch_sampler *sampler, int timeout_ms);
/* The next record of any ring, ring by ring (in time order within a ring): 1; 0 when all are empty
 * now. */
PERCH_API int perch_sampler_next(struct perch_sampler *sampler, struct perch_record *record);
/* Hands whole batches to a callback, which returns 0 or a negative errno that ends the drain; the
 * batch is then consumed. Counts records, samples, lost and throttled on the way. Returns the bytes
 * drained or a negative errno. */
typedef int perch_drain_function(void *context, size_t ring, const struct iovec *pieces, int nr);
PERCH_API ssize_t perch_sampler_drain(struct perch_sampler *sampler, perch_drain_function *function,
				      void *context);
PERCH_API void perch_sampler_get_stats(const struct perch_sampler *sampler,
				       struct perch_sampler_stats *stats);
/*
 * The same of one ring, and of one event: records that carry its id; lost: LOST and LOST_SAMPLES of
 * it, which the kernel writes for what its whole ring had no room for. What perch_sampler_drain()
 * and _snapshot() hand out is not decoded: of that, an event's lost and throttled alone are
 * counted. A snapshot counts what it hands out, each time. -EINVAL.
 */
PERCH_API int perch_sampler_get_ring_stats(const struct perch_sampler *sampler, size_t ring,
					   struct perch_sampler_stats *stats);
PERCH_API int perch_sampler_get_event_stats(const struct perch_sampler *sampler, size_t index,
					    struct perch_sampler_stats *stats);
/*
 * As perch_sampler_next(), but merged by time over all rings, as perch_merge_next() does and
 * guarantees. From the first call on perch_sampler_wait() answers 1 when there is news, and soon
 * when records are held back.
 */
PERCH_API int perch_sampler_next_ordered(struct perch_sampler *sampler, bool flush,
					 struct perch_record *record);

enum perch_ring_state {
	PERCH_RING_STATE_RUNNING,
	PERCH_RING_STATE_PAUSED, /* perch_sampler_pause() */
	PERCH_RING_STATE_ENDED,	 /* every target of the ring has exited (hang-up) */
	/* an event is in error: pinned, and lost its counter */
	PERCH_RING_STATE_FAILED,
	/* its CPU is offline: nothing will come, even after it is back */
	PERCH_RING_STATE_OFFLINE,
};
/* As of the last perch_sampler_wait(); OFFLINE is looked up when asked. -EINVAL: no such ring. */
PERCH_API int perch_sampler_ring_state(const struct perch_sampler *sampler, size_t ring,
				       enum perch_ring_state *state);
PERCH_API int perch_sampler_pause(struct perch_sampler *sampler, struct perch_error *err);
PERCH_API int perch_sampler_resume(struct perch_sampler *sampler, struct perch_error *err);
/*
 * Lets each event that samples take so many more and then disables it (1..2^31-1). With fcntl(2)
 * O_ASYNC on perch_sampler_ring_fd() the last one's signal has si_code POLL_HUP; poll(2) does not
 * tell. Not for inherited events.
 */
PERCH_API int perch_sampler_refresh(struct perch_sampler *sampler, int samples,
				    struct perch_error *err);
/*
 * .overwrite: pauses all rings, hands what each holds to the callback, oldest first, in pieces of
 * whole records, and resumes. Returns the bytes handed out, or a negative errno (the callback's
 * too; rings run on in any case).
 */
PERCH_API ssize_t perch_sampler_snapshot(struct perch_sampler *sampler,
					 perch_drain_function *function, void *context,
					 struct perch_error *err);
/*
 * Snapshots hand out all that the rings hold, and so the same records again, until this is called:
 * from then on without those that the last snapshot had. For after one that is safely kept.
 */
PERCH_API void perch_sampler_snapshot_advance(struct perch_sampler *sampler);

#ifdef __cplusplus
}
#endif
#endif

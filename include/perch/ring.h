/* SPDX-License-Identifier: MIT */
/*
 * The mmap'd ring buffers: one ring, and the sampler: events x CPUs x threads behind one handle.
 *
 * The functions that open store the object through their first argument: NULL there after any failure. The close functions
 * take NULL.
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

/* Maps 1 + pages pages of the event; pages is a power of two. machine NULL: this one. A refusal is explained. */
PERCH_API int perch_ring_open(struct perch_ring **ring, int fd, size_t pages, struct perch_machine *machine,
			      struct perch_error *err);
/* A ring over memory that the caller laid out as the kernel does (tests, replay): control page, then size bytes. */
PERCH_API int perch_ring_from_memory(struct perch_ring **ring, struct perch_mmap_page *control, void *data, size_t size,
				     struct perch_error *err);
PERCH_API void perch_ring_close(struct perch_ring *ring);	/* NULL: nothing */
/*
 * What the kernel has written and the caller has not consumed, as one or two pieces (the second when it wraps) of whole
 * records. Returns the bytes. They stay valid until perch_ring_consume().
 */
PERCH_API size_t perch_ring_peek(struct perch_ring *ring, struct iovec pieces[2]);
/* Gives bytes back to the kernel: the tail is published once. */
PERCH_API void perch_ring_consume(struct perch_ring *ring, size_t bytes);
/* The next whole record (a wrapped one is put together in the ring's own 64 KiB buffer), NULL when there is none. Its
 * memory is given back to the kernel with the batch: at the next call that finds the batch at its end. */
PERCH_API const struct perch_record_header *perch_ring_next(struct perch_ring *ring);

/* A sampler counts what it drains. */
struct perch_sampler_stats {
	uint64_t records;
	uint64_t samples;
	uint64_t lost;			/* sum of LOST and LOST_SAMPLES */
	uint64_t throttled, unthrottled;
	uint64_t unknown;		/* records of a type this version does not know; delivered all the same */
	uint64_t damaged;		/* records that could not be decoded; skipped */
	uint64_t bytes;
};

struct perch_sampler_options {
	struct perch_options event;	/* for every event; .sample gets IDENTIFIER when there is more than one event */
	size_t ring_pages;		/* power of two; 0: 512 KiB per CPU, less when the mlock limit says so */
	const struct perch_cpus *cpus;	/* NULL: all online ones */
	const pid_t *threads;		/* with nr_threads: these threads instead of target.pid */
	size_t nr_threads;
	const int *cgroups;		/* one an event: a descriptor of the cgroup's folder that it is bound to; 0: none.
					 * NULL: target.cgroup_fd holds for all. They want CPUs: a target.pid of -1 */
	bool follow_apart;		/* what .event.follow asks for comes from an event of the sampler's own, from the moment
					 * of opening, and from all online CPUs, also where .cpus has fewer: for events that are
					 * enabled later, and for tasks that come to the CPUs from elsewhere */
};

struct perch_sampler;

/*
 * Opens every event on every CPU (and thread) of the target; one ring per CPU, into which all events of the CPU write.
 * With target.cpu -1 and a pid, per-CPU rings too, so that inheriting works. Everything starts disabled unless enabled
 * or enable_on_exec is set in options.
 *
 * What .event.follow asks for comes from one event: the first, when it can tell all of it. When it cannot (its PMU has
 * not all of the CPUs, it is pinned and may lose its counter, its terms say no-inherit or time=0, events are bound to
 * cgroups each), or with follow_apart, the sampler adds a software event "dummy" of its own, which runs from the start.
 *
 * Of a group with the modifier S the leader alone takes samples, each with the counts of all members
 * (PERCH_SAMPLE_READ, PERCH_FORMAT_GROUP and _ID), and the group is not inherited. A group with W is broken up when the
 * kernel refuses one of its members. The filter of an event is set before anything runs. An event with the term
 * overwrite, like the option write_backward, is refused: -EINVAL. So is inherit for a probe with a path, which its
 * terms.inherit may leave out.
 *
 * Each event needs options.event.period or .frequency, or a rate of its own (terms period=, freq=): without one no sample
 * would ever come, which is refused, -EINVAL. Not so when other records are asked for (.event.follow, .inherit_stat), for
 * the software event "dummy", for members of a group with S, and for PMUs that only count.
 *
 * target NULL: the calling thread. *sampler is NULL after a failure.
 */
PERCH_API int perch_sampler_open(struct perch_sampler **sampler, const char *events, const struct perch_target *target,
				 const struct perch_sampler_options *options, struct perch_error *err);
/* The same with events parsed already. One whose attr has a sample_period or sample_freq keeps it, and gets the fields of
 * its own sample_type beside those of the options. */
PERCH_API int perch_sampler_open_events(struct perch_sampler **sampler, const struct perch_events *events,
					const struct perch_target *target, const struct perch_sampler_options *options,
					struct perch_error *err);
PERCH_API void perch_sampler_close(struct perch_sampler *sampler);	/* NULL: nothing */
PERCH_API int perch_sampler_enable(struct perch_sampler *sampler);
PERCH_API int perch_sampler_disable(struct perch_sampler *sampler);
/*
 * Rings, for the caller's own event loop: poll their descriptors for POLLIN. After a POLLHUP call perch_sampler_wait() with
 * a timeout of 0, and ask for the descriptor again: it is another one, or -1 when no target of the ring is left.
 */
PERCH_API size_t perch_sampler_rings(const struct perch_sampler *sampler);
PERCH_API int perch_sampler_ring_fd(const struct perch_sampler *sampler, size_t ring);
PERCH_API struct perch_ring *perch_sampler_ring(struct perch_sampler *sampler, size_t ring);
/*
 * The attr and the ids (one per CPU and thread) of event number index; *nr 0 past the end. The caller's events keep
 * their numbers; behind the last one comes the sampler's own, when it has one: records in perch_record.event, and a file
 * that is to be read again, need it like the others.
 */
PERCH_API const struct perch_attr *perch_sampler_event(const struct perch_sampler *sampler, size_t index,
						       const char **name, const uint64_t **ids, size_t *nr);
/* Where id number id of an event counts: its CPU, the thread (-1: all, or those of a cgroup) and the ring. -EINVAL. */
PERCH_API int perch_sampler_place(const struct perch_sampler *sampler, size_t index, size_t id, int *cpu, pid_t *pid,
				  size_t *ring);
/*
 * How many records of event number index, under its id number id, the kernel had no room for since it was opened: with
 * PERCH_FORMAT_LOST in options.event.read (6.0). A LOST record tells of those alone that something was written behind.
 * -EINVAL: no such id, or not asked for.
 */
PERCH_API int perch_sampler_lost(struct perch_sampler *sampler, size_t index, size_t id, uint64_t *lost,
				 struct perch_error *err);
/* The event that leads the group of event number index: its own number when alone, also when its group was broken up. */
PERCH_API size_t perch_sampler_leader(const struct perch_sampler *sampler, size_t index);
/* What was left out of the event's attr because the kernel does not know it (options.event.optional); NULL: nothing. */
PERCH_API const struct perch_attr *perch_sampler_dropped(const struct perch_sampler *sampler, size_t index);
/* Waits until a ring has data: 1; 0 after timeout_ms (-1: for ever); -ENODATA when every target has exited
 * and the rings are empty; -EINTR. */
PERCH_API int perch_sampler_wait(struct perch_sampler *sampler, int timeout_ms);
/* The next record of any ring, ring by ring (in time order within a ring): 1; 0 when all are empty now. */
PERCH_API int perch_sampler_next(struct perch_sampler *sampler, struct perch_record *record);
/* Hands whole batches to a callback, which returns 0 or a negative errno that ends the drain; the batch is then consumed.
 * Counts records, samples, lost and throttled on the way. Returns the bytes drained or a negative errno. */
typedef int perch_drain_function(void *context, size_t ring, const struct iovec *pieces, int nr);
PERCH_API ssize_t perch_sampler_drain(struct perch_sampler *sampler, perch_drain_function *function, void *context);
PERCH_API void perch_sampler_stats(const struct perch_sampler *sampler, struct perch_sampler_stats *stats);

#ifdef __cplusplus
}
#endif
#endif

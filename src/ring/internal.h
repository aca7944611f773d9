/* SPDX-License-Identifier: MIT */
/*
 * Ring buffers, and the sampler: events x targets, with one handle. All events of a CPU, or with
 * .per_thread of a thread, write to one ring. A batch is what the kernel had written when it was
 * looked at; data_tail advances once per batch. The kernel shares the control page between all
 * mappings of an event, so a mark in its last bytes prevents a second ring. A file calls only
 * files below its own:
 *
 *	sampler_read.c		reads records, batches and snapshots
 *	sampler_threads.c	adds and removes threads while it runs
 *	sampler_open.c		opens every event on every target
 *	  sampler_event.c	  attrs of the events, and the tracking event
 *	  sampler_targets.c	  one element for each thread and CPU
 *	  sampler_attach.c	  opens the events of an element, attaches them to a ring
 *	  sampler_size.c	  default sizes of rings
 *	merge.c			merges rings by time, in place
 *	sampler_stats.c		statistics of rings and events
 *	sampler_lost.c		lost samples of an event
 *	sampler_signal.c	signals, and the event of a descriptor
 *	sampler_state.c		the state of rings; pausing and refreshing
 *	sampler_times.c		the times of an event
 *	sampler_wait.c		polls one descriptor per ring
 *	sampler.c		enabling and disabling, properties
 *	ring.c			one ring
 *	  snapshot.c		  snapshots of a ring that is written backward
 *	aux.c			the AUX area
 *	buffer.c		mapping and consuming the buffer of a ring
 */
#ifndef PERCH_RING_INTERNAL_H
#define PERCH_RING_INTERNAL_H

#include <poll.h>
#include <perch/explain.h>
#include <perch/sampler.h>

#include "base/fork.h"

/* perch_ring_peek() that also counts the records into *stats, if not NULL. */
size_t perch__ring_peek(struct perch_ring *ring, struct iovec pieces[2],
			struct perch_sampler_stats *stats);
/*
 * Returns the number of batches, or parts of one, that were dropped because of an invalid header.
 */
uint64_t perch__ring_damaged(const struct perch_ring *ring);

/* Counts what is special about a record that is not a sample. */
void perch__stats_other(struct perch_sampler_stats *stats, uint32_t type, uint64_t lost);
void perch__stats_add(struct perch_sampler_stats *sum, const struct perch_sampler_stats *more);
/* Counts one record; lost is the count in a LOST or LOST_SAMPLES record, else 0. */
static inline void perch__stats_count(struct perch_sampler_stats *stats, uint32_t type,
				      uint64_t lost)
{
	stats->records++;
	if (__builtin_expect(type == PERCH_RECORD_SAMPLE, 1))
		stats->samples++;
	else
		perch__stats_other(stats, type, lost);
}
/*
 * Returns the index of the u64 with the count of a LOST or LOST_SAMPLES record; 0 for other
 * records.
 */
unsigned perch__lost_word(uint32_t type, uint16_t size);

#define PERCH__NO_INDEX SIZE_MAX

/* The CPU, thread and ring of an id; see perch_sampler_id_info(). */
struct perch__id_info {
	int cpu;
	pid_t tid;
	size_t ring;
	size_t target; /* index in perch_sampler.targets */
	int fd;	       /* -1 after the thread was removed */
};

struct perch__sampler_event {
	struct perch_attr attr;
	struct perch_attr missing_features; /* optional parts that the kernel did not accept */
	char name[128];
	int leader;		       /* index of the group leader; its own if there is no group */
	int first;		       /* index of the first event of the same name */
	bool precise_max;	       /* lower precise_ip until the kernel accepts it */
	bool weak;		       /* its group may be broken up */
	bool user_only;		       /* PERCH_MAY_EXCLUDE_KERNEL has excluded the kernel */
	struct perch_error *skipped;   /* PERCH_MAY_SKIP: why it is not open; NULL if it is */
	const void *list;	       /* identity of its list of targets; NULL is the common one */
	char *filter, *path;	       /* copies of the caller's strings, or NULL */
	const struct perch_cpus *cpus; /* the CPUs of its PMU; NULL for all */
	struct perch_sampler_stats stats;
	uint64_t *ids;
	struct perch__id_info *id_info; /* of each id */
	size_t nr_ids, ids_capacity, id_info_capacity;
};

/*
 * A thread, a cgroup or all processes, on one CPU; with .per_thread a thread on any CPU. It has one
 * descriptor per event: fds[target * nr_events + event].
 */
struct perch__sampler_target {
	struct perch_target target;
	const void *list;   /* the list that it is from, as in struct perch__sampler_event */
	bool tracking_only; /* only the tracking event is opened */
	bool ended;	    /* the thread had ended at the open */
	bool removed;	    /* by perch_sampler_remove_thread(); its records may be in a ring */
	bool drained;	    /* removed, and the rings have none of its records */
	bool free;	    /* an element without a target */
	bool added;	    /* by the current call of perch_sampler_add_thread() */
	size_t ring[2];	    /* index of the backward and of the forward ring */
	uint64_t end[2];    /* of a removed target: the head of these rings at that time */
};

/* Whether poll(2) may wait for a descriptor. */
enum perch__fd_state {
	PERCH__FD_OPEN,
	PERCH__FD_ENDED, /* poll(2) has reported that its target has ended, or it was removed */
};

/*
 * The ring of a CPU, into which all descriptors of that CPU write, or of a thread. With .overwrite
 * there are two: one for the caller's events, and a forward one for the tracking event.
 */
struct perch__sampler_ring {
	struct perch_ring *ring; /* NULL: a free element */
	int cpu;		 /* -1 is any */
	bool backward;		 /* mode OVERWRITE: only snapshots read it */
	bool failed;		 /* poll(2) found an event in error state */
	struct perch_sampler_stats stats;
	size_t owner;	    /* index in fds of the descriptor that is mapped */
	size_t polled;	    /* index in fds of the descriptor that poll(2) waits for */
	int watched;	    /* the descriptor of the ring in the epoll; -1 is none */
	size_t nr_writers;  /* descriptors that write into the ring */
	size_t merge_index; /* in perch_sampler.merge */
};

/* Members marked (opening) point to the caller's memory and are valid only while opening. */
struct perch_sampler {
	struct perch_machine *machine;
	uint32_t generation; /* of the process that opened it */
	bool own_machine;
	struct perch__sampler_event *events;
	size_t nr_events;    /* including the tracking event */
	bool tracking_event; /* the last event is the sampler's own, for the side-band records */
	const struct perch_attr *optional;    /* (opening) */
	unsigned may;			      /* PERCH_MAY_* bits */
	enum perch_tristate counts_inherited; /* the kernel inherits events with SAMPLE_READ */
	int refused_group;		      /* leader of a weak group that was refused; or -1 */
	int unsupported;		      /* event to skip; or -1 */
	struct perch__sampler_target *targets;
	size_t nr_targets, targets_capacity;
	size_t nr_removed; /* targets that are removed but not drained */
	bool has_free;	   /* targets may have free elements */
	pid_t opener;	   /* the thread that opened the sampler: tid 0 of a target */
	struct perch_sampler_stats freed_stats; /* of rings that are unmapped */
	bool per_thread;			/* one ring per thread */
	bool overwrite;				/* the caller's events write backward */
	bool enabled;				/* the caller's events are enabled */
	bool tracking;				/* the tracking event is enabled */
	bool paused;				/* by perch_sampler_pause() */
	size_t ring_pages;
	uint64_t ring_budget;	 /* bytes that all rings of the default size may take */
	size_t first_pages;	 /* size of the first ring that was mapped */
	bool too_large;		 /* the limit refuses a ring, and earlier ones are larger */
	size_t tracking_pages;	 /* size of the forward rings of the tracking event */
	bool may_shrink;	 /* ring_pages is the default, so smaller rings are allowed */
	size_t min_ring_bytes;	 /* the size of the largest sample, and of a LOST record */
	int *fds;		 /* [target][event]; -1 if not open */
	unsigned char *fd_state; /* enum perch__fd_state of each */
	size_t nr_fds, fds_capacity, fd_state_capacity;
	struct perch__sampler_ring *rings;
	size_t nr_rings, rings_capacity;
	struct pollfd *polls; /* one per ring; fd is -1 after all targets have exited */
	size_t polls_capacity;
	struct perch_decoder *decoder;
	bool in_round;		   /* perch_sampler_next() has records of the rings' heads left */
	size_t current;		   /* the ring that it reads */
	struct perch_merge *merge; /* of perch_sampler_next_ordered(); NULL before */
	size_t *merge_rings;	   /* by index in the merge: index of the ring */
	size_t merge_rings_capacity;
	int epoll, timer; /* of perch_sampler_fd(); -1 before */
	int signal;	  /* of perch_sampler_set_signal(); 0 is none */
	pid_t signal_tid;
};

/*
 * Returns -ESTALE and fills *err if the sampler was opened before a fork; else 0. In a child,
 * requests on its descriptors, its epoll and its timer would act on those of the parent.
 */
int perch__sampler_fork_error(struct perch_error *err);
static inline int perch__sampler_check_fork(const struct perch_sampler *sampler,
					    struct perch_error *err)
{
	return perch__is_forked(sampler->generation) ? perch__sampler_fork_error(err) : 0;
}

static inline bool perch__is_tracking_event(const struct perch_sampler *sampler, size_t index)
{
	return sampler->tracking_event && index + 1 == sampler->nr_events;
}

/* True if the event writes into rings of mode OVERWRITE. */
static inline bool perch__writes_backward(const struct perch_sampler *sampler, size_t index)
{
	return sampler->overwrite && !perch__is_tracking_event(sampler, index);
}

/*
 * The next record of perch_sampler_next() begins a round. Called at the end of one, and when the
 * program asks whether there are records, or ends their writing.
 */
static inline void perch__sampler_begin_round(struct perch_sampler *sampler)
{
	sampler->in_round = false;
	sampler->current = 0;
}

/* Index of the ring that a descriptor (index in fds) writes into. */
static inline size_t perch__ring_of_fd(const struct perch_sampler *sampler, size_t fd)
{
	const struct perch__sampler_target *target = &sampler->targets[fd / sampler->nr_events];

	return target->ring[!perch__writes_backward(sampler, fd % sampler->nr_events)];
}

/* True if records of the ring are read in order, not by snapshots. */
static inline bool perch__is_read(const struct perch__sampler_ring *ring)
{
	return ring->ring && !ring->backward;
}

/* True if the ring is read by snapshots. */
static inline bool perch__is_snapshot(const struct perch__sampler_ring *ring)
{
	return ring->ring && ring->backward;
}

/* ---- sampler_event.c ---- */

/*
 * Makes the attrs of the caller's events, and of the tracking event if one is needed; sets
 * nr_events. Needs sampler->targets. May be called again after perch__sampler_break_group().
 */
int perch__sampler_build(struct perch_sampler *sampler, const struct perch_events *events,
			 const struct perch_sampler_options *options, struct perch_error *err);
/* Makes each member of a weak group an event of its own. */
void perch__sampler_break_group(struct perch_sampler *sampler, int leader);
/*
 * Leaves out an event. If it leads a group, the next member leads it. Returns 0, or a negative
 * errno if no event is left, with the reason of the first one.
 */
int perch__sampler_skip_event(struct perch_sampler *sampler, size_t nr, size_t index,
			      const struct perch_error *reason, struct perch_error *err);

/* ---- sampler_targets.c ---- */

/* Makes sampler->targets, in the order of CPUs. */
int perch__sampler_resolve_targets(struct perch_sampler *sampler,
				   const struct perch_targets *targets,
				   const struct perch_sampler_options *options, size_t nr_events,
				   struct perch_error *err);
/* Adds a thread, on each CPU of the sampler. The new targets are marked as added. */
int perch__sampler_add_thread_targets(struct perch_sampler *sampler, pid_t tid,
				      struct perch_error *err);

/* ---- sampler_size.c ---- */

/*
 * After a ring was refused because of the limit of locked memory: if the rings of this sampler
 * alone exceed it, the message and the remedy become those for all of them.
 */
void perch__sampler_explain_ring_size(const struct perch_sampler *sampler, struct perch_error *err);
/* Chooses the sizes of the rings, before they are mapped. */
void perch__sampler_set_ring_sizes(struct perch_sampler *sampler,
				   const struct perch_sampler_options *options);
/* Sets the default size of the next ring of a thread that is added. */
void perch__sampler_limit_added_ring(struct perch_sampler *sampler);

/* ---- sampler_attach.c ---- */

/* Makes space for the descriptors of all targets. */
int perch__sampler_reserve_fds(struct perch_sampler *sampler, struct perch_error *err);
/*
 * Opens the events of a target that write in that direction, and attaches them to the ring. The
 * error of a failure is that of the last attempt.
 */
int perch__sampler_open_target(struct perch_sampler *sampler, size_t target, bool backward,
			       struct perch_error *err);

/* ---- sampler_open.c ---- */

/* Makes the decoder again, with the ids that the events have now. */
int perch__sampler_make_decoder(struct perch_sampler *sampler, struct perch_error *err);

/* ---- sampler_wait.c ---- */

/* Makes poll(2) wait for a descriptor whose target has not ended; none if all have. */
void perch__sampler_poll_ring(struct perch_sampler *sampler, size_t ring);
/* Makes perch_sampler_fd() readable: rings may have records whose wakeup was taken. */
void perch__sampler_wake(struct perch_sampler *sampler);
/* The epoll gets the descriptors of sampler->polls. */
void perch__sampler_watch(struct perch_sampler *sampler);
/*
 * Called when the caller has read all records: takes the events of the epoll. Returns true if there
 * were any, so the rings may have new records.
 */
bool perch__sampler_take_wakeups(struct perch_sampler *sampler);
bool perch__sampler_has_new_data(const struct perch_sampler *sampler);

/* ---- sampler_threads.c ---- */

/* Frees removed targets whose records have been read. */
void perch__sampler_free_removed(struct perch_sampler *sampler);

/* ---- merge.c ---- */

/* The new decoder has the events of the previous one, and more ids. */
void perch__merge_set_decoder(struct perch_merge *merge, struct perch_decoder *decoder);

/* ---- sampler_signal.c ---- */

/* Sets the signal of perch_sampler_set_signal() for the descriptors of a new target. */
int perch__sampler_signal_target(struct perch_sampler *sampler, size_t target,
				 struct perch_error *err);

/* default sizes, see struct perch_sampler_options */
#define PERCH__RING_BYTES	   (512u << 10)
#define PERCH__THREAD_RING_BYTES   (128u << 10)
#define PERCH__TRACKING_RING_BYTES (128u << 10)
#define PERCH__MIN_RING_PAGES	   4
#define PERCH__MAX_RECORD_SIZE	   65528 /* a 16-bit size that is a multiple of 8 */
#define PERCH__MAX_LOST_SIZE	   72	 /* of a LOST record with all fields of a trailer */

#endif

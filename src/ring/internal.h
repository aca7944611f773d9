/* SPDX-License-Identifier: MIT */
#ifndef PERCH_RING_INTERNAL_H
#define PERCH_RING_INTERNAL_H

#include <poll.h>
#include <perch/explain.h>
#include <perch/ring.h>

/* The next record of the batch in hand; NULL at the batch's end. */
const struct perch_record_header *perch__ring_record(struct perch_ring *ring);
/* Gives back to the kernel what was handed out. */
void perch__publish_tail(struct perch_ring *ring);
/* Gives the batch back to the kernel and takes up what has come since: false when that is nothing.
 */
bool perch__next_batch(struct perch_ring *ring);
/* perch_ring_peek() that counts what it hands out into *stats, when not NULL. */
size_t perch__ring_peek(struct perch_ring *ring, struct iovec pieces[2],
			struct perch_sampler_stats *stats);
bool perch__ring_has_data(const struct perch_ring *ring);
/* How often a batch, or the rest of one, was dropped because a header in it made no sense. */
uint64_t perch__ring_damaged(const struct perch_ring *ring);

/* One that is no sample; lost is what a LOST or LOST_SAMPLES record says. */
void perch__stats_other(struct perch_sampler_stats *stats, uint32_t type, uint64_t lost);
/* Counts one record. */
static inline void perch__stats_count(struct perch_sampler_stats *stats, uint32_t type,
				      uint64_t lost)
{
	stats->records++;
	if (__builtin_expect(type == PERCH_RECORD_SAMPLE, 1))
		stats->samples++;
	else
		perch__stats_other(stats, type, lost);
}
/* Index of the u64 in a record that says how many were lost; 0: the record says no such thing. */
unsigned perch__lost_word(uint32_t type, uint16_t size);

/* Where an id counts. */
struct perch__id_info {
	int cpu;
	pid_t pid;
	size_t ring;
	int fd;
};

struct perch__sampler_event {
	struct perch_attr attr;
	struct perch_attr missing_features; /* optional parts that the kernel did not take */
	char name[128];
	int leader; /* index of the group's leader; its own when alone */
	int first;  /* index of the first event of the same name */
	/* not yet opened: lower precise_ip until the kernel takes it */
	bool precise_max;
	bool weak;		       /* its group may be broken up */
	int cgroup_fd;		       /* > 0: instead of the target's */
	const char *filter;	       /* the caller's: valid while opening only */
	const struct perch_cpus *cpus; /* the CPUs of its PMU; NULL: all */
	struct perch_sampler_stats stats;
	uint64_t *ids;
	struct perch__id_info *id_info; /* of each id */
	size_t nr_ids;
};

/* A CPU: all descriptors there write into one ring. With .overwrite there are two: the sampler's
 * own event has another. */
struct perch__cpu_ring {
	struct perch_ring *ring;
	int cpu;
	bool backward; /* read by snapshots alone */
	bool failed;   /* poll(2) found an event in error */
	struct perch_sampler_stats stats;
	/* nr_events * nr_threads of them, -1 where nothing was opened; see perch__ring_has_event()
	 */
	const int *fds;
	size_t polled; /* which one poll(2) looks at */
};

struct perch_sampler {
	struct perch_machine *machine;
	bool own_machine;
	struct perch__sampler_event *events;
	size_t nr_events; /* with the sampler's own */
	/* the last one is: it carries what options.event.sideband asks for */
	bool tracking_event;
	/* the caller's: valid while opening only, as what is marked so below */
	const struct perch_attr *optional;
	/* leader of a weak group that the kernel refused; -1: none */
	int refused_group;
	struct perch_target target;
	const struct perch_cpus *cpus;
	/* those of the caller's events; NULL: all of these */
	const struct perch_cpus *event_cpus;
	struct perch_cpus one_cpu; /* target.cpu as a list */
	int one_cpu_number;
	const pid_t *threads; /* NULL: target.pid alone; valid while opening only */
	size_t nr_threads;
	/* the caller's events write backward, into rings that come before the others */
	bool overwrite;
	size_t nr_backward; /* lanes so far that do */
	bool paused;	    /* by perch_sampler_pause() */
	size_t ring_pages;
	size_t tracking_pages; /* of the own event's rings beside those of .overwrite */
	bool may_shrink;       /* the size was not asked for: smaller ones will do */
	size_t min_ring_bytes; /* of the largest event's samples: no ring is smaller */
	int *fds;	       /* [cpu][thread][event] */
	size_t nr_fds;
	struct perch__cpu_ring *rings;
	size_t nr_rings;
	struct pollfd *polls; /* one a lane; fd -1 when all its targets have exited */
	struct perch_decoder *decoder;
	size_t current; /* lane whose batch perch_sampler_next() is in */
	/* of perch_sampler_next_ordered(), made when first needed */
	struct perch_merge *merge;
};

static inline bool perch__is_tracking_event(const struct perch_sampler *sampler, size_t index)
{
	return sampler->tracking_event && index + 1 == sampler->nr_events;
}

/* Whether the event, where it is on the lane's CPU, writes into the lane's ring. */
static inline bool perch__ring_has_event(const struct perch_sampler *sampler,
					 const struct perch__cpu_ring *cpu_ring, size_t index)
{
	return !sampler->overwrite ||
	       cpu_ring->backward != perch__is_tracking_event(sampler, index);
}

/*
 * sampler_event.c. Fills sampler->events and sets nr_events: the attrs of the caller's events, and
 * the sampler's own when it needs one. Needs sampler->cpus. To be called again once a group is
 * broken up, which is not undone.
 */
int perch__sampler_build(struct perch_sampler *sampler, const struct perch_events *events,
			 const struct perch_sampler_options *options, struct perch_error *err);
/* A weak group comes apart. */
void perch__sampler_break_group(struct perch_sampler *sampler, int leader);
/* Closes everything that was opened; the events stay, to be opened again. */
void perch__sampler_close_events(struct perch_sampler *sampler);
bool perch__has_cpu(const struct perch_cpus *cpus, int cpu);

#define PERCH__RING_BYTES	   (512u << 10)
#define PERCH__TRACKING_RING_BYTES (128u << 10)
#define PERCH__MIN_RING_PAGES	   4
#define PERCH__MAX_RECORD_SIZE \
	65528			/* a record's size has 16 bits, of which the lowest three are 0 */
#define PERCH__MAX_LOST_SIZE 72 /* of a LOST record with all of a trailer */

#endif

/* SPDX-License-Identifier: MIT */
/* Declarations that the files of the ring module share: counting of records, and the sampler. */
#ifndef PERCH_RING_INTERNAL_H
#define PERCH_RING_INTERNAL_H

#include <poll.h>
#include <perch/explain.h>
#include <perch/sampler.h>

/* perch_ring_peek() that also counts the records into *stats, if not NULL. */
size_t perch__ring_peek(struct perch_ring *ring, struct iovec pieces[2],
			struct perch_sampler_stats *stats);
/*
 * Returns the number of batches, or parts of one, that were dropped because of an invalid header.
 */
uint64_t perch__ring_damaged(const struct perch_ring *ring);

/* Counts what is special about a record that is not a sample. */
void perch__stats_other(struct perch_sampler_stats *stats, uint32_t type, uint64_t lost);
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

/* The CPU, thread and ring of an id; see perch_sampler_id_info(). */
struct perch__id_info {
	int cpu;
	pid_t pid;
	size_t ring;
	int fd;
};

struct perch__sampler_event {
	struct perch_attr attr;
	struct perch_attr missing_features; /* optional parts that the kernel did not accept */
	char name[128];
	int leader;		       /* index of the group leader; its own if there is no group */
	int first;		       /* index of the first event of the same name */
	bool precise_max;	       /* lower precise_ip until the kernel accepts it */
	bool weak;		       /* its group may be broken up */
	int cgroup_fd;		       /* > 0: replaces that of the target */
	const char *filter;	       /* the caller's; valid only while opening */
	const struct perch_cpus *cpus; /* the CPUs of its PMU; NULL for all */
	struct perch_sampler_stats stats;
	uint64_t *ids;
	struct perch__id_info *id_info; /* of each id */
	size_t nr_ids;
};

/*
 * The ring of a CPU, into which all descriptors of that CPU write. With .overwrite a CPU has two:
 * one for the caller's events, and a forward one for the tracking event.
 */
struct perch__cpu_ring {
	struct perch_ring *ring;
	int cpu;
	bool backward; /* mode OVERWRITE: only snapshots read it */
	bool failed;   /* poll(2) found an event in error state */
	struct perch_sampler_stats stats;
	const int *fds; /* [thread][event]; -1 if not open; see perch__ring_has_event() */
	size_t polled;	/* index of the descriptor that poll(2) waits for */
};

/* Members marked (opening) point to the caller's memory and are valid only while opening. */
struct perch_sampler {
	struct perch_machine *machine;
	bool own_machine;
	struct perch__sampler_event *events;
	size_t nr_events;    /* including the tracking event */
	bool tracking_event; /* the last event is the sampler's own, for the side-band records */
	const struct perch_attr *optional; /* (opening) */
	int refused_group;		   /* leader of a weak group that was refused; or -1 */
	struct perch_target target;
	const struct perch_cpus *cpus; /* (opening) */
	/* (opening) CPUs of the caller's events; NULL is all of cpus */
	const struct perch_cpus *event_cpus;
	struct perch_cpus one_cpu; /* target.cpu as a list */
	int one_cpu_number;
	const pid_t *threads; /* (opening) NULL for target.pid */
	size_t nr_threads;
	bool overwrite;	    /* the caller's events write backward */
	size_t nr_backward; /* rings of mode OVERWRITE; they precede the others */
	bool paused;	    /* by perch_sampler_pause() */
	size_t ring_pages;
	size_t tracking_pages; /* size of the forward rings of the tracking event */
	bool may_shrink;       /* ring_pages is the default, so smaller rings are allowed */
	size_t min_ring_bytes; /* the size of the largest sample, and of a LOST record */
	int *fds;	       /* [cpu][thread][event] */
	size_t nr_fds;
	struct perch__cpu_ring *rings;
	size_t nr_rings;
	struct pollfd *polls; /* one per ring; fd is -1 after all targets have exited */
	struct perch_decoder *decoder;
	size_t current;		   /* the ring whose batch perch_sampler_next() reads */
	struct perch_merge *merge; /* of perch_sampler_next_ordered(); NULL before */
};

static inline bool perch__is_tracking_event(const struct perch_sampler *sampler, size_t index)
{
	return sampler->tracking_event && index + 1 == sampler->nr_events;
}

/* True if the event writes into this ring, if it is open on the ring's CPU. */
static inline bool perch__ring_has_event(const struct perch_sampler *sampler,
					 const struct perch__cpu_ring *cpu_ring, size_t index)
{
	return !sampler->overwrite ||
	       cpu_ring->backward != perch__is_tracking_event(sampler, index);
}

/*
 * Makes the attrs of the caller's events, and of the tracking event if one is needed; sets
 * nr_events. Needs sampler->cpus. May be called again after perch__sampler_break_group().
 */
int perch__sampler_build(struct perch_sampler *sampler, const struct perch_events *events,
			 const struct perch_sampler_options *options, struct perch_error *err);
/* Makes each member of a weak group an event of its own. */
void perch__sampler_break_group(struct perch_sampler *sampler, int leader);
/* Closes all descriptors and rings. The events stay and can be opened again. */
void perch__sampler_close_events(struct perch_sampler *sampler);

#define PERCH__RING_BYTES	   (512u << 10)
#define PERCH__TRACKING_RING_BYTES (128u << 10)
#define PERCH__MIN_RING_PAGES	   4
#define PERCH__MAX_RECORD_SIZE	   65528 /* a 16-bit size that is a multiple of 8 */
#define PERCH__MAX_LOST_SIZE	   72	 /* of a LOST record with all fields of a trailer */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The parts of a recorder. A file calls only files below its own:
 *
 *	recorder.c	what a program calls, and its results
 *	cache.c		the file -> the build id cache
 *	open.c		options and targets -> the sampler
 *	synthesize.c	records of the state before the recording -> the file
 *	files.c		opens, ends and switches files
 *	  features.c	  the sections after the data of a file
 *	    build_ids.c	    the section BUILD_ID
 *	    tracing.c	    the section TRACING_DATA
 *	    cost/cost.c	    what samples and the recorder cost
 *	      cost/cost_cache.c	      the cost of a sample, for the next recording
 *	--- independent of struct perch_recorder ---
 *	workers.c	threads that read rings
 *	thread_cpus.c	which thread reads the rings of which CPUs
 *	snapshot.c	copies of the rings -> the file (overwrite)
 *	rings.c		the rings -> the file, one round
 *	descendants/descendants.c	which records are of the processes that are recorded
 *	off_cpu/off_cpu.c		off-CPU time: its own rings
 *	  off_cpu/waits.c		  where threads waited before
 *	  off_cpu/intervals.c		  context switches -> intervals
 *	    off_cpu/off_cpu_sample.c	    intervals -> samples
 *	lost.c		numbers of lost records
 *	scan.c and its parts	what the recorder learns from the records: scan.h
 *	maps.c		records that describe the recording
 *	output.c	a file, a pipe or a function
 *	durable.c	the file -> its disk, while it grows
 *	channel.c	commands of other programs (perch/channel.h)
 *	wall_clock.c	a moment by the wall clock and by that of the samples
 */
#ifndef PERCH_RECORDER_INTERNAL_H
#define PERCH_RECORDER_INTERNAL_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <time.h>
#include <perch/recorder.h>
#include <perch/synthesize.h>

#include "base/fork.h"
#include "recorder/off_cpu/off_cpu.h"
#include "scan.h"

/* ---- output.c: a file, a pipe or a function ---- */

struct recorder_output {
	struct perch_writer *writer; /* NULL if no file is open */
	perch_recorder_sink *sink;   /* NULL, or gets the records */
	void *context;
	uint64_t sunk; /* bytes that it has got */
};

/* Writes whole records; without a file and a function they are dropped. Returns 0 or a negative
 * errno. */
int perch__recorder_append(struct recorder_output *output, const struct iovec *pieces, int nr,
			   struct perch_error *err);
/* Returns the bytes of records that are written, as they are compressed. */
uint64_t perch__recorder_output_size(const struct recorder_output *output);
/* The same before they were compressed. */
uint64_t perch__recorder_output_records(const struct recorder_output *output);

/* ---- rings.c: the rings of a sampler ---- */

struct recorder_descendants; /* descendants/descendants.h */

struct recorder_rings {
	struct perch_sampler *sampler;
	size_t nr;
	size_t *index;	       /* in the sampler, of those of a thread; NULL: all rings */
	struct iovec *pieces;  /* two per ring */
	struct iovec *written; /* these around the edits, and one for the end of the round */
	size_t written_capacity;
	size_t *bytes;				  /* by ring: taken in this round */
	bool *backward;				  /* by ring: it is read by snapshots only */
	struct recorder_descendants *descendants; /* NULL: records of all processes are written */
	size_t *ahead; /* with descendants, by ring: bytes of the next round that were looked at */
	struct recorder_off_cpu *off_cpu; /* NULL: it is not recorded */
	struct iovec finished;		  /* its samples of this round */
};

/* The caller keeps ownership of the sampler. backward_events: number of events that write backward,
 * which are the first ones. Returns 0 or -ENOMEM. */
int perch__recorder_rings_init(struct recorder_rings *rings, struct perch_sampler *sampler,
			       size_t backward_events);
/* The rings of these CPUs, for a thread. cpu_of_ring: by ring of all. Returns 0 or -ENOMEM. */
int perch__recorder_rings_part(struct recorder_rings *rings, const struct recorder_rings *all,
			       const struct perch_cpus *cpus, const int *cpu_of_ring);
void perch__recorder_rings_clear(struct recorder_rings *rings);
/*
 * Does one round: scans the new records of the rings and writes them with one system call. If
 * output is NULL, the records are only scanned. Returns the number of bytes, 0 when the rings are
 * empty, or a negative errno; records that could not be written are then counted.
 */
ssize_t perch__recorder_write_round(struct recorder_rings *rings, struct recorder_scan *scan,
				    struct recorder_output *output, struct perch_error *err);
/* After a failure: takes what the rings still have, and counts it as unwritten. */
void perch__recorder_discard_round(struct recorder_rings *rings, struct recorder_scan *scan);
/* Returns the number of overwritten bytes in the backward rings. */
uint64_t perch__recorder_rings_overwritten(const struct recorder_rings *rings);

/* ---- lost.c: numbers of lost records ---- */

/*
 * Each event has its number of lost records (Linux 6.0) at the end of a file. A LOST record is
 * written only when its ring has space again, which may never happen; so the sum of LOST records is
 * used only if events have no numbers.
 */
struct recorder_lost {
	size_t nr_events, nr_rings, nr_ids;
	size_t first_sideband; /* events from this one on lose side-band records */
	bool counted;	       /* the events have numbers */
	uint64_t *before;      /* by id: lost in files that are complete */
	uint64_t *now;	       /* by id: the same with this file */
	uint64_t *in_ring;     /* nr_events + 1 rows of nr_rings; the last row is of LOST records */
	uint64_t total;	       /* in this file */
	uint64_t sideband, sideband_before; /* in all files, and in complete ones */
};

/* 0 or -ENOMEM. */
int perch__recorder_lost_init(struct recorder_lost *lost, const struct perch_file_event *events,
			      size_t nr_events, size_t nr_rings, size_t first_sideband);
void perch__recorder_lost_clear(struct recorder_lost *lost);
/* By ring: the counts of LOST records. */
static inline uint64_t *perch__recorder_lost_records(const struct recorder_lost *lost)
{
	return &lost->in_ring[lost->nr_events * lost->nr_rings];
}
/* Reads the numbers of all events and writes LOST_SAMPLES records, as perf does from 6.1 on.
 * Returns 0 or a negative errno. */
int perch__recorder_write_lost(struct recorder_lost *lost, const struct recorder_rings *rings,
			       struct recorder_output *output, struct perch_error *err);
/* Adds the counts of LOST records if events have no numbers. All records must have been scanned. */
void perch__recorder_lost_add_records(struct recorder_lost *lost);
/* Call this when a file is complete: its numbers are not part of the next file. */
void perch__recorder_lost_next_file(struct recorder_lost *lost);

/* ---- maps.c: records that describe the recording ---- */

/* Where such records go. */
struct recorder_sink {
	perch_synthesize_sink *sink;
	void *context;
	struct perch_error *err;
};
/* Writes ID_INDEX records: event, CPU and thread of each id. These functions return 0 or a negative
 * errno. */
int perch__recorder_write_id_index(const struct recorder_sink *to,
				   const struct perch_sampler *sampler);
/* Writes a THREAD_MAP record: each thread, or -1 for all, and its name. */
int perch__recorder_write_thread_map(const struct recorder_sink *to, struct perch_machine *machine,
				     const pid_t *threads, size_t nr);
int perch__recorder_write_cpu_map(const struct recorder_sink *to, const struct perch_cpus *cpus);
/* Writes a COMM record of a child that has not executed its program yet: its name is that of the
 * recorder. id_size: bytes of the sample id, which are zero. */
int perch__recorder_write_child(const struct recorder_sink *to, pid_t pid, size_t id_size);

/* ---- durable.c: each returns 0 or a negative errno; path: of the file, for messages ---- */

struct recorder_durable;
/* The thread writes this file to its disk from now on. Makes *durable, and the thread, if it is
 * NULL. */
int perch__recorder_durable_begin(struct recorder_durable **durable, const char *path,
				  struct perch_error *err);
/* Returns when the file, which was closed, is on its disk. NULL: does nothing. */
int perch__recorder_durable_end(struct recorder_durable *durable, const char *path,
				struct perch_error *err);
/* The same for the name of a file. */
int perch__recorder_durable_name(struct recorder_durable *durable, const char *path,
				 struct perch_error *err);
/* Waits until the thread has ended. */
void perch__recorder_durable_free(struct recorder_durable *durable);

/* ---- snapshot.c ---- */

/* Writes a copy of all backward rings in the order of time. Returns 0 or a negative errno. */
int perch__recorder_write_snapshot(struct recorder_rings *rings, struct recorder_scan *scan,
				   const struct perch_decoder *decoder,
				   struct recorder_output *output, struct perch_error *err);

/* ---- the recorder ---- */

/* Records of all processes, made before the events are enabled. */
struct recorder_early {
	char *bytes;
	size_t used, capacity;
	bool complete;
};

/* ---- wall_clock.c: the feature CLOCK_DATA ---- */

/* A moment by the wall clock, in ns since 1970, and by the clock of the samples. */
struct recorder_moment {
	uint32_t clock; /* CLOCK_*, or RECORDER_DEFAULT_CLOCK */
	uint64_t wall, time;
};
/* The clock of events without clockid has no number. */
#define RECORDER_DEFAULT_CLOCK UINT32_MAX

/* Now, by the clock of the options. Returns false, and sets nothing, if that is refused. */
bool perch__recorder_take_moment(struct recorder_moment *moment,
				 const struct perch_options *options,
				 struct perch_machine *machine);
/* Returns 0 or a negative errno. */
int perch__recorder_write_moment(struct perch_writer *writer, const struct recorder_moment *moment,
				 struct perch_error *err);

struct recorder_workers; /* workers.h */

struct perch_recorder {
	uint32_t generation;		       /* of the process that opened it */
	struct perch_recorder_options options; /* as they were completed: open.c */
	struct perch_machine *machine, *own_machine;
	bool system_wide;
	pid_t *threads; /* targets; -1: all */
	size_t nr_threads;
	struct perch_cpus cpus; /* of the targets; without one, all */
	bool replaced_cycles;
	struct recorder_moment moment; /* before the events were opened; wall is 0 if unknown */
	struct perch_sampler *sampler;
	struct perch_file_event *events; /* of the sampler */
	size_t nr_events, nr_own_events;
	struct perch_decoder *decoder;		  /* of overwrite */
	struct recorder_off_cpu *off_cpu;	  /* NULL without it */
	struct recorder_descendants *descendants; /* NULL: all processes are recorded */

	struct recorder_output output;
	struct recorder_durable *durable; /* NULL if the option is off */
	struct recorder_rings rings;
	struct recorder_workers *workers; /* NULL: the program's thread reads the rings */
	bool workers_stopped;
	uint64_t parts_bytes; /* of records before compression, of the files of the threads */
	struct recorder_scan scan;
	struct recorder_sideband sideband;
	struct recorder_early early;
	struct recorder_lost lost;
	struct perch_synthesize_counts counts;
	struct perch_error lacking[PERCH_RECORDER_NR_PARTS]; /* errnum 0: nothing */

	struct perch_recording_cost cost; /* of the file that ended last */
	bool timers_only;		  /* all events that take samples are timers */
	/* when the costs of this file begin, by CLOCK_MONOTONIC, and the CPU time since then */
	uint64_t cost_since, busy_ns;
	bool prepared, started;
	bool failed;		    /* writing has failed */
	uint64_t file_start_ms;	    /* of CLOCK_MONOTONIC */
	char **names;		    /* of the last max_files files */
	size_t nr_files;	    /* that have ended */
	char *last;		    /* the name of the last one */
	uint64_t last_record_bytes; /* of the last one */
	uint64_t file_start;	    /* bytes that the open file began with */
	uint64_t overwritten;	    /* bytes, at the end of the last file */
	uint64_t overwritten_since; /* the end of the one before */
};

/* True if records are cached for files that start later. */
static inline bool perch__recorder_keeps_sideband(const struct perch_recorder *recorder)
{
	return recorder->options.sampler.overwrite || recorder->options.several;
}

/* True if BPF programs are recorded. */
static inline bool perch__recorder_has_bpf(const struct perch_recorder *recorder)
{
	return !recorder->options.no_kernel && !recorder->options.no_bpf;
}

/* 0 or -ESTALE. */
static inline int perch__recorder_check_fork(const struct perch_recorder *recorder,
					     struct perch_error *err)
{
	return perch__is_forked(recorder->generation) ? PERCH__FORK_ERROR(err, "the recorder") : 0;
}

/* ---- tracing.c, build_ids.c, features.c: each returns 0 or a negative errno ---- */

/*
 * Writes the formats of the recorded tracepoints, so that readers can parse raw data. Writes
 * nothing if there are none.
 */
int perch__recorder_write_tracing_data(struct perch_writer *writer,
				       const struct perch_file_event *events, size_t nr_events,
				       struct perch_machine *machine, struct perch_error *err);
int perch__recorder_write_build_ids(const struct perch_recorder *recorder, struct perch_error *err);
/* The features that are known before the first record. */
int perch__recorder_write_first_features(const struct perch_recorder *recorder,
					 struct perch_writer *writer, struct perch_error *err);
/* The others; to a file, all. */
int perch__recorder_write_features(const struct perch_recorder *recorder, struct perch_error *err);

/* ---- cost_cache.c ---- */

/* Returns what a sample with the contents of the attr costs, in ns. 0: not known since the boot. */
uint64_t perch__recorder_cached_cost(struct perch_machine *machine, const struct perch_attr *attr);
void perch__recorder_cache_cost(struct perch_machine *machine, const struct perch_attr *attr,
				uint64_t ns);

/* ---- cost.c ---- */

/* CPU time of this thread. */
uint64_t perch__recorder_cpu_ns(void);
/* Measures what samples of timers cost, if there are many. Returns -ERANGE if they would take more
 * than half of a CPU, and the options do not allow that; otherwise 0. */
int perch__recorder_check_cost(struct perch_recorder *recorder, const struct perch_events *events,
			       struct perch_error *err);
/* Call this when a file ends: recorder->cost is then that of the file. */
void perch__recorder_end_cost(struct perch_recorder *recorder);
/* Returns 0 or a negative errno. */
int perch__recorder_write_cost(const struct perch_recorder *recorder, struct perch_writer *writer,
			       struct perch_error *err);

/* ---- files.c ---- */

/* Now, in ms of CLOCK_MONOTONIC. */
uint64_t perch__recorder_now_ms(void);
/* Lists the events and makes what depends on them. Call it before any other function of this
 * section. Returns 0 or a negative errno. */
int perch__recorder_prepare_files(struct perch_recorder *recorder, struct perch_error *err);
/* Opens what records are written to. Returns 0 or a negative errno. */
int perch__recorder_open_file(struct perch_recorder *recorder, struct perch_error *err);
void perch__recorder_clear_files(struct perch_recorder *recorder);

/* ---- synthesize.c ---- */

/*
 * If CPUs are recorded: makes the records of all processes, for perch__recorder_synthesize(). The
 * tracking event is enabled since it was opened, so an execve(2) during or after this is recorded.
 * If the processes were read while the events are enabled, samples before an execve(2) would get
 * its name and mappings.
 */
void perch__recorder_synthesize_early(struct perch_recorder *recorder);
/* Writes the records of what runs. Returns 0 or a negative errno. */
int perch__recorder_synthesize(struct perch_recorder *recorder, struct perch_error *err);

/* ---- open.c ---- */

/* Refuses options that exclude .descendants_of. Returns 0 or -EINVAL. */
int perch__recorder_check_descendants(const struct perch_recorder_options *options,
				      struct perch_error *err);
/* Opens the filter of .descendants_of, after the sampler. Returns 0 or a negative errno. */
int perch__recorder_open_descendants(struct perch_recorder *recorder, struct perch_error *err);
/* Opens the sampler. Returns 0 or a negative errno. */
int perch__recorder_open_sampler(struct perch_recorder *recorder, struct perch_events *events,
				 const struct perch_targets *targets, struct perch_error *err);

#endif

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
 *	    cost.c	    what samples and the recorder cost
 *	--- independent of struct perch_recorder ---
 *	workers.c	threads that read rings
 *	thread_cpus.c	which thread reads the rings of which CPUs
 *	snapshot.c	copies of the rings -> the file (overwrite)
 *	rings.c		the rings -> the file, one round
 *	off_cpu/off_cpu.c		  off-CPU time: its own rings
 *	  off_cpu/intervals.c		  context switches -> intervals
 *	    off_cpu/off_cpu_sample.c	    intervals -> samples
 *	lost.c		numbers of lost records
 *	scan.c		counts, times and DSOs of the records that are written
 *	  users.c	  users of processes with code of JIT compilers
 *	  edit.c	  records that are written in place of those of the rings
 *	    ids.c	    build ids of mapped files
 *	pinned.c	files that are pinned for the build id cache
 *	sideband.c	the side-band cache, for files that start later
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
#include "base/hash_table.h"
#include "recorder/off_cpu/off_cpu.h"

static inline uint64_t recorder_ns(struct timespec time)
{
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

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

/* ---- sideband.c: the side-band cache ---- */

/*
 * The records that each of several files starts with: mappings, names and tasks. Those of the time
 * before the recording come first. A zeroed cache is empty.
 */
struct recorder_sideband {
	char *bytes;
	size_t used, capacity;
	/* bytes at the start, of records that describe the time before the recording */
	size_t synthesized;
	size_t limit; /* bytes; 0 is RECORDER_SIDEBAND_BYTES */
	uint64_t
		dropped; /* records that exceeded the limit; those of ended processes not counted */
};
#define RECORDER_SIDEBAND_BYTES (64u << 20)

/* True if records of the type belong in the cache. */
bool perch__recorder_sideband_has(uint32_t type);
/* Appends whole records. Returns 0 or -ENOMEM. */
int perch__recorder_sideband_add(struct recorder_sideband *sideband, const void *bytes,
				 size_t size);
/* All records added so far describe the time before the recording. They are dropped only when their
 * process has ended. */
void perch__recorder_sideband_end_synthesized(struct recorder_sideband *sideband);
void perch__recorder_sideband_clear(struct recorder_sideband *sideband);

/* ---- scan.c: counts, times and DSOs of the records that are written ---- */

/*
 * A mapped file, by its path and its build id, or by its path, device and inode: in a container,
 * the same path is another file.
 */
struct recorder_dso {
	char *path;
	uint8_t build_id_size, build_id[20]; /* as recorded; 0 bytes if it is not in the record */
	uint32_t major, minor;
	uint64_t inode, inode_generation; /* 0 with a build id */
	/* the last process that mapped it, and where */
	uint32_t pid;
	uint64_t start, end;
	bool pinned;
	uint8_t attempts; /* to pin it */
};

/* Each mapped file once. */
struct recorder_dsos {
	struct recorder_dso *dso;
	size_t nr, capacity;
	struct perch__hash_table table;
};

/* ---- pinned.c: files that are pinned open for the build id cache ---- */

#define RECORDER_MAX_PINNED 256
#define RECORDER_MAX_ROOTS  32

struct recorder_pinned_file {
	int fd; /* O_PATH */
	uint32_t dso;
};

/* A root directory of processes that is not that of the recorder. */
struct recorder_pinned_root {
	int fd; /* O_PATH */
	uint64_t device, inode;
};

/* Zeros keep no files. */
struct recorder_pinned {
	struct recorder_pinned_file file[RECORDER_MAX_PINNED];
	size_t nr, limit;
	struct recorder_pinned_root root[RECORDER_MAX_ROOTS]; /* for debug files */
	size_t nr_roots;
	uint64_t *mount; /* ids of mounts that are older than the recording */
	size_t nr_mounts;
	uint64_t mount_namespace; /* of the recorder; 0 if unknown */
	bool map_files;		  /* this user may use /proc/PID/map_files */
};

/*
 * Call this before the program starts. Without memory or /proc, no files are pinned. own_namespace:
 * also files in the mount namespace of the recorder.
 */
void perch__recorder_pinned_begin(struct recorder_pinned *pinned, bool own_namespace);
/* Pins a file that was mapped, and the root directory of its process, if it may, and if they are
 * not pinned: its process may have ended, and another one maps it. At most 13 system calls for
 * each. */
void perch__recorder_pin(struct recorder_pinned *pinned, struct recorder_dsos *dsos,
			 uint32_t index);
/* Opens the pinned file with a path and a build id. Returns a descriptor or -1. */
int perch__recorder_open_pinned(const struct recorder_pinned *pinned,
				const struct recorder_dsos *dsos, const char *path,
				const uint8_t *build_id, size_t size);
/* Opens the pinned file of a member of dsos, if it has its device and inode. Returns a descriptor
 * or -1. */
int perch__recorder_open_pinned_inode(const struct recorder_pinned *pinned,
				      const struct recorder_dsos *dsos,
				      const struct recorder_dso *dso);
void perch__recorder_pinned_clear(struct recorder_pinned *pinned);

/* ---- ids.c: build ids of mapped files, which the recorder reads ---- */

/* A content of a file. */
struct recorder_file_version {
	uint64_t device, inode, size, modified, changed; /* as of stat(2); times in ns */
};

/* A mapped file. Its paths do not matter. */
struct recorder_file_id {
	uint32_t major, minor;
	uint64_t inode, generation; /* as recorded */
	bool read;		    /* the build id is known, or that there is none */
	bool missing;		    /* it could not be opened */
	uint8_t attempts;	    /* that found no file */
	uint8_t size, bytes[20];    /* the build id; 0 bytes if there is none */
	uint32_t round;		    /* in which it was compared with the file */
	struct recorder_file_version version;
};

/* The first process that mapped a file of a device. If it is in a container, later processes that
 * have ended saw the same files. */
struct recorder_witness {
	uint32_t major, minor, pid;
};
#define RECORDER_MAX_WITNESSES 64

/* Zeros read no build ids. */
struct recorder_ids {
	struct perch_symbols *symbols; /* opens files */
	struct recorder_file_id *file;
	size_t nr, capacity;
	struct perch__hash_table table;
	struct recorder_witness witness[RECORDER_MAX_WITNESSES]; /* those of most devices in use */
	size_t nr_witnesses;
	uint32_t round;
	char missing[PATH_MAX]; /* the path of the last missing file; not trusted */
};

/* Returns 0 or -ENOMEM; then no build ids are read. */
int perch__recorder_ids_begin(struct recorder_ids *ids);
/* Files that were read in earlier rounds are compared again, when they are mapped again. */
void perch__recorder_ids_next_round(struct recorder_ids *ids);
/*
 * Finds the build id of a file that was just mapped, while its process runs. Each content of a file
 * is opened once, and closed at once; a file that cannot be opened, up to 16 times. Returns NULL if
 * the file has none, or cannot be opened.
 */
const struct recorder_file_id *perch__recorder_ids_find(struct recorder_ids *ids,
							const struct perch_mmap_record *mmap);
/* Returns the number of files that could not be opened in time. */
size_t perch__recorder_ids_missing(const struct recorder_ids *ids);
void perch__recorder_ids_clear(struct recorder_ids *ids);

/* ---- edit.c: records that are written in place of those of the rings ---- */

struct recorder_edit {
	size_t ring, offset; /* of the record in the ring's pieces */
	size_t at;	     /* of the other one in .bytes; both have the same size */
	uint16_t size;
};

/* Those of a round, in the order of the rings and offsets. */
struct recorder_edits {
	struct recorder_edit *edit;
	size_t nr, capacity;
	char *bytes;
	size_t used, bytes_capacity;
};

/*
 * Takes the record of a mapping that was decoded. Returns it as it is to be written: with the build
 * id of its file, and without a mark that another recording has left in it (struct
 * perch_mmap_record). *mapping gets what changes. Without memory the record stays.
 */
const void *perch__recorder_edit_mapping(struct recorder_edits *edits, struct recorder_ids *ids,
					 struct perch_record *mapping, size_t ring, size_t offset,
					 const void *bytes, uint16_t size);
/* Sets the build ids in records that were made from /proc. */
void perch__recorder_edit_in_place(struct recorder_ids *ids,
				   const struct perch_parse_info *parse_info, char *bytes,
				   size_t size);
/* Splits the pieces of a ring around its edits, the first of which is *next. Returns the number of
 * pieces, at most 2 + 2 per edit. */
size_t perch__recorder_edits_splice(const struct recorder_edits *edits, size_t *next, size_t ring,
				    const struct iovec pieces[2], struct iovec *to);
void perch__recorder_edits_clear(struct recorder_edits *edits);

/* ---- users.c: users of processes with code of JIT compilers ---- */

struct recorder_user {
	uint32_t pid, ppid; /* ppid: 0 if it ran before */
	uint32_t round;	    /* the last one in which its users were read */
	bool has_code;	    /* that may be of a compiler */
	bool was_read;
	uid_t user[2]; /* real, effective */
};

struct perch__user_record;
struct recorder_users {
	struct recorder_user *user;
	size_t nr, capacity;
	struct perch__hash_table table; /* by pid */
	uint32_t round;
	struct perch__user_record *record; /* that are to be written */
	size_t nr_records, records_capacity;
};

/* An executable mapping. */
void perch__recorder_users_mapped(struct recorder_users *users,
				  const struct perch_mmap_record *mmap);
void perch__recorder_users_forked(struct recorder_users *users, uint32_t pid, uint32_t ppid);
/* Reads the users of all processes with code again. */
void perch__recorder_users_update(struct recorder_users *users);
/* All are to be written once more, to another file. */
void perch__recorder_users_repeat(struct recorder_users *users);
/*
 * Returns the records that are to be written before the scanned ones, so that a reader has them
 * first. They are valid until the next call for these users.
 */
struct iovec perch__recorder_users_take(struct recorder_users *users);
/* Writes them. Returns 0 or a negative errno. */
int perch__recorder_append_users(struct recorder_output *output, struct recorder_users *users,
				 struct perch_error *err);
void perch__recorder_users_clear(struct recorder_users *users);

/* ---- scan.c ---- */

struct recorder_scan {
	/* set by the caller */
	struct perch_parse_info parse_info;	 /* of the first event */
	struct perch_parse_info mmap_parse_info; /* of the event that has the mappings */
	bool same_time_word; /* the samples of all events have the time in the same word */
	struct recorder_sideband *sideband; /* NULL if records are not cached */
	uint64_t *lost;			    /* by ring: the sum of LOST and LOST_SAMPLES records */

	struct recorder_dsos dsos; /* mapped as code */
	struct recorder_pinned pinned;
	struct recorder_ids ids;
	struct recorder_edits edits; /* of this round */
	struct recorder_users users;
	char **module; /* files of the kernel's modules, or their names */
	size_t nr_modules, modules_capacity;
	uint64_t samples, throttled;	/* records */
	size_t missing_files;		/* of other threads: ids.c */
	uint64_t first_time, last_time; /* of samples, ns; 0 without samples */
	/* bytes and samples of records that could not be written */
	uint64_t unwritten_bytes, unwritten_samples;
	uint64_t joined[(1 << 16) / 8]; /* a copy of a record that is in two pieces */
};

/* Scans the new records of one ring. */
void perch__recorder_scan_ring(struct recorder_scan *scan, size_t ring,
			       const struct iovec pieces[2]);
/* Counts the samples of the first bytes of some pieces. */
uint64_t perch__recorder_scan_count_samples(const struct iovec *pieces, int nr, uint64_t bytes);
/* Adds the DSOs of records that describe the time before the recording. */
void perch__recorder_scan_synthesized(struct recorder_scan *scan, const void *bytes, size_t size);
/* Resets the counts for another file. */
void perch__recorder_scan_reset(struct recorder_scan *scan);
void perch__recorder_scan_clear(struct recorder_scan *scan);

/* ---- rings.c: the rings of a sampler ---- */

struct recorder_rings {
	struct perch_sampler *sampler;
	size_t nr;
	size_t *index;	       /* in the sampler, of those of a thread; NULL: all rings */
	struct iovec *pieces;  /* two per ring */
	struct iovec *written; /* these around the edits, and one for the end of the round */
	size_t written_capacity;
	size_t *bytes;			  /* by ring: taken in this round */
	bool *backward;			  /* by ring: it is read by snapshots only */
	struct recorder_off_cpu *off_cpu; /* NULL: it is not recorded */
	struct iovec finished;		  /* its samples of this round */
};

/* The caller keeps ownership of the sampler. backward_events: number of events that write backward,
 * which are the first ones. Returns 0 or -ENOMEM. */
int perch__recorder_rings_init(struct recorder_rings *rings, struct perch_sampler *sampler,
			       size_t backward_events);
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
	struct perch_decoder *decoder;	  /* of overwrite */
	struct recorder_off_cpu *off_cpu; /* NULL without it */

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

static inline int perch__recorder_no_memory(struct perch_error *err)
{
	return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory to record with");
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

/* Opens the sampler. Returns 0 or a negative errno. */
int perch__recorder_open_sampler(struct perch_recorder *recorder, struct perch_events *events,
				 const struct perch_targets *targets, struct perch_error *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the recorder learns from the records that it writes, and what it does to them. A thread that
 * reads rings has a struct recorder_scan of its own. A file calls only files below its own:
 *
 *	scan.c		counts, times and DSOs of the records that are written
 *	users.c		users of processes with code of JIT compilers
 *	edit.c		records that are written in place of those of the rings
 *	  ids.c		  build ids of mapped files
 *	pinned.c	files that are pinned for the build id cache
 *	sideband.c	the side-band cache, for files that start later
 */
#ifndef PERCH_RECORDER_SCAN_H
#define PERCH_RECORDER_SCAN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <time.h>
#include <perch/record.h>

#include "base/hash_table.h"

struct recorder_output; /* internal.h */

static inline uint64_t recorder_ns(struct timespec time)
{
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Returns the time in ns, 0 if the clock cannot be read. */
static inline uint64_t recorder_clock(clockid_t clock)
{
	struct timespec time;

	return clock_gettime(clock, &time) ? 0 : recorder_ns(time);
}

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
/* Moves the pinned files of a thread. index: by its DSO, that among dsos; UINT32_MAX: none. */
void perch__recorder_pinned_move(struct recorder_pinned *to, struct recorder_dsos *dsos,
				 struct recorder_pinned *from, const uint32_t *index);
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
/* Adds what another thread has scanned, and takes the files that it has pinned. */
void perch__recorder_scan_merge(struct recorder_scan *to, struct recorder_scan *from);
/* Resets the counts for another file. */
void perch__recorder_scan_reset(struct recorder_scan *scan);
void perch__recorder_scan_clear(struct recorder_scan *scan);

#endif

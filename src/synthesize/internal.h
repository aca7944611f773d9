/* SPDX-License-Identifier: MIT */
/*
 * Records that the kernel does not write, because what they describe is older than the event. Each
 * public function makes one batch and keeps no state. A process that ends or is refused while its
 * files are read is counted. Records of perf.data's own types (ID_INDEX, THREAD_MAP, CPU_MAP)
 * describe a recording and not the machine, so the recorder makes them. A file calls only files
 * below its own:
 *
 *	synthesize.c	the public functions: one batch for each call
 *	processes.c	COMM, FORK, NAMESPACES
 *	  maps.c	MMAP2
 *	kernel.c	MMAP of the kernel and its modules
 *	cgroups.c	CGROUP
 *	bpf.c		KSYMBOL, BPF_EVENT
 *	batch.c		collects records for the sink
 *	  build_ids.c	  build ids of mapped files, each read once per batch
 */
#ifndef PERCH_SYNTHESIZE_INTERNAL_H
#define PERCH_SYNTHESIZE_INTERNAL_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <perch/synthesize.h>

#include "base/hash_table.h"

#define PERCH__BATCH_BYTES     65536u
#define PERCH__SAMPLE_ID_WORDS 7 /* the most that a sample id has */

/* The build id of a file; size is 0 if it has none. */
struct perch__file_build_id {
	uint32_t major, minor;
	uint64_t inode;
	uint8_t size, bytes[20];
};

struct perch__file_build_ids {
	struct perch__file_build_id *file;
	size_t nr, capacity;
	struct perch__hash_table table; /* device and inode -> file */
};

/* What one call of a public function makes. */
struct perch__batch {
	struct perch_machine *machine;
	uint32_t records; /* PERCH_SYNTHESIZE_* bits */
	/* attr.build_id: readers take any build id for one, without it only unmistakable ids */
	bool certain_build_ids;
	uint64_t time;
	perch_synthesize_sink *sink;
	void *context;
	const void *subject; /* what the public function was called for: pid_t, perch_targets */
	struct perch_error *err;
	struct perch_error sink_error; /* of rc */
	struct perch_synthesize_counts counts;
	uint64_t sample_id[PERCH__SAMPLE_ID_WORDS]; /* the last bytes of each record */
	size_t id_size;				    /* bytes of sample_id */
	struct perch__file_build_ids build_ids;
	int rc;	     /* the first failure of the sink; no record is made after it */
	size_t used; /* bytes that were not passed to the sink yet */
	uint64_t bytes[PERCH__BATCH_BYTES / 8];
	char line[4 * PATH_MAX + 128]; /* of a file of /proc, which has a newline as four bytes */
};

/* ---- batch.c ---- */

/* Checks the options and makes a batch. Returns 0, or a negative errno after it has set *err. */
int perch__batch_new(struct perch__batch **batch, struct perch_machine *machine,
		     const struct perch_synthesize_options *options, perch_synthesize_sink *sink,
		     void *context, struct perch_error *err);
/* Adds a record. name is padded with zeros; NULL if the type has no name. */
void perch__batch_add(struct perch__batch *batch, uint32_t type, uint16_t misc, const void *body,
		      size_t size, const char *name);
/* Passes the last records to the sink, adds up the counts, and frees the batch. rc: the result so
 * far. Returns the failure of the sink, or else rc; err has its reason. */
int perch__batch_end(struct perch__batch *batch, int rc, struct perch_synthesize_counts *counts);
/* Opens a file below the root of the machine. Returns a descriptor or a negative errno. */
int perch__batch_open(const struct perch__batch *batch, const char *path);
/* The same as a stream. Returns NULL and sets errno after a failure. */
FILE *perch__batch_open_stream(const struct perch__batch *batch, const char *path);
/* Reads the next line into .line, without its newline. It skips lines that are too long. Returns
 * false at the end and after a failure. */
bool perch__batch_next_line(struct perch__batch *batch, FILE *file);
/* True for errno of a file of /proc whose process has ended. */
static inline bool perch__has_ended(int errnum)
{
	return errnum == ENOENT || errnum == ESRCH;
}
/* True for errno of a file that this user may not read. */
static inline bool perch__is_denied(int errnum)
{
	return errnum == EACCES || errnum == EPERM;
}

/* ---- maps.c ---- */

/* A line of /proc/PID/maps, as the body of a MMAP2 record. */
struct perch__mapping {
	uint32_t pid, tid;
	uint64_t start, length, page_offset;
	uint32_t major, minor;
	uint64_t inode, inode_generation;
	uint32_t protection, flags;
};
/* Adds MMAP2 records. Returns 0, or the errno of reading the file. */
int perch__add_mappings(struct perch__batch *batch, pid_t pid);

/* ---- build_ids.c ---- */

/* Returns the build id of a mapped file; NULL if it has none, or if it cannot be read. */
const struct perch__file_build_id *perch__find_build_id(struct perch__batch *batch,
							const struct perch__mapping *mapping,
							const char *name);
void perch__free_build_ids(struct perch__batch *batch);

/* ---- processes.c ---- */

/* Adds the records of a process and counts it. Returns 0 or a positive errno: ESRCH if the process
 * has ended, EACCES if a file of it is refused, others if a file cannot be read. */
int perch__add_process(struct perch__batch *batch, pid_t pid);
/* The same, but a process that has ended or is refused is no failure. Returns 0, or a negative
 * errno in batch->err. */
int perch__add_process_or_count(struct perch__batch *batch, pid_t pid);
/* The processes that were made already. */
struct perch__done {
	pid_t *pid;
	size_t nr, capacity;
	struct perch__hash_table table;
};
/* Returns 1 if the process is new, 0 if it was made already, or a negative errno in batch->err. */
int perch__add_done(struct perch__batch *batch, struct perch__done *done, pid_t pid);
void perch__done_clear(struct perch__done *done);
/* The same for all processes. */
int perch__add_all_processes(struct perch__batch *batch);
/* Returns the process of a thread; the thread itself if that is unknown. */
pid_t perch__process_of(const struct perch__batch *batch, pid_t tid);

/* ---- kernel.c, cgroups.c, bpf.c: return 0 or a negative errno in batch->err ---- */

int perch__add_kernel(struct perch__batch *batch);
int perch__add_modules(struct perch__batch *batch);
int perch__add_cgroups(struct perch__batch *batch);
int perch__add_bpf(struct perch__batch *batch);

#endif

/* SPDX-License-Identifier: MIT */
/* Threads that read rings, and which rings each of them reads. */
#ifndef PERCH_RECORDER_WORKERS_H
#define PERCH_RECORDER_WORKERS_H

#include "internal.h"

/* ---- thread_cpus.c ---- */

struct recorder_thread_cpus {
	struct perch_cpus rings;    /* it reads their rings */
	struct perch_cpus affinity; /* it runs on these; without one, on any CPU */
	bool runs_there;	    /* it runs on the CPUs of its rings */
};

struct recorder_thread_list {
	struct recorder_thread_cpus *thread;
	size_t nr, capacity;
};

/* text: struct perch_recorder_options. cpus: the CPUs that have rings. Returns 0 or a negative
 * errno.
 */
int perch__recorder_choose_threads(struct recorder_thread_list *list, const char *text,
				   struct perch_machine *machine, const struct perch_cpus *cpus,
				   struct perch_error *err);
void perch__recorder_clear_threads(struct recorder_thread_list *list);

/* ---- workers.c: each returns 0 or a negative errno ---- */

struct recorder_workers;
/* Also after a failure, *workers is to be freed. */
int perch__recorder_workers_new(struct recorder_workers **workers,
				const struct recorder_thread_list *threads,
				const struct recorder_rings *rings, const int *cpu_of_ring,
				struct perch_error *err);
/* Starts the threads; each appends to a file of the directory. scan: what its records need. */
int perch__recorder_workers_start(struct recorder_workers *workers,
				  const struct recorder_scan *scan, struct perch_writer *writer,
				  int level, enum perch_file_record type, bool pin_files,
				  bool own_namespace, struct perch_error *err);
/* Returns a descriptor that is readable when a thread has failed, or its targets have ended. */
int perch__recorder_workers_fd(const struct recorder_workers *workers);
/* Returns the bytes that were written since the last call, or the failure of a thread. */
ssize_t perch__recorder_workers_check(struct recorder_workers *workers, struct perch_error *err);
/* True if all targets have ended. */
bool perch__recorder_workers_ended(struct recorder_workers *workers);
/* Adds to the numbers; *samples only before the end. NULL is allowed. */
void perch__recorder_workers_count(struct recorder_workers *workers, uint64_t *bytes,
				   uint64_t *samples);
/* Ends the threads after a last round, and adds to *scan, *record_bytes and *cpu_ns what they have.
 */
int perch__recorder_workers_stop(struct recorder_workers *workers, struct recorder_scan *scan,
				 uint64_t *record_bytes, uint64_t *cpu_ns, struct perch_error *err);
void perch__recorder_workers_free(struct recorder_workers *workers);

/* ---- files.c ---- */

/* Ends the threads that read rings, if they run. Returns 0 or a negative errno. */
int perch__recorder_stop_workers(struct perch_recorder *recorder, struct perch_error *err);

#endif

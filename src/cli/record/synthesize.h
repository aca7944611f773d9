/* SPDX-License-Identifier: MIT */
/*
 * Records of the state before a recording starts, made from /proc: the kernel and its modules,
 * cgroups, processes, and which ids, threads and CPUs are recorded. The files synthesize*.c do not
 * depend on the command: they take a machine, a sink and an error.
 *
 *	synthesize_maps.c	ID_INDEX, THREAD_MAP, CPU_MAP
 *	synthesize_processes.c	COMM, MMAP2, NAMESPACES
 *	synthesize_cgroups.c	CGROUP
 *	synthesize.c		MMAP of the kernel and its modules; collects records for the sink
 */
#ifndef PERCH_CLI_SYNTHESIZE_H
#define PERCH_CLI_SYNTHESIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <perch/machine.h>
#include <perch/sampler.h>

/* Receives complete records. Returns 0, or a negative errno after it has set *err. */
typedef int synthesize_sink(void *context, const void *bytes, size_t size, struct perch_error *err);

struct synthesizer {
	/* set by the caller, the rest zero */
	struct perch_machine *machine;
	synthesize_sink *sink;
	void *context;
	struct perch_error *err;
	size_t id_size;	 /* bytes of the sample id after records of the kernel; it is zeroed */
	bool data;	 /* mappings that are not executable, too */
	bool namespaces; /* of each process */

	int rc;	     /* the first failure; no record is made after it */
	size_t used; /* bytes that were not passed to the sink yet */
	uint64_t bytes[(1 << 16) / 8];
};

/* Adds a record of a type of the kernel. name is padded with zeros; NULL if the type has no name.
 */
void synthesize_record(struct synthesizer *synthesizer, uint32_t type, uint16_t misc,
		       const void *body, size_t size, const char *name);
/* Adds a record of a type of perf.data, which has no sample id. size is a multiple of 8. */
void synthesize_plain(struct synthesizer *synthesizer, uint32_t type, const void *body,
		      size_t size);
/* Passes all records to the sink. Returns .rc. */
int synthesize_flush(struct synthesizer *synthesizer);

void synthesize_kernel(struct synthesizer *synthesizer);
void synthesize_modules(struct synthesizer *synthesizer);

/* Adds an ID_INDEX record: event, CPU and thread of each id of a sampler. */
void synthesize_id_index(struct synthesizer *synthesizer, const struct perch_sampler *sampler);
void synthesize_thread_map(struct synthesizer *synthesizer, const pid_t *threads, size_t nr);
void synthesize_cpu_map(struct synthesizer *synthesizer, const struct perch_cpus *cpus);

void synthesize_cgroups(struct synthesizer *synthesizer);

void synthesize_all_processes(struct synthesizer *synthesizer);
/* The processes of some threads. */
void synthesize_threads(struct synthesizer *synthesizer, const pid_t *threads, size_t nr);
/* A child that has not executed its program yet, under the name of the parent. */
void synthesize_child(struct synthesizer *synthesizer, pid_t pid, const char *comm);
/* Reads the name of a thread. Returns false if the thread has ended. */
bool synthesize_read_comm(pid_t pid, pid_t tid, char *comm, size_t size);

#endif

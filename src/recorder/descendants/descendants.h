/* SPDX-License-Identifier: MIT */
/* Of the records of CPUs, those of some processes and of their descendants. */
#ifndef PERCH_RECORDER_DESCENDANTS_H
#define PERCH_RECORDER_DESCENDANTS_H

#include "recorder/internal.h"

/* A process that is recorded. Others may have its id before and after it. */
struct recorder_process {
	uint32_t pid;
	bool leader_ended;    /* its first thread */
	uint64_t from, until; /* UINT64_MAX: it runs */
};

/* A FORK or EXIT record. */
struct recorder_task {
	uint32_t type, pid, ppid, tid;
	uint64_t time;
};

struct recorder_descendants {
	struct perch_parse_info parse_info; /* of the side-band records */
	size_t sample_ids;		    /* offset of pid and tid in samples */
	int time_word;			    /* of samples; -1: events differ */

	struct recorder_process *process;
	size_t nr, capacity;
	struct perch__hash_table table; /* by pid */
	struct recorder_task *task;	/* not applied yet */
	size_t nr_tasks, tasks_capacity;
	uint64_t newest;  /* time of a record that was taken */
	uint64_t checked; /* .newest when ended processes were removed */
	char *bytes;	  /* the records of this round that are kept */
	size_t used, bytes_capacity;
	uint64_t other_samples; /* that were dropped */
};

/* Returns 0, or -EINVAL if the samples of the events have their ids at different places. */
int perch__recorder_descendants_init(struct recorder_descendants *all,
				     const struct perch_file_event *events, size_t nr,
				     const struct recorder_scan *scan);
/* Adds the processes of these threads, and the descendants that run. FORK records must be recorded
 * already. Returns 0 or a negative errno. */
int perch__recorder_descendants_begin(struct recorder_descendants *all, const pid_t *threads,
				      size_t nr, struct perch_machine *machine,
				      struct perch_error *err);
/* The same for a child that has executed no program yet: it has no descendants, so /proc is not
 * read, which takes 40 us for each process of the machine. */
int perch__recorder_descendants_begin_child(struct recorder_descendants *all, pid_t child,
					    struct perch_error *err);
/* True if none of the processes runs. */
bool perch__recorder_descendants_ended(const struct recorder_descendants *all);
void perch__recorder_descendants_clear(struct recorder_descendants *all);

/* A round: these functions in this order, for each ring where they have pieces. They return
 * -ENOMEM after a failure. */
void perch__recorder_descendants_next_round(struct recorder_descendants *all);
/* Looks at what a ring has after all were looked at once. written: bytes of the first look; from:
 * offset of the first record that the round before has not looked at. */
int perch__recorder_descendants_look(struct recorder_descendants *all, const struct iovec pieces[2],
				     size_t written, size_t from);
int perch__recorder_descendants_apply(struct recorder_descendants *all);
/* Copies the records of the first look that are kept to the end of .bytes. Returns their size. */
ssize_t perch__recorder_descendants_keep(struct recorder_descendants *all,
					 const struct iovec pieces[2]);

#endif

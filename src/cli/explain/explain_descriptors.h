/* SPDX-License-Identifier: MIT */
/* The events behind the descriptors of every process seen. */
#ifndef PERCH_CLI_EXPLAIN_DESCRIPTORS_H
#define PERCH_CLI_EXPLAIN_DESCRIPTORS_H

#include "explain.h"

/* An event: one, however many descriptors of however many processes there are of it. */
struct explain_event {
	size_t references; /* descriptors, and members whose leader it is */
	size_t descriptors;
	uint64_t number; /* of the call that opened it */
	bool attr_known;
	struct perch_attr attr; /* size is at most its own */
	pid_t pid;		/* the arguments it was opened with */
	int cpu;
	int group_fd;
	unsigned long flags;
	struct explain_event *leader; /* NULL: it leads itself */
	size_t members;		      /* of its group, when it leads, with itself */
	size_t ring_size;	      /* bytes mapped; 0: none */
	bool has_output;	      /* its output goes into another event's ring */
};

/* NULL: the descriptor is none of an event that was seen. */
struct explain_event *explain_find_event(const struct explain_descriptors *table, pid_t process,
					 int fd);
/* Remembers an event that was opened; NULL when there is no room or memory for it: then it is just
 * not known. */
struct explain_event *explain_add_event(struct explain_job *job, pid_t process, int fd,
					const struct perch_open_call *call);
/* Fills in what rules want to know of a leader; false when its attr is not known. */
bool explain_get_leader(const struct explain_event *event, struct perch_open_call_leader *leader);
/* Events in its group; 0 unknown. */
size_t explain_group_size(const struct explain_event *event);
/* Notes that the process exists; true when more than one was seen. */
bool explain_add_process(struct explain_job *job, pid_t process);

#endif

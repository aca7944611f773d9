/* SPDX-License-Identifier: MIT */
/* The events of the descriptors of every process. */
#ifndef PERCH_TRACE_DESCRIPTORS_H
#define PERCH_TRACE_DESCRIPTORS_H

#include "trace.h"

/* One event. Descriptors of several processes may refer to it. */
struct trace_event {
	size_t references; /* descriptors, and members that it leads */
	size_t descriptors;
	uint64_t number; /* of its open call */
	bool has_attr;
	struct perch_attr attr; /* attr.size is at most sizeof(attr) */
	pid_t thread;		/* that opened it */
	/* arguments of the open call */
	pid_t pid;
	int cpu;
	int group_fd;
	unsigned long flags;
	struct trace_event *leader; /* NULL for a leader */
	size_t members;		    /* of a leader: events in its group, itself included */
	size_t ring_size;	    /* mapped bytes; 0 if none */
	bool has_output;	    /* its output goes into another event's ring */
};

/* Returns NULL if no event is recorded for the descriptor. */
struct trace_event *trace_find_event(const struct trace_descriptors *table, pid_t process, int fd);
/* Records a new event. Returns NULL if out of memory, or above a limit; the event is then unknown.
 */
struct trace_event *trace_add_event(struct trace_job *job, pid_t process, pid_t thread, int fd,
				    const struct perch_open_call *call);
/*
 * Fills what the rules need to know about a leader, for an open call by the thread: a pid of 0 of
 * another thread becomes that thread's id. Returns false if the leader's attr is unknown.
 */
bool trace_get_leader(const struct trace_event *event, pid_t thread,
		      struct perch_open_call_leader *leader);
/* Returns the open call of the event that was closed with this descriptor; 0 if there is none. */
uint64_t trace_closed_number(const struct trace_job *job, pid_t process, int fd);
/* Records that an open call of the process failed. */
void trace_handle_refusal(struct trace_job *job, pid_t process);
/* Returns the number of events in its group. */
size_t trace_group_size(const struct trace_event *event);
/* Records that the process exists. Returns true if more than one process was seen. */
bool trace_add_process(struct trace_job *job, pid_t process);
void trace_descriptors_free(struct trace_descriptors *table);

#endif

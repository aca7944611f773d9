/* SPDX-License-Identifier: MIT */
/*
 * Windows of the agent for the targets of --push: from time to time the samples since the last one
 * become a body, in a process of its own, and go to push/push.h.
 */
#ifndef PERCH_AGENT_SEND_H
#define PERCH_AGENT_SEND_H

#include <stdbool.h>
#include <stdint.h>
#include <perch/error.h>

struct agent;
struct agent_metrics;
struct agent_push_target;

struct agent_send_options {
	const struct agent_push_target *target;
	size_t nr; /* 0: nothing is sent */
	const char *spool;
	uint64_t spool_bytes, spool_age; /* age: ns */
	uint64_t interval;		 /* ns between two windows */
};

/* Starts with the options of the agent. Returns 0 or a negative errno. */
int agent_send_open(struct agent *agent, struct perch_error *err);
/* True if a window is to be made, and waits for a place among the jobs. */
bool agent_send_is_due(const struct agent *agent);
/* Makes a window if it is time. */
void agent_send_run(struct agent *agent);
/* Makes the last window, and ends. */
void agent_send_close(struct agent *agent);
/* Takes the options of the agent again: targets whose URL stays go on where they are. Returns 0, or
 * a negative errno, which is noted: all goes on as before. */
int agent_send_renew(struct agent *agent);
/* Bytes of memory that windows take, which wait. */
uint64_t agent_send_memory(const struct agent *agent);
/* Writes counters of all targets. */
void agent_send_put(const struct agent *agent, struct agent_metrics *metrics);

#endif

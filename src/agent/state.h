/* SPDX-License-Identifier: MIT */
/* The agent while it runs. */
#ifndef PERCH_AGENT_STATE_H
#define PERCH_AGENT_STATE_H

#include <sys/types.h>

#include "agent.h"
#include "names.h"
#include "push/spool.h"

struct agent_http;
struct agent_job;

#define AGENT_MOST_JOBS 2	   /* at the same time */
#define AGENT_GROWTH	(8u << 20) /* of memory of names, until it starts anew */

struct agent {
	const struct agent_options *options;
	struct agent_window *window;
	struct agent_source *source;
	struct agent_http *http;
	struct agent_send *send;			      /* NULL: nothing is sent */
	uint8_t profile_id[AGENT_NR_KINDS][AGENT_PROFILE_ID]; /* of the last profile that is sent */
	struct agent_source_options source_options;
	struct agent_cpu_counters *counters;	       /* NULL: none */
	struct agent_cgroup_counters *cgroup_counters; /* NULL: none */
	struct agent_cgroups *cgroups;		       /* NULL: none */
	bool counts_cgroups;
	uint64_t chosen;	/* ns: when its rows were */
	struct agent_job *jobs; /* running ones */
	unsigned nr_jobs;
	uint64_t started;		   /* ns */
	uint64_t profiles[AGENT_NR_KINDS]; /* that were made */
	uint64_t failed[AGENT_NR_KINDS];   /* that were not */
	uint64_t child_cpu_us;		   /* of processes that made them */
	struct agent_unnamed unnamed;	   /* of the last one */
	uint64_t slice;			   /* number of the open one */
	uint64_t next_slice;		   /* ns: when the open one ends */
	uint64_t next_care;		   /* ns: when memory and cgroups are looked at */
	uint64_t first_memory;		   /* after the recording started, in bytes */
	bool has_old;			   /* the recording before it has memory, too */
	bool cpus_changed;		   /* the recording is to start anew, */
	bool ended_rings;		   /* or its events have ended */
	uint64_t renewal_pause;		   /* ns: after a recording could not start anew */
	uint64_t next_renewal;		   /* ns: none before */
	bool ended;			   /* a signal came */
	bool reload;			   /* SIGHUP came */
	bool reload_failed;		   /* the last time */
	uint64_t reloaded;		   /* ns of the wall clock: the last good time */
	bool stopped;
	bool failed_read;
	bool once_now; /* the profile of --once is made before its time */
	bool once_started;
	int once_rc;
};

/* ---- state.c ---- */

uint64_t agent_now(void);      /* ns of CLOCK_MONOTONIC, as the samples */
uint64_t agent_wall_now(void); /* ns of the wall clock */
void agent_note(const struct agent *agent, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Moves what the rings have into the window. A failure ends the agent. */
void agent_read(struct agent *agent);
/* Moves what the rings have into the window, ends the slice, and returns the number of the next
 * one. A failure ends the agent. */
uint64_t agent_cut(struct agent *agent);
/* The same for requests, of which there may be many: if the open slice is new, and not the one that
 * a profile begins with, it is that one. */
uint64_t agent_boundary(struct agent *agent, uint64_t from);

/* ---- job.c: a profile is made in a process of its own ---- */

struct agent_job {
	struct agent_job *next;
	pid_t pid;
	int fd; /* of a file in memory, with the profile or the reason of a failure */
	enum agent_kind kind;
	const char *cgroup; /* in the child; else NULL */
	uint64_t started;
	struct agent_unnamed *unnamed; /* the child writes it; NULL: out of memory */
	/* Called once; fd is closed afterwards unless it is set to -1. ok: fd has the profile. */
	void (*done)(struct agent *agent, struct agent_job *job, bool ok);
	void *context;
};

/* Starts to make a profile of some slices, of all samples or of those of a cgroup. Returns 0,
 * -EAGAIN if too many are being made, or another negative errno. */
int agent_job_start(struct agent *agent, enum agent_kind kind, uint64_t from, uint64_t to,
		    const char *cgroup,
		    void (*done)(struct agent *agent, struct agent_job *job, bool ok),
		    void *context);
/* A child has ended, or some time has passed. */
void agent_jobs_reap(struct agent *agent);
/* Ends all of them. */
void agent_jobs_end(struct agent *agent);

/* ---- encode.c ---- */

/* Writes the profile of some slices. Returns 0 or a negative errno. */
int agent_encode(const struct agent *agent, enum agent_kind kind, uint64_t from, uint64_t to,
		 FILE *out, struct agent_unnamed *unnamed, struct perch_error *err);

/* ---- http.c ---- */

int agent_http_open(struct agent *agent, struct perch_error *err);
void agent_http_close(struct agent *agent);
/* The descriptor to wait for, and the time until the next call at the latest, which is lowered. */
int agent_http_fd(const struct agent *agent, int *ms);
void agent_http_run(struct agent *agent);

/* ---- metrics.c ---- */

/* Returns the text, which free(3) frees; NULL: no memory. */
char *agent_metrics(const struct agent *agent, bool open_metrics, size_t *size);
/* Bytes of all but samples and windows that wait: what is known of programs may grow. */
uint64_t agent_names_memory(const struct agent *agent);

#endif

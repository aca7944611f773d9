/* SPDX-License-Identifier: MIT */
/*
 * perch agent: samples a machine all the time, and gives profiles of the last minutes to programs
 * that ask. README.md lists the files.
 */
#ifndef PERCH_AGENT_H
#define PERCH_AGENT_H

#include <perch/recorder.h>

#include "send.h"
#include "source.h"
#include "window/window.h"

/* What a profile is of, and how it is written. */
enum agent_kind {
	AGENT_CPU,	 /* pprof: the events */
	AGENT_OFF_CPU,	 /* pprof: off-CPU time */
	AGENT_PAGE,	 /* a flame graph as a page */
	AGENT_OTLP,	 /* a request of OTLP, of all events */
	AGENT_PYROSCOPE, /* a request of Pyroscope's Push API, of the events */
	AGENT_ALL,	 /* pprof: the events and off-CPU time */
	AGENT_NR_KINDS
};

struct agent_label_rules; /* labels/labels.h */

struct agent_options {
	struct agent_source_options source;
	size_t window_bytes; /* most memory of samples */
	uint64_t seconds;    /* for which samples are kept */
	const char *listen;  /* ADDRESS:PORT; NULL: no server */
	const char *token;   /* that requests must have; NULL: none */
	bool counters;	     /* of CPUs and cgroups, in the metrics */
	bool cgroup_events;  /* events of the busiest cgroups are counted, too */
	const char *once;    /* file that one profile is written to; NULL: it goes on */
	uint64_t once_ns;    /* the time of that profile */
	/* Writes that file from another. Returns 0, or a negative errno, which was printed. */
	int (*write_once)(void *context, int fd);
	const struct agent_label_rules *rules; /* of all samples; NULL: none */
	bool environment;		       /* OTEL_SERVICE_NAME of processes may be read */
	struct agent_send_options send;
	void (*note)(void *context, const char *text); /* for messages */
	/* SIGHUP: sets rules and send anew; what they had points to must stay until the next call.
	 * Returns false if they stay. NULL: there is no file of options. */
	bool (*reload)(void *context);
	void (*restore)(void *context); /* sets what was before reload: that cannot be used */
	void *context;
};

struct agent;

/* Runs until a signal ends it, or --once is done. Returns 0, or a negative errno. */
int agent_run(const struct agent_options *options, struct perch_error *err);

#endif

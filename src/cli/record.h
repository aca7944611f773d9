/* SPDX-License-Identifier: MIT */
/* The parts of `perch record`. */
#ifndef PERCH_CLI_RECORD_H
#define PERCH_CLI_RECORD_H

#include <poll.h>
#include <perch/event.h>
#include <perch/file.h>
#include <perch/ring.h>

#include "options.h"
#include "program.h"

/* A set of names: each is kept once. */
struct record_names {
	char **slot;
	size_t nr, slots;
};

struct record {
	/* as asked for */
	struct perch_events events;
	const char *frequency_text;
	uint64_t period;
	uint64_t frequency;
	bool callchain;
	const char *pids, *tids, *cpu_list;
	bool all_cpus, no_inherit, quiet, no_build_ids;
	int verbose;
	const char *output;
	size_t ring_pages;
	int argc;			/* of the whole command line */
	char **argv;
	char **program_argv;		/* NULL: no program */

	/* as found out */
	struct perch_machine *machine;
	struct perch_cpus cpus;		/* of -C */
	pid_t *threads;			/* of -p and -t */
	size_t nr_threads;
	bool system_wide;
	bool user_only;			/* this user may not look into the kernel */
	bool replaced;			/* the default event does not exist here */

	/* at work */
	struct cli_program program;
	struct perch_sampler *sampler;
	struct perch_writer *writer;
	struct perch_layout layout;
	struct perch_error err;		/* of what ended the recording early */
	int signals;			/* signalfd(2) */
	int ended_by;			/* the signal that ended the recording; 0: none */
	bool program_ended;
	int program_status;		/* as of wait(2) */
	size_t nr_rings;
	struct iovec *pieces;		/* two a ring, and one for the end of the round */
	size_t *bytes;			/* taken from each ring in this round */
	struct pollfd *polls;		/* signals, then the rings */

	/* what went by */
	uint64_t samples, lost, throttled;
	uint64_t first_time, last_time;	/* of samples, ns */
	uint64_t wakeups;
	struct record_names binaries;	/* mapped executable, for their build ids */
	uint64_t wrapped[(1 << 16) / 8];	/* a record that wraps, put together */
};

/* record_events.c: the default event, rates, what this user may do. Exit status; 0: fine. */
int record_choose_events(struct record *record);
int record_choose_rate(struct record *record);
/* Opens the sampler, on a replacement where the default event does not exist here. Has told when it fails. */
int record_open_sampler(struct record *record);
/* Says what was chosen in place of what is usual. */
void record_tell_choices(const struct record *record);

/* record_target.c: the threads of -p and -t, the CPUs of -C. Exit status; 0: fine. */
int record_choose_target(struct record *record);

/* record_synthesize.c: what was there before the recording began. 0 or a negative errno. */
int record_synthesize(struct record *record);
/* Where records made here are gathered before they are written. */
struct record_made {
	struct record *record;
	size_t used;
	struct perch_error *err;
	int rc;				/* the first failure; nothing is made after it */
	uint64_t bytes[(1 << 16) / 8];
};
/* name is padded, and followed by an empty trailer. */
void record_make(struct record_made *made, uint32_t type, uint16_t misc, const void *body, size_t size, const char *name);
/* record_processes.c: names and executable mappings of processes that run already. */
void record_make_all_processes(struct record_made *made);
void record_make_threads(struct record_made *made, const pid_t *threads, size_t nr);

/* record_loop.c: until the program, the targets or the user end it. 0 or a negative errno in record->err. */
int record_prepare_loop(struct record *record);
int record_loop(struct record *record);
/* Signals that end a recording are blocked and read from record->signals from here on. */
int record_block_signals(struct record *record);

/* record_scan.c: counts a batch, remembers names of binaries. */
void record_scan(struct record *record, const struct iovec pieces[2]);
void record_add_name(struct record_names *names, const char *name);
void record_clear_names(struct record_names *names);

/* record_tracing.c: descriptions of the tracepoints, when there are any. 0 or a negative errno in record->err. */
int record_write_tracing_data(struct record *record);

/* record_finish.c: features, build ids, the end of the file, and what to tell. Exit status; 0: fine. */
int record_finish(struct record *record);

#endif

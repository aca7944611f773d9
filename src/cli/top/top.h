/* SPDX-License-Identifier: MIT */
/*
 * perch top: a live profile. A file calls only files below its own:
 *
 *	top.c		opens the events, then refreshes until it ends
 *	top_options.c	the command line
 *	top_loop.c	reads and refreshes until it ends: text, or
 *	  top_browse.c	  the browser of perch report
 *	  top_control.c	  the commands of --control
 *	top_print.c	the text of --stdio
 *	top_live.c	rings -> session -> profile
 *
 * Events and their options are those of perch record (record/record.h), rows and columns those of
 * perch report (report/report.h).
 */
#ifndef PERCH_CLI_TOP_H
#define PERCH_CLI_TOP_H

#include <perch/annotation.h>

#include "record/record.h"
#include "report/report.h"
#include "report/report_group.h"

#define TOP_COMMAND "top"

/* What was sampled since the last refresh. */
struct top_interval {
	double seconds;
	uint64_t samples, kernel; /* with hidden ones */
	uint64_t lost;
};

struct top {
	struct record_options record;
	struct record_plan plan;
	struct report report;
	uint64_t delay, entries, least; /* -d (seconds), -E, -f */
	bool zero, hide_kernel, hide_user;
	struct perch_recorder *recorder;
	struct perch_sampler *sampler; /* of the recorder */
	struct perch_profile *profile;
	/* of the browser, else NULL: the samples since the last refresh with -z, or else up to half
	 * of the samples that are kept; and the ones before */
	struct perch_annotation *annotation, *annotation_before;
	uint64_t annotated;		/* samples in the first one */
	struct top_interval now, shown; /* shown: the one before */
	uint64_t lost, throttled;	/* since the start */
	uint64_t bytes;			/* of the records so far, of the ring with most */
	uint64_t memory;		/* of this process after the first refresh; 0 before it */
	unsigned starts;		/* of the profile */
	struct cli_control control;
	int signals;	      /* signalfd(2) */
	struct timespec last; /* refresh */
	int ms;		      /* until the next round */
	bool ended;	      /* the targets have */
	bool stopped;	      /* a signal came, or the key q */
};

/* ---- top_options.c ---- */

/* Returns 0, or the exit status after it has printed an error. */
int top_parse(struct top *top, int argc, char **argv);
void top_clear_options(struct top *top);

/* ---- top_loop.c ---- */

/* Shows the profile until it ends. Returns the exit status. */
int top_loop(struct top *top);

/* ---- top_control.c ---- */

/* Carries out the commands that have come. The command stop sets top->stopped. */
void top_take_commands(struct top *top);

/* ---- top_browse.c ---- */

bool top_can_be_browsed(const struct top *top);
int top_browse(struct top *top);

/* ---- top_print.c ---- */

/* Prints the rows of all events. Returns the exit status. */
int top_print(FILE *out, struct top *top, struct perch_profile *profile);
/* The first line: rate, lost samples, events and targets. */
void top_put_summary(FILE *out, const struct top *top);

/* ---- top_live.c: each returns 0, or the exit status after it has printed an error ---- */

/* Makes the session and the profile, with what runs now. The sampler is open. */
int top_start(struct top *top);
/* Counts samples by their address from now on, for instructions with their shares. The ones before
 * stay until the next call. Returns 0 or -ENOMEM. */
int top_count_addresses(struct top *top, struct perch_error *err);
/* Makes the annotation of the samples that are kept. Returns 0 or a negative errno. */
int top_annotate(const struct top *top, struct perch_annotation **annotation,
		 struct perch_error *err);
/* Adds the records of the rings. */
int top_read(struct top *top);
/* The seconds since the last refresh. */
double top_seconds(const struct top *top);
/* Makes a profile of what was sampled, and lets it decay. */
int top_refresh(struct top *top, struct perch_profile **profile);
/* True if the process has grown much since the first refresh. */
bool top_is_full(const struct top *top);
/* Starts anew without samples. What was made of the session before must be freed. */
int top_restart(struct top *top);
void top_stop(struct top *top);

#endif

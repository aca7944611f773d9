/* SPDX-License-Identifier: MIT */
/*
 * The samples of the last minutes, in slices of about a second. Each consumer asks for the slices
 * from one number to another, so that any number of them cost one sampling. Stacks and labels are
 * stored once for all slices, and leave with the last slice that has them.
 *
 * Memory has a limit. Above it thread labels are left out first, then rare stacks become one that
 * is named "[truncated]", and at last the oldest slices are dropped. All of this is counted.
 */
#ifndef PERCH_AGENT_WINDOW_H
#define PERCH_AGENT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <perch/process.h>

#define AGENT_NONE UINT32_MAX /* no index */

/* A frame of a stack. */
struct agent_address {
	const struct perch_dso *dso; /* NULL: "[truncated]" */
	uint64_t offset;	     /* as of a struct perch_location */
	char mode;		     /* as perch_address.cpumode_char */
	bool caller;		     /* a return address */
};

/* What a stack is counted by. */
struct agent_sample_labels {
	const char *cgroup; /* path; NULL: unknown */
	const char *comm;   /* name of the thread; NULL: left out */
	uint32_t pid, tid;  /* 0: left out */
};

struct agent_sample {
	const struct agent_address *chain; /* innermost first; it may be empty */
	size_t nr;
	struct agent_sample_labels labels;
	uint32_t event; /* index of the event */
	uint64_t period;
};

/* The samples of one stack, event and labels. */
struct agent_row {
	uint32_t stack;	 /* of its innermost frame; AGENT_NONE: an empty stack */
	uint32_t labels; /* for agent_window_labels() */
	uint32_t event;
	uint32_t samples;
	uint64_t period;
};

struct agent_window_stats {
	uint64_t samples;	    /* that were added */
	uint64_t truncated_samples; /* whose stack became "[truncated]" */
	uint64_t unlabeled_samples; /* without thread labels, for lack of memory */
	uint64_t dropped_samples;   /* that left before their time, for lack of memory */
	size_t bytes;		    /* that the samples need */
	size_t allocated;	    /* with free items of tables */
	size_t stacks, addresses, slices;
};

struct agent_window;

/* bytes: the limit of memory; seconds: the age at which a slice is dropped. NULL: no memory. */
struct agent_window *agent_window_new(size_t bytes, uint64_t seconds);
void agent_window_free(struct agent_window *window);

/* Adds a sample to the slice that is open. Without memory it is counted as dropped. */
void agent_window_add(struct agent_window *window, const struct agent_sample *sample);

/* Ends the slice that is open, and begins the next one. now: ns of a clock. Returns the number of
 * the slice that begins: a consumer that starts now wants the slices from this one on. */
uint64_t agent_window_cut(struct agent_window *window, uint64_t now);

/* The number of the first slice that begins at a time or later, or of the oldest one that is left:
 * the one that is open at the latest. */
uint64_t agent_window_since(const struct agent_window *window, uint64_t time);

/* The number of the oldest slice that is left. */
uint64_t agent_window_oldest(const struct agent_window *window);

/* When the first of the slices begins and the last ends, in ns. */
void agent_window_times(const struct agent_window *window, uint64_t from, uint64_t to,
			uint64_t *begin, uint64_t *end);

/*
 * Adds up slices from one number up to, without it, another. Returns the rows, which free(3) frees,
 * ordered by event; NULL: no memory, or none (*nr is 0). They are valid until the next sample.
 */
struct agent_row *agent_window_sum(const struct agent_window *window, uint64_t from, uint64_t to,
				   size_t *nr);

/* From now on the sums are only of samples of a cgroup and of those below it; NULL: of all. */
void agent_window_choose(struct agent_window *window, const char *cgroup);

/* The frame of a stack, and the stack of its callers (AGENT_NONE: none). */
const struct agent_address *agent_window_frame(const struct agent_window *window, uint32_t stack,
					       uint32_t *callers);
/* The number of that frame: the same frame of another stack has the same one. */
uint32_t agent_window_address(const struct agent_window *window, uint32_t stack);
struct agent_sample_labels agent_window_labels(const struct agent_window *window, uint32_t labels);
/* Numbers are below these. */
size_t agent_window_nr_addresses(const struct agent_window *window);
size_t agent_window_nr_stacks(const struct agent_window *window);
size_t agent_window_nr_labels(const struct agent_window *window);
/* Sets used for the indexes of all DSOs that samples have. */
void agent_window_mark_dsos(const struct agent_window *window, bool *used);

void agent_window_get_stats(const struct agent_window *window, struct agent_window_stats *stats);

#endif

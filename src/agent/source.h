/* SPDX-License-Identifier: MIT */
/* Samples of CPUs or processes, from the rings of a recorder into a window. */
#ifndef PERCH_AGENT_SOURCE_H
#define PERCH_AGENT_SOURCE_H

#include <perch/recorder.h>

#include "counters/counters.h"
#include "recording/epoch.h"
#include "window/window.h"

struct agent_source_options {
	const char *events;		     /* see perch-events(7) */
	const struct perch_targets *targets; /* CPUs or threads */
	bool all_cpus;			     /* the targets are all that are online */
	bool inherit;			     /* the targets are threads */
	bool threads;			     /* samples have the names and ids of threads */
	bool off_cpu;
	uint64_t frequency;  /* in Hz */
	uint64_t off_cpu_ns; /* threshold */
	struct perch_symbols_options symbols;
	struct perch_machine *machine;
	struct agent_cgroups *cgroups; /* NULL: sums of cgroups are not needed */
};

/* What the rings had, since the source was opened. */
struct agent_source_stats {
	uint64_t samples, lost, throttled;
	uint64_t idle; /* samples of idle CPUs, which are left out */
	uint64_t damaged;
	uint64_t starts; /* of the recording */
	size_t ring_bytes, rings;
};

struct agent_source;
struct agent_held_files; /* recording/held_files.h */

/* What this user may not be able to read. */
struct agent_part {
	enum perch_recorder_part part;
	const char *name; /* in the metrics */
	const char *text;
};
enum { AGENT_NR_PARTS = 4 };
extern const struct agent_part agent_parts[AGENT_NR_PARTS];

/* Opens the events and reads what runs. The options and the window must outlive the source. Returns
 * 0, or a negative errno. */
int agent_source_open(struct agent_source **source, const struct agent_source_options *options,
		      struct agent_window *window, struct perch_error *err);
void agent_source_close(struct agent_source *source);

/* True if CPUs have come or gone: their events have ended, or are missing, until the recording
 * starts anew. */
bool agent_source_cpus_changed(struct agent_source *source);
/* Those of the recording. */
const struct perch_targets *agent_source_targets(const struct agent_source *source);
/* Descriptors that are readable when agent_source_read() should be called before its next time; -1:
 * none. */
void agent_source_fds(struct agent_source *source, int fds[2]);
/* Moves what the rings have into the window. Returns 0, or a negative errno. */
int agent_source_read(struct agent_source *source, struct perch_error *err);
/* Frees processes that have ended, and their files if the window has no samples of them; to be
 * called each second. Without memory it is for later. */
void agent_source_tidy(struct agent_source *source);
/* True if all targets have ended. */
bool agent_source_ended(struct agent_source *source);

/*
 * What is known of a system grows for days: names of threads and cgroups that were there once. So
 * the recording starts anew when much memory is used. Stacks of the old one can be named until the
 * window has none. Returns 0, or a negative errno: the old recording goes on.
 */
int agent_source_renew(struct agent_source *source, uint64_t now, struct perch_error *err);
/* Frees the old recording if the window has none of its stacks. oldest: begin of the oldest slice,
 * in ns. Returns true if there is no old one. */
bool agent_source_free_old(struct agent_source *source, uint64_t oldest);

/* The events, as those of a file. */
size_t agent_source_events(const struct agent_source *source,
			   const struct perch_file_event **events);
/* The session that a DSO of an address in the window is of. */
const struct perch_session *agent_source_session(const struct agent_source *source,
						 const struct perch_dso *dso);
/* Stores the descriptors of files that names are read from, at most nr. Returns their number. */
size_t agent_source_files(const struct agent_source *source, int *fds, size_t nr);
/* Files of programs that have samples, which may be removed since. */
const struct agent_held_files *agent_source_held_files(const struct agent_source *source);
/* Symbols of what runs here now, in a process that has these files open. Returns 0 or -ENOMEM. */
int agent_source_new_symbols(const struct agent_source *source, struct perch_symbols **symbols,
			     struct perch_error *err);
/* True if cpu-clock has replaced cycles, which this machine lacks. */
bool agent_source_replaced_cycles(const struct agent_source *source);
const struct perch_error *agent_source_lacks(const struct agent_source *source,
					     enum perch_recorder_part part);
void agent_source_get_stats(const struct agent_source *source, struct agent_source_stats *stats);
/* By event index: the samples that the window got. */
uint64_t agent_source_samples(const struct agent_source *source, size_t event);
/* The CPU time that a sample of the first event stands for; 0: it is no clock. */
uint64_t agent_source_sample_ns(const struct agent_source *source);

#endif

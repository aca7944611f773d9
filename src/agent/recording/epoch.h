/* SPDX-License-Identifier: MIT */
/* One recording: its events, and the session that its records go through. */
#ifndef PERCH_AGENT_EPOCH_H
#define PERCH_AGENT_EPOCH_H

#include <stddef.h>
#include <stdint.h>
#include <perch/recorder.h>

struct agent_source_options; /* source.h */

#define AGENT_MOST_EVENTS 16 /* of a recording */

/* A zeroed one is closed. */
struct agent_epoch {
	struct perch_recorder *recorder; /* NULL: it has ended */
	struct perch_session *session;
	struct perch_decoder *decoder;
	size_t off_cpu_event; /* index; SIZE_MAX: it is not recorded */
	uint64_t sample_ns;   /* CPU time of a sample of the first event; 0: it is no clock */
	uint64_t ended;	      /* ns; 0: it goes on */
};

/* Opens the events, which do not count yet. What is opened is to be closed also after a failure.
 * Returns 0, or a negative errno. */
int agent_epoch_open(struct agent_epoch *epoch, const struct agent_source_options *options,
		     const struct perch_targets *targets, perch_recorder_sink *sink, void *context,
		     struct perch_error *err);
/* Its records end; stacks of it can still be named. */
void agent_epoch_end(struct agent_epoch *epoch, uint64_t now);
void agent_epoch_close(struct agent_epoch *epoch);
/* Finds the targets of the options that are online. Returns 0; otherwise targets is as before. */
int agent_epoch_targets(const struct agent_source_options *options, struct perch_targets *targets);
/* Bytes of all rings. */
size_t agent_epoch_ring_bytes(size_t rings);
/* Stores the descriptors of files that names are read from, at most nr. Returns their number. */
size_t agent_epoch_files(const struct agent_epoch *epoch, int *fds, size_t nr);

#endif

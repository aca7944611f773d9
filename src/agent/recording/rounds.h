/* SPDX-License-Identifier: MIT */
/* The records of a round, which wait for its end to be sorted by time. */
#ifndef PERCH_AGENT_ROUNDS_H
#define PERCH_AGENT_ROUNDS_H

#include <stdbool.h>
#include <sys/uio.h>
#include <perch/record.h>

struct agent_waiting {
	uint64_t time;
	size_t offset; /* in bytes; of equal times, the first one comes first */
};

/* A zeroed one is empty. */
struct agent_rounds {
	char *bytes;
	size_t used, capacity;
	struct agent_waiting *waiting;
	size_t nr_waiting, waiting_capacity;
};

/* Adds records, which the decoder is of. Returns 0 or -ENOMEM. */
int agent_rounds_add(struct agent_rounds *rounds, const struct perch_decoder *decoder,
		     const struct iovec *pieces, int nr, struct perch_error *err);
/* True if they should not wait for the end: there are too many. */
bool agent_rounds_are_large(const struct agent_rounds *rounds);
/* Passes all records to a function, by time if they are to be sorted, and discards them. Returns 0,
 * or the first result of the function that is negative. */
int agent_rounds_deliver(struct agent_rounds *rounds, bool sorted,
			 int (*take)(void *context, const char *bytes, size_t size,
				     struct perch_error *err),
			 void *context, struct perch_error *err);
void agent_rounds_clear(struct agent_rounds *rounds);

#endif

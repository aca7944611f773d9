/* SPDX-License-Identifier: MIT */
/*
 * Samples of groups that are recorded by their leader (":S"). A sample has the counts of all
 * events of the group. Each count becomes a sample of its event, whose period is what was counted
 * since the sample before.
 */
#ifndef PERCH_SESSION_READS_H
#define PERCH_SESSION_READS_H

#include <perch/session.h>

struct reads;

/* Sets *reads to NULL if no event has counts in its samples. Returns 0 or -ENOMEM. */
int perch__reads_new(struct reads **reads, const struct perch_file_event *events, size_t nr_events);
void perch__reads_free(struct reads *reads);

/* Begins with the counts of a sample. Returns false if the sample has none. */
bool perch__reads_start(struct reads *reads, const struct perch_record *record);
/* Sets *record to the sample of the next event. Returns 1, 0 after the last one, or -ENOMEM. */
int perch__reads_next(struct reads *reads, struct perch_record *record);
/* Returns the number of counts whose event is unknown. */
uint64_t perch__reads_unknown(const struct reads *reads);

#endif

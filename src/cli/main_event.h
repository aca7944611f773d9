/* SPDX-License-Identifier: MIT */
/* The event that a view of one event begins with. */
#ifndef PERCH_CLI_MAIN_EVENT_H
#define PERCH_CLI_MAIN_EVENT_H

#include <perch/file.h>

/* Returns the number of samples of an event. */
typedef uint64_t cli_samples_of(const void *context, uint32_t event);

/*
 * Returns the event with the most samples, as exports and pages choose it: events of one name on
 * the kinds of cores of a hybrid CPU count together, and dummy events never. Of these kinds it is
 * the one with the most. 0 if there are no samples.
 */
uint32_t cli_main_event(const struct perch_file_event *events, size_t nr,
			cli_samples_of *samples_of, const void *context);

#endif

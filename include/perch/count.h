/* SPDX-License-Identifier: MIT */
/* Counters and groups. */
#ifndef PERCH_COUNT_H
#define PERCH_COUNT_H

#include <perch/abi.h>
#include <perch/error.h>
#include <perch/open.h>

#ifdef __cplusplus
extern "C" {
#endif

enum perch_count_state {
	PERCH_COUNT_FULL,		/* on the PMU all the time it was enabled: value is exact */
	PERCH_COUNT_SCALED,		/* multiplexed: scaled is an estimate */
	PERCH_COUNT_NEVER,		/* enabled but never scheduled: value says nothing, it is not 0 */
	PERCH_COUNT_IDLE,		/* not enabled since the open or the last reset */
};

struct perch_count {
	uint64_t value;			/* raw, as the kernel counted */
	uint64_t scaled;		/* value * enabled / running; 0 when never scheduled */
	uint64_t enabled_ns;		/* since the open or the last reset */
	uint64_t running_ns;
	uint64_t id;			/* PERCH_FORMAT_ID */
	uint64_t lost;			/* samples lost, when asked by PERCH_FORMAT_LOST (6.0) */
	enum perch_count_state state;
};

struct perch_counter;

/* Opens the one event of text. NULL options: disabled, this thread's user and kernel side as the text says. */
PERCH_API int perch_counter_open(struct perch_counter **counter, const char *text, const struct perch_target *target,
				 const struct perch_options *options, struct perch_error *err);
/* The same from an event parsed before. */
PERCH_API int perch_counter_open_event(struct perch_counter **counter, const struct perch_event *event,
				       const struct perch_target *target, const struct perch_options *options,
				       struct perch_error *err);
PERCH_API void perch_counter_close(struct perch_counter *counter);
PERCH_API int perch_counter_fd(const struct perch_counter *counter);
PERCH_API const char *perch_counter_name(const struct perch_counter *counter);
PERCH_API int perch_counter_enable(struct perch_counter *counter);
PERCH_API int perch_counter_disable(struct perch_counter *counter);
/*
 * Sets the value to 0. The kernel's times go on, so they are read once after it (two system calls in all), and later
 * reads give times and scaled values from there. What exited children of an inherited event had counted stays in its
 * value: the kernel resets living tasks alone.
 */
PERCH_API int perch_counter_reset(struct perch_counter *counter);
/* One read(2). -ENODATA with PERCH_CAUSE_SCHEDULE for a pinned event in error state. */
PERCH_API int perch_counter_read(struct perch_counter *counter, struct perch_count *count, struct perch_error *err);
PERCH_API int perch_counter_id(struct perch_counter *counter, uint64_t *id, struct perch_error *err);

struct perch_group;

/*
 * Opens the events of text, with or without braces, as one group: scheduled together, read by one read(2). With
 * options->inherit the members are read one by one, which older kernels require (group reads of inherited events: 6.12).
 * options->enabled takes one ioctl(2) when all are open: members that join a running group would not count at once.
 */
PERCH_API int perch_group_open(struct perch_group **group, const char *text, const struct perch_target *target,
			       const struct perch_options *options, struct perch_error *err);
PERCH_API void perch_group_close(struct perch_group *group);
PERCH_API size_t perch_group_size(const struct perch_group *group);
PERCH_API int perch_group_fd(const struct perch_group *group, size_t member);
PERCH_API const char *perch_group_name(const struct perch_group *group, size_t member);
PERCH_API int perch_group_enable(struct perch_group *group);
PERCH_API int perch_group_disable(struct perch_group *group);
PERCH_API int perch_group_reset(struct perch_group *group);	/* as perch_counter_reset(), all members */
/* Fills counts[0..nr-1]; nr must be the group's size. */
PERCH_API int perch_group_read(struct perch_group *group, struct perch_count *counts, size_t nr,
			       struct perch_error *err);

/* value * enabled / running without overflow, rounded to nearest; 0 when running is 0. */
PERCH_API uint64_t perch_scale(uint64_t value, uint64_t enabled, uint64_t running);

#ifdef __cplusplus
}
#endif
#endif

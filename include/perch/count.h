/* SPDX-License-Identifier: MIT */
/*
 * Counters, groups and sets.
 *
 * The functions that open store the object through their first argument: NULL there after any
 * failure. target NULL is the calling thread, options NULL a plain counter, disabled. The close
 * functions take NULL.
 */
#ifndef PERCH_COUNT_H
#define PERCH_COUNT_H

#include <stdbool.h>
#include <perch/abi.h>
#include <perch/error.h>
#include <perch/open.h>

#ifdef __cplusplus
extern "C" {
#endif

enum perch_count_state {
	/* on the PMU all the time it was enabled: value is exact */
	PERCH_COUNT_STATE_EXACT,
	PERCH_COUNT_STATE_SCALED, /* multiplexed: scaled is an estimate */
	/* enabled but never scheduled: value says nothing, it is not 0 */
	PERCH_COUNT_STATE_NEVER_RAN,
	PERCH_COUNT_STATE_NOT_ENABLED, /* not enabled since the open or the last reset */
	/* pinned, and lost its counter: value says nothing */
	PERCH_COUNT_STATE_ERROR,
	PERCH_COUNT_STATE_NOT_OPEN, /* not open there: sets alone */
};

struct perch_count {
	uint64_t value;	     /* raw, as the kernel counted */
	uint64_t scaled;     /* value * enabled / running; 0 when never scheduled */
	uint64_t enabled_ns; /* since the open or the last reset */
	uint64_t running_ns;
	uint64_t id;   /* PERCH_FORMAT_ID */
	uint64_t lost; /* samples lost, when asked by PERCH_FORMAT_LOST (6.0) */
	enum perch_count_state state;
};

struct perch_counter;

/*
 * Opens the one event of text. NULL options: disabled, user and kernel side as the text says. NULL
 * target: the calling thread. *counter is NULL after a failure.
 */
PERCH_API int perch_counter_open(struct perch_counter **counter, const char *text,
				 const struct perch_target *target,
				 const struct perch_options *options, struct perch_error *err);
/* The same from an event parsed before. */
PERCH_API int perch_counter_open_event(struct perch_counter **counter,
				       const struct perch_event *event,
				       const struct perch_target *target,
				       const struct perch_options *options,
				       struct perch_error *err);
PERCH_API void perch_counter_close(struct perch_counter *counter); /* NULL: nothing */
PERCH_API int perch_counter_fd(const struct perch_counter *counter);
PERCH_API const char *perch_counter_name(const struct perch_counter *counter);
PERCH_API int perch_counter_enable(struct perch_counter *counter);
PERCH_API int perch_counter_disable(struct perch_counter *counter);
/*
 * Sets the value to 0. The kernel's times go on, so they are read once after it (two system calls
 * in all), and later reads give times and scaled values from there. What exited children of an
 * inherited event had counted stays in its value: the kernel resets living tasks alone.
 */
PERCH_API int perch_counter_reset(struct perch_counter *counter);
/* One read(2). -ENODATA with PERCH_ERROR_SCHEDULE for a pinned event in error state. */
PERCH_API int perch_counter_read(struct perch_counter *counter, struct perch_count *count,
				 struct perch_error *err);
PERCH_API int perch_counter_id(struct perch_counter *counter, uint64_t *id,
			       struct perch_error *err);
/* What options.optional let go; NULL when nothing. */
PERCH_API const struct perch_attr *perch_counter_missing_features(
	const struct perch_counter *counter);
/*
 * Reading without a system call, asked for by options.self_monitoring: on x86 and arm64, for a
 * hardware event of the calling thread (target PERCH_SELF) that is on the PMU now.
 * perch_counter_read() falls back to read(2) by itself. Says how the last read was made; err, when
 * not NULL, tells why not without a system call.
 */
PERCH_API bool perch_counter_self_monitoring(const struct perch_counter *counter,
					     struct perch_error *err);

struct perch_group;

/*
 * Opens the events of text, with or without braces, as one group: scheduled together, read by one
 * read(2); by one each with options->inherit on kernels before 4.13, which have no other way.
 * options->enabled takes one ioctl(2) when all are open: members that join a running group would
 * not count at once. NULL target: the calling thread. *group is NULL after a failure.
 */
PERCH_API int perch_group_open(struct perch_group **group, const char *text,
			       const struct perch_target *target,
			       const struct perch_options *options, struct perch_error *err);
PERCH_API void perch_group_close(struct perch_group *group); /* NULL: nothing */
PERCH_API size_t perch_group_size(const struct perch_group *group);
PERCH_API int perch_group_fd(const struct perch_group *group, size_t member);
PERCH_API const char *perch_group_name(const struct perch_group *group, size_t member);
/* What options.optional let go of a member; NULL when nothing. */
PERCH_API const struct perch_attr *perch_group_missing_features(const struct perch_group *group,
								size_t member);
PERCH_API int perch_group_enable(struct perch_group *group);
PERCH_API int perch_group_disable(struct perch_group *group);
/* as perch_counter_reset(), all members */
PERCH_API int perch_group_reset(struct perch_group *group);
/* Fills counts[0..nr-1]; nr must be the group's size. */
PERCH_API int perch_group_read(struct perch_group *group, struct perch_count *counts, size_t nr,
			       struct perch_error *err);

/*
 * A set: every event on every target, behind one handle. Groups stay groups on each target, and one
 * read(2) gets all of a group there.
 */
struct perch_set;

/*
 * What perch_set_open() may do where it would have to fail; 0: nothing. With _SKIP and _DROP_KERNEL
 * an event is skipped, with the first refusal (EACCES) as the reason, when its PMU cannot count
 * user space alone.
 */
enum perch_set_may {
	/* leave out events that this machine has not (ENOENT, EOPNOTSUPP, EINVAL...) */
	PERCH_SET_MAY_SKIP = 1 << 0,
	/* count user space alone where the kernel's side is forbidden (EACCES) */
	PERCH_SET_MAY_DROP_KERNEL = 1 << 1,
	/* go on when some threads have ended, as long as one is left */
	PERCH_SET_MAY_LOSE_TARGETS = 1 << 2,
	PERCH_SET_MAY_MAX = 1 << 3, /* above the last one: refused */
};

/* What became of an event of the set. */
struct perch_set_event {
	/* leader and members as opened: a broken weak group's lead themselves */
	struct perch_event event;
	struct perch_attr attr; /* as opened, or as refused */
	bool skipped;		/* reason says why */
	bool user_only;		/* PERCH_SET_MAY_DROP_KERNEL was used */
	bool broken;		/* was in a weak group that did not fit */
	/* what options.optional let go; NULL: nothing */
	const struct perch_attr *missing_features;
	const struct perch_error *reason; /* NULL: not skipped */
};

/*
 * Events and targets are copied; the events' strings (filter, path) are not: keep them until
 * perch_set_close(). Cgroups need no descriptor once the set is open: perch_targets_clear() may
 * close them. may: PERCH_SET_MAY_* bits, no others. targets is no option here: NULL or an empty
 * list is refused. *set is NULL after a failure.
 */
PERCH_API int perch_set_open(struct perch_set **set, const struct perch_events *events,
			     const struct perch_targets *targets,
			     const struct perch_options *options, unsigned may,
			     struct perch_error *err);
PERCH_API void perch_set_close(struct perch_set *set); /* NULL: nothing */
PERCH_API size_t perch_set_events(const struct perch_set *set);
PERCH_API size_t perch_set_targets(const struct perch_set *set);
PERCH_API const struct perch_set_event *perch_set_get_event(const struct perch_set *set,
							    size_t event);
PERCH_API const struct perch_target *perch_set_target(const struct perch_set *set, size_t target);
/* -1 where it is not open: skipped, the thread was gone, or its PMU is not on that CPU. */
PERCH_API int perch_set_fd(const struct perch_set *set, size_t event, size_t target);
/* Explains the skipped events with facts of the machine (open tells by static rules alone, to be
 * quick). */
PERCH_API void perch_set_explain(struct perch_set *set, struct perch_machine *machine);
PERCH_API int perch_set_enable(struct perch_set *set, struct perch_error *err);
PERCH_API int perch_set_disable(struct perch_set *set, struct perch_error *err);
/* as perch_counter_reset() */
PERCH_API int perch_set_reset(struct perch_set *set, struct perch_error *err);
/*
 * Fills counts[event * perch_set_targets() + target]. An event that is not open there has state
 * PERCH_COUNT_STATE_NOT_OPEN, a pinned one that lost its counter PERCH_COUNT_STATE_ERROR; neither
 * is a failure of the read.
 */
PERCH_API int perch_set_read(struct perch_set *set, struct perch_count *counts, size_t nr,
			     struct perch_error *err);
/* Adds counts up: values, scaled values and times; state is the worst of those that are there. */
PERCH_API void perch_count_sum(struct perch_count *sum, const struct perch_count *counts,
			       size_t nr);
/*
 * What was counted between two reads, scaled from the times between them; earlier NULL: since the
 * open. Where one of the two is PERCH_COUNT_STATE_ERROR or _ABSENT nothing is known: so is the
 * difference then, with a value of 0. Less time now than earlier means a reset between them: all of
 * now is new.
 */
PERCH_API void perch_count_delta(struct perch_count *delta, const struct perch_count *now,
				 const struct perch_count *earlier);

/* value * enabled / running without overflow, rounded to nearest; 0 when running is 0. */
PERCH_API uint64_t perch_scale(uint64_t value, uint64_t enabled, uint64_t running);

#ifdef __cplusplus
}
#endif
#endif

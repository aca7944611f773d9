/* SPDX-License-Identifier: MIT */
/*
 * Counters, groups and sets. A set is every event on every target, with one handle. A read is one
 * read(2), also of a group, or a self-monitoring read without a system call. A count has times and
 * a state, so a count of an event that never ran differs from zero, and an estimate from an exact
 * count. A file calls only files below its own:
 *
 *	set_open.c		opens the events of a set
 *	set_access.c		reads, enables, disables and resets them
 *	set_pages.c		reads of sets without a system call
 *	set.c			makes, describes and closes sets
 *	group.c			opens groups
 *	  group_access.c	  reads, enables, disables and resets them
 *	counter.c		counters: one event each
 *	adopt.c			events that were opened elsewhere
 *	self_monitoring.c	maps the page of an event for self-monitoring reads
 *	user_pages.c		maps the pages of groups and sets
 *	read.c			read(2) and ioctl(2) of events, and their errors
 *	metrics.c		ratios and rates of counts
 *	count.c			state and scaled value of a count
 *	open.c			opens an event that is read
 */
#ifndef PERCH_COUNT_INTERNAL_H
#define PERCH_COUNT_INTERNAL_H

#include <perch/count.h>
#include <perch/explain.h>

#include "base/fork.h"

#define PERCH__TIMES	      (PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING)
#define PERCH__LIKELY(what)   __builtin_expect(!!(what), 1)
#define PERCH__UNLIKELY(what) __builtin_expect(!!(what), 0)

/* The times at the last reset. The kernel resets the value only. */
struct perch__base {
	uint64_t enabled_ns;
	uint64_t running_ns;
};

/* Buffer for the read(2) of a group. It grows if the group has more members than expected. */
struct perch__read_buffer {
	uint64_t *word;
	size_t capacity;
};

/* Largest read(2) of a single event: value, two times, id, lost. */
#define PERCH__SINGLE_WORDS 5

/* 64-bit words in the read(2) of an event with that read_format. members is used with
 * PERCH_FORMAT_GROUP only. */
static inline size_t perch__read_words(uint64_t read_format, size_t members)
{
	size_t each = 1 + !!(read_format & PERCH_FORMAT_ID) + !!(read_format & PERCH_FORMAT_LOST);
	size_t times = !!(read_format & PERCH_FORMAT_TOTAL_TIME_ENABLED) +
		       !!(read_format & PERCH_FORMAT_TOTAL_TIME_RUNNING);

	return read_format & PERCH_FORMAT_GROUP ? 1 + times + members * each : times + each;
}

/* What perch__read() does if the first read(2) returned something else. */
int perch__read_rest(const struct perch_syscalls *calls, int fd, uint64_t *words, size_t nr,
		     ssize_t got, const char *name, struct perch_error *err);
/*
 * One read(2) of exactly nr words. A failure, a short read, and the end of file of a pinned event
 * in error state are errors that name the event. Inline, as is perch__read_group(): many CPUs guess
 * the returns after a system call wrong, so each function less around it saves nanoseconds.
 */
static inline int perch__read(const struct perch_syscalls *calls, int fd, uint64_t *words,
			      size_t nr, const char *name, struct perch_error *err)
{
	ssize_t got = calls->read(calls->context, fd, words, nr * sizeof(*words));

	if (PERCH__LIKELY(got == (ssize_t)(nr * sizeof(*words))))
		return 0;
	return perch__read_rest(calls, fd, words, nr, got, name, err);
}

int perch__read_buffer_grow(struct perch__read_buffer *buffer, size_t nr, struct perch_error *err);
/* What perch__read_group() does if the first read(2) returned something else. */
int perch__read_group_rest(const struct perch_syscalls *calls, int fd, uint64_t read_format,
			   size_t members, struct perch__read_buffer *buffer, ssize_t got,
			   const char *name, struct perch_error *err);
/*
 * Reads a group that has that many members. If more members have joined it, the buffer grows once,
 * and a second read(2) follows. Returns the number of members that the kernel returned.
 */
static inline int perch__read_group(const struct perch_syscalls *calls, int fd,
				    uint64_t read_format, size_t members,
				    struct perch__read_buffer *buffer, const char *name,
				    struct perch_error *err)
{
	size_t wanted = perch__read_words(read_format, members);
	ssize_t got;

	if (PERCH__UNLIKELY(wanted > buffer->capacity)) {
		int rc = perch__read_buffer_grow(buffer, wanted, err);

		if (rc)
			return rc;
	}
	got = calls->read(calls->context, fd, buffer->word, buffer->capacity * sizeof(uint64_t));
	if (PERCH__LIKELY(got == (ssize_t)(wanted * sizeof(uint64_t)) &&
			  buffer->word[0] == members))
		return (int)members;
	return perch__read_group_rest(calls, fd, read_format, members, buffer, got, name, err);
}

/*
 * Reads one member of a group that has lost members: the leader was removed (remove_on_exec), or
 * members were. The member is read by its own descriptor. If it is still in a group, its id finds
 * its count.
 */
int perch__read_orphan(const struct perch_syscalls *calls, int fd, uint64_t read_format,
		       struct perch__read_buffer *buffer, const char *name,
		       const struct perch__base *base, struct perch_count *count,
		       struct perch_error *err);
/*
 * perch_open(), or perch_open_optional() if optional is not NULL: then *attr becomes the attr that
 * the kernel accepted, and omitted features are added to *missing_features. Kernels before 4.13
 * refuse PERCH_FORMAT_GROUP with inherit: it is removed from the leader's read_format then, and the
 * caller removes it from the members'.
 */
int perch__open_counting(struct perch_attr *attr, const struct perch_attr *optional,
			 struct perch_attr *missing_features, const struct perch_target *target,
			 int group_fd, struct perch_machine *machine, struct perch_error *err);
/* An open event of a counter or a group. */
struct perch__opened {
	int fd;
	bool user_only; /* opened with exclude_kernel, see PERCH_MAY_EXCLUDE_KERNEL */
	bool has_missing_features;
	uint64_t id;		/* 0 until perch_group_find() */
	struct perch_attr attr; /* as opened */
	struct perch_attr missing_features;
	char name[sizeof(((struct perch_event *)0)->name)];
};
/*
 * Opens opened->attr, applies options.may, .optional and .no_cloexec, and sets the filter of the
 * event. Returns 0 or a negative errno; nothing is open then.
 */
int perch__open_event(struct perch__opened *opened, const struct perch_event *event,
		      const struct perch_target *target, int group_fd,
		      const struct perch_options *options, struct perch_error *err);
/* Refuses bits of options.may that are only for sets and samplers. */
int perch__check_may(const struct perch_options *options, struct perch_error *err);
/* Checks that a descriptor is an event with the read_format of the attr. */
int perch__check_descriptor(int fd, const struct perch_attr *attr, struct perch_machine *machine,
			    struct perch_error *err);
/* Fills in an event that was opened elsewhere. name may be NULL. */
void perch__adopt(struct perch__opened *opened, int fd, const struct perch_attr *attr,
		  const char *name);
void perch__set_name(struct perch__opened *opened, const char *name);
/* What the open members of a group need from the PMU. */
struct perch__group_constraints {
	size_t counters; /* members that a PMU counts; the kernel counts software events itself */
	uint32_t pmu;	 /* type of the first of them; PERCH_TYPE_RAW for the core PMU */
	/* the members have several types, which may still be names of one PMU */
	bool mixed;
};
void perch__group_constraints_add(struct perch__group_constraints *constraints,
				  const struct perch_attr *attr);
/*
 * Explains why the kernel refused a group member with EINVAL, by opening it again without the
 * group. Returns false if the cause stays unknown; err is not changed then.
 */
bool perch__explain_group_member(const struct perch__group_constraints *constraints,
				 const struct perch_attr *attr, const struct perch_target *target,
				 struct perch_machine *machine, struct perch_error *err);

/* Bits of read_format that a group leader needs. */
uint64_t perch__group_format(const struct perch_attr *attr);
bool perch__any_feature(const struct perch_attr *attr);
void perch__add_features(struct perch_attr *sum, const struct perch_attr *features);
/* Explains a refused read, ioctl or mmap of the event of that name (may be NULL). Returns -errno,
 * or -ENODATA for an end of file. */
int perch__operation_error(const struct perch_operation *operation, const char *name,
			   struct perch_error *err);
int perch__control_error(int errnum, unsigned long request, const char *name,
			 struct perch_error *err);
/* ioctl(2) on an event. Returns 0 or -errno. */
int perch__control(const struct perch_syscalls *calls, int fd, unsigned long request,
		   unsigned long argument);

/* perch__evaluate() for an event that was not on the PMU all the time. Returns 0. */
int perch__evaluate_scaled(struct perch_count *count, uint64_t enabled, uint64_t running);

/* perch__evaluate() for times that may be negative, which count as 0. */
int perch__evaluate_signed(struct perch_count *count, uint64_t enabled, uint64_t running);

/* Sets the times since base, the scaled value and the state. count->value is set already.
 * Returns 0. */
static inline int perch__evaluate(struct perch_count *count, uint64_t enabled, uint64_t running,
				  const struct perch__base *base)
{
	enabled = enabled > base->enabled_ns ? enabled - base->enabled_ns : 0;
	running = running > base->running_ns ? running - base->running_ns : 0;
	if (PERCH__UNLIKELY(running < enabled))
		return perch__evaluate_scaled(count, enabled, running);
	count->enabled_ns = enabled;
	count->running_ns = running;
	count->scaled = count->value;
	/* where the kernel's clock is coarse, an event can count before the clock advances */
	count->state = enabled | count->value ? PERCH_COUNT_STATE_EXACT
					      : PERCH_COUNT_STATE_NOT_ENABLED;
	return 0;
}

/*
 * Makes a count of the words that read(2) returned. read_format includes PERCH__TIMES. next points
 * to the event's value; times points to the two times, which follow the value of a single event and
 * precede the members of a group. Returns the position of the next member's value.
 */
static inline const uint64_t *perch__parse_count(struct perch_count *count, const uint64_t *next,
						 const uint64_t *times, uint64_t read_format,
						 const struct perch__base *base)
{
	count->value = *next++;
	if (!(read_format & PERCH_FORMAT_GROUP))
		next += 2;
	count->id = read_format & PERCH_FORMAT_ID ? *next++ : 0;
	count->lost = read_format & PERCH_FORMAT_LOST ? *next++ : 0;
	perch__evaluate(count, times[0], times[1], base);
	return next;
}

/* For an event that was read without PERCH_FORMAT_GROUP. */
static inline void perch__parse_single(struct perch_count *count, const uint64_t *words,
				       uint64_t read_format, const struct perch__base *base)
{
	perch__parse_count(count, words, words + 1, read_format, base);
}

/* Positions of the first member's value and of the times in the words of perch__read_group(). */
#define PERCH__FIRST_MEMBER 3
#define PERCH__GROUP_TIMES  1

#endif

/* SPDX-License-Identifier: MIT */
#ifndef PERCH_COUNT_INTERNAL_H
#define PERCH_COUNT_INTERNAL_H

#include <perch/count.h>
#include <perch/explain.h>

#define PERCH__TIMES	      (PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING)
#define PERCH__LIKELY(what)   __builtin_expect(!!(what), 1)
#define PERCH__UNLIKELY(what) __builtin_expect(!!(what), 0)

/* The times at the last reset, which the kernel does not reset. */
struct perch__base {
	uint64_t enabled_ns;
	uint64_t running_ns;
};

/* Room for what read(2) gives of a group. It grows when the group turns out to be larger than
 * known. */
struct perch__words {
	uint64_t *word;
	size_t capacity;
};

#define PERCH__SINGLE_WORDS                                                  \
	5 /* of an event read by itself, at most: value, two times, id, lost \
	   */

/* 64-bit words that read(2) gives for events of that read_format; members counts for
 * PERCH_FORMAT_GROUP alone. */
size_t perch__read_words(uint64_t read_format, size_t members);
/*
 * One read(2) of exactly that many words. A pinned event without a counter, a short read and a
 * refused one are errors that tell the event's name.
 */
int perch__read(const struct perch_syscalls *calls, int fd, uint64_t *words, size_t nr,
		const char *name, struct perch_error *err);
/*
 * One read(2) of a group of that many members, into as many words as that takes; two when others
 * have joined the group meanwhile and the words must grow, which happens once. Returns how many
 * members the kernel gave.
 */
int perch__read_group(const struct perch_syscalls *calls, int fd, uint64_t read_format,
		      size_t members, struct perch__words *words, const char *name,
		      struct perch_error *err);
/*
 * A member of a group that gives fewer members than it had: the leader has gone (remove_on_exec),
 * or members have been taken out. Each is read by its own descriptor, and found by its id where it
 * is still in constraints.
 */
int perch__read_orphan(const struct perch_syscalls *calls, int fd, uint64_t read_format,
		       struct perch__words *words, const char *name, const struct perch__base *base,
		       struct perch_count *count, struct perch_error *err);
/*
 * perch_open(), and perch_open_optional() where something is: *attr is as it was accepted then, and
 * what was left out is added to *dropped. A leader loses PERCH_FORMAT_GROUP where it is inherited
 * and the kernel older than 4.13: its group is read one by one then, and the members have to be
 * opened so.
 */
int perch__open_counting(struct perch_attr *attr, const struct perch_attr *optional,
			 struct perch_attr *missing_features, const struct perch_target *target,
			 int group_fd, struct perch_machine *machine, struct perch_error *err);
/* The members of a group that are open already. */
struct perch__group_constraints {
	size_t counters; /* those that PMUs count, and not the kernel itself */
	uint32_t pmu;	 /* of the first of those; the cores' own: PERCH_TYPE_RAW */
	/* others name another PMU, which may be the cores' by its own name */
	bool mixed;
};
void perch__group_constraints_add(struct perch__group_constraints *constraints,
				  const struct perch_attr *attr);
/*
 * Tells why a member was refused by EINVAL, which is all that the kernel says, by opening it once
 * more without the group. False: nothing is known, and err is as it was.
 */
bool perch__explain_group_member(const struct perch__group_constraints *constraints,
				 const struct perch_attr *attr, const struct perch_target *target,
				 struct perch_machine *machine, struct perch_error *err);

/* What a group's members add to their read_format. */
uint64_t perch__group_format(const struct perch_attr *attr);
bool perch__any_feature(const struct perch_attr *attr);
void perch__add_features(struct perch_attr *sum, const struct perch_attr *parts);
/* Why a read, an ioctl or a mapping of the event of that name (NULL: none) was refused. Returns
 * -errno; -ENODATA for an end of file. */
int perch__operation_error(const struct perch_operation *operation, const char *name,
			   struct perch_error *err);
int perch__control_error(int errnum, unsigned long request, const char *name,
			 struct perch_error *err);
/* ioctl(2) on an event; 0 or -errno. */
int perch__control(const struct perch_syscalls *calls, int fd, unsigned long request,
		   unsigned long argument);

/* The rest of perch__evaluate(), for what was not on the PMU all the time. Returns 0. */
int perch__evaluate_scaled(struct perch_count *count, uint64_t enabled, uint64_t running);

/* The same for differences that may be negative: 0 then. */
int perch__evaluate_signed(struct perch_count *count, uint64_t enabled, uint64_t running);

/* Fills in the times since base, the scaled value and the state; count->value is there already.
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
	count->state = enabled ? PERCH_COUNT_STATE_EXACT : PERCH_COUNT_STATE_NOT_ENABLED;
	return 0;
}

/*
 * A count from the words that read(2) gave; read_format has PERCH__TIMES. next: the event's value,
 * with what the format puts behind it; times: the two that a single event has behind its value, and
 * a group in front of all. Returns where the next member's value is.
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

/* Of a single event, read without PERCH_FORMAT_GROUP. */
static inline void perch__parse_single(struct perch_count *count, const uint64_t *words,
				       uint64_t read_format, const struct perch__base *base)
{
	perch__parse_count(count, words, words + 1, read_format, base);
}

/* Where the first member's value is in what perch__read_group() gave, and the times of all. */
#define PERCH__FIRST_MEMBER 3
#define PERCH__GROUP_TIMES  1

#endif

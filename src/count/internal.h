/* SPDX-License-Identifier: MIT */
#ifndef PERCH_COUNT_INTERNAL_H
#define PERCH_COUNT_INTERNAL_H

#include <perch/count.h>

#define PERCH__TIMES (PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING)
#define PERCH__LIKELY(what) __builtin_expect(!!(what), 1)
#define PERCH__UNLIKELY(what) __builtin_expect(!!(what), 0)

/* The times at the last reset, which the kernel does not reset. */
struct perch__base {
	uint64_t enabled_ns;
	uint64_t running_ns;
};

/* Room for what read(2) gives of a group. It grows when the group turns out to be larger than known. */
struct perch__words {
	uint64_t *at;
	size_t room;
};

/* 64-bit words that read(2) gives for events of that read_format; members counts for PERCH_FORMAT_GROUP alone. */
size_t perch__read_words(uint64_t read_format, size_t members);
/*
 * One read(2) of exactly that many words. A pinned event without a counter, a short read and a refused one are errors
 * that tell the event's name.
 */
int perch__read(const struct perch_calls *calls, int fd, uint64_t *words, size_t nr, const char *name,
		struct perch_error *err);
/*
 * One read(2) of a group of that many members, into as many words as that takes; two when others have joined the group
 * meanwhile and the words must grow, which happens once. Returns how many members the kernel gave.
 */
int perch__read_group(const struct perch_calls *calls, int fd, uint64_t read_format, size_t members,
		      struct perch__words *words, const char *name, struct perch_error *err);
/* A count from what read(2) gave for a single event; read_format has PERCH__TIMES and no GROUP. */
void perch__take_counts(struct perch_count *count, const uint64_t *words, uint64_t read_format,
		   const struct perch__base *base);
/* The same for number `member` of what perch__read_group() gave. */
void perch__take_member(struct perch_count *count, const uint64_t *words, uint64_t read_format, size_t member,
			const struct perch__base *base);
/*
 * A member of a group that gives fewer members than it had: the leader has gone (remove_on_exec), or members have been
 * taken out. Each is read by its own descriptor, and found by its id where it is still in company.
 */
int perch__read_astray(const struct perch_calls *calls, int fd, uint64_t read_format, struct perch__words *words,
		       const char *name, const struct perch__base *base, struct perch_count *count,
		       struct perch_error *err);
/*
 * perch_open(), and perch_open_optional() where something is: *attr is as it was accepted then, and what was left out is
 * added to *dropped.
 */
int perch__open_counting(struct perch_attr *attr, const struct perch_attr *optional, struct perch_attr *dropped,
			 const struct perch_target *target, int group_fd, struct perch_machine *machine,
			 struct perch_error *err);
bool perch__any_part(const struct perch_attr *attr);
void perch__add_parts(struct perch_attr *sum, const struct perch_attr *parts);
/* ioctl(2) on an event; 0 or -errno. */
int perch__control(const struct perch_calls *calls, int fd, unsigned long request, unsigned long argument);

/* The rest of perch__judge(), for what was not on the PMU all the time. Returns 0. */
int perch__judge_scaled(struct perch_count *count, uint64_t enabled, uint64_t running);

/* The same for differences that may be negative: 0 then. */
int perch__judge_signed(struct perch_count *count, uint64_t enabled, uint64_t running);

/* Fills in the times since base, the scaled value and the state; count->value is there already. Returns 0. */
static inline int perch__judge(struct perch_count *count, uint64_t enabled, uint64_t running,
			       const struct perch__base *base)
{
	enabled = enabled > base->enabled_ns ? enabled - base->enabled_ns : 0;
	running = running > base->running_ns ? running - base->running_ns : 0;
	if (PERCH__UNLIKELY(running < enabled))
		return perch__judge_scaled(count, enabled, running);
	count->enabled_ns = enabled;
	count->running_ns = running;
	count->scaled = count->value;
	count->state = enabled ? PERCH_COUNT_FULL : PERCH_COUNT_IDLE;
	return 0;
}

#endif

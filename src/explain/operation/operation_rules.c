/* SPDX-License-Identifier: MIT */
/* The rules of refused mmap, ioctl and read calls: predicates of their conditions, and the tables.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "operation.h"

#ifndef MAP_SYNC
#define MAP_SYNC 0x80000
#endif

#define KIND(name)	  (o->op->kind == PERCH_OPERATION_##name)
#define ERRNO_IS(errnum_) (o->op->errnum == (errnum_))
#define YES_IF(condition) ((condition) ? PERCH__YES : PERCH__NO)
/* Conditions of one kind of operation or one request: from a match, or from a bool (..._IF). */
#define MMAP(match_)		   (KIND(MMAP) ? (match_) : PERCH__NO)
#define MMAP_IF(condition)	   MMAP(YES_IF(condition))
#define MMAP_UNKNOWN_IF(condition) perch__and(MMAP_IF(condition), PERCH__UNKNOWN)
/* Kernels before that release may accept it, and return the errno for other reasons. */
#define MMAP_IF_CHANGED(release, errnum_, condition) \
	perch__and(MMAP_IF(condition), is_since(o, release, errnum_))
#define MUNMAP(match_)		     (KIND(MUNMAP) ? (match_) : PERCH__NO)
#define READ(match_)		     (KIND(READ) || KIND(READV) ? (match_) : PERCH__NO)
#define READ_IF(condition)	     READ(YES_IF(condition))
#define IOCTL(match_)		     (KIND(IOCTL) ? (match_) : PERCH__NO)
#define IOCTL_IF(condition)	     IOCTL(YES_IF(condition))
#define REQUEST_IS(name_)	     (o->op->request == PERCH_IOC_##name_)
#define REQUEST_IF(name_, condition) IOCTL_IF(REQUEST_IS(name_) && (condition))
#define REQUEST_UNKNOWN_IF(name_, condition) \
	perch__and(REQUEST_IF(name_, condition), PERCH__UNKNOWN)

#define MAPPING_TYPE (o->op->map_flags & (MAP_SHARED | MAP_PRIVATE | MAP_SHARED_VALIDATE))
#define RING	     (o->op->offset == 0)
#define AUX	     (o->op->offset != 0)
#ifdef MAP_32BIT
#define IN_LOW_GIB ((o->op->map_flags & (MAP_32BIT | MAP_FIXED)) == MAP_32BIT)
#else
#define IN_LOW_GIB false
#endif
/* An unknown address may be odd, if the errno says so. */
#define ADDRESS_MAY_BE_ODD \
	(o->op->address_known ? YES_IF(o->op->address % o->page_bytes) : YES_IF(ERRNO_IS(EINVAL)))
#define LOW_ADDRESS \
	perch__and(perch__fixes_address(o), YES_IF(!o->op->address_known || o->op->address < 65536))
#define POWER_OF_2_OR_0(nr) (!((nr) & ((nr)-1)))
#define RING_BYTES	    (o->op->ring_size)
#define RING_PAGES	    (RING_BYTES / o->page_bytes + !!(RING_BYTES % o->page_bytes))
/* The page list of a ring has at most 2^10 pages on x86, with one pointer per page of the ring. */
#define ABOVE_LARGEST_RING (o->pages > (UINT64_C(1) << 18) + 1)

#define COUNTS		   (o->has_attr && !o->c.attr.sample_period)
/* The kernel converts the frequency of the clock events to a period when they are opened. */
#define USES_FREQUENCY                                                \
	(o->c.attr.freq && !(o->c.attr.type == PERCH_TYPE_SOFTWARE && \
			     o->c.attr.config <= PERCH_COUNT_SW_TASK_CLOCK))
#define FILTER		  (o->op->filter)
#define IS_TRACEPOINT	  (o->c.attr.type == PERCH_TYPE_TRACEPOINT)
#define HAS_NO_FILTER	  (!IS_TRACEPOINT && o->c.attr.type < PERCH_TYPE_MAX)
#define FILTER_HAS(fault) IOCTL(filter_has(o, PERCH__FILTER_##fault))
#define OUTPUT_RESET	  ((long)o->op->argument == -1L)
#define BOTH_KNOWN	  (!OUTPUT_RESET && o->has_attr && o->has_other)
/* pid 0 is the calling thread, which may be the other event's pid. */
#define OTHER_TASK (o->c.pid != o->op->other->pid && o->c.pid && o->op->other->pid)
#define OTHER_CLOCK                                       \
	(o->c.attr.use_clockid != o->other.use_clockid || \
	 (o->c.attr.use_clockid && o->c.attr.clockid != o->other.clockid))

/* Software events, tracepoints and breakpoints had a context of their own. */
#define COUNTED_BY_KERNEL(attr)                                                        \
	((attr).type == PERCH_TYPE_SOFTWARE || (attr).type == PERCH_TYPE_TRACEPOINT || \
	 (attr).type == PERCH_TYPE_BREAKPOINT)
#define OTHER_CONTEXT (COUNTED_BY_KERNEL(o->c.attr) != COUNTED_BY_KERNEL(o->other))

static enum perch__match is_since(const struct perch__operation_case *o, const char *release,
				  int errnum)
{
	if (perch__may_lack_change(&o->c, release) == PERCH__NO)
		return PERCH__YES;
	return ERRNO_IS(errnum) ? PERCH__UNKNOWN : PERCH__NO;
}

static enum perch__match above_rate(const struct perch__operation_case *o)
{
	long limit;

	if (!o->op->period)
		return PERCH__NO;
	if (!o->c.machine ||
	    perch_machine_sysctl(o->c.machine, PERCH_SYSCTL_MAX_SAMPLE_RATE, &limit, NULL))
		return PERCH__UNKNOWN;
	return YES_IF(limit >= 0 && o->op->period > (uint64_t)limit);
}

static enum perch__match request_too_new(const struct perch__operation_case *o)
{
	const char *since = perch__find_request(o->op->request)->since;

	return perch__and(perch__older_than(&o->c, since),
			  since[0] && o->c.machine ? PERCH__YES : PERCH__NO);
}

/* Only tracepoint filters have parentheses and quotes. */
static enum perch__match parses_as(const struct perch__operation_case *o, char fault)
{
	if (o->has_attr && HAS_NO_FILTER)
		return PERCH__NO;
	return FILTER ? YES_IF(perch__filter_error(FILTER) == fault) : PERCH__UNKNOWN;
}

static enum perch__match filter_has(const struct perch__operation_case *o,
				    enum perch__filter_fault fault)
{
	struct perch__filter filter;

	if (!REQUEST_IS(SET_FILTER) || !FILTER)
		return PERCH__NO;
	perch__check_filter_of(o, &filter);
	return YES_IF(filter.fault == fault);
}

static enum perch__match names_file(const struct perch__operation_case *o)
{
	if (o->has_attr && o->c.attr.type < PERCH_TYPE_MAX)
		return PERCH__NO;
	return FILTER ? YES_IF(perch__filter_has_file(FILTER)) : PERCH__UNKNOWN;
}

static enum perch__match read_is_short(const struct perch__operation_case *o)
{
	return YES_IF(o->has_attr && o->op->size < perch__read_bytes(o, NULL));
}

/* clang-format off */
#define FIELDS(...) { __VA_ARGS__ }
/* clang-format on */
#define FALLBACK RULE

/* One function for each condition. */
#define RULE(name, cause, errnum, fields, since, condition, message, remedy)         \
	static enum perch__match match_##name(const struct perch__operation_case *o) \
	{                                                                            \
		return condition;                                                    \
	}
#include "mmap.def"
#include "ioctl.def"
#include "read.def"
#undef RULE
#undef FALLBACK

/* clang-format off */
#define END { NULL, PERCH_CAUSE_NONE, 0, { NULL }, NULL, NULL, false, NULL, NULL }
#define RULE(name, cause, errnum, fields, since, condition, message, remedy)                      \
	{ #name, PERCH_CAUSE_##cause, errnum, fields, since, match_##name, false, message, \
	  remedy },
#define FALLBACK(name, cause, errnum, fields, since, condition, message, remedy)                 \
	{ #name, PERCH_CAUSE_##cause, errnum, fields, since, match_##name, true, message, \
	  remedy },
/* clang-format on */

const struct perch__operation_rule perch__mmap_rules[] = {
#include "mmap.def"
	END
};

const struct perch__operation_rule perch__ioctl_rules[] = {
#include "ioctl.def"
	END
};

const struct perch__operation_rule perch__read_rules[] = {
#include "read.def"
	END
};

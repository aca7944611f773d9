/* SPDX-License-Identifier: MIT */
/* Why a call on an event's descriptor was refused: the words of the rules' conditions, and the
 * tables they become. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>

#include "operations.h"

#ifndef MAP_SYNC
#define MAP_SYNC 0x80000
#endif

#define KIND(name)	(d->op->kind == PERCH_OPERATION_##name)
#define GOT(errnum_)	(d->op->errnum == (errnum_))
#define SURE(condition) ((condition) ? PERCH__YES : PERCH__NO)
/* Conditions of mmap, read, any ioctl and one ioctl: true or false; and as a fit, where more can be
 * missing. */
#define MAPPING(fit_)		       (KIND(MMAP) ? (fit_) : PERCH__NO)
#define MAPS(condition)		       MAPPING(SURE(condition))
#define UNMAPPING(fit_)		       (KIND(MUNMAP) ? (fit_) : PERCH__NO)
#define READING(fit_)		       (KIND(READ) ? (fit_) : PERCH__NO)
#define READS(condition)	       READING(SURE(condition))
#define CONTROLLING(fit_)	       (KIND(IOCTL) ? (fit_) : PERCH__NO)
#define CONTROLS(condition)	       CONTROLLING(SURE(condition))
#define REQUEST(name_)		       (d->op->request == PERCH_IOC_##name_)
#define ASKS(name_, condition)	       CONTROLS(REQUEST(name_) && (condition))
#define PERHAPS_ASKS(name_, condition) perch__both(ASKS(name_, condition), PERCH__MAYBE)

#define MAP_KIND		       (d->op->map_flags & (MAP_SHARED | MAP_PRIVATE | MAP_SHARED_VALIDATE))
#define RING			       (d->op->offset == 0)
#define AUX			       (d->op->offset != 0)
#define POWER_OF_2_OR_0(nr)	       (!((nr) & ((nr)-1)))
#define RING_PAGES		       (d->op->ring_size / d->page_bytes + !!(d->op->ring_size % d->page_bytes))
/* A pointer for each page, and a little more, in 2^10 pages at most: x86's number, others are built
 * with several. */
#define ABOVE_LARGEST_RING (d->pages > (UINT64_C(1) << 18) + 1)

#define COUNTS		   (d->has_attr && !d->c.attr.sample_period)
/* The kernel makes a period of the clocks' frequencies when they are opened. */
#define FREQUENT                                                      \
	(d->c.attr.freq && !(d->c.attr.type == PERCH_TYPE_SOFTWARE && \
			     d->c.attr.config <= PERCH_COUNT_SW_TASK_CLOCK))
#define FILTER		(d->op->filter)
#define TAKES_NO_FILTER (d->c.attr.type != PERCH_TYPE_TRACEPOINT && d->c.attr.type < PERCH_TYPE_MAX)
#define OUTPUT_BACK	((long)d->op->argument == -1L)
#define BOTH_KNOWN	(!OUTPUT_BACK && d->has_attr && d->has_other)
/* pid 0 is a thread with a number, which the other event may have been opened with. */
#define OTHER_TASK (d->c.pid != d->op->other->pid && d->c.pid && d->op->other->pid)
#define OTHER_CLOCK                                       \
	(d->c.attr.use_clockid != d->other.use_clockid || \
	 (d->c.attr.use_clockid && d->c.attr.clockid != d->other.clockid))

static enum perch__fit above_rate(const struct perch__doing *d)
{
	long limit;

	if (!d->op->period)
		return PERCH__NO;
	if (!d->c.machine ||
	    perch_machine_sysctl(d->c.machine, PERCH_SYSCTL_MAX_SAMPLE_RATE, &limit, NULL))
		return PERCH__MAYBE;
	return SURE(limit >= 0 && d->op->period > (uint64_t)limit);
}

static enum perch__fit request_too_new(const struct perch__doing *d)
{
	const char *since = perch__request_of(d->op->request)->since;

	return perch__both(perch__older_than(&d->c, since),
			   since[0] && d->c.machine ? PERCH__YES : PERCH__NO);
}

/* Of an address filter the kernel knows no parentheses: only a tracepoint's is parsed so. */
static enum perch__fit parses_as(const struct perch__doing *d, char fault)
{
	if (d->has_attr && TAKES_NO_FILTER)
		return PERCH__NO;
	return FILTER ? SURE(perch__filter_fault(FILTER) == fault) : PERCH__MAYBE;
}

static enum perch__fit names_file(const struct perch__doing *d)
{
	if (d->has_attr && d->c.attr.type < PERCH_TYPE_MAX)
		return PERCH__NO;
	return FILTER ? SURE(perch__filter_has_file(FILTER)) : PERCH__MAYBE;
}

static enum perch__fit read_is_short(const struct perch__doing *d)
{
	return SURE(d->has_attr && d->op->size < perch__read_bytes(d, NULL));
}

/* clang-format off */
#define FIELDS(...) { __VA_ARGS__ }
/* clang-format on */
#define LAST RULE

/* The functions: an X-macro's row makes one, whatever kind of row it is. */
#define RULE(name, cause, errnum, fields, since, condition, sentence, remedy) \
	static enum perch__fit fit_##name(const struct perch__doing *d)       \
	{                                                                     \
		return condition;                                             \
	}
#include "mmap.def"
#include "ioctl.def"
#include "read.def"
#undef RULE
#undef LAST

/* clang-format off */
#define END { NULL, PERCH_CAUSE_NONE, 0, { NULL }, NULL, NULL, false, NULL, NULL }
#define RULE(name, cause, errnum, fields, since, condition, sentence, remedy)                      \
	{ #name, PERCH_CAUSE_##cause, errnum, fields, since, fit_##name, false, sentence, remedy },
#define LAST(name, cause, errnum, fields, since, condition, sentence, remedy)                      \
	{ #name, PERCH_CAUSE_##cause, errnum, fields, since, fit_##name, true, sentence, remedy },
/* clang-format on */

const struct perch__operation_rule perch__map_rules[] = {
#include "mmap.def"
	END
};

const struct perch__operation_rule perch__control_rules[] = {
#include "ioctl.def"
	END
};

const struct perch__operation_rule perch__read_rules[] = {
#include "read.def"
	END
};

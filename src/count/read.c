/* SPDX-License-Identifier: MIT */
/* What read(2) gives for an event, and what it means. */
#include <errno.h>
#include <string.h>

#include "internal.h"

size_t perch__read_words(uint64_t read_format, size_t members)
{
	size_t each = 1 + !!(read_format & PERCH_FORMAT_ID) + !!(read_format & PERCH_FORMAT_LOST);
	size_t times = !!(read_format & PERCH_FORMAT_TOTAL_TIME_ENABLED) +
		       !!(read_format & PERCH_FORMAT_TOTAL_TIME_RUNNING);

	return read_format & PERCH_FORMAT_GROUP ? 1 + times + members * each : times + each;
}

static int read_error(ssize_t got, size_t wanted, const char *name, struct perch_error *err)
{
	if (got < 0) {
		int errnum = errno;

		return perch_error_set(err, errnum, PERCH_CAUSE_SYSTEM, "cannot read '%s': %s", name, strerror(errnum));
	}
	if (got == 0) {
		perch_error_set(err, ENODATA, PERCH_CAUSE_SCHEDULE, "'%s' is pinned and could not stay on its counter",
				name);
		perch_error_field(err, "pinned", NULL);
		perch_error_remedy(err, "measure fewer events at once, or do not pin it");
		return -ENODATA;
	}
	return perch_error_set(err, EIO, PERCH_CAUSE_SHORT_READ, "reading '%s' gave %zd bytes in place of %zu", name, got,
			       wanted);
}

int perch__read(const struct perch_calls *calls, int fd, uint64_t *words, size_t nr, const char *name,
		struct perch_error *err)
{
	ssize_t got = calls->read(calls->context, fd, words, nr * sizeof(*words));

	if (__builtin_expect(got != (ssize_t)(nr * sizeof(*words)), 0))
		return read_error(got, nr * sizeof(*words), name, err);
	return 0;
}

int perch__control(const struct perch_calls *calls, int fd, unsigned long request, unsigned long argument)
{
	return calls->control(calls->context, fd, request, argument) < 0 ? -errno : 0;
}

uint64_t perch_scale(uint64_t value, uint64_t enabled, uint64_t running)
{
#ifdef __SIZEOF_INT128__
	__extension__ typedef unsigned __int128 wide;
	wide scaled;

	if (!running)
		return 0;
	/* half of running to round; the sum stays below 2^128, for (2^64-1)^2 + 2^63 does */
	scaled = ((wide)value * enabled + running / 2) / running;
	return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
#else
	long double scaled;

	if (!running)
		return 0;
	scaled = (long double)value * enabled / running + 0.5L;
	return scaled >= 18446744073709551615.0L ? UINT64_MAX : (uint64_t)scaled;
#endif
}

void perch__judge(struct perch_count *count, uint64_t enabled, uint64_t running, const struct perch__base *base)
{
	count->enabled_ns = enabled - base->enabled_ns;
	count->running_ns = running - base->running_ns;
	if (count->running_ns >= count->enabled_ns) {
		count->state = count->enabled_ns ? PERCH_COUNT_FULL : PERCH_COUNT_IDLE;
		count->scaled = count->value;
	} else if (!count->running_ns) {
		count->state = PERCH_COUNT_NEVER;
		count->scaled = 0;
	} else {
		count->state = PERCH_COUNT_SCALED;
		count->scaled = perch_scale(count->value, count->enabled_ns, count->running_ns);
	}
}

void perch__take_counts(struct perch_count *count, const uint64_t *words, uint64_t read_format,
		   const struct perch__base *base)
{
	const uint64_t *more = words + 3;

	count->value = words[0];
	count->id = read_format & PERCH_FORMAT_ID ? *more++ : 0;
	count->lost = read_format & PERCH_FORMAT_LOST ? *more : 0;
	perch__judge(count, words[1], words[2], base);
}

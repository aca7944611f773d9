/* SPDX-License-Identifier: MIT */
/* What read(2) gives, taken apart and made sense of. */
#include <errno.h>
#include <string.h>

#include "internal.h"

size_t perch__read_size(uint64_t format, size_t nr)
{
	size_t each = 1 + !!(format & PERCH_FORMAT_ID) + !!(format & PERCH_FORMAT_LOST);
	size_t head = !!(format & PERCH_FORMAT_GROUP) + !!(format & PERCH_FORMAT_TOTAL_TIME_ENABLED) +
		      !!(format & PERCH_FORMAT_TOTAL_TIME_RUNNING);

	return (head + nr * each) * sizeof(uint64_t);
}

static int failed(int error, const char *name, struct perch_error *err)
{
	perch_error_set(err, error, PERCH_CAUSE_SYSTEM, "cannot read event '%s': %s", name, strerror(error));
	return -error;
}

static int wrong_size(ssize_t got, size_t size, const char *name, struct perch_error *err)
{
	if (got == 0) {
		perch_error_set(err, ENODATA, PERCH_CAUSE_SCHEDULE,
				"event '%s' is pinned and could not be kept on the PMU: it has no count any more", name);
		perch_error_remedy(err, "drop pinned, or measure fewer events at once; enabling it again starts it anew");
		return -ENODATA;
	}
	perch_error_set(err, EIO, PERCH_CAUSE_SHORT_READ, "reading event '%s' gave %zd bytes of %zu", name, got, size);
	return -EIO;
}

int perch__read_counts(const struct perch_calls *calls, int fd, const char *name, uint64_t format, uint64_t *words,
		       struct raw_count *counts, size_t nr, struct perch_error *err)
{
	size_t size = perch__read_size(format, nr);
	ssize_t got = calls->read(calls->context, fd, words, size);
	uint64_t enabled = 0, running = 0;
	bool group = format & PERCH_FORMAT_GROUP;

	if (got < 0)
		return failed(errno, name, err);
	if ((size_t)got != size)
		return wrong_size(got, size, name, err);
	if (group && *words++ != nr)
		return perch_error_set(err, EIO, PERCH_CAUSE_SHORT_READ,
				       "the group of '%s' has another number of members than were opened", name);
	/* a lone event has its value first, a group its times */
	for (size_t i = 0; i < nr; i++) {
		if (!group)
			counts[i].value = *words++;
		if (i == 0 && format & PERCH_FORMAT_TOTAL_TIME_ENABLED)
			enabled = *words++;
		if (i == 0 && format & PERCH_FORMAT_TOTAL_TIME_RUNNING)
			running = *words++;
		if (group)
			counts[i].value = *words++;
		counts[i].enabled = enabled;
		counts[i].running = running;
		counts[i].id = format & PERCH_FORMAT_ID ? *words++ : 0;
		counts[i].lost = format & PERCH_FORMAT_LOST ? *words++ : 0;
	}
	return 0;
}

uint64_t perch_scale(uint64_t value, uint64_t enabled, uint64_t running)
{
	unsigned __int128 scaled;

	if (!running)
		return 0;
	scaled = ((unsigned __int128)value * enabled + running / 2) / running;
	return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

void perch__make_count(struct perch_count *count, const struct raw_count *raw, const struct reset_times *reset)
{
	count->value = raw->value;
	count->id = raw->id;
	count->lost = raw->lost;
	count->enabled_ns = raw->enabled - reset->enabled;
	count->running_ns = raw->running - reset->running;
	count->scaled = raw->value;
	if (!count->enabled_ns) {
		/* nothing ran between reset and read, or it was never switched on */
		count->state = PERCH_COUNT_IDLE;
	} else if (!count->running_ns) {
		count->state = PERCH_COUNT_NEVER;
		count->scaled = 0;
	} else if (count->running_ns < count->enabled_ns) {
		count->state = PERCH_COUNT_SCALED;
		count->scaled = perch_scale(raw->value, count->enabled_ns, count->running_ns);
	} else {
		count->state = PERCH_COUNT_FULL;
	}
}

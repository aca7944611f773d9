/* SPDX-License-Identifier: MIT */
/* What read(2) gives for an event, and what it means. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* The kernel refuses members whose group could not be read into this. */
#define MOST_GROUP_BYTES 16384

size_t perch__read_words(uint64_t read_format, size_t members)
{
	size_t each = 1 + !!(read_format & PERCH_FORMAT_ID) + !!(read_format & PERCH_FORMAT_LOST);
	size_t times = !!(read_format & PERCH_FORMAT_TOTAL_TIME_ENABLED) +
		       !!(read_format & PERCH_FORMAT_TOTAL_TIME_RUNNING);

	return read_format & PERCH_FORMAT_GROUP ? 1 + times + members * each : times + each;
}

int perch__operation_error(const struct perch_operation *operation, const char *name,
			   struct perch_error *err)
{
	struct perch_explanation explanation;
	int errnum = operation->errnum ? operation->errnum : ENODATA;

	if (!err)
		return -errnum;
	perch_explain_operation(operation, NULL, &explanation);
	perch_explanation_error(&explanation, err);
	err->errnum = errnum; /* an end of file has none of its own */
	if (name)
		perch_error_prefix(err, "'%s': ", name);
	return -errnum;
}

int perch__control_error(int errnum, unsigned long request, const char *name,
			 struct perch_error *err)
{
	return perch__operation_error(&(struct perch_operation){ .kind = PERCH_OPERATION_IOCTL,
								 .errnum = errnum,
								 .request = request,
								 .other_fd = -1 },
				      name, err);
}

static int read_error(ssize_t got, size_t wanted, const char *name, struct perch_error *err)
{
	struct perch_operation operation = {
		.kind = PERCH_OPERATION_READ,
		.errnum = got < 0 ? errno : 0,
		.size = wanted,
		.other_fd = -1,
	};

	if (got <= 0)
		return perch__operation_error(&operation, name, err);
	return perch_error_set(err, EIO, PERCH_ERROR_SHORT_READ,
			       "reading '%s' gave %zd bytes in place of %zu", name, got, wanted);
}

/* Signals do not interrupt the kernel's own read of an event, but the table may be anybody's. */
static ssize_t read_whole(const struct perch_syscalls *calls, int fd, uint64_t *words, size_t nr)
{
	ssize_t got;

	do
		got = calls->read(calls->context, fd, words, nr * sizeof(*words));
	while (PERCH__UNLIKELY(got < 0) && errno == EINTR);
	return got;
}

int perch__read(const struct perch_syscalls *calls, int fd, uint64_t *words, size_t nr,
		const char *name, struct perch_error *err)
{
	ssize_t got = read_whole(calls, fd, words, nr);

	if (PERCH__UNLIKELY(got != (ssize_t)(nr * sizeof(*words))))
		return read_error(got, nr * sizeof(*words), name, err);
	return 0;
}

static int grow(struct perch__words *words, size_t nr, struct perch_error *err)
{
	uint64_t *more;

	if (nr <= words->capacity)
		return 0;
	more = realloc(words->word, nr * sizeof(*more));
	if (!more)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory to read a group of events");
	words->word = more;
	words->capacity = nr;
	return 0;
}

int perch__read_group(const struct perch_syscalls *calls, int fd, uint64_t read_format,
		      size_t members, struct perch__words *words, const char *name,
		      struct perch_error *err)
{
	size_t wanted = perch__read_words(read_format, members);
	ssize_t got;
	int rc = grow(words, wanted, err);

	if (rc)
		return rc;
	got = read_whole(calls, fd, words->word, words->capacity);
	if (PERCH__UNLIKELY(got < 0) && errno == ENOSPC) {
		rc = grow(words, MOST_GROUP_BYTES / sizeof(uint64_t), err);
		if (rc)
			return rc;
		got = read_whole(calls, fd, words->word, words->capacity);
	}
	if (PERCH__LIKELY(got == (ssize_t)(wanted * sizeof(uint64_t)) && words->word[0] == members))
		return members;
	if (got < (ssize_t)sizeof(uint64_t))
		return read_error(got, wanted * sizeof(uint64_t), name, err);
	if ((size_t)got > words->capacity * sizeof(uint64_t) || words->word[0] > words->capacity ||
	    got != (ssize_t)(perch__read_words(read_format, words->word[0]) * sizeof(uint64_t)))
		return read_error(got, wanted * sizeof(uint64_t), name, err);
	return words->word[0];
}

int perch__control(const struct perch_syscalls *calls, int fd, unsigned long request,
		   unsigned long argument)
{
	return calls->ioctl(calls->context, fd, request, argument) < 0 ? -errno : 0;
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

int perch__evaluate_scaled(struct perch_count *count, uint64_t enabled, uint64_t running)
{
	count->enabled_ns = enabled;
	count->running_ns = running;
	count->scaled = perch_scale(count->value, enabled, running);
	count->state = running ? PERCH_COUNT_STATE_SCALED : PERCH_COUNT_STATE_NEVER_RAN;
	return 0;
}

int perch__evaluate_signed(struct perch_count *count, uint64_t enabled, uint64_t running)
{
	static const struct perch__base none;

	return perch__evaluate(count, (int64_t)enabled < 0 ? 0 : enabled,
			       (int64_t)running < 0 ? 0 : running, &none);
}

int perch__read_orphan(const struct perch_syscalls *calls, int fd, uint64_t read_format,
		       struct perch__words *words, const char *name, const struct perch__base *base,
		       struct perch_count *count, struct perch_error *err)
{
	uint64_t id = 0;
	int nr = perch__read_group(calls, fd, read_format, 1, words, name, err);
	const uint64_t *next;

	if (nr < 0)
		return nr;
	next = words->word + PERCH__FIRST_MEMBER;
	if (nr > 1 && read_format & PERCH_FORMAT_ID &&
	    perch__control(calls, fd, PERCH_IOC_ID, (unsigned long)&id))
		nr = 0;
	for (int i = 0; i < nr; i++) {
		next = perch__parse_count(count, next, words->word + PERCH__GROUP_TIMES,
					  read_format, base);
		if (nr == 1 || (id && count->id == id))
			return 0;
	}
	return perch_error_set(
		err, EIO, PERCH_ERROR_SHORT_READ,
		"the group of '%s' has lost members, and none of the %d it gives is that one", name,
		nr);
}

/* SPDX-License-Identifier: MIT */
/* read(2) and ioctl(2) of events, and their errors. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/no_memory.h"
#include "internal.h"

/* The kernel refuses members that would make the read of the group larger. */
#define MAX_GROUP_BYTES 16384

int perch__operation_error(const struct perch_operation *operation, const char *name,
			   struct perch_error *err)
{
	struct perch_explanation explanation;
	int errnum = operation->errnum ? operation->errnum : ENODATA;

	if (!err)
		return -errnum;
	perch_explain_operation(operation, NULL, &explanation);
	perch_explanation_error(&explanation, err);
	err->errnum = errnum; /* an end of file has no errno */
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
			       "reading '%s' returned %zd bytes instead of %zu", name, got, wanted);
}

/* The kernel does not return EINTR for events, but the functions of the caller may. */
static ssize_t read_again(const struct perch_syscalls *calls, int fd, uint64_t *words, size_t nr,
			  ssize_t got)
{
	while (got < 0 && errno == EINTR)
		got = calls->read(calls->context, fd, words, nr * sizeof(*words));
	return got;
}

int perch__read_rest(const struct perch_syscalls *calls, int fd, uint64_t *words, size_t nr,
		     ssize_t got, const char *name, struct perch_error *err)
{
	got = read_again(calls, fd, words, nr, got);
	return got == (ssize_t)(nr * sizeof(*words))
		       ? 0
		       : read_error(got, nr * sizeof(*words), name, err);
}

int perch__read_buffer_grow(struct perch__read_buffer *buffer, size_t nr, struct perch_error *err)
{
	if (PERCH__ARRAY_RESERVE_MAX(buffer->word, buffer->capacity, nr, nr))
		return PERCH__NO_MEMORY(err, "to read a group of events");
	return 0;
}

int perch__read_group_rest(const struct perch_syscalls *calls, int fd, uint64_t read_format,
			   size_t members, struct perch__read_buffer *buffer, ssize_t got,
			   const char *name, struct perch_error *err)
{
	size_t wanted = perch__read_words(read_format, members) * sizeof(uint64_t);

	got = read_again(calls, fd, buffer->word, buffer->capacity, got);
	if (got < 0 && errno == ENOSPC) {
		int rc = perch__read_buffer_grow(buffer, MAX_GROUP_BYTES / sizeof(uint64_t), err);

		if (rc)
			return rc;
		got = calls->read(calls->context, fd, buffer->word,
				  buffer->capacity * sizeof(uint64_t));
		got = read_again(calls, fd, buffer->word, buffer->capacity, got);
	}
	if (got < (ssize_t)sizeof(uint64_t))
		return read_error(got, wanted, name, err);
	if ((size_t)got > buffer->capacity * sizeof(uint64_t) ||
	    buffer->word[0] > buffer->capacity ||
	    got != (ssize_t)(perch__read_words(read_format, buffer->word[0]) * sizeof(uint64_t)))
		return read_error(got, wanted, name, err);
	return buffer->word[0];
}

int perch__control(const struct perch_syscalls *calls, int fd, unsigned long request,
		   unsigned long argument)
{
	return calls->ioctl(calls->context, fd, request, argument) < 0 ? -errno : 0;
}

int perch__read_orphan(const struct perch_syscalls *calls, int fd, uint64_t read_format,
		       struct perch__read_buffer *buffer, const char *name,
		       const struct perch__base *base, struct perch_count *count,
		       struct perch_error *err)
{
	uint64_t id = 0;
	int nr = perch__read_group(calls, fd, read_format, 1, buffer, name, err);
	const uint64_t *next;

	if (nr < 0)
		return nr;
	next = buffer->word + PERCH__FIRST_MEMBER;
	if (nr > 1 && read_format & PERCH_FORMAT_ID &&
	    perch__control(calls, fd, PERCH_IOC_ID, (unsigned long)&id))
		nr = 0;
	for (int i = 0; i < nr; i++) {
		next = perch__parse_count(count, next, buffer->word + PERCH__GROUP_TIMES,
					  read_format, base);
		if (nr == 1 || (id && count->id == id))
			return 0;
	}
	return perch_error_set(
		err, EIO, PERCH_ERROR_SHORT_READ,
		"the group of '%s' has lost members, and the event is not among the %d left", name,
		nr);
}

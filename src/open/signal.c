/* SPDX-License-Identifier: MIT */
/* Signals of events: SIGIO and others for samples, and the fields of SIGTRAP. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define TRAP_PERF_CODE                                                            \
	6 /* si_code of SIGTRAP by an event; older headers of libc do not have it \
	   */

static int signal_error(int fd, const char *what, struct perch_error *err)
{
	int errnum = errno;

	return perch_error_set(err, errnum, PERCH_ERROR_SYSTEM,
			       "the signal of descriptor %d cannot be set: fcntl(2) %s: %s", fd,
			       what, strerror(errnum));
}

static int check_signal(int signal, pid_t tid, struct perch_error *err)
{
	if (signal < 0 || signal > SIGRTMAX)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "a signal must be 0..%d (currently %d)", SIGRTMAX, signal);
	if (tid < 0)
		return perch_error_set(err, EINVAL, PERCH_ERROR_BAD_TARGET, "%d is not a thread",
				       (int)tid);
	return 0;
}

int perch_event_set_signal(int fd, int signal, pid_t tid, struct perch_error *err)
{
	struct f_owner_ex owner = { F_OWNER_TID, tid ? tid : gettid() };
	int rc = check_signal(signal, tid, err), flags;

	if (rc < 0)
		return rc;
	flags = fcntl(fd, F_GETFL);
	if (flags < 0)
		return signal_error(fd, "F_GETFL", err);
	if (signal && fcntl(fd, F_SETOWN_EX, &owner) < 0)
		return signal_error(fd, "F_SETOWN_EX", err);
	if (signal && fcntl(fd, F_SETSIG, signal) < 0)
		return signal_error(fd, "F_SETSIG", err);
	if (fcntl(fd, F_SETFL, signal ? flags | O_ASYNC : flags & ~O_ASYNC) < 0)
		return signal_error(fd, "F_SETFL", err);
	return 0;
}

/*
 * Headers of libc before glibc 2.36 and musl have no si_perf_data. The kernel puts these fields
 * behind the address, in a union that is aligned as a pointer.
 */
struct perf_fields {
	unsigned long data;
	uint32_t type, flags;
};

bool perch_siginfo_get_sigtrap(const void *siginfo, struct perch_sigtrap *sigtrap)
{
	const siginfo_t *info = siginfo;
	struct perf_fields fields;

	if (info->si_signo != SIGTRAP || info->si_code != TRAP_PERF_CODE)
		return false;
	memcpy(&fields, (const char *)info + offsetof(siginfo_t, si_addr) + sizeof(void *),
	       sizeof(fields));
	*sigtrap = (struct perch_sigtrap){ .address = info->si_addr,
					   .data = fields.data,
					   .type = fields.type,
					   .flags = fields.flags };
	return true;
}

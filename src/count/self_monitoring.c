/* SPDX-License-Identifier: MIT */
/* Reading without a system call: the page, and why not. The reading itself is in self_monitoring.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "self_monitoring.h"

const struct perch__user perch__no_user;

enum perch__user_how perch__user_may(const struct perch_attr *attr,
				     const struct perch_target *target)
{
	if (!PERCH__USER_ARCH)
		return PERCH__USER_NO_ARCH;
	if (target && (target->pid || target->cgroup_fd > 0))
		return PERCH__USER_NOT_SELF;
	if (attr->type == PERCH_TYPE_SOFTWARE || attr->type == PERCH_TYPE_TRACEPOINT ||
	    attr->type == PERCH_TYPE_BREAKPOINT)
		return PERCH__USER_NO_HARDWARE;
	if (attr->read_format & PERCH_FORMAT_LOST)
		return PERCH__USER_WANTS_LOST;
	return PERCH__USER_READ;
}

enum perch__user_how perch__user_map(const struct perch__user **user, int fd,
				     const struct perch_syscalls *calls, int *errnum)
{
	size_t size = sysconf(_SC_PAGESIZE);
	struct perch__user *made;
	void *page;

	*user = &perch__no_user;
	page = calls->mmap(calls->context, size, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		*errnum = errno;
		return PERCH__USER_NO_PAGE;
	}
	made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED || madvise(made, size, MADV_WIPEONFORK)) {
		*errnum = errno;
		if (made != MAP_FAILED)
			munmap(made, size);
		calls->munmap(calls->context, page, size);
		return PERCH__USER_NO_PAGE;
	}
	*made = (struct perch__user){ .thread = perch__this_thread(), .page = page };
	*user = made;
	return PERCH__USER_NOT_YET;
}

void perch__user_unmap(const struct perch__user *user, const struct perch_syscalls *calls)
{
	size_t size = sysconf(_SC_PAGESIZE);

	if (user == &perch__no_user)
		return;
	if (user->page) /* not in a child, which has not inherited it */
		calls->munmap(calls->context, (void *)user->page, size);
	munmap((void *)user, size);
}

#if defined(__aarch64__)
#define ALLOW "as root: sysctl kernel.perf_user_access=1 (Linux 5.17)"
#else
#define ALLOW "as root: echo 1 >/sys/bus/event_source/devices/cpu/rdpmc"
#endif

static const struct {
	int errnum;
	enum perch_error_kind kind;
	const char *sentence, *remedy;
} reasons[PERCH__USER_MAX] = {
	[PERCH__USER_NOT_ASKED] = { EINVAL, PERCH_ERROR_USAGE, "user_read was not asked for",
				    "set user_read in the options" },
	[PERCH__USER_NOT_YET] = { EAGAIN, PERCH_ERROR_USAGE, "nothing was read yet", "" },
	[PERCH__USER_NO_ARCH] = { EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				  "on this architecture counters are read by system calls alone",
				  "" },
	[PERCH__USER_NOT_SELF] = { EINVAL, PERCH_ERROR_BAD_TARGET,
				   "only an event of the calling thread can be read without a system call",
				   "open it with PERCH_SELF, in the thread that reads it" },
	[PERCH__USER_NO_HARDWARE] = { EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				      "the kernel counts this event itself, and no hardware does",
				      "" },
	[PERCH__USER_NO_CORE] = { EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				  "only hardware counters of the CPU's cores can be read in user space, and the event is another "
				  "PMU's",
				  "" },
	[PERCH__USER_WANTS_LOST] = { EINVAL, PERCH_ERROR_CONFLICT,
				     "user_read cannot give PERCH_FORMAT_LOST, which read_format asks for",
				     "leave out one of the two" },
	[PERCH__USER_REFUSED] = { EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				  "the PMU counts this event, but not so that user space could read it",
				  "" },
	[PERCH__USER_NO_PAGE] = { ENOMEM, PERCH_ERROR_SYSTEM, "the event's page cannot be mapped",
				  "inherited events have no page: leave out inherit" },
	[PERCH__USER_OTHER_THREAD] = { EINVAL, PERCH_ERROR_BAD_TARGET,
				       "another thread or process reads it than the one that opened it",
				       "" },
	[PERCH__USER_OFF_PMU] = { EAGAIN, PERCH_ERROR_SCHEDULE,
				  "the event was not on the PMU, or user space may not read it there",
				  "enable it, count fewer events at once, or " ALLOW },
	[PERCH__USER_FORBIDDEN] = { EACCES, PERCH_ERROR_PRIVILEGE,
				    "the kernel does not let user space read this event's counter",
				    ALLOW },
	[PERCH__USER_NO_CLOCK] = { EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				   "the CPU's clock is not one that user space can tell the event's times by",
				   "" },
	[PERCH__USER_NO_REGISTER] = { EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				      "the event is on a counter that has no register for user space",
				      "" },
	[PERCH__USER_BUSY] = { EAGAIN, PERCH_ERROR_SCHEDULE,
			       "the kernel changed the event's page at each try", "" },
};

static bool is_other_pmu(uint32_t type, struct perch_machine *machine)
{
	const struct perch_pmu *pmu = perch_machine_pmu_of_type(machine, type);

	return pmu && !pmu->core;
}

/* No sysctl helps an event that has no register: only asked for when told, for it reads the
 * machine's files. */
enum perch__user_how perch__user_cause(enum perch__user_how how, uint32_t type,
				       struct perch_machine *machine)
{
	struct perch_machine *own = NULL;

	if (type < PERCH_TYPE_MAX || (how != PERCH__USER_REFUSED && how != PERCH__USER_OFF_PMU &&
				      how != PERCH__USER_FORBIDDEN && how != PERCH__USER_NO_CLOCK &&
				      how != PERCH__USER_NO_REGISTER))
		return how;
	if (!machine && perch_machine_new(&own, NULL, NULL, NULL))
		return how;
	if (is_other_pmu(type, machine ? machine : own))
		how = PERCH__USER_NO_CORE;
	perch_machine_free(own);
	return how;
}

/* Only the page has an errno: that of mmap(2). */
static void tell_no_page(int errnum, const char *name, struct perch_error *err)
{
	perch__tell_refusal(&(struct perch_operation){ .kind = PERCH_OPERATION_MMAP,
						       .errnum = errnum,
						       .length = sysconf(_SC_PAGESIZE),
						       .protection = PROT_READ,
						       .map_flags = MAP_SHARED,
						       .other_fd = -1 },
			    NULL, err);
	perch_error_prefix(err, "'%s' was not read in user space: ", name);
}

bool perch__user_tell(enum perch__user_how how, int errnum, const char *name,
		      struct perch_error *err)
{
	if (how == PERCH__USER_READ)
		return true;
	if (errnum && err) {
		tell_no_page(errnum, name, err);
		return false;
	}
	perch_error_set(err, errnum ? errnum : reasons[how].errnum, reasons[how].kind,
			"'%s' was not read in user space: %s", name, reasons[how].sentence);
	if (*reasons[how].remedy)
		perch_error_remedy(err, "%s", reasons[how].remedy);
	return false;
}

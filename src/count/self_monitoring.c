/* SPDX-License-Identifier: MIT */
/* Maps the page for self-monitoring reads and explains why a read was a system call.
 * self_monitoring.h has the read itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "self_monitoring.h"

const struct perch__rdpmc perch__no_rdpmc;

enum perch__rdpmc_state perch__rdpmc_check(const struct perch_attr *attr,
					   const struct perch_target *target)
{
	if (!PERCH__RDPMC_ARCH)
		return PERCH__RDPMC_NO_ARCH;
	if (target && (target->use_cgroup || (target->tid && target->tid != syscall(SYS_gettid))))
		return PERCH__RDPMC_NOT_SELF;
	if (attr->type == PERCH_TYPE_SOFTWARE || attr->type == PERCH_TYPE_TRACEPOINT ||
	    attr->type == PERCH_TYPE_BREAKPOINT)
		return PERCH__RDPMC_NO_HARDWARE;
	if (attr->read_format & PERCH_FORMAT_LOST)
		return PERCH__RDPMC_LOST_REQUESTED;
	return PERCH__RDPMC_USED;
}

enum perch__rdpmc_state perch__rdpmc_map(const struct perch__rdpmc **rdpmc, int fd,
					 const struct perch_syscalls *calls, int *errnum)
{
	size_t size = sysconf(_SC_PAGESIZE);
	struct perch__rdpmc *new_rdpmc;
	void *page;

	*rdpmc = &perch__no_rdpmc;
	page = calls->mmap(calls->context, size, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		*errnum = errno;
		return PERCH__RDPMC_NO_PAGE;
	}
	new_rdpmc = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (new_rdpmc == MAP_FAILED || madvise(new_rdpmc, size, MADV_WIPEONFORK)) {
		*errnum = errno;
		if (new_rdpmc != MAP_FAILED)
			munmap(new_rdpmc, size);
		calls->munmap(calls->context, page, size);
		return PERCH__RDPMC_NO_PAGE;
	}
	*new_rdpmc = (struct perch__rdpmc){ .thread = perch__this_thread(), .page = page };
	*rdpmc = new_rdpmc;
	return PERCH__RDPMC_NOT_READ_YET;
}

void perch__rdpmc_unmap(const struct perch__rdpmc *rdpmc, const struct perch_syscalls *calls)
{
	size_t size = sysconf(_SC_PAGESIZE);

	if (rdpmc == &perch__no_rdpmc)
		return;
	if (rdpmc->page) /* not in a child, which has not inherited it */
		calls->munmap(calls->context, (void *)rdpmc->page, size);
	munmap((void *)rdpmc, size);
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
} reasons[PERCH__RDPMC_MAX] = {
	[PERCH__RDPMC_NOT_REQUESTED] = { EINVAL, PERCH_ERROR_USAGE,
					 "self_monitoring was not requested",
					 "set self_monitoring in the options" },
	[PERCH__RDPMC_NOT_READ_YET] = { EAGAIN, PERCH_ERROR_USAGE, "the counter was not read yet",
					"" },
	[PERCH__RDPMC_NO_ARCH] = { EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				   "on this architecture counters can only be read by system calls",
				   "" },
	[PERCH__RDPMC_NOT_SELF] = { EINVAL, PERCH_ERROR_BAD_TARGET,
				    "only events of the calling thread can be read without a system call",
				    "open it with perch_self, in the thread that reads it" },
	[PERCH__RDPMC_NO_HARDWARE] = { EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				       "the kernel counts this event, not a hardware counter", "" },
	[PERCH__RDPMC_NO_CORE] = { EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				   "only hardware counters of the CPU's cores can be read in user space, and another PMU counts this "
				   "event",
				   "" },
	[PERCH__RDPMC_LOST_REQUESTED] = { EINVAL, PERCH_ERROR_CONFLICT,
					  "self_monitoring cannot read PERCH_FORMAT_LOST",
					  "request only one of them" },
	[PERCH__RDPMC_REFUSED] = { EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				   "the PMU cannot count this event on a counter that user space may read",
				   "" },
	[PERCH__RDPMC_NO_PAGE] = { ENOMEM, PERCH_ERROR_SYSTEM, "the event's page cannot be mapped",
				   "inherited events have no page: do not set inherit" },
	[PERCH__RDPMC_OTHER_THREAD] = { EINVAL, PERCH_ERROR_BAD_TARGET,
					"another thread than the one that opened it reads it", "" },
	[PERCH__RDPMC_OFF_PMU] = { EAGAIN, PERCH_ERROR_SCHEDULE,
				   "the event was not on the PMU, or user space may not read the counter",
				   "enable it, count fewer events at the same time, or " ALLOW },
	[PERCH__RDPMC_FORBIDDEN] = { EACCES, PERCH_ERROR_PRIVILEGE,
				     "the kernel does not allow user space to read the counter of this event",
				     ALLOW },
	[PERCH__RDPMC_NO_CLOCK] = { EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				    "user space cannot compute the times of the event from the clock of the CPU",
				    "" },
	[PERCH__RDPMC_NO_REGISTER] = { EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				       "the counter of the event has no register that user space can read",
				       "" },
	[PERCH__RDPMC_BUSY] = { EAGAIN, PERCH_ERROR_SCHEDULE,
				"the kernel changed the page of the event during each attempt",
				"" },
};

static bool is_other_pmu(uint32_t type, struct perch_machine *machine)
{
	const struct perch_pmu *pmu = perch_machine_pmu_of_type(machine, type);

	return pmu && !pmu->core;
}

/* No sysctl allows reads of other PMUs than the core's. This check is made for the report only,
 * because it reads files of the machine. */
enum perch__rdpmc_state perch__rdpmc_cause(enum perch__rdpmc_state state, uint32_t type,
					   struct perch_machine *machine)
{
	struct perch_machine *own = NULL;

	if (type < PERCH_TYPE_MAX ||
	    (state != PERCH__RDPMC_REFUSED && state != PERCH__RDPMC_OFF_PMU &&
	     state != PERCH__RDPMC_FORBIDDEN && state != PERCH__RDPMC_NO_CLOCK &&
	     state != PERCH__RDPMC_NO_REGISTER))
		return state;
	if (!machine && perch_machine_new(&own, NULL, NULL, NULL))
		return state;
	if (is_other_pmu(type, machine ? machine : own))
		state = PERCH__RDPMC_NO_CORE;
	perch_machine_free(own);
	return state;
}

/* errnum is the errno of the mmap(2) of the page. */
static void report_map_error(int errnum, const char *name, struct perch_error *err)
{
	perch__operation_error(&(struct perch_operation){ .kind = PERCH_OPERATION_MMAP,
							  .errnum = errnum,
							  .length = sysconf(_SC_PAGESIZE),
							  .protection = PROT_READ,
							  .map_flags = MAP_SHARED,
							  .other_fd = -1 },
			       NULL, err);
	perch_error_prefix(err, "'%s' was not read in user space: ", name);
}

bool perch__rdpmc_report(enum perch__rdpmc_state state, int errnum, const char *name,
			 struct perch_error *err)
{
	if (state == PERCH__RDPMC_USED)
		return true;
	if (errnum && err) {
		report_map_error(errnum, name, err);
		return false;
	}
	perch_error_set(err, errnum ? errnum : reasons[state].errnum, reasons[state].kind,
			"'%s' was not read in user space: %s", name, reasons[state].sentence);
	if (*reasons[state].remedy)
		perch_error_remedy(err, "%s", reasons[state].remedy);
	return false;
}

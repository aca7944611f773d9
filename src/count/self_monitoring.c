/* SPDX-License-Identifier: MIT */
/* Reading without a system call: the page, and why not. The reading itself is in self_monitoring.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "self_monitoring.h"

const struct perch__rdpmc perch__no_rdpmc;

enum perch__rdpmc_state perch__rdpmc_check(const struct perch_attr *attr,
					   const struct perch_target *target)
{
	if (!PERCH__RDPMC_ARCH)
		return PERCH__RDPMC_NO_ARCH;
	if (target && (target->pid || target->cgroup_fd > 0))
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
	struct perch__rdpmc *made;
	void *page;

	*rdpmc = &perch__no_rdpmc;
	page = calls->mmap(calls->context, size, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		*errnum = errno;
		return PERCH__RDPMC_NO_PAGE;
	}
	made = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED || madvise(made, size, MADV_WIPEONFORK)) {
		*errnum = errno;
		if (made != MAP_FAILED)
			munmap(made, size);
		calls->munmap(calls->context, page, size);
		return PERCH__RDPMC_NO_PAGE;
	}
	*made = (struct perch__rdpmc){ .thread = perch__this_thread(), .page = page };
	*rdpmc = made;
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
	[PERCH__RDPMC_NOT_REQUESTED] = { EINVAL, PERCH_ERROR_USAGE, "user_read was not asked for",
					 "set user_read in the options" },
	[PERCH__RDPMC_NOT_READ_YET] = { EAGAIN, PERCH_ERROR_USAGE, "nothing was read yet", "" },
	[PERCH__RDPMC_NO_ARCH] = { EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				   "on this architecture counters are read by system calls alone",
				   "" },
	[PERCH__RDPMC_NOT_SELF] = { EINVAL, PERCH_ERROR_BAD_TARGET,
				    "only an event of the calling thread can be read without a system call",
				    "open it with PERCH_SELF, in the thread that reads it" },
	[PERCH__RDPMC_NO_HARDWARE] = { EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				       "the kernel counts this event itself, and no hardware does",
				       "" },
	[PERCH__RDPMC_NO_CORE] = { EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				   "only hardware counters of the CPU's cores can be read in user space, and the event is another "
				   "PMU's",
				   "" },
	[PERCH__RDPMC_LOST_REQUESTED] = { EINVAL, PERCH_ERROR_CONFLICT,
					  "user_read cannot give PERCH_FORMAT_LOST, which read_format asks for",
					  "leave out one of the two" },
	[PERCH__RDPMC_REFUSED] = { EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				   "the PMU counts this event, but not so that user space could read it",
				   "" },
	[PERCH__RDPMC_NO_PAGE] = { ENOMEM, PERCH_ERROR_SYSTEM, "the event's page cannot be mapped",
				   "inherited events have no page: leave out inherit" },
	[PERCH__RDPMC_OTHER_THREAD] = { EINVAL, PERCH_ERROR_BAD_TARGET,
					"another thread or process reads it than the one that opened it",
					"" },
	[PERCH__RDPMC_OFF_PMU] = { EAGAIN, PERCH_ERROR_SCHEDULE,
				   "the event was not on the PMU, or user space may not read it there",
				   "enable it, count fewer events at once, or " ALLOW },
	[PERCH__RDPMC_FORBIDDEN] = { EACCES, PERCH_ERROR_PRIVILEGE,
				     "the kernel does not let user space read this event's counter",
				     ALLOW },
	[PERCH__RDPMC_NO_CLOCK] = { EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				    "the CPU's clock is not one that user space can tell the event's times by",
				    "" },
	[PERCH__RDPMC_NO_REGISTER] = { EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
				       "the event is on a counter that has no register for user space",
				       "" },
	[PERCH__RDPMC_BUSY] = { EAGAIN, PERCH_ERROR_SCHEDULE,
				"the kernel changed the event's page at each try", "" },
};

static bool is_other_pmu(uint32_t type, struct perch_machine *machine)
{
	const struct perch_pmu *pmu = perch_machine_pmu_of_type(machine, type);

	return pmu && !pmu->core;
}

/* No sysctl helps an event that has no register: only asked for when told, for it reads the
 * machine's files. */
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

/* Only the page has an errno: that of mmap(2). */
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

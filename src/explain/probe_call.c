/* SPDX-License-Identifier: MIT */
/*
 * Makes open calls similar to the failed one. Each is harmless and is closed at once: the event is
 * disabled, and no open call patches code, uses a trace unit or holds a debug register that another
 * process needs.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"

uint64_t perch__now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

/* Events of these PMUs patch running code, or use a trace unit that only one user can have. */
static bool has_side_effects(const char *pmu)
{
	static const char *const prefixes[] = { "kprobe",   "uprobe",	"intel_pt", "intel_bts",
						"arm_spe",  "arm_trbe", "cs_etm",   "coresight",
						"hisi_ptt", "vpa_pmu" };

	for (size_t i = 0; i < PERCH__NR(prefixes); i++)
		if (!strncmp(pmu, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Sampling every branch uses the branch trace store on x86. */
static bool traces_branches(const struct perch_attr *attr)
{
	if (attr->sample_period != 1 || attr->freq)
		return false;
	if (attr->type == PERCH_TYPE_HARDWARE)
		return (uint32_t)attr->config == PERCH_COUNT_HW_BRANCH_INSTRUCTIONS;
	return (attr->type == PERCH_TYPE_RAW || attr->type >= PERCH_TYPE_MAX) &&
	       (attr->config & 0xff) == 0xc4;
}

/*
 * Events that patch code, or take long to close, are not created. Tracepoints are among them:
 * closing the last event of one waits for all CPUs, and some tracepoints register a probe.
 */
bool perch__needs_substitute(const struct perch__case *c)
{
	const struct perch_pmu *pmus, *pmu;
	size_t nr = 0;

	if (c->attr.type < PERCH_TYPE_MAX)
		return c->attr.type == PERCH_TYPE_TRACEPOINT || traces_branches(&c->attr);
	pmu = perch_machine_pmu_of_type(c->machine, c->attr.type);
	if (pmu)
		return has_side_effects(pmu->name) || traces_branches(&c->attr);
	/* the kernel refuses a type without a PMU, so no event is created */
	return perch_machine_pmus(c->machine, &pmus, &nr, NULL) || !nr;
}

void perch__substitute(struct perch__case *c)
{
	struct perch_attr *attr = &c->attr;

	attr->type = PERCH_TYPE_SOFTWARE;
	attr->config = PERCH_COUNT_SW_DUMMY;
	attr->config1 = attr->config2 = attr->config3 = attr->config4 = 0;
	attr->bp_type = 0;
}

/*
 * A size out of range is the cause of the refusal and is not changed. Otherwise the size is that of
 * the failed open call, because the memory of another process may have no more bytes. It is larger
 * only if a fix has set a later field.
 */
static uint32_t size_to_pass(const struct perch__case *c)
{
	const unsigned char *bytes = (const unsigned char *)&c->attr;
	uint32_t size = c->size ? c->size : PERCH_ATTR_SIZE_VER0;

	if (size < PERCH_ATTR_SIZE_VER0 || size > (uint32_t)sysconf(_SC_PAGESIZE))
		return c->size;
	if (size > sizeof(c->attr))
		return sizeof(c->attr);
	for (size_t i = size; i < sizeof(c->attr); i++)
		if (bytes[i])
			return sizeof(c->attr);
	return size;
}

static bool supports_cloexec(const struct perch__case *c)
{
	unsigned running = perch__running_rank(c);

	return !running || running >= perch_release_rank("3.14");
}

static bool has_budget(struct perch__prober *prober)
{
	if (prober->made < prober->limit && perch__now() < prober->deadline)
		return true;
	prober->out_of_budget = true;
	return false;
}

static int open_and_close(struct perch__prober *prober, const struct perch_attr *attr,
			  const struct perch__case *c, unsigned long flags)
{
	const struct perch_syscalls *syscalls = prober->syscalls;
	int fd;

	if (!has_budget(prober))
		return PERCH__NOT_TRIED;
	prober->made++;
	fd = syscalls->perf_event_open(syscalls->context, attr, c->pid, c->cpu, c->group_fd, flags);
	if (fd < 0)
		return errno;
	syscalls->close(syscalls->context, fd);
	return 0;
}

/* Only the target thread of the failed open call may be opened, not the thread of a leader. */
static bool targets_unrelated_thread(const struct perch__case *c)
{
	return c->pid > 0 && !(c->flags & PERCH_FLAG_PID_CGROUP) &&
	       (c->pid != c->call->pid || c->call->flags & PERCH_FLAG_PID_CGROUP);
}

int perch__try(struct perch__prober *prober, const struct perch__case *c)
{
	struct perch__case harmless = *c;
	int rc;

	if (targets_unrelated_thread(c))
		return PERCH__NOT_TRIED;
	if (perch__needs_substitute(c)) {
		perch__substitute(&harmless);
		harmless.attr.enable_on_exec = harmless.attr.sigtrap = harmless.attr.sig_data = 0;
	}
	harmless.attr.disabled = 1;
	harmless.attr.size = size_to_pass(c);
	if (supports_cloexec(c))
		harmless.flags |= PERCH_FLAG_FD_CLOEXEC;
	rc = open_and_close(prober, &harmless.attr, &harmless, harmless.flags);
	/* the caller's system call table could not make the open call */
	return rc == ENOSYS && c->errnum != ENOSYS ? PERCH__NOT_TRIED : rc;
}

int perch__try_without_attr(struct perch__prober *prober)
{
	const struct perch__case c = { .cpu = -1, .group_fd = -1 };

	return open_and_close(prober, NULL, &c, 0);
}

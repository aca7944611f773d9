/* SPDX-License-Identifier: MIT */
/*
 * Makes open calls similar to the failed one. Each is harmless and is closed at once: the event is
 * disabled and cannot start, and no open call patches code, uses a trace unit or holds a debug
 * register that another process needs.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "explain/engine.h"

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

/*
 * Settings with effects beside the event. An event of a probe never has them: it would start or be
 * removed with the program, send signals, measure new children, or make the kernel wait for all
 * CPUs when the first event with the setting is opened.
 */
#define EFFECTS(setting)                                                                   \
	setting(enable_on_exec) setting(sigtrap) setting(sig_data) setting(context_switch) \
		setting(cgroup)
/* In a group, members need the leader's inherit; copies of a disabled event do not count. */
#define EFFECTS_WITHOUT_GROUP(setting) \
	setting(inherit) setting(inherit_thread) setting(inherit_stat)

void perch__drop_effects(struct perch__case *c)
{
#define DROP(name) c->attr.name = 0;
	EFFECTS(DROP)
	if (c->group_fd < 0) {
		EFFECTS_WITHOUT_GROUP(DROP)
	}
#undef DROP
}

/*
 * The settings are checked before the event is created, except for the permission to send signals
 * to another process.
 */
static bool is_checked_late(const struct perch__case *c)
{
	return c->attr.sigtrap && c->pid > 0 && c->errnum == EACCES;
}

#define NO_SUCH_TYPE	   0x7fffffff /* no PMU gets this number, so no event is created (ENOENT) */
#define NO_SUCH_DESCRIPTOR (-2)

static int open_and_close(struct perch__prober *prober, struct perch_attr *attr,
			  const struct perch__case *c, unsigned long flags)
{
	const struct perch_syscalls *syscalls = prober->syscalls;
	uint32_t size = attr ? attr->size : 0;
	int fd;

	if (!has_budget(prober))
		return PERCH__NOT_TRIED;
	prober->made++;
	fd = syscalls->perf_event_open(syscalls->context, attr, c->pid, c->cpu, c->group_fd, flags);
	if (fd < 0) {
		if (errno == E2BIG && attr && attr->size != size)
			prober->kernel_size = attr->size;
		return errno;
	}
	syscalls->close(syscalls->context, fd);
	return 0;
}

/* Only the target thread of the failed open call may be opened, not the thread of a leader. */
static bool targets_unrelated_thread(const struct perch__case *c)
{
	return c->pid > 0 && !(c->flags & PERCH_FLAG_PID_CGROUP) &&
	       (c->pid != c->call->pid || c->call->flags & PERCH_FLAG_PID_CGROUP);
}

static unsigned long flags_to_pass(const struct perch__case *c)
{
	return c->flags | (supports_cloexec(c) ? PERCH_FLAG_FD_CLOEXEC : 0);
}

/* The caller's system call table could not make the open call if it returns ENOSYS. */
static int try_attr_of(struct perch__prober *prober, const struct perch__case *c,
		       struct perch_attr attr)
{
	int rc = open_and_close(prober, &attr, c, flags_to_pass(c));

	return rc == ENOSYS && c->errnum != ENOSYS ? PERCH__NOT_TRIED : rc;
}

/* Returns 0 if the kernel accepts the settings with effects, as far as it checks them. */
static int try_effects(struct perch__prober *prober, const struct perch__case *c)
{
	struct perch_attr attr = c->attr;
	int rc;

	attr.type = NO_SUCH_TYPE;
	rc = try_attr_of(prober, c, attr);
	return rc == ENOENT ? 0 : rc;
}

int perch__try(struct perch__prober *prober, const struct perch__case *c)
{
	struct perch__case harmless = *c, quiet;
	int rc;

	if (targets_unrelated_thread(c))
		return PERCH__NOT_TRIED;
	if (perch__needs_substitute(c))
		perch__substitute(&harmless);
	harmless.attr.disabled = 1;
	harmless.attr.size = size_to_pass(c);
	quiet = harmless;
	perch__drop_effects(&quiet);
	if (!perch__same_open_call(&quiet, &harmless)) {
		rc = try_effects(prober, &harmless);
		if (rc)
			return rc;
	}
	rc = try_attr_of(prober, &quiet, quiet.attr);
	return !rc && is_checked_late(c) ? c->errnum : rc;
}

int perch__try_attr(struct perch__prober *prober, const struct perch__case *c,
		    const struct perch_attr *attr)
{
	const struct perch__case only_attr = { .cpu = -1,
					       .group_fd = NO_SUCH_DESCRIPTOR,
					       .errnum = c->errnum,
					       .machine = c->machine };

	return try_attr_of(prober, &only_attr, *attr);
}

int perch__try_without_attr(struct perch__prober *prober)
{
	const struct perch__case c = { .cpu = -1, .group_fd = -1 };

	return open_and_close(prober, NULL, &c, 0);
}

/* SPDX-License-Identifier: MIT */
/* Checks of limits: ring memory, file descriptors, sample rate, stack depth. */
#include <inttypes.h>
#include <string.h>

#include "internal.h"

#define USUAL_RING_KB	512  /* data of each per-CPU ring of a recording */
#define USUAL_RATE	4000 /* samples per second of a recording */
#define USUAL_DEPTH	127
#define USUAL_CONTEXTS	8
#define NEEDED_CONTEXTS 2 /* kernel and user space */

static size_t nr_cpus(struct perch_checks *checks)
{
	const struct perch_cpus *cpus;

	return perch_machine_cpus(checks->machine, &cpus, NULL) || !cpus->nr ? 1 : cpus->nr;
}

/* Returns the data pages of the largest ring of at most so many pages. One page is the header, and
 * the number of data pages is a power of two. */
static uint64_t largest_ring(uint64_t pages)
{
	uint64_t data = 1;

	if (pages < 2)
		return 0;
	while (data * 2 <= pages - 1)
		data *= 2;
	return data;
}

/* Returns the RLIMIT_MEMLOCK in KiB that permits the usual ring on each CPU. */
static uint64_t needed_memlock(uint64_t mlock_kb, uint64_t page_kb, uint64_t cpus)
{
	uint64_t each = USUAL_RING_KB + page_kb, free_kb = mlock_kb / page_kb * page_kb;

	return each > free_kb ? (each - free_kb) * cpus : 0;
}

/*
 * All rings of a user together may lock mlock_kb times the number of CPUs. The rings of a process
 * may lock more, up to RLIMIT_MEMLOCK.
 */
static void set_rings_limit(struct perch_checks *checks, struct perch_check *result, long mlock_kb,
			    const struct perch_limits *limits)
{
	uint64_t page_kb = limits->page_bytes / 1024, cpus = nr_cpus(checks), data_kb, total;
	char memlock[48] = "unlimited";

	if (limits->locked_bytes == UINT64_MAX) {
		perch__check_value(result, "unlimited (RLIMIT_MEMLOCK)");
		return;
	}
	total = (uint64_t)mlock_kb / page_kb * cpus + limits->locked_bytes / limits->page_bytes;
	data_kb = largest_ring(total / cpus) * page_kb;
	snprintf(memlock, sizeof(memlock), "%" PRIu64 " KiB", limits->locked_bytes / 1024);
	perch__check_value(result,
			   "a ring of %" PRIu64 " KiB on each of %" PRIu64
			   " CPUs (%ld KiB x %" PRIu64 " of the user, and %s of "
			   "RLIMIT_MEMLOCK)",
			   data_kb, cpus, mlock_kb, cpus, memlock);
	if (data_kb >= USUAL_RING_KB)
		return;
	result->cause = perch_cause_slug(PERCH_CAUSE_MMAP_LOCKED);
	perch__check_reason(result, PERCH_CHECK_LIMITED,
			    "a recording has a ring of %d KiB on each CPU, or less with -m",
			    USUAL_RING_KB);
	perch__check_change(result,
			    "as root: sysctl kernel.perf_event_mlock_kb=%" PRIu64
			    "; or raise RLIMIT_MEMLOCK to %" PRIu64 " KiB (ulimit -l)",
			    USUAL_RING_KB + page_kb, needed_memlock(mlock_kb, page_kb, cpus));
}

void perch__check_rings(struct perch_checks *checks, struct perch_check *result)
{
	struct perch_limits limits;
	struct perch_error err;
	long mlock_kb, level;

	if (perch_machine_sysctl(checks->machine, PERCH_SYSCTL_MLOCK_KB, &mlock_kb, &err) ||
	    perch_machine_limits(checks->machine, &limits, &err)) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN, "%s", err.message);
		return;
	}
	result->status = PERCH_CHECK_OK;
	if (perch__check_has_capability(checks, PERCH_CAP_IPC_LOCK))
		perch__check_value(result, "unlimited (CAP_IPC_LOCK)");
	else if (!perch_machine_sysctl(checks->machine, PERCH_SYSCTL_PARANOID, &level, NULL) &&
		 level < 0)
		perch__check_value(result, "unlimited (kernel.perf_event_paranoid %ld)", level);
	else
		set_rings_limit(checks, result, mlock_kb < 0 ? 0 : mlock_kb, &limits);
}

void perch__check_descriptors(struct perch_checks *checks, struct perch_check *result)
{
	uint64_t cpus = nr_cpus(checks), left, open;
	struct perch_limits limits;
	struct perch_error err;
	size_t nr;

	if (perch_machine_limits(checks->machine, &limits, &err) ||
	    perch_machine_open_descriptors(checks->machine, &nr, &err)) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN, "%s", err.message);
		return;
	}
	open = nr;
	left = limits.descriptors > open ? limits.descriptors - open : 0;
	perch__check_value(result,
			   "%" PRIu64 " left of %" PRIu64 ": %" PRIu64
			   " event%s on one thread, or %" PRIu64 " on each of %" PRIu64 " CPUs",
			   left, limits.descriptors, left, left == 1 ? "" : "s", left / cpus, cpus);
	result->status = PERCH_CHECK_OK;
	if (left / cpus >= 32)
		return;
	result->cause = perch_cause_slug(PERCH_CAUSE_DESCRIPTORS);
	perch__check_reason(result, left ? PERCH_CHECK_LIMITED : PERCH_CHECK_NO,
			    "each event needs one file descriptor per CPU or thread");
	if (limits.descriptors_hard > limits.descriptors)
		perch__check_change(result, "ulimit -n %" PRIu64, limits.descriptors_hard);
	else
		perch__check_change(
			result,
			"as root: raise the hard limit (nofile in /etc/security/limits.conf), then ulimit -n");
}

/* Without throttling, at 0 and at 100 percent, the kernel refuses a new rate. */
static bool throttling_enabled(struct perch_checks *checks)
{
	long percent;

	return perch_machine_sysctl(checks->machine, PERCH_SYSCTL_CPU_TIME_PERCENT, &percent,
				    NULL) ||
	       (percent > 0 && percent < 100);
}

/* The rate is 100000 at boot. The kernel lowers it when sampling interrupts take too long; an
 * administrator may lower it too. */
void perch__check_sample_rate(struct perch_checks *checks, struct perch_check *result)
{
	static const char *const words[] = { "lowering kernel.perf_event_max_sample_rate" };
	struct perch_error err;
	char logged[256];
	long rate;

	if (perch_machine_sysctl(checks->machine, PERCH_SYSCTL_MAX_SAMPLE_RATE, &rate, &err)) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN, "%s", err.message);
		return;
	}
	perch__check_value(result, "at most %ld", rate);
	result->status = rate < USUAL_RATE ? PERCH_CHECK_LIMITED : PERCH_CHECK_OK;
	if (rate >= 100000)
		return;
	result->cause = rate < USUAL_RATE ? perch_cause_slug(PERCH_CAUSE_FREQUENCY) : NULL;
	if (!perch__check_find_in_log(checks, words, PERCH__NR(words), logged, sizeof(logged)))
		perch__check_reason(result, result->status,
				    "the kernel lowered it because interrupts took too long: %s",
				    logged);
	else
		perch__check_reason(result, result->status,
				    "the kernel or an administrator lowered it from 100000");
	if (rate < USUAL_RATE)
		perch__check_change(
			result,
			"as root: sysctl %skernel.perf_event_max_sample_rate=100000; or record with -F %ld",
			throttling_enabled(checks) ? "" : "kernel.perf_cpu_time_max_percent=25 ",
			rate);
}

/* Above 10 % of a CPU, perch record prints the share, too. */
void perch__check_sample_cost(struct perch_checks *checks, struct perch_check *result)
{
	static const struct perch_attr like = { .size = sizeof(like),
						.sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_TID |
							       PERCH_SAMPLE_CALLCHAIN };
	struct perch_error err;
	double percent;
	uint64_t ns;

	if (perch_machine_sample_cost(checks->machine, &like, &ns, &err)) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN, "%s", err.message);
		return;
	}
	percent = (double)ns * USUAL_RATE / 1e7;
	perch__check_value(result, "%.1f us with a call chain", (double)ns / 1000);
	result->status = PERCH_CHECK_OK;
	if (percent < 10)
		return;
	perch__check_reason(result, PERCH_CHECK_LIMITED,
			    "a timer with %d samples a second takes %.0f %% of a CPU", USUAL_RATE,
			    percent);
	perch__check_change(result, "record with a lower rate: -F %d takes %.1f %%",
			    USUAL_RATE / 10, percent / 10);
}

void perch__check_stack_depth(struct perch_checks *checks, struct perch_check *result)
{
	struct perch_error err;
	long frames, contexts;

	if (perch_machine_sysctl(checks->machine, PERCH_SYSCTL_MAX_STACK, &frames, &err)) {
		perch__check_reason(result, PERCH_CHECK_UNKNOWN, "%s", err.message);
		return;
	}
	result->status = PERCH_CHECK_OK;
	if (perch_machine_sysctl(checks->machine, PERCH_SYSCTL_MAX_CONTEXTS, &contexts, NULL)) {
		contexts = NEEDED_CONTEXTS;
		perch__check_value(result, "%ld frames", frames);
	} else {
		perch__check_value(result, "%ld frames, %ld contexts", frames, contexts);
	}
	/* A chain ends before the context that exceeds the limit. */
	if (contexts < NEEDED_CONTEXTS) {
		perch__check_reason(
			result, PERCH_CHECK_LIMITED,
			contexts < 1
				? "call chains are empty: each part of a chain, kernel and user "
				  "space, needs a context"
				: "call chains that start in the kernel end there: each part of a "
				  "chain, kernel and user space, needs a context");
		perch__check_change(result,
				    "as root, while no event samples call chains: sysctl "
				    "kernel.perf_event_max_contexts_per_stack=%d",
				    USUAL_CONTEXTS);
		return;
	}
	if (frames >= USUAL_DEPTH)
		return;
	perch__check_reason(result, PERCH_CHECK_LIMITED, "the limit is below the default of %d: %s",
			    USUAL_DEPTH,
			    frames < 1 ? "call chains are empty"
				       : "deeper call chains are truncated");
	perch__check_change(result,
			    "as root, while no event samples call chains: sysctl "
			    "kernel.perf_event_max_stack=%d",
			    USUAL_DEPTH);
}

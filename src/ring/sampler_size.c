/* SPDX-License-Identifier: MIT */
/* The default sizes of a sampler's rings: they leave memory for other samplers of the user. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "buffer.h"

#define SAMPLERS 4 /* that have the default size before the limit is reached */
#define ADDED	 8 /* a ring of an added thread takes at most one of ADDED parts of what is left */

/*
 * Returns the bytes that this process may lock for rings if the user has no other ones. The kernel
 * does not report how many the user has. UINT64_MAX is no limit, or unknown.
 */
static uint64_t locked_limit(struct perch_machine *machine)
{
	const struct perch_cpus *cpus;
	struct perch_limits limits;
	uint64_t capabilities;
	long paranoid, per_cpu;

	if (perch_machine_sysctl(machine, PERCH_SYSCTL_PARANOID, &paranoid, NULL) < 0 ||
	    paranoid < 0 || perch_machine_capabilities(machine, &capabilities, NULL) < 0 ||
	    capabilities >> PERCH_CAP_IPC_LOCK & 1 ||
	    perch_machine_sysctl(machine, PERCH_SYSCTL_MLOCK_KB, &per_cpu, NULL) < 0 ||
	    per_cpu < 0 || perch_machine_cpus(machine, &cpus, NULL) < 0 ||
	    perch_machine_limits(machine, &limits, NULL) < 0 || limits.locked_bytes == UINT64_MAX)
		return UINT64_MAX;
	return limits.locked_bytes + ((uint64_t)per_cpu << 10) * cpus->nr;
}

/* Returns the number of rings that the targets need. */
static size_t count_rings(const struct perch_sampler *sampler)
{
	size_t rings = 0;

	/* the targets are in the order of CPUs */
	for (size_t i = 0; i < sampler->nr_targets; i++)
		rings += !i || sampler->per_thread ||
			 sampler->targets[i].target.cpu != sampler->targets[i - 1].target.cpu;
	return sampler->overwrite ? 2 * rings : rings;
}

/*
 * Returns the bytes of all rings with this number of pages each, and their control pages. Rings for
 * side-band records are halved as far as needed.
 */
static uint64_t bytes_of_rings(const struct perch_sampler *sampler, uint64_t pages,
			       uint64_t page_bytes)
{
	uint64_t rings = count_rings(sampler), each = pages + 1, all;

	if (sampler->overwrite) {
		rings /= 2;
		each += PERCH__MIN_RING_PAGES + 1;
	}
	return __builtin_mul_overflow(rings * page_bytes, each, &all) ? UINT64_MAX : all;
}

void perch__sampler_explain_ring_size(const struct perch_sampler *sampler, struct perch_error *err)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), pages = 1;
	uint64_t limit = locked_limit(sampler->machine);
	uint64_t need = bytes_of_rings(sampler, sampler->ring_pages, page_bytes);

	/* added rings are limited by what is left; if all fit, other processes have rings */
	if (sampler->decoder || limit == UINT64_MAX || need <= limit)
		return;
	snprintf(err->message, sizeof(err->message),
		 "the %zu rings of this recording need %llu KiB of locked memory, and the limit "
		 "for all rings of this user is %llu KiB (kernel.perf_event_mlock_kb x CPUs + "
		 "RLIMIT_MEMLOCK)",
		 count_rings(sampler), (unsigned long long)(need >> 10),
		 (unsigned long long)(limit >> 10));
	while (bytes_of_rings(sampler, 2 * pages, page_bytes) <= limit)
		pages *= 2;
	if (bytes_of_rings(sampler, pages, page_bytes) <= limit)
		perch_error_remedy(
			err,
			"use at most %llu pages for each ring, or as root raise RLIMIT_MEMLOCK "
			"to %llu KiB (ulimit -l), or give the program CAP_IPC_LOCK",
			(unsigned long long)pages, (unsigned long long)(need >> 10));
}

static size_t pages_of(size_t bytes, size_t page_bytes)
{
	return bytes / page_bytes ? bytes / page_bytes : 1;
}

/* A ring has a page more than its data, the control page. */
static size_t default_pages(struct perch_sampler *sampler, size_t page_bytes)
{
	size_t pages = pages_of(sampler->per_thread ? PERCH__THREAD_RING_BYTES : PERCH__RING_BYTES,
				page_bytes);
	size_t rings = count_rings(sampler);
	uint64_t each;

	sampler->ring_budget = locked_limit(sampler->machine) / SAMPLERS;
	each = sampler->ring_budget / (rings ? rings : 1);
	while (pages > PERCH__MIN_RING_PAGES && (pages + 1) * page_bytes > each)
		pages /= 2;
	return pages;
}

void perch__sampler_limit_added_ring(struct perch_sampler *sampler)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), pages = sampler->first_pages;
	uint64_t used = 0, each;

	if (!sampler->may_shrink)
		return;
	for (size_t i = 0; i < sampler->nr_rings; i++)
		if (sampler->rings[i].ring)
			used += sampler->rings[i].ring->size + page_bytes;
	each = used < sampler->ring_budget ? (sampler->ring_budget - used) / ADDED : 0;
	while (pages > PERCH__MIN_RING_PAGES && (pages + 1) * page_bytes > each &&
	       pages / 2 * page_bytes > sampler->min_ring_bytes)
		pages /= 2;
	sampler->ring_pages = pages;
}

void perch__sampler_set_ring_sizes(struct perch_sampler *sampler,
				   const struct perch_sampler_options *options)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);

	sampler->ring_pages = options->ring_pages;
	sampler->may_shrink = !sampler->ring_pages;
	if (sampler->may_shrink)
		sampler->ring_pages = default_pages(sampler, page_bytes);
	sampler->tracking_pages = pages_of(PERCH__TRACKING_RING_BYTES, page_bytes);
	if (sampler->may_shrink && sampler->tracking_pages > sampler->ring_pages)
		sampler->tracking_pages = sampler->ring_pages;
}

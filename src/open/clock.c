/* SPDX-License-Identifier: MIT */
/* Converts between cycles of the CPU's clock and times of samples, and reads times of a control
 * page. */
#include <errno.h>

#include <perch/open.h>

#include "base/clock.h"
#include "base/fence.h"

uint64_t perch_clock_to_time(const struct perch_clock_conversion *clock, uint64_t cycles)
{
	if (clock->time_mask)
		cycles = perch__clock_extend(cycles, clock->time_cycles, clock->time_mask);
	return clock->time_zero + perch__clock_ns(cycles, clock->time_mult, clock->time_shift);
}

uint64_t perch_clock_from_time(const struct perch_clock_conversion *clock, uint64_t time)
{
	uint64_t elapsed = time - clock->time_zero, whole = elapsed / clock->time_mult,
		 rest = elapsed % clock->time_mult;

	return (whole << clock->time_shift) + (rest << clock->time_shift) / clock->time_mult;
}

int perch_clock_check(const struct perch_clock_conversion *clock, struct perch_error *err)
{
	if (clock->time_mult && clock->time_shift < 32)
		return 0;
	return perch_error_set(
		err, EINVAL, PERCH_ERROR_USAGE,
		"time_mult must not be 0, and time_shift must be at most 31 (currently %u and %u)",
		clock->time_mult, clock->time_shift);
}

/* The kernel makes the lock odd, writes, and makes it even again. */
static uint32_t lock_page(const volatile struct perch_mmap_page *page)
{
	uint32_t lock = page->lock;

	PERCH__ACQUIRE_FENCE();
	return lock;
}

static bool has_changed(const volatile struct perch_mmap_page *page, uint32_t lock)
{
	PERCH__ACQUIRE_FENCE();
	return lock & 1 || page->lock != lock;
}

#define MAX_TRIES 1000 /* a page in memory may be locked forever */

static int page_is_busy(struct perch_error *err)
{
	return perch_error_set(err, EAGAIN, PERCH_ERROR_SCHEDULE,
			       "the kernel changed the page of the event during each attempt");
}

int perch_clock_from_page(struct perch_clock_conversion *clock, const struct perch_mmap_page *page,
			  struct perch_error *err)
{
	const volatile struct perch_mmap_page *now = page;
	bool valid, short_clock;
	unsigned tries = 0;
	uint32_t lock;

	do {
		if (tries++ >= MAX_TRIES)
			return page_is_busy(err);
		lock = lock_page(now);
		valid = now->cap_user_time_zero;
		short_clock = now->cap_user_time_short;
		*clock = (struct perch_clock_conversion){
			.time_zero = now->time_zero,
			.time_mult = now->time_mult,
			.time_shift = now->time_shift,
			.time_cycles = short_clock ? now->time_cycles : 0,
			.time_mask = short_clock ? now->time_mask : 0,
		};
	} while (has_changed(now, lock));
	if (valid)
		return perch_clock_check(clock, err);
	return perch_error_set(
		err, EOPNOTSUPP, PERCH_ERROR_NOT_SUPPORTED,
		"the kernel does not relate the clock of the CPU to times of samples (cap_user_time_zero is 0): the clock is not stable, or the event has a clockid");
}

int perch_page_times(const struct perch_mmap_page *page, uint64_t *enabled_ns, uint64_t *running_ns,
		     struct perch_error *err)
{
	const volatile struct perch_mmap_page *now = page;
	unsigned tries = 0;
	uint32_t lock;

	do {
		if (tries++ >= MAX_TRIES)
			return page_is_busy(err);
		lock = lock_page(now);
		*enabled_ns = now->time_enabled;
		*running_ns = now->time_running;
	} while (has_changed(now, lock));
	return 0;
}

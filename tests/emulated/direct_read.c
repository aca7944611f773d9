/* SPDX-License-Identifier: MIT */
#include "direct_read.h"

#define BARRIER() __asm__ volatile("" ::: "memory")
#define COUNTER(number)                                                            \
	case number:                                                               \
		__asm__ volatile("mrs %0, pmevcntr" #number "_el0" : "=r"(value)); \
		break;

/* The number of a counter is part of the instruction; 31 is the cycle counter. */
static inline uint64_t counter(uint32_t number)
{
	uint64_t value = 0;

	/* clang-format off */
	switch (number) {
	COUNTER(0) COUNTER(1) COUNTER(2) COUNTER(3) COUNTER(4) COUNTER(5)
	COUNTER(6) COUNTER(7) COUNTER(8) COUNTER(9) COUNTER(10) COUNTER(11)
	COUNTER(12) COUNTER(13) COUNTER(14) COUNTER(15) COUNTER(16) COUNTER(17)
	COUNTER(18) COUNTER(19) COUNTER(20) COUNTER(21) COUNTER(22) COUNTER(23)
	COUNTER(24) COUNTER(25) COUNTER(26) COUNTER(27) COUNTER(28) COUNTER(29)
	COUNTER(30)
	case 31:
		__asm__ volatile("mrs %0, pmccntr_el0" : "=r"(value));
		break;
	}
	/* clang-format on */
	return value;
}

static inline uint64_t nanoseconds(const struct perch_mmap_page *page)
{
	uint64_t cycles, quotient, rest;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(cycles));
	if (page->cap_user_time_short)
		cycles = page->time_cycles + ((cycles - page->time_cycles) & page->time_mask);
	quotient = cycles >> page->time_shift;
	rest = cycles & ((UINT64_C(1) << page->time_shift) - 1);
	return page->time_offset + quotient * page->time_mult +
	       ((rest * page->time_mult) >> page->time_shift);
}

/* The kernel writes the page on the CPU that this thread runs on: only the compiler must keep the
 * order. */
bool direct_read(const struct perch_mmap_page *page, struct direct_count *count)
{
	const volatile uint32_t *lock = &page->lock;
	uint32_t sequence;

	do {
		uint32_t index;
		uint64_t now;
		int unused;

		sequence = *lock;
		BARRIER();
		index = page->index;
		if (!page->cap_user_rdpmc || !page->cap_user_time || !index)
			return false;
		now = nanoseconds(page);
		unused = 64 - page->pmc_width;
		count->enabled_ns = page->time_enabled + now;
		count->running_ns = page->time_running + now;
		count->value = page->offset + (((int64_t)(counter(index - 1) << unused)) >> unused);
		BARRIER();
	} while (*lock != sequence);
	return true;
}

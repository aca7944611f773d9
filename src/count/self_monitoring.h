/* SPDX-License-Identifier: MIT */
/*
 * Self-monitoring reads (rdpmc): reads an event without a system call, from the page that the
 * kernel shares and a CPU register. The hot path is inline in perch_counter_read(). The functions
 * that read the two registers are parameters: compilers inline them, tests replace them.
 */
#ifndef PERCH_COUNT_SELF_MONITORING_H
#define PERCH_COUNT_SELF_MONITORING_H

#include <string.h>

#include "base/clock.h"
#include "base/fence.h"
#include "internal.h"

/* Whether the last read used the page, or why it did not. */
enum perch__rdpmc_state {
	PERCH__RDPMC_USED, /* the read used the page */
	PERCH__RDPMC_NOT_REQUESTED,
	PERCH__RDPMC_NOT_READ_YET,
	PERCH__RDPMC_NO_ARCH,
	PERCH__RDPMC_NOT_SELF,
	PERCH__RDPMC_NO_HARDWARE,
	PERCH__RDPMC_NO_CORE, /* not a core PMU */
	PERCH__RDPMC_LOST_REQUESTED,
	PERCH__RDPMC_REFUSED, /* the kernel accepts the event only without the request */
	PERCH__RDPMC_NO_PAGE,
	PERCH__RDPMC_OTHER_THREAD,
	PERCH__RDPMC_OFF_PMU,
	PERCH__RDPMC_FORBIDDEN,
	PERCH__RDPMC_NO_CLOCK,
	PERCH__RDPMC_NO_REGISTER,
	PERCH__RDPMC_BUSY,
	PERCH__RDPMC_MAX
};

/*
 * This struct is in memory that fork(2) zeroes in the child (MADV_WIPEONFORK): the child has no
 * page and must not read at the address of the parent's page.
 */
struct perch__rdpmc {
	/* the only thread that may read: the event counts on the CPU that it runs on */
	uintptr_t thread;
	const struct perch_mmap_page *page;
};
/* For counters without a page: no thread may read. */
extern const struct perch__rdpmc perch__no_rdpmc;

#define PERCH__INLINE PERCH__ALWAYS_INLINE
/* Attempts before read(2) is used. */
#define PERCH__RDPMC_TRIES 16

/* The capabilities of struct perch_mmap_page as masks, to test several at once. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define PERCH__CAN(bit) ((uint64_t)1 << (bit))
#else
#define PERCH__CAN(bit) ((uint64_t)1 << (63 - (bit)))
#endif
#define PERCH__CAN_READ	      PERCH__CAN(2)
#define PERCH__CAN_TIME	      PERCH__CAN(3)
#define PERCH__CAN_TIME_SHORT PERCH__CAN(5)

/* arm64 kernels that allow counters to be read (5.17) always have a short clock (5.9): one test is
 * enough. */
#ifdef __aarch64__
#define PERCH__ALWAYS_SHORT	1
#define PERCH__CAN_COMPUTE_TIME PERCH__CAN_TIME_SHORT
#else
#define PERCH__ALWAYS_SHORT	0
#define PERCH__CAN_COMPUTE_TIME PERCH__CAN_TIME
#endif

/* A consistent copy of the fields: the lock was the same before and after. */
struct perch__page_view {
	uint64_t value, enabled, running, can, clock, offset, cycles, mask, mult, shift;
};

/*
 * The kernel writes the page on the CPU that the thread runs on, like a signal handler: only the
 * compiler must keep the order. If another CPU changes the event meanwhile, the kernel's stores are
 * not ordered either.
 */
#define PERCH__IN_ORDER() __atomic_signal_fence(__ATOMIC_ACQ_REL)

/* One load reads pmc_width, time_shift and time_mult. The shifts use only the lower six bits of the
 * first two. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define PERCH__WIDTH(packed)	  (packed)
#define PERCH__SHIFT_BITS(packed) ((packed) >> 16)
#define PERCH__MULT(packed)	  ((packed) >> 32)
#else
#define PERCH__WIDTH(packed)	  ((packed) >> 48)
#define PERCH__SHIFT_BITS(packed) ((packed) >> 32)
#define PERCH__MULT(packed)	  ((packed)&UINT32_MAX)
#endif

/* The counter is a signed number of that many bits. */
PERCH__INLINE uint64_t perch__sign_extend(uint64_t value, uint64_t width)
{
	uint64_t unused = -width; /* 64 - width, for a shift */

	return perch__right_signed(perch__left(value, unused), unused);
}

/*
 * Nanoseconds since the kernel wrote the page. They may be negative if the clock of this CPU is
 * behind: callers that subtract times must allow for that.
 */
PERCH__INLINE uint64_t perch__page_elapsed(const struct perch__page_view *view)
{
	uint64_t clock = view->clock;

	if (PERCH__ALWAYS_SHORT || view->can & PERCH__CAN_TIME_SHORT)
		clock = perch__clock_extend(clock, view->cycles, view->mask);
	return view->offset + perch__clock_ns(clock, view->mult, view->shift);
}

/* Copies the times and the relation of the clock, and reads the clock. Returns pmc_width,
 * time_shift and time_mult in one word. */
PERCH__INLINE uint64_t perch__page_load(const struct perch_mmap_page *page,
					struct perch__page_view *view, uint64_t (*read_clock)(void))
{
	uint64_t packed;

	view->enabled = page->time_enabled;
	view->running = page->time_running;
	memcpy(&packed, &page->pmc_width, sizeof(packed));
	view->offset = page->time_offset;
	view->mult = PERCH__MULT(packed);
	view->shift = PERCH__SHIFT_BITS(packed);
	view->cycles = page->time_cycles;
	view->mask = page->time_mask;
	view->clock = read_clock();
	return packed;
}

/*
 * One attempt. The kernel makes the lock odd, writes, and makes it even again; if that happened
 * meanwhile, the result is PERCH__RDPMC_BUSY. read_counter(index, &value) takes the index of the
 * page, which is 0 if there is no counter, and returns false if the counter cannot be read. words
 * gets what read(2) would return: value, time enabled, time running.
 *
 * offset is relative to the kernel's copy of the counter. That copy is signed after the counter was
 * set, and unsigned after it was read. When the page is written after a read, by a reset, the value
 * is too low by the range of the counter, and so negative. Attempts with adjust_wrapped correct
 * that, with more instructions.
 */
PERCH__INLINE enum perch__rdpmc_state perch__page_try(
	const struct perch_mmap_page *page, uint64_t words[3], bool adjust_wrapped,
	bool (*read_counter)(uint32_t index, uint64_t *value), uint64_t (*read_clock)(void))
{
	const volatile uint32_t *now = &page->lock;
	uint32_t lock = *now, index;
	struct perch__page_view view;
	uint64_t value, packed, elapsed;

	PERCH__IN_ORDER();
	index = page->index;
	view.can = page->capabilities;
	if (PERCH__UNLIKELY(!(view.can & PERCH__CAN_READ)))
		return PERCH__RDPMC_FORBIDDEN;
	if (PERCH__UNLIKELY(!(view.can & PERCH__CAN_COMPUTE_TIME)))
		return PERCH__RDPMC_NO_CLOCK;
	packed = perch__page_load(page, &view, read_clock);
	if (PERCH__UNLIKELY(!read_counter(index, &value)))
		return index ? PERCH__RDPMC_NO_REGISTER : PERCH__RDPMC_OFF_PMU;
	view.value = page->offset + perch__sign_extend(value, PERCH__WIDTH(packed));
	PERCH__IN_ORDER();
	if (adjust_wrapped && (int64_t)view.value < 0 && page->pmc_width < 64)
		view.value += UINT64_C(1) << (page->pmc_width & 63);
	if (PERCH__UNLIKELY(lock & 1 || lock != *now ||
			    (!adjust_wrapped && (int64_t)view.value < 0)))
		return PERCH__RDPMC_BUSY;
	elapsed = perch__page_elapsed(&view);
	words[0] = view.value;
	words[1] = view.enabled + elapsed;
	words[2] = view.running + elapsed;
	return PERCH__RDPMC_USED;
}

/* Makes up to PERCH__RDPMC_TRIES attempts with adjust_wrapped. */
PERCH__INLINE enum perch__rdpmc_state perch__page_read(
	const struct perch_mmap_page *page, uint64_t words[3],
	bool (*read_counter)(uint32_t index, uint64_t *value), uint64_t (*read_clock)(void))
{
	enum perch__rdpmc_state state = PERCH__RDPMC_BUSY;

	for (unsigned tries = 0; state == PERCH__RDPMC_BUSY && tries < PERCH__RDPMC_TRIES; tries++)
		state = perch__page_try(page, words, true, read_counter, read_clock);
	return state;
}

/*
 * Reads the times of an event that need not be on a counter: with an index the time since the page
 * was written is added, without one the event may be stopped, so they are those of the page. The
 * event may count on another CPU, which writes the page at the same time.
 */
PERCH__INLINE enum perch__rdpmc_state perch__page_times(const struct perch_mmap_page *page,
							uint64_t *enabled, uint64_t *running,
							uint64_t (*read_clock)(void))
{
	const volatile uint32_t *now = &page->lock;

	for (unsigned tries = 0; tries < PERCH__RDPMC_TRIES; tries++) {
		uint32_t lock = *now, index;
		struct perch__page_view view;
		uint64_t elapsed;

		PERCH__ACQUIRE_FENCE();
		index = page->index;
		view.can = page->capabilities;
		perch__page_load(page, &view, read_clock);
		PERCH__ACQUIRE_FENCE();
		if (lock & 1 || lock != *now)
			continue;
		elapsed = index && view.can & PERCH__CAN_COMPUTE_TIME ? perch__page_elapsed(&view)
								      : 0;
		*enabled = view.enabled + elapsed;
		*running = view.running + elapsed;
		return PERCH__RDPMC_USED;
	}
	return PERCH__RDPMC_BUSY;
}

#if defined(__x86_64__) || defined(__i386__)
#define PERCH__RDPMC_ARCH 1

PERCH__INLINE bool perch__read_register(uint32_t index, uint64_t *value)
{
	uint32_t low, high;

	if (!index)
		return false;
	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(index - 1));
	*value = (uint64_t)high << 32 | low;
	return true;
}

PERCH__INLINE uint64_t perch__read_clock(void)
{
	return __builtin_ia32_rdtsc();
}

/* Returns a number that differs among the threads of a process. */
PERCH__INLINE uintptr_t perch__this_thread(void)
{
	uintptr_t thread;

#ifdef __x86_64__
	__asm__("mov %%fs:0, %0" : "=r"(thread));
#else
	__asm__("mov %%gs:0, %0" : "=r"(thread));
#endif
	return thread;
}
#elif defined(__aarch64__)
#define PERCH__RDPMC_ARCH 1

#define PERCH__READ(name)                                        \
	({                                                       \
		uint64_t read_;                                  \
		__asm__ volatile("mrs %0, " name : "=r"(read_)); \
		read_;                                           \
	})
/* With branch target identification, each target of the jump starts with a landing instruction (bti
 * j); a nop keeps the size a power of two. */
#ifdef __ARM_FEATURE_BTI_DEFAULT
#define PERCH__LANDING "hint #36\n\tnop\n\t"
#define PERCH__STEP    "4"
#else
#define PERCH__LANDING ""
#define PERCH__STEP    "3"
#endif
#define PERCH__EVENT_COUNTERS \
	"0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30"

/*
 * The number of the register is part of the instruction, so this jumps into a table with one
 * instruction for each register. Index 32 is the cycle counter.
 */
PERCH__INLINE bool perch__read_register(uint32_t index, uint64_t *value)
{
	uint64_t to, number = index - 1;

	if (PERCH__UNLIKELY(number > 31))
		return false;
	__asm__ volatile("adr %1, 1f\n\t"
			 "add %1, %1, %2, lsl #" PERCH__STEP "\n\t"
			 "br %1\n"
			 "1:\n\t"
			 ".irp n, " PERCH__EVENT_COUNTERS "\n\t" PERCH__LANDING
			 "mrs %0, pmevcntr\\n\\()_el0\n\t"
			 "b 2f\n\t"
			 ".endr\n\t" PERCH__LANDING "mrs %0, pmccntr_el0\n"
			 "2:"
			 : "=r"(*value), "=&r"(to)
			 : "r"(number));
	return true;
}

PERCH__INLINE uint64_t perch__read_clock(void)
{
	return PERCH__READ("cntvct_el0");
}

PERCH__INLINE uintptr_t perch__this_thread(void)
{
	uintptr_t thread;

	__asm__("mrs %0, tpidr_el0" : "=r"(thread));
	return thread;
}
#else
#define PERCH__RDPMC_ARCH 0

PERCH__INLINE bool perch__read_register(uint32_t index, uint64_t *value)
{
	(void)index, (void)value;
	return false;
}

PERCH__INLINE uint64_t perch__read_clock(void)
{
	return 0;
}

/* Not 0, the thread of perch__no_rdpmc, which has no page. */
PERCH__INLINE uintptr_t perch__this_thread(void)
{
	return 1;
}
#endif

/* PERCH__RDPMC_USED if an event with that attr and target may be read without a system call, or the
 * reason why not. */
enum perch__rdpmc_state perch__rdpmc_check(const struct perch_attr *attr,
					   const struct perch_target *target);
/*
 * Maps the page of an event. If that fails, *rdpmc is &perch__no_rdpmc, the result is the reason,
 * and *errnum the errno of the system call.
 */
enum perch__rdpmc_state perch__rdpmc_map(const struct perch__rdpmc **rdpmc, int fd,
					 const struct perch_syscalls *calls, int *errnum);
void perch__rdpmc_unmap(const struct perch__rdpmc *rdpmc, const struct perch_syscalls *calls);
/* Refines the reason for an event of another PMU than the core's. machine may be NULL. */
enum perch__rdpmc_state perch__rdpmc_cause(enum perch__rdpmc_state state, uint32_t type,
					   struct perch_machine *machine);
/* Returns true for PERCH__RDPMC_USED. Otherwise fills err with the reason. */
bool perch__rdpmc_report(enum perch__rdpmc_state state, int errnum, const char *name,
			 struct perch_error *err);

#endif

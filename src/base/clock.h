/* SPDX-License-Identifier: MIT */
/*
 * Converts values of the CPU's clock to nanoseconds by a multiplier and a shift, as the kernel's
 * control page and TIME_CONV records describe it. Times outside 64 bits wrap, as those of the
 * kernel do.
 */
#ifndef PERCH_BASE_CLOCK_H
#define PERCH_BASE_CLOCK_H

#include <stdint.h>

#define PERCH__ALWAYS_INLINE static inline __attribute__((always_inline))

/*
 * Shifts by the lower six bits of a number, as the instruction does. Compilers for arm64 add a mask
 * where several shifts use the same number.
 */
#ifdef __aarch64__
#define PERCH__SHIFT(instruction, expression) \
	__asm__(instruction " %0, %1, %2" : "=r"(shifted) : "r"(value), "r"(by))
#else
#define PERCH__SHIFT(instruction, expression) (shifted = (expression))
#endif

PERCH__ALWAYS_INLINE uint64_t perch__left(uint64_t value, uint64_t by)
{
	uint64_t shifted;

	PERCH__SHIFT("lsl", value << (by & 63));
	return shifted;
}

PERCH__ALWAYS_INLINE uint64_t perch__right(uint64_t value, uint64_t by)
{
	uint64_t shifted;

	PERCH__SHIFT("lsr", value >> (by & 63));
	return shifted;
}

PERCH__ALWAYS_INLINE uint64_t perch__right_signed(uint64_t value, uint64_t by)
{
	uint64_t shifted;

	PERCH__SHIFT("asr", (uint64_t)((int64_t)value >> (by & 63)));
	return shifted;
}

/* Extends a clock that has only the bits of mask and may have wrapped since it was `earlier`. */
PERCH__ALWAYS_INLINE uint64_t perch__clock_extend(uint64_t clock, uint64_t earlier, uint64_t mask)
{
	return earlier + ((clock - earlier) & mask);
}

/* clock * mult >> shift, in two parts, so that no product exceeds 64 bits. */
PERCH__ALWAYS_INLINE uint64_t perch__clock_ns(uint64_t clock, uint64_t mult, uint64_t shift)
{
	uint64_t whole = perch__right(clock, shift);
	uint64_t rest = clock - perch__left(whole, shift);

	return whole * mult + perch__right(rest * mult, shift);
}

#endif

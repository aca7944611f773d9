/* SPDX-License-Identifier: MIT */
/*
 * Binary search. Returns the first index below nr for which the condition is false, or nr. The
 * condition has the index `i`; it is true up to there, and false from there on:
 *
 *	size_t behind = PERCH__SEARCH(nr, i, item[i].start <= address);
 */
#ifndef PERCH_BASE_SEARCH_H
#define PERCH_BASE_SEARCH_H

#include <stddef.h>

#define PERCH__SEARCH(nr, i, is_before)                       \
	({                                                    \
		size_t low_ = 0, high_ = (nr);                \
                                                              \
		while (low_ < high_) {                        \
			size_t i = low_ + (high_ - low_) / 2; \
                                                              \
			if (is_before)                        \
				low_ = i + 1;                 \
			else                                  \
				high_ = i;                    \
		}                                             \
		low_;                                         \
	})

#endif

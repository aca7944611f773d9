/* SPDX-License-Identifier: MIT */
/* A hand-written read for one machine and counter, to compare the cost of perch_counter_read(). */
#ifndef PERCH_TESTS_EMULATED_HAND_READ_H
#define PERCH_TESTS_EMULATED_HAND_READ_H

#include <stdbool.h>
#include <stdint.h>

#include <perch/abi.h>

struct hand_count {
	uint64_t value, enabled_ns, running_ns;
};

/* False if the event is not on a counter, or the kernel does not allow reads. */
bool hand_read(const struct perch_mmap_page *page, struct hand_count *count);

#endif

/* SPDX-License-Identifier: MIT */
/* What a program would write that knows its machine and counter: perch_counter_read() is measured
 * by it. */
#ifndef PERCH_TESTS_EMULATED_HAND_READ_H
#define PERCH_TESTS_EMULATED_HAND_READ_H

#include <stdbool.h>
#include <stdint.h>

#include <perch/abi.h>

struct hand_count {
	uint64_t value, enabled_ns, running_ns;
};

/* False: it is on no counter now, or the kernel does not let. */
bool hand_read(const struct perch_mmap_page *page, struct hand_count *count);

#endif

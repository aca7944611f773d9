/* SPDX-License-Identifier: MIT */
/* A read for one machine and counter, to compare the cost of perch_counter_read(). */
#ifndef PERCH_TESTS_EMULATED_DIRECT_READ_H
#define PERCH_TESTS_EMULATED_DIRECT_READ_H

#include <stdbool.h>
#include <stdint.h>

#include <perch/abi.h>

struct direct_count {
	uint64_t value, enabled_ns, running_ns;
};

/* False if the event is not on a counter, or the kernel does not allow reads. */
bool direct_read(const struct perch_mmap_page *page, struct direct_count *count);

#endif

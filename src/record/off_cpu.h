/* SPDX-License-Identifier: MIT */
/*
 * The raw data of a sample of off-CPU time. Its first part, with the call chain between the two
 * structs, is that of perf since 6.16. All parts have a multiple of 8 bytes.
 *
 *	struct off_cpu_head, u64 chain[nr], u64 cgroup, struct off_cpu_tail
 *
 * With PERCH_OFF_CPU_WOKEN struct off_cpu_waker_head and the waker's call chain follow.
 */
#ifndef PERCH_RECORD_OFF_CPU_H
#define PERCH_RECORD_OFF_CPU_H

#include <stdint.h>

struct off_cpu_head {
	uint32_t pid, tid;
	uint64_t ns, nr;
};

struct off_cpu_tail {
	uint32_t state, flags;
	uint64_t intervals, start;
};

struct off_cpu_waker_head {
	uint32_t pid, tid;
	uint64_t nr;
};

#endif

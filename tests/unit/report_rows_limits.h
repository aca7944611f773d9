/* SPDX-License-Identifier: MIT */
/* Reports about limits, or about targets that do not exist. */
#ifndef PERCH_TEST_REPORT_ROWS_LIMITS_H
#define PERCH_TEST_REPORT_ROWS_LIMITS_H

#include "report_rows.h"

#define KPROBE 6

static const struct report limit_reports[] = {
	/* github.com/intel/numatop/issues/62 */
	REPORT("root, with a message about missing permission", BIG, EMFILE, DESCRIPTORS,
	       ATTR(CYCLES, .sample_period = 10000), .pid = 4242, CPU(100),
	       WORDS("RLIMIT_NOFILE", "8", "ulimit -n")),
	/* github.com/wolfpld/tracy/issues/512, github.com/ryncsn/memstrack/pull/16: the message has
	   the sum */
	REPORT("an event on each of many CPUs", BIG, EMFILE, DESCRIPTORS,
	       ATTR(.type = PERCH_TYPE_TRACEPOINT, .config = 314, .sample_period = 1), .pid = -1,
	       CPU(7), WORDS("RLIMIT_NOFILE", "ulimit -n", "128")),
	/* github.com/ri-char/pwatch/issues/6 */
	REPORT("a watchpoint, taken for a full disk", PARANOID_2, ENOSPC, BREAKPOINT_SLOTS,
	       ATTR(.type = PERCH_TYPE_BREAKPOINT, .bp_type = PERCH_BREAKPOINT_W,
		    .bp_addr = 0x7ffc1000, .bp_len = 4, .sample_period = 1, USER_ONLY),
	       .pid = 1234, WORDS("debug registers", "4")),
	/* github.com/iovisor/bcc/issues/4880 */
	REPORT("a probe that tracefs has enabled", SERVER, EINTR, PROBE_ENABLED,
	       ATTR(.type = PERCH_TYPE_TRACEPOINT, .config = 1888, .sample_period = 1), .pid = -1,
	       CPU(0), .field = "config", WORDS("tracefs")),
	/* github.com/javierhonduco/rbperf/issues/49, github.com/libbpf/libbpf/issues/103,
	   github.com/parca-dev/parca-agent/issues/2639 */
	REPORT("a CPU that is possible and not there", OFFLINE, ENODEV, CPU_OFFLINE,
	       ATTR(.type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_CPU_CLOCK, .freq = 1,
		    .sample_freq = 99),
	       .pid = -1, CPU(4), .field = "cpu", WORDS("CPU 4", "offline")),
	/* github.com/cilium/ebpf/pull/80: beyond the possible CPUs, the errno differs */
	REPORT("a CPU that is not even possible", OFFLINE, EINVAL, CPU_ABSENT,
	       ATTR(.type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_BPF_OUTPUT), .pid = -1,
	       CPU(0x123456), .field = "cpu", WORDS("CPU 1193046")),
	/* github.com/brendangregg/FlameGraph/issues/196 */
	REPORT("a process that is not there", PARANOID_2, ESRCH, NO_PROCESS,
	       ATTR(CYCLES, OFTEN, USER_ONLY), .pid = 123, .field = "pid", WORDS("123")),
	/* github.com/async-profiler/async-profiler/issues/907 */
	REPORT("a kernel probe opened by a helper process", SERVER, EFAULT, PROBE_POINTER,
	       ATTR(.type = KPROBE, .config1 = 0x7f21a8c01230, .sample_period = 1), .pid = 1234,
	       .field = "config1", WORDS("memory of the process")),
};

#endif

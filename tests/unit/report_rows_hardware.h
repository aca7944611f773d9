/* SPDX-License-Identifier: MIT */
/* Reports about hardware or hypervisors that do not support the event. */
#ifndef PERCH_TEST_REPORT_ROWS_HARDWARE_H
#define PERCH_TEST_REPORT_ROWS_HARDWARE_H

#include "report_rows.h"

#define HYBRID_ATOM 10
#define RAPL	    23
#define INTEL_PT    8
#define BRANCHES(bits) \
	.sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_BRANCH_STACK, .branch_sample_type = bits
#define CACHE(cache, operation, result)                                                   \
	.type = PERCH_TYPE_HW_CACHE, .config = PERCH_COUNT_HW_CACHE_##cache |             \
					       PERCH_COUNT_HW_CACHE_OP_##operation << 8 | \
					       PERCH_COUNT_HW_CACHE_RESULT_##result << 16

static const struct perch_attr cycles_attr = { CYCLES, .size = sizeof(cycles_attr),
					       .read_format = PERCH_FORMAT_GROUP };
static const struct perch_open_call_leader cycles_leader = { &cycles_attr, 0, -1, 0, .members = 1 };
static const struct perch_open_call_leader cycles_on_cpu = { &cycles_attr, -1, 0, 0, .members = 1 };
static const struct perch_open_call_leader full_leader = { &cycles_attr, 0, -1, 0, .members = 4 };

/* Four counters, all used by the group of the leader. */
static inline int kernel_four_counters(const struct perch_attr *attr, pid_t pid, int cpu,
				       int group_fd, unsigned long flags)
{
	(void)pid, (void)cpu, (void)flags;
	if (!attr)
		return -EFAULT;
	if (attr->type == PERCH_TYPE_SOFTWARE)
		return 100;
	return group_fd >= 0 ? -EINVAL : 100;
}

/* The PMU of the E-cores does not serve the P-cores. */
static inline int kernel_hybrid(const struct perch_attr *attr, pid_t pid, int cpu, int group_fd,
				unsigned long flags)
{
	(void)pid, (void)group_fd, (void)flags;
	if (!attr)
		return -EFAULT;
	if (attr->type == PERCH_TYPE_SOFTWARE || cpu < 0)
		return 100;
	if (attr->type == HYBRID_ATOM || attr->config >> PERCH_PMU_TYPE_SHIFT == HYBRID_ATOM)
		return cpu >= 16 ? 100 : -ENOENT;
	return cpu < 16 ? 100 : -ENOENT;
}

/* Precise events are refused, others accepted. */
static inline int kernel_not_precise(const struct perch_attr *attr, pid_t pid, int cpu,
				     int group_fd, unsigned long flags)
{
	(void)pid, (void)cpu, (void)group_fd, (void)flags;
	if (!attr)
		return -EFAULT;
	return attr->precise_ip ? -EOPNOTSUPP : 100;
}

static const struct report hardware_reports[] = {
	/* github.com/martinus/nanobench/issues/106 */
	REPORT("a benchmark library in a virtual machine", NO_VPMU, ENOENT, NO_HARDWARE,
	       ATTR(CYCLES), .field = "type", WORDS("virtual")),
	REPORT("the same with a poor PMU", VPMU, EINVAL, HARDWARE_CONFIG, OR(PMU_EVENT),
	       .among = true,
	       ATTR(.type = PERCH_TYPE_HARDWARE, .config = PERCH_COUNT_HW_STALLED_CYCLES_FRONTEND),
	       .field = "config"),
	/* github.com/rr-debugger/rr/issues/2815, github.com/rr-debugger/rr/issues/1753 */
	REPORT("a debugger in a virtual machine", NO_VPMU, ENOENT, NO_HARDWARE,
	       ATTR(.type = PERCH_TYPE_RAW, .config = 0x5101c4, .sample_period = 500),
	       .field = "type", WORDS("this machine has none")),
	/* github.com/ostash/perfgrind/issues/2 */
	REPORT("a profiler where perf record seemed to work", NO_VPMU, ENOENT, NO_HARDWARE,
	       ATTR(CYCLES, OFTEN), WORDS("cpu-clock")),
	/* github.com/oxidecomputer/propolis/issues/894 */
	REPORT("a guest without an overflow interrupt", VPMU, EOPNOTSUPP, NO_INTERRUPT,
	       ATTR(CYCLES, OFTEN), .pid = -1, CPU(0), .field = "sample_period",
	       WORDS("interrupt", "cpu-clock")),
	/* github.com/SlugLab/CXLMemSim/issues/14 */
	REPORT("precise samples in a virtual machine", VPMU, EOPNOTSUPP, PRECISE,
	       ATTR(.type = PERCH_TYPE_RAW, .config = 0x1cd, .config1 = 3, .sample_period = 100,
		    .precise_ip = 2),
	       .field = "precise_ip", WORDS("precise_ip 2")),
	REPORT("the same, where perch may ask the kernel", VPMU, EOPNOTSUPP, PRECISE,
	       ATTR(.type = PERCH_TYPE_RAW, .config = 0x1cd, .config1 = 3, .sample_period = 100,
		    .precise_ip = 2),
	       .kernel = kernel_not_precise, .field = "precise_ip"),
	/* github.com/andikleen/pmu-tools/issues/526, github.com/intel/PerfSpect/issues/195 */
	REPORT("an event of the off-core responses in a virtual machine", VPMU, ENXIO,
	       EXTRA_REGISTER, ATTR(.type = PERCH_TYPE_RAW, .config = 0x1b7, .config1 = 0x10001),
	       .field = "config1", WORDS("hypervisor")),
	/* github.com/llnl/mitos/issues/1 */
	REPORT("memory loads by another CPU's encoding", SERVER, EINVAL, EXTRA_REGISTER,
	       OR(NO_HARDWARE_EVENT), .among = true,
	       ATTR(.type = PERCH_TYPE_RAW, .config = 0x100b, .config1 = 7, .sample_period = 4000,
		    .precise_ip = 2, USER_ONLY),
	       .pid = 0),
	/* github.com/numap-library/numap/issues/7 */
	REPORT("a clock for samples before Linux 4.1", OLD_3_13, EINVAL, TOO_NEW,
	       ATTR(CYCLES, .sample_period = 1000, .use_clockid = 1, .clockid = 1),
	       .field = "use_clockid", .since = "4.1", WORDS("4.1", "3.13.0-24-generic")),
	/* github.com/wolfpld/tracy/issues/1337 */
	REPORT("a profiler that worked until the kernel lowered its limit", THROTTLED, EINVAL,
	       FREQUENCY, ATTR(CYCLES, USER_ONLY, .freq = 1, .sample_freq = 10000),
	       .field = "sample_freq", WORDS("10000", "9000")),
	/* github.com/tud-zih-energy/lo2s/issues/128 */
	REPORT("energy in a group with cycles", SERVER, EINVAL, GROUP_PMUS, OR(GROUP_TARGET),
	       .among = true, ATTR(.type = RAPL, .config = 2), .pid = -1, CPU(0), GROUP(3),
	       .leader = &cycles_on_cpu),
	REPORT("energy that is to be sampled", SERVER, EINVAL, PMU_SAMPLING,
	       ATTR(.type = RAPL, .config = 2, .sample_period = 1000), .pid = -1, CPU(0),
	       .field = "sample_period", WORDS("power", "sample")),
	/* github.com/ocaml-bench/sandmark/issues/378 */
	REPORT("energy of one program", SERVER, EINVAL, PMU_TASK,
	       ATTR(.type = RAPL, .config = 2, .inherit = 1), .field = "pid",
	       WORDS("power", "pid -1")),
	/* github.com/andikleen/pmu-tools/issues/500 */
	REPORT("an Atom's event on a big core", HYBRID, EINVAL, PMU_CPU, OR(PRECISE), .among = true,
	       ATTR(.type = PERCH_TYPE_HARDWARE,
		    .config = (uint64_t)HYBRID_ATOM << PERCH_PMU_TYPE_SHIFT, OFTEN,
		    .precise_ip = 2),
	       .pid = -1, CPU(0)),
	REPORT("the same with the errno that kernels give today", HYBRID, ENOENT, PMU_CPU,
	       ATTR(.type = HYBRID_ATOM, .config = 0x3c, OFTEN), .pid = -1, CPU(0),
	       .kernel = kernel_hybrid, .field = "cpu", WORDS("cpu_atom", "16")),
	/* github.com/tud-zih-energy/lo2s/issues/260 */
	REPORT("raw events, which are for the big cores alone", HYBRID, ENOENT, PMU_CPU,
	       ATTR(.type = PERCH_TYPE_RAW, .config = 0x3c), .pid = -1, CPU(16), .field = "cpu",
	       WORDS("cpu_core")),
	/* github.com/facebookarchive/BOLT/issues/34, /2 and /79 there */
	REPORT("branches in a virtual machine", VPMU, EOPNOTSUPP, BRANCH_STACK,
	       ATTR(CYCLES, OFTEN, BRANCHES(PERCH_SAMPLE_BRANCH_ANY | PERCH_SAMPLE_BRANCH_USER),
		    .exclude_kernel = 1),
	       .field = "sample_type", WORDS("branch", "BRANCH_STACK")),
	/* github.com/llvm/llvm-project/issues/63077 */
	REPORT("branches on Zen 3 by another event than its own", ZEN_3, EINVAL, BRANCH_FILTER,
	       .among = true,
	       ATTR(CYCLES, .freq = 1, .sample_freq = 4000, USER_ONLY,
		    BRANCHES(PERCH_SAMPLE_BRANCH_ANY | PERCH_SAMPLE_BRANCH_USER)),
	       WORDS("branch-brs", "period")),
	/* github.com/andikleen/pmu-tools/issues/429, github.com/namhyung/uftrace/issues/297 */
	REPORT("one member too many", SERVER, EINVAL, GROUP_FULL,
	       ATTR(.type = PERCH_TYPE_RAW, .config = 0x20d1, .read_format = PERCH_FORMAT_GROUP),
	       GROUP(3), .leader = &full_leader, .kernel = kernel_four_counters,
	       .field = "group_fd", WORDS("split")),
	REPORT("the same, where perch may not ask", SERVER, EINVAL, GROUP_FULL, .among = true,
	       ATTR(.type = PERCH_TYPE_RAW, .config = 0x20d1, .read_format = PERCH_FORMAT_GROUP),
	       GROUP(3), .leader = &full_leader),
	/* github.com/theonewolf/libperf/issues/4, /6 there */
	REPORT("a cache event that the CPU does not count", SERVER, ENOENT, NO_HARDWARE_EVENT,
	       ATTR(CACHE(LL, PREFETCH, MISS)), .field = "config"),
	REPORT("a cache event that makes no sense", SERVER, EINVAL, HARDWARE_CONFIG,
	       OR(NO_HARDWARE_EVENT), .among = true, ATTR(CACHE(L1I, WRITE, ACCESS)),
	       .field = "config"),
	/* github.com/ykjit/hwtracer/pull/43 */
	REPORT("tests that trace side by side", SERVER, EBUSY, PMU_BUSY,
	       ATTR(.type = INTEL_PT, USER_ONLY), .field = "type", WORDS("intel_pt", "stop")),
};

#endif

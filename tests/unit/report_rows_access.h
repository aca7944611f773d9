/* SPDX-License-Identifier: MIT */
/* Reports about missing permission, or about a missing perf_event_open. */
#ifndef PERCH_TEST_REPORT_ROWS_ACCESS_H
#define PERCH_TEST_REPORT_ROWS_ACCESS_H

#include "report_rows.h"

static inline int kernel_behind_filter(const struct perch_attr *attr, pid_t pid, int cpu,
				       int group_fd, unsigned long flags)
{
	(void)attr, (void)pid, (void)cpu, (void)group_fd, (void)flags;
	return -EPERM;
}

static inline int kernel_without_perf(const struct perch_attr *attr, pid_t pid, int cpu,
				      int group_fd, unsigned long flags)
{
	(void)attr, (void)pid, (void)cpu, (void)group_fd, (void)flags;
	return -ENOSYS;
}

static const struct report access_reports[] = {
	/* github.com/async-profiler/async-profiler/issues/730 */
	REPORT("a profiler in a container, which advised to lower paranoid", DOCKER, EPERM, SECCOMP,
	       ATTR(CYCLES, OFTEN, USER_ONLY), WORDS("seccomp", "PERFMON", "profile")),
	REPORT("the same, where perch may ask the kernel", DOCKER, EPERM, SECCOMP,
	       ATTR(CYCLES, OFTEN, USER_ONLY), .kernel = kernel_behind_filter,
	       WORDS("seccomp", "profile")),
	/* github.com/moby/moby/issues/43163 */
	REPORT("a container with --cap-add PERFMON", DOCKER_PERFMON, EPERM, SECCOMP,
	       ATTR(CYCLES, OFTEN), WORDS("seccomp", "profile")),
	/* github.com/containers/common/pull/2534 */
	REPORT("a container with CAP_SYS_ADMIN, where perf seems to be missing", PODMAN_ADMIN,
	       ENOSYS, NO_SYSCALL, OR(SECCOMP), ATTR(CYCLES), WORDS("seccomp", "profile")),
	REPORT("the same, where perch may ask the kernel", PODMAN_ADMIN, ENOSYS, NO_SYSCALL,
	       OR(SECCOMP), ATTR(CYCLES), .kernel = kernel_without_perf,
	       WORDS("seccomp", "profile")),
	/* github.com/rr-debugger/rr/issues/3202 */
	REPORT("a program with CAP_PERFMON at paranoid 4", UBUNTU_4, EACCES, PARANOID_ALL,
	       ATTR(.type = PERCH_TYPE_RAW, .config = 0x5101c4, .sample_period = 500,
		    .exclude_kernel = 1),
	       WORDS("currently 4", "CAP_SYS_ADMIN", "kernel.perf_event_paranoid=3")),
	/* github.com/fsquillace/junest/issues/320 */
	REPORT("root of a user namespace, with every capability in it", USER_NAMESPACE, EACCES,
	       PARANOID_ALL, OR(USER_NAMESPACE), ATTR(CYCLES, OFTEN, USER_ONLY),
	       WORDS("namespace", "paranoid")),
	/* github.com/tud-zih-energy/lo2s/issues/133 */
	REPORT("paranoid 3, taken for a missing event", DEBIAN_3, EACCES, PARANOID_ALL,
	       ATTR(CYCLES, OFTEN, USER_ONLY),
	       WORDS("currently 3", "kernel.perf_event_paranoid=2")),
	/* github.com/icl-utk-edu/papi/pull/257 */
	REPORT("a probe of a library at paranoid 2", PARANOID_2, EACCES, KERNEL_PROFILING,
	       ATTR(CYCLES), .field = "exclude_kernel", WORDS("currently 2", "exclude_kernel")),
	/* github.com/fedora-selinux/selinux-policy/issues/614 */
	REPORT("a service under an enforcing policy", SELINUX, EACCES, SECURITY_MODULE,
	       ATTR(CYCLES, OFTEN), .pid = -1, CPU(0), WORDS("SELinux", "audit")),
	/* github.com/iovisor/bcc/issues/2565, github.com/iovisor/bpftrace/issues/853 */
	REPORT("a kernel probe under Secure Boot, as root", LOCKED_DOWN, EPERM, LOCKDOWN_PROBE,
	       ATTR(.type = 6, .config1 = 0x7ffe1000, .sample_period = 1), .pid = -1, CPU(0),
	       WORDS("confidentiality")),
	REPORT("registers of the kernel under Secure Boot, as root", LOCKED_DOWN, EPERM,
	       LOCKDOWN_REGS,
	       ATTR(CYCLES, OFTEN, .sample_type = PERCH_SAMPLE_REGS_INTR, .sample_regs_intr = 0xff),
	       .field = "sample_type", WORDS("confidentiality", "REGS_INTR")),
	/* github.com/scylladb/seastar/issues/2298 */
	REPORT("an arm64 server whose counters stay at 0", ARM, EOPNOTSUPP, EXCLUDE_IDLE,
	       ATTR(.type = PERCH_TYPE_HARDWARE, .config = PERCH_COUNT_HW_INSTRUCTIONS,
		    .exclude_idle = 1),
	       .field = "exclude_idle", WORDS("idle", "clear")),
	/* github.com/async-profiler/async-profiler/issues/197 */
	REPORT("an older arm64 server, taken for a matter of permission", ARM_OLD, EPERM,
	       EXCLUDE_IDLE, ATTR(CYCLES, OFTEN, .exclude_idle = 1), .field = "exclude_idle",
	       WORDS("idle", "clear")),
	/* github.com/microsoft/WSL/issues/4595, github.com/google/gvisor/issues/12241 */
	REPORT("an emulator of Linux", NO_PERF, ENOSYS, NO_SYSCALL, ATTR(CYCLES),
	       WORDS("perf events", "CONFIG_PERF_EVENTS")),
	REPORT("the same, where perch may ask the kernel", NO_PERF, ENOSYS, NO_SYSCALL,
	       ATTR(CYCLES), .kernel = kernel_without_perf,
	       WORDS("perf events", "CONFIG_PERF_EVENTS")),
	/* github.com/andrewrk/poop/issues/17: after fixing the level, kernel profiling is next */
	REPORT("a benchmark at paranoid 4", UBUNTU_4, EACCES, PARANOID_ALL,
	       ATTR(CYCLES, .inherit = 1, .enable_on_exec = 1),
	       WORDS("4", "kernel.perf_event_paranoid", "CAP_SYS_ADMIN")),
	REPORT("a benchmark of an ordinary user at paranoid 3", DEBIAN_3, EACCES, PARANOID_ALL,
	       ATTR(CYCLES, .inherit = 1, .enable_on_exec = 1), WORDS("3", "exclude_kernel")),
	/* not from a report: a check that was added in 2026 */
	REPORT("callchains of user space alone, after an update", BACKPORTED, EACCES,
	       CALLCHAIN_KERNEL,
	       ATTR(CYCLES, OFTEN, USER_ONLY,
		    .sample_type = PERCH_SAMPLE_IP | PERCH_SAMPLE_CALLCHAIN),
	       .field = "exclude_callchain_kernel", WORDS("exclude_callchain_kernel")),
};

#endif

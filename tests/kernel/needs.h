/* SPDX-License-Identifier: MIT */
/*
 * What a test needs of the kernel and the machine. Each function asks by using the feature, and
 * prints the reason if the test must be skipped. Include after <cmocka.h>.
 */
#ifndef PERCH_TESTS_NEEDS_H
#define PERCH_TESTS_NEEDS_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <perch/abi.h>
#include <perch/machine.h>

#include "host.h"

/*
 * True, with a message, if this user may open no event at all: Debian's kernels refuse an ordinary
 * user if kernel.perf_event_paranoid is 3. A test program then exits with status 77.
 */
static inline bool every_event_is_refused(void)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
				   .size = PERCH_ATTR_SIZE_VER5,
				   .config = PERCH_COUNT_SW_DUMMY,
				   .disabled = 1,
				   .exclude_kernel = 1 };
	int event = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERCH_FLAG_FD_CLOEXEC);

	if (event >= 0)
		close(event);
	else
		printf("skipped: this user may open no event: %s\n", strerror(errno));
	return event < 0;
}

/*
 * False if events cannot be opened on the cgroup because it has no perf_event. Without a service
 * manager, cgroups below the root have none until another controller is enabled for them.
 */
static inline bool cgroup_has_perf_event(const char *directory)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
				   .size = PERCH_ATTR_SIZE_VER5,
				   .config = PERCH_COUNT_SW_DUMMY,
				   .disabled = 1 };
	int cgroup = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int event = syscall(SYS_perf_event_open, &attr, cgroup, 0, -1,
			    PERCH_FLAG_PID_CGROUP | PERCH_FLAG_FD_CLOEXEC);
	bool has = event >= 0 || errno != ENOENT;

	if (event >= 0)
		close(event);
	if (cgroup >= 0)
		close(cgroup);
	return has;
}

/*
 * Makes a cgroup named perch-test-PID that can be measured, and stores its path. The test removes
 * it.
 */
static inline void needs_cgroup(char *directory, size_t size)
{
	struct perch_machine *machine;
	struct perch_error err;
	char root[4096];
	int rc;

	assert_int_equal(perch_machine_new(&machine, NULL, NULL, NULL), 0);
	rc = perch_machine_cgroups(machine, root, sizeof(root), &err);
	perch_machine_free(machine);
	if (rc < 0) {
		print_message("skipped: %s\n", err.message);
		skip();
	}
	assert_in_range(snprintf(directory, size, "%s/perch-test-%d", root, (int)getpid()), 1,
			size - 1);
	if (mkdir(directory, 0755)) {
		print_message("skipped: cannot make a cgroup in %s: %s\n", root, strerror(errno));
		skip();
	}
	if (!cgroup_has_perf_event(directory)) {
		rmdir(directory);
		print_message("skipped: cgroups below %s have no perf_event: no controller is "
			      "enabled in its cgroup.subtree_control\n",
			      root);
		skip();
	}
}

/* The name of the cgroup below the mount point. */
static inline const char *cgroup_name(const char *directory)
{
	return strrchr(directory, '/') + 1;
}

/*
 * False, with a message, if breakpoints can be opened here and never fire. True if they cannot be
 * opened: the test finds that out.
 */
static inline bool breakpoints_may_fire(void)
{
	bool never = host_breakpoints_fire() == 0;

	if (never)
		print_message("skipped: breakpoints can be opened here and never fire\n");
	return !never;
}

/* Skips a test of hits, samples or signals of breakpoints where they never fire. */
static inline void needs_breakpoints_that_fire(void)
{
	if (!breakpoints_may_fire())
		skip();
}

static inline int open_write_breakpoint(volatile uint64_t *at)
{
	struct perch_attr attr = { .type = PERCH_TYPE_BREAKPOINT,
				   .size = PERCH_ATTR_SIZE_VER5,
				   .bp_type = PERCH_BREAKPOINT_W,
				   .bp_addr = (uintptr_t)at,
				   .bp_len = sizeof(*at),
				   .sample_period = 1,
				   .exclude_kernel = 1 };

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERCH_FLAG_FD_CLOEXEC);
}

/*
 * Skips if some writes are more than one hit of a data breakpoint, as in QEMU without KVM. A
 * machine without breakpoints passes: the test finds that out.
 */
static inline void needs_one_hit_per_write(void)
{
	static volatile uint64_t data[2];
	int first = open_write_breakpoint(&data[0]), second = open_write_breakpoint(&data[1]);
	uint64_t hits[2] = { 0 };
	bool all_read;

	for (int i = 0; i < 32; i++) {
		data[1] = i;
		data[1] = i;
		data[0] = i;
	}
	all_read = read(first, &hits[0], sizeof(hits[0])) > 0 &&
		   read(second, &hits[1], sizeof(hits[1])) > 0;
	if (first >= 0)
		close(first);
	if (second >= 0)
		close(second);
	if (!all_read || (hits[0] == 32 && hits[1] == 64))
		return;
	print_message("skipped: 32 and 64 writes are %d and %d hits of breakpoints here\n",
		      (int)hits[0], (int)hits[1]);
	skip();
}

/*
 * Skips if a sample of cpu-clock takes longer than this. A program makes no progress if it takes as
 * long as the time to the next sample: it would read records more slowly than they are written.
 */
static inline void needs_samples_within(double most)
{
	double cost = host_sample_cost();

	if (cost <= most)
		return;
	print_message("skipped: a sample of cpu-clock takes %.0f us here, and the test needs one "
		      "within %.0f us\n",
		      cost * 1e6, most * 1e6);
	skip();
}

#endif

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
 * Skips if a write is more than one hit of a data breakpoint, as in QEMU without KVM. A machine
 * without breakpoints passes: the test finds that out.
 */
static inline void needs_one_hit_per_write(void)
{
	static volatile uint64_t data;
	struct perch_attr attr = { .type = PERCH_TYPE_BREAKPOINT,
				   .size = PERCH_ATTR_SIZE_VER5,
				   .bp_type = PERCH_BREAKPOINT_W,
				   .bp_addr = (uintptr_t)&data,
				   .bp_len = sizeof(data),
				   .exclude_kernel = 1 };
	int event = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERCH_FLAG_FD_CLOEXEC);
	uint64_t hits = 1;

	if (event < 0)
		return;
	data = 1;
	if (read(event, &hits, sizeof(hits)) != sizeof(hits))
		hits = 1;
	close(event);
	if (hits == 1)
		return;
	print_message("skipped: one write is %d hits of a breakpoint on this machine\n", (int)hits);
	skip();
}

#endif

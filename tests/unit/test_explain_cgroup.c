/* SPDX-License-Identifier: MIT */
/* Messages about refused cgroups: descriptor, path and hierarchy. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/explain.h>

#include "tree.h"

#define SOFTWARE                                                           \
	.type = PERCH_TYPE_SOFTWARE, .config = PERCH_COUNT_SW_PAGE_FAULTS, \
	.size = sizeof(struct perch_attr)

/* The mounts of the process, and the controllers that cgroup v1 has. */
static const struct tree_file cgroup_files[] = {
	{ "/proc/77/mounts",
	  "tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"
	  "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,relatime,cpu,cpuacct 0 0\n"
	  "cgroup /sys/fs/cgroup/systemd cgroup rw,xattr,name=systemd 0 0\n"
	  "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,nsdelegate 0 0\n"
	  "cgroup /sys/fs/cgroup/unified/the\\040old cgroup rw,cpuset 0 0\n"
	  "tmpfs /sys/fs/cgroup/unified/hidden tmpfs rw 0 0\n" },
	{ "/proc/77/fd/0", "" },
	{ "/proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpuset\t0\t1\t1\n"
			   "cpu\t3\t1\t1\ncpuacct\t3\t1\t1\n" },
};

/* The directory of a descriptor of the process, and the hierarchy that has it. */
static void names_the_directory_and_the_hierarchy_of_a_cgroup(void **state)
{
	static const struct {
		const char *directory, *text;
	} rows[] = {
		{ "/sys/fs/cgroup/cpu,cpuacct/a",
		  "pid is descriptor 5 (/sys/fs/cgroup/cpu,cpuacct/a, cgroup v1: cpu cpuacct), which" },
		{ "/sys/fs/cgroup/systemd",
		  "pid is descriptor 5 (/sys/fs/cgroup/systemd, cgroup v1: name=systemd), which" },
		{ "/sys/fs/cgroup/unified/b/c",
		  "pid is descriptor 5 (/sys/fs/cgroup/unified/b/c, cgroup2), which" },
		{ "/sys/fs/cgroup/unified/the old/a",
		  "pid is descriptor 5 (/sys/fs/cgroup/unified/the old/a, cgroup v1: cpuset), which" },
		{ "/sys/fs/cgroup/unified/hidden/a",
		  "pid is descriptor 5 (/sys/fs/cgroup/unified/hidden/a), which" },
		{ "/sys/fs/cgroup/cpu,cpuacct2",
		  "pid is descriptor 5 (/sys/fs/cgroup/cpu,cpuacct2), which" },
		{ "/tmp", "pid is descriptor 5 (/tmp), which is not a cgroup directory" },
		{ NULL, "pid is descriptor 5 (not open), which is not a cgroup directory" },
	};
	struct perch_attr attr = { SOFTWARE };
	struct perch_open_call call = { .attr = &attr,
					.pid = 5,
					.group_fd = -1,
					.flags = PERCH_FLAG_PID_CGROUP,
					.errnum = EBADF };
	struct perch_machine *there;
	char directory[PATH_MAX], link[PATH_MAX + 32];
	struct perch_error err;

	(void)state;
	tree_make(directory, cgroup_files, sizeof(cgroup_files) / sizeof(*cgroup_files));
	assert_int_equal(perch_machine_new(&there, directory, NULL, NULL), 0);
	perch_machine_set_process(there, 77);
	snprintf(link, sizeof(link), "%s/proc/77/fd/5", directory);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (rows[i].directory)
			assert_int_equal(symlink(rows[i].directory, link), 0);
		perch_explain(&call, there, &err);
		if (!strstr(err.message, rows[i].text))
			fail_msg("%s: %s", rows[i].text, err.message);
		assert_true(!rows[i].directory || !unlink(link));
	}
	call.from_log = true; /* the process is another one */
	perch_explain(&call, there, &err);
	assert_non_null(strstr(err.message, "pid is descriptor 5, which is not"));
	perch_machine_free(there);
	tree_remove(directory);
}

/* The descriptors of the caller itself, and the leader's cgroup. */
static void names_both_cgroups_of_a_group(void **state)
{
	struct perch_attr attr = { SOFTWARE };
	int own = open("/", O_RDONLY | O_DIRECTORY), other = open("/proc", O_RDONLY | O_DIRECTORY);
	struct perch_open_call_leader leader = { .attr = &attr,
						 .pid = other,
						 .flags = PERCH_FLAG_PID_CGROUP };
	struct perch_open_call call = { .attr = &attr,
					.pid = own,
					.pid_is_cgroup_fd = true,
					.group_fd = 9,
					.leader = &leader,
					.flags = PERCH_FLAG_PID_CGROUP,
					.errnum = EINVAL };
	char text[128];
	struct perch_error err;

	(void)state;
	perch_explain(&call, NULL, &err);
	snprintf(text, sizeof(text),
		 "it is descriptor %d (/) here, descriptor %d (/proc) in the leader", own, other);
	if (!strstr(err.message, text))
		fail_msg("%s: %s", text, err.message);
	close(own);
	close(other);
}

/* Messages name the argument that the caller has passed. */
static void names_cgroup_fd_or_pid(void **state)
{
	struct perch_attr attr = { SOFTWARE };
	struct perch_open_call call = { .attr = &attr,
					.pid = 5,
					.cpu = 1,
					.group_fd = -1,
					.flags = PERCH_FLAG_PID_CGROUP,
					.errnum = EBADF };
	struct perch_error err;

	(void)state;
	perch_explain(&call, NULL, &err);
	assert_string_equal(err.field, "pid");
	assert_non_null(strstr(err.message, "pid is descriptor 5"));
	call.pid_is_cgroup_fd = true;
	perch_explain(&call, NULL, &err);
	assert_string_equal(err.field, "cgroup_fd");
	assert_non_null(strstr(err.message, "cgroup_fd is descriptor 5"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_the_directory_and_the_hierarchy_of_a_cgroup),
		cmocka_unit_test(names_both_cgroups_of_a_group),
		cmocka_unit_test(names_cgroup_fd_or_pid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

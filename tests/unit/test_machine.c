/* SPDX-License-Identifier: MIT */
/* A machine that a directory tree and a table of system calls describe. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/machine.h>

#include "tree.h"

#define PMUS "/sys/bus/event_source/devices/"

static const struct tree_file files[] = {
	{ "/proc/sys/kernel/osrelease", "7.2.3-fancy\n" },
	{ "/proc/sys/kernel/perf_event_paranoid", "-1\n" },
	{ "/proc/sys/kernel/perf_event_max_sample_rate", "25000\n" },
	{ "/proc/sys/kernel/kptr_restrict", "nonsense\n" },
	{ "/proc/self/status", "Name:\tx\nCapInh:\t0000000000000000\nCapEff:\t0000004000000000\n" },
	{ "/proc/self/limits",
	  "Limit                     Soft Limit           Hard Limit           Units     \n"
	  "Max open files            1024                 4096                 files     \n"
	  "Max locked memory         unlimited            unlimited            bytes     \n" },
	{ "/sys/devices/system/cpu/online", "0-2,5\n" },
	{ "/sys/devices/system/cpu/present", "0-7\n" },
	{ PMUS "cpu/type", "4\n" },
	{ PMUS "uncore_imc/type", "23\n" },
	{ PMUS "uncore_imc/cpumask", "0,4\n" },
	{ PMUS "cpu_atom/type", "10\n" },
	{ PMUS "cpu_atom/cpus", "4-7\n" },
	{ PMUS "broken/type", "" },
	{ PMUS "nothing/events/x", "event=1\n" },
	{ "/sys/kernel/debug/tracing/events/sched/sched_switch/id", "314\n" },
	{ "/sys/devices/system/cpu/cpu0/topology/core_id", "4\n" },
	{ "/sys/devices/system/cpu/cpu0/topology/die_id", "1\n" },
	{ "/sys/devices/system/cpu/cpu0/topology/physical_package_id", "2\n" },
	{ "/sys/devices/system/cpu/cpu5/topology/core_id", "-1\n" },
	{ "/sys/devices/system/cpu/cpu5/topology/die_id", "1x\n" },
	{ "/sys/devices/system/node/node0/cpulist", "1-3\n" },
	{ "/sys/devices/system/node/node17/cpulist", "0,5\n" },
	{ "/sys/devices/system/node/node3/cpulist", "\n" },
	{ "/sys/devices/system/node/node/cpulist", "0\n" },
	{ "/sys/devices/system/node/nodes", "0\n" },
};

static struct perch_machine *described;
static char root[PATH_MAX];

static int setup(void **state)
{
	(void)state;
	tree_make(root, files, sizeof(files) / sizeof(*files));
	return perch_machine_new(&described, root, NULL, NULL);
}

static int teardown(void **state)
{
	(void)state;
	perch_machine_free(described);
	tree_remove(root);
	return 0;
}

static void reads_release(void **state)
{
	struct perch_release release;

	(void)state;
	assert_int_equal(perch_machine_release(described, &release, NULL), 0);
	assert_int_equal(release.major, 7);
	assert_int_equal(release.minor, 2);
	assert_int_equal(release.patch, 3);
	assert_string_equal(release.text, "7.2.3-fancy");
}

static void reads_sysctls(void **state)
{
	struct perch_error err;
	long value = 0;

	(void)state;
	assert_int_equal(perch_machine_sysctl(described, PERCH_SYSCTL_PARANOID, &value, &err), 0);
	assert_int_equal(value, -1);
	assert_int_equal(
		perch_machine_sysctl(described, PERCH_SYSCTL_MAX_SAMPLE_RATE, &value, &err), 0);
	assert_int_equal(value, 25000);
	assert_int_equal(perch_machine_sysctl(described, PERCH_SYSCTL_MLOCK_KB, &value, &err),
			 -ENOENT);
	assert_int_equal(perch_machine_sysctl(described, PERCH_SYSCTL_MLOCK_KB, &value, &err),
			 -ENOENT);
	assert_true(perch_machine_sysctl(described, PERCH_SYSCTL_KPTR_RESTRICT, &value, &err) < 0);
	assert_int_equal(perch_machine_sysctl(described, PERCH_SYSCTL_MAX, &value, &err), -EINVAL);
	assert_int_equal(perch_machine_sysctl(NULL, (enum perch_sysctl) - 1, &value, &err),
			 -EINVAL);
	for (int i = 0; i < PERCH_SYSCTL_MAX; i++)
		assert_true(!strncmp(perch_sysctl_name(i), "kernel.", 7));
}

static void reads_capabilities_and_limits(void **state)
{
	struct perch_limits limits;
	uint64_t effective;

	(void)state;
	assert_int_equal(perch_machine_capabilities(described, &effective, NULL), 0);
	assert_true(effective == UINT64_C(1) << PERCH_CAP_PERFMON);
	assert_true(perch_machine_privileged(described));
	assert_int_equal(perch_machine_limits(described, &limits, NULL), 0);
	assert_int_equal(limits.descriptors, 1024);
	assert_int_equal(limits.descriptors_hard, 4096);
	assert_true(limits.locked_bytes == UINT64_MAX);
	assert_int_equal(limits.page_bytes, sysconf(_SC_PAGESIZE));
}

static void reads_cpus(void **state)
{
	const struct perch_cpus *cpus;
	size_t nr;

	(void)state;
	assert_int_equal(perch_machine_cpus(described, &cpus, NULL), 0);
	assert_int_equal(cpus->nr, 4);
	assert_int_equal(cpus->cpu[3], 5);
	assert_int_equal(perch_machine_cpus_present(described, &nr, NULL), 0);
	assert_int_equal(nr, 8);
}

static void parses_cpu_lists(void **state)
{
	static const char *const bad[] = {
		"",	 ",", "1,", "-1",      "1-",	      "3-2",
		"1-2-3", "a", "1 ", "0-70000", "99999999999", "0-65535,0-65535,0-65535"
	};
	struct perch_error err;
	struct perch_cpus cpus;

	(void)state;
	assert_int_equal(perch_cpus_parse(&cpus, "5,1-3,2,0", NULL), 0);
	assert_int_equal(cpus.nr, 5);
	for (int i = 0; i < 4; i++)
		assert_int_equal(cpus.cpu[i], i);
	assert_int_equal(cpus.cpu[4], 5);
	assert_true(perch_cpus_contains(&cpus, 0));
	assert_true(perch_cpus_contains(&cpus, 5));
	assert_false(perch_cpus_contains(&cpus, 4));
	assert_false(perch_cpus_contains(&cpus, -1));
	perch_cpus_clear(&cpus);
	assert_false(perch_cpus_contains(&cpus, 0));
	assert_true(perch_cpus_contains(NULL, 0)); /* every CPU */
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(perch_cpus_parse(&cpus, bad[i], &err), -EINVAL);
		assert_int_equal(cpus.nr, 0);
		assert_null(cpus.cpu);
		assert_true(err.column >= 0 && err.column <= (int)strlen(bad[i]));
	}
}

static void reads_pmus(void **state)
{
	const struct perch_pmu *pmus;
	size_t nr;

	(void)state;
	assert_int_equal(perch_machine_pmus(described, &pmus, &nr, NULL), 0);
	assert_int_equal(nr, 3);
	assert_string_equal(pmus[0].name, "cpu");
	assert_int_equal(pmus[0].type, 4);
	assert_int_equal(pmus[0].cpus.nr, 0);
	assert_string_equal(pmus[1].name, "cpu_atom");
	assert_int_equal(pmus[1].cpus.nr, 4);
	assert_string_equal(pmus[2].name, "uncore_imc");
	assert_int_equal(pmus[2].cpus.cpu[1], 4);
	assert_ptr_equal(perch_machine_pmu(described, "cpu_atom"), &pmus[1]);
	assert_true(pmus[0].core && pmus[1].core);
	assert_false(pmus[2].core);
	assert_ptr_equal(perch_machine_pmu_of_type(described, 10), &pmus[1]);
	assert_null(perch_machine_pmu_of_type(described, 11));
	assert_null(perch_machine_pmu(described, "nothing"));
}

static void reads_cpu_topology(void **state)
{
	struct perch_cpu_topology topology;
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_machine_cpu_topology(described, 0, &topology, &err), 0);
	assert_int_equal(topology.cpu, 0);
	assert_int_equal(topology.core, 4);
	assert_int_equal(topology.die, 1);
	assert_int_equal(topology.socket, 2);
	assert_int_equal(topology.node, 17);
	assert_int_equal(perch_machine_cpu_topology(described, 5, &topology, &err), 0);
	assert_int_equal(topology.cpu, 5);
	assert_int_equal(topology.core, -1);   /* the kernel writes -1 for an unknown number */
	assert_int_equal(topology.die, -1);    /* not a number */
	assert_int_equal(topology.socket, -1); /* no file */
	assert_int_equal(topology.node, 17);
	assert_int_equal(perch_machine_cpu_topology(described, 4, &topology, &err), -ENODEV);
	assert_int_equal(err.kind, PERCH_ERROR_NO_CPU);
	assert_int_equal(perch_machine_cpu_topology(described, -1, &topology, &err), -EINVAL);
}

/* Returns the result of perch_machine_cgroups() for these mounts, without the root, or "" if it
 * finds none. */
static const char *find_cgroups(const char *mounts)
{
	const struct tree_file file = { "/proc/self/mounts", mounts };
	static char path[2 * PATH_MAX];
	char tree[PATH_MAX];
	struct perch_machine *machine;
	struct perch_error err;
	size_t length;
	int rc;

	tree_make(tree, &file, 1);
	length = strlen(tree);
	assert_int_equal(perch_machine_new(&machine, tree, NULL, NULL), 0);
	rc = perch_machine_cgroups(machine, path, sizeof(path), &err);
	if (rc == 0) {
		char small[8];

		assert_memory_equal(path, tree, length);
		assert_int_equal(perch_machine_cgroups(machine, small, sizeof(small), &err),
				 -ENAMETOOLONG);
	} else {
		assert_int_equal(rc, -ENOENT);
		assert_true(err.remedy[0]);
	}
	perch_machine_free(machine);
	tree_remove(tree);
	return rc ? "" : path + length;
}

static void finds_cgroup_mount(void **state)
{
	char path[PATH_MAX];

	(void)state;
	assert_string_equal(
		find_cgroups(
			"proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"),
		"/sys/fs/cgroup");
	assert_string_equal(find_cgroups("cgroup2 /u cgroup2 rw 0 0\ncgroup /c cgroup rw,cpu 0 0\n"
					 "cgroup /p cgroup rw,net_cls,perf_event 0 0\n"),
			    "/p");
	assert_string_equal(
		find_cgroups(
			"cgroup /p cgroup rw,perf_events,my_perf_event 0 0\ncgroup2 /u cgroup2 rw 0 0\n"),
		"/u");
	assert_string_equal(find_cgroups("cgroup2 /a\\040b\\134c cgroup2 rw 0 0\n"), "/a b\\c");
	assert_string_equal(
		find_cgroups("cgroup2 /first cgroup2 rw 0 0\ncgroup2 /second cgroup2 rw 0 0\n"),
		"/first");
	assert_string_equal(
		find_cgroups(
			"x cgroup2 cgroup2 rw 0 0\n\n \ncgroup2\ncgroup2 /x\ncgroup2 /x cgroup2\n"),
		"");
	assert_string_equal(find_cgroups(""), "");
	/* no /proc/self/mounts */
	assert_int_equal(perch_machine_cgroups(described, path, sizeof(path), NULL), -ENOENT);
}

static void reads_files_below_root(void **state)
{
	char text[8], path[PATH_MAX], small[4];

	(void)state;
	assert_int_equal(
		perch_machine_read(described, "/proc/sys/kernel/osrelease", text, sizeof(text)), 7);
	assert_string_equal(text, "7.2.3-f");
	assert_int_equal(perch_machine_read(described, "/proc/none", text, sizeof(text)), -ENOENT);
	assert_int_equal(perch_machine_path(described, "/proc", small, sizeof(small)),
			 -ENAMETOOLONG);
	assert_true(perch_machine_path(described, "/proc", path, sizeof(path)) > 0);
	assert_string_equal(path + strlen(path) - 5, "/proc");
	assert_int_equal(perch_machine_tracefs(described, path, sizeof(path), NULL), 0);
	assert_string_equal(path + strlen(root), "/sys/kernel/debug/tracing");
}

static void reports_missing_files(void **state)
{
	const struct perch_cpus *cpus;
	const struct perch_pmu *pmus;
	struct perch_machine *empty;
	struct perch_limits limits;
	struct perch_release release;
	struct perch_error err;
	char path[2 * PATH_MAX];
	uint64_t effective;
	size_t nr;

	(void)state;
	snprintf(path, sizeof(path), "%s/nowhere/", root);
	assert_int_equal(perch_machine_new(&empty, path, NULL, &err), 0);
	assert_int_equal(perch_machine_release(empty, &release, &err), -ENOENT);
	assert_int_equal(perch_machine_cpus(empty, &cpus, &err), -ENOENT);
	assert_int_equal(perch_machine_cpus_present(empty, &nr, &err), -ENOENT);
	assert_int_equal(perch_machine_pmus(empty, &pmus, &nr, &err), -ENOENT);
	assert_int_equal(nr, 0);
	assert_null(perch_machine_pmu(empty, "cpu"));
	assert_int_equal(perch_machine_limits(empty, &limits, &err), -ENOENT);
	assert_int_equal(perch_machine_capabilities(empty, &effective, &err), -ENOENT);
	assert_false(perch_machine_privileged(empty));
	assert_int_equal(perch_machine_tracefs(empty, path, sizeof(path), &err), -ENOENT);
	assert_true(err.remedy[0]);
	perch_machine_free(empty);
}

/* A group is another number outside the user namespace, where tracefs is mounted. */
static void remounts_tracefs_for_the_group_outside(void **state)
{
	static const struct {
		const char *map; /* "%u" is the group of the test */
		const char *advice;
	} rows[] = {
		{ NULL, "as root, give the group of this user access: mount -o remount,gid=%u," },
		{ "         0          0 4294967295\n",
		  "as root, give the group of this user access: mount -o remount,gid=%u," },
		{ "%u 4321 1\n",
		  "as root outside the user namespace, give the group that this user "
		  "has there access: mount -o remount,gid=4321," },
		{ "4000000000 0 1\n%u 7 1\n", "remount,gid=7," },
		{ "", "access: mount -o remount,gid=GROUP," },
		{ "4000000000 0 1\n", "outside the user namespace, give a group of this user there "
				      "access: mount -o remount,gid=GROUP," },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char map[128], advice[256], directory[PATH_MAX];
		const struct tree_file there[] = { { "/sys/kernel/tracing/README", "" },
						   { "/proc/self/gid_map", map } };
		struct perch_machine *inside;
		struct perch_error err;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(map, sizeof(map), rows[i].map ? rows[i].map : "", (unsigned)getgid());
		snprintf(advice, sizeof(advice), rows[i].advice, (unsigned)getgid());
#pragma GCC diagnostic pop
		tree_make(directory, there, rows[i].map ? 2 : 1);
		assert_int_equal(perch_machine_new(&inside, directory, NULL, NULL), 0);
		assert_int_equal(perch_machine_tracefs_error(inside, &err), -EACCES);
		if (!strstr(err.remedy, advice))
			fail_msg("%s: %s", advice, err.remedy);
		perch_machine_free(inside);
		tree_remove(directory);
	}
}

static int count_and_refuse(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
			    int group_fd, unsigned long flags)
{
	(void)attr, (void)pid, (void)cpu, (void)group_fd, (void)flags;
	++*(int *)context;
	errno = ENOSYS;
	return -1;
}

static void uses_given_system_calls(void **state)
{
	int nr_calls = 0;
	struct perch_syscalls syscalls = perch_kernel_syscalls;
	const struct perch_syscalls *used;
	struct perch_machine *machine;
	struct perch_attr attr = { 0 };

	(void)state;
	assert_ptr_equal(perch_machine_syscalls(NULL), &perch_kernel_syscalls);
	assert_ptr_equal(perch_machine_syscalls(described), &perch_kernel_syscalls);
	syscalls.context = &nr_calls;
	syscalls.perf_event_open = count_and_refuse;
	assert_int_equal(perch_machine_new(&machine, NULL, &syscalls, NULL), 0);
	used = perch_machine_syscalls(machine);
	assert_int_equal(used->perf_event_open(used->context, &attr, 0, -1, -1, 0), -1);
	assert_int_equal(errno, ENOSYS);
	assert_int_equal(nr_calls, 1);
	perch_machine_free(machine);
	perch_machine_free(NULL);
}

static void reads_local_machine(void **state)
{
	const struct perch_cpus *cpus;
	struct perch_machine *local;
	struct perch_release release;
	struct perch_limits limits;

	(void)state;
	if (access("/sys/devices/system/cpu", F_OK)) {
		print_message("skipped: /sys is not mounted\n");
		skip();
	}
	assert_int_equal(perch_machine_new(&local, "", NULL, NULL), 0);
	assert_int_equal(perch_machine_release(local, &release, NULL), 0);
	assert_true(release.major >= 3);
	assert_int_equal(perch_machine_cpus(local, &cpus, NULL), 0);
	assert_int_equal(cpus->nr, sysconf(_SC_NPROCESSORS_ONLN));
	for (size_t i = 0; i < cpus->nr; i++) {
		struct perch_cpu_topology topology;

		assert_int_equal(perch_machine_cpu_topology(local, cpus->cpu[i], &topology, NULL),
				 0);
		assert_int_equal(topology.cpu, cpus->cpu[i]);
	}
	assert_int_equal(perch_machine_limits(local, &limits, NULL), 0);
	assert_true(limits.descriptors && limits.descriptors <= limits.descriptors_hard);
	perch_machine_free(local);
}

/* CPUs go away and come back. */
static void updates_cpus(void **state)
{
	static const struct tree_file file = { "/sys/devices/system/cpu/online", "0-1\n" };
	struct perch_machine *machine;
	const struct perch_cpus *cpus, *again;
	char tree[PATH_MAX], path[PATH_MAX + 64];
	struct perch_error err;

	(void)state;
	tree_make(tree, &file, 1);
	snprintf(path, sizeof(path), "%s%s", tree, file.path);
	assert_int_equal(perch_machine_new(&machine, tree, NULL, NULL), 0);
	assert_int_equal(perch_machine_update_cpus(machine, &err), 0);
	assert_int_equal(perch_machine_cpus(machine, &cpus, NULL), 0);
	assert_int_equal(cpus->nr, 2);
	assert_int_equal(perch_machine_update_cpus(machine, NULL), 0);
	for (int i = 0; i < 3; i++) {
		static const char *const lists[] = { "0\n", "0-1\n", "0,2\n" };

		tree_write(path, lists[i]);
		assert_int_equal(perch_machine_update_cpus(machine, &err), 1);
		assert_int_equal(perch_machine_update_cpus(machine, &err), 0);
		assert_int_equal(perch_machine_cpus(machine, &cpus, NULL), 0);
		assert_int_equal(cpus->nr, i ? 2 : 1);
		assert_int_equal(cpus->cpu[cpus->nr - 1], i);
	}
	assert_int_equal(unlink(path), 0);
	assert_int_equal(perch_machine_update_cpus(machine, &err), -ENOENT);
	assert_int_equal(perch_machine_cpus(machine, &again, NULL), 0);
	assert_int_equal(again->nr, 2);
	perch_machine_free(machine);
	tree_remove(tree);
}

/* A chroot without sysfs: the CPUs are those of /proc/stat. */
static void finds_cpus_without_sysfs(void **state)
{
	static const struct {
		const char *stat;
		size_t nr;
		int cpus[3];
	} rows[] = {
		{ "cpu  1 2 3\ncpu0 1 2 3\ncpu2 1 2 3\ncpu3 1\nintr 5\ncpu4 1\n", 3, { 0, 2, 3 } },
		{ "cpu  1 2 3\ncpu1", 1, { 1 } },
		{ "cpu  1 2 3\ncpu99999999999 1\ncpux 1\n", 0, { 0 } },
		{ "", 0, { 0 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct tree_file file = { "/proc/stat", rows[i].stat };
		struct perch_machine *chroot_machine;
		const struct perch_cpus *cpus;
		char tree[PATH_MAX];
		int rc;

		tree_make(tree, &file, 1);
		assert_int_equal(perch_machine_new(&chroot_machine, tree, NULL, NULL), 0);
		rc = perch_machine_cpus(chroot_machine, &cpus, NULL);
		assert_int_equal(rc, rows[i].nr ? 0 : -ENOENT);
		if (!rc) {
			assert_int_equal(cpus->nr, rows[i].nr);
			assert_memory_equal(cpus->cpu, rows[i].cpus, cpus->nr * sizeof(int));
		}
		perch_machine_free(chroot_machine);
		tree_remove(tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(updates_cpus),
		cmocka_unit_test(finds_cpus_without_sysfs),
		cmocka_unit_test(reads_release),
		cmocka_unit_test(reads_sysctls),
		cmocka_unit_test(reads_capabilities_and_limits),
		cmocka_unit_test(reads_cpus),
		cmocka_unit_test(parses_cpu_lists),
		cmocka_unit_test(reads_pmus),
		cmocka_unit_test(reads_files_below_root),
		cmocka_unit_test(reports_missing_files),
		cmocka_unit_test(remounts_tracefs_for_the_group_outside),
		cmocka_unit_test(uses_given_system_calls),
		cmocka_unit_test(reads_local_machine),
		cmocka_unit_test(reads_cpu_topology),
		cmocka_unit_test(finds_cgroup_mount),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

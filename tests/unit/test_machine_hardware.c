/* SPDX-License-Identifier: MIT */
/* Described machines: hypervisors, PMU capabilities, distributions, the size of the attr. */
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
#include <cmocka.h>

#include <perch/machine.h>

#include "tree.h"

#define PMUS "/sys/bus/event_source/devices/"

static struct perch_machine *make_machine(char *root, const struct tree_file *files, size_t nr,
					  const struct perch_syscalls *syscalls)
{
	struct perch_machine *machine;

	tree_make(root, files, nr);
	assert_int_equal(perch_machine_new(&machine, root, syscalls, NULL), 0);
	return machine;
}

static void remove_machine(struct perch_machine *machine, const char *root)
{
	perch_machine_free(machine);
	tree_remove(root);
}

static void detects_virtual_machines(void **state)
{
	static const struct {
		struct tree_file file;
		int expected;
	} machines[] = {
		{ { "/proc/cpuinfo",
		    "processor\t: 0\nflags\t\t: fpu hypervisor lahf\nbugs\t: x\n" },
		  1 },
		{ { "/proc/cpuinfo",
		    "processor\t: 0\nflags\t\t: fpu sse2 hypervisor\n\nprocessor\t: 1\n" },
		  1 },
		{ { "/proc/cpuinfo",
		    "processor\t: 0\nflags\t\t: fpu hypervisors\nbugs\t: hypervisor\n" },
		  0 },
		{ { "/proc/cpuinfo", "processor\t: 0\nFeatures\t: fp asimd\n" }, -1 },
		{ { "/proc/device-tree/hypervisor/compatible", "linux,kvm" }, 1 },
		{ { "/sys/hypervisor/type", "xen\n" }, 1 },
		{ { "/sys/class/dmi/id/sys_vendor", "QEMU\n" }, 1 },
		{ { "/sys/class/dmi/id/sys_vendor", "Ampere(R)\n" }, 0 },
		{ { "/sys/class/dmi/id/product_name", "KVM Virtual Machine\n" }, 1 },
		{ { "/proc/sysinfo", "LPAR Number:   2\nVM00 Control Program: z/VM\n" }, 1 },
		{ { "/proc/sysinfo", "LPAR Number:   2\n" }, 0 },
		{ { "/proc/version", "Linux\n" }, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		char root[PATH_MAX];
		struct perch_machine *machine = make_machine(root, &machines[i].file, 1, NULL);

		print_message("%s", machines[i].file.text);
		assert_int_equal(perch_machine_virtual(machine), machines[i].expected);
		remove_machine(machine, root);
	}
}

static void reads_distribution(void **state)
{
	static const struct {
		struct tree_file file;
		const char *expected;
	} machines[] = {
		{ { "/etc/os-release",
		    "PRETTY_NAME=\"Debian\"\nVERSION_ID=\"12\"\nVERSION=\"12 (x)\"\nID=debian\n" },
		  "debian 12" },
		{ { "/etc/os-release", "ID=\"ol\"\nVERSION_ID='9.4'\n" }, "ol 9.4" },
		{ { "/usr/lib/os-release", "ID=arch\nBUILD_ID=rolling" }, "arch" },
		{ { "/system/build.prop", "a=b\nro.build.version.release=13\n" }, "android 13" },
		{ { "/etc/os-release", "IDX=1\nXID=2\n" }, NULL },
		{ { "/etc/os-release", "" }, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(machines) / sizeof(*machines); i++) {
		char root[PATH_MAX], name[64], small[3];
		struct perch_machine *machine = make_machine(root, &machines[i].file, 1, NULL);
		int rc = perch_machine_distribution(machine, name, sizeof(name), NULL);

		assert_int_equal(rc, machines[i].expected ? 0 : -ENOENT);
		if (!rc) {
			assert_string_equal(name, machines[i].expected);
			assert_int_equal(perch_machine_distribution(machine, small, sizeof(small),
								    NULL),
					 -ENAMETOOLONG);
		}
		remove_machine(machine, root);
	}
}

static const struct tree_file hybrid[] = {
	{ PMUS "cpu_core/type", "4\n" },
	{ PMUS "cpu_core/cpus", "0-15\n" },
	{ PMUS "cpu_core/caps/max_precise", "3\n" },
	{ PMUS "cpu_core/caps/branches", "32\n" },
	{ PMUS "cpu_core/caps/pmu_name", "alderlake_hybrid\n" },
	{ PMUS "cpu_atom/type", "10\n" },
	{ PMUS "cpu_atom/cpus", "16-23\n" },
	{ PMUS "cpu_atom/caps/max_precise", "2\n" },
	{ PMUS "software/type", "1\n" },
	{ "/proc/sys/fs/file-nr", "1184\t0\t9223372036854775807\n" },
};

static void reads_pmu_capabilities(void **state)
{
	char root[PATH_MAX];
	struct perch_machine *machine =
		make_machine(root, hybrid, sizeof(hybrid) / sizeof(*hybrid), NULL);
	const struct perch_pmu *core = perch_machine_pmu(machine, "cpu_core"),
			       *small_core = perch_machine_pmu(machine, "cpu_atom");
	struct perch_error err;
	long value = -7;

	(void)state;
	assert_int_equal(perch_machine_pmu_cap(machine, core, "max_precise", &value, &err), 0);
	assert_int_equal(value, 3);
	assert_int_equal(perch_machine_pmu_cap(machine, core, "branches", &value, &err), 0);
	assert_int_equal(value, 32);
	assert_int_equal(perch_machine_pmu_cap(machine, small_core, "max_precise", &value, &err),
			 0);
	assert_int_equal(value, 2);
	assert_int_equal(perch_machine_pmu_cap(machine, small_core, "branches", &value, &err),
			 -ENOENT);
	assert_int_equal(perch_machine_pmu_cap(machine, perch_machine_pmu(machine, "software"),
					       "branches", &value, &err),
			 -ENOENT);
	assert_int_equal(perch_machine_pmu_cap(machine, core, "pmu_name", &value, &err), -EBADMSG);
	assert_int_equal(perch_machine_pmu_cap(machine, core, "../type", &value, &err), -EINVAL);
	assert_int_equal(perch_machine_pmu_cap(machine, core, "..", &value, &err), -EINVAL);
	assert_int_equal(perch_machine_pmu_cap(machine, NULL, "branches", &value, &err), -EINVAL);
	remove_machine(machine, root);
}

static void reads_open_files(void **state)
{
	static const struct tree_file bad = { "/proc/sys/fs/file-nr", "12 x\n" };
	char root[PATH_MAX];
	struct perch_machine *machine =
		make_machine(root, hybrid, sizeof(hybrid) / sizeof(*hybrid), NULL);
	uint64_t nr, limit;

	(void)state;
	assert_int_equal(perch_machine_open_files(machine, &nr, &limit, NULL), 0);
	assert_int_equal(nr, 1184);
	assert_true(limit == INT64_MAX);
	remove_machine(machine, root);
	machine = make_machine(root, &bad, 1, NULL);
	assert_int_equal(perch_machine_open_files(machine, &nr, &limit, NULL), -EBADMSG);
	remove_machine(machine, root);
}

/* A simulated result of perf_event_open, by the kernel or a seccomp filter. */
struct open_result {
	int errnum;	 /* of the open call; 0 is success */
	uint32_t writes; /* new attr.size; 0 keeps it */
	int rc;		 /* expected result */
	enum perch_error_kind kind;
	unsigned opened, closed;
};

static int simulate_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
			 int group_fd, unsigned long flags)
{
	struct open_result *open_result = context;

	(void)pid, (void)cpu, (void)group_fd, (void)flags;
	open_result->opened++;
	assert_int_equal(attr->size, 4096);
	assert_int_equal(((const unsigned char *)attr)[4095], 1);
	if (open_result->writes)
		((struct perch_attr *)attr)->size = open_result->writes;
	errno = open_result->errnum;
	return open_result->errnum ? -1 : 99;
}

static int simulate_close(void *context, int fd)
{
	assert_int_equal(fd, 99);
	((struct open_result *)context)->closed++;
	return 0;
}

static void finds_attr_size(void **state)
{
	struct open_result open_results[] = {
		{ E2BIG, 136, 0, PERCH_ERROR_NONE, 0, 0 },
		{ E2BIG, 64, 0, PERCH_ERROR_NONE, 0, 0 },
		{ E2BIG, 0, -EBADMSG, PERCH_ERROR_SYSTEM, 0, 0 },
		{ E2BIG, 12, -EBADMSG, PERCH_ERROR_SYSTEM, 0, 0 },
		{ E2BIG, 9999, -EBADMSG, PERCH_ERROR_SYSTEM, 0, 0 },
		{ 0, 0, -EBADMSG, PERCH_ERROR_SYSTEM, 0, 0 },
		{ EPERM, 0, -EPERM, PERCH_ERROR_BLOCKED, 0, 0 },
		{ EACCES, 0, -EACCES, PERCH_ERROR_BLOCKED, 0, 0 },
		{ ENOSYS, 0, -ENOSYS, PERCH_ERROR_NO_SYSCALL, 0, 0 },
		{ EINVAL, 0, -EINVAL, PERCH_ERROR_SYSTEM, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(open_results) / sizeof(*open_results); i++) {
		struct perch_syscalls syscalls = perch_kernel_syscalls;
		struct perch_machine *machine;
		struct perch_error err = { 0 };
		uint32_t size = 0;

		syscalls.context = &open_results[i];
		syscalls.perf_event_open = simulate_open;
		syscalls.close = simulate_close;
		assert_int_equal(perch_machine_new(&machine, NULL, &syscalls, NULL), 0);
		for (int again = 0; again < 2; again++) {
			assert_int_equal(perch_machine_attr_size(machine, &size, &err),
					 open_results[i].rc);
			assert_int_equal(size, open_results[i].rc ? 0 : open_results[i].writes);
			assert_int_equal(err.kind, open_results[i].kind);
		}
		assert_int_equal(open_results[i].opened, 1);
		assert_int_equal(open_results[i].closed, open_results[i].errnum ? 0 : 1);
		perch_machine_free(machine);
	}
}

static void stores_probing_flag(void **state)
{
	struct perch_machine *machine;

	(void)state;
	assert_false(perch_machine_probing(NULL));
	assert_int_equal(perch_machine_new(&machine, NULL, NULL, NULL), 0);
	assert_false(perch_machine_probing(machine));
	perch_machine_set_probing(machine, true);
	assert_true(perch_machine_probing(machine));
	perch_machine_set_probing(machine, false);
	assert_false(perch_machine_probing(machine));
	perch_machine_free(machine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(detects_virtual_machines), cmocka_unit_test(reads_distribution),
		cmocka_unit_test(reads_pmu_capabilities),   cmocka_unit_test(reads_open_files),
		cmocka_unit_test(finds_attr_size),	    cmocka_unit_test(stores_probing_flag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

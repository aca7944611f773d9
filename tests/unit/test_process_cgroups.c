/* SPDX-License-Identifier: MIT */
/* Names of cgroups, and namespaces. */
#define _GNU_SOURCE /* nftw */
#include "process_fixture.h"
#include "process/internal.h"

static void add_cgroup(struct perch_processes *processes, uint64_t id, const char *name)
{
	struct perch_record record = {
		.type = PERCH_RECORD_CGROUP,
		.cgroup = { .id = id, .path = { name, (uint32_t)strlen(name) } },
	};

	apply(processes, &record);
}

static void names_cgroups(void **state)
{
	struct perch_processes *processes = new_processes();
	const char *first;

	(void)state;
	assert_null(perch_processes_cgroup_name(processes, 7));
	add_cgroup(processes, 7, "/first");
	add_cgroup(processes, 8, "/other");
	first = perch_processes_cgroup_name(processes, 7);
	assert_string_equal(first, "/first");
	add_cgroup(processes, 7, "/first");
	assert_ptr_equal(perch_processes_cgroup_name(processes, 7), first);
	add_cgroup(processes, 7, "/second");
	assert_string_equal(perch_processes_cgroup_name(processes, 7), "/second");
	assert_string_equal(perch_processes_cgroup_name(processes, 8), "/other");
	assert_string_equal(first, "/first");
	perch_processes_free(processes);
}

static void check_cgroup_namespace(struct perch_processes *processes, uint32_t tid, uint64_t inode)
{
	struct perch_ns_link_info link = { 1, 1 };

	perch_thread_cgroup_namespace(perch_processes_thread(processes, 100, tid), &link);
	assert_int_equal(link.dev, inode ? 4 : 0);
	assert_int_equal(link.ino, inode);
}

static void add_namespaces(struct perch_processes *processes, uint32_t tid, uint64_t nr,
			   uint64_t inode)
{
	static const struct perch_parse_info parse_info;
	const struct perch_ns_link_info links[] = {
		[PERCH_PID_NS_INDEX] = { 3, 7 },
		[PERCH_MNT_NS_INDEX] = { 3, 9 },
		[PERCH_CGROUP_NS_INDEX] = { 4, inode },
	};
	const struct perch_record record = {
		.type = PERCH_RECORD_NAMESPACES,
		.parse_info = &parse_info,
		.namespaces = { .pid = 100, .tid = tid, .nr = nr, .link = links },
	};

	apply(processes, &record);
}

/* DSOs have the namespaces of the process that mapped them last. */
static void stores_namespaces_of_mappings(void **state)
{
	struct perch_processes *processes = new_processes();
	const struct perch_dso *dso;

	(void)state;
	map_file(processes, 100, 0x1000, 0x1000, 0, "/a");
	dso = locate(processes, 100, PERCH_MISC_USER, 0x1000).dso;
	assert_int_equal(dso->mount_namespace, 0);
	add_namespaces(processes, 100, 7, 5);
	map_file(processes, 100, 0x3000, 0x1000, 0, "/a");
	assert_int_equal(dso->mount_namespace, 9);
	assert_int_equal(dso->pid_namespace, 7);
	map_file(processes, 200, 0x3000, 0x1000, 0, "/a");
	assert_int_equal(dso->mount_namespace, 0);
	assert_int_equal(dso->pid_namespace, 0);
	perch_processes_free(processes);
}

static void stores_cgroup_namespaces_of_threads(void **state)
{
	struct perch_processes *processes = new_processes();

	(void)state;
	check_cgroup_namespace(processes, 100, 0);
	add_namespaces(processes, 100, 7, 0xf0000151);
	add_namespaces(processes, 101, 7, 5);
	check_cgroup_namespace(processes, 100, 0xf0000151);
	check_cgroup_namespace(processes, 101, 5);
	/* setns(2) */
	add_namespaces(processes, 101, 7, 6);
	check_cgroup_namespace(processes, 101, 6);
	/* a new thread with the tid, whose record was lost */
	fork_thread(processes, 100, 100, 100, 101);
	check_cgroup_namespace(processes, 101, 0);
	/* a kernel without cgroup namespaces */
	add_namespaces(processes, 100, 6, 5);
	check_cgroup_namespace(processes, 100, 0);
	perch_processes_free(processes);
}

/* A cgroup that is not stored has no name, rather than that of an older one with its id. */
static void stores_a_limited_number_of_cgroups(void **state)
{
	struct perch_processes *processes = new_processes();

	(void)state;
	for (uint64_t id = 1; id <= 65536; id++)
		add_cgroup(processes, id, "/name");
	add_cgroup(processes, 70000, "/name");
	add_cgroup(processes, 1, "/new");
	assert_null(perch_processes_cgroup_name(processes, 70000));
	assert_null(perch_processes_cgroup_name(processes, 1));
	assert_string_equal(perch_processes_cgroup_name(processes, 65536), "/name");
	perch_processes_free(processes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_cgroups),
		cmocka_unit_test(stores_namespaces_of_mappings),
		cmocka_unit_test(stores_cgroup_namespaces_of_threads),
		cmocka_unit_test(stores_a_limited_number_of_cgroups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

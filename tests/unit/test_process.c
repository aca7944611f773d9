/* SPDX-License-Identifier: MIT */
/* Tests how records change threads and address spaces. */
#define _GNU_SOURCE /* nftw */
#include <errno.h>
#include "process_fixture.h"
#include "process/internal.h"

static void resolves_to_file_offsets(void **state)
{
	struct perch_processes *processes = new_processes();

	(void)state;
	map_file(processes, 10, 0x400000, 0x2000, 0x1000, "/bin/a");
	map_file(processes, 10, 0x401000, 0x1000, 0x7000, "/bin/b");
	check_user(processes, 10, 0x3fffff, NULL, 0);
	check_user(processes, 10, 0x400010, "/bin/a", 0x1010);
	check_user(processes, 10, 0x401010, "/bin/b", 0x7010);
	check_user(processes, 10, 0x402000, NULL, 0);
	check_user(processes, 11, 0x400010, NULL, 0);
	assert_int_equal(locate(processes, 10, PERCH_MISC_USER, 0x400010).dso->kind,
			 PERCH_DSO_FILE);
	assert_int_equal(locate(processes, 10, PERCH_MISC_USER, 1).dso->kind, PERCH_DSO_UNKNOWN);
	assert_true(locate(processes, 10, PERCH_MISC_USER, 0x400010).dso->used);
	perch_processes_free(processes);
}

static void fork_shares_maps_until_change(void **state)
{
	struct perch_processes *processes = new_processes();
	struct perch_thread *parent, *child;
	uint64_t before;

	(void)state;
	name_thread(processes, 10, 10, "parent", false);
	map_file(processes, 10, 0x1000, 0x1000, 0, "/bin/a");
	fork_thread(processes, 10, 10, 20, 20);
	parent = thread_of(processes, 10, 10);
	child = thread_of(processes, 20, 20);
	check_user(processes, 20, 0x1004, "/bin/a", 4);
	assert_string_equal(perch_thread_comm(child), "parent");
	assert_int_equal(perch_thread_comm_index(child), perch_thread_comm_index(parent));
	assert_int_equal(perch_thread_generation(child), perch_thread_generation(parent));

	before = perch_thread_generation(parent);
	map_file(processes, 20, 0x1000, 0x1000, 0x5000, "/bin/child");
	check_user(processes, 10, 0x1004, "/bin/a", 4);
	check_user(processes, 20, 0x1004, "/bin/child", 0x5004);
	assert_int_equal(perch_thread_generation(parent), before);
	assert_true(perch_thread_generation(child) != before);
	map_file(processes, 10, 0x2000, 0x1000, 0, "/bin/parent");
	check_user(processes, 10, 0x2000, "/bin/parent", 0);
	check_user(processes, 20, 0x2000, NULL, 0);
	assert_true(perch_thread_generation(parent) != perch_thread_generation(child));
	perch_processes_free(processes);
}

static void threads_share_maps(void **state)
{
	struct perch_processes *processes = new_processes();
	struct perch_location location;

	(void)state;
	name_thread(processes, 10, 10, "main", false);
	fork_thread(processes, 10, 10, 10, 11);
	map_file(processes, 10, 0x1000, 0x1000, 0, "/bin/a");
	perch_processes_resolve(processes, thread_of(processes, 10, 11), PERCH_MISC_USER, 0x1000,
				&location);
	assert_string_equal(location.dso->path, "/bin/a");
	assert_string_equal(perch_thread_comm(thread_of(processes, 10, 11)), "main");
	name_thread(processes, 10, 11, "worker", false);
	assert_string_equal(perch_thread_comm(thread_of(processes, 10, 10)), "main");
	assert_string_equal(perch_thread_comm(thread_of(processes, 10, 11)), "worker");
	assert_int_equal(perch_thread_pid(thread_of(processes, 10, 11)), 10);
	assert_int_equal(perch_thread_tid(thread_of(processes, 10, 11)), 11);
	perch_processes_free(processes);
}

/*
 * Samples during exec have addresses of the old program and the new name. The kernel maps the
 * program, its interpreter, and the vdso last. Then the program runs.
 */
static void exec_replaces_maps_when_the_program_runs(void **state)
{
	struct perch_processes *processes = new_processes();
	uint64_t old;

	(void)state;
	map_file(processes, 10, 0x1000, 0x1000, 0, "/bin/sh");
	map_file(processes, 10, 0x8000, 0x1000, 0, "/lib/old");
	fork_thread(processes, 10, 10, 20, 20);
	old = perch_thread_generation(thread_of(processes, 20, 20));
	name_thread(processes, 20, 20, "cc", true);
	assert_string_equal(perch_thread_comm(thread_of(processes, 20, 20)), "cc");
	check_user(processes, 20, 0x8000, "/lib/old", 0);
	map_file(processes, 20, 0x4000, 0x1000, 0, "/bin/cc");
	assert_true(perch_thread_generation(thread_of(processes, 20, 20)) != old);
	check_user(processes, 20, 0x4000, "/bin/cc", 0);
	check_user(processes, 20, 0x8000, "/lib/old", 0);
	map_file(processes, 20, 0x8800, 0x400, 0, "[vdso]");
	/* the kernel copies the arguments */
	check_user(processes, 20, 0x8000, "/lib/old", 0);
	check_user(processes, 20, 0x8000, "/lib/old", 0);
	/* the program runs, and need not map anything */
	old = perch_thread_generation(thread_of(processes, 20, 20));
	check_user(processes, 20, 0x8900, "[vdso32]", 0x100);
	assert_true(perch_thread_generation(thread_of(processes, 20, 20)) > old);
	check_user(processes, 20, 0x8000, NULL, 0);
	map_file(processes, 20, 0x9000, 0x1000, 0, "/lib/new");
	check_user(processes, 20, 0x4000, "/bin/cc", 0);
	check_user(processes, 20, 0x1000, NULL, 0);
	check_user(processes, 20, 0x8000, NULL, 0);
	/* a program that maps nothing more, many times: only the last space is mapped */
	for (int i = 0; i < 3; i++) {
		name_thread(processes, 20, 20, "cc", true);
		map_file(processes, 20, 0x5000 + 0x1000 * i, 0x1000, 0, "/bin/static");
		check_user(processes, 20, 0x4000, i ? NULL : "/bin/cc", 0);
	}
	/* or no address of it is known until it maps something */
	map_file(processes, 20, 0xa800, 0x400, 0, "[vdso]");
	check_user(processes, 20, 0x6000, "/bin/static", 0);
	map_file(processes, 20, 0xb000, 0x1000, 0, "/lib/new");
	check_user(processes, 20, 0x6000, NULL, 0);
	/* the parent keeps its maps */
	check_user(processes, 10, 0x1000, "/bin/sh", 0);
	check_user(processes, 10, 0x8000, "/lib/old", 0);
	perch_processes_free(processes);
}

static void comm_without_exec_keeps_maps(void **state)
{
	struct perch_processes *processes = new_processes();

	(void)state;
	map_file(processes, 10, 0x1000, 0x1000, 0, "/bin/a");
	name_thread(processes, 10, 10, "renamed", false);
	map_file(processes, 10, 0x4000, 0x1000, 0, "/lib/b");
	check_user(processes, 10, 0x1000, "/bin/a", 0);
	perch_processes_free(processes);
}

static void tid_can_be_reused_by_another_process(void **state)
{
	struct perch_processes *processes = new_processes();
	struct perch_thread *old, *fresh;

	(void)state;
	name_thread(processes, 10, 30, "old", false);
	map_file(processes, 10, 0x1000, 0x1000, 0, "/bin/old");
	old = thread_of(processes, 10, 30);
	fresh = thread_of(processes, 40, 30);
	assert_ptr_not_equal(old, fresh);
	assert_int_equal(perch_thread_pid(fresh), 40);
	assert_string_equal(perch_thread_comm(fresh), ":30");
	assert_string_equal(perch_thread_comm(old), "old");

	/* a new process with a reused pid starts with the maps of its parent */
	map_file(processes, 50, 0x7000, 0x1000, 0, "/bin/parent");
	fork_thread(processes, 50, 50, 10, 10);
	check_user(processes, 10, 0x1000, NULL, 0);
	check_user(processes, 10, 0x7000, "/bin/parent", 0);
	perch_processes_free(processes);
}

static void names_threads_without_comm_record(void **state)
{
	struct perch_processes *processes = new_processes();

	(void)state;
	assert_string_equal(perch_thread_comm(thread_of(processes, 0, 0)), "swapper");
	assert_string_equal(perch_thread_comm(thread_of(processes, 1234, 1234)), ":1234");
	assert_string_equal(perch_thread_comm(thread_of(processes, UINT32_MAX, UINT32_MAX)), ":-1");
	name_thread(processes, 77, 77, "", false);
	assert_string_equal(perch_thread_comm(thread_of(processes, 77, 77)), "");
	/* a thread may have another name than the leader */
	name_thread(processes, 80, 80, "leader", false);
	assert_string_equal(perch_thread_comm(thread_of(processes, 80, 81)), ":81");
	perch_processes_free(processes);
}

static void child_inherits_only_names_from_records(void **state)
{
	struct perch_processes *processes = new_processes();

	(void)state;
	fork_thread(processes, 90, 90, 90, 91);
	assert_string_equal(perch_thread_comm(thread_of(processes, 90, 91)), ":91");
	fork_thread(processes, 90, 91, 90, 92);
	assert_string_equal(perch_thread_comm(thread_of(processes, 90, 92)), ":92");
	name_thread(processes, 90, 90, "named", false);
	fork_thread(processes, 90, 90, 90, 93);
	assert_string_equal(perch_thread_comm(thread_of(processes, 90, 93)), "named");
	/* a reused tid does not keep the name of its old thread */
	fork_thread(processes, 90, 91, 90, 93);
	assert_string_equal(perch_thread_comm(thread_of(processes, 90, 93)), ":93");
	/* the kernel's threads are children of thread 0 */
	fork_thread(processes, 0, 0, 2, 2);
	assert_string_equal(perch_thread_comm(thread_of(processes, 2, 2)), "swapper");
	perch_processes_free(processes);
}

static void survives_invalid_lengths(void **state)
{
	struct perch_processes *processes = new_processes();

	(void)state;
	map_file(processes, 10, 0x1000, 0, 0, "/bin/nothing");
	check_user(processes, 10, 0x1000, NULL, 0);
	map_file(processes, 10, UINT64_MAX - 0xfff, 0x100000, 0, "/bin/over the end");
	check_user(processes, 10, UINT64_MAX - 1, "/bin/over the end", 0xffe);
	check_user(processes, 10, 0x10, NULL, 0);
	map_file(processes, 10, 0, UINT64_MAX, UINT64_MAX, "/bin/all");
	check_user(processes, 10, 0x1000, "/bin/all", 0xfff);
	map_kernel(processes, UINT64_MAX, UINT64_MAX, 0, "[wrapped]");
	locate(processes, 10, PERCH_MISC_KERNEL, UINT64_MAX);
	perch_processes_free(processes);
}

static void survives_invalid_forks(void **state)
{
	struct perch_processes *processes = new_processes();
	struct perch_record record = { .type = 4711 };

	(void)state;
	fork_thread(processes, 10, 10, 10, 10);
	fork_thread(processes, 0, 0, UINT32_MAX, UINT32_MAX);
	fork_thread(processes, UINT32_MAX, 1, 1, UINT32_MAX);
	apply(processes, &record);
	/* a chain of children, each with an exec */
	map_file(processes, 1, 0x1000, 0x1000, 0, "/bin/a");
	for (uint32_t i = 1; i < 2000; i++) {
		fork_thread(processes, i, i, i + 1, i + 1);
		if (i % 3 == 0) {
			name_thread(processes, i + 1, i + 1, "next", true);
			map_file(processes, i + 1, 0x1000, 0x1000, 0, "/bin/a");
		}
	}
	check_user(processes, 2000, 0x1010, "/bin/a", 0x10);
	perch_processes_free(processes);
	perch_processes_free(NULL);
}

/* Samples that follow EXIT still find the thread; the second call frees it. */
static void discards_what_has_ended(void **state)
{
	struct perch_processes *processes = new_processes();

	(void)state;
	name_thread(processes, 1, 1, "parent", false);
	map_file(processes, 1, 0x1000, 0x1000, 0, "/bin/parent");
	fork_thread(processes, 1, 1, 2, 2);
	fork_thread(processes, 2, 2, 2, 3);
	end_thread(processes, 2, 3);
	assert_int_equal(perch_processes_discard_ended(processes), 0);
	assert_string_equal(perch_thread_comm(thread_of(processes, 2, 3)), "parent");
	assert_int_equal(perch_processes_discard_ended(processes), 1);
	assert_string_equal(perch_thread_comm(thread_of(processes, 2, 2)), "parent");
	check_user(processes, 2, 0x1000, "/bin/parent", 0);
	end_thread(processes, 2, 2);
	end_thread(processes, 2, 3); /* a late sample has added it without a name */
	assert_int_equal(perch_processes_discard_ended(processes), 0);
	assert_int_equal(perch_processes_discard_ended(processes), 1);
	check_user(processes, 1, 0x1000, "/bin/parent", 0);
	check_user(processes, 2, 0x1000, NULL, 0);
	perch_processes_free(processes);
}

/* A tid that is used again after EXIT runs. */
static void keeps_reused_threads(void **state)
{
	struct perch_processes *processes = new_processes();

	(void)state;
	name_thread(processes, 1, 1, "parent", false);
	name_thread(processes, 2, 2, "old", false);
	for (uint32_t tid = 10; tid < 300; tid++)
		fork_thread(processes, 1, 1, tid, tid);
	for (uint32_t tid = 10; tid < 300; tid += 2)
		end_thread(processes, tid, tid);
	end_thread(processes, 2, 2);
	end_thread(processes, 77, 76); /* not the process of the thread */
	end_thread(processes, 5000, 5000);
	assert_int_equal(perch_processes_discard_ended(processes), 0);
	fork_thread(processes, 1, 1, 2, 2);
	assert_int_equal(perch_processes_discard_ended(processes), 145);
	assert_string_equal(perch_thread_comm(thread_of(processes, 2, 2)), "parent");
	for (uint32_t tid = 10; tid < 300; tid++)
		assert_int_equal(!strcmp(perch_thread_comm(thread_of(processes, tid, tid)),
					 "parent"),
				 tid % 2);
	perch_processes_free(processes);
}

static size_t nr_dsos(struct perch_processes *processes)
{
	const struct perch_dso *const *dsos;

	return perch_processes_dsos(processes, &dsos);
}

static size_t discard_dsos(struct perch_processes *processes, const struct perch_dso *used)
{
	bool *marked = calloc(nr_dsos(processes), sizeof(*marked));
	size_t freed;

	assert_non_null(marked);
	if (used)
		marked[used->index] = true;
	freed = perch_processes_discard_dsos(processes, marked);
	free(marked);
	return freed;
}

/* Maps a file that has an inode, and returns its DSO. */
static const struct perch_dso *map_inode(struct perch_processes *processes, uint32_t pid,
					 const char *path, uint64_t inode)
{
	struct perch_record record = mmap_record(PERCH_MISC_USER, pid, 0x1000, 0x1000, 0, path);

	record.mmap.inode = inode;
	apply(processes, &record);
	return locate(processes, pid, PERCH_MISC_USER, 0x1000).dso;
}

static void end_process(struct perch_processes *processes, uint32_t pid)
{
	end_thread(processes, pid, pid);
	perch_processes_discard_ended(processes);
	perch_processes_discard_ended(processes);
}

/* Programs that are built and run for days leave no file behind; what is left is still found. */
static void discards_files_of_ended(void **state)
{
	struct perch_processes *processes = new_processes();
	const struct perch_dso *mapped, *first, *second;
	size_t before;

	(void)state;
	name_thread(processes, 1, 1, "parent", false);
	mapped = map_inode(processes, 1, "/bin/parent", 7);
	before = nr_dsos(processes);
	for (uint32_t pid = 10; pid < 500; pid++) {
		fork_thread(processes, 1, 1, pid, pid);
		name_thread(processes, pid, pid, "child", true);
		map_inode(processes, pid, pid % 2 ? "/tmp/a" : "/tmp/b", pid);
		end_thread(processes, pid, pid);
	}
	assert_int_equal(nr_dsos(processes), before + 490);
	/* they run until they are discarded */
	assert_int_equal(discard_dsos(processes, NULL), 0);
	perch_processes_discard_ended(processes);
	assert_int_equal(perch_processes_discard_ended(processes), 490);
	assert_int_equal(discard_dsos(processes, NULL), 490);
	assert_int_equal(nr_dsos(processes), before);
	assert_ptr_equal(locate(processes, 1, PERCH_MISC_USER, 0x1000).dso, mapped);
	assert_ptr_equal(map_inode(processes, 2, "/bin/parent", 7), mapped);
	/* of one path, the second file is left, and a third one is another one */
	first = map_inode(processes, 20, "/tmp/a", 1);
	second = map_inode(processes, 21, "/tmp/a", 2);
	assert_ptr_not_equal(first, second);
	end_process(processes, 20);
	assert_int_equal(discard_dsos(processes, NULL), 1);
	assert_ptr_equal(map_inode(processes, 22, "/tmp/a", 2), second);
	assert_true(map_inode(processes, 23, "/tmp/a", 3)->shared_path);
	end_process(processes, 22);
	end_process(processes, 21);
	/* samples have it */
	assert_int_equal(discard_dsos(processes, second), 0);
	assert_string_equal(second->path, "/tmp/a");
	assert_ptr_equal(map_inode(processes, 24, "/tmp/a", 2), second);
	end_process(processes, 24);
	assert_int_equal(discard_dsos(processes, NULL), 1);
	/* a record without an inode means the first file of the path */
	map_file(processes, 25, 0x1000, 0x1000, 0, "/tmp/a");
	assert_int_equal(locate(processes, 25, PERCH_MISC_USER, 0x1000).dso->inode, 3);
	perch_processes_free(processes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resolves_to_file_offsets),
		cmocka_unit_test(fork_shares_maps_until_change),
		cmocka_unit_test(threads_share_maps),
		cmocka_unit_test(exec_replaces_maps_when_the_program_runs),
		cmocka_unit_test(comm_without_exec_keeps_maps),
		cmocka_unit_test(tid_can_be_reused_by_another_process),
		cmocka_unit_test(names_threads_without_comm_record),
		cmocka_unit_test(child_inherits_only_names_from_records),
		cmocka_unit_test(survives_invalid_lengths),
		cmocka_unit_test(survives_invalid_forks),
		cmocka_unit_test(discards_what_has_ended),
		cmocka_unit_test(keeps_reused_threads),
		cmocka_unit_test(discards_files_of_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

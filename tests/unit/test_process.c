/* SPDX-License-Identifier: MIT */
/* Tests how records change address spaces. */
#define _GNU_SOURCE /* nftw */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include "process_fixture.h"
#include "tree.h"
#include <perch/symbol.h>
#include "process/internal.h"

/* ---- records ---- */

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
	/* a program that maps nothing more, many times: only the last space is kept */
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

static void apply_symbol(struct perch_processes *processes, uint64_t address, uint32_t length,
			 uint16_t flags, const char *name)
{
	struct perch_record record = {
		.type = PERCH_RECORD_KSYMBOL,
		.ksymbol = { .address = address,
			     .length = length,
			     .type = PERCH_RECORD_KSYMBOL_TYPE_BPF,
			     .flags = flags,
			     .name = text_of(name) },
	};

	apply(processes, &record);
}

static void resolves_kernel_code(void **state)
{
	struct perch_processes *processes = new_processes();
	uint64_t generation = perch_processes_kernel_generation(processes);
	struct perch_location location;
	struct perch_symbols *symbols;

	(void)state;
	apply_symbol(processes, 0xffffffffc0001000, 64, 0, "bpf_prog_1_one");
	apply_symbol(processes, 0xffffffffc0002000, 64, 0, "bpf_prog_1_one");
	assert_true(perch_processes_kernel_generation(processes) > generation);
	location = locate(processes, 5, PERCH_MISC_KERNEL, 0xffffffffc000203f);
	assert_int_equal(location.dso->kind, PERCH_DSO_KERNEL_CODE);
	assert_string_equal(location.dso->path, "bpf_prog_1_one");
	assert_int_equal(location.offset, 0xffffffffc000203f);
	assert_int_equal(location.dso->start, 0xffffffffc0002000);
	/* KSYMBOL is no map of the kernel: other addresses still belong to the kernel */
	assert_int_equal(locate(processes, 5, PERCH_MISC_KERNEL, 0xffffffffc0002040).dso->kind,
			 PERCH_DSO_KERNEL);

	assert_int_equal(perch_symbols_new(&symbols, NULL, NULL), 0);
	assert_string_equal(perch_symbols_dso_name(symbols, location.dso), "bpf_prog_1_one");
	assert_string_equal(perch_symbols_find(symbols, location.dso, location.offset)->name,
			    "bpf_prog_1_one");
	assert_int_equal(perch_symbols_find(symbols, location.dso, location.offset)->start,
			 location.dso->start);
	perch_symbols_free(symbols);

	apply_symbol(processes, 0xffffffffc0002000, 64, PERCH_RECORD_KSYMBOL_FLAGS_UNREGISTER,
		     "bpf_prog_1_one");
	assert_int_equal(locate(processes, 5, PERCH_MISC_KERNEL, 0xffffffffc0002000).dso->kind,
			 PERCH_DSO_KERNEL);
	assert_int_equal(locate(processes, 5, PERCH_MISC_KERNEL, 0xffffffffc0001000).dso->kind,
			 PERCH_DSO_KERNEL_CODE);
	apply_symbol(processes, UINT64_MAX - 15, 64, 0, "");
	assert_string_equal(locate(processes, 5, PERCH_MISC_KERNEL, UINT64_MAX - 1).dso->path, "");
	perch_processes_free(processes);
}

static void resolves_kernel_and_modules(void **state)
{
	struct perch_processes *processes = new_processes();
	struct perch_location location =
		locate(processes, 5, PERCH_MISC_KERNEL, 0xffffffff81000010);

	(void)state;
	/* without a map of the kernel */
	assert_int_equal(location.dso->kind, PERCH_DSO_KERNEL);
	assert_int_equal(location.offset, 0xffffffff81000010);

	map_kernel(processes, 0xffffffff81000000, 0x1000000, 0xffffffff81000040,
		   "[kernel.kallsyms]_text");
	map_kernel(processes, 0xffffffffc0000000, 0x4000, 0, "/lib/modules/6.1/ext4.ko");
	map_kernel(processes, 0xffffffffc0008000, 0x4000, 0, "[made_up]");
	location = locate(processes, 5, PERCH_MISC_KERNEL, 0xffffffff81000010);
	assert_int_equal(location.dso->kind, PERCH_DSO_KERNEL);
	assert_string_equal(location.dso->path, "[kernel.kallsyms]");
	assert_int_equal(location.dso->start, 0xffffffff81000000);
	assert_int_equal(location.dso->length, 0x1000000);
	assert_int_equal(location.dso->text_start, 0xffffffff81000040);
	assert_int_equal(location.offset, 0xffffffff81000010);
	location = locate(processes, 6, PERCH_MISC_KERNEL, 0xffffffffc0000123);
	assert_int_equal(location.dso->kind, PERCH_DSO_MODULE);
	assert_int_equal(location.dso->start, 0xffffffffc0000000);
	assert_int_equal(location.offset, 0xffffffffc0000123);
	assert_string_equal(locate(processes, 6, PERCH_MISC_KERNEL, 0xffffffffc0008000).dso->path,
			    "[made_up]");
	assert_int_equal(locate(processes, 6, PERCH_MISC_KERNEL, 0xffffffffc0004000).dso->kind,
			 PERCH_DSO_UNKNOWN);
	/* after the text, where init text is */
	location = locate(processes, 6, PERCH_MISC_KERNEL, 0xffffffff83790921);
	assert_int_equal(location.dso->kind, PERCH_DSO_KERNEL);
	assert_int_equal(location.offset, 0xffffffff83790921);
	assert_int_equal(locate(processes, 6, PERCH_MISC_KERNEL, 0xffffffff80ffffff).dso->kind,
			 PERCH_DSO_UNKNOWN);
	/* kernel maps do not apply to user addresses */
	check_user(processes, 5, 0xffffffffc0000123, NULL, 0);
	perch_processes_free(processes);
}

static void recognizes_special_names(void **state)
{
	static const struct {
		const char *name, *path;
		enum perch_dso_kind kind;
	} cases[] = {
		{ "[vdso]", "[vdso32]", PERCH_DSO_VDSO },
		{ "[heap]", "/tmp/perf-10.map", PERCH_DSO_ANON },
		{ "[stack]", "/tmp/perf-10.map", PERCH_DSO_ANON },
		{ "[stack:1234]", "/tmp/perf-10.map", PERCH_DSO_ANON },
		{ "[vsyscall]", "[vsyscall]", PERCH_DSO_ANON },
		{ "/SYSV00000000 (deleted)", "/tmp/perf-10.map", PERCH_DSO_ANON },
		{ "//anon", "/tmp/perf-10.map", PERCH_DSO_ANON },
		{ "/dev/zero (deleted)", "/tmp/perf-10.map", PERCH_DSO_ANON },
		{ "/anon_hugepage (deleted)", "/tmp/perf-10.map", PERCH_DSO_ANON },
		{ "[anon:code]", "/tmp/perf-10.map", PERCH_DSO_ANON },
		{ "/memfd:x (deleted)", "/tmp/perf-10.map", PERCH_DSO_ANON },
		{ "/memfd: (deleted)", "/tmp/perf-10.map", PERCH_DSO_ANON },
		{ "", "/tmp/perf-10.map", PERCH_DSO_ANON },
		{ "\033]0;\a", "\033]0;\a", PERCH_DSO_FILE },
	};
	/* without PROT_EXEC */
	static const char *const of_data[][2] = {
		{ "[heap]", "[heap]" },
		{ "[stack]", "[stack]" },
		{ "/SYSV00000000 (deleted)", "/SYSV00000000 (deleted)" },
		{ "//anon", "//anon" },
		{ "", "//anon" },
	};
	static const struct {
		const char *name;
		uint32_t flags;
		bool generated;
	} of_files[] = {
		{ "/dev/shm/ZendAccelerator.x (deleted)", MAP_SHARED, true },
		{ "/dev/shm/code", MAP_SHARED, true },
		{ "/tmp/orcexec.x (deleted)", MAP_SHARED, true },
		{ "/dev/shm/libx.so", MAP_PRIVATE, false },
		{ "/usr/lib/libx.so (deleted)", MAP_PRIVATE, false },
		{ "/usr/lib/libx.so (deleted)", 0, false },
		{ "/usr/lib/libx.so", MAP_SHARED, false },
	};
	struct perch_processes *processes = new_processes();
	struct perch_record data;

	(void)state;
	for (size_t i = 0; i < NR(of_data); i++) {
		data = mmap_record(PERCH_MISC_USER | PERCH_MISC_MMAP_DATA, 12, 0x1000 * (i + 1),
				   0x1000, 0, of_data[i][0]);
		apply(processes, &data);
		check_user(processes, 12, 0x1000 * (i + 1) + 8, of_data[i][1],
			   0x1000 * (i + 1) + 8);
		assert_int_equal(locate(processes, 12, PERCH_MISC_USER, 0x1000 * (i + 1)).dso->kind,
				 PERCH_DSO_ANON);
	}
	for (size_t i = 0; i < NR(of_files); i++) {
		data = mmap_record(PERCH_MISC_USER, 13, 0x1000 * (i + 1), 0x1000, 0,
				   of_files[i].name);
		data.mmap.flags = of_files[i].flags;
		apply(processes, &data);
		check_user(processes, 13, 0x1000 * (i + 1) + 8,
			   of_files[i].generated ? "/tmp/perf-13.map" : of_files[i].name,
			   of_files[i].generated ? 0x1000 * (i + 1) + 8 : 8);
	}
	for (size_t i = 0; i < NR(cases); i++) {
		map_file(processes, 10, 0x1000 * (i + 1), 0x1000, 0, cases[i].name);
		check_user(processes, 10, 0x1000 * (i + 1) + 8, cases[i].path,
			   cases[i].kind == PERCH_DSO_ANON ? 0x1000 * (i + 1) + 8 : 8);
		assert_int_equal(locate(processes, 10, PERCH_MISC_USER, 0x1000 * (i + 1)).dso->kind,
				 cases[i].kind);
	}
	/* generated code of another process is another DSO */
	map_file(processes, 11, 0x1000, 0x1000, 0, "//anon");
	check_user(processes, 11, 0x1000, "/tmp/perf-11.map", 0x1000);
	/* a program in a memfd */
	data = mmap_record(PERCH_MISC_USER, 11, 0x6000, 0x1000, 0, "/memfd:x (deleted)");
	data.mmap.flags = MAP_PRIVATE;
	apply(processes, &data);
	check_user(processes, 11, 0x6008, "/memfd:x (deleted)", 8);
	/* memory that is not executable has no generated code */
	data = mmap_record(PERCH_MISC_USER | PERCH_MISC_MMAP_DATA, 11, 0x5000, 0x1000, 0, "//anon");
	apply(processes, &data);
	check_user(processes, 11, 0x5008, "//anon", 0x5008);
	/* that of 64-bit processes is another one than that of 32-bit processes, at low addresses
	 */
	map_file(processes, 11, 0x7ffe00001000, 0x1000, 0, "[vdso]");
	check_user(processes, 11, 0x7ffe00001008, "[vdso]", 8);
	perch_processes_free(processes);
}

/* Whether the kernel's map or the build id comes first. */
static void finds_the_image_of_the_kernel(void **state)
{
	static const char image[] = "/usr/lib/debug/boot/vmlinux-6.1.0";
	static const uint8_t id[4] = "abcd";

	(void)state;
	for (int mapped_first = 0; mapped_first < 2; mapped_first++) {
		struct perch_processes *processes = new_processes();
		struct perch_location location;

		if (mapped_first)
			map_kernel(processes, 0xffffffff81000000, 0x1000, 0,
				   "[kernel.kallsyms]_text");
		/* not kernels */
		assert_int_equal(perch_processes_add_build_id(processes, "vmlinux", id, 4), 0);
		assert_int_equal(perch_processes_add_build_id(processes, "/vmlinux.d/x", id, 3), 0);
		assert_int_equal(perch_processes_add_build_id(processes, image, id, 4), 0);
		if (!mapped_first)
			map_kernel(processes, 0xffffffff81000000, 0x1000, 0,
				   "[kernel.kallsyms]_text");
		location = locate(processes, 5, PERCH_MISC_KERNEL, 0xffffffff81000010);
		assert_string_equal(location.dso->path, "[kernel.kallsyms]");
		assert_string_equal(location.dso->kernel_image, image);
		assert_int_equal(location.dso->build_id_size, 4);
		assert_memory_equal(location.dso->build_id, id, 4);
		perch_processes_free(processes);
	}
}

/* ---- DSOs and build ids ---- */

static void shares_and_numbers_dsos(void **state)
{
	struct perch_processes *processes = new_processes();
	const struct perch_dso *const *dsos;
	const struct perch_dso *first;
	size_t nr;

	(void)state;
	map_file(processes, 10, 0x1000, 0x1000, 0, "/bin/a");
	map_file(processes, 11, 0x9000, 0x1000, 0, "/bin/a");
	map_file(processes, 11, 0xa000, 0x1000, 0, "/bin/b");
	first = locate(processes, 10, PERCH_MISC_USER, 0x1000).dso;
	assert_ptr_equal(first, locate(processes, 11, PERCH_MISC_USER, 0x9000).dso);
	nr = perch_processes_dsos(processes, &dsos);
	assert_int_equal(nr, 4); /* with [unknown] and the kernel */
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(dsos[i]->index, i);
	assert_true(first->used);
	assert_false(locate(processes, 11, PERCH_MISC_USER, 0x9000).dso ==
		     locate(processes, 11, PERCH_MISC_USER, 0xa000).dso);
	perch_processes_free(processes);
}

static void sets_build_ids_before_and_after_mmap(void **state)
{
	static const uint8_t id[20] = { 1, 2, 3 }, other[20] = { 9 };
	struct perch_processes *processes = new_processes();
	const struct perch_dso *dso;
	struct perch_record record;

	(void)state;
	assert_int_equal(perch_processes_add_build_id(processes, "/bin/before", id, 20), 0);
	map_file(processes, 10, 0x1000, 0x1000, 0, "/bin/before");
	map_file(processes, 10, 0x2000, 0x1000, 0, "/bin/after");
	dso = locate(processes, 10, PERCH_MISC_USER, 0x2000).dso;
	assert_int_equal(dso->build_id_size, 0);
	assert_int_equal(perch_processes_add_build_id(processes, "/bin/after", id, 16), 0);
	assert_int_equal(dso->build_id_size, 16);
	assert_memory_equal(dso->build_id, id, 16);
	dso = locate(processes, 10, PERCH_MISC_USER, 0x1000).dso;
	assert_int_equal(dso->build_id_size, 20);

	/* the same path with another build id is another DSO */
	record = mmap_record(PERCH_MISC_USER, 11, 0x1000, 0x1000, 0, "/bin/before");
	record.mmap.build_id_size = 20;
	memcpy(record.mmap.build_id, other, 20);
	apply(processes, &record);
	assert_ptr_not_equal(dso, locate(processes, 11, PERCH_MISC_USER, 0x1000).dso);
	assert_memory_equal(locate(processes, 11, PERCH_MISC_USER, 0x1000).dso->build_id, other,
			    20);
	assert_true(perch_processes_add_build_id(processes, "/bin/x", id, 0) < 0);
	assert_true(perch_processes_add_build_id(processes, "/bin/x", id, 21) < 0);
	perch_processes_free(processes);
}

/* Maps a file of a device at 0x1000. Returns its DSO. */
static const struct perch_dso *map_inode(struct perch_processes *processes, uint32_t pid,
					 const char *path, uint64_t inode, uint64_t generation)
{
	struct perch_record record = mmap_record(PERCH_MISC_USER, pid, 0x1000, 0x1000, 0, path);

	record.mmap.major = 8;
	record.mmap.minor = 1;
	record.mmap.inode = inode;
	record.mmap.inode_generation = generation;
	apply(processes, &record);
	return locate(processes, pid, PERCH_MISC_USER, 0x1000).dso;
}

static void files_of_a_path_differ_by_inode(void **state)
{
	struct perch_processes *processes = new_processes();
	const struct perch_dso *host, *container;

	(void)state;
	host = map_inode(processes, 10, "/bin/a", 100, 7);
	assert_false(host->shared_path);
	assert_int_equal(host->device_major, 8);
	assert_int_equal(host->device_minor, 1);
	assert_int_equal(host->pid, 10);
	assert_int_equal(host->map_start, 0x1000);
	assert_int_equal(host->map_end, 0x2000);
	/* records from /proc have no generation */
	assert_ptr_equal(map_inode(processes, 11, "/bin/a", 100, 0), host);
	assert_int_equal(host->inode_generation, 7);
	assert_int_equal(host->pid, 11);
	container = map_inode(processes, 12, "/bin/a", 200, 0);
	assert_ptr_not_equal(container, host);
	assert_true(container->shared_path && host->shared_path);
	assert_ptr_equal(map_inode(processes, 13, "/bin/a", 200, 9), container);
	/* the inode was used again */
	assert_ptr_not_equal(map_inode(processes, 14, "/bin/a", 100, 8), host);
	assert_false(map_inode(processes, 15, "/bin/b", 100, 7)->shared_path);
	perch_processes_free(processes);
}

static void build_id_of_a_path_is_that_of_one_file(void **state)
{
	static const uint8_t id[20] = { 1, 2, 3 }, other[20] = { 9 };
	struct perch_processes *processes = new_processes();
	const struct perch_dso *first, *second;
	struct perch_record record;

	(void)state;
	perch_processes_add_build_id(processes, "/bin/a", id, 20);
	first = map_inode(processes, 10, "/bin/a", 100, 0);
	assert_int_equal(first->build_id_size, 20);
	assert_true(first->build_id_of_path);
	/* a record with the build id is of the same file */
	record = mmap_record(PERCH_MISC_USER, 11, 0x1000, 0x1000, 0, "/bin/a");
	record.mmap.build_id_size = 20;
	memcpy(record.mmap.build_id, id, 20);
	apply(processes, &record);
	assert_ptr_equal(locate(processes, 11, PERCH_MISC_USER, 0x1000).dso, first);
	second = map_inode(processes, 12, "/bin/a", 200, 0);
	assert_ptr_not_equal(second, first);
	assert_true(second->build_id_of_path && second->shared_path && first->shared_path);

	/* two build ids: either may be that of the file */
	perch_processes_add_build_id(processes, "/bin/b", id, 20);
	perch_processes_add_build_id(processes, "/bin/b", other, 20);
	assert_int_equal(map_inode(processes, 10, "/bin/b", 300, 0)->build_id_size, 0);
	/* without a build id of the path, a file with a build id is not that of an inode */
	second = map_inode(processes, 10, "/bin/c", 400, 0);
	record = mmap_record(PERCH_MISC_USER, 11, 0x1000, 0x1000, 0, "/bin/c");
	record.mmap.build_id_size = 20;
	memcpy(record.mmap.build_id, other, 20);
	apply(processes, &record);
	assert_ptr_not_equal(locate(processes, 11, PERCH_MISC_USER, 0x1000).dso, second);
	assert_int_equal(second->build_id_size, 0);
	perch_processes_free(processes);
}

/* ---- invalid records ---- */

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

static void kernel_generation_changes_with_maps(void **state)
{
	struct perch_processes *processes = new_processes();
	uint64_t before = perch_processes_kernel_generation(processes);

	(void)state;
	map_file(processes, 10, 0x1000, 0x1000, 0, "/bin/a");
	assert_int_equal(perch_processes_kernel_generation(processes), before);
	map_kernel(processes, 0xffffffffc0000000, 0x4000, 0, "[module]");
	assert_true(perch_processes_kernel_generation(processes) != before);
	perch_processes_free(processes);
}

/* ---- processes that already run ---- */

/* clang-format off */
static const struct tree_file running[] = {
	{ "/proc/7/status", "Name:\tworker\nTgid:\t7\n" },
	{ "/proc/8/status", "Name:\thelper\nTgid:\t7\n" },
	{ "/proc/7/task/7/comm", "worker\n" },
	{ "/proc/7/task/8/comm", "helper\n" },
	{ "/proc/7/maps",
	  "1000-3000 r-xp 00002000 fe:01 77 /bin/worker\n"
	  "8000-9000 r-xp 00000000 fe:01 78 /lib/two\\012lines\n" },
};
/* clang-format on */

static void adds_running_process_of_a_tree(void **state)
{
	struct perch_processes *processes = new_processes();
	struct perch_machine *machine;
	struct perch_error err;
	char root[PATH_MAX];

	(void)state;
	tree_make(root, running, NR(running));
	assert_int_equal(perch_machine_new(&machine, root, NULL, NULL), 0);
	map_file(processes, 7, 0x1000, 0x10000, 0, "/bin/before");
	map_file(processes, 9, 0x1000, 0x10000, 0, "/bin/other");
	assert_int_equal(perch_processes_add_running(processes, 8, machine, &err), 0);
	check_user(processes, 7, 0x1800, "/bin/worker", 0x2800);
	check_user(processes, 7, 0x8010, "/lib/two\nlines", 0x10);
	check_user(processes, 7, 0x5000, NULL, 0); /* mapped before, not now */
	check_user(processes, 9, 0x5000, "/bin/other", 0x4000);
	assert_string_equal(perch_thread_comm(thread_of(processes, 7, 7)), "worker");
	assert_string_equal(perch_thread_comm(thread_of(processes, 7, 8)), "helper");
	/* a later mapping is added, also after the process was added again */
	map_file(processes, 7, 0x4000, 0x1000, 0, "/lib/later");
	check_user(processes, 7, 0x4000, "/lib/later", 0);
	assert_int_equal(perch_processes_add_running(processes, 7, machine, &err), 0);
	check_user(processes, 7, 0x4000, NULL, 0);
	check_user(processes, 7, 0x1800, "/bin/worker", 0x2800);
	assert_int_equal(perch_processes_add_running(processes, 9, machine, &err), -ESRCH);
	assert_int_equal(err.kind, PERCH_ERROR_NO_PROCESS);
	perch_machine_free(machine);
	perch_processes_free(processes);
	tree_remove(root);
}

static void adds_calling_process(void **state)
{
	uint64_t address = (uint64_t)(uintptr_t)adds_calling_process;
	struct perch_processes *processes = new_processes();
	struct perch_symbols *symbols;
	struct perch_location location;
	struct perch_error err;
	const struct perch_symbol *symbol;

	(void)state;
	assert_int_equal(perch_processes_add_running(processes, 0, NULL, &err), 0);
	location = locate(processes, (uint32_t)getpid(), PERCH_MISC_USER, address);
	assert_int_equal(location.dso->kind, PERCH_DSO_FILE);
	assert_int_equal(perch_symbols_new(&symbols, NULL, NULL), 0);
	symbol = perch_symbols_find(symbols, location.dso, location.offset);
	assert_non_null(symbol);
	assert_string_equal(perch_symbols_name(symbols, symbol), "adds_calling_process");
	perch_symbols_free(symbols);
	perch_processes_free(processes);
}

static void damaged_synthesized_record_is_refused(void **state)
{
	struct perch_processes *processes = new_processes();
	uint64_t zeros[4] = { 0 };
	struct perch_error err;

	(void)state;
	assert_int_equal(perch_processes_apply_synthesized(processes, zeros, sizeof(zeros), &err),
			 -EBADMSG);
	perch_processes_free(processes);
}

/* Recorders make FORK records of running processes, and add the mappings of each. */
static void synthesized_fork_inherits_no_mappings(void **state)
{
	struct perch_record record = {
		.type = PERCH_RECORD_FORK,
		.misc = PERCH_MISC_FORK_EXEC,
		.task = { .pid = 8, .ppid = 7, .tid = 8, .ptid = 7 },
	};
	struct perch_processes *processes = new_processes();

	(void)state;
	map_file(processes, 7, 0x1000, 0x1000, 0, "/bin/parent");
	apply(processes, &record);
	check_user(processes, 8, 0x1000, NULL, 0);
	perch_processes_free(processes);
}

static void end_thread(struct perch_processes *processes, uint32_t pid, uint32_t tid)
{
	struct perch_record record = {
		.type = PERCH_RECORD_EXIT,
		.task = { .pid = pid, .tid = tid },
	};

	apply(processes, &record);
}

static void fork_at(struct perch_processes *processes, uint32_t ppid, uint32_t pid, uint64_t time)
{
	struct perch_record record = {
		.type = PERCH_RECORD_FORK,
		.task = { .pid = pid, .ppid = ppid, .tid = pid, .ptid = ppid },
		.sample_id = { .time = time },
	};

	apply(processes, &record);
}

static void name_at(struct perch_processes *processes, uint32_t pid, const char *name,
		    uint64_t time)
{
	struct perch_record record = {
		.type = PERCH_RECORD_COMM,
		.comm = { .pid = pid, .tid = pid, .comm = text_of(name) },
		.sample_id = { .time = time },
	};

	apply(processes, &record);
}

/* The parent has executed another program after the fork, and then both were read in /proc. */
static struct perch_processes *read_after_fork(void)
{
	struct perch_processes *processes = new_processes();

	name_thread(processes, 7, 7, "after", false);
	map_file(processes, 7, 0x1000, 0x1000, 0, "/bin/after");
	name_thread(processes, 8, 8, "before", false);
	map_file(processes, 8, 0x1000, 0x1000, 0, "/bin/before");
	return processes;
}

static void check_forked(struct perch_processes *processes, const char *name, const char *path)
{
	assert_string_equal(perch_thread_comm(thread_of(processes, 8, 8)), name);
	check_user(processes, 8, 0x1000, path, 0);
	perch_processes_free(processes);
}

static void process_that_was_read_after_its_fork_stays(void **state)
{
	struct perch_processes *processes = read_after_fork();

	(void)state;
	fork_at(processes, 7, 8, 5);
	check_forked(processes, "before", "/bin/before");
}

static void later_forks_are_of_other_processes(void **state)
{
	struct perch_processes *processes = read_after_fork();

	(void)state;
	end_thread(processes, 8, 8);
	fork_at(processes, 7, 8, 5);
	check_forked(processes, "after", "/bin/after");

	/* its COMM record shows that it ran: its end was lost */
	processes = read_after_fork();
	name_at(processes, 8, "renamed", 4);
	fork_at(processes, 7, 8, 5);
	check_forked(processes, "after", "/bin/after");

	/* behind a sample: the same */
	processes = read_after_fork();
	thread_of(processes, 9, 9);
	fork_at(processes, 7, 8, 5);
	check_forked(processes, "after", "/bin/after");

	/* without times nothing is known */
	processes = read_after_fork();
	fork_at(processes, 7, 8, 0);
	check_forked(processes, "after", "/bin/after");
}

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

/* The first anonymous DSO. */
static const struct perch_dso *generated_code(const struct perch_processes *processes)
{
	const struct perch_dso *const *dsos;
	size_t nr = perch_processes_dsos(processes, &dsos);

	for (size_t i = 0; i < nr; i++)
		if (dsos[i]->kind == PERCH_DSO_ANON)
			return dsos[i];
	fail();
	return NULL;
}

static void check_users(const struct perch_processes *processes, uint32_t nr, const uint32_t *users)
{
	const struct perch_dso *dso = generated_code(processes);

	assert_int_equal(dso->users.nr, nr);
	for (uint32_t i = 0; i < nr; i++)
		assert_int_equal(dso->users.user[i], users[i]);
}

static void generated_code_has_the_users_of_its_process(void **state)
{
	const uint16_t size = sizeof(struct perch__user_record);
	const char *name = PERCH__USER_RECORD_NAME;

	(void)state;
	for (int swapped = 0; swapped < 2; swapped++) {
		struct perch_processes *processes = new_processes();

		put_user(processes, 12, 33, name, size, swapped);
		map_file(processes, 12, 0x1000, 0x1000, 0, "//anon");
		check_users(processes, 1, (uint32_t[]){ 33 });
		put_user(processes, 12, 34, name, size, swapped);
		put_user(processes, 12, 33, name, size, swapped);
		check_users(processes, 2, (uint32_t[]){ 33, 34 });
		/* of another process, an old event type, other sizes */
		put_user(processes, 13, 35, name, size, swapped);
		put_user(processes, 12, 35, "cycles", size, swapped);
		put_user(processes, 12, 35, name, size - 8, swapped);
		put_user(processes, 12, 35, name, 8, swapped);
		check_users(processes, 2, (uint32_t[]){ 33, 34 });
		for (uint32_t user = 100; user < 200; user++)
			put_user(processes, 12, user, name, size, swapped);
		check_users(processes, 4, (uint32_t[]){ 196, 197, 198, 199 });
		perch_processes_free(processes);
	}
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
		cmocka_unit_test(resolves_kernel_and_modules),
		cmocka_unit_test(resolves_kernel_code),
		cmocka_unit_test(recognizes_special_names),
		cmocka_unit_test(shares_and_numbers_dsos),
		cmocka_unit_test(sets_build_ids_before_and_after_mmap),
		cmocka_unit_test(files_of_a_path_differ_by_inode),
		cmocka_unit_test(build_id_of_a_path_is_that_of_one_file),
		cmocka_unit_test(survives_invalid_lengths),
		cmocka_unit_test(survives_invalid_forks),
		cmocka_unit_test(kernel_generation_changes_with_maps),
		cmocka_unit_test(finds_the_image_of_the_kernel),
		cmocka_unit_test(adds_running_process_of_a_tree),
		cmocka_unit_test(adds_calling_process),
		cmocka_unit_test(damaged_synthesized_record_is_refused),
		cmocka_unit_test(synthesized_fork_inherits_no_mappings),
		cmocka_unit_test(process_that_was_read_after_its_fork_stays),
		cmocka_unit_test(later_forks_are_of_other_processes),
		cmocka_unit_test(names_cgroups),
		cmocka_unit_test(stores_namespaces_of_mappings),
		cmocka_unit_test(stores_cgroup_namespaces_of_threads),
		cmocka_unit_test(stores_a_limited_number_of_cgroups),
		cmocka_unit_test(discards_what_has_ended),
		cmocka_unit_test(keeps_reused_threads),
		cmocka_unit_test(generated_code_has_the_users_of_its_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

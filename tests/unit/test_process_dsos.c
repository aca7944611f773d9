/* SPDX-License-Identifier: MIT */
/* DSOs that processes and the kernel map, and their build ids. */
#define _GNU_SOURCE /* nftw */
#include <sys/mman.h>
#include "process_fixture.h"
#include <perch/symbol.h>
#include "process/internal.h"

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

static void kinds_have_properties(void **state)
{
	/* a kind that has the property, and one that could be mistaken for it */
	static const struct {
		enum perch_dso_kind with, without;
		enum perch_dso_property property;
	} cases[] = {
		{ PERCH_DSO_ANON, PERCH_DSO_UNKNOWN, PERCH_DSO_IS_MAPPED },
		{ PERCH_DSO_FILE, PERCH_DSO_MODULE, PERCH_DSO_IS_FILE },
		{ PERCH_DSO_VDSO, PERCH_DSO_KERNEL, PERCH_DSO_IS_ELF },
		{ PERCH_DSO_MODULE, PERCH_DSO_VDSO, PERCH_DSO_IS_ON_DISK },
		{ PERCH_DSO_KERNEL, PERCH_DSO_MODULE, PERCH_DSO_IS_KERNEL },
		{ PERCH_DSO_KERNEL_CODE, PERCH_DSO_VDSO, PERCH_DSO_IS_IN_KERNEL },
		{ PERCH_DSO_MODULE, PERCH_DSO_KERNEL_CODE, PERCH_DSO_IS_MODULE },
		{ PERCH_DSO_ANON, PERCH_DSO_JIT, PERCH_DSO_IS_MEMORY },
		{ PERCH_DSO_JIT, PERCH_DSO_KERNEL_CODE, PERCH_DSO_IS_GENERATED },
	};

	(void)state;
	for (size_t i = 0; i < PERCH__NR(cases); i++) {
		const struct perch_dso with = { .kind = cases[i].with };
		const struct perch_dso without = { .kind = cases[i].without };

		assert_true(perch_dso_is(&with, cases[i].property));
		assert_false(perch_dso_is(&without, cases[i].property));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resolves_kernel_and_modules),
		cmocka_unit_test(resolves_kernel_code),
		cmocka_unit_test(recognizes_special_names),
		cmocka_unit_test(shares_and_numbers_dsos),
		cmocka_unit_test(sets_build_ids_before_and_after_mmap),
		cmocka_unit_test(files_of_a_path_differ_by_inode),
		cmocka_unit_test(build_id_of_a_path_is_that_of_one_file),
		cmocka_unit_test(kernel_generation_changes_with_maps),
		cmocka_unit_test(finds_the_image_of_the_kernel),
		cmocka_unit_test(generated_code_has_the_users_of_its_process),
		cmocka_unit_test(kinds_have_properties),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* jitdump files: functions of JIT compilers by time. The files are written here. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <perch/jitdump.h>
#include <perch/symbol.h>

#include "jitdump.h"
#include "process_fixture.h"

#define PATH "/jit-12.dump"

static char root[] = "/tmp/perch-jitdump-XXXXXX";
static char path[64];
static const char code[0x100];

static int make_root(void **state)
{
	(void)state;
	if (!mkdtemp(root))
		return -1;
	snprintf(path, sizeof(path), "%s" PATH, root);
	return 0;
}

static int remove_root(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(root);
}

static struct jitdump new_dump(bool swapped)
{
	struct jitdump dump = { .file = fopen(path, "w"), .swapped = swapped, .pid = 12 };

	assert_non_null(dump.file);
	jitdump_header(&dump, 62, 1, 0);
	return dump;
}

static void end_dump(struct jitdump *dump)
{
	assert_int_equal(fclose(dump->file), 0);
}

static struct perch_processes *open_with(const struct perch_jitdump_options *options)
{
	struct perch_processes *processes = new_processes();

	assert_int_equal(perch_processes_use_jitdump(processes, options, NULL), 0);
	map_file(processes, 12, 0x10000, 0x10000, 0, "//anon");
	map_file(processes, 12, 0x1000, 0x1000, 0, PATH);
	return processes;
}

static struct perch_processes *open_dump(void)
{
	return open_with(&(struct perch_jitdump_options){ .root = root });
}

static void advance(struct perch_processes *processes, uint64_t time)
{
	assert_int_equal(perch_processes_advance(processes, time), 0);
}

/* name NULL: the address belongs to no function. */
static void check_function(struct perch_processes *processes, uint32_t pid, uint64_t address,
			   const char *name, uint64_t start)
{
	struct perch_location location = locate(processes, pid, PERCH_MISC_USER, address);
	struct perch_jit_function function;

	if (!name) {
		assert_int_not_equal(location.dso->kind, PERCH_DSO_JIT);
		return;
	}
	assert_int_equal(location.dso->kind, PERCH_DSO_JIT);
	assert_string_equal(location.dso->path, PATH);
	assert_true(location.dso->used);
	assert_int_equal(perch_jitdump_find(location.dso->jitdump, location.offset, &function), 0);
	assert_string_equal(function.name, name);
	assert_int_equal(location.offset - function.offset, address - start);
}

static const struct perch_dso *find_jit_dso(const struct perch_processes *processes)
{
	const struct perch_dso *const *dsos, *found = NULL;
	size_t nr = perch_processes_dsos(processes, &dsos);

	for (size_t i = 0; i < nr; i++)
		if (dsos[i]->kind == PERCH_DSO_JIT) {
			assert_null(found);
			found = dsos[i];
		}
	return found;
}

static void check_error(const struct perch_jitdump_options *options, const char *error)
{
	struct perch_processes *processes = open_with(options);
	const struct perch_dso *dso = find_jit_dso(processes);

	assert_non_null(dso);
	assert_non_null(perch_jitdump_error(dso->jitdump));
	assert_non_null(strstr(perch_jitdump_error(dso->jitdump), error));
	assert_int_equal(perch_jitdump_is_of_other_user(dso->jitdump), !strcmp(error, "belongs"));
	advance(processes, UINT64_MAX);
	check_function(processes, 12, 0x10010, NULL, 0);
	perch_processes_free(processes);
}

static void resolves_functions_by_time(void **state)
{
	(void)state;
	for (int swapped = 0; swapped < 2; swapped++) {
		struct jitdump dump = new_dump(swapped);
		struct perch_processes *processes;
		struct perch_thread *thread;
		uint64_t generation;

		jitdump_load(&dump, 10, 0, 0x10000, "first", code, 0x100);
		jitdump_load(&dump, 20, 1, 0x10000, "second", code, 0x80);
		jitdump_close(&dump, 30);
		end_dump(&dump);
		processes = open_dump();
		thread = thread_of(processes, 12, 12);
		advance(processes, 9);
		check_function(processes, 12, 0x10010, NULL, 0);
		generation = perch_thread_generation(thread);
		advance(processes, 10);
		assert_int_not_equal(perch_thread_generation(thread), generation);
		check_function(processes, 12, 0x10000, "first", 0x10000);
		check_function(processes, 12, 0x100ff, "first", 0x10000);
		check_function(processes, 12, 0x10100, NULL, 0);
		check_function(processes, 13, 0x10000, NULL, 0);
		generation = perch_thread_generation(thread);
		advance(processes, 19);
		advance(processes, 1);
		assert_int_equal(perch_thread_generation(thread), generation);
		advance(processes, 25);
		check_function(processes, 12, 0x1007f, "second", 0x10000);
		check_function(processes, 12, 0x10080, "first", 0x10000);
		assert_null(perch_jitdump_error(find_jit_dso(processes)->jitdump));
		assert_int_equal(perch_jitdump_damaged_records(find_jit_dso(processes)->jitdump),
				 0);
		perch_processes_free(processes);
	}
}

static void sorts_functions_of_several_threads(void **state)
{
	struct jitdump dump = new_dump(false);
	struct perch_processes *processes;

	(void)state;
	jitdump_load(&dump, 30, 0, 0x10000, "third", code, 0x10);
	jitdump_load(&dump, 10, 1, 0x10000, "first", code, 0x10);
	jitdump_load(&dump, 20, 2, 0x10000, "second", code, 0x10);
	jitdump_load(&dump, 20, 3, 0x10000, "second, too", code, 0x10);
	end_dump(&dump);
	processes = open_dump();
	advance(processes, 10);
	check_function(processes, 12, 0x10000, "first", 0x10000);
	advance(processes, 20);
	check_function(processes, 12, 0x10000, "second, too", 0x10000);
	advance(processes, 30);
	check_function(processes, 12, 0x10000, "third", 0x10000);
	perch_processes_free(processes);
}

static void moves_functions(void **state)
{
	(void)state;
	for (int swapped = 0; swapped < 2; swapped++) {
		struct jitdump dump = new_dump(swapped);
		struct perch_processes *processes;

		jitdump_load(&dump, 10, 7, 0x10000, "moves", code, 0x100);
		jitdump_move(&dump, 20, 7, 0x10000, 0x12000, 0x100);
		jitdump_move(&dump, 30, 7, 0x12000, 0x13000, 0x100);
		jitdump_load(&dump, 35, 8, 0x13000, "other", code, 0x100);
		jitdump_move(&dump, 40, 7, 0x13000, 0x14000, 0x100);
		/* another size, address or function */
		jitdump_move(&dump, 50, 7, 0x14000, 0x15000, 0x80);
		jitdump_move(&dump, 50, 7, 0x13000, 0x15000, 0x100);
		jitdump_move(&dump, 50, 9, 0x14000, 0x15000, 0x100);
		jitdump_move(&dump, 50, 7, 0x14000, UINT64_MAX - 8, 0x100);
		end_dump(&dump);
		processes = open_dump();
		advance(processes, 19);
		check_function(processes, 12, 0x10010, "moves", 0x10000);
		advance(processes, 20);
		check_function(processes, 12, 0x10010, NULL, 0);
		check_function(processes, 12, 0x12010, "moves", 0x12000);
		advance(processes, 30);
		check_function(processes, 12, 0x12010, NULL, 0);
		check_function(processes, 12, 0x13010, "moves", 0x13000);
		advance(processes, 60);
		/* its old address had other code before it moved */
		check_function(processes, 12, 0x13010, "other", 0x13000);
		check_function(processes, 12, 0x14010, "moves", 0x14000);
		check_function(processes, 12, 0x15010, NULL, 0);
		assert_int_equal(perch_jitdump_damaged_records(find_jit_dso(processes)->jitdump),
				 4);
		perch_processes_free(processes);
	}
}

static void keeps_functions_in_memory_that_is_mapped_again(void **state)
{
	struct jitdump dump = new_dump(false);
	struct perch_processes *processes;

	(void)state;
	jitdump_load(&dump, 10, 0, 0x10000, "function", code, 0x100);
	end_dump(&dump);
	processes = open_dump();
	advance(processes, 10);
	map_file(processes, 12, 0x10000, 0x10000, 0, "//anon");
	check_function(processes, 12, 0x10010, "function", 0x10000);
	check_user(processes, 12, 0x10110, "/tmp/perf-12.map", 0x10110);
	map_file(processes, 12, 0x10000, 0x10000, 0x3000, "/memfd:doublemapper (deleted)");
	check_function(processes, 12, 0x10010, "function", 0x10000);
	check_user(processes, 12, 0x10110, "/tmp/perf-12.map", 0x10110);
	map_file(processes, 12, 0x10000, 0x80, 0, "/lib/file.so");
	check_user(processes, 12, 0x10010, "/lib/file.so", 0x10);
	check_function(processes, 12, 0x10090, "function", 0x10000);
	perch_processes_free(processes);
}

static void gives_functions_to_forked_processes_until_exec(void **state)
{
	struct jitdump dump = new_dump(false);
	struct perch_processes *processes;

	(void)state;
	jitdump_load(&dump, 10, 0, 0x10000, "before", code, 0x100);
	jitdump_load(&dump, 20, 1, 0x11000, "after", code, 0x100);
	jitdump_load(&dump, 30, 2, 0x12000, "never", code, 0x100);
	end_dump(&dump);
	processes = open_dump();
	advance(processes, 10);
	fork_thread(processes, 12, 12, 13, 13);
	/* a recorder that starts later finds the mapping in both processes */
	map_file(processes, 13, 0x1000, 0x1000, 0, PATH);
	map_file(processes, 12, 0x1000, 0x1000, 0, PATH);
	assert_non_null(find_jit_dso(processes));
	advance(processes, 20);
	check_function(processes, 13, 0x10010, "before", 0x10000);
	check_function(processes, 13, 0x11010, NULL, 0);
	check_function(processes, 12, 0x11010, "after", 0x11000);
	name_thread(processes, 12, 12, "exec", true);
	advance(processes, 30);
	check_function(processes, 12, 0x10010, "before", 0x10000);
	check_function(processes, 12, 0x12010, NULL, 0);
	map_file(processes, 12, 0x40000, 0x1000, 0, "/bin/new");
	advance(processes, 40);
	check_function(processes, 12, 0x10010, NULL, 0);
	check_function(processes, 13, 0x10010, "before", 0x10000);
	perch_processes_free(processes);
}

static void reused_process_ids_have_no_old_functions(void **state)
{
	struct jitdump dump = new_dump(false);
	struct perch_processes *processes;

	(void)state;
	jitdump_load(&dump, 10, 0, 0x10000, "before", code, 0x100);
	jitdump_load(&dump, 20, 1, 0x11000, "after", code, 0x100);
	end_dump(&dump);
	processes = open_dump();
	advance(processes, 10);
	fork_thread(processes, 1, 1, 12, 12);
	advance(processes, 20);
	check_function(processes, 12, 0x10010, NULL, 0);
	check_function(processes, 12, 0x11010, NULL, 0);
	perch_processes_free(processes);
}

/* Waits until the file is read again. */
static void await_function(struct perch_processes *processes, uint64_t address)
{
	for (int i = 0; i < 3000; i++) {
		advance(processes, 100);
		if (locate(processes, 12, PERCH_MISC_USER, address).dso->kind == PERCH_DSO_JIT)
			return;
		usleep(10000);
	}
	fail_msg("the file was not read again");
}

static void reads_a_file_that_grows(void **state)
{
	struct jitdump dump = { .file = fopen(path, "w"), .pid = 12 };
	struct perch_processes *processes;
	long whole, size;

	(void)state;
	assert_non_null(dump.file);
	processes = open_dump();
	assert_non_null(perch_jitdump_error(find_jit_dso(processes)->jitdump));
	jitdump_header(&dump, 62, 1, 0);
	jitdump_load(&dump, 10, 0, 0x10000, "first", code, 0x100);
	size = ftell(dump.file);
	jitdump_load(&dump, 20, 1, 0x11000, "second", code, 0x100);
	whole = ftell(dump.file);
	fflush(dump.file);
	/* the last record is incomplete */
	assert_int_equal(truncate(path, whole - 1), 0);
	await_function(processes, 0x10010);
	assert_null(perch_jitdump_error(find_jit_dso(processes)->jitdump));
	check_function(processes, 12, 0x11010, NULL, 0);
	assert_int_equal(truncate(path, size + 7), 0);
	fseek(dump.file, size, SEEK_SET);
	jitdump_load(&dump, 20, 1, 0x11000, "second", code, 0x100);
	jitdump_close(&dump, 30);
	jitdump_load(&dump, 40, 2, 0x12000, "after the end", code, 0x100);
	end_dump(&dump);
	await_function(processes, 0x11010);
	check_function(processes, 12, 0x11010, "second", 0x11000);
	check_function(processes, 12, 0x12010, NULL, 0);
	assert_int_equal(perch_jitdump_damaged_records(find_jit_dso(processes)->jitdump), 0);
	perch_processes_free(processes);
}

/* Writes a load whose size or code size is not that of its parts. */
static void write_bad_load(const struct jitdump *dump, size_t record_size, uint64_t address,
			   uint64_t code_size, const char *name)
{
	char bytes[64] = { 0 };

	jitdump_prefix(dump, 0, record_size - 16, 10);
	jitdump_u64(dump, 0);
	jitdump_u64(dump, address);
	jitdump_u64(dump, address);
	jitdump_u64(dump, code_size);
	jitdump_u64(dump, 5);
	memcpy(bytes, name, strlen(name));
	fwrite(bytes, 1, record_size - 56, dump->file);
}

static void counts_damaged_records(void **state)
{
	static const char long_name[5000] = { [0 ... 4998] = 'n' };
	struct jitdump dump = new_dump(false);
	struct perch_processes *processes;
	const struct perch_dso *dso;

	(void)state;
	write_bad_load(&dump, 80, 0x10000, 0, "no code");
	write_bad_load(&dump, 80, 0x10000, 24, "code in place of the name");
	write_bad_load(&dump, 80, 0x10000, UINT64_MAX, "too large");
	write_bad_load(&dump, 80, UINT64_MAX - 2, 4, "wraps");
	write_bad_load(&dump, 80, 0x10000, 4, "12345678901234567890");
	write_bad_load(&dump, 80, 0x10000, 4, "");
	write_bad_load(&dump, 56, 0x10000, 4, "");
	jitdump_load(&dump, UINT64_MAX, 0, 0x10000, "never", code, 0x100);
	jitdump_prefix(&dump, 1, 8, 10);
	jitdump_u64(&dump, 0);
	/* unknown records are skipped */
	jitdump_prefix(&dump, 77, 8, 10);
	jitdump_u64(&dump, 0);
	jitdump_load(&dump, 10, 0, 0x10000, "function", code, 0x100);
	jitdump_load(&dump, 10, 1, 0x11000, long_name, code, 0x100);
	jitdump_prefix(&dump, 0, (size_t)-1, 10);
	jitdump_load(&dump, 10, 1, 0x12000, "after a record of size 15", code, 0x100);
	end_dump(&dump);
	processes = open_dump();
	dso = find_jit_dso(processes);
	advance(processes, 10);
	assert_int_equal(perch_jitdump_damaged_records(dso->jitdump), 10);
	assert_int_equal(perch_jitdump_damaged_lines(dso->jitdump), 0);
	assert_null(perch_jitdump_error(dso->jitdump));
	check_function(processes, 12, 0x10010, "function", 0x10000);
	check_function(processes, 12, 0x12010, NULL, 0);
	{
		struct perch_location location = locate(processes, 12, PERCH_MISC_USER, 0x11010);
		struct perch_jit_function function;

		assert_int_equal(perch_jitdump_find(dso->jitdump, location.offset, &function), 0);
		assert_int_equal(strlen(function.name), 4096);
	}
	perch_processes_free(processes);
}

static void refuses_other_files(void **state)
{
	const struct perch_jitdump_options options = { .root = root };
	struct jitdump dump = { .pid = 12 };
	const uint32_t words[10] = { 0x4a695444, 2, 40 };

	(void)state;
	unlink(path);
	check_error(&options, "No such file");
	dump.file = fopen(path, "w");
	assert_non_null(dump.file);
	fwrite("not a jitdump file, but some text of 40 bytes", 1, 45, dump.file);
	end_dump(&dump);
	check_error(&options, "not a jitdump");
	dump.file = fopen(path, "w");
	assert_non_null(dump.file);
	fwrite(words, 1, sizeof(words), dump.file);
	end_dump(&dump);
	check_error(&options, "version");
	dump = new_dump(false);
	rewind(dump.file);
	jitdump_header(&dump, 62, 1, 1);
	jitdump_load(&dump, 10, 0, 0x10000, "function", code, 0x100);
	end_dump(&dump);
	check_error(&options, "CPU's counter");
	dump = new_dump(false);
	rewind(dump.file);
	jitdump_header(&dump, 62, 1, 4);
	end_dump(&dump);
	check_error(&options, "unknown flags 0x4");
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	check_error(&options, "directory");
	assert_int_equal(rmdir(path), 0);
}

static void refuses_recordings_of_other_clocks_and_machines(void **state)
{
	struct jitdump dump = new_dump(false);
	struct perch_jitdump_options options = { .root = root, .other_clock = true };
	struct perch_processes *processes = new_processes();
	struct perch_error err;

	(void)state;
	jitdump_load(&dump, 10, 0, 0x10000, "function", code, 0x100);
	end_dump(&dump);
	check_error(&options, "-k mono");
	options = (struct perch_jitdump_options){ .foreign = true };
	check_error(&options, "another machine");
	options.reserved[1] = 1;
	assert_int_equal(perch_processes_use_jitdump(processes, &options, &err), -EINVAL);
	perch_processes_free(processes);
	/* files are not read unless the program asks for it */
	processes = new_processes();
	map_file(processes, 12, 0x1000, 0x1000, 0, PATH);
	assert_null(find_jit_dso(processes));
	advance(processes, 10);
	perch_processes_free(processes);
}

static void checks_that_the_file_is_the_mapped_one(void **state)
{
	const struct perch_jitdump_options options = { .root = root };
	struct jitdump dump = new_dump(false);
	struct perch_record record = mmap_record(PERCH_MISC_USER, 12, 0x1000, 0x1000, 0, PATH);
	static const struct {
		int inode, device;
		bool other_owner;
		const char *error;
	} cases[] = {
		/* a root directory that the user names may have a copy */
		{ 0, 0, false, NULL },
		{ 1, 0, false, NULL },
		{ 1, 1, false, NULL },
		{ 0, 0, true, NULL },
		{ 1, 0, true, "belongs neither" },
		{ 0, 1, true, "belongs neither" },
	};
	struct stat status;

	(void)state;
	jitdump_load(&dump, 10, 0, 0x10000, "function", code, 0x100);
	end_dump(&dump);
	for (size_t i = 0; i < NR(cases); i++) {
		struct perch_processes *processes = new_processes();
		const char *error;

		if (cases[i].other_owner && (geteuid() || chown(path, 1, 1))) {
			perch_processes_free(processes);
			continue;
		}
		assert_int_equal(stat(path, &status), 0);
		record.mmap.inode = status.st_ino + (uint64_t)cases[i].inode;
		record.mmap.major = major(status.st_dev);
		record.mmap.minor = minor(status.st_dev) + (uint32_t)cases[i].device;
		assert_int_equal(perch_processes_use_jitdump(processes, &options, NULL), 0);
		apply(processes, &record);
		error = perch_jitdump_error(find_jit_dso(processes)->jitdump);
		if (cases[i].error)
			assert_non_null(strstr(error, cases[i].error));
		else
			assert_null(error);
		perch_processes_free(processes);
	}
	unlink(path);
}

/* NULL: the file is read. */
static void check_owner_error(pid_t process, const char *name, uint64_t recorded_at,
			      uint32_t recorded_user, const char *error)
{
	const struct perch_jitdump_options options = { .recorded_at = recorded_at };
	struct perch_processes *processes = new_processes();
	const char *found;

	assert_int_equal(perch_processes_use_jitdump(processes, &options, NULL), 0);
	if (recorded_user)
		put_user(processes, (uint32_t)process, recorded_user, PERCH__USER_RECORD_NAME,
			 sizeof(struct perch__user_record), false);
	map_file(processes, (uint32_t)process, 0x1000, 0x1000, 0, name);
	found = perch_jitdump_error(find_jit_dso(processes)->jitdump);
	if (error)
		assert_non_null(found && strstr(found, error) ? found : NULL);
	else
		assert_null(found);
	perch_processes_free(processes);
}

/* Records without an inode: the owner decides. */
static void reads_files_of_the_users_of_the_recorded_process(void **state)
{
	struct jitdump dump = { .pid = 12 };
	char name[64];
	pid_t child;

	(void)state;
	if (geteuid())
		skip();
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		if (setresuid(12345, 12345, 12345))
			_exit(1);
		for (;;)
			pause();
	}
	while (!perch__process_has_user((unsigned)child, 12345))
		usleep(1000);
	snprintf(name, sizeof(name), "/tmp/jit-%d.dump", (int)child);
	dump.file = fopen(name, "w");
	assert_non_null(dump.file);
	jitdump_header(&dump, 62, 1, 0);
	jitdump_load(&dump, 10, 0, 0x10000, "function", code, 0x100);
	end_dump(&dump);
	assert_int_equal(chown(name, 12345, 12345), 0);
	check_owner_error(child, name, 0, 0, NULL);
	check_owner_error(child, name, INT64_MAX, 0, NULL);
	/* it has the id since the recording has ended */
	check_owner_error(child, name, 1, 0, "belongs neither");
	check_owner_error(child, name, 1, 12345, NULL);
	assert_int_equal(chown(name, 12346, 12346), 0);
	check_owner_error(child, name, 0, 0, "belongs neither");
	check_owner_error(child, name, 1, 12345, "belongs neither");
	check_owner_error(child, name, 1, 12346, NULL);
	unlink(name);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void names_functions(void **state)
{
	struct jitdump dump = new_dump(false);
	struct perch_processes *processes;
	struct perch_symbols *symbols;
	const struct perch_symbol *first, *second;
	struct perch_location location;

	(void)state;
	jitdump_load(&dump, 10, 0, 0x10000, "_Z5twicei", code, 0x100);
	jitdump_load(&dump, 10, 1, 0x11000, "bad\x1bname", code, 0x100);
	jitdump_move(&dump, 20, 0, 0x10000, 0x12000, 0x100);
	end_dump(&dump);
	processes = open_dump();
	assert_int_equal(perch_symbols_new(&symbols, NULL, NULL), 0);
	advance(processes, 10);
	location = locate(processes, 12, PERCH_MISC_USER, 0x10010);
	first = perch_symbols_find(symbols, location.dso, location.offset);
	assert_non_null(first);
	assert_string_equal(perch_symbols_name(symbols, first), "twice");
	assert_int_equal(location.offset - first->start, 0x10);
	assert_int_equal(first->end - first->start, 0x100);
	assert_string_equal(perch_symbols_dso_name(symbols, location.dso), "[JIT] tid 12");
	assert_null(perch_symbols_error(symbols, location.dso));
	location = locate(processes, 12, PERCH_MISC_USER, 0x11010);
	second = perch_symbols_find(symbols, location.dso, location.offset);
	assert_non_null(second);
	assert_string_equal(perch_symbols_name(symbols, second), "bad?name");
	advance(processes, 20);
	location = locate(processes, 12, PERCH_MISC_USER, 0x12010);
	assert_ptr_equal(perch_symbols_find(symbols, location.dso, location.offset), first);
	assert_null(perch_symbols_find(symbols, location.dso, 3));
	assert_int_equal(perch_symbols_misses(symbols, location.dso), 1);
	perch_symbols_free(symbols);
	perch_processes_free(processes);
}

static void check_line(struct perch_processes *processes, uint64_t address, const char *file,
		       uint32_t line)
{
	struct perch_location location = locate(processes, 12, PERCH_MISC_USER, address);
	const struct perch_symbol_frame *frames;
	struct perch_symbols *symbols;

	assert_int_equal(perch_symbols_new(&symbols, NULL, NULL), 0);
	assert_true(perch_symbols_has_debug_info(symbols, location.dso));
	assert_int_equal(perch_symbols_frames(symbols, location.dso, location.offset, &frames), 1);
	assert_non_null(frames[0].symbol);
	assert_int_equal(frames[0].line, line);
	if (file)
		assert_string_equal(frames[0].file, file);
	else
		assert_null(frames[0].file);
	perch_symbols_free(symbols);
}

static void finds_lines(void **state)
{
	const struct jitdump_line lines[] = {
		{ 0x10010, 1, "a.js" },		{ 0x10020, 2, NULL },	{ 0x10020, 3, NULL },
		{ 0x10040, 7, "b\xc3\xa9.js" }, { 0x10030, 4, "a.js" }, { 0x10050, 0, NULL }
	};
	const struct jitdump_line other[] = { { 0x20000, 9, "c.js" } };

	(void)state;
	for (int swapped = 0; swapped < 2; swapped++) {
		struct jitdump dump = new_dump(swapped);
		struct perch_processes *processes;

		jitdump_lines(&dump, 10, 0x10000, lines, NR(lines));
		jitdump_load(&dump, 10, 0, 0x10000, "function", code, 0x100);
		jitdump_load(&dump, 10, 1, 0x11000, "without", code, 0x100);
		/* these are of a function that is not loaded */
		jitdump_lines(&dump, 10, 0x20000, other, NR(other));
		jitdump_load(&dump, 10, 1, 0x12000, "without", code, 0x100);
		jitdump_load(&dump, 10, 1, 0x20000, "later", code, 0x100);
		jitdump_move(&dump, 20, 0, 0x10000, 0x18000, 0x100);
		end_dump(&dump);
		processes = open_dump();
		advance(processes, 10);
		check_line(processes, 0x1000f, NULL, 0);
		check_line(processes, 0x10010, "a.js", 1);
		check_line(processes, 0x1001f, "a.js", 1);
		check_line(processes, 0x10020, "a.js", 3);
		check_line(processes, 0x10030, "a.js", 4);
		check_line(processes, 0x10040, "b\xc3\xa9.js", 7);
		check_line(processes, 0x10050, NULL, 0);
		check_line(processes, 0x11010, NULL, 0);
		check_line(processes, 0x12010, NULL, 0);
		check_line(processes, 0x20010, NULL, 0);
		advance(processes, 20);
		check_line(processes, 0x18018, "a.js", 1);
		assert_int_equal(perch_jitdump_damaged_records(find_jit_dso(processes)->jitdump),
				 0);
		perch_processes_free(processes);
	}
}

/* V8 adds the size of an ELF header to the addresses of lines. */
static void finds_lines_with_addresses_that_are_too_large(void **state)
{
	const struct jitdump_line first[] = { { 0x10040, 1, "a.js" }, { 0x10080, 2, NULL } };
	const struct jitdump_line second[] = { { 0x11048, 3, "a.js" }, { 0x11138, 4, NULL } };
	struct jitdump dump = new_dump(false);
	struct perch_processes *processes;

	(void)state;
	jitdump_lines(&dump, 10, 0x10000, first, NR(first));
	jitdump_load(&dump, 10, 0, 0x10000, "first", code, 0x100);
	jitdump_lines(&dump, 10, 0x11000, second, NR(second));
	jitdump_load(&dump, 10, 1, 0x11000, "second", code, 0x100);
	end_dump(&dump);
	processes = open_dump();
	advance(processes, 10);
	check_line(processes, 0x10000, "a.js", 1);
	check_line(processes, 0x10040, "a.js", 2);
	check_line(processes, 0x11007, NULL, 0);
	check_line(processes, 0x11008, "a.js", 3);
	check_line(processes, 0x110f8, "a.js", 4);
	perch_processes_free(processes);
}

static void gives_no_line_that_may_be_wrong(void **state)
{
	const struct jitdump_line lines[] = { { 0x10040, 1, "a.js" }, { 0x100a0, 2, NULL } };
	struct jitdump dump = new_dump(false);
	struct perch_processes *processes;

	(void)state;
	/* the addresses may be too large */
	jitdump_lines(&dump, 10, 0x10000, lines, NR(lines));
	jitdump_load(&dump, 10, 0, 0x10000, "function", code, 0x100);
	end_dump(&dump);
	processes = open_dump();
	advance(processes, 10);
	check_line(processes, 0x10010, NULL, 0);
	check_line(processes, 0x10050, "a.js", 1);
	check_line(processes, 0x10060, NULL, 0);
	check_line(processes, 0x100a0, "a.js", 2);
	perch_processes_free(processes);
}

static void counts_damaged_lines(void **state)
{
	const struct jitdump_line before[] = { { 0xffff, 1, "a.js" } };
	const struct jitdump_line no_file[] = { { 0x11000, 1, "\xff" } };
	struct jitdump dump = new_dump(false);
	struct perch_processes *processes;

	(void)state;
	jitdump_lines(&dump, 10, 0x10000, before, 1);
	jitdump_load(&dump, 10, 0, 0x10000, "before", code, 0x100);
	jitdump_lines(&dump, 10, 0x11000, no_file, 1);
	jitdump_load(&dump, 10, 1, 0x11000, "no file", code, 0x100);
	jitdump_prefix(&dump, 2, 16, 10);
	jitdump_u64(&dump, 0x12000);
	jitdump_u64(&dump, UINT64_MAX);
	jitdump_load(&dump, 10, 1, 0x12000, "too many", code, 0x100);
	/* the name has no end */
	jitdump_prefix(&dump, 2, 40, 10);
	jitdump_u64(&dump, 0x13000);
	jitdump_u64(&dump, 1);
	jitdump_u64(&dump, 0x13000);
	jitdump_u64(&dump, 1);
	fwrite("aaaaaaaa", 1, 8, dump.file);
	jitdump_load(&dump, 10, 1, 0x13000, "no end", code, 0x100);
	jitdump_prefix(&dump, 2, 0, 10);
	jitdump_load(&dump, 10, 1, 0x14000, "too short", code, 0x100);
	jitdump_lines(&dump, 10, 0x15000, &(struct jitdump_line){ 0x15000, 1, "\x02.js" }, 1);
	jitdump_load(&dump, 10, 1, 0x15000, "not a name", code, 0x100);
	jitdump_lines(&dump, 10, 0x16000, &(struct jitdump_line){ 0x16141, 1, "a.js" }, 1);
	jitdump_load(&dump, 10, 1, 0x16000, "behind the function", code, 0x100);
	/* a NUL inside of the name */
	jitdump_prefix(&dump, 2, 40, 10);
	jitdump_u64(&dump, 0x17000);
	jitdump_u64(&dump, 1);
	jitdump_u64(&dump, 0x17000);
	jitdump_u64(&dump, 1);
	fwrite("a\0aaaaa\0", 1, 8, dump.file);
	jitdump_load(&dump, 10, 1, 0x17000, "two ends", code, 0x100);
	/* bytes behind the name fill up 8 */
	jitdump_prefix(&dump, 2, 40, 10);
	jitdump_u64(&dump, 0x18000);
	jitdump_u64(&dump, 1);
	jitdump_u64(&dump, 0x18000);
	jitdump_u64(&dump, 5);
	fwrite("a\0\0\0\0\0\0\0", 1, 8, dump.file);
	jitdump_load(&dump, 10, 1, 0x18000, "right", code, 0x100);
	end_dump(&dump);
	processes = open_dump();
	advance(processes, 10);
	for (uint64_t address = 0x10000; address < 0x18000; address += 0x1000)
		check_line(processes, address + 0x10, NULL, 0);
	assert_int_equal(perch_jitdump_damaged_records(find_jit_dso(processes)->jitdump), 8);
	assert_int_equal(perch_jitdump_damaged_lines(find_jit_dso(processes)->jitdump), 8);
	check_line(processes, 0x18010, "a", 5);
	perch_processes_free(processes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resolves_functions_by_time),
		cmocka_unit_test(sorts_functions_of_several_threads),
		cmocka_unit_test(moves_functions),
		cmocka_unit_test(keeps_functions_in_memory_that_is_mapped_again),
		cmocka_unit_test(gives_functions_to_forked_processes_until_exec),
		cmocka_unit_test(reused_process_ids_have_no_old_functions),
		cmocka_unit_test(reads_a_file_that_grows),
		cmocka_unit_test(counts_damaged_records),
		cmocka_unit_test(refuses_other_files),
		cmocka_unit_test(refuses_recordings_of_other_clocks_and_machines),
		cmocka_unit_test(checks_that_the_file_is_the_mapped_one),
		cmocka_unit_test(reads_files_of_the_users_of_the_recorded_process),
		cmocka_unit_test(names_functions),
		cmocka_unit_test(finds_lines),
		cmocka_unit_test(finds_lines_with_addresses_that_are_too_large),
		cmocka_unit_test(gives_no_line_that_may_be_wrong),
		cmocka_unit_test(counts_damaged_lines),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}

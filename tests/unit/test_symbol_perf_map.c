/* SPDX-License-Identifier: MIT */
/* Tests names of generated code, from files that are written here as a JIT compiler writes them. */
#define _GNU_SOURCE
#include "symbol_fixture.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/kernel/process_owner.h"

static struct perch_dso dso;

/* Makes the map file of process 12 below a root directory. */
static struct perch_symbols *with_map(const char *text)
{
	const struct perch_symbols_options options = { .root = path_in_directory("") };

	mkdir(path_in_directory("tmp"), 0700);
	write_text(path_in_directory("tmp/perf-12.map"), text);
	dso = dso_at("/tmp/perf-12.map", PERCH_DSO_ANON);
	return new_symbols(&options);
}

static void finds_functions_of_map_file(void **state)
{
	struct perch_symbols *symbols = with_map("7f0000001000 20 second\n"
						 "7f0000000000 10 LazyCompile:~f a.js:1:2\n");
	const struct perch_symbol_frame *frames;
	const struct perch_symbol *found;

	(void)state;
	assert_string_equal(name_at(symbols, &dso, 0x7f0000000000), "LazyCompile:~f a.js:1:2");
	assert_string_equal(name_at(symbols, &dso, 0x7f000000000f), "LazyCompile:~f a.js:1:2");
	assert_string_equal(name_at(symbols, &dso, 0x7f0000000010), "");
	found = perch_symbols_find(symbols, &dso, 0x7f000000101f);
	assert_non_null(found);
	assert_string_equal(found->name, "second");
	assert_int_equal(found->start, 0x7f0000001000);
	assert_int_equal(found->end, 0x7f0000001020);
	assert_ptr_equal(found, perch_symbols_find(symbols, &dso, 0x7f0000001000));
	assert_int_equal(perch_symbols_misses(symbols, &dso), 1);
	/* its lines are another question about the same address */
	assert_int_equal(perch_symbols_frames(symbols, &dso, 0x7f0000000010, &frames), 1);
	assert_null(frames->symbol);
	assert_int_equal(perch_symbols_misses(symbols, &dso), 1);
	assert_null(perch_symbols_error(symbols, &dso));
	perch_symbols_free(symbols);
}

static void last_of_overlapping_functions_counts(void **state)
{
	struct perch_symbols *symbols = with_map("100 100 old\n"
						 "140 20 inner\n"
						 "1f0 20 new\n"
						 "300 10 replaced\n"
						 "300 10 replacement\n");

	(void)state;
	assert_string_equal(name_at(symbols, &dso, 0x13f), "old");
	assert_string_equal(name_at(symbols, &dso, 0x140), "inner");
	assert_string_equal(name_at(symbols, &dso, 0x160), "old");
	assert_string_equal(name_at(symbols, &dso, 0x1ef), "old");
	assert_string_equal(name_at(symbols, &dso, 0x1f0), "new");
	assert_string_equal(name_at(symbols, &dso, 0x20f), "new");
	assert_string_equal(name_at(symbols, &dso, 0x210), "");
	assert_string_equal(name_at(symbols, &dso, 0x305), "replacement");
	perch_symbols_free(symbols);
}

/* Compares with a search from the last line on. */
static void ranges_equal_search_from_last_line(void **state)
{
	enum { LINES = 400, SPACE = 600 };
	static char text[LINES * 32];
	unsigned start[LINES], size[LINES], random = 1;
	char *at = text;
	struct perch_symbols *symbols;

	(void)state;
	for (unsigned i = 0; i < LINES; i++) {
		random = random * 1103515245 + 12345;
		start[i] = random >> 16 & 511;
		size[i] = 1 + (random >> 8 & 31);
		at += sprintf(at, "%x %x f%u\n", start[i], size[i], i);
	}
	symbols = with_map(text);
	for (unsigned address = 0; address < SPACE; address++) {
		char expected[16] = "";

		for (unsigned i = 0; i < LINES; i++)
			if (address >= start[i] && address < start[i] + size[i])
				snprintf(expected, sizeof(expected), "f%u", i);
		assert_string_equal(name_at(symbols, &dso, address), expected);
	}
	perch_symbols_free(symbols);
}

static void counts_damaged_lines(void **state)
{
	struct perch_symbols *symbols = with_map("100 10 good\n"
						 "\n"
						 "xyz 10 a\n"
						 "200 10\n"
						 "200 0 empty\n"
						 "-200 10 a\n"
						 "ffffffffffffffff 10 a\n"
						 "11111111111111111111 10 a\n"
						 "300 10 good too\n"
						 "400 10 no newline");

	(void)state;
	assert_string_equal(name_at(symbols, &dso, 0x100), "good");
	assert_string_equal(name_at(symbols, &dso, 0x300), "good too");
	assert_string_equal(name_at(symbols, &dso, 0x400), "no newline");
	assert_string_equal(name_at(symbols, &dso, 0x200), "");
	assert_int_equal(perch_symbols_damaged_lines(symbols, &dso), 6);
	perch_symbols_free(symbols);
}

static void reads_what_is_added(void **state)
{
	const struct timespec pause = { 0, 150000000 };
	struct perch_symbols *symbols = with_map("100 10 first\n200 10 half");
	const struct perch_symbol *first = perch_symbols_find(symbols, &dso, 0x100);
	FILE *file;

	(void)state;
	assert_non_null(first);
	file = fopen(path_in_directory("tmp/perf-12.map"), "a");
	assert_non_null(file);
	fputs("_name\n300 10 third\n", file);
	fclose(file);
	nanosleep(&pause, NULL);
	assert_string_equal(name_at(symbols, &dso, 0x300), "third");
	assert_string_equal(name_at(symbols, &dso, 0x200), "half_name");
	assert_ptr_equal(perch_symbols_find(symbols, &dso, 0x100), first);
	write_text(path_in_directory("tmp/perf-12.map"), "100 10 other\n");
	nanosleep(&pause, NULL);
	assert_string_equal(name_at(symbols, &dso, 0x100), "other");
	assert_string_equal(name_at(symbols, &dso, 0x300), "");
	assert_string_equal(first->name, "first");
	unlink(path_in_directory("tmp/perf-12.map"));
	nanosleep(&pause, NULL);
	assert_string_equal(name_at(symbols, &dso, 0x100), "other");
	perch_symbols_free(symbols);
}

static void reads_map_of_running_process(void **state)
{
	struct perch_symbols *symbols = new_symbols(NULL);
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	write_text(path, "100 10 own\n200 10 may_gro");
	dso = dso_at(path, PERCH_DSO_ANON);
	assert_string_equal(name_at(symbols, &dso, 0x10f), "own");
	assert_string_equal(name_at(symbols, &dso, 0x20f), "");
	assert_int_equal(perch_symbols_damaged_lines(symbols, &dso), 0);
	unlink(path);
	perch_symbols_free(symbols);
}

/* The user of a process that runs may be another one than the reader and root. */
static void reads_map_of_the_user_of_the_process(void **state)
{
	const struct perch_symbols_options any = { .any_owner = true };
	struct perch_symbols *symbols;
	char path[64], reason[64];
	pid_t child;

	(void)state;
	if (geteuid()) {
		print_message("only root makes a process of another user\n");
		skip();
	}
	child = fork();
	assert_return_code(child, errno);
	if (!child) {
		/* a program that has dropped its rights may not be read by its files in /proc */
		if (setresuid(12345, 54321, 54321))
			_exit(1);
		for (;;)
			pause();
	}
	while (!perch__process_has_user((unsigned)child, 54321))
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)child);
	write_text(path, "100 10 own\n");
	dso = dso_at(path, PERCH_DSO_ANON);
	for (uid_t owner = 12345; owner <= 54321; owner += 54321 - 12345) {
		assert_return_code(chown(path, owner, 0), errno);
		symbols = new_symbols(NULL);
		assert_string_equal(name_at(symbols, &dso, 0x100), "own");
		perch_symbols_free(symbols);
	}
	assert_return_code(chown(path, 12346, 0), errno);
	symbols = new_symbols(NULL);
	assert_null(perch_symbols_find(symbols, &dso, 0x100));
	assert_int_equal(perch_symbols_error_reason(symbols, &dso), PERCH_SYMBOLS_OTHER_OWNER);
	dso.users = (struct perch_process_users){ 2, { 12347, 12346 } };
	perch_symbols_free(symbols);
	symbols = new_symbols(NULL);
	assert_string_equal(name_at(symbols, &dso, 0x100), "own");
	dso.users.nr = 1;
	perch_symbols_free(symbols);
	symbols = new_symbols(NULL);
	assert_null(perch_symbols_find(symbols, &dso, 0x100));
	snprintf(reason, sizeof(reason), "belongs to uid %d", 12346);
	assert_non_null(strstr(perch_symbols_error(symbols, &dso), reason));
	perch_symbols_free(symbols);
	symbols = new_symbols(&any);
	assert_string_equal(name_at(symbols, &dso, 0x100), "own");
	perch_symbols_free(symbols);
	unlink(path);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void assert_refused(struct perch_symbols *symbols, const char *reason)
{
	assert_null(perch_symbols_find(symbols, &dso, 0x100));
	assert_non_null(perch_symbols_error(symbols, &dso));
	assert_non_null(strstr(perch_symbols_error(symbols, &dso), reason));
	assert_int_equal(perch_symbols_misses(symbols, &dso), 1);
	perch_symbols_free(symbols);
}

#define HOUR 3600

/* Makes the map file of a process, written some seconds ago, and looks up a name in a recording.
 * The times are in seconds before now; recorded_since 0 is none. */
static struct perch_symbols *with_old_map(pid_t pid, int written, int recorded_at,
					  int recorded_since, bool mapped_in_recording)
{
	static char path[64];
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { .tv_sec = time(NULL) - written } };
	const struct perch_symbols_options options = {
		.recorded_at = (uint64_t)(time(NULL) - recorded_at) * 1000000000,
	};
	struct perch_symbols *symbols = new_symbols(&options);

	if (recorded_since)
		perch_symbols_set_recorded_since(symbols, (uint64_t)(time(NULL) - recorded_since) *
								  1000000000);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)pid);
	write_text(path, "100 10 own\n");
	assert_return_code(utimensat(AT_FDCWD, path, times, 0), errno);
	dso = dso_at(path, PERCH_DSO_ANON);
	dso.mapped_in_recording = mapped_in_recording;
	return symbols;
}

static bool has_birth_time(const char *path)
{
	struct statx status;

	return !statx(AT_FDCWD, path, 0, STATX_BTIME, &status) && status.stx_mask & STATX_BTIME;
}

/* Returns the id of a process that has ended. */
static pid_t ended_process(void)
{
	pid_t pid = fork();

	assert_return_code(pid, errno);
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void refuses_maps_of_other_processes_with_the_id(void **state)
{
	pid_t ended = ended_process();
	struct perch_symbols *symbols;

	(void)state;
	assert_refused(with_old_map(getpid(), HOUR, -10, 0, false), "older than the process");
	assert_refused(with_old_map(getpid(), 0, HOUR, 0, false),
		       "a later process with this id may have written it");
	/* a file from before the later process is that of the recorded one */
	symbols = with_old_map(getpid(), 2 * HOUR, HOUR, 0, false);
	if (!has_birth_time(dso.path))
		assert_string_equal(name_at(symbols, &dso, 0x100), "own");
	perch_symbols_free(symbols);
	unlink(dso.path);

	symbols = with_old_map(ended, 0, -10, 10, true);
	write_text(dso.path, "100 10 own\n200 10 without newline");
	assert_string_equal(name_at(symbols, &dso, 0x100), "own");
	assert_string_equal(name_at(symbols, &dso, 0x200), "without newline");
	perch_symbols_free(symbols);
	assert_refused(with_old_map(ended, HOUR, -10, 10, true), "older than the process");
	/* a process that had mapped its code before may have written the file before, or another */
	assert_refused(with_old_map(ended, HOUR, -10, 10, false),
		       "may be that of an earlier process");
	/* it was written during the recording */
	symbols = with_old_map(ended, 0, -10, 10, false);
	assert_string_equal(name_at(symbols, &dso, 0x100), "own");
	perch_symbols_free(symbols);
	symbols = with_old_map(ended, 0, HOUR, 0, false);
	if (has_birth_time(dso.path)) {
		assert_null(perch_symbols_find(symbols, &dso, 0x100));
		assert_int_equal(perch_symbols_error_reason(symbols, &dso),
				 PERCH_SYMBOLS_LATER_MAP);
		assert_non_null(
			strstr(perch_symbols_error(symbols, &dso), "made after the recording"));
	}
	perch_symbols_free(symbols);
	unlink(dso.path);
}

/* Of a recording that does not say when it was made, no file is too old or too new. */
static void without_the_time_of_the_recording_maps_are_unverified(void **state)
{
	const pid_t pids[2] = { getpid(), ended_process() };
	enum perch_symbols_reason doubt;

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct perch_symbols *symbols = with_old_map(pids[i % 2], i / 2 * HOUR, 0, 0, true);

		perch_symbols_free(symbols);
		symbols = new_symbols(NULL);
		assert_int_equal(perch_symbols_set_recorded_release(symbols, NULL, NULL), 0);
		assert_string_equal(name_at(symbols, &dso, 0x100), "own");
		assert_int_equal(perch_symbols_get_state(symbols, &dso, &doubt),
				 PERCH_SYMBOLS_UNVERIFIED);
		assert_int_equal(doubt, PERCH_SYMBOLS_NO_TIME);
		assert_non_null(strstr(perch_symbols_doubt(symbols, &dso), "another process"));
		perch_symbols_free(symbols);
		unlink(dso.path);
	}
}

/* Below the root of the options, files of all times are used. */
static void reads_later_maps_below_a_root(void **state)
{
	const struct perch_symbols_options options = {
		.root = path_in_directory(""),
		.recorded_at = (uint64_t)(time(NULL) - HOUR) * 1000000000,
	};
	struct perch_symbols *symbols = new_symbols(&options);

	(void)state;
	write_text(path_in_directory("tmp/perf-12.map"), "100 10 own\n");
	dso = dso_at("/tmp/perf-12.map", PERCH_DSO_ANON);
	assert_string_equal(name_at(symbols, &dso, 0x100), "own");
	perch_symbols_free(symbols);
}

static void refuses_files_of_others(void **state)
{
	const struct perch_symbols_options root = { .root = path_in_directory("") };
	const struct perch_symbols_options foreign = { .foreign = true };
	struct perch_symbols *symbols = with_map("100 10 a\n");
	struct stat status;

	(void)state;
	if (!geteuid()) {
		assert_return_code(chown(path_in_directory("tmp/perf-12.map"), 12345, 0), errno);
		assert_refused(symbols, "belongs to uid 12345");
	} else {
		perch_symbols_free(symbols);
	}
	assert_return_code(rename(path_in_directory("tmp/perf-12.map"),
				  path_in_directory("tmp/target")),
			   errno);
	assert_return_code(symlink("target", path_in_directory("tmp/perf-12.map")), errno);
	assert_return_code(chown(path_in_directory("tmp/target"), geteuid(), (gid_t)-1), errno);
	assert_refused(new_symbols(&root), "symbolic link");
	unlink(path_in_directory("tmp/perf-12.map"));
	assert_refused(new_symbols(&root), "/tmp/perf-12.map: no such file");
	assert_refused(new_symbols(&foreign), "another machine");
	dso = dso_at("/tmp/perf-2147483632.map", PERCH_DSO_ANON); /* above any pid */
	assert_int_equal(stat("/proc/self/ns/pid", &status), 0);
	dso.pid_namespace = status.st_ino;
	assert_refused(new_symbols(NULL), "no such file");
	dso.pid_namespace++;
	assert_refused(new_symbols(NULL), "the process was in another pid namespace");
	dso = dso_at("/tmp/perf-12.map", PERCH_DSO_ANON);
	assert_refused(with_map(""), "no functions");
	dso = dso_at("[heap]", PERCH_DSO_ANON);
	assert_refused(new_symbols(NULL), "not mapped from a file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_functions_of_map_file),
		cmocka_unit_test(last_of_overlapping_functions_counts),
		cmocka_unit_test(ranges_equal_search_from_last_line),
		cmocka_unit_test(counts_damaged_lines),
		cmocka_unit_test(reads_what_is_added),
		cmocka_unit_test(reads_map_of_running_process),
		cmocka_unit_test(reads_map_of_the_user_of_the_process),
		cmocka_unit_test(refuses_maps_of_other_processes_with_the_id),
		cmocka_unit_test(without_the_time_of_the_recording_maps_are_unverified),
		cmocka_unit_test(reads_later_maps_below_a_root),
		cmocka_unit_test(refuses_files_of_others),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}

/* SPDX-License-Identifier: MIT */
/* jitdump files of processes that have ended: which stay open, and which are freed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <perch/jitdump.h>

#include "jitdump.h"
#include "process_fixture.h"

enum { FIRST_PID = 100, NR_DUMPS = 5 };

static char root[] = "/tmp/perch-jitdump-XXXXXX";
static const char code[0x100];

static void path_of(uint32_t pid, char path[64])
{
	snprintf(path, 64, "%s/jit-%u.dump", root, pid);
}

/* Each has a function with a line. */
static int make_dumps(void **state)
{
	const struct jitdump_line line = { 0x10000, 7, "a.js" };

	(void)state;
	if (!mkdtemp(root))
		return -1;
	for (uint32_t pid = FIRST_PID; pid < FIRST_PID + NR_DUMPS; pid++) {
		char path[64];
		struct jitdump dump = { .pid = pid };

		path_of(pid, path);
		dump.file = fopen(path, "w");
		if (!dump.file)
			return -1;
		jitdump_header(&dump, 62, 1, 0);
		jitdump_lines(&dump, 10, 0x10000, &line, 1);
		jitdump_load(&dump, 10, 0, 0x10000, "function", code, sizeof(code));
		if (fclose(dump.file))
			return -1;
	}
	return 0;
}

static int remove_dumps(void **state)
{
	(void)state;
	for (uint32_t pid = FIRST_PID; pid < FIRST_PID + NR_DUMPS; pid++) {
		char path[64];

		path_of(pid, path);
		unlink(path);
	}
	return rmdir(root);
}

/* A process that maps its dump, and runs a function of it. */
static const struct perch_dso *start(struct perch_processes *processes, uint32_t pid)
{
	struct perch_location location;
	char path[64];

	snprintf(path, sizeof(path), "/jit-%u.dump", pid);
	map_file(processes, pid, 0x10000, 0x10000, 0, "//anon");
	map_file(processes, pid, 0x1000, 0x1000, 0, path);
	assert_int_equal(perch_processes_advance(processes, 10), 0);
	location = locate(processes, pid, PERCH_MISC_USER, 0x10010);
	assert_int_equal(location.dso->kind, PERCH_DSO_JIT);
	return location.dso;
}

static void end(struct perch_processes *processes, uint32_t pid)
{
	end_thread(processes, pid, pid);
	perch_processes_discard_ended(processes);
	perch_processes_discard_ended(processes);
}

static struct perch_processes *start_all(const struct perch_dso *dsos[NR_DUMPS])
{
	const struct perch_jitdump_options options = { .root = root };
	struct perch_processes *processes = new_processes();

	assert_int_equal(perch_processes_use_jitdump(processes, &options, NULL), 0);
	for (uint32_t i = 0; i < NR_DUMPS; i++)
		dsos[i] = start(processes, FIRST_PID + i);
	return processes;
}

static bool is_open(const struct perch_dso *dso)
{
	int fd = perch_jitdump_fd(dso->jitdump);

	return fd >= 0 && fcntl(fd, F_GETFD) >= 0;
}

/* Returns the offset of the function. Its name stays, whether the file is open or not. */
static uint64_t find_function(const struct perch_dso *dso)
{
	struct perch_jit_function function;
	uint64_t offset = 0;

	/* other records are before its code */
	while (perch_jitdump_find(dso->jitdump, offset, &function) && offset < 4096)
		offset++;
	assert_string_equal(function.name, "function");
	return function.offset;
}

static bool has_line(const struct perch_dso *dso)
{
	uint64_t offset = find_function(dso) + 0x10;
	const char *file;
	uint32_t line;
	int rc = perch_jitdump_find_line(dso->jitdump, offset, &file, &line);

	if (rc) {
		assert_int_equal(rc, -ENOENT);
		return false;
	}
	assert_string_equal(file, "a.js");
	assert_int_equal(line, 7);
	return true;
}

static void check_code(const struct perch_dso *dso, int rc)
{
	struct perch_jit_function function;
	size_t size;
	void *bytes;
	uint32_t machine;
	bool swapped;

	assert_int_equal(perch_jitdump_read_code(dso->jitdump, find_function(dso), sizeof(code),
						 &function, &bytes, &size, &machine, &swapped),
			 rc);
	assert_int_equal(bytes != NULL, !rc);
	free(bytes);
}

static void closes_the_oldest_of_ended(void **state)
{
	const struct perch_dso *dsos[NR_DUMPS];
	struct perch_processes *processes = start_all(dsos);

	(void)state;
	perch_processes_keep_jitdumps(processes, 2);
	for (uint32_t i = 0; i < NR_DUMPS; i++)
		assert_true(is_open(dsos[i]));
	assert_true(has_line(dsos[0]));
	for (uint32_t i = 0; i < 4; i++)
		end(processes, FIRST_PID + i);
	/* two that ended last, and the one that runs */
	for (uint32_t i = 0; i < NR_DUMPS; i++)
		assert_int_equal(is_open(dsos[i]), i >= 2);
	/* what was read before is still known */
	for (uint32_t i = 0; i < NR_DUMPS; i++)
		assert_int_equal(has_line(dsos[i]), i != 1);
	assert_int_equal(perch_jitdump_damaged_records(dsos[1]->jitdump), 0);
	check_code(dsos[1], -ENOENT);
	check_code(dsos[4], 0);
	perch_processes_keep_jitdumps(processes, 0);
	for (uint32_t i = 0; i < NR_DUMPS; i++)
		assert_int_equal(is_open(dsos[i]), i == 4);
	perch_processes_free(processes);
}

static void frees_those_that_nobody_uses(void **state)
{
	const struct perch_dso *dsos[NR_DUMPS], *const *all;
	struct perch_processes *processes = start_all(dsos);
	int fds[NR_DUMPS];
	bool *used;
	size_t nr;

	(void)state;
	for (uint32_t i = 0; i < NR_DUMPS; i++)
		fds[i] = perch_jitdump_fd(dsos[i]->jitdump);
	for (uint32_t i = 0; i < 4; i++)
		end(processes, FIRST_PID + i);
	nr = perch_processes_dsos(processes, &all);
	used = calloc(nr, sizeof(*used));
	assert_non_null(used);
	used[dsos[1]->index] = true; /* a sample has it */
	/* each process has a DSO of the path, and the three of the others are freed, too */
	assert_true(perch_processes_discard_dsos(processes, used) >= 3);
	for (uint32_t i = 0; i < NR_DUMPS; i++)
		assert_int_equal(fcntl(fds[i], F_GETFD) >= 0, i == 1 || i == 4);
	assert_true(has_line(dsos[1]));
	assert_true(has_line(dsos[4]));
	/* the list has the one that is left: it is closed for a later one */
	perch_processes_keep_jitdumps(processes, 1);
	assert_true(is_open(dsos[1]));
	end(processes, FIRST_PID + 4);
	assert_false(is_open(dsos[1]));
	assert_true(is_open(dsos[4]));
	/* files are read on where others were freed */
	assert_non_null(start(processes, FIRST_PID)->jitdump);
	assert_int_equal(perch_processes_advance(processes, UINT64_MAX), 0);
	free(used);
	perch_processes_free(processes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(closes_the_oldest_of_ended),
		cmocka_unit_test(frees_those_that_nobody_uses),
	};

	return cmocka_run_group_tests(tests, make_dumps, remove_dumps);
}

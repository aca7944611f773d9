/* SPDX-License-Identifier: MIT */
/* Processes that already run when a recording starts. */
#define _GNU_SOURCE /* nftw */
#include <errno.h>
#include <unistd.h>
#include "process_fixture.h"
#include "tree.h"
#include <perch/symbol.h>
#include "process/internal.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adds_running_process_of_a_tree),
		cmocka_unit_test(adds_calling_process),
		cmocka_unit_test(damaged_synthesized_record_is_refused),
		cmocka_unit_test(synthesized_fork_inherits_no_mappings),
		cmocka_unit_test(process_that_was_read_after_its_fork_stays),
		cmocka_unit_test(later_forks_are_of_other_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* `perch stat` on a machine that is not here: two sockets, uncore units, energy counters, several PMUs of one kind. */
#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "machine_tree.h"
#include "cli/stat.h"

#define MOST 64
#define FIRST_FD 1000

/* What the replayed kernel was asked to open. */
static struct {
	struct perch_attr attr;
	int cpu;
	unsigned reads;
} opened[MOST];
static int nr_opened;
static char root[4096];

/* Options and the program stand in main.c, which is not linked here. */
const struct cli_command *cli_command(const char *name)
{
	(void)name;
	return NULL;
}

static int replay_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu, int group_fd,
		       unsigned long flags)
{
	(void)context, (void)pid, (void)group_fd, (void)flags;
	assert_true(nr_opened < MOST);
	opened[nr_opened].attr = *attr;
	opened[nr_opened].cpu = cpu;
	opened[nr_opened].reads = 0;
	return FIRST_FD + nr_opened++;
}

static int replay_control(void *context, int fd, unsigned long request, unsigned long argument)
{
	(void)context, (void)fd, (void)request, (void)argument;
	return 0;
}

/* 100 on CPU 0, 101 on CPU 1...; config 7 is a level that stays, all else grows by as much with each read. */
static ssize_t replay_read(void *context, int fd, void *buffer, size_t size)
{
	unsigned reads = ++opened[fd - FIRST_FD].reads;
	bool level = opened[fd - FIRST_FD].attr.config == 7;
	uint64_t words[3] = { (100 + opened[fd - FIRST_FD].cpu) * (level ? 1 : reads), 1000 * reads, 1000 * reads };

	(void)context;
	assert_int_equal(size, sizeof(words));
	assert_int_equal(opened[fd - FIRST_FD].attr.read_format,
			 PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING);
	memcpy(buffer, words, sizeof(words));
	return sizeof(words);
}

static int replay_close(void *context, int fd)
{
	(void)context, (void)fd;
	return 0;
}

/* Runs `perch stat` with the options, on all CPUs for a hundredth of a second. Returns what it prints, to be freed. */
static char *counted(const char *const *options)
{
	const struct perch_calls calls = { .open_event = replay_open, .control = replay_control, .read = replay_read,
					   .close = replay_close };
	struct stat_job stat = { .repeat = 1, .scale = true, .big_num = -1 };
	char *argv[16] = { (char *)"stat", (char *)"-a", (char *)"--timeout", (char *)"10" };
	char *text = NULL;
	size_t length;
	int argc = 4;

	while (*options)
		argv[argc++] = (char *)*options++;
	nr_opened = 0;
	assert_int_equal(perch_machine_new(&stat.machine, root, &calls, NULL), 0);
	stat.output = open_memstream(&text, &length);
	assert_int_equal(stat_parse(&stat, argc, argv), 0);
	assert_int_equal(stat_complete_events(&stat), 0);
	assert_int_equal(stat_choose_targets(&stat), 0);
	assert_int_equal(stat_run(&stat), 0);
	if (!stat.interval_ms)
		assert_int_equal(stat_print(&stat), 0);
	fclose(stat.output);
	stat_free_events(&stat);
	perch_machine_free(stat.machine);
	return text;
}

#define COUNTED(...) counted((const char *const[]){ __VA_ARGS__, NULL })

static void expect(char *text, const char *wanted)
{
	assert_string_equal(text, wanted);
	free(text);
}

static void test_scale_and_unit(void **state)
{
	char *text;

	(void)state;
	/* counted on CPUs 0 and 2, as its cpumask says: (100 + 102) * 0.5 */
	expect(COUNTED("-x,", "-e", "power/energy-pkg/"), "101.00,Joules,power/energy-pkg/,2000,100.00,,\n");
	text = COUNTED("-e", "power/energy-pkg/");
	assert_non_null(strstr(text, "            101.00 Joules power/energy-pkg/"));
	free(text);
}

static void test_sockets(void **state)
{
	(void)state;
	expect(COUNTED("-x,", "--per-socket", "-e", "power/energy-pkg/"),
	       "S0,1,50.00,Joules,power/energy-pkg/,1000,100.00,,\n"
	       "S1,1,51.00,Joules,power/energy-pkg/,1000,100.00,,\n");
	expect(COUNTED("-x,", "-A", "-e", "power/energy-pkg/"),
	       "CPU0,50.00,Joules,power/energy-pkg/,1000,100.00,,\n"
	       "CPU2,51.00,Joules,power/energy-pkg/,1000,100.00,,\n");
	expect(COUNTED("-x,", "--per-core", "-e", "cpu/cycles/"),
	       "S0-D0-C0,2,201,,cpu/cycles/,2000,100.00,,\n"
	       "S1-D0-C0,2,205,,cpu/cycles/,2000,100.00,,\n");
	expect(COUNTED("-x,", "--per-node", "-e", "cpu/cycles/"),
	       "N0,2,201,,cpu/cycles/,2000,100.00,,\n"
	       "N1,2,205,,cpu/cycles/,2000,100.00,,\n");
}

/* An event that each CPU of a socket reports for all of it: 100 of CPU 0 and 102 of CPU 2. */
static void test_per_package(void **state)
{
	(void)state;
	expect(COUNTED("-x,", "-e", "cpu/whole/"), "202,,cpu/whole/,2000,100.00,,\n");
	expect(COUNTED("-x,", "-e", "cpu/cycles/"), "406,,cpu/cycles/,4000,100.00,,\n");
}

static void test_percore(void **state)
{
	(void)state;
	expect(COUNTED("-x,", "-A", "-e", "cpu/event=9,percore/"),
	       "S0-D0-C0,201,,cpu/event=9,percore/,2000,100.00,,\n"
	       "S1-D0-C0,205,,cpu/event=9,percore/,2000,100.00,,\n");
}

/* One name, two PMUs: a line for both, or one for each. */
static void test_merge(void **state)
{
	(void)state;
	expect(COUNTED("-x,", "-e", "uncore_box/event=3/"), "404,,uncore_box/event=3/,4000,100.00,,\n");
	expect(COUNTED("-x,", "--no-merge", "-e", "uncore_box/event=3/"),
	       "202,,uncore_box/event=3/ [uncore_box_0],2000,100.00,,\n"
	       "202,,uncore_box/event=3/ [uncore_box_1],2000,100.00,,\n");
}

/* A level is what it is at the end of each interval, a sum what was added in it. */
static void test_snapshot(void **state)
{
	char *text = COUNTED("-C0", "-I2", "-x,", "-e", "cpu/level/,cpu/cycles/");
	unsigned lines = 0;

	(void)state;
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
		const char *field = strchr(line, ',');

		assert_non_null(field);
		assert_int_equal(strncmp(field, ",100,,cpu/", 10), 0);
	}
	assert_true(lines >= 4 && lines % 2 == 0);
	free(text);
}

static void test_metrics(void **state)
{
	char *text = COUNTED("-x,", "-C0", "-e", "cycles,instructions,stalled-cycles-backend");

	(void)state;
	expect(text, "100,,cycles,1000,100.00,,\n"
		     "100,,instructions,1000,100.00,1.00,insn per cycle\n"
		     ",,,,,1.00,stalled cycles per insn\n"
		     "100,,stalled-cycles-backend,1000,100.00,100.00,backend cycles idle\n");
	expect(COUNTED("-x,", "-C0,1", "-A", "--metric-only", "-e", "cycles,instructions,branches,branch-misses"),
	       "cpu,GHz,insn per cycle,branch-misses of all branches,\nCPU0,,1.00,100.00,\nCPU1,,1.00,100.00,\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scale_and_unit), cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_per_package), cmocka_unit_test(test_percore), cmocka_unit_test(test_merge),
		cmocka_unit_test(test_snapshot), cmocka_unit_test(test_metrics),
	};
	int failed;

	machine_tree_make(root);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	machine_tree_remove(root);
	return failed;
}

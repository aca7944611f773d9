/* SPDX-License-Identifier: MIT */
/* `perch stat` on a machine that is not here: two sockets, uncore units, energy counters, several
 * PMUs of one kind. */
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

#include "cli/stat/stat.h"
#include "tree.h"

#define MOST	 64
#define FIRST_FD 1000

#define DEVICES	 "/sys/bus/event_source/devices/"

static const struct tree_file machine[] = {
	{ "/sys/devices/system/cpu/online", "0-3\n" },
	{ "/sys/devices/system/cpu/present", "0-3\n" },
	{ "/sys/devices/system/cpu/cpu0/topology/core_id", "0\n" },
	{ "/sys/devices/system/cpu/cpu0/topology/die_id", "0\n" },
	{ "/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n" },
	{ "/sys/devices/system/cpu/cpu1/topology/core_id", "0\n" },
	{ "/sys/devices/system/cpu/cpu1/topology/die_id", "0\n" },
	{ "/sys/devices/system/cpu/cpu1/topology/physical_package_id", "0\n" },
	{ "/sys/devices/system/cpu/cpu2/topology/core_id", "0\n" },
	{ "/sys/devices/system/cpu/cpu2/topology/die_id", "0\n" },
	{ "/sys/devices/system/cpu/cpu2/topology/physical_package_id", "1\n" },
	{ "/sys/devices/system/cpu/cpu3/topology/core_id", "0\n" },
	{ "/sys/devices/system/cpu/cpu3/topology/die_id", "0\n" },
	{ "/sys/devices/system/cpu/cpu3/topology/physical_package_id", "1\n" },
	{ "/sys/devices/system/node/online", "0-1\n" },
	{ "/sys/devices/system/node/node0/cpulist", "0-1\n" },
	{ "/sys/devices/system/node/node1/cpulist", "2-3\n" },
	{ DEVICES "cpu/type", "4\n" },
	{ DEVICES "cpu/format/event", "config:0-7\n" },
	{ DEVICES "cpu/events/cycles", "event=0x3c\n" },
	{ DEVICES "cpu/events/whole", "event=0x05\n" },
	{ DEVICES "cpu/events/whole.per-pkg", "1\n" },
	{ DEVICES "cpu/events/level", "event=0x07\n" },
	{ DEVICES "cpu/events/level.snapshot", "1\n" },
	{ DEVICES "power/type", "9\n" },
	{ DEVICES "power/cpumask", "0,2\n" },
	{ DEVICES "power/format/event", "config:0-7\n" },
	{ DEVICES "power/events/energy-pkg", "event=0x02\n" },
	{ DEVICES "power/events/energy-pkg.scale", "0.5\n" },
	{ DEVICES "power/events/energy-pkg.unit", "Joules\n" },
	{ DEVICES "uncore_box_0/type", "20\n" },
	{ DEVICES "uncore_box_0/cpumask", "0,2\n" },
	{ DEVICES "uncore_box_0/format/event", "config:0-7\n" },
	{ DEVICES "uncore_box_1/type", "21\n" },
	{ DEVICES "uncore_box_1/cpumask", "0,2\n" },
	{ DEVICES "uncore_box_1/format/event", "config:0-7\n" },
};

/* What the replayed kernel was asked to open. */
static struct {
	struct perch_attr attr;
	int cpu;
	unsigned reads;
} opened[MOST];
static int nr_opened;
static int (*refuse)(const struct perch_attr *attr, int group_fd); /* errno; 0: take it */
static char root[PATH_MAX];

static int replay_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
		       int group_fd, unsigned long flags)
{
	(void)context, (void)pid, (void)flags;
	errno = refuse ? refuse(attr, group_fd) : 0;
	if (errno)
		return -1;
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

/* 100 on CPU 0, 101 on CPU 1...; config 7 is a level that stays, all else grows by as much with
 * each read. */
static ssize_t replay_read(void *context, int fd, void *buffer, size_t size)
{
	unsigned reads = ++opened[fd - FIRST_FD].reads;
	bool level = opened[fd - FIRST_FD].attr.config == 7;
	uint64_t words[3] = { (100 + opened[fd - FIRST_FD].cpu) * (level ? 1 : reads), 1000 * reads,
			      1000 * reads };

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

/* Runs `perch stat` with the options, on all CPUs for a hundredth of a second. Returns what it
 * prints, to be freed. */
static char *counted(const char *const *options)
{
	const struct perch_syscalls calls = { .perf_event_open = replay_open,
					      .ioctl = replay_control,
					      .read = replay_read,
					      .close = replay_close };
	struct stat_job stat = STAT_DEFAULTS;
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
	if (!stat.options.interval_ms)
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
	expect(COUNTED("-x,", "-e", "power/energy-pkg/"),
	       "101.00,Joules,power/energy-pkg/,2000,100.00,,\n");
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
	       "S0-D0-C0,201,,\"cpu/event=9,percore/\",2000,100.00,,\n"
	       "S1-D0-C0,205,,\"cpu/event=9,percore/\",2000,100.00,,\n");
	expect(COUNTED("-x=,", "-A", "-e", "cpu/event=9,percore/"),
	       "S0-D0-C0=,201=,=,cpu/event=9,percore/=,2000=,100.00=,=,\n"
	       "S1-D0-C0=,205=,=,cpu/event=9,percore/=,2000=,100.00=,=,\n");
	expect(COUNTED("-x ", "-C0", "-e", "cycles,instructions"),
	       "100  cycles 1000 100.00  \n100  instructions 1000 100.00 1.00 \"insn per cycle\"\n");
}

/* One name, two PMUs: a line for both, or one for each. */
static void test_merge(void **state)
{
	(void)state;
	expect(COUNTED("-x,", "-e", "uncore_box/event=3/"),
	       "404,,uncore_box/event=3/,4000,100.00,,\n");
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
	expect(COUNTED("-x,", "-C0,1", "-A", "--metric-only", "-e",
		       "cycles,instructions,branches,branch-misses"),
	       "cpu,GHz,insn per cycle,branch-misses of all branches,\nCPU0,,1.00,100.00,\nCPU1,,1.00,100.00,\n");
}

/* No group of more than one event fits, and there are no hardware events. */
static int refuse_groups(const struct perch_attr *attr, int group_fd)
{
	return attr->type == PERCH_TYPE_HARDWARE ? ENOENT : group_fd >= 0 ? EINVAL : 0;
}

static void expect_part(char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

static void test_reasons(void **state)
{
	char *text;

	(void)state;
	refuse = refuse_groups;
	text = COUNTED("-e", "{page-faults,minor-faults}:W,cycles,instructions,dummy:b");
	refuse = NULL;
	expect_part(text, "               406      page-faults   ");
	expect_part(text, " page-faults, minor-faults: the weak group (W) did not fit the PMU");
	expect_part(text, "   <not supported>      cycles ");
	expect_part(text, "\n cycles, instructions: ");
	expect_part(text, "\n dummy:b: the modifier b makes no difference");
	free(text);
}

/* The kernel's side is forbidden: what is shown says so, also of what the machine has not. */
static int refuse_kernel(const struct perch_attr *attr, int group_fd)
{
	(void)group_fd;
	return !attr->exclude_kernel ? EACCES : attr->type == PERCH_TYPE_HARDWARE ? ENOENT : 0;
}

static void test_user_side(void **state)
{
	(void)state;
	refuse = refuse_kernel;
	expect(COUNTED("-x,", "-e", "page-faults,cycles,cpu/cycles/"),
	       "406,,page-faults:u,4000,100.00,,\n<not supported>,,cycles:u,0,100.00,,\n"
	       "406,,cpu/cycles/u,4000,100.00,,\n");
	refuse = NULL;
}

/* What stands in a file of events is not for the terminal to obey. */
static void test_clean_names(void **state)
{
	char *text = COUNTED("-x,", "-e", "cpu/event=1,name=a\033[31mb/");

	(void)state;
	assert_null(strchr(text, '\033'));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scale_and_unit), cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_per_package),    cmocka_unit_test(test_percore),
		cmocka_unit_test(test_merge),	       cmocka_unit_test(test_snapshot),
		cmocka_unit_test(test_metrics),	       cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_user_side),      cmocka_unit_test(test_clean_names),
	};
	int failed;

	tree_make(root, machine, CLI_NR(machine));
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	tree_remove(root);
	return failed;
}

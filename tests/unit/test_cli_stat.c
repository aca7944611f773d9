/* SPDX-License-Identifier: MIT */
/* perch stat on a replayed machine: two sockets, uncore and energy PMUs, two PMUs of one kind. */
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

/* The events that the replayed kernel opened. */
static struct {
	struct perch_attr attr;
	int cpu;
	unsigned reads;
} opened[MOST];
static int nr_opened;
static int (*refuse)(const struct perch_attr *attr, int group_fd); /* returns an errno, or 0 */
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

/* Each read adds 100 on CPU 0, 101 on CPU 1 and so on. Config 7 stays at this value. */
static ssize_t replay_read(void *context, int fd, void *buffer, size_t size)
{
	unsigned reads = ++opened[fd - FIRST_FD].reads;
	bool constant = opened[fd - FIRST_FD].attr.config == 7;
	uint64_t words[3] = { (100 + opened[fd - FIRST_FD].cpu) * (constant ? 1 : reads),
			      1000 * reads, 1000 * reads };

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

/* Runs perch stat with the options on all CPUs for 10 ms. The caller frees the returned output. */
static char *run_stat(const char *const *options)
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
	assert_int_equal(perch_machine_new(&stat.events.machine, root, &calls, NULL), 0);
	stat.output = open_memstream(&text, &length);
	assert_int_equal(stat_parse(&stat, argc, argv), 0);
	assert_int_equal(stat_complete_events(&stat), 0);
	assert_int_equal(stat_choose_targets(&stat), 0);
	assert_int_equal(stat_run(&stat), 0);
	if (!stat.options.interval_ms)
		assert_int_equal(stat_print(&stat), 0);
	fclose(stat.output);
	stat_free_events(&stat);
	perch_machine_free(stat.events.machine);
	return text;
}

#define RUN_STAT(...) run_stat((const char *const[]){ __VA_ARGS__, NULL })

static void expect(char *text, const char *expected)
{
	assert_string_equal(text, expected);
	free(text);
}

static void applies_scale_and_unit(void **state)
{
	char *text;

	(void)state;
	/* on the CPUs of its cpumask, 0 and 2: (100 + 102) * 0.5 */
	expect(RUN_STAT("-x,", "-e", "power/energy-pkg/"),
	       "101.00,Joules,power/energy-pkg/,2000,100.00,,\n");
	text = RUN_STAT("-e", "power/energy-pkg/");
	assert_non_null(strstr(text, "            101.00 Joules power/energy-pkg/"));
	free(text);
}

static void adds_up_by_topology(void **state)
{
	(void)state;
	expect(RUN_STAT("-x,", "--per-socket", "-e", "power/energy-pkg/"),
	       "S0,1,50.00,Joules,power/energy-pkg/,1000,100.00,,\n"
	       "S1,1,51.00,Joules,power/energy-pkg/,1000,100.00,,\n");
	expect(RUN_STAT("-x,", "-A", "-e", "power/energy-pkg/"),
	       "CPU0,50.00,Joules,power/energy-pkg/,1000,100.00,,\n"
	       "CPU2,51.00,Joules,power/energy-pkg/,1000,100.00,,\n");
	expect(RUN_STAT("-x,", "--per-core", "-e", "cpu/cycles/"),
	       "S0-D0-C0,2,201,,cpu/cycles/,2000,100.00,,\n"
	       "S1-D0-C0,2,205,,cpu/cycles/,2000,100.00,,\n");
	expect(RUN_STAT("-x,", "--per-node", "-e", "cpu/cycles/"),
	       "N0,2,201,,cpu/cycles/,2000,100.00,,\n"
	       "N1,2,205,,cpu/cycles/,2000,100.00,,\n");
}

/* Each CPU reports the count of its socket, which is added once: 100 of CPU 0, 102 of CPU 2. */
static void adds_per_package_event_once_per_socket(void **state)
{
	(void)state;
	expect(RUN_STAT("-x,", "-e", "cpu/whole/"), "202,,cpu/whole/,2000,100.00,,\n");
	expect(RUN_STAT("-x,", "-e", "cpu/cycles/"), "406,,cpu/cycles/,4000,100.00,,\n");
}

static void adds_percore_event_by_core(void **state)
{
	(void)state;
	expect(RUN_STAT("-x,", "-A", "-e", "cpu/event=9,percore/"),
	       "S0-D0-C0,201,,\"cpu/event=9,percore/\",2000,100.00,,\n"
	       "S1-D0-C0,205,,\"cpu/event=9,percore/\",2000,100.00,,\n");
	expect(RUN_STAT("-x=,", "-A", "-e", "cpu/event=9,percore/"),
	       "S0-D0-C0=,201=,=,cpu/event=9,percore/=,2000=,100.00=,=,\n"
	       "S1-D0-C0=,205=,=,cpu/event=9,percore/=,2000=,100.00=,=,\n");
	expect(RUN_STAT("-x ", "-C0", "-e", "cycles,instructions"),
	       "100  cycles 1000 100.00  \n100  instructions 1000 100.00 1.00 \"insn per cycle\"\n");
}

/* Two PMUs with one name have one line, or a line each. */
static void merges_pmus_of_one_name(void **state)
{
	(void)state;
	expect(RUN_STAT("-x,", "-e", "uncore_box/event=3/"),
	       "404,,uncore_box/event=3/,4000,100.00,,\n");
	expect(RUN_STAT("-x,", "--no-merge", "-e", "uncore_box/event=3/"),
	       "202,,uncore_box/event=3/ [uncore_box_0],2000,100.00,,\n"
	       "202,,uncore_box/event=3/ [uncore_box_1],2000,100.00,,\n");
}

/* An interval shows the current value of a snapshot event, and the increase of other events. */
static void prints_current_value_of_snapshot_event(void **state)
{
	/* long enough for two intervals on a busy machine */
	char *text =
		RUN_STAT("--timeout", "200", "-C0", "-I2", "-x,", "-e", "cpu/level/,cpu/cycles/");
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

static void computes_metrics(void **state)
{
	char *text = RUN_STAT("-x,", "-C0", "-e", "cycles,instructions,stalled-cycles-backend");

	(void)state;
	expect(text, "100,,cycles,1000,100.00,,\n"
		     "100,,instructions,1000,100.00,1.00,insn per cycle\n"
		     ",,,,,1.00,stalled cycles per insn\n"
		     "100,,stalled-cycles-backend,1000,100.00,100.00,backend cycles idle\n");
	expect(RUN_STAT("-x,", "-C0,1", "-A", "--metric-only", "-e",
			"cycles,instructions,branches,branch-misses"),
	       "cpu,GHz,insn per cycle,branch-misses of all branches,\nCPU0,,1.00,100.00,\nCPU1,,1.00,100.00,\n");
}

/* Refuses groups of several events, and hardware events. */
static int refuse_groups(const struct perch_attr *attr, int group_fd)
{
	return attr->type == PERCH_TYPE_HARDWARE ? ENOENT : group_fd >= 0 ? EINVAL : 0;
}

static void expect_part(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

static void prints_reasons_below_table(void **state)
{
	char *text;

	(void)state;
	refuse = refuse_groups;
	text = RUN_STAT("-e", "{page-faults,minor-faults}:W,cycles,instructions,dummy:b");
	refuse = NULL;
	expect_part(text, "               406      page-faults   ");
	expect_part(text, " page-faults, minor-faults: the weak group (W) did not fit the PMU");
	expect_part(text, "   <not supported>      cycles ");
	expect_part(text, "\n cycles, instructions: ");
	expect_part(text, "\n dummy:b: the modifier b is ignored");
	free(text);
}

/* Refuses events of the kernel with EACCES, and hardware events of user space with ENOENT. */
static int refuse_kernel(const struct perch_attr *attr, int group_fd)
{
	(void)group_fd;
	return !attr->exclude_kernel ? EACCES : attr->type == PERCH_TYPE_HARDWARE ? ENOENT : 0;
}

static void names_user_space_fallback(void **state)
{
	(void)state;
	refuse = refuse_kernel;
	expect(RUN_STAT("-x,", "-e", "page-faults,cycles,cpu/cycles/"),
	       "406,,page-faults:u,4000,100.00,,\n<not supported>,,cycles:u,0,100.00,,\n"
	       "406,,cpu/cycles/u,4000,100.00,,\n");
	refuse = NULL;
}

/* Control characters of an event file are not printed. */
static void replaces_control_characters(void **state)
{
	char *text = RUN_STAT("-x,", "-e", "cpu/event=1,name=a\033[31mb/");

	(void)state;
	assert_null(strchr(text, '\033'));
	free(text);
}

static void assigns_cgroups_to_events_in_order(void **state)
{
	struct cli_cgroups cgroups = { 0 };

	(void)state;
	assert_int_equal(cli_assign_cgroups("stat", &cgroups, "a,b", 3), 0);
	assert_int_equal(cgroups.nr, 3);
	assert_string_equal(cgroups.name[0], "a");
	assert_string_equal(cgroups.name[1], "b");
	assert_null(cgroups.name[2]);
	assert_int_equal(cli_assign_cgroups("stat", &cgroups, ",c", 4), 0);
	assert_int_equal(cgroups.nr, 4);
	assert_string_equal(cgroups.name[2], "");
	assert_string_equal(cgroups.name[3], "c");
	cli_clear_cgroups(&cgroups);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(applies_scale_and_unit),
		cmocka_unit_test(adds_up_by_topology),
		cmocka_unit_test(adds_per_package_event_once_per_socket),
		cmocka_unit_test(adds_percore_event_by_core),
		cmocka_unit_test(merges_pmus_of_one_name),
		cmocka_unit_test(prints_current_value_of_snapshot_event),
		cmocka_unit_test(computes_metrics),
		cmocka_unit_test(prints_reasons_below_table),
		cmocka_unit_test(names_user_space_fallback),
		cmocka_unit_test(replaces_control_characters),
		cmocka_unit_test(assigns_cgroups_to_events_in_order),
	};
	int failed;

	tree_make(root, machine, CLI_NR(machine));
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	tree_remove(root);
	return failed;
}

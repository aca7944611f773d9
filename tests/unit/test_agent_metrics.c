/* SPDX-License-Identifier: MIT */
/* Metrics as text, and sums of cgroups that never go back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/counters/counter_set.h"
#include "agent/counters/counters.h"
#include "tree.h"

#define S 1000000000ull

/* Returns what a function writes. The caller frees it. */
static char *written(void (*put)(struct agent_metrics *metrics, void *context), void *context,
		     struct agent_metrics *metrics)
{
	char *text;
	size_t size;

	metrics->out = open_memstream(&text, &size);
	assert_non_null(metrics->out);
	put(metrics, context);
	assert_int_equal(fclose(metrics->out), 0);
	return text;
}

static void put_some(struct agent_metrics *metrics, void *context)
{
	(void)context;
	agent_metric_counter(metrics, "perch_x", "Help.");
	agent_metric_value(metrics, NULL, NULL, 3);
	agent_metric_value(metrics, "a", "q\"b\\\n\x1b[0m", 1e300);
	agent_metric_gauge(metrics, "perch_y", "Help.");
	agent_metric_value2(metrics, "a", "1", "b", "2", 0.25);
}

static void test_formats(void **state)
{
	struct agent_metrics metrics = { .open = false };
	char *text = written(put_some, NULL, &metrics);

	(void)state;
	assert_string_equal(text, "# HELP perch_x_total Help.\n# TYPE perch_x_total counter\n"
				  "perch_x_total 3\n"
				  "perch_x_total{a=\"q\\\"b\\\\??[0m\"} 1e+300\n"
				  "# HELP perch_y Help.\n# TYPE perch_y gauge\n"
				  "perch_y{a=\"1\",b=\"2\"} 0.25\n");
	free(text);
	metrics = (struct agent_metrics){ .open = true };
	text = written(put_some, NULL, &metrics);
	assert_non_null(strstr(text, "# TYPE perch_x counter\nperch_x_total 3\n"));
	assert_int_equal(metrics.series, 3);
	free(text);
}

static void put_many(struct agent_metrics *metrics, void *context)
{
	char text[16];

	(void)context;
	agent_metric_gauge(metrics, "perch_x", "Help.");
	for (int i = 0; i < AGENT_MOST_SERIES + 7; i++) {
		snprintf(text, sizeof(text), "%d", i);
		agent_metric_value(metrics, "i", text, i);
	}
}

static void test_limit(void **state)
{
	struct agent_metrics metrics = { .open = false };
	char *text = written(put_many, NULL, &metrics);

	(void)state;
	assert_int_equal(metrics.dropped, 7);
	assert_non_null(strstr(text, "{i=\"1999\"} 1999\n"));
	assert_null(strstr(text, "{i=\"2000\"}"));
	free(text);
}

static void put_cgroups(struct agent_metrics *metrics, void *context)
{
	agent_cgroups_put(context, true, true, true, metrics);
}

/* Returns a value, or -1 if there is none. */
static double value_of(struct agent_cgroups *cgroups, const char *metric, const char *cgroup)
{
	struct agent_metrics metrics = { .open = false };
	char *text = written(put_cgroups, cgroups, &metrics), name[1024], *at;
	double value = -1;

	snprintf(name, sizeof(name), "\n%s_total{cgroup=\"%s\"} ", metric, cgroup);
	at = strstr(text, name);
	if (at)
		value = strtod(at + strlen(name), NULL);
	free(text);
	return value;
}

static void test_cgroups(void **state)
{
	struct agent_cgroups *cgroups = agent_cgroups_new(NULL);

	(void)state;
	agent_cgroups_add(cgroups, "/a", false, 2 * S);
	agent_cgroups_add(cgroups, NULL, false, S);
	/* until it has a row, it is one of the rest */
	assert_true(value_of(cgroups, "perch_cgroup_cpu_seconds", "other") == 2);
	assert_true(value_of(cgroups, "perch_cgroup_cpu_seconds", "unknown") == 1);
	agent_cgroups_choose(cgroups, 10 * S);
	assert_true(value_of(cgroups, "perch_cgroup_cpu_seconds", "/a") == 0);
	agent_cgroups_add(cgroups, "/a", false, 4 * S);
	agent_cgroups_add(cgroups, "/a", true, 5 * S);
	assert_true(value_of(cgroups, "perch_cgroup_cpu_seconds", "/a") == 4);
	assert_true(value_of(cgroups, "perch_cgroup_off_cpu_seconds", "/a") == 5);
	assert_true(value_of(cgroups, "perch_cgroup_samples", "/a") == 1);
	assert_true(value_of(cgroups, "perch_cgroup_cpu_seconds", "other") == 2);
	/* an idle one becomes a part of the rest */
	agent_cgroups_choose(cgroups, 20 * S);
	agent_cgroups_choose(cgroups, 400 * S);
	assert_true(value_of(cgroups, "perch_cgroup_cpu_seconds", "/a") == -1);
	assert_true(value_of(cgroups, "perch_cgroup_cpu_seconds", "other") == 6);
	agent_cgroups_free(cgroups);
}

/* The busiest of many have a row, and no sum is lost. */
static void test_many_cgroups(void **state)
{
	struct agent_cgroups *cgroups = agent_cgroups_new(NULL);
	double before = 0, now, sum = 0;
	char path[32];

	(void)state;
	for (uint64_t round = 1; round < 20; round++) {
		for (int i = 0; i < 600; i++) {
			snprintf(path, sizeof(path), "/c%d", i);
			for (int j = 0; j <= (i == 7) * 100; j++)
				agent_cgroups_add(cgroups, path, false, S);
		}
		now = value_of(cgroups, "perch_cgroup_cpu_seconds", "other");
		assert_true(now >= before);
		before = now;
		agent_cgroups_choose(cgroups, round * 10 * S);
	}
	assert_true(value_of(cgroups, "perch_cgroup_cpu_seconds", "/c7") == 18 * 101);
	for (int i = 0; i < 600; i++) {
		snprintf(path, sizeof(path), "/c%d", i);
		now = value_of(cgroups, "perch_cgroup_cpu_seconds", path);
		sum += now > 0 ? now : 0;
	}
	assert_true(sum + value_of(cgroups, "perch_cgroup_cpu_seconds", "other") == 19 * 700);
	agent_cgroups_free(cgroups);
}

/* Two cgroups are never the same series. */
static void test_long_paths(void **state)
{
	struct agent_cgroups *cgroups = agent_cgroups_new(NULL);
	char path[600];

	(void)state;
	memset(path, 'x', sizeof(path));
	*path = '/';
	path[sizeof(path) - 1] = 0;
	for (int i = 0; i < 2; i++) {
		path[sizeof(path) - 2] = (char)('a' + i);
		agent_cgroups_add(cgroups, path, false, S);
		agent_cgroups_add(cgroups, i ? "/\n" : "/\r", false, S);
		agent_cgroups_choose(cgroups, S);
		agent_cgroups_add(cgroups, path, false, (uint64_t)(i + 7) * S);
		assert_true(value_of(cgroups, "perch_cgroup_cpu_seconds", path) == i + 7);
	}
	assert_true(value_of(cgroups, "perch_cgroup_cpu_seconds", "/?") == -1);
	assert_true(value_of(cgroups, "perch_cgroup_cpu_seconds", "other") == 4);
	agent_cgroups_free(cgroups);
}

/* One that begins when all rows are taken gets that of the least busy one, and keeps it. */
static void test_late_cgroup(void **state)
{
	struct agent_cgroups *cgroups = agent_cgroups_new(NULL);
	char path[32];

	(void)state;
	for (uint64_t round = 1; round < 20; round++) {
		for (int i = 0; i < 60; i++) {
			snprintf(path, sizeof(path), "/c%d", i);
			for (int j = 0; j <= i % 7; j++)
				agent_cgroups_add(cgroups, path, false, S);
		}
		for (int j = 0; j < 190 && round > 4; j++)
			agent_cgroups_add(cgroups, "/late", false, S);
		agent_cgroups_choose(cgroups, round * 10 * S);
	}
	assert_true(value_of(cgroups, "perch_cgroup_cpu_seconds", "/late") == 14 * 190);
	assert_true(value_of(cgroups, "perch_cgroup_cpu_seconds", "/c6") == 18 * 7);
	agent_cgroups_free(cgroups);
}

/* ---- a hybrid machine ---- */

/* What a replayed kernel counts: other values for each event, PMU and CPU. */
static uint64_t counted[64];
static int cpu_of[64], nr_counted;
static bool in_cgroup[64];

static int replay_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
		       int group_fd, unsigned long flags)
{
	(void)context, (void)pid, (void)group_fd;
	assert_in_range(nr_counted, 0, 63);
	cpu_of[nr_counted] = cpu;
	in_cgroup[nr_counted] = flags & PERCH_FLAG_PID_CGROUP;
	counted[nr_counted] = attr->type * 10000 + (attr->config >> PERCH_PMU_TYPE_SHIFT) * 1000 +
			      (attr->config & 0xff) * 10 + (unsigned)cpu;
	return 1000 + nr_counted++;
}

static int replay_control(void *context, int fd, unsigned long request, unsigned long argument)
{
	(void)context;
	if (request == PERCH_IOC_ID)
		*(uint64_t *)argument = (uint64_t)fd;
	return 0;
}

/* The value, two times, and perhaps an id and a number of lost events. */
static ssize_t replay_read(void *context, int fd, void *buffer, size_t size)
{
	const uint64_t words[] = { counted[fd - 1000], 1000, 1000, (uint64_t)fd, 0 };

	(void)context;
	memcpy(buffer, words, size < sizeof(words) ? size : sizeof(words));
	return (ssize_t)(size < sizeof(words) ? size : sizeof(words));
}

static int replay_close(void *context, int fd)
{
	(void)context, (void)fd;
	return 0;
}

#define PMUS "/sys/bus/event_source/devices/"

static struct perch_machine *make_hybrid(char root[PATH_MAX])
{
	static const struct tree_file files[] = {
		{ PMUS "cpu_core/type", "4\n" },
		{ PMUS "cpu_core/cpus", "0-3\n" },
		{ PMUS "cpu_atom/type", "10\n" },
		{ PMUS "cpu_atom/cpus", "4-7\n" },
		{ PMUS "software/type", "1\n" },
		{ "/sys/devices/system/cpu/online", "0-7\n" },
		{ "/proc/self/mounts", "none /sys/fs/cgroup cgroup2 rw 0 0\n" },
		{ "/sys/fs/cgroup/a/cgroup.procs", "" },
	};
	static const struct perch_syscalls calls = { .perf_event_open = replay_open,
						     .ioctl = replay_control,
						     .read = replay_read,
						     .close = replay_close };
	struct perch_machine *machine;

	nr_counted = 0;
	tree_make(root, files, sizeof(files) / sizeof(*files));
	assert_int_equal(perch_machine_new(&machine, root, &calls, NULL), 0);
	return machine;
}

/* An event is one on each core PMU: each CPU has that of its PMU, and all other events their own
 * values. */
static void test_hybrid_counters(void **state)
{
	/* of CPUs 1 and 4: cycles, instructions, cache misses, context switches, page faults */
	static const uint64_t expected[AGENT_NR_COUNTED][2] = {
		{ 4001, 10004 },  { 4011, 10014 },  { 4031, 10034 },
		{ 10031, 10034 }, { 10021, 10024 },
	};
	struct perch_target target[] = { { .tid = -1, .cpu = 1 }, { .tid = -1, .cpu = 4 } };
	const struct perch_targets targets = { .nr = 2, .target = target };
	struct agent_counter_set set;
	struct perch_machine *machine;
	char root[PATH_MAX];

	(void)state;
	machine = make_hybrid(root);
	assert_int_equal(agent_counter_set_open(&set, ~0u, &targets, machine), 0);
	assert_int_equal(set.events, (1 << AGENT_NR_COUNTED) - 1);
	assert_true(agent_counter_set_read(&set));
	for (size_t i = 0; i < AGENT_NR_COUNTED; i++) {
		uint64_t enabled = 0, running = 0;

		for (size_t k = 0; k < 2; k++)
			assert_int_equal(agent_counter_set_sum_at(&set, i, k), expected[i][k]);
		assert_int_equal(agent_counter_set_sum(&set, i), expected[i][0] + expected[i][1]);
		agent_counter_set_add_times(&set, i, &enabled, &running);
		assert_int_equal(enabled, 2000);
		assert_int_equal(running, 2000);
	}
	agent_counter_set_close(&set);
	perch_machine_free(machine);
	tree_remove(root);
}

/* Events of cgroups are counted on the CPUs whose events are counted, and on no others. */
static void test_cpus_of_cgroups(void **state)
{
	struct perch_target target[] = { { .tid = -1, .cpu = 1 }, { .tid = -1, .cpu = 4 } };
	const struct perch_targets targets = { .nr = 2, .target = target };
	struct agent_cgroup_counters *cgroups;
	struct agent_cpu_counters *cpus;
	struct perch_machine *machine;
	const char *path = "/a";
	char root[PATH_MAX];

	(void)state;
	machine = make_hybrid(root);
	cpus = agent_cpu_counters_open(&targets, machine);
	assert_non_null(cpus);
	cgroups = agent_cgroup_counters_new(cpus, machine);
	assert_non_null(cgroups);
	agent_cgroup_counters_choose(cgroups, &path, 1);
	assert_int_equal(nr_counted, 2 * 2 * AGENT_NR_COUNTED);
	for (int i = 0; i < nr_counted; i++) {
		assert_true(cpu_of[i] == 1 || cpu_of[i] == 4);
		assert_int_equal(in_cgroup[i], i >= nr_counted / 2);
	}
	agent_cgroup_counters_free(cgroups);
	agent_cpu_counters_close(cpus);
	perch_machine_free(machine);
	tree_remove(root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_cgroups),		cmocka_unit_test(test_many_cgroups),
		cmocka_unit_test(test_long_paths),	cmocka_unit_test(test_late_cgroup),
		cmocka_unit_test(test_hybrid_counters), cmocka_unit_test(test_cpus_of_cgroups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

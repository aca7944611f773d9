/* SPDX-License-Identifier: MIT */
/* Metrics as text, and sums of cgroups that never go back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/counters/counters.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),	   cmocka_unit_test(test_limit),
		cmocka_unit_test(test_cgroups),	   cmocka_unit_test(test_many_cgroups),
		cmocka_unit_test(test_long_paths), cmocka_unit_test(test_late_cgroup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

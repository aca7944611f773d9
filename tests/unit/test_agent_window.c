/* SPDX-License-Identifier: MIT */
/* The samples of the last minutes: sums of slices, and the limit of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/window/window.h"
#include "base/nr.h"

#define S  1000000000ull
#define MB (1u << 20)

static const struct perch_dso dso = { .path = "/bin/a" }, other = { .path = "/bin/b" };

static void add(struct agent_window *window, const uint64_t *chain, size_t nr, const char *comm)
{
	struct agent_address address[64];
	struct agent_sample sample = { .chain = address,
				       .nr = nr,
				       .labels = { .cgroup = "/a", .comm = comm, .tid = 7 },
				       .period = 10 };

	for (size_t i = 0; i < nr; i++)
		address[i] = (struct agent_address){
			.dso = &dso, .offset = chain[i], .mode = '.', .caller = i > 0
		};
	agent_window_add(window, &sample);
}

/* Writes the offsets of a stack, innermost first: "3 2 1". */
static const char *text_of(const struct agent_window *window, uint32_t stack)
{
	static char text[256];
	size_t used = 0;

	text[0] = '\0';
	while (stack != AGENT_NONE && used < sizeof(text) - 24) {
		const struct agent_address *address = agent_window_frame(window, stack, &stack);

		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 used ? " %s%llu" : "%s%llu", address->dso ? "" : "t",
					 (unsigned long long)address->offset);
	}
	return text;
}

static uint64_t samples_of(const struct agent_window *window, uint64_t from, uint64_t to)
{
	uint64_t samples = 0;
	size_t nr;
	struct agent_row *rows = agent_window_sum(window, from, to, &nr);

	for (size_t i = 0; i < nr; i++) {
		samples += rows[i].samples;
		assert_int_equal(rows[i].period, 10 * rows[i].samples);
	}
	free(rows);
	return samples;
}

static void test_sums(void **state)
{
	struct agent_window *window = agent_window_new(MB, 60);
	const uint64_t chain[] = { 3, 2, 1 };
	struct agent_row *rows;
	uint64_t begin, end;
	size_t nr;

	(void)state;
	assert_int_equal(agent_window_cut(window, 100 * S), 0); /* nothing before it */
	add(window, chain, 3, "x");
	add(window, chain, 3, "x");
	add(window, chain + 1, 2, "x");
	assert_int_equal(agent_window_cut(window, 101 * S), 1);
	add(window, chain, 3, "x");
	add(window, chain, 3, "y");
	assert_int_equal(agent_window_cut(window, 102 * S), 2);

	rows = agent_window_sum(window, 0, 2, &nr);
	assert_int_equal(nr, 3);
	for (size_t i = 0; i < nr; i++) {
		struct agent_sample_labels labels = agent_window_labels(window, rows[i].labels);

		assert_string_equal(labels.cgroup, "/a");
		assert_int_equal(labels.tid, 7);
		assert_int_equal(rows[i].samples, !strcmp(text_of(window, rows[i].stack), "2 1") ||
								  !strcmp(labels.comm, "y")
							  ? 1
							  : 3);
	}
	free(rows);
	assert_int_equal(samples_of(window, 0, 1), 3);
	assert_int_equal(samples_of(window, 1, 2), 2);
	assert_int_equal(samples_of(window, 2, 99), 0);
	agent_window_times(window, 0, 2, &begin, &end);
	assert_int_equal(begin, 100 * S);
	assert_int_equal(end, 102 * S);
	assert_int_equal(agent_window_since(window, 101 * S), 1);
	assert_int_equal(agent_window_since(window, 0), 0);
	assert_int_equal(agent_window_since(window, 500 * S), 2);
	agent_window_free(window);
}

/* Stacks and labels leave with the last slice that has them. */
static void test_age(void **state)
{
	struct agent_window *window = agent_window_new(MB, 10);
	struct agent_window_stats stats;
	size_t most = 0;

	(void)state;
	for (uint64_t second = 1; second < 2000; second++) {
		const uint64_t chain[] = { second, second / 2, 1 };
		char comm[16];

		snprintf(comm, sizeof(comm), "%llu", (unsigned long long)second);
		agent_window_cut(window, second * S);
		add(window, chain, 3, comm);
		agent_window_get_stats(window, &stats);
		if (second == 50)
			most = stats.bytes;
		assert_true(stats.slices <= 13);
		assert_true(stats.stacks <= 40);
		assert_true(second < 50 || stats.bytes <= most + 256);
	}
	assert_int_equal(stats.samples, 1999);
	assert_int_equal(stats.dropped_samples, 0);
	assert_true(agent_window_oldest(window) > 1980);
	agent_window_free(window);
}

/* Returns the samples of a stack, in all slices; *all: of all stacks. */
static uint64_t samples_at(const struct agent_window *window, const char *text, uint64_t *all)
{
	uint64_t samples = 0;
	size_t nr;
	struct agent_row *rows = agent_window_sum(window, 0, UINT64_MAX, &nr);

	*all = 0;
	for (size_t i = 0; i < nr; i++) {
		*all += rows[i].samples;
		if (!strcmp(text_of(window, rows[i].stack), text))
			samples += rows[i].samples;
	}
	free(rows);
	return samples;
}

/* A hot stack stays among many rare ones, and no sample is lost. */
static void test_limit(void **state)
{
	const size_t limit = 256 << 10;
	struct agent_window *window = agent_window_new(limit, 1000);
	const uint64_t hot[] = { 3, 2, 1 };
	struct agent_window_stats stats;
	uint64_t all;

	(void)state;
	for (uint64_t second = 1; second <= 200; second++) {
		agent_window_cut(window, second * S);
		for (uint64_t i = 0; i < 50; i++) {
			const uint64_t rare[] = { 1000 + second * 50 + i, 500 + i, 1 };

			add(window, rare, 3, "rare");
			add(window, hot, 3, "hot");
		}
	}
	agent_window_cut(window, 201 * S);
	agent_window_get_stats(window, &stats);
	assert_true(stats.bytes <= limit);
	assert_int_equal(stats.samples, 20000);
	assert_int_equal(stats.dropped_samples, 0);
	assert_true(stats.truncated_samples > 1000);
	assert_true(stats.unlabeled_samples > 0);
	assert_int_equal(samples_at(window, "3 2 1", &all), 10000);
	assert_int_equal(all, 20000);
	assert_int_equal(samples_at(window, "t0", &all), stats.truncated_samples);
	agent_window_free(window);
}

/* If nothing else helps, the oldest slices leave, which is counted. */
static void test_smallest(void **state)
{
	struct agent_window *window = agent_window_new(2048, 1000);
	struct agent_window_stats stats;
	uint64_t all;

	(void)state;
	for (uint64_t second = 1; second <= 100; second++) {
		const uint64_t chain[] = { 1 };

		agent_window_cut(window, second * S);
		add(window, chain, 1, "x");
	}
	agent_window_cut(window, 101 * S);
	agent_window_get_stats(window, &stats);
	assert_true(stats.bytes <= 2048);
	assert_true(stats.dropped_samples > 0);
	samples_at(window, "", &all);
	assert_int_equal(all + stats.dropped_samples, 100);
	agent_window_free(window);
}

/* Users choose the paths of their cgroups: long ones count. */
static void test_long_paths(void **state)
{
	struct agent_window *window = agent_window_new(MB, 1000);
	const struct agent_address address = { &dso, 1, '.', false };
	struct agent_sample sample = { .chain = &address, .nr = 1, .period = 10 };
	struct agent_window_stats stats;
	char path[4001];

	(void)state;
	memset(path, 'x', sizeof(path));
	path[4000] = '\0';
	sample.labels.cgroup = path;
	for (uint64_t second = 1; second <= 1000; second++) {
		agent_window_cut(window, second * S);
		memcpy(path, (char[]){ (char)('a' + second / 40), (char)('A' + second % 40) }, 2);
		agent_window_add(window, &sample);
	}
	agent_window_cut(window, 1001 * S);
	agent_window_get_stats(window, &stats);
	assert_in_range(stats.bytes, MB / 2, MB);
	assert_in_range(stats.slices, 100, MB / 4000);
	assert_int_equal(samples_of(window, 0, UINT64_MAX) + stats.dropped_samples, 1000);
	agent_window_free(window);
}

/* The same offset of another DSO, event or kind of frame is another stack; an empty one is one. */
static void test_keys(void **state)
{
	struct agent_window *window = agent_window_new(MB, 60);
	const struct agent_address addresses[] = { { &dso, 1, '.', false },
						   { &other, 1, '.', false },
						   { &dso, 1, 'k', false },
						   { &dso, 1, '.', true } };
	struct agent_sample sample = { .nr = 1, .period = 10 };
	size_t nr;

	(void)state;
	for (size_t i = 0; i < PERCH__NR(addresses); i++) {
		sample.chain = &addresses[i];
		sample.event = 0;
		agent_window_add(window, &sample);
		sample.event = 1;
		agent_window_add(window, &sample);
	}
	sample.nr = 0;
	agent_window_add(window, &sample);
	agent_window_add(window, &sample);
	free(agent_window_sum(window, 0, 1, &nr));
	assert_int_equal(nr, 9);
	assert_int_equal(samples_of(window, 0, 1), 10);
	agent_window_free(window);
}

/* A cgroup and those below it, of which none is another one with a longer name. */
static void chooses_cgroup(void **state)
{
	static const char *const cgroups[] = { "/a", "/a/b", "/ab", "/", NULL };
	static const struct {
		const char *cgroup;
		size_t rows;
	} cases[] = { { "/a", 2 }, { "/a/", 2 }, { "/a/b", 1 }, { "/ab", 1 },
		      { "/b", 0 }, { "/", 4 },	 { NULL, 5 } };
	struct agent_window *window = agent_window_new(1 << 20, 10);

	(void)state;
	assert_non_null(window);
	for (size_t i = 0; i < sizeof(cgroups) / sizeof(*cgroups); i++) {
		const struct agent_sample sample = { .labels = { .cgroup = cgroups[i] },
						     .period = 1 };

		agent_window_add(window, &sample);
	}
	agent_window_cut(window, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t nr;

		agent_window_choose(window, cases[i].cgroup);
		free(agent_window_sum(window, 0, UINT64_MAX, &nr));
		assert_int_equal(nr, cases[i].rows);
	}
	agent_window_free(window);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),	   cmocka_unit_test(test_age),
		cmocka_unit_test(test_limit),	   cmocka_unit_test(test_smallest),
		cmocka_unit_test(chooses_cgroup),  cmocka_unit_test(test_keys),
		cmocka_unit_test(test_long_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

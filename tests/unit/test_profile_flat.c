/* SPDX-License-Identifier: MIT */
/* Tests profiles without call chains: they have the same rows as others, without children. */
#include "profile_fixture.h"

static struct perch_profile *new_profile(struct fixture *f, bool flat)
{
	const struct perch_profile_options options = { .names = "tid,dso,sym,level", .flat = flat };
	struct perch_profile *profile;

	assert_int_equal(perch_profile_new(&profile, f->processes, f->symbols, &options, NULL), 0);
	return profile;
}

/* Samples of three threads, at addresses that several of them have. */
static struct perch_record sample_of(uint64_t *state, const uint64_t *ips)
{
	struct perch_record record;
	uint64_t random;

	*state = *state * 6364136223846793005u + 1442695040888963407u;
	random = *state >> 33;
	record = sample_record(PID, PID + random % 3, 1 + random % 100, CODE + random / 3 % 500);
	record.event = random / 7 % 2;
	record.misc = random % 5 ? PERCH_MISC_USER : PERCH_MISC_KERNEL;
	record.sample.callchain.nr = 2;
	record.sample.callchain.ip = ips;
	return record;
}

static void rows_equal_those_with_stacks(void **state)
{
	const uint64_t ips[] = { PERCH_CONTEXT_USER, CODE + 5000 };
	struct fixture *f = *state;
	struct perch_profile *profile[2] = { new_profile(f, false), new_profile(f, true) };
	const struct perch_row *rows[2];
	uint64_t seed = 42;
	size_t nr[2];

	for (unsigned i = 0; i < 20000; i++) {
		struct perch_record record = sample_of(&seed, ips);

		if (i == 10000)
			map_file(f->processes, PID, CODE, 0x10000, CODE, "/bin/later");
		for (int j = 0; j < 2; j++)
			assert_int_equal(perch_profile_add(profile[j], &record, NULL), 0);
	}
	for (int j = 0; j < 2; j++)
		assert_int_equal(perch_profile_finish(profile[j], NULL), 0);
	for (unsigned event = 0; event < 2; event++) {
		for (int j = 0; j < 2; j++)
			assert_int_equal(perch_profile_rows(profile[j], event, NULL, &rows[j],
							    &nr[j], NULL),
					 0);
		assert_true(nr[0] > 1000);
		assert_int_equal(nr[0], nr[1]);
		for (size_t i = 0; i < nr[0]; i++) {
			assert_int_equal(rows[0][i].self, rows[1][i].self);
			assert_int_equal(rows[0][i].samples, rows[1][i].samples);
			assert_int_equal(rows[0][i].system, rows[1][i].system);
			assert_int_equal(rows[0][i].frame.offset, rows[1][i].frame.offset);
			assert_ptr_equal(rows[0][i].frame.dso, rows[1][i].frame.dso);
			assert_int_equal(rows[1][i].children, rows[1][i].self);
		}
	}
	perch_profile_free(profile[0]);
	perch_profile_free(profile[1]);
}

static void has_no_callers(void **state)
{
	const struct perch_rows_options children = { .children = true };
	const uint64_t ips[] = { PERCH_CONTEXT_USER, CODE + 1, CODE + 2 };
	struct perch_record record = sample_record(PID, PID, 10, CODE + 1);
	struct perch_call_graph graph;
	struct fixture *f = *state;

	f->profile = new_profile(f, true);
	record.sample.callchain.nr = NR(ips);
	record.sample.callchain.ip = ips;
	add(f, &record);
	finish(f);
	assert_int_equal(perch_profile_rows(f->profile, 0, &children, &f->rows, &f->nr, NULL), 0);
	assert_int_equal(f->nr, 1);
	assert_int_equal(f->rows[0].children, 10);
	assert_int_equal(perch_profile_call_graph(f->profile, f->rows, PERCH_CALL_GRAPH_CALLEE,
						  true, 0, &graph, NULL),
			 0);
	assert_int_equal(graph.nr, 2);
	assert_int_equal(graph.node[1].self, 10);
	perch_call_graph_clear(&graph);
}

static void makes_empty_profile(void **state)
{
	struct fixture *f = *state;

	f->profile = new_profile(f, true);
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_equal_those_with_stacks),
		TEST(has_no_callers),
		TEST(makes_empty_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

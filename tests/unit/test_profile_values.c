/* SPDX-License-Identifier: MIT */
/* Tests the columns of what a sample has. The samples are built here: this machine has no PMU that
 * records weights, transactions and physical addresses. */
#include "profile_fixture.h"

static struct perch_parse_info info;

/* A sample with every field. */
static struct perch_record full_sample(void)
{
	struct perch_record record = sample_record(PID, PID, 10, CODE + 1);

	info.sample_type = ~(uint64_t)PERCH_SAMPLE_WEIGHT;
	record.parse_info = &info;
	record.sample.time = 1234567890123;
	record.sample.cpu = 1;
	record.sample.cgroup = 7;
	record.sample.weight =
		(union perch_sample_weight){ .var1_dw = 100, .var2_w = 20, .var3_w = 3 }.full;
	record.sample.transaction = PERCH_TXN_TRANSACTION;
	record.sample.phys_addr = 0xabc;
	record.sample.code_page_size = 2 << 20;
	record.sample.data_page_size = 4096;
	return record;
}

static void check_full(struct fixture *f, const char *name, const char *expected)
{
	struct perch_record record = full_sample();

	start(f, name);
	add(f, &record);
	add(f, &record);
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 1);
	check_cell(f, 0, name, expected);
}

static void formats_fields_of_samples(void **state)
{
	static const char *const cases[][2] = {
		{ "time", "1234.500000" },  { "socket", "-001" },
		{ "cgroup", "unknown" },    { "local_weight", "100" },
		{ "weight", "200" },	    { "local_ins_lat", "20" },
		{ "ins_lat", "40" },	    { "local_p_stage_cyc", "3" },
		{ "p_stage_cyc", "6" },	    { "transaction", "TRANSACTION" },
		{ "addr", "0x10001" },	    { "phys_daddr", "[.] 0x0000000000000abc" },
		{ "code_page_size", "2M" }, { "data_page_size", "4K" },
		{ "dso_size", "65536" },    { "symbol_size", "unknown" },
		{ "level", "user" },	    { "kind", "file" },
	};

	for (size_t i = 0; i < NR(cases); i++)
		check_full(*state, cases[i][0], cases[i][1]);
}

/* Fields that the event was recorded without. */
static void formats_missing_fields(void **state)
{
	static const char *const cases[][2] = {
		{ "time", "0.000000" },	     { "socket", "-001" },
		{ "cgroup", "N/A" },	     { "weight", "0" },
		{ "ins_lat", "0" },	     { "transaction", "" },
		{ "code_page_size", "N/A" }, { "phys_daddr", "[.] 0000000000000000" },
	};
	static const struct perch_parse_info none;
	struct perch_record record = sample_record(PID, PID, 10, CODE + 1);
	struct fixture *f = *state;

	record.parse_info = &none;
	for (size_t i = 0; i < NR(cases); i++) {
		start(f, cases[i][0]);
		add(f, &record);
		finish(f);
		rows_of(f, 0, false);
		check_cell(f, 0, cases[i][0], cases[i][1]);
	}
}

/* PERCH_SAMPLE_WEIGHT has one number of 64 bits. */
static void reads_both_forms_of_weights(void **state)
{
	struct perch_record record = full_sample();
	struct fixture *f = *state;

	info.sample_type = PERCH_SAMPLE_WEIGHT;
	record.sample.weight = 5000000000;
	start(f, "local_weight,local_ins_lat");
	add(f, &record);
	finish(f);
	rows_of(f, 0, false);
	check_cell(f, 0, "local_weight", "5000000000");
	check_cell(f, 0, "local_ins_lat", "0");
}

static void separates_times_by_quantum(void **state)
{
	static const struct {
		uint64_t quantum;
		size_t rows;
		const char *first;
	} cases[] = {
		{ 0, 10, "0.000000" },	      { 1000000000, 1, "0.000000" },
		{ 250000000, 4, "0.000000" }, { 333333333, 3, "0.000000000" },
		{ 1, 1000, "0.000000000" },   { UINT64_MAX, 1, "0.000000000" },
	};
	const struct perch_column *by = column("time");
	const struct perch_rows_options order = { .by = &by, .nr_by = 1 };
	struct fixture *f = *state;

	for (size_t i = 0; i < NR(cases); i++) {
		const struct perch_profile_options options = { .names = "time",
							       .time_quantum = cases[i].quantum };

		perch_profile_free(f->profile);
		assert_int_equal(perch_profile_new(&f->profile, f->processes, f->symbols, &options,
						   NULL),
				 0);
		for (uint64_t time = 0; time < 1000; time++) {
			struct perch_record record = full_sample();

			record.sample.time = time * 1000000;
			add(f, &record);
		}
		finish(f);
		assert_int_equal(perch_profile_rows(f->profile, 0, &order, &f->rows, &f->nr, NULL),
				 0);
		assert_int_equal(f->nr, cases[i].rows);
		check_cell(f, 0, "time", cases[i].first);
	}
}

static void names_levels_and_kinds(void **state)
{
	const uint64_t kernel = 0xffffffff81000000;
	struct fixture *f = *state;

	map_kernel(f->processes, kernel, 0x1000, kernel, "[kernel.kallsyms]_text");
	start(f, "level,kind");
	chain(f, PERCH_MISC_KERNEL, 4, kernel + 1, 0, NULL);
	chain(f, PERCH_MISC_GUEST_KERNEL, 3, kernel + 1, 0, NULL);
	chain(f, PERCH_MISC_USER, 2, 0x99, 0, NULL);
	chain(f, PERCH_MISC_USER, 1, CODE, 0, NULL);
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 4);
	check_cell(f, 0, "level", "kernel");
	check_cell(f, 0, "kind", "kernel");
	check_cell(f, 1, "level", "guest kernel");
	check_cell(f, 2, "kind", "unknown");
	check_cell(f, 3, "kind", "file");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(formats_fields_of_samples),   TEST(formats_missing_fields),
		TEST(reads_both_forms_of_weights), TEST(separates_times_by_quantum),
		TEST(names_levels_and_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

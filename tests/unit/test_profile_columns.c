/* SPDX-License-Identifier: MIT */
/* Tests the table of columns, columns of a program, cells, and the order of rows. */
#include <errno.h>
#include "profile_fixture.h"

static void finds_columns_by_name_and_alias(void **state)
{
	const struct perch_column *columns;
	size_t nr;

	(void)state;
	columns = perch_columns(&nr);
	assert_true(nr > 10);
	for (size_t i = 0; i < nr; i++) {
		assert_ptr_equal(perch_column_find(columns[i].name, strlen(columns[i].name)),
				 &columns[i]);
		assert_non_null(columns[i].header);
		assert_non_null(columns[i].summary);
		assert_non_null(columns[i].methods);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(columns[i].name, columns[j].name);
	}
	assert_ptr_equal(perch_column_find("symbol,dso", 6), column("sym"));
	assert_null(perch_column_find("symbol,dso", 5));
	assert_null(perch_column_find("", 0));
	assert_ptr_equal(perch_column_similar("comn", 4), column("comm"));
	assert_ptr_equal(perch_column_similar("sybmol", 6), column("sym"));
	assert_null(perch_column_similar("xyzzyxyzzy", 10));
	assert_null(perch_column_similar("", 0));
}

static void check_refused(struct fixture *f, const struct perch_profile_options *options,
			  int errnum, const char *message)
{
	struct perch_profile *profile;
	struct perch_error err;

	assert_int_equal(perch_profile_new(&profile, f->processes, f->symbols, options, &err),
			 -errnum);
	assert_null(profile);
	assert_non_null(strstr(err.message, message));
}

static void refuses_wrong_columns(void **state)
{
	static const struct perch_column empty = { .name = "empty" };
	const struct perch_column *list[] = { &empty };
	struct fixture *f = *state;

	check_refused(f, &(struct perch_profile_options){ .names = "comm,dos" }, EINVAL, "'dos'");
	check_refused(f, &(struct perch_profile_options){ .names = "comm,,dso" }, EINVAL, "''");
	check_refused(f, &(struct perch_profile_options){ .names = "\33[31m" }, EINVAL, "'?[31m'");
	check_refused(f, &(struct perch_profile_options){ .columns = list, .nr_columns = 1 },
		      EINVAL, ".value");
	check_refused(f, &(struct perch_profile_options){ .reserved = { 1 } }, EINVAL, "reserved");
}

static void lists_each_column_once(void **state)
{
	const struct perch_column *more[] = { column("sym"), column("overhead"), column("cpu") };
	const struct perch_profile_options options = {
		.names = "comm,symbol,comm",
		.columns = more,
		.nr_columns = 3,
	};
	const struct perch_column *const *columns;
	struct fixture *f = *state;
	size_t nr;

	assert_int_equal(perch_profile_new(&f->profile, f->processes, f->symbols, &options, NULL),
			 0);
	columns = perch_profile_columns(f->profile, &nr);
	assert_int_equal(nr, 4);
	assert_ptr_equal(columns[0], column("comm"));
	assert_ptr_equal(columns[1], column("sym"));
	assert_ptr_equal(columns[2], column("overhead"));
	assert_ptr_equal(columns[3], column("cpu"));
}

/* ---- a column of a program ---- */

static int parity(void *data, const struct perch_record *record, const struct perch_thread *thread,
		  uint64_t *value)
{
	assert_int_equal(perch_thread_tid(thread), PID);
	if (record->sample.ip == CODE + 9)
		return -EDOM;
	*value = record->sample.ip % *(unsigned *)data;
	return 0;
}

static int backwards(void *data, uint64_t a, uint64_t b)
{
	(void)data;
	return (a < b) - (a > b);
}

static void spell(void *data, uint64_t value, char *buffer, size_t size)
{
	(void)data;
	snprintf(buffer, size, "<%s\n>", value ? "odd" : "even");
}

static void groups_by_column_of_program(void **state)
{
	unsigned two = 2;
	const struct perch_column own = { .name = "parity",
					  .scope = PERCH_COLUMN_SAMPLE,
					  .value = parity,
					  .compare = backwards,
					  .format = spell,
					  .data = &two };
	const struct perch_column plain = {
		.name = "plain", .scope = PERCH_COLUMN_SAMPLE, .value = parity, .data = &two
	};
	const struct perch_column *list[] = { &own, &plain };
	const struct perch_profile_options options = { .columns = list, .nr_columns = 2 };
	const struct perch_rows_options order = { .by = list, .nr_by = 1 };
	struct perch_record refused = sample_record(PID, PID, 1, CODE + 9);
	char buffer[PERCH_CELL_BYTES];
	struct fixture *f = *state;

	assert_int_equal(perch_profile_new(&f->profile, f->processes, f->symbols, &options, NULL),
			 0);
	for (unsigned i = 0; i < 9; i++)
		hit(f, 0, 1, CODE + i);
	assert_int_equal(perch_profile_add(f->profile, &refused, NULL), -EDOM);
	finish(f);
	assert_int_equal(perch_profile_rows(f->profile, 0, &order, &f->rows, &f->nr, NULL), 0);
	assert_int_equal(f->nr, 2);
	assert_int_equal(f->rows[0].self, 4);
	assert_int_equal(perch_profile_value(f->profile, &f->rows[0], &own), 1);
	assert_string_equal(perch_profile_cell(f->profile, &f->rows[0], &own, buffer, 64),
			    "<odd?>");
	assert_string_equal(perch_profile_cell(f->profile, &f->rows[0], &own, buffer, 3), "<o");
	assert_string_equal(perch_profile_cell(f->profile, &f->rows[0], &plain, buffer, 64), "1");
	assert_true(perch_profile_compare(f->profile, &f->rows[0], &f->rows[1], &own) < 0);
	assert_true(perch_profile_compare(f->profile, &f->rows[0], &f->rows[1], &plain) > 0);
	/* a column that is not of the profile */
	assert_int_equal(value(f, 0, "cpu"), 0);
	check_cell(f, 0, "cpu", "");
	assert_int_equal(perch_profile_compare(f->profile, &f->rows[0], &f->rows[1], column("cpu")),
			 0);
}

/* ---- cells ---- */

static void formats_cells(void **state)
{
	struct fixture *f = *state;

	name_thread(f->processes, PID, PID, "a\33b", false);
	start(f, "comm,pid,tid,cpu,dso,sym");
	hit(f, 0, 30, CODE + 1);
	hit(f, 0, 10, 0x99);
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 2);
	check_cell(f, 0, "comm", "a?b");
	check_cell(f, 0, "pid", "    100:a?b");
	check_cell(f, 0, "tid", "    100:a?b");
	check_cell(f, 0, "cpu", "000");
	check_cell(f, 0, "dso", "first");
	check_cell(f, 0, "sym", "[.] 0x0000000000010001");
	check_cell(f, 0, "overhead", "75.00%");
	check_cell(f, 0, "overhead_children", "75.00%");
	check_cell(f, 0, "overhead_us", "75.00%");
	check_cell(f, 0, "overhead_sys", "0.00%");
	check_cell(f, 0, "sample", "1");
	check_cell(f, 0, "period", "30");
	check_cell(f, 1, "dso", "[unknown]");
	assert_int_equal(value(f, 1, "period"), 10);
	assert_int_equal(value(f, 1, "pid"), PID);
}

/* A thread that changes its name has one row, and threads of a process are in one row of pid. */
static void threads_have_their_last_name(void **state)
{
	struct perch_record other = sample_record(PID, PID + 1, 7, CODE + 1);
	struct fixture *f = *state;

	name_thread(f->processes, PID, PID, "before", false);
	name_thread(f->processes, PID, PID + 1, "worker", false);
	start(f, "tid");
	hit(f, 0, 30, CODE + 1);
	add(f, &other);
	name_thread(f->processes, PID, PID, "after", false);
	hit(f, 0, 10, CODE + 1);
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 2);
	check_cell(f, 0, "tid", "    100:after");
	check_cell(f, 0, "period", "40");
	check_cell(f, 1, "tid", "    101:worker");
}

/* Also in a snapshot, which has the texts of its profile. */
static void names_without_digits_are_one_row(void **state)
{
	static const char *const names[] = { "kworker/3:1", "w12", "w7", "kworker/12:0", "8", "w" };
	static const char *const rows[] = { "<N>", "kworker/<N>:<N>", "w", "w<N>" };
	struct perch_profile *snapshot, *profile;
	struct fixture *f = *state;

	start(f, "comm_nodigit,tgid");
	for (uint32_t i = 0; i < 12; i++) {
		struct perch_record record = sample_record(PID, PID, 1, CODE);

		name_thread(f->processes, PID, PID, names[i % 6], false);
		add(f, &record);
	}
	profile = f->profile;
	assert_int_equal(perch_profile_snapshot(profile, &snapshot, NULL), 0);
	for (int i = 0; i < 2; i++) {
		const struct perch_column *by[] = { column("comm_nodigit") };
		const struct perch_rows_options options = { .by = by, .nr_by = 1 };

		f->profile = i ? profile : snapshot;
		if (i)
			finish(f);
		assert_int_equal(
			perch_profile_rows(f->profile, 0, &options, &f->rows, &f->nr, NULL), 0);
		assert_int_equal(f->nr, 4);
		for (size_t row = 0; row < 4; row++) {
			check_cell(f, row, "comm_nodigit", rows[row]);
			check_cell(f, row, "tgid", "    100:w");
			assert_int_equal(f->rows[row].samples, row == 1 || row == 3 ? 4 : 2);
		}
		if (!i)
			perch_profile_free(snapshot);
	}
}

static void addresses_without_a_function_have_nine_digits(void **state)
{
	const struct perch_column *by[] = { column("symoff") };
	const struct perch_rows_options options = { .by = by, .nr_by = 1 };
	struct fixture *f = *state;

	start(f, "symoff");
	hit(f, 0, 1, CODE + 16);
	hit(f, 0, 1, CODE);
	hit(f, 0, 1, CODE + 16);
	finish(f);
	assert_int_equal(perch_profile_rows(f->profile, 0, &options, &f->rows, &f->nr, NULL), 0);
	assert_int_equal(f->nr, 2);
	check_cell(f, 0, "symoff", "[.] 0x000010000");
	check_cell(f, 1, "symoff", "[.] 0x000010010");
}

static void processes_have_the_name_of_their_first_thread(void **state)
{
	struct perch_record other = sample_record(PID, PID + 1, 7, CODE + 1);
	struct fixture *f = *state;

	name_thread(f->processes, PID, PID, "first", false);
	name_thread(f->processes, PID, PID + 1, "worker", false);
	start(f, "pid");
	add(f, &other);
	hit(f, 0, 30, CODE + 1);
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 1);
	check_cell(f, 0, "pid", "    100:first");
	check_cell(f, 0, "period", "37");
}

/* ---- which rows ---- */

static void leaves_out_callers_without_a_name(void **state)
{
	const struct perch_rows_options children = { .children = true };
	const struct perch_rows_options named = { .children = true, .named_callers = true };
	const uint64_t ips[] = { CODE + 1, 0x77777 };
	struct fixture *f = *state;

	start(f, "dso,sym");
	stack(f, 5, 2, ips);
	finish(f);
	assert_int_equal(perch_profile_rows(f->profile, 0, &children, &f->rows, &f->nr, NULL), 0);
	assert_int_equal(f->nr, 2);
	/* nothing has a name here: the row with samples stays */
	assert_int_equal(perch_profile_rows(f->profile, 0, &named, &f->rows, &f->nr, NULL), 0);
	assert_int_equal(f->nr, 1);
	assert_int_equal(f->rows[0].self, 5);
}

static void cuts_cells_to_the_buffer(void **state)
{
	static const char *const names[] = { "comm", "pid", "cpu", "dso", "sym", "overhead" };
	struct fixture *f = *state;

	start(f, "comm,pid,cpu,dso,sym");
	hit(f, 0, 30, CODE + 1);
	finish(f);
	rows_of(f, 0, false);
	for (size_t i = 0; i < NR(names); i++)
		for (size_t size = 1; size < 40; size++) {
			char *buffer = malloc(size);
			const char *text;

			assert_non_null(buffer);
			text = perch_profile_cell(f->profile, f->rows, column(names[i]), buffer,
						  size);
			assert_true(text != buffer || strlen(text) < size);
			free(buffer);
		}
}

static void adds_periods_by_mode(void **state)
{
	static const uint16_t modes[] = { PERCH_MISC_KERNEL, PERCH_MISC_USER,
					  PERCH_MISC_GUEST_KERNEL, PERCH_MISC_GUEST_USER,
					  PERCH_MISC_HYPERVISOR };
	struct fixture *f = *state;

	start(f, "comm");
	for (size_t i = 0; i < NR(modes); i++)
		chain(f, modes[i], (uint64_t)1 << i, CODE, 0, NULL);
	finish(f);
	rows_of(f, 0, false);
	assert_int_equal(f->rows[0].self, 31);
	assert_int_equal(f->rows[0].system, 1);
	assert_int_equal(f->rows[0].user, 2);
	assert_int_equal(f->rows[0].guest_system, 4);
	assert_int_equal(f->rows[0].guest_user, 8);
	assert_int_equal(value(f, 0, "overhead_guest_us"), 8);
}

/* ---- the order of rows ---- */

static void sorts_by_any_list(void **state)
{
	const struct perch_column *by[] = { column("cpu"), column("sample") };
	const struct perch_column *missing = column("tid");
	struct perch_rows_options order = { .by = by, .nr_by = 2 };
	struct fixture *f = *state;
	struct perch_error err;

	start(f, "sym,cpu");
	for (unsigned i = 0; i < 60; i++) {
		struct perch_record record = sample_record(PID, PID, 100, CODE + i % 7);

		record.sample.cpu = i % 3;
		add(f, &record);
	}
	finish(f);
	assert_int_equal(perch_profile_rows(f->profile, 0, &order, &f->rows, &f->nr, NULL), 0);
	assert_int_equal(f->nr, 21);
	for (size_t i = 1; i < f->nr; i++) {
		uint64_t cpu = value(f, i, "cpu"), before = value(f, i - 1, "cpu");

		assert_true(before <= cpu);
		if (before < cpu)
			continue;
		assert_true(f->rows[i - 1].samples >= f->rows[i].samples);
		/* rows with equal sums by the columns of the profile */
		if (f->rows[i - 1].samples == f->rows[i].samples)
			assert_true(f->rows[i - 1].frame.offset < f->rows[i].frame.offset);
	}
	order.by = &missing;
	order.nr_by = 1;
	assert_int_equal(perch_profile_rows(f->profile, 0, &order, &f->rows, &f->nr, &err),
			 -EINVAL);
	assert_non_null(strstr(err.message, "'tid'"));
	assert_int_equal(f->nr, 0);
}

static void counts_samples_that_filters_left_out(void **state)
{
	struct perch_record out = sample_record(PID, PID, 5, CODE);
	struct fixture *f = *state;
	struct perch_profile_total total;

	start(f, "comm");
	hit(f, 0, 10, CODE);
	assert_int_equal(perch_profile_skip(f->profile, &out, NULL), 0);
	out.event = 2;
	assert_int_equal(perch_profile_skip(f->profile, &out, NULL), 0);
	out.type = PERCH_RECORD_LOST;
	assert_int_equal(perch_profile_skip(f->profile, &out, NULL), 0);
	finish(f);
	perch_profile_get_total(f->profile, 0, &total);
	assert_int_equal(total.samples, 1);
	assert_int_equal(total.period, 10);
	assert_int_equal(total.all_samples, 2);
	assert_int_equal(total.all_period, 15);
	perch_profile_get_total(f->profile, 2, &total);
	assert_int_equal(total.samples, 0);
	assert_int_equal(total.all_period, 5);
	assert_int_equal(rows_of(f, 2, false), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(finds_columns_by_name_and_alias),
		TEST(refuses_wrong_columns),
		TEST(lists_each_column_once),
		TEST(groups_by_column_of_program),
		TEST(formats_cells),
		TEST(threads_have_their_last_name),
		TEST(names_without_digits_are_one_row),
		TEST(addresses_without_a_function_have_nine_digits),
		TEST(processes_have_the_name_of_their_first_thread),
		TEST(leaves_out_callers_without_a_name),
		TEST(cuts_cells_to_the_buffer),
		TEST(adds_periods_by_mode),
		TEST(sorts_by_any_list),
		TEST(counts_samples_that_filters_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

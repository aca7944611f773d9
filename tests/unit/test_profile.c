/* SPDX-License-Identifier: MIT */
/* Tests rows. The addresses have no symbols, so each one is a frame. */
#include "profile_fixture.h"

static void adds_totals_by_event(void **state)
{
	struct fixture *f = *state;
	struct perch_profile_total total;

	start(f, "sym");
	hit(f, 0, 10, CODE + 1);
	hit(f, 0, 20, CODE + 2);
	hit(f, 3, 500, CODE + 1);
	hit(f, 3, 0, CODE + 1);
	finish(f);
	perch_profile_get_total(f->profile, 0, &total);
	assert_int_equal(total.samples, 2);
	assert_int_equal(total.period, 30);
	perch_profile_get_total(f->profile, 3, &total);
	assert_int_equal(total.samples, 2);
	assert_int_equal(total.period, 500);
	for (unsigned event = 1; event < 100000; event += 3000) {
		perch_profile_get_total(f->profile, event, &total);
		assert_int_equal(total.samples, 0);
	}
	assert_int_equal(rows_of(f, 1, false), 0);
	assert_int_equal(rows_of(f, 70000, true), 0);
	assert_int_equal(rows_of(f, 0, false), 2);
	assert_int_equal(rows_of(f, 3, false), 1);
	assert_int_equal(f->rows[0].samples, 2);
}

static void makes_empty_profile(void **state)
{
	struct fixture *f = *state;
	struct perch_record other = { .type = PERCH_RECORD_LOST };

	start(f, "comm,sym");
	assert_int_equal(perch_profile_add(f->profile, &other, NULL), 0);
	finish(f);
	assert_int_equal(rows_of(f, 0, true), 0);
}

static void counts_recursion_once(void **state)
{
	struct fixture *f = *state;

	start(f, "sym");
	/* main -> f -> g -> f -> f */
	stack(f, 100, 5, (uint64_t[]){ CODE + 2, CODE + 2, CODE + 3, CODE + 2, CODE + 1 });
	stack(f, 7, 3, (uint64_t[]){ CODE + 3, CODE + 2, CODE + 1 });
	finish(f);
	check_row(f, CODE + 1, 0, 107, 0);
	check_row(f, CODE + 2, 100, 107, 1);
	check_row(f, CODE + 3, 7, 107, 1);
	assert_int_equal(rows_of(f, 0, false), 2);
	assert_int_equal(rows_of(f, 0, true), 3);
	/* of equal rows, the caller is first */
	assert_int_equal(f->rows[0].frame.offset, CODE + 1);
	assert_int_equal(f->rows[1].frame.offset, CODE + 2);
	assert_int_equal(f->rows[2].frame.offset, CODE + 3);
	assert_int_equal(f->rows[0].height, 5);
}

/* Two functions of one DSO in a stack are one row with the column dso. */
static void counts_dso_once_per_stack(void **state)
{
	struct fixture *f = *state;

	map_file(f->processes, PID, 0x900000, 0x1000, 0, "/bin/second");
	start(f, "dso");
	stack(f, 10, 4, (uint64_t[]){ CODE + 1, 0x900001, CODE + 2, CODE + 3 });
	stack(f, 5, 2, (uint64_t[]){ 0x900001, CODE + 9 });
	finish(f);
	assert_int_equal(rows_of(f, 0, true), 2);
	assert_string_equal(f->rows[0].frame.dso->path, "/bin/first");
	assert_int_equal(f->rows[0].self, 10);
	assert_int_equal(f->rows[0].children, 15);
	assert_string_equal(f->rows[1].frame.dso->path, "/bin/second");
	assert_int_equal(f->rows[1].self, 5);
	assert_int_equal(f->rows[1].children, 15);
	assert_int_equal(f->rows[1].samples, 1);
}

/* ---- keys ---- */

static void add_from(struct fixture *f, uint32_t pid, uint32_t tid, uint32_t cpu, uint64_t ip)
{
	struct perch_record record = sample_record(pid, tid, 1, ip);

	record.sample.cpu = cpu;
	add(f, &record);
}

static size_t lines_for(struct fixture *f, const char *names)
{
	start(f, names);
	add_from(f, PID, PID, 0, CODE + 1);
	add_from(f, PID, PID, 1, CODE + 2);
	add_from(f, PID, PID + 1, 0, CODE + 1);
	add_from(f, PID, PID + 2, 0, 0x900001);
	add_from(f, PID + 10, PID + 10, 1, CODE + 1);
	finish(f);
	return rows_of(f, 0, false);
}

static void keys_separate_rows(void **state)
{
	static const struct {
		const char *names;
		size_t lines;
	} cases[] = {
		{ NULL, 1 },
		{ "comm", 2 },
		{ "dso", 2 },
		{ "sym", 3 },
		{ "pid", 2 },
		{ "tid", 4 },
		{ "cpu", 2 },
		{ "comm,dso", 3 },
		{ "cpu,sym", 4 },
		{ "pid,cpu", 3 },
		{ "comm,dso,sym,pid,tid,cpu", 5 },
	};
	struct fixture *f = *state;

	map_file(f->processes, PID, 0x900000, 0x1000, 0, "/bin/second");
	map_file(f->processes, PID + 10, CODE, 0x10000, CODE, "/bin/first");
	name_thread(f->processes, PID, PID, "one", false);
	name_thread(f->processes, PID, PID + 1, "one", false);
	name_thread(f->processes, PID, PID + 2, "one", false);
	name_thread(f->processes, PID + 10, PID + 10, "two", false);
	for (size_t i = 0; i < NR(cases); i++)
		assert_int_equal(lines_for(f, cases[i].names), cases[i].lines);
	lines_for(f, "pid,cpu");
	for (size_t i = 0; i < f->nr; i++) {
		assert_null(f->rows[i].frame.dso);
		assert_int_equal(value(f, i, "tid"), 0);
	}
	assert_int_equal(value(f, 0, "pid"), PID);
	assert_int_equal(f->rows[0].self, 3);
	check_cell(f, 0, "pid", "    100:one");
}

/* CPU 0 is not the CPU of samples that have none. */
static void samples_without_cpu_have_a_row(void **state)
{
	static const struct perch_parse_info no_cpu;
	struct perch_record record = sample_record(PID, PID, 3, CODE);
	struct fixture *f = *state;

	start(f, "cpu");
	add_from(f, PID, PID, 0, CODE);
	record.parse_info = &no_cpu;
	add(f, &record);
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 2);
	assert_int_equal(value(f, 0, "cpu"), PERCH_NO_CPU);
	check_cell(f, 0, "cpu", "-001");
	assert_int_equal(f->rows[0].self, 3);
	assert_int_equal(value(f, 1, "cpu"), 0);
	check_cell(f, 1, "cpu", "000");
}

/* A sample has the name of its thread at that time. */
static void uses_name_at_time_of_sample(void **state)
{
	struct fixture *f = *state;

	start(f, "comm");
	hit(f, 0, 1, CODE);
	name_thread(f->processes, PID, PID, "later", false);
	hit(f, 0, 2, CODE);
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 2);
	check_cell(f, 0, "comm", "later");
	assert_int_equal(f->rows[0].self, 2);
	check_cell(f, 1, "comm", "begin");
}

static void sorts_rows(void **state)
{
	struct fixture *f = *state;

	start(f, "sym");
	for (unsigned i = 0; i < 1000; i++)
		hit(f, 0, i * 7919 % 1000, CODE + i);
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 1000);
	for (size_t i = 0; i < f->nr; i++)
		assert_int_equal(f->rows[i].self, 999 - i);
	/* a second call returns the same */
	assert_int_equal(rows_of(f, 0, true), 1000);
	assert_int_equal(f->rows[0].children, 999);
}

/* ---- chains ---- */

#define KERNEL 0xffffffff81000000ull

/* The order of rows: children, self, the name of the thread, the DSO, the address. */
static bool in_order(const struct perch_row *a, const struct perch_row *b, const char *name_a,
		     const char *name_b)
{
	int names = strcmp(name_a, name_b);
	int dsos = strcmp(a->frame.dso->path, b->frame.dso->path);

	if (a->children != b->children)
		return a->children > b->children;
	if (a->self != b->self)
		return a->self > b->self;
	if (names || dsos)
		return names ? names < 0 : dsos < 0;
	return a->frame.offset < b->frame.offset;
}

static void sorts_many_rows(void **state)
{
	static const uint64_t starts[] = { CODE, 0x900000 };
	struct fixture *f = *state;
	char buffer[2][PERCH_CELL_BYTES];
	const char *name[2];

	map_file(f->processes, PID, 0x900000, 0x10000, 0, "/bin/earlier");
	name_thread(f->processes, PID, PID + 1, "another", false);
	start(f, "comm,dso,sym");
	for (uint64_t i = 0; i < 6000; i++) {
		uint64_t mixed = i * 0x9e3779b97f4a7c15 >> 20;
		uint64_t period = i % 3 ? 1 : (mixed & 0xff) << (mixed % 7 * 8);
		struct perch_record record = sample_record(PID, PID + (uint32_t)(mixed >> 9 & 1),
							   period,
							   starts[mixed >> 8 & 1] + i * 7 % 6007);

		add(f, &record);
	}
	finish(f);
	/* the second time the rows have another order before */
	for (int children = 1; children >= 0; children--) {
		assert_int_equal(rows_of(f, 0, children), 6000);
		for (size_t i = 0; i < f->nr; i++) {
			name[i % 2] = perch_profile_cell(f->profile, &f->rows[i], column("comm"),
							 buffer[i % 2], sizeof(buffer[0]));
			if (i)
				assert_true(in_order(&f->rows[i - 1], &f->rows[i],
						     name[(i - 1) % 2], name[i % 2]));
		}
	}
}

static void context_markers_set_cpumode(void **state)
{
	struct fixture *f = *state;
	const uint64_t ips[] = { PERCH_CONTEXT_KERNEL, KERNEL + 1, KERNEL + 2,
				 PERCH_CONTEXT_USER,   CODE + 1,   CODE + 2 };

	start(f, "sym");
	chain(f, PERCH_MISC_KERNEL, 10, KERNEL + 1, NR(ips), ips);
	finish(f);
	assert_int_equal(rows_of(f, 0, true), 4);
	check_row(f, KERNEL + 1, 10, 10, 1);
	check_row(f, CODE + 2, 0, 10, 0);
	assert_int_equal(row_at(f, KERNEL + 2)->frame.cpumode_char, 'k');
	assert_int_equal(row_at(f, KERNEL + 2)->frame.dso->kind, PERCH_DSO_KERNEL);
	assert_int_equal(row_at(f, CODE + 1)->frame.cpumode_char, '.');
	assert_int_equal(row_at(f, CODE + 2)->height, 4);
}

/* Equal addresses of kernel, guest and user space are different addresses. */
static void separates_equal_addresses_by_cpumode(void **state)
{
	static const uint64_t markers[] = {
		PERCH_CONTEXT_HV,	    PERCH_CONTEXT_KERNEL,     PERCH_CONTEXT_USER,
		PERCH_CONTEXT_GUEST_KERNEL, PERCH_CONTEXT_GUEST_USER,
	};
	struct fixture *f = *state;

	start(f, "sym");
	for (size_t i = 0; i < NR(markers); i++)
		for (int twice = 0; twice < 2; twice++) {
			uint64_t ips[] = { PERCH_CONTEXT_USER, CODE + 1, markers[i], KERNEL + 7 };

			chain(f, PERCH_MISC_USER, 1, CODE + 1, NR(ips), ips);
		}
	finish(f);
	assert_int_equal(rows_of(f, 0, true), 1 + NR(markers));
	for (size_t i = 1; i < f->nr; i++)
		assert_int_equal(f->rows[i].children, 2);
}

static void adds_ip_to_chains_without_it(void **state)
{
	struct fixture *f = *state;
	const uint64_t markers[] = { PERCH_CONTEXT_USER, PERCH_CONTEXT_KERNEL, UINT64_MAX };
	const uint64_t caller[] = { PERCH_CONTEXT_USER, CODE + 2 };
	const uint64_t twice[] = { PERCH_CONTEXT_USER, CODE + 1, CODE + 1, CODE + 2 };

	start(f, "sym");
	chain(f, PERCH_MISC_USER, 1, CODE + 1, 0, NULL);
	chain(f, PERCH_MISC_USER, 10, CODE + 1, 1, markers);
	chain(f, PERCH_MISC_USER, 100, CODE + 1, NR(markers), markers);
	/* the sample is in the kernel, whose part of the chain was excluded */
	chain(f, PERCH_MISC_KERNEL, 1000, KERNEL + 1, NR(caller), caller);
	chain(f, PERCH_MISC_USER, 10000, CODE + 1, NR(twice), twice);
	finish(f);
	check_row(f, CODE + 1, 10111, 10111, 4);
	check_row(f, KERNEL + 1, 1000, 1000, 1);
	check_row(f, CODE + 2, 0, 11000, 0);
	assert_int_equal(row_at(f, CODE + 2)->height, 3);
}

static void limits_depth_of_stacks(void **state)
{
	enum { DEEP = 5000, DEEPEST = PERCH_MAX_CALL_CHAIN };
	struct fixture *f = *state;
	static uint64_t ips[DEEP];

	for (unsigned i = 0; i < DEEP; i++)
		ips[i] = CODE + i;
	start(f, "sym");
	stack(f, 1, DEEP, ips);
	stack(f, 1, DEEP - 1, ips + 1);
	finish(f);
	assert_int_equal(rows_of(f, 0, true), DEEPEST + 1);
	check_row(f, CODE, 1, 1, 1);
	check_row(f, CODE + 1, 1, 2, 1);
	check_row(f, CODE + DEEPEST - 1, 0, 2, 0);
	check_row(f, CODE + DEEPEST, 0, 1, 0);
	assert_null(row_at(f, CODE + DEEPEST + 1));
}

/* The last stack of a thread is not reused after a mapping has changed. */
static void handles_map_changes_between_equal_stacks(void **state)
{
	struct fixture *f = *state;
	const uint64_t user[] = { CODE + 1, CODE + 2 };
	const uint64_t module[] = { PERCH_CONTEXT_KERNEL, 0xffffffffc0000010 };

	map_kernel(f->processes, KERNEL, 0x1000, KERNEL, "[kernel.kallsyms]_text");
	start(f, "dso");
	stack(f, 1, 2, user);
	map_file(f->processes, PID, CODE, 0x10000, CODE, "/bin/later");
	stack(f, 10, 2, user);
	chain(f, PERCH_MISC_KERNEL, 100, module[1], 2, module);
	map_kernel(f->processes, 0xffffffffc0000000, 0x1000, 0, "[module]");
	chain(f, PERCH_MISC_KERNEL, 1000, module[1], 2, module);
	finish(f);
	assert_int_equal(rows_of(f, 0, false), 4);
	assert_string_equal(f->rows[0].frame.dso->path, "[module]");
	assert_int_equal(f->rows[0].self, 1000);
	assert_string_equal(f->rows[1].frame.dso->path, "[unknown]");
	assert_string_equal(f->rows[2].frame.dso->path, "/bin/later");
	assert_string_equal(f->rows[3].frame.dso->path, "/bin/first");
}

static void numbers_addresses_of_stacks(void **state)
{
	struct fixture *f = *state;
	struct perch_addresses *addresses;
	struct perch_thread *thread = thread_of(f->processes, PID, PID);
	const uint64_t ips[] = { PERCH_CONTEXT_USER, CODE + 1, CODE + 2, CODE + 1 };
	struct perch_record record = sample_record(PID, PID, 1, CODE + 1);
	uint32_t numbers[4];

	record.sample.callchain.nr = NR(ips);
	record.sample.callchain.ip = ips;
	assert_int_equal(perch_addresses_new(&addresses, f->processes, f->symbols, NULL), 0);
	assert_int_equal(perch_addresses_call_chain(addresses, thread, &record, numbers, 4), 3);
	assert_int_equal(numbers[0], numbers[2]);
	assert_int_not_equal(numbers[0], numbers[1]);
	assert_int_equal(perch_addresses_count(addresses), 2);
	assert_int_equal(perch_addresses_at(addresses, numbers[1])->offset, CODE + 2);
	assert_null(perch_addresses_at(addresses, numbers[1])->symbol);
	assert_int_equal(perch_addresses_call_chain(addresses, thread, &record, numbers, 1), 1);
	assert_int_equal(perch_addresses_call_chain(addresses, thread, &record, numbers, 0), 0);
	perch_addresses_free(addresses);
	perch_addresses_free(NULL);
	perch_profile_free(NULL);
}

/* Chains that wait share frames with others of their thread, and have the numbers that they have
 * when they do not wait; also if a mapping changes between them, and if another chain of the same
 * thread does not wait. */
static void numbers_waiting_chains_like_others(void **state)
{
	struct fixture *f = *state;
	struct perch_addresses *addresses;
	struct perch_thread *thread = thread_of(f->processes, PID, PID);
	const uint64_t ips[] = { PERCH_CONTEXT_USER, CODE + 1, CODE + 2, CODE + 3 };
	const uint64_t others[] = { PERCH_CONTEXT_USER, CODE + 4, CODE + 2, CODE + 3 };
	struct perch_record record = sample_record(PID, PID, 1, CODE + 1);
	struct perch_record other = sample_record(PID, PID, 1, CODE + 4);
	uint32_t positions[4][4], expected[4][4];
	const uint32_t *numbers;

	record.sample.callchain.nr = other.sample.callchain.nr = NR(ips);
	record.sample.callchain.ip = ips;
	other.sample.callchain.ip = others;
	assert_int_equal(perch_addresses_new(&addresses, f->processes, f->symbols, NULL), 0);
	assert_int_equal(perch_addresses_number_chains(addresses, &numbers), 0);
	assert_null(numbers);
	for (int i = 0; i < 4; i++) {
		struct perch_record *each = i == 1 ? &other : &record;

		assert_int_equal(
			perch_addresses_add_chain(addresses, thread, each, positions[i], 4), 3);
		assert_int_equal(
			perch_addresses_call_chain(addresses, thread, each, expected[i], 4), 3);
		if (i == 2)
			map_file(f->processes, PID, CODE, 0x10000, CODE, "/bin/later");
	}
	assert_int_equal(perch_addresses_number_chains(addresses, &numbers), 0);
	for (int i = 0; i < 4; i++)
		for (int at = 0; at < 3; at++)
			assert_int_equal(numbers[positions[i][at]], expected[i][at]);
	assert_int_not_equal(expected[2][0], expected[3][0]);
	assert_int_equal(perch_addresses_number_chains(addresses, &numbers), 0);
	assert_null(numbers);
	/* the positions of the last stack are those of numbers that are gone */
	assert_int_equal(perch_addresses_add_chain(addresses, thread, &record, positions[0], 1), 1);
	assert_int_equal(perch_addresses_number_chains(addresses, &numbers), 0);
	assert_int_equal(numbers[positions[0][0]], expected[3][0]);
	assert_int_equal(perch_addresses_add_chain(addresses, thread, &record, positions[0], 0), 0);
	perch_addresses_free(addresses);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(adds_totals_by_event),
		TEST(makes_empty_profile),
		TEST(counts_recursion_once),
		TEST(counts_dso_once_per_stack),
		TEST(keys_separate_rows),
		TEST(samples_without_cpu_have_a_row),
		TEST(uses_name_at_time_of_sample),
		TEST(sorts_rows),
		TEST(sorts_many_rows),
		TEST(context_markers_set_cpumode),
		TEST(separates_equal_addresses_by_cpumode),
		TEST(adds_ip_to_chains_without_it),
		TEST(limits_depth_of_stacks),
		TEST(handles_map_changes_between_equal_stacks),
		TEST(numbers_addresses_of_stacks),
		TEST(numbers_waiting_chains_like_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Tests call graphs, and compares sums of many stacks with a simple count. */
#include "profile_fixture.h"

#define F(n) (CODE + (n))

static void calls_of(struct fixture *f, uint64_t offset, enum perch_call_graph_order order,
		     bool inner, uint64_t least, struct perch_call_graph *tree)
{
	const struct perch_row *row = row_at(f, offset);

	assert_non_null(row);
	assert_int_equal(perch_profile_call_graph(f->profile, row, order, inner, least, tree, NULL),
			 0);
}

/* The graph as text: "1:10/4(2:6 3:...)" is frame 1 with period 10 and self 4. */
static void put_nodes(const struct perch_call_graph *tree, uint32_t at, char *text)
{
	for (bool first = true; at; at = tree->node[at].next, first = false) {
		const struct perch_call_graph_node *call = &tree->node[at];

		sprintf(text + strlen(text), "%s%u:%u/%u", first ? "" : " ",
			(unsigned)(call->frame.offset - CODE), (unsigned)call->period,
			(unsigned)call->self);
		if (call->first_child) {
			strcat(text, "(");
			put_nodes(tree, call->first_child, text);
			strcat(text, ")");
		}
	}
}

static void check_calls(struct fixture *f, uint64_t offset, enum perch_call_graph_order order,
			bool inner, uint64_t least, const char *expected)
{
	struct perch_call_graph tree;
	char text[4096] = "";

	calls_of(f, offset, order, inner, least, &tree);
	put_nodes(&tree, tree.node[0].first_child, text);
	assert_string_equal(text, expected);
	perch_call_graph_clear(&tree);
	assert_null(tree.node);
}

/* main(1) -> 2 -> 4, main -> 3 -> 4, main -> 3 -> 4 -> 5, and 4 -> 2 elsewhere. */
static void four_stacks(struct fixture *f)
{
	start(f, "sym");
	stack(f, 10, 3, (uint64_t[]){ F(4), F(2), F(1) });
	stack(f, 20, 3, (uint64_t[]){ F(4), F(3), F(1) });
	stack(f, 40, 4, (uint64_t[]){ F(5), F(4), F(3), F(1) });
	stack(f, 5, 3, (uint64_t[]){ F(2), F(4), F(1) });
	finish(f);
}

static void makes_callee_graph(void **state)
{
	struct fixture *f = *state;

	four_stacks(f);
	check_calls(f, F(4), PERCH_CALL_GRAPH_CALLEE, false, 0,
		    "4:30/0(3:20/0(1:20/20) 2:10/0(1:10/10))");
	check_calls(f, F(4), PERCH_CALL_GRAPH_CALLEE, true, 0,
		    "4:75/0(3:60/0(1:60/60) 2:10/0(1:10/10) 1:5/5)");
	check_calls(f, F(1), PERCH_CALL_GRAPH_CALLEE, false, 0, "");
	check_calls(f, F(1), PERCH_CALL_GRAPH_CALLEE, true, 0, "1:75/75");
}

static void makes_caller_graph(void **state)
{
	struct fixture *f = *state;

	four_stacks(f);
	check_calls(f, F(4), PERCH_CALL_GRAPH_CALLER, false, 0,
		    "1:30/0(3:20/0(4:20/20) 2:10/0(4:10/10))");
	/* stacks in which 4 called others start at 4 */
	check_calls(f, F(4), PERCH_CALL_GRAPH_CALLER, true, 0,
		    "4:45/0(5:40/40 2:5/5) 1:30/0(3:20/0(4:20/20) 2:10/0(4:10/10))");
	check_calls(f, F(1), PERCH_CALL_GRAPH_CALLER, true, 0,
		    "1:75/0(3:60/0(4:60/20(5:40/40)) 2:10/0(4:10/10) 4:5/0(2:5/5))");
	check_calls(f, F(5), PERCH_CALL_GRAPH_CALLER, true, 0, "1:40/0(3:40/0(4:40/0(5:40/40)))");
}

static void omits_small_branches(void **state)
{
	struct fixture *f = *state;

	four_stacks(f);
	check_calls(f, F(1), PERCH_CALL_GRAPH_CALLER, true, 6,
		    "1:75/0(3:60/0(4:60/20(5:40/40)) 2:10/0(4:10/10))");
	check_calls(f, F(1), PERCH_CALL_GRAPH_CALLER, true, 41, "1:75/0(3:60/0(4:60/20))");
	check_calls(f, F(1), PERCH_CALL_GRAPH_CALLER, true, 75, "1:75/0");
	check_calls(f, F(1), PERCH_CALL_GRAPH_CALLER, true, 76, "");
	check_calls(f, F(4), PERCH_CALL_GRAPH_CALLEE, false, 20, "4:30/0(3:20/0(1:20/20))");
	check_calls(f, F(4), PERCH_CALL_GRAPH_CALLEE, false, UINT64_MAX, "");
}

static void check_counts(struct fixture *f, uint64_t offset)
{
	for (unsigned kind = 0; kind < 4; kind++) {
		struct perch_call_graph tree;

		calls_of(f, offset, kind & 1 ? PERCH_CALL_GRAPH_CALLEE : PERCH_CALL_GRAPH_CALLER,
			 kind & 2, 0, &tree);
		for (size_t i = 0; i < tree.nr; i++) {
			assert_int_equal(tree.node[i].samples * 7, tree.node[i].period);
			assert_int_equal(tree.node[i].self_samples * 7, tree.node[i].self);
		}
		perch_call_graph_clear(&tree);
	}
}

static void counts_samples_of_branches(void **state)
{
	const struct perch_profile_options options = { .names = "sym", .graph_samples = true };
	struct fixture *f = *state;

	assert_int_equal(perch_profile_new(&f->profile, f->processes, f->symbols, &options, NULL),
			 0);
	for (int i = 0; i < 30; i++) {
		stack(f, 7, 3, (uint64_t[]){ F(4), F(2), F(1) });
		if (i % 2)
			stack(f, 7, 4, (uint64_t[]){ F(5), F(4), F(3), F(1) });
		if (i % 3)
			stack(f, 7, 4, (uint64_t[]){ F(2), F(4), F(2), F(1) });
		if (i % 5)
			stack(f, 7, 2, (uint64_t[]){ F(3), F(1) });
	}
	finish(f);
	assert_int_equal(rows_of(f, 0, true), 5);
	for (unsigned function = 1; function <= 5; function++)
		check_counts(f, F(function));
}

static void marks_chains_without_outer_callers(void **state)
{
	const uint64_t ips[] = { PERCH_CONTEXT_USER, F(2), F(1) };
	struct fixture *f = *state;
	struct perch_record record = sample_record(PID, PID, 10, F(2));
	struct perch_call_graph tree;
	char text[PERCH_CELL_BYTES];

	start(f, "sym");
	stack(f, 20, 2, (uint64_t[]){ F(2), F(1) });
	record.sample.callchain.nr = NR(ips);
	record.sample.callchain.ip = ips;
	assert_int_equal(perch_profile_add_truncated(f->profile, &record, NULL), 0);
	finish(f);
	assert_int_equal(rows_of(f, 0, true), 3);
	/* 1 -> 2 with 20, and the mark -> 1 -> 2 with 10 */
	calls_of(f, F(2), PERCH_CALL_GRAPH_CALLER, false, 0, &tree);
	assert_int_equal(tree.node[tree.node[0].first_child].frame.offset, F(1));
	assert_string_equal(
		perch_profile_frame_name(f->profile,
					 &tree.node[tree.node[tree.node[0].first_child].next].frame,
					 text, sizeof(text)),
		"[stack truncated]");
	perch_call_graph_clear(&tree);
	check_calls(f, F(1), PERCH_CALL_GRAPH_CALLER, true, 11, "1:30/0(2:30/30)");
}

static void puts_recursion_in_one_branch(void **state)
{
	struct fixture *f = *state;

	start(f, "sym");
	stack(f, 10, 4, (uint64_t[]){ F(2), F(2), F(2), F(1) });
	stack(f, 3, 4, (uint64_t[]){ F(3), F(2), F(2), F(1) });
	finish(f);
	check_calls(f, F(2), PERCH_CALL_GRAPH_CALLER, true, 0,
		    "1:10/0(2:10/0(2:10/0(2:10/10))) 2:3/0(2:3/0(3:3/3))");
	check_calls(f, F(2), PERCH_CALL_GRAPH_CALLEE, false, 0, "2:10/0(2:10/0(2:10/0(1:10/10)))");
}

/* As perf: callers of a recursive function are those of its innermost frame. */
static void starts_callees_at_innermost_frame(void **state)
{
	struct fixture *f = *state;

	start(f, "sym");
	stack(f, 10, 4, (uint64_t[]){ F(2), F(2), F(2), F(1) });
	stack(f, 3, 4, (uint64_t[]){ F(3), F(2), F(2), F(1) });
	stack(f, 4, 6, (uint64_t[]){ F(3), F(4), F(2), F(5), F(2), F(1) });
	stack(f, 1, 4, (uint64_t[]){ F(4), F(2), F(2), F(1) });
	stack(f, 2, 3, (uint64_t[]){ F(5), F(2), F(1) });
	stack(f, 6, 3, (uint64_t[]){ F(3), F(2), F(6) });
	finish(f);
	check_calls(f, F(2), PERCH_CALL_GRAPH_CALLEE, true, 0,
		    "2:26/0(2:14/0(2:10/0(1:10/10) 1:4/4) 6:6/6 5:4/0(2:4/0(1:4/4)) 1:2/2)");
	check_calls(f, F(2), PERCH_CALL_GRAPH_CALLEE, false, 0, "2:10/0(2:10/0(2:10/0(1:10/10)))");
	check_row(f, F(2), 10, 26, 1);
}

/* Samples of period 0 must not be counted, and not make others count twice. */
static void handles_periods_of_zero(void **state)
{
	struct fixture *f = *state;

	start(f, "sym");
	stack(f, 0, 2, (uint64_t[]){ F(2), F(1) });
	stack(f, 0, 3, (uint64_t[]){ F(2), F(3), F(1) });
	stack(f, 0, 3, (uint64_t[]){ F(2), F(4), F(1) });
	stack(f, 7, 3, (uint64_t[]){ F(2), F(5), F(1) });
	stack(f, 0, 3, (uint64_t[]){ F(2), F(6), F(1) });
	stack(f, 0, 1, (uint64_t[]){ F(9) });
	finish(f);
	check_calls(f, F(2), PERCH_CALL_GRAPH_CALLER, false, 0, "1:7/0(5:7/0(2:7/7))");
	check_calls(f, F(2), PERCH_CALL_GRAPH_CALLEE, true, 0, "2:7/0(5:7/0(1:7/7))");
	check_calls(f, F(9), PERCH_CALL_GRAPH_CALLER, true, 0, "");
	check_row(f, F(2), 7, 7, 5);
	assert_int_equal(rows_of(f, 0, false), 2);
}

/* Sums may overflow without other effects. */
static void handles_overflow_of_periods(void **state)
{
	struct fixture *f = *state;
	struct perch_call_graph tree;

	start(f, "sym");
	for (unsigned i = 0; i < 8; i++) {
		stack(f, 1ull << 63, 3, (uint64_t[]){ F(4), F(2 + i % 2), F(1) });
		stack(f, UINT64_MAX, 4, (uint64_t[]){ F(5 + i), F(4), F(2), F(1) });
	}
	finish(f);
	for (unsigned i = 1; i < 13; i++)
		for (unsigned how = 0; how < 4; how++) {
			calls_of(f, F(i),
				 how & 1 ? PERCH_CALL_GRAPH_CALLEE : PERCH_CALL_GRAPH_CALLER,
				 how & 2, 0, &tree);
			perch_call_graph_clear(&tree);
		}
}

/* ---- many random stacks ---- */

#define STACKS	  100000
#define DEPTH	  12
#define FUNCTIONS 40

struct plain {
	uint8_t nr, frame[DEPTH];
	uint32_t period;
};

/* Random stacks that share outer frames with the stack before, as real ones do. */
static struct plain *random_stacks(void)
{
	struct plain *plain = calloc(STACKS, sizeof(*plain));

	assert_non_null(plain);
	srand(42);
	for (size_t i = 0; i < STACKS; i++) {
		unsigned shared = i ? rand() % (plain[i - 1].nr + 1u) : 0;

		if (i)
			plain[i] = plain[i - 1];
		plain[i].nr = shared + rand() % (DEPTH - shared + 1);
		if (!plain[i].nr)
			plain[i].nr = 1;
		for (unsigned at = shared; at < plain[i].nr; at++)
			plain[i].frame[at] = rand() % FUNCTIONS;
		plain[i].period = rand() % 1000;
	}
	return plain;
}

/* Files of one name, as in two containers: an offset in them is one function. */
#define COPY 0x20000ull

static void map_copies(struct fixture *f)
{
	for (unsigned i = 1; i <= 2; i++) {
		struct perch_record record = mmap_record(PERCH_MISC_USER, PID, CODE + i * COPY,
							 0x10000, CODE, "/bin/copied");

		record.mmap.inode = i;
		apply(f->processes, &record);
	}
}

/* frame[]: outermost first. With copies, odd functions are in one of them. */
static void add_plain(struct fixture *f, const struct plain *plain, bool copies)
{
	uint64_t ips[DEPTH];

	for (unsigned i = 0; i < plain->nr; i++) {
		unsigned frame = plain->frame[plain->nr - 1 - i];

		ips[i] = F(frame) + (copies && frame % 2 ? (1 + plain->period % 2) * COPY : 0);
	}
	stack(f, plain->period, plain->nr, ips);
}

static void check_sums(struct fixture *f, const struct plain *plain)
{
	uint64_t self[FUNCTIONS] = { 0 }, children[FUNCTIONS] = { 0 }, samples[FUNCTIONS] = { 0 },
		 total = 0;
	struct perch_profile_total sums;

	for (size_t i = 0; i < STACKS; i++) {
		bool seen[FUNCTIONS] = { false };

		total += plain[i].period;
		self[plain[i].frame[plain[i].nr - 1]] += plain[i].period;
		samples[plain[i].frame[plain[i].nr - 1]]++;
		for (unsigned at = 0; at < plain[i].nr; at++) {
			if (!seen[plain[i].frame[at]])
				children[plain[i].frame[at]] += plain[i].period;
			seen[plain[i].frame[at]] = true;
		}
	}
	perch_profile_get_total(f->profile, 0, &sums);
	assert_int_equal(sums.samples, STACKS);
	assert_int_equal(sums.period, total);
	for (unsigned i = 0; i < FUNCTIONS; i++)
		check_row(f, F(i), self[i], children[i], samples[i]);
}

/* The period of the stacks of a node of a row's call graph. path[0]: the outermost ancestor. */
static uint64_t recount(const struct plain *plain, unsigned function,
			enum perch_call_graph_order order, const uint8_t *path, unsigned nr)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < STACKS; i++) {
		const struct plain *p = &plain[i];
		unsigned at = 0;

		if (p->frame[p->nr - 1] != function || p->nr < nr)
			continue;
		while (at < nr &&
		       path[at] == p->frame[order == PERCH_CALL_GRAPH_CALLER ? at : p->nr - 1 - at])
			at++;
		if (at == nr)
			sum += p->period;
	}
	return sum;
}

static void check_tree(const struct plain *plain, const struct perch_call_graph *tree, uint32_t at,
		       unsigned function, enum perch_call_graph_order order, uint8_t *path,
		       unsigned depth, uint64_t above)
{
	uint64_t last = UINT64_MAX, sum = 0;

	for (; at; at = tree->node[at].next) {
		const struct perch_call_graph_node *call = &tree->node[at];

		path[depth] = call->frame.offset - CODE;
		assert_true(call->period <= last);
		assert_int_equal(call->period, recount(plain, function, order, path, depth + 1));
		last = call->period;
		sum += call->period;
		check_tree(plain, tree, call->first_child, function, order, path, depth + 1,
			   call->period);
	}
	assert_true(sum <= above);
}

static void check_random_stacks(struct fixture *f, bool copies)
{
	struct plain *plain = random_stacks();
	uint8_t path[DEPTH + 1];

	start(f, "sym");
	for (size_t i = 0; i < STACKS; i++)
		add_plain(f, &plain[i], copies);
	finish(f);
	check_sums(f, plain);
	for (unsigned function = 0; function < 2; function++)
		for (unsigned order = PERCH_CALL_GRAPH_CALLER; order <= PERCH_CALL_GRAPH_CALLEE;
		     order++) {
			struct perch_call_graph tree;
			uint64_t self = row_at(f, F(function))->self;

			calls_of(f, F(function), order, false, self / 300, &tree);
			assert_true(tree.nr > 1);
			assert_int_equal(tree.node[0].period, self);
			check_tree(plain, &tree, tree.node[0].first_child, function, order, path, 0,
				   self);
			perch_call_graph_clear(&tree);
		}
	free(plain);
}

static void random_stacks_match_recount(void **state)
{
	check_random_stacks(*state, false);
}

/* Some addresses have a frame of their own, others share it with one in the other file. */
static void random_stacks_of_copied_files_match_recount(void **state)
{
	struct fixture *f = *state;

	map_copies(f);
	check_random_stacks(f, true);
	assert_int_equal(rows_of(f, 0, true), FUNCTIONS);
}

/* The kernel has numbers of modes without a name, which all are '?'. */
static void unknown_modes_are_one(void **state)
{
	const uint16_t modes[] = { PERCH_MISC_CPUMODE_UNKNOWN, 6, 7, PERCH_MISC_USER };
	struct fixture *f = *state;
	uint64_t samples = 0;

	start(f, "sym");
	for (size_t i = 0; i < NR(modes); i++)
		chain(f, modes[i], 1, F(1), 0, NULL);
	finish(f);
	rows_of(f, 0, true);
	for (size_t i = 0; i < f->nr; i++)
		if (f->rows[i].frame.cpumode_char == '?')
			samples = f->rows[i].samples > samples ? f->rows[i].samples : samples;
	assert_int_equal(samples, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(makes_callee_graph),
		TEST(makes_caller_graph),
		TEST(omits_small_branches),
		TEST(counts_samples_of_branches),
		TEST(marks_chains_without_outer_callers),
		TEST(puts_recursion_in_one_branch),
		TEST(starts_callees_at_innermost_frame),
		TEST(handles_periods_of_zero),
		TEST(handles_overflow_of_periods),
		TEST(random_stacks_match_recount),
		TEST(random_stacks_of_copied_files_match_recount),
		TEST(unknown_modes_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

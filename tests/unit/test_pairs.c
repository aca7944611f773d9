/* SPDX-License-Identifier: MIT */
/* Pairs of events: intervals by key, what is missing, what was lost, and limits. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <perch/pairs.h>

static struct perch_pairs *make(unsigned keep_first, uint32_t max_open)
{
	const struct perch_pairs_options options = { .keep_first = keep_first,
						     .max_open = max_open };
	struct perch_pairs *pairs;

	assert_int_equal(perch_pairs_new(&pairs, &options, NULL), 0);
	return pairs;
}

static int begin(struct perch_pairs *pairs, uint64_t key, uint64_t time)
{
	const struct perch_pair pair = { .key = { .word = { key } },
					 .start = time,
					 .value = { key + 1 } };

	return perch_pairs_begin(pairs, &pair, NULL);
}

static bool end(struct perch_pairs *pairs, uint64_t key, uint64_t time, struct perch_pair *pair)
{
	const struct perch_pair_key own = { .word = { key } };

	return perch_pairs_end(pairs, &own, time, pair);
}

static struct perch_pairs_stats stats_of(const struct perch_pairs *pairs)
{
	struct perch_pairs_stats stats;

	perch_pairs_get_stats(pairs, &stats);
	return stats;
}

static void joins_by_key(void **state)
{
	struct perch_pairs *pairs = make(0, 0);
	struct perch_pair pair;
	(void)state;

	assert_int_equal(begin(pairs, 1, 10), 0);
	assert_int_equal(begin(pairs, 2, 20), 0);
	assert_true(end(pairs, 1, 35, &pair));
	assert_int_equal(pair.start, 10);
	assert_int_equal(pair.end, 35);
	assert_int_equal(pair.value[0], 2);
	assert_false(pair.uncertain);
	assert_false(end(pairs, 1, 36, &pair));
	assert_true(end(pairs, 2, 40, &pair));
	assert_int_equal(pair.start, 20);
	assert_int_equal(stats_of(pairs).pairs, 2);
	assert_int_equal(stats_of(pairs).without_begin, 1);
	assert_int_equal(stats_of(pairs).open, 0);
	perch_pairs_free(pairs);
}

/* All three words of a key count. */
static void compares_whole_keys(void **state)
{
	struct perch_pairs *pairs = make(0, 0);
	struct perch_pair pair;
	(void)state;

	for (unsigned word = 0; word < 3; word++) {
		struct perch_pair own = { .start = word };

		own.key.word[word] = 7;
		assert_int_equal(perch_pairs_begin(pairs, &own, NULL), 0);
	}
	for (unsigned word = 0; word < 3; word++) {
		struct perch_pair_key key = { 0 };

		key.word[word] = 7;
		assert_true(perch_pairs_end(pairs, &key, 10, &pair));
		assert_int_equal(pair.start, word);
	}
	perch_pairs_free(pairs);
}

static void keeps_first_or_last(void **state)
{
	struct perch_pair pair;
	(void)state;

	for (unsigned keep_first = 0; keep_first < 2; keep_first++) {
		struct perch_pairs *pairs = make(keep_first, 0);

		assert_int_equal(begin(pairs, 1, 10), 0);
		assert_int_equal(begin(pairs, 1, 15), 1);
		assert_true(end(pairs, 1, 20, &pair));
		assert_int_equal(pair.start, keep_first ? 10 : 15);
		assert_int_equal(stats_of(pairs).repeated, 1);
		perch_pairs_free(pairs);
	}
}

static void changes_values(void **state)
{
	const struct perch_pair_key key = { .word = { 1 } };
	struct perch_pairs *pairs = make(0, 0);
	struct perch_pair pair;
	(void)state;

	assert_null(perch_pairs_find(pairs, &key));
	begin(pairs, 1, 10);
	perch_pairs_find(pairs, &key)->value[3] = 99;
	assert_true(end(pairs, 1, 20, &pair));
	assert_int_equal(pair.value[3], 99);
	perch_pairs_free(pairs);
}

static void has_limit(void **state)
{
	struct perch_pairs *pairs = make(0, 3);
	struct perch_pair pair;
	(void)state;

	for (uint64_t key = 0; key < 3; key++)
		assert_int_equal(begin(pairs, key, key), 0);
	assert_int_equal(begin(pairs, 3, 3), 2);
	assert_int_equal(stats_of(pairs).left_out, 1);
	assert_int_equal(stats_of(pairs).open, 3);
	assert_true(end(pairs, 0, 9, &pair));
	assert_int_equal(begin(pairs, 3, 10), 0);
	perch_pairs_free(pairs);
}

static void marks_losses(void **state)
{
	static const struct {
		uint64_t start, end;
		bool uncertain;
	} cases[] = {
		{ 10, 90, false },   { 10, 100, true },	 { 150, 160, true }, { 200, 210, true },
		{ 201, 299, false }, { 90, 1000, true }, { 350, 360, true }, { 401, 500, false },
	};
	struct perch_pairs *pairs = make(0, 0);
	struct perch_pair pair;
	(void)state;

	assert_int_equal(perch_pairs_add_loss(pairs, 100, 200), 0);
	/* two that touch are one, and a start after its end is moved */
	assert_int_equal(perch_pairs_add_loss(pairs, 300, 350), 0);
	assert_int_equal(perch_pairs_add_loss(pairs, 340, 400), 0);
	assert_int_equal(perch_pairs_add_loss(pairs, 900, 800), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(begin(pairs, i, cases[i].start), 0);
		assert_true(end(pairs, i, cases[i].end, &pair));
		assert_int_equal(pair.uncertain, cases[i].uncertain);
	}
	/* time that goes backwards */
	begin(pairs, 1, 2000);
	assert_true(end(pairs, 1, 1999, &pair));
	assert_true(pair.uncertain);
	assert_int_equal(pair.end, 2000);
	perch_pairs_restart(pairs);
	assert_int_equal(stats_of(pairs).pairs, 0);
	begin(pairs, 1, 150);
	assert_true(end(pairs, 1, 151, &pair));
	assert_true(pair.uncertain);
	perch_pairs_free(pairs);
}

/* Against a table by key, and a list of all losses. */
static void agrees_with_model(void **state)
{
	enum { KEYS = 50, STEPS = 20000, LOSSES = 40 };
	uint64_t open[KEYS] = { 0 }, loss[LOSSES][2], nr_losses = 0, pairs_seen = 0;
	struct perch_pairs *pairs = make(1, 0);
	(void)state;

	srand(7);
	for (uint64_t time = 1; time < STEPS; time++) {
		uint64_t key = (uint64_t)rand() % KEYS;
		struct perch_pair pair;

		if (nr_losses < LOSSES && rand() % 400 == 0) {
			loss[nr_losses][0] = time - (uint64_t)rand() % 100 % time;
			loss[nr_losses][1] = time;
			nr_losses++;
			assert_int_equal(perch_pairs_add_loss(pairs, loss[nr_losses - 1][0], time),
					 0);
		}
		if (rand() % 2) {
			assert_int_equal(begin(pairs, key, time), open[key] ? 1 : 0);
			open[key] = open[key] ? open[key] : time;
			continue;
		}
		assert_int_equal(end(pairs, key, time, &pair), open[key] != 0);
		if (open[key]) {
			bool overlaps = false;

			for (uint64_t i = 0; i < nr_losses; i++)
				overlaps |= loss[i][0] <= time && loss[i][1] >= open[key];
			assert_int_equal(pair.start, open[key]);
			assert_int_equal(pair.uncertain, overlaps);
			pairs_seen++;
		}
		open[key] = 0;
	}
	assert_int_equal(stats_of(pairs).pairs, pairs_seen);
	perch_pairs_free(pairs);
}

static void refuses_reserved(void **state)
{
	const struct perch_pairs_options options = { .reserved = { 0, 1 } };
	struct perch_pairs *pairs;
	struct perch_error err;
	(void)state;

	assert_int_equal(perch_pairs_new(&pairs, &options, &err), -EINVAL);
	assert_null(pairs);
	perch_pairs_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joins_by_key),	       cmocka_unit_test(compares_whole_keys),
		cmocka_unit_test(keeps_first_or_last), cmocka_unit_test(changes_values),
		cmocka_unit_test(has_limit),	       cmocka_unit_test(marks_losses),
		cmocka_unit_test(agrees_with_model),   cmocka_unit_test(refuses_reserved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

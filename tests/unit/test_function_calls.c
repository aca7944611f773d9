/* SPDX-License-Identifier: MIT */
/* Calls: entries and returns of functions are joined. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <perch/function_calls.h>

static char found[1024];

/* Writes "f1 10-30 d0 LOST", with the value if there is one. */
static int take(void *context, const struct perch_function_call *call)
{
	const size_t used = strlen(found);

	(void)context;
	snprintf(found + used, sizeof(found) - used, "%s%c %d-%d d%u%s%s%s", used ? ", " : "",
		 (char)call->function, (int)call->start, (int)call->end, call->depth,
		 call->flags & PERCH_CALL_LOST ? " lost" : "",
		 call->flags & PERCH_CALL_OPEN ? " open" : "",
		 call->flags & PERCH_CALL_UNCERTAIN ? " uncertain" : "");
	return call->value == 99 ? -EPIPE : 0;
}

static struct perch_function_calls *make(uint32_t max_open)
{
	const struct perch_function_calls_options options = { .call = take, .max_open = max_open };
	struct perch_function_calls *calls;
	struct perch_error err;

	found[0] = '\0';
	if (perch_function_calls_new(&calls, &options, &err))
		fail_msg("%s", err.message);
	return calls;
}

/*
 * Words of a text are events of thread 7, or of another one after '@': "f+100" enters f with the
 * stack pointer 100, "f-108" returns; without a number the pointer is unknown. "!" is a loss, "x"
 * the end of the thread. The time is 10 after the first one, 20 after the second, and so on.
 */
static void run(struct perch_function_calls *calls, const char *text)
{
	uint64_t time = 0;

	for (; *text; text += strcspn(text, " "), text += strspn(text, " ")) {
		struct perch_function_event event = { .tid = 7, .function = (unsigned char)*text };
		const char *tid = strchr(text, '@'), *end = text + strcspn(text, " ");

		event.time = time += 10;
		if (tid && tid < end)
			event.tid = (uint32_t)atoi(tid + 1);
		event.sp = strtoull(text + 2 - (text[1] == '\0'), NULL, 10);
		if (*text == '!')
			perch_function_calls_add_loss(calls);
		else if (*text == 'x')
			assert_int_equal(perch_function_calls_end_thread(calls, event.tid, time),
					 0);
		else if (text[1] == '+')
			assert_int_equal(perch_function_calls_enter(calls, &event, NULL), 0);
		else
			assert_int_equal(perch_function_calls_leave(calls, &event), 0);
	}
	assert_int_equal(perch_function_calls_finish(calls, time + 10), 0);
}

static const struct {
	const char *events, *calls;
} cases[] = {
	{ "f+100 f-108", "f 10-20 d0" },
	{ "f+ f-", "f 10-20 d0" },
	/* nested and recursive calls; arm64 has the same stack pointer at both ends */
	{ "f+100 g+80 g-88 f-108", "g 20-30 d1, f 10-40 d0" },
	{ "f+100 f+80 f+60 f-68 f-88 f-108", "f 30-40 d2, f 20-50 d1, f 10-60 d0" },
	{ "f+100 f+80 f-80 f-100", "f 20-30 d1, f 10-40 d0" },
	{ "f+ f+ f- f-", "f 20-30 d1, f 10-40 d0" },
	/* a call after another one at the same stack pointer */
	{ "f+100 f-108 f+100 f-108", "f 10-20 d0, f 30-40 d0" },
	/* threads */
	{ "f+100 f+100@8 f-108 f-108@8", "f 10-30 d0, f 20-40 d0" },
	/* f jumps to g, which returns to the caller of f: both returns are reported */
	{ "f+100 g+100 g-108 f-108", "g 20-30 d1, f 10-40 d0" },
	/* longjmp(3) from h to main: g and h have no return */
	{ "m+100 g+80 h+60 k+70 k-78 m-108",
	  "h 30-40 d2 lost, k 40-50 d2, g 20-60 d1 lost, m 10-60 d0" },
	{ "m+100 g+80 h+60 m-108", "h 30-40 d2 lost, g 20-40 d1 lost, m 10-40 d0" },
	{ "m+ g+ h+ m-", "h 30-40 d2 lost, g 20-40 d1 lost, m 10-40 d0" },
	/* f is left and called again at the same stack pointer: one return */
	{ "m+100 f+80 f+80 f-88 g+80 g-88 m-108",
	  "f 30-40 d2, f 20-50 d1 lost, g 50-60 d1, m 10-70 d0" },
	/* the kernel reports no return beyond 64 */
	{ "f+100 f+80 f+60 f-108", "f 30-40 d2 lost, f 20-40 d1 lost, f 10-40 d0" },
	/* began before, or has not ended */
	{ "g-88 f+100 f-108", "f 20-30 d0" },
	{ "f+100 g+80", "g 20-30 d1 open, f 10-30 d0 open" },
	{ "f+100 g+80 x", "g 20-30 d1 open, f 10-30 d0 open" },
	{ "f+100 x f-108", "f 10-20 d0 open" },
	/* a loss */
	{ "f+100 ! g+80 g-88 f-108", "g 30-40 d1, f 10-50 d0 uncertain" },
};

static void joins_calls(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct perch_function_calls *calls = make(0);
		struct perch_function_calls_stats stats;

		print_message("%s\n", cases[i].events);
		run(calls, cases[i].events);
		assert_string_equal(found, cases[i].calls);
		perch_function_calls_get_stats(calls, &stats);
		assert_int_equal(stats.open, 0);
		perch_function_calls_free(calls);
	}
}

static void counts_what_is_missing(void **state)
{
	struct perch_function_calls *calls = make(2);
	struct perch_function_calls_stats stats;

	(void)state;
	run(calls, "g-88 f+100 g+80 h+60 h-68 ! g-88 f+40@9 f+20");
	perch_function_calls_get_stats(calls, &stats);
	assert_int_equal(stats.without_entry, 2); /* h was left out */
	assert_int_equal(stats.left_out, 2);
	assert_int_equal(stats.calls, 1);
	assert_int_equal(stats.uncertain, 1);
	assert_int_equal(stats.lost, 0);
	perch_function_calls_free(calls);
}

static void result_of_the_callback_ends(void **state)
{
	const struct perch_function_event event = { .tid = 1, .function = 'f', .value = 99 };
	struct perch_function_calls *calls = make(0);

	(void)state;
	assert_int_equal(perch_function_calls_enter(calls, &event, NULL), 0);
	assert_int_equal(perch_function_calls_leave(calls, &event), -EPIPE);
	perch_function_calls_free(calls);
}

/* Any order of events: each entry is delivered once, or counted. */
static void survives_any_order(void **state)
{
	uint64_t random = 88172645463325252u;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct perch_function_calls *calls = make(round % 3 ? 0 : 20);
		struct perch_function_calls_stats stats;
		uint64_t entries = 0, returns = 0;

		for (int i = 0; i < 200; i++) {
			struct perch_function_event event = { .time = (uint64_t)i };

			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			event.tid = random % 3;
			event.function = random / 3 % 3;
			event.sp = random / 9 % 6;
			found[0] = '\0';
			if (random >> 40 & 1) {
				entries++;
				assert_int_equal(perch_function_calls_enter(calls, &event, NULL),
						 0);
			} else if (random >> 41 & 31) {
				returns++;
				assert_int_equal(perch_function_calls_leave(calls, &event), 0);
			} else {
				perch_function_calls_end_thread(calls, event.tid, event.time);
			}
			perch_function_calls_get_stats(calls, &stats);
			assert_true(stats.calls + stats.lost + stats.left_out + stats.open <=
				    entries);
			assert_int_equal(stats.calls + stats.without_entry, returns);
		}
		perch_function_calls_finish(calls, 1000);
		perch_function_calls_get_stats(calls, &stats);
		assert_int_equal(stats.open, 0);
		perch_function_calls_free(calls);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(joins_calls),
		cmocka_unit_test(counts_what_is_missing),
		cmocka_unit_test(result_of_the_callback_ends),
		cmocka_unit_test(survives_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Options of perch agent --push that change while windows are sent. */
#define _GNU_SOURCE
#include "agent_push_fixture.h"

static bool has_tried(const struct agent_push_stats *stats)
{
	return requests_of(stats, 0) && stats->spool.entries == 2;
}

/* Windows and counters of a target survive other options: in memory, and from there to files. */
static void changes_options(void **state)
{
	struct fixture *fixture = *state;
	unsigned port = http_free_port();
	struct agent_push_target targets[2] = { 0 };
	struct http_server *server;
	struct agent_push *push;
	struct perch_error err;
	uint64_t failed;
	char url[64];

	set_target(fixture, "pyroscope+http://127.0.0.1:%u", port);
	fixture->options.spool = NULL;
	push = open_push(fixture);
	add(push, AGENT_PUSH_PYROSCOPE, "1");
	add(push, AGENT_PUSH_PYROSCOPE, "2");
	wait_until(fixture, push, has_tried);
	snprintf(url, sizeof(url), "pyroscope+http://127.0.0.1:%u,header=A: b", port);
	assert_int_equal(agent_push_target_parse(&targets[1], url, &err), 0);
	snprintf(url, sizeof(url), "otlp+http://127.0.0.1:%u/x", port);
	assert_int_equal(agent_push_target_parse(&targets[0], url, &err), 0);
	fixture->options.target = targets;
	fixture->options.nr = 2;
	failed = requests_of(&fixture->stats, 0);
	change(push, fixture);
	assert_int_equal(fixture->stats.nr_targets, 2);
	assert_int_equal(fixture->stats.spool.entries, 2);
	assert_string_equal(fixture->stats.target[0].name, targets[0].name);
	assert_true(fixture->stats.target[1].code[0].requests >= failed);
	/* a directory that cannot be used: all goes on */
	fixture->options.spool = "/dev/null/x";
	assert_true(agent_push_change(push, &fixture->options, 0, &err) < 0);
	fixture->options.spool = fixture->spool;
	fixture->options.target = &targets[1];
	fixture->options.nr = 1;
	change(push, fixture);
	assert_int_equal(fixture->stats.nr_targets, 1);
	assert_int_equal(fixture->stats.spool.entries, 2);
	assert_true(requests_of(&fixture->stats, 0) >= failed);
	agent_push_target_clear(&targets[0]);
	agent_push_target_clear(&targets[1]);
	server = http_server_start_at(port, &ok, 1);
	wait_until(fixture, push, is_empty);
	assert_int_equal(fixture->stats.target[0].windows, 2);
	assert_int_equal(fixture->stats.dropped_other, 0);
	agent_push_close(push, 0);
	http_server_stop(server);
}

/* The same options interrupt no request; others drop the window that the server may have. */
static void changes_between_requests(void **state)
{
	static const struct http_answer answers[] = { { .how = HTTP_HANG }, { .code = 200 } };
	struct fixture *fixture = *state;
	const struct http_request *request;
	struct agent_push *push = open_push_to(fixture, answers, 2, 1);

	http_server_wait(fixture->server, 1);
	change(push, fixture);
	assert_int_equal(fixture->stats.spool.entries, 1);
	assert_int_equal(http_server_requests(fixture->server, &request), 1);
	fixture->options.spool_age = 60 * SECOND;
	change(push, fixture);
	assert_int_equal(fixture->stats.spool.entries, 0);
	assert_int_equal(fixture->stats.target[0].dropped[AGENT_DROP_UNANSWERED], 1);
	add(push, AGENT_PUSH_OTLP, "2");
	wait_until(fixture, push, is_empty);
	assert_int_equal(fixture->stats.target[0].windows, 1);
	end_push(fixture, push);
}

/* An answer whose code has come counts, also if it is interrupted before its end: what the server
 * has not taken is sent again. */
static void changes_in_answer(void **state)
{
	static const struct http_answer answers[][2] = {
		{ { .code = 503, .how = HTTP_HANG_IN_BODY }, { .code = 200 } },
		{ { .code = 200, .how = HTTP_HANG_IN_BODY }, { .code = 200 } },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < 2; i++) {
		const struct http_request *request;
		struct agent_push *push = open_push_to(fixture, answers[i], 2, 1);

		http_server_wait(fixture->server, 1);
		fixture->options.spool_age = (60 + i) * SECOND;
		/* time for the head of the answer */
		assert_int_equal(agent_push_change(push, &fixture->options, 3 * SECOND, NULL), 0);
		agent_push_stats(push, &fixture->stats);
		assert_int_equal(requests_of(&fixture->stats, answers[i][0].code), 1);
		assert_int_equal(fixture->stats.target[0].dropped[AGENT_DROP_UNANSWERED], 0);
		wait_until(fixture, push, is_empty);
		assert_int_equal(http_server_requests(fixture->server, &request), i ? 1 : 2);
		assert_int_equal(fixture->stats.target[0].windows, 1);
		end_push(fixture, push);
	}
}

/* At the end, too: the next agent sends what the server has not taken, and drops nothing. */
static void ends_in_answer(void **state)
{
	static const struct http_answer answers[] = { { .code = 503, .how = HTTP_HANG_IN_BODY },
						      { .code = 200 } };
	struct fixture *fixture = *state;
	struct agent_push *push = open_push_to(fixture, answers, 2, 1);

	http_server_wait(fixture->server, 1);
	agent_push_close(push, 3 * SECOND);
	push = open_push(fixture);
	wait_until(fixture, push, is_empty);
	assert_int_equal(fixture->stats.target[0].windows, 1);
	assert_int_equal(fixture->stats.target[0].dropped[AGENT_DROP_UNANSWERED], 0);
	end_push(fixture, push);
}

/* Another name of the directory is not another one, whose lock this agent has. */
static void changes_spelling(void **state)
{
	struct fixture *fixture = *state;
	struct agent_push *push;
	char other[96];

	set_target(fixture, "http://127.0.0.1:%u", http_free_port());
	push = open_push(fixture);
	add(push, AGENT_PUSH_OTLP, "1");
	snprintf(other, sizeof(other), "%s/../spool//.", fixture->spool);
	fixture->options.spool = other;
	change(push, fixture);
	fixture->options.spool_age = 60 * SECOND;
	change(push, fixture);
	assert_int_equal(fixture->stats.spool.entries, 1);
	agent_push_close(push, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		PUSH_TEST(changes_options),   PUSH_TEST(changes_between_requests),
		PUSH_TEST(changes_in_answer), PUSH_TEST(ends_in_answer),
		PUSH_TEST(changes_spelling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* A spool and a target for tests of agent/push, and a server that answers as a script says. */
#ifndef AGENT_PUSH_FIXTURE_H
#define AGENT_PUSH_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/push/push.h"
#include "http_server.h"

#define SECOND	    1000000000ull
#define MILLISECOND 1000000ull

enum { WAIT_SECONDS = 60, NR_NOTES = 64 };

static const struct http_answer ok = { .code = 200 };

struct fixture {
	char directory[64], spool[80];
	struct agent_push_target target;
	struct agent_push_options options;
	struct agent_push_stats stats;
	char note[NR_NOTES][256];
	size_t nr_notes;
	struct http_server *server; /* of open_push_to() */
};

static inline void on_note(void *context, const char *text)
{
	struct fixture *fixture = context;

	if (fixture->nr_notes < NR_NOTES)
		snprintf(fixture->note[fixture->nr_notes++], 256, "%s", text);
	print_message("note: %s\n", text);
}

static inline int make_fixture(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	strcpy(fixture->directory, "/tmp/perch-push-XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	snprintf(fixture->spool, sizeof(fixture->spool), "%s/spool", fixture->directory);
	fixture->options = (struct agent_push_options){
		.target = &fixture->target,
		.nr = 1,
		.spool = fixture->spool,
		.least_wait = MILLISECOND,
		.most_wait = 100 * MILLISECOND,
		.note = on_note,
		.context = fixture,
	};
	*state = fixture;
	return 0;
}

static inline int remove_fixture(void **state)
{
	struct fixture *fixture = *state;
	char command[128];

	agent_push_target_clear(&fixture->target);
	snprintf(command, sizeof(command), "rm -rf '%s'", fixture->directory);
	assert_int_equal(system(command), 0);
	free(fixture);
	return 0;
}

static inline void set_target(struct fixture *fixture, const char *format, unsigned port)
{
	char text[512];
	struct perch_error err;

	snprintf(text, sizeof(text), format, port);
	agent_push_target_clear(&fixture->target);
	if (agent_push_target_parse(&fixture->target, text, &err))
		fail_msg("%s", err.message);
}

static inline struct agent_push *open_push(struct fixture *fixture)
{
	struct agent_push *push;
	struct perch_error err;
	int rc = agent_push_open(&push, &fixture->options, &err);

	if (rc == -ENOSYS) {
		print_message("skipped: %s\n", err.message);
		skip();
	}
	if (rc)
		fail_msg("%s", err.message);
	return push;
}

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

/* Adds a window whose bytes are a text. */
static inline void add(struct agent_push *push, enum agent_push_kind kind, const char *text)
{
	static uint64_t last;
	struct agent_push_window window = { .bytes = text, .size = strlen(text) };

	/* two may have the same time, and then no order */
	window.begin = now_ns() > last ? now_ns() : last + 1;
	last = window.begin;
	agent_push_profile_id(window.profile_id);
	assert_int_equal(agent_push_add(push, kind, &window), 0);
}

typedef bool condition_function(const struct agent_push_stats *stats);

static inline void wait_until(struct fixture *fixture, struct agent_push *push,
			      condition_function *is_so)
{
	for (int i = 0; i < WAIT_SECONDS * 100; i++) {
		agent_push_stats(push, &fixture->stats);
		if (is_so(&fixture->stats))
			return;
		usleep(10000);
	}
	fail_msg("it has not become so in %d seconds", WAIT_SECONDS);
}

static inline bool is_empty(const struct agent_push_stats *stats)
{
	return !stats->spool.entries && !stats->queued_bytes;
}

static inline uint64_t requests_of(const struct agent_push_stats *stats, int code)
{
	for (size_t i = 0; i < stats->target[0].nr_codes; i++)
		if (stats->target[0].code[i].code == code)
			return stats->target[0].code[i].requests;
	return 0;
}

/* Starts a server with a script, which is the target, and adds windows of OTLP: "1", "2"... */
static inline struct agent_push *open_push_to(struct fixture *fixture,
					      const struct http_answer *answers, size_t nr,
					      unsigned windows)
{
	struct agent_push *push;
	char text[2] = "0";

	fixture->server = http_server_start(answers, nr);
	set_target(fixture, "http://127.0.0.1:%u", http_server_port(fixture->server));
	push = open_push(fixture);
	while (windows--) {
		text[0]++;
		add(push, AGENT_PUSH_OTLP, text);
	}
	return push;
}

static inline void end_push(struct fixture *fixture, struct agent_push *push)
{
	agent_push_close(push, 0);
	http_server_stop(fixture->server);
}

/* Options that changed, as after SIGHUP. */
static inline void change(struct agent_push *push, struct fixture *fixture)
{
	struct perch_error err;

	if (agent_push_change(push, &fixture->options, 0, &err))
		fail_msg("%s", err.message);
	agent_push_stats(push, &fixture->stats);
}

#define PUSH_TEST(function) cmocka_unit_test_setup_teardown(function, make_fixture, remove_fixture)

#endif

/* SPDX-License-Identifier: MIT */
/* Outages of minutes and hours, by a clock that the test moves on. */
#define _GNU_SOURCE
#include <stdatomic.h>

#include "../sanitized.h"
#include "agent_push_fixture.h"

enum {
	INTERVAL = 15, /* seconds of a window */
	TEXT_MAX = 20000,
	MOST_MEMORY = 64 << 10, /* kB */
};

static _Atomic int64_t moved; /* seconds */

/* With times of 64 bits, a program of 32 bits calls another function. */
#if __SIZEOF_POINTER__ == 4
#define REAL __real___clock_gettime64
#define WRAP __wrap___clock_gettime64
#else
#define REAL __real_clock_gettime
#define WRAP __wrap_clock_gettime
#endif

int REAL(clockid_t clock, struct timespec *time);
int WRAP(clockid_t clock, struct timespec *time);

int WRAP(clockid_t clock, struct timespec *time)
{
	int rc = REAL(clock, time);

	if (clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC)
		time->tv_sec += atomic_load(&moved);
	return rc;
}

static bool is_stored(const struct agent_push_stats *stats)
{
	return !stats->queued_bytes;
}

/* Adds windows of a size, which begin with their number, while their time goes by. */
static void add_windows(struct fixture *fixture, struct agent_push *push, int nr, size_t size)
{
	static char text[TEXT_MAX + 1];

	memset(text, 'x', size);
	text[size] = 0;
	for (int i = 0; i < nr; i++) {
		char number[16];

		snprintf(number, sizeof(number), "%04d", i);
		memcpy(text, number, 4);
		atomic_fetch_add(&moved, INTERVAL);
		add(push, AGENT_PUSH_PYROSCOPE, text);
		if (i % 20 == 0)
			wait_until(fixture, push, is_stored);
	}
	wait_until(fixture, push, is_stored);
}

static uint64_t dropped(const struct fixture *fixture)
{
	uint64_t sum = 0;

	for (int i = 0; i < AGENT_NR_DROP_REASONS; i++)
		sum += fixture->stats.target[0].dropped[i];
	return sum;
}

/* The server is back: it gets the newest windows, the oldest of them first. */
static uint64_t received(struct fixture *fixture, struct agent_push *push, unsigned port, int nr)
{
	struct http_server *server = http_server_start_at(port, &ok, 1);
	const struct http_request *request;
	size_t got;

	wait_until(fixture, push, is_empty);
	got = http_server_requests(server, &request);
	for (size_t i = 0; i < got; i++)
		assert_int_equal(atoi((char *)request[i].body), nr - (int)got + (int)i);
	agent_push_close(push, 0);
	http_server_stop(server);
	return got;
}

static void outlasts_minutes(void **state)
{
	struct fixture *fixture = *state;
	unsigned port = http_free_port();
	struct agent_push *push;

	set_target(fixture, "pyroscope+http://127.0.0.1:%u", port);
	push = open_push(fixture);
	add_windows(fixture, push, 120 / INTERVAL, 1000);
	assert_int_equal(fixture->stats.spool.entries, 120 / INTERVAL);
	assert_true(fixture->stats.target[0].failing);
	assert_int_equal(received(fixture, push, port, 120 / INTERVAL), 120 / INTERVAL);
	assert_int_equal(dropped(fixture), 0);
}

static int peak_memory(void)
{
	char line[256];
	FILE *file = fopen("/proc/self/status", "r");
	int kb = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		sscanf(line, "VmHWM: %d kB", &kb);
	fclose(file);
	assert_true(kb > 0);
	return kb;
}

/* A spool of 1 MB is full, or its windows become too old for engines. */
static void outlasts_hours(void **state)
{
	static const struct {
		size_t size;
		enum agent_drop_reason reason;
		uint64_t least, most; /* windows that are left */
	} cases[] = {
		{ 20000, AGENT_DROP_SPOOL, 45, 52 },
		{ 2000, AGENT_DROP_AGE, 235, 240 },
	};
	struct fixture *fixture = *state;
	const int nr = 2 * 3600 / INTERVAL;

	fixture->options.spool_bytes = 1 << 20;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		unsigned port = http_free_port();
		struct agent_push *push;
		uint64_t got;

		set_target(fixture, "pyroscope+http://127.0.0.1:%u", port);
		push = open_push(fixture);
		add_windows(fixture, push, nr, cases[i].size);
		assert_true(fixture->stats.spool.bytes <= 1 << 20);
		got = received(fixture, push, port, nr);
		assert_in_range(got, cases[i].least, cases[i].most);
		assert_int_equal(fixture->stats.target[0].dropped[cases[i].reason],
				 dropped(fixture));
		assert_int_equal(got + dropped(fixture), nr);
		assert_int_equal(fixture->stats.target[0].dropped_bytes[cases[i].reason],
				 dropped(fixture) * cases[i].size);
	}
	if (!SANITIZED)
		assert_true(peak_memory() < MOST_MEMORY);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		PUSH_TEST(outlasts_minutes),
		PUSH_TEST(outlasts_hours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Sends windows to a server that answers as a script says. */
#define _GNU_SOURCE
#include <signal.h>
#include <strings.h>
#include <sys/wait.h>
#include <zlib.h>

#include "agent_push_fixture.h"

static bool has_header(const struct http_request *request, const char *line)
{
	const char *at = strstr(request->head, line);

	return at && at[-1] == '\n' && at[strlen(line)] == '\r';
}

/* Returns the body without gzip, as a text. */
static const char *text_of(const struct http_request *request)
{
	static char text[4096];
	z_stream stream = { .next_in = request->body, .avail_in = (uInt)request->size };

	assert_true(request->complete);
	if (!has_header(request, "Content-Encoding: gzip")) {
		assert_true(request->size < sizeof(text));
		memcpy(text, request->body, request->size);
		text[request->size] = 0;
		return text;
	}
	stream.next_out = (Bytef *)text;
	stream.avail_out = sizeof(text) - 1;
	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	text[stream.total_out] = 0;
	inflateEnd(&stream);
	return text;
}

static void sends_window(void **state)
{
	struct fixture *fixture = *state;
	struct http_server *server = http_server_start(&ok, 1);
	const struct http_request *request;
	struct agent_push *push;

	fixture->options.user_agent = "perch-agent/1";
	set_target(fixture, "http://127.0.0.1:%u,header=X-Scope-OrgID: team",
		   http_server_port(server));
	push = open_push(fixture);
	assert_true(agent_push_wants(push, AGENT_PUSH_OTLP));
	assert_false(agent_push_wants(push, AGENT_PUSH_PYROSCOPE));
	add(push, AGENT_PUSH_OTLP, "first");
	/* no target takes it */
	add(push, AGENT_PUSH_PYROSCOPE, "pprof");
	http_server_wait(server, 1);
	wait_until(fixture, push, is_empty);
	assert_int_equal(http_server_requests(server, &request), 1);
	assert_memory_equal(request->head, "POST /v1development/profiles HTTP/1.1\r\n", 39);
	assert_true(has_header(request, "Content-Type: application/x-protobuf"));
	assert_true(has_header(request, "X-Scope-OrgID: team"));
	assert_true(has_header(request, "otlp-profiles-development-version: 1"));
	assert_true(has_header(request, "User-Agent: perch-agent/1"));
	assert_null(strcasestr(request->head, "Expect:"));
	assert_string_equal(text_of(request), "first");
	assert_int_equal(fixture->stats.target[0].windows, 1);
	assert_int_equal(fixture->stats.target[0].bytes, request->size);
	assert_int_equal(requests_of(&fixture->stats, 200), 1);
	assert_false(fixture->stats.target[0].failing);
	agent_push_close(push, 0);
	http_server_stop(server);
	assert_int_equal(fixture->nr_notes, 0);
}

/* The same bytes again, and not before the server wants them. */
static void retries(void **state)
{
	static const struct http_answer answers[] = {
		{ .code = 429, .headers = "Retry-After: 1\r\n" },
		{ .code = 503 },
		{ .code = 502 },
		{ .code = 504, .headers = "retry-after:   0 \r\n" },
		{ .code = 200 },
	};
	struct fixture *fixture = *state;
	struct http_server *server = http_server_start(answers, 5);
	const struct http_request *request;
	struct agent_push *push;

	set_target(fixture, "http://127.0.0.1:%u/other/path?x=1", http_server_port(server));
	push = open_push(fixture);
	add(push, AGENT_PUSH_OTLP, "window");
	http_server_wait(server, 5);
	wait_until(fixture, push, is_empty);
	assert_int_equal(http_server_requests(server, &request), 5);
	for (size_t i = 0; i < 5; i++) {
		assert_string_equal(text_of(&request[i]), "window");
		assert_memory_equal(request[i].head, "POST /other/path?x=1 ", 21);
		assert_int_equal(requests_of(&fixture->stats, answers[i].code), 1);
	}
	assert_true(request[1].time - request[0].time >= 1);
	assert_int_equal(fixture->stats.target[0].windows, 1);
	assert_false(fixture->stats.target[0].failing);
	agent_push_close(push, 0);
	http_server_stop(server);
	assert_non_null(strstr(fixture->note[0], "429"));
	assert_non_null(strstr(fixture->note[fixture->nr_notes - 1], "takes windows again"));
}

/* Another error is final: the window is dropped, the next one is sent. */
static void drops_refused(void **state)
{
	static const char json[] = "{\"code\":3, \"message\": \"too old \\\"x\\\"\"}";
	static const struct http_answer answers[] = {
		{ .code = 400, .body = json, .size = sizeof(json) - 1 },
		{ .code = 307, .headers = "Location: http://127.0.0.1:1/\r\n" },
		{ .code = 500,
		  .body = "\x12\x03"
			  "bad",
		  .size = 5,
		  .headers = "Content-Type: application/x-protobuf\r\n" },
		{ .code = 200 },
	};
	struct fixture *fixture = *state;
	const struct http_request *request;
	struct agent_push *push = open_push_to(fixture, answers, 4, 4);

	http_server_wait(fixture->server, 4);
	wait_until(fixture, push, is_empty);
	assert_int_equal(http_server_requests(fixture->server, &request), 4);
	assert_string_equal(text_of(&request[3]), "4");
	assert_int_equal(fixture->stats.target[0].windows, 1);
	assert_int_equal(fixture->stats.target[0].dropped[AGENT_DROP_REFUSED], 3);
	assert_int_equal(fixture->stats.target[0].dropped_bytes[AGENT_DROP_REFUSED],
			 request[0].size + request[1].size + request[2].size);
	end_push(fixture, push);
	assert_int_equal(fixture->nr_notes, 3);
	assert_non_null(strstr(fixture->note[0], "400: too old \\\"x\\\""));
	assert_non_null(strstr(fixture->note[1], "307"));
	assert_non_null(strstr(fixture->note[2], "500: bad"));
}

/*
 * All was sent, and no answer came: the server may have the window. It is not sent again; requests
 * without a window ask whether the server answers, and then the next window is sent.
 */
static void never_sends_twice(void **state)
{
	static const struct http_answer answers[] = {
		{ .how = HTTP_CLOSE }, { .how = HTTP_CLOSE }, { .code = 503 },	    { .code = 200 },
		{ .how = HTTP_HANG },  { .code = 400 },	      { .how = HTTP_DRIP }, { .code = 200 },
	};
	struct fixture *fixture = *state;
	static const char *const expected[] = { "1", "", "", "", "2", "", "3", "", "4" };
	const struct http_request *request;
	struct agent_push *push;

	fixture->options.timeout = SECOND;
	push = open_push_to(fixture, answers, 8, 4);
	http_server_wait(fixture->server, 9);
	wait_until(fixture, push, is_empty);
	assert_int_equal(http_server_requests(fixture->server, &request), 9);
	for (size_t i = 0; i < 9; i++)
		assert_string_equal(text_of(&request[i]), expected[i]);
	assert_int_equal(fixture->stats.target[0].dropped[AGENT_DROP_UNANSWERED], 3);
	assert_int_equal(fixture->stats.target[0].windows, 1);
	assert_int_equal(requests_of(&fixture->stats, 0), 4);
	end_push(fixture, push);
}

static bool has_failed(const struct agent_push_stats *stats)
{
	return requests_of(stats, 0) >= 3;
}

/* Windows wait while there is no server, and come in their order after it. */
static void replays(void **state)
{
	struct fixture *fixture = *state;
	const struct http_request *request;
	unsigned port = http_free_port();
	struct http_server *server;
	struct agent_push *push;

	for (int in_memory = 0; in_memory < 2; in_memory++) {
		char text[2] = "0";

		fixture->options.spool = in_memory ? NULL : fixture->spool;
		set_target(fixture, "http://127.0.0.1:%u", port);
		push = open_push(fixture);
		for (text[0] = '0'; text[0] < '5'; text[0]++)
			add(push, AGENT_PUSH_OTLP, text);
		wait_until(fixture, push, has_failed);
		assert_int_equal(fixture->stats.spool.entries, 5);
		assert_true(fixture->stats.spool.oldest);
		assert_true(fixture->stats.target[0].failing);
		server = http_server_start_at(port, &ok, 1);
		http_server_wait(server, 5);
		wait_until(fixture, push, is_empty);
		assert_int_equal(http_server_requests(server, &request), 5);
		for (size_t i = 0; i < 5; i++)
			assert_int_equal(*text_of(&request[i]), '0' + i);
		assert_int_equal(fixture->stats.target[0].windows, 5);
		for (int i = 0; i < AGENT_NR_DROP_REASONS; i++)
			assert_int_equal(fixture->stats.target[0].dropped[i], 0);
		agent_push_close(push, 0);
		http_server_stop(server);
	}
}

static bool has_dropped(const struct agent_push_stats *stats)
{
	return !stats->queued_bytes && stats->target[0].dropped[AGENT_DROP_SPOOL] >= 80;
}

/* A long outage and a small spool: the oldest windows are dropped and counted, the newest arrive.
 */
static void outlasts_outage(void **state)
{
	struct fixture *fixture = *state;
	const struct http_request *request;
	unsigned port = http_free_port();
	struct http_server *server;
	struct agent_push *push;
	char text[1001] = "";
	uint64_t waiting;

	fixture->options.spool_bytes = 20000;
	set_target(fixture, "pyroscope+http://127.0.0.1:%u", port);
	push = open_push(fixture);
	memset(text, 'x', 1000);
	for (int i = 0; i < 100; i++) {
		text[0] = (char)i;
		if (!i)
			text[0] = 'x';
		add(push, AGENT_PUSH_PYROSCOPE, text);
	}
	wait_until(fixture, push, has_dropped);
	waiting = fixture->stats.spool.entries;
	assert_in_range(waiting, 15, 20);
	assert_in_range(fixture->stats.spool.bytes, 15000, 20000);
	assert_int_equal(fixture->stats.target[0].dropped[AGENT_DROP_SPOOL], 100 - waiting);
	assert_int_equal(fixture->stats.target[0].dropped_bytes[AGENT_DROP_SPOOL],
			 (100 - waiting) * 1000);
	server = http_server_start_at(port, &ok, 1);
	http_server_wait(server, waiting);
	wait_until(fixture, push, is_empty);
	assert_int_equal(http_server_requests(server, &request), waiting);
	for (size_t i = 0; i < waiting; i++)
		assert_int_equal(request[i].body[0], 100 - waiting + i);
	agent_push_close(push, 0);
	http_server_stop(server);
}

/* ---- SIGKILL ---- */

enum { LARGE = 6 << 20 };

/* Bytes that a socket does not take at once. */
static char *large_window(uint64_t *begin)
{
	char *bytes = malloc(LARGE);

	assert_non_null(bytes);
	memset(bytes, 'x', LARGE);
	memcpy(bytes, begin, sizeof(*begin));
	return bytes;
}

/* The program of the child: it adds windows, and waits to be killed. */
static int run_child(const char *url, const char *spool, const char *kind)
{
	struct agent_push_target target;
	struct agent_push *push;
	const struct agent_push_options options = {
		.target = &target,
		.nr = 1,
		.spool = spool,
		.least_wait = MILLISECOND,
	};
	struct agent_push_window window = { .begin = now_ns(), .size = LARGE };

	if (agent_push_target_parse(&target, url, NULL) || agent_push_open(&push, &options, NULL))
		return 1;
	window.bytes = large_window(&window.begin);
	memcpy(window.profile_id, &window.begin, sizeof(window.begin));
	agent_push_add(push, AGENT_PUSH_PYROSCOPE, &window);
	if (*kind == 'w') {
		/* until it is in the spool */
		struct agent_push_stats stats;

		do {
			usleep(1000);
			agent_push_stats(push, &stats);
		} while (stats.queued_bytes || !stats.spool.entries);
		if (write(1, "x", 1) != 1)
			return 1;
	}
	for (;;)
		pause();
}

static pid_t start_child(const char *url, const char *spool, const char *kind, int *ready)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(ends[1], 1);
		execl("/proc/self/exe", "test", url, spool, kind, (char *)NULL);
		_exit(1);
	}
	close(ends[1]);
	*ready = ends[0];
	return pid;
}

static void kill_child(pid_t pid)
{
	int status;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

/* After the kill: an agent on the same spool, and a server that takes all. */
static void start_again(struct fixture *fixture, unsigned port, size_t windows, uint64_t unanswered)
{
	struct http_server *server = http_server_start_at(port, &ok, 1);
	const struct http_request *request;
	struct agent_push *push;
	size_t nr;

	set_target(fixture, "pyroscope+http://127.0.0.1:%u", port);
	push = open_push(fixture);
	http_server_wait(server, windows);
	wait_until(fixture, push, is_empty);
	nr = http_server_requests(server, &request);
	assert_int_equal(nr, windows);
	for (size_t i = 0; i < nr; i++) {
		assert_true(request[i].complete);
		assert_int_equal(request[i].size, LARGE);
		assert_true(has_header(&request[i], "Content-Type: application/proto"));
	}
	assert_int_equal(fixture->stats.target[0].dropped[AGENT_DROP_UNANSWERED], unanswered);
	agent_push_close(push, 0);
	http_server_stop(server);
}

static void survives_kill(void **state)
{
	static const struct {
		const char *what;
		struct http_answer answer;
		size_t windows; /* that come after the kill */
		uint64_t unanswered;
	} cases[] = {
		{ "waits", { .code = 0 }, 1, 0 },
		{ "is sent", { .how = HTTP_STOP_READING }, 1, 0 },
		{ "has no answer", { .how = HTTP_HANG }, 0, 1 },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < 3; i++) {
		unsigned port = http_free_port();
		struct http_server *server = NULL;
		char url[128], byte;
		int ready;
		pid_t pid;

		print_message("killed while a window %s\n", cases[i].what);
		if (i)
			server = http_server_start_at(port, &cases[i].answer, 1);
		snprintf(url, sizeof(url), "pyroscope+http://127.0.0.1:%u", port);
		pid = start_child(url, fixture->spool, cases[i].what, &ready);
		if (server)
			http_server_wait(server, 1);
		else
			assert_int_equal(read(ready, &byte, 1), 1);
		kill_child(pid);
		close(ready);
		if (server)
			http_server_stop(server);
		start_again(fixture, port, cases[i].windows, cases[i].unanswered);
	}
}

/* ---- hostile servers ---- */

static void bounds_answers(void **state)
{
	static const struct http_answer answers[] = {
		{ .code = 200, .how = HTTP_ENDLESS_BODY },
		{ .code = 200, .how = HTTP_ENDLESS_HEADS },
		{ .code = 503, .headers = "Retry-After: 99999999999999999999\r\n" },
		{ .code = 200 },
	};
	struct fixture *fixture = *state;
	struct agent_push *push;

	fixture->options.most_wait = 20 * MILLISECOND;
	push = open_push_to(fixture, answers, 4, 3);
	http_server_wait(fixture->server, 4);
	wait_until(fixture, push, is_empty);
	assert_int_equal(requests_of(&fixture->stats, 200), 3);
	assert_int_equal(requests_of(&fixture->stats, 503), 1);
	assert_int_equal(fixture->stats.target[0].windows, 3);
	end_push(fixture, push);
}

static void reads_partial_success(void **state)
{
	/* ExportProfilesServiceResponse { partial_success { rejected_profiles: 3, "no\x1b" } } */
	static const char body[] = "\x0a\x07\x08\x03\x12\x03no\x1b";
	static const struct http_answer answers[] = {
		{ .code = 200, .body = body, .size = sizeof(body) - 1 },
		{ .code = 200, .body = "\xff\xff", .size = 2 },
		/* the Collector's way to say that it has all */
		{ .code = 200, .body = "\x0a\0", .size = 2 },
	};
	struct fixture *fixture = *state;
	struct http_server *server = http_server_start(answers, 3);
	struct agent_push *push;

	set_target(fixture, "otlp+http://127.0.0.1:%u/", http_server_port(server));
	push = open_push(fixture);
	add(push, AGENT_PUSH_OTLP, "1");
	add(push, AGENT_PUSH_OTLP, "2");
	add(push, AGENT_PUSH_OTLP, "3");
	http_server_wait(server, 3);
	wait_until(fixture, push, is_empty);
	assert_int_equal(fixture->stats.target[0].windows, 3);
	assert_int_equal(fixture->stats.target[0].rejected, 3);
	agent_push_close(push, 0);
	http_server_stop(server);
	assert_int_equal(fixture->nr_notes, 1);
	assert_non_null(strstr(fixture->note[0], "rejected 3 profiles: no?"));
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* A token is read for each request; without it there is none. */
static void authorizes(void **state)
{
	struct fixture *fixture = *state;
	struct http_server *server = http_server_start(&ok, 1);
	const struct http_request *request;
	char path[80], url[256];
	struct agent_push *push;

	snprintf(path, sizeof(path), "%s/token", fixture->directory);
	snprintf(url, sizeof(url), "http://127.0.0.1:%%u,token-file=%s", path);
	set_target(fixture, url, http_server_port(server));
	push = open_push(fixture);
	add(push, AGENT_PUSH_OTLP, "1");
	wait_until(fixture, push, has_failed);
	write_text(path, "a\rb");
	assert_int_equal(http_server_requests(server, &request), 0);
	write_text(path, "secret\n");
	http_server_wait(server, 1);
	agent_push_close(push, 10 * SECOND);
	http_server_requests(server, &request);
	assert_true(has_header(request, "Authorization: Bearer secret"));
	write_text(path, "user:word");
	snprintf(url, sizeof(url), "http://127.0.0.1:%%u,basic-file=%s", path);
	set_target(fixture, url, http_server_port(server));
	push = open_push(fixture);
	add(push, AGENT_PUSH_OTLP, "2");
	http_server_wait(server, 2);
	agent_push_close(push, 10 * SECOND);
	http_server_requests(server, &request);
	assert_true(has_header(&request[1], "Authorization: Basic dXNlcjp3b3Jk"));
	http_server_stop(server);
	for (size_t i = 0; i < fixture->nr_notes; i++)
		assert_null(strstr(fixture->note[i], "secret"));
}

static bool second_has_all(const struct agent_push_stats *stats)
{
	return has_failed(stats) && stats->target[1].windows == 2 && stats->spool.entries == 2;
}

/* Two targets get the same window; one that fails does not delay the other. */
static void sends_to_several(void **state)
{
	struct fixture *fixture = *state;
	struct http_server *server = http_server_start(&ok, 1);
	struct agent_push_target targets[2];
	struct agent_push *push;
	struct perch_error err;
	char url[64];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u", http_free_port());
	assert_int_equal(agent_push_target_parse(&targets[0], url, &err), 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", http_server_port(server));
	assert_int_equal(agent_push_target_parse(&targets[1], url, &err), 0);
	fixture->options.target = targets;
	fixture->options.nr = 2;
	push = open_push(fixture);
	add(push, AGENT_PUSH_OTLP, "1");
	add(push, AGENT_PUSH_OTLP, "2");
	wait_until(fixture, push, second_has_all);
	assert_int_equal(fixture->stats.target[0].windows, 0);
	agent_push_close(push, 0);
	/* a window has one name for each target */
	targets[0].hash = targets[1].hash;
	assert_int_equal(agent_push_open(&push, &fixture->options, &err), -EINVAL);
	agent_push_target_clear(&targets[0]);
	agent_push_target_clear(&targets[1]);
	http_server_stop(server);
}

static void limits_queue(void **state)
{
	struct fixture *fixture = *state;
	struct agent_push_window window = { .begin = now_ns(), .size = AGENT_BODY_MAX + 1 };
	struct agent_push *push;
	char *bytes = calloc(1, AGENT_BODY_MAX + 1);

	set_target(fixture, "http://127.0.0.1:%u", http_free_port());
	push = open_push(fixture);
	window.bytes = bytes;
	assert_int_equal(agent_push_add(push, AGENT_PUSH_OTLP, &window), -EFBIG);
	agent_push_stats(push, &fixture->stats);
	assert_int_equal(fixture->stats.target[0].dropped[AGENT_DROP_SIZE], 1);
	/* the thread may take each at once, but not 100 of 8 MB in the time of the copies */
	window.size = AGENT_BODY_MAX;
	for (int i = 0; i < 100; i++) {
		int rc = agent_push_add(push, AGENT_PUSH_OTLP, &window);

		assert_true(!rc || rc == -ENOSPC);
		agent_push_stats(push, &fixture->stats);
		assert_true(fixture->stats.queued_bytes <= AGENT_BODY_MAX);
	}
	assert_true(fixture->stats.target[0].dropped[AGENT_DROP_QUEUE] > 0);
	agent_push_close(push, 0);
	free(bytes);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		PUSH_TEST(sends_window),
		PUSH_TEST(retries),
		PUSH_TEST(drops_refused),
		PUSH_TEST(never_sends_twice),
		PUSH_TEST(replays),
		PUSH_TEST(outlasts_outage),
		PUSH_TEST(survives_kill),
		PUSH_TEST(bounds_answers),
		PUSH_TEST(reads_partial_success),
		PUSH_TEST(authorizes),
		PUSH_TEST(sends_to_several),
		PUSH_TEST(limits_queue),
	};

	if (argc == 4)
		return run_child(argv[1], argv[2], argv[3]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Channels of commands: each command has one answer, whatever a client writes and reads. */
#define _GNU_SOURCE /* pipe2 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/channel.h>

#define ANSWERS 2000 /* more than a pipe of a page takes */

struct fixture {
	int commands[2], answers[2];
	struct perch_channel *channel;
	struct perch_channel_request request;
	struct perch_error err;
};

static int set_up(void **state)
{
	static struct fixture s;
	char text[40];

	s = (struct fixture){ 0 };
	assert_int_equal(pipe2(s.commands, O_CLOEXEC), 0);
	assert_int_equal(pipe2(s.answers, O_CLOEXEC), 0);
	snprintf(text, sizeof(text), "fd:%d,%d", s.commands[0], s.answers[1]);
	assert_int_equal(perch_channel_open(&s.channel, text, &s.err), 0);
	*state = &s;
	return 0;
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int tear_down(void **state)
{
	struct fixture *s = *state;

	perch_channel_close(s->channel);
	for (int i = 0; i < 2; i++) {
		close_end(&s->commands[i]);
		close_end(&s->answers[i]);
	}
	return 0;
}

static void put(struct fixture *s, const char *bytes, size_t size)
{
	assert_int_equal(write(s->commands[1], bytes, size), size);
}

static void put_text(struct fixture *s, const char *text)
{
	put(s, text, strlen(text));
}

static int next(struct fixture *s)
{
	return perch_channel_next(s->channel, &s->request, &s->err);
}

/* The answer begins with the text, and ends with a newline and a zero byte. */
static void check_answer(struct fixture *s, const char *begin)
{
	char bytes[1100];
	ssize_t got = read(s->answers[0], bytes, sizeof(bytes));

	assert_true(got > 2 && got <= (ssize_t)sizeof(bytes));
	assert_int_equal(bytes[got - 1], 0);
	assert_int_equal(bytes[got - 2], '\n');
	assert_memory_equal(bytes, begin, strlen(begin));
}

static void test_commands(void **state)
{
	static const struct {
		const char *text;
		enum perch_channel_command command;
		const char *event;
		bool verbose, groups, frequency;
	} cases[] = {
		{ "enable\n", PERCH_CHANNEL_ENABLE, NULL, false, false, false },
		{ "enable cycles:u\n", PERCH_CHANNEL_ENABLE, "cycles:u", false, false, false },
		{ "disable\n", PERCH_CHANNEL_DISABLE, NULL, false, false, false },
		{ "disable a b\n", PERCH_CHANNEL_DISABLE, "a b", false, false, false },
		{ "evlist\n", PERCH_CHANNEL_EVLIST, NULL, false, false, false },
		{ "evlist -v -F\n", PERCH_CHANNEL_EVLIST, NULL, true, false, true },
		{ "evlist -g\n", PERCH_CHANNEL_EVLIST, NULL, false, true, false },
		{ "snapshot\n", PERCH_CHANNEL_SNAPSHOT, NULL, false, false, false },
		{ "ping\n", PERCH_CHANNEL_PING, NULL, false, false, false },
		{ "stop\n", PERCH_CHANNEL_STOP, NULL, false, false, false },
		{ "ping", PERCH_CHANNEL_PING, NULL, false, false, false },
	};
	struct fixture *s = *state;

	assert_int_equal(next(s), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		put_text(s, cases[i].text);
		assert_int_equal(next(s), 1);
		assert_int_equal(s->request.command, cases[i].command);
		if (cases[i].event)
			assert_string_equal(s->request.event, cases[i].event);
		else
			assert_null(s->request.event);
		assert_int_equal(s->request.verbose, cases[i].verbose);
		assert_int_equal(s->request.groups, cases[i].groups);
		assert_int_equal(s->request.frequency, cases[i].frequency);
		assert_int_equal(perch_channel_answer(s->channel, NULL), 0);
		check_answer(s, "ack\n");
		assert_int_equal(next(s), 0);
	}
}

/* Commands in parts, several at once, empty ones, and zero bytes as ends. */
static void test_parts(void **state)
{
	struct fixture *s = *state;

	put_text(s, "sto");
	assert_int_equal(next(s), 0);
	put_text(s, "p\n");
	assert_int_equal(next(s), 1);
	assert_int_equal(s->request.command, PERCH_CHANNEL_STOP);
	put(s, "\n\nping\n\0enable x\0disable", 24);
	assert_int_equal(next(s), 1);
	assert_int_equal(s->request.command, PERCH_CHANNEL_PING);
	assert_int_equal(next(s), 1);
	assert_string_equal(s->request.event, "x");
	assert_int_equal(next(s), 1);
	assert_int_equal(s->request.command, PERCH_CHANNEL_DISABLE);
	assert_int_equal(next(s), 0);
}

/* Wrong commands have an answer, and the ones after them are carried out. */
static void test_wrong(void **state)
{
	static const char *const texts[] = { "frob\n",	      "enablex\n",	"ping x\n",
					     "evlist -x\n",   "evlist -g -v\n", "\33[2Jx\n",
					     "snapshot now\n" };
	struct fixture *s = *state;
	char longest[3000];

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		put_text(s, texts[i]);
		put_text(s, "ping\n");
		assert_int_equal(next(s), -EINVAL);
		assert_null(strchr(s->err.message, '\33'));
		check_answer(s, "error: ");
		assert_int_equal(next(s), 1);
	}
	memset(longest, 'x', sizeof(longest));
	put(s, longest, sizeof(longest));
	assert_int_equal(next(s), 0);
	put_text(s, "\nping\n");
	assert_int_equal(next(s), -EINVAL);
	assert_int_equal(next(s), 1);
	assert_int_equal(s->request.command, PERCH_CHANNEL_PING);
}

static void test_failure(void **state)
{
	struct fixture *s = *state;
	struct perch_error why;

	memset(why.message, 'x', sizeof(why.message) - 1);
	why.message[sizeof(why.message) - 1] = 0;
	assert_int_equal(perch_channel_answer(s->channel, &why), 0);
	check_answer(s, "error: xxx");
}

/* The end of the clients: of commands, and of answers, which raises no SIGPIPE. */
static void test_end(void **state)
{
	struct fixture *s = *state;

	put_text(s, "ping\nstop");
	close_end(&s->commands[1]);
	close_end(&s->answers[0]);
	assert_int_equal(next(s), 1);
	assert_int_equal(perch_channel_answer(s->channel, NULL), -EPIPE);
	assert_int_equal(next(s), 1);
	assert_int_equal(s->request.command, PERCH_CHANNEL_STOP);
	assert_int_equal(next(s), 0);
	assert_int_equal(perch_channel_fd(s->channel), -1);
	assert_int_equal(next(s), 0);
}

/* A client that never reads its answers stops nothing. */
static void test_full(void **state)
{
	struct fixture *s = *state;
	int rc = 0;

	fcntl(s->answers[0], F_SETPIPE_SZ, 4096);
	for (int i = 0; i < ANSWERS && !rc; i++)
		rc = perch_channel_answer(s->channel, NULL);
	assert_int_equal(rc, -EAGAIN);
}

/* Commands that are read together are taken together: nothing says later that there are some. */
static void test_many(void **state)
{
	char commands[4000] = "";
	struct fixture *s = *state;

	for (size_t i = 0; i < 500; i++)
		memcpy(commands + 5 * i, "ping\n", 5);
	for (size_t nr = 90; nr <= 500; nr += 7) {
		struct pollfd more = { perch_channel_fd(s->channel), POLLIN, 0 };
		size_t taken = 0;

		put(s, commands, 5 * nr);
		do
			while (next(s) == 1)
				taken++;
		while (poll(&more, 1, 0) > 0);
		assert_int_equal(taken, nr);
	}
}

/* A client that writes all the time, commands or bytes that are none, does not keep the caller. */
static void test_flood(void **state)
{
	static const char *const texts[] = { "ping\n", "wrong\n", "\n\n\n\n", "xxxx" };
	struct fixture *s = *state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct pollfd space = { s->commands[1], POLLOUT, 0 };
		struct pollfd more = { s->commands[0], POLLIN, 0 };
		int taken = 0, rc;

		do {
			while (poll(&space, 1, 0) > 0)
				put(s, texts[i], strlen(texts[i]));
			rc = next(s);
			taken++;
		} while (rc && taken < 10000);
		assert_int_equal(rc, 0);
		assert_int_equal(poll(&more, 1, 0), 1); /* it did not wait for the end */
	}
}

/* A descriptor that is ready and cannot be read is an error once, not each time. */
static void test_unreadable(void **state)
{
	struct fixture *s = *state;
	struct perch_channel *channel;
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char text[40];

	snprintf(text, sizeof(text), "fd:%d", fd);
	assert_int_equal(perch_channel_open(&channel, text, &s->err), 0);
	assert_int_equal(perch_channel_next(channel, &s->request, &s->err), -EISDIR);
	assert_int_equal(perch_channel_fd(channel), -1);
	assert_int_equal(perch_channel_next(channel, &s->request, &s->err), 0);
	perch_channel_close(channel);
	close(fd);
}

static void test_pipes(void **state)
{
	char directory[] = "/tmp/perch-channel-XXXXXX", path[64], text[80];
	struct fixture *s = *state;
	struct perch_channel *channel;
	int fd;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/ctl", directory);
	snprintf(text, sizeof(text), "fifo:%s", path);
	assert_int_equal(perch_channel_open(&channel, text, &s->err), -ENOENT);
	assert_null(channel);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "ping\n", 5), 5);
	close(fd);
	assert_int_equal(perch_channel_open(&channel, text, &s->err), -EINVAL);
	assert_null(channel);
	assert_non_null(strstr(s->err.message, "regular file"));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(perch_channel_open(&channel, i ? path : text, &s->err), 0);
		for (int client = 0; client < 2; client++) { /* one after the other */
			fd = open(path, O_WRONLY | O_CLOEXEC);
			assert_int_equal(write(fd, "ping\n", 5), 5);
			close(fd);
			assert_int_equal(perch_channel_next(channel, &s->request, &s->err), 1);
			assert_int_equal(perch_channel_answer(channel, NULL), 0);
			assert_int_equal(perch_channel_next(channel, &s->request, &s->err), 0);
		}
		perch_channel_close(channel);
	}
	unlink(path);
	rmdir(directory);
}

static void test_bad_texts(void **state)
{
	static const struct {
		const char *text;
		int rc;
	} cases[] = { { "", -EINVAL },	    { "7", -EINVAL },	  { "fd:", -EINVAL },
		      { "fd:0,", -EINVAL }, { "fifo:", -EINVAL }, { "fd:x", -EBADF },
		      { "fd:-1", -EBADF },  { "fd:999", -EBADF }, { "/nowhere/ctl", -ENOENT } };
	struct fixture *s = *state;
	struct perch_channel *channel;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(perch_channel_open(&channel, cases[i].text, &s->err), cases[i].rc);
		assert_null(channel);
		assert_true(s->err.message[0]);
	}
	perch_channel_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_commands, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_parts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_wrong, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_failure, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_many, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_flood, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unreadable, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_pipes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bad_texts, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

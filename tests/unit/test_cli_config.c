/* SPDX-License-Identifier: MIT */
/* Files of options. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "cli/config_file.h"
#include "cli/messages.h"

static int parse(struct cli_config_arguments *arguments, const char *text)
{
	*arguments = (struct cli_config_arguments){ .text = strdup(text) };
	return cli_config_arguments_parse(arguments, "FILE", "agent");
}

static void makes_words(void **state)
{
	static const char text[] = "# a comment\n"
				   "; another\n"
				   "\n"
				   "listen = 127.0.0.1:7099\n"
				   "  push=http://a,header=A: b  \r\n"
				   "push = http://b#c\n"
				   "label = ^/a\\.b => c=\"\\1\" # no comment\n"
				   "off-cpu\n"
				   "empty =\n"
				   "last = 1";
	static const char *const expected[] = {
		"--listen=127.0.0.1:7099",
		"--push=http://a,header=A: b",
		"--push=http://b#c",
		"--label=^/a\\.b => c=\"\\1\" # no comment",
		"--off-cpu",
		"--empty=",
		"--last=1",
	};
	struct cli_config_arguments arguments;

	(void)state;
	assert_int_equal(parse(&arguments, text), 0);
	assert_int_equal(arguments.nr, sizeof(expected) / sizeof(*expected));
	for (size_t i = 0; i < arguments.nr; i++)
		assert_string_equal(arguments.word[i].text, expected[i]);
	cli_config_arguments_clear(&arguments);
	assert_int_equal(parse(&arguments, ""), 0);
	assert_int_equal(arguments.nr, 0);
	cli_config_arguments_clear(&arguments);
}

static void refuses_lines(void **state)
{
	static const char *const wrong[] = {
		"[agent]",    "-x",	  "--listen=1", "a b = c",  "A = b",	 "= b",	      "a:b",
		"config = x", "config=x", "config",	"\xff = 1", "ok = 1\nX", "a\033 = b",
	};
	struct cli_config_arguments arguments;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		print_message("case %zu\n", i);
		assert_int_equal(parse(&arguments, wrong[i]), CLI_EXIT_USAGE);
		assert_int_equal(arguments.nr, 0);
		assert_null(arguments.text);
	}
}

static void reads_files(void **state)
{
	char path[] = "/tmp/perch-config-XXXXXX";
	struct cli_config_arguments arguments;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "rate = 19\n", 10), 10);
	assert_int_equal(cli_config_arguments_read(&arguments, path, "agent"), 0);
	assert_int_equal(arguments.nr, 1);
	assert_string_equal(arguments.word[0].text, "--rate=19");
	cli_config_arguments_clear(&arguments);
	assert_int_equal(ftruncate(fd, CLI_CONFIG_MAX_BYTES + 1), 0);
	assert_int_equal(cli_config_arguments_read(&arguments, path, "agent"), CLI_EXIT_USAGE);
	assert_int_equal(ftruncate(fd, 10), 0);
	if (!geteuid()) {
		assert_int_equal(fchown(fd, 65534, 65534), 0);
		assert_int_equal(cli_config_arguments_read(&arguments, path, "agent"),
				 CLI_EXIT_USAGE);
		/* what root has written is for a service of another user, too */
		assert_int_equal(fchown(fd, 0, 0), 0);
		assert_int_equal(fchmod(fd, 0644), 0);
		assert_int_equal(seteuid(65534), 0);
		assert_int_equal(cli_config_arguments_read(&arguments, path, "agent"), 0);
		assert_int_equal(seteuid(0), 0);
		cli_config_arguments_clear(&arguments);
	}
	close(fd);
	unlink(path);
	assert_int_equal(cli_config_arguments_read(&arguments, path, "agent"), CLI_EXIT_USAGE);
	assert_int_equal(cli_config_arguments_read(&arguments, "/dev/zero", "agent"),
			 CLI_EXIT_USAGE);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(makes_words),
		cmocka_unit_test(refuses_lines),
		cmocka_unit_test(reads_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

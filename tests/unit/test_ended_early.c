/* SPDX-License-Identifier: MIT */
/* A case that ends at its assertion has one cause: what it leaves allocated is not reported. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static void *volatile memory;

static void allocates_and_ends(void **state)
{
	(void)state;
	/* the last one may still be in a register */
	for (int i = 0; i < 10; i++)
		memory = malloc(100);
	memory = NULL;
	assert_true(memory != NULL);
}

static int run_failing(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(allocates_and_ends) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

static void a_failed_case_has_one_cause(void **state)
{
	pid_t child = fork();
	int status, null;

	(void)state;
	if (!child) {
		null = open("/dev/null", O_WRONLY);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		setenv("ASAN_OPTIONS", "detect_leaks=1:exitcode=99", 1);
		execl("/proc/self/exe", "failing", "failing", NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	/* with a report of LeakSanitizer it would be 99 */
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(a_failed_case_has_one_cause) };

	(void)argv;
	return argc > 1 ? run_failing() : cmocka_run_group_tests(tests, NULL, NULL);
}

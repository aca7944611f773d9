/* SPDX-License-Identifier: MIT */
/* Programs that wait for their events before exec, as real processes. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/program.h>

static int status_of(const struct perch_program *program)
{
	int status;

	assert_int_equal(waitpid(program->pid, &status, 0), program->pid);
	return status;
}

/* Writes a byte before exec. */
static void write_byte(void *context)
{
	ssize_t unused = write(*(int *)context, "x", 1);

	(void)unused;
}

static void runs_after_its_release(void **state)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)"exit 7", NULL }, byte = 0;
	struct perch_program program;
	struct perch_error err;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(perch_program_start(&program, argv, write_byte, &ends[1], &err), 0);
	assert_true(program.waits);
	assert_int_equal(waitpid(program.pid, NULL, WNOHANG), 0);
	assert_int_equal(perch_program_release(&program, &err), 0);
	assert_false(program.waits);
	assert_int_equal(read(ends[0], &byte, 1), 1); /* the exec is over */
	assert_int_equal(byte, 'x');
	assert_int_equal(WEXITSTATUS(status_of(&program)), 7);
	perch_program_cancel(&program); /* has no effect any more */
	close(ends[0]);
	close(ends[1]);
}

static void says_why_it_cannot_start(void **state)
{
	static const struct {
		const char *name;
		int errnum, status;
		const char *message;
	} wrong[] = {
		{ "no-such-program", ENOENT, 127,
		  "there is no program 'no-such-program' in the directories of PATH" },
		{ "./no-such-file", ENOENT, 127, "there is no program './no-such-file'" },
		{ "/dev/null", EACCES, 126, "'/dev/null' is not executable by this user" },
		{ "null", EACCES, 126, "'null' is not executable by this user" },
	};
	char *path = strdup(getenv("PATH"));

	(void)state;
	/* the user's may have a directory that cannot be searched, which is EACCES for all names */
	setenv("PATH", "/dev", 1);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char *argv[] = { (char *)wrong[i].name, NULL };
		struct perch_program program;
		struct perch_error err;

		assert_int_equal(perch_program_start(&program, argv, NULL, NULL, &err), 0);
		assert_int_equal(perch_program_release(&program, &err), -wrong[i].errnum);
		assert_string_equal(err.message, wrong[i].message);
		assert_int_equal(err.kind, PERCH_ERROR_PROGRAM);
		assert_int_equal(waitpid(program.pid, NULL, 0), -1); /* it was waited for */
		/* the second part may follow after the end */
		assert_int_equal(perch_program_start(&program, argv, NULL, NULL, NULL), 0);
		perch_program_begin_release(&program);
		assert_int_equal(WEXITSTATUS(status_of(&program)), wrong[i].status);
		assert_int_equal(perch_program_finish_release(&program, NULL), -wrong[i].errnum);
	}
	setenv("PATH", path, 1);
	free(path);
}

static void ends_before_its_release(void **state)
{
	char *argv[] = { (char *)"false", NULL };
	struct perch_program program = { 0 };

	(void)state;
	perch_program_cancel(&program); /* none */
	assert_int_equal(perch_program_start(&program, argv, NULL, NULL, NULL), 0);
	perch_program_cancel(&program);
	assert_int_equal(waitpid(program.pid, NULL, 0), -1);
	/* one that was killed: its release neither waits nor raises SIGPIPE */
	assert_int_equal(perch_program_start(&program, argv, NULL, NULL, NULL), 0);
	kill(program.pid, SIGKILL);
	assert_int_equal(WTERMSIG(status_of(&program)), SIGKILL);
	assert_int_equal(perch_program_release(&program, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_after_its_release),
		cmocka_unit_test(says_why_it_cannot_start),
		cmocka_unit_test(ends_before_its_release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

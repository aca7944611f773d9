/* SPDX-License-Identifier: MIT */
/*
 * Each allocation of "perch explain -- PROGRAM" fails: once, or it and all later ones. The program
 * must run to its end. It is this program with an argument, and has processes and threads that open
 * events and execute other programs.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <perch/abi.h>

#include "commands.h"
#include "host.h"
#include "options.h"

#define MOST	    2000 /* allocations of one trace */
#define END_SECONDS 60	 /* a trace that takes longer hangs */

void *__real_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t nr, size_t size);
void *__wrap_realloc(void *memory, size_t size);

/* Allocations until one fails. Negative: none fails. */
static long left = -1;
static bool all_later;	 /* all later ones fail too */
static bool *any_failed; /* shared with the tracing process */

static bool fails(void)
{
	if (left < 0)
		return false;
	if (left-- > 0)
		return false;
	*any_failed = true;
	left = all_later ? 0 : -1;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return fails() ? NULL : __real_calloc(nr, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	return fails() ? NULL : __real_realloc(memory, size);
}

/* ---- the traced program ---- */

static void open_refused(void)
{
	struct perch_attr attr = { .type = PERCH_TYPE_SOFTWARE,
				   .size = PERCH_ATTR_SIZE_VER0,
				   .read_format = 1ull << 40 };

	if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0ul) >= 0 || errno != EINVAL)
		_exit(100);
}

static void *open_in_thread(void *context)
{
	open_refused();
	return context;
}

static void *execute_in_thread(void *context)
{
	open_refused();
	execl("/bin/true", "true", NULL);
	_exit(101);
	return context;
}

static int run_target(void)
{
	pthread_t thread;
	int status;
	pid_t child;

	open_refused();
	if (pthread_create(&thread, NULL, open_in_thread, NULL) || pthread_join(thread, NULL))
		return 102;
	child = fork();
	if (!child) {
		open_refused();
		execl("/bin/true", "true", NULL);
		_exit(103);
	}
	if (waitpid(child, &status, 0) != child || status)
		return 104;
	if (pthread_create(&thread, NULL, execute_in_thread, NULL))
		return 105;
	pause();
	return 106;
}

/* ---- the trace ---- */

static void trace(long fail_at)
{
	static char command[] = "explain", option[] = "-o/dev/null", end[] = "--";
	static char path[] = "/proc/self/exe", target[] = "target";
	char *arguments[] = { command, option, end, path, target, NULL };
	int null = open("/dev/null", O_WRONLY);

	dup2(null, STDERR_FILENO);
	left = fail_at;
	_exit(perch_cmd_explain((int)(sizeof(arguments) / sizeof(arguments[0])) - 1, arguments));
}

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ 0, ms * 1000000 }, NULL);
}

/* The exit status of a trace. A trace that hangs is ended: the kernel then kills its program. */
static int run_trace(long fail_at)
{
	pid_t tracer = fork(), got = 0;
	int status = 0;

	if (!tracer)
		trace(fail_at);
	for (int i = 0; i < END_SECONDS * host_slowness() * 100 && !got; i++) {
		got = waitpid(tracer, &status, WNOHANG);
		if (!got)
			sleep_ms(i < 100 ? 1 : 10);
	}
	if (got == tracer && WIFEXITED(status))
		return WEXITSTATUS(status);
	kill(tracer, SIGKILL);
	waitpid(tracer, &status, 0);
	return -1;
}

/* The program ends with its own status, or was not started. */
static void run_with_failures(bool later)
{
	long nr = 0;

	all_later = later;
	for (*any_failed = true; *any_failed; nr++) {
		int status;

		assert_true(nr < MOST);
		*any_failed = false;
		status = run_trace(nr);
		if (status != 0 && status != CLI_EXIT_FAILURE)
			fail_msg("with allocation %ld failed%s: %s (%d)", nr,
				 later ? ", and all later ones" : "",
				 status < 0 ? "the trace hangs" : "wrong status", status);
	}
	assert_true(nr > 10);
}

static void the_program_ends_if_an_allocation_fails(void **state)
{
	(void)state;
	if (run_trace(-1)) {
		print_message("skipped: this process may not trace a program\n");
		skip();
	}
	run_with_failures(false);
}

static void the_program_ends_if_no_memory_is_left(void **state)
{
	(void)state;
	if (run_trace(-1))
		skip();
	run_with_failures(true);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_program_ends_if_an_allocation_fails),
		cmocka_unit_test(the_program_ends_if_no_memory_is_left),
	};

	if (argc == 2 && !strcmp(argv[1], "target"))
		return run_target();
	any_failed = mmap(NULL, sizeof(*any_failed), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (any_failed == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

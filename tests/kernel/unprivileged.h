/* SPDX-License-Identifier: MIT */
/* Tests as a user who may not measure the kernel. Include after <cmocka.h>. */
#ifndef PERCH_TESTS_UNPRIVILEGED_H
#define PERCH_TESTS_UNPRIVILEGED_H

#include <sys/wait.h>
#include <unistd.h>

#include <perch/machine.h>

#define NOBODY 65534

/*
 * Calls the function in a child that is such a user. Skips if this user cannot become one. The
 * function returns 0 if all is well.
 */
static inline void run_unprivileged(int (*function)(void))
{
	long paranoid = 0;
	int status;
	pid_t pid;

	perch_machine_sysctl(NULL, PERCH_SYSCTL_PARANOID, &paranoid, NULL);
	if (geteuid() || paranoid != 2) {
		print_message("skipped: needs root and kernel.perf_event_paranoid=2\n");
		skip();
	}
	pid = fork();
	if (!pid)
		_exit(setgid(NOBODY) || setuid(NOBODY) ? 100 : function());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#endif

/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "messages.h"
#include "seccomp_kill.h"

bool cli_filter_kills(struct perch_machine *machine, int (*call)(void))
{
	static const struct rlimit no_core_file;
	void (*before)(int);
	pid_t child, got;
	int status;

	/* from /proc, because the filter may forbid prctl(2) */
	if (perch_machine_seccomp(machine, NULL) != 2)
		return false;
	before = signal(SIGCHLD, SIG_DFL); /* with SIG_IGN there is nothing to wait for */
	child = fork();
	if (!child) {
		setrlimit(RLIMIT_CORE, &no_core_file); /* of a death that is expected */
		call();
		_exit(0);
	}
	do
		got = child > 0 ? waitpid(child, &status, 0) : -1;
	while (got < 0 && child > 0 && errno == EINTR);
	signal(SIGCHLD, before);
	return got > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

/* Without an attr the kernel returns EFAULT. */
static int open_nothing(void)
{
	return (int)syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0);
}

int cli_check_filter(const char *command, struct perch_machine *machine)
{
	struct perch_error err;

	if (!cli_filter_kills(machine, open_nothing))
		return 0;
	perch_error_set(&err, EPERM, perch_cause_kind(PERCH_CAUSE_SECCOMP),
			"a seccomp filter kills the process at perf_event_open(2) (SIGSYS)");
	perch_error_cause(&err, PERCH_CAUSE_SECCOMP);
	perch_error_remedy(&err, "allow perf_event_open where the filter is set: a sandbox, "
				 "systemd's SystemCallFilter=, or a container runtime");
	return cli_error(command, &err);
}

static int refuse_open(void *context, const struct perch_attr *attr, pid_t pid, int cpu,
		       int group_fd, unsigned long flags)
{
	(void)context, (void)attr, (void)pid, (void)cpu, (void)group_fd, (void)flags;
	errno = EPERM;
	return -1;
}

const struct perch_syscalls *cli_calls_that_survive(void)
{
	static struct perch_syscalls calls;

	if (!cli_filter_kills(NULL, open_nothing))
		return NULL;
	calls = perch_kernel_syscalls;
	calls.perf_event_open = refuse_open;
	return &calls;
}

/* SPDX-License-Identifier: MIT */
/* Waits for the program or other processes, the end of an interval, commands and signals. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stat.h"

static volatile sig_atomic_t stopped; /* the signal's number */
static volatile sig_atomic_t child;   /* gets SIGTERM too; 0 for none */
static pid_t own;		      /* of perch itself */
static int control_fd = -1;	      /* of the current stat_wait() */
static bool has_command;	      /* control_fd is readable */
static int wait_error;		      /* why the kernel refuses to wait; counting ends */

/* They end counting, and the counts are printed. */
static const int stop_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

static void on_signal(int number, siginfo_t *info, void *unused)
{
	/* the terminal sends SIGINT, SIGHUP and SIGQUIT to the program too, another process does
	 * not */
	bool forward = number == SIGTERM ||
		       ((number == SIGHUP || number == SIGQUIT) && info->si_code <= 0);

	(void)unused;
	/* in the program before its exec: the signal has its default action */
	if (getpid() != own) {
		signal(number, SIG_DFL);
		raise(number);
		return;
	}
	stopped = number;
	if (forward && child > 0)
		kill(child, number);
}

int stat_stop_signal(void)
{
	return stopped;
}

/* Also SIGINT and SIGTERM that are ignored, as in background jobs: -p and -a count until a signal.
 */
void stat_catch_signals(void)
{
	const struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct sigaction before;

	own = getpid();
	for (size_t i = 0; i < CLI_NR(stop_signals); i++) {
		int number = stop_signals[i];

		/* counting continues at a signal that was ignored: SIGHUP after nohup(1), SIGQUIT
		 * in background jobs */
		if (number == SIGINT || number == SIGTERM ||
		    (!sigaction(number, NULL, &before) && before.sa_handler != SIG_IGN))
			sigaction(number, &action, NULL);
	}
}

int stat_block_signals(sigset_t *before)
{
	sigset_t ours;

	sigemptyset(before);
	sigemptyset(&ours);
	for (size_t i = 0; i < CLI_NR(stop_signals); i++)
		sigaddset(&ours, stop_signals[i]);
	return sigprocmask(SIG_BLOCK, &ours, before) < 0 ? errno : 0;
}

bool stat_wait_failed(void)
{
	return wait_error;
}

int stat_report_wait(void)
{
	if (!wait_error)
		return 0;
	cli_note(STAT_COMMAND,
		 "counting ended: cannot wait for the program, signals and times: %s; a filter of "
		 "system calls (seccomp) may refuse ppoll(2) and rt_sigprocmask(2)",
		 strerror(wait_error));
	return CLI_EXIT_FAILURE;
}

void stat_forward_signals_to(pid_t pid)
{
	child = pid;
	if (pid && stopped)
		kill(pid, stopped); /* it arrived before the program started */
}

uint64_t stat_now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/*
 * Sleeps until the time, a signal, a command, or the end of the process of the pidfd (-1 for none).
 * Signals are unblocked only during ppoll(): one between the check of `stopped` and the sleep would
 * not end the sleep.
 */
static void sleep_until(uint64_t until_ns, int pidfd)
{
	struct pollfd ends[] = { { .fd = pidfd, .events = POLLIN },
				 { .fd = control_fd, .events = POLLIN } };
	uint64_t now = stat_now_ns();
	uint64_t rest = until_ns > now ? until_ns - now : 0;
	struct timespec left = { .tv_sec = rest / 1000000000, .tv_nsec = rest % 1000000000 };
	sigset_t before;

	wait_error = stat_block_signals(&before);
	if (!stopped && !wait_error) {
		int nr = ppoll(ends, CLI_NR(ends), until_ns == UINT64_MAX ? NULL : &left, &before);

		if (nr > 0)
			has_command = ends[1].revents != 0;
		else if (nr < 0 && errno != EINTR)
			wait_error = errno;
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static bool interrupted(void)
{
	return stopped || has_command || wait_error;
}

/* Without a pidfd (before Linux 5.3, and for threads other than the leader), kill() every 10 ms. */
#define POLL_NS 10000000

static uint64_t next_poll(uint64_t until_ns)
{
	uint64_t soon = stat_now_ns() + POLL_NS;

	return soon < until_ns ? soon : until_ns;
}

/* A pidfd shows the end of a process even before it is reaped; kill(2) does not. */
static bool is_running(pid_t pid, int *pidfd)
{
	struct pollfd ended = { .events = POLLIN };
	int nr;

	*pidfd = ended.fd = syscall(SYS_pidfd_open, pid, 0);
	if (*pidfd < 0)
		return !kill(pid, 0) || errno == EPERM;
	nr = poll(&ended, 1, 0);
	if (!nr)
		return true;
	close(*pidfd);
	*pidfd = -1;
	return nr < 0 && !kill(pid, 0);
}

static bool program_ended(const struct stat_job *stat)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, stat->program.pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	       info.si_pid;
}

/* Sleeps once; false if the process has ended. */
static bool wait_for_process(pid_t pid, uint64_t until_ns)
{
	int pidfd;

	if (!is_running(pid, &pidfd))
		return false;
	sleep_until(pidfd < 0 ? next_poll(until_ns) : until_ns, pidfd);
	if (pidfd >= 0)
		close(pidfd);
	return true;
}

/* True if all have ended. */
static bool wait_for_targets(const struct perch_targets *targets, uint64_t until_ns)
{
	for (size_t i = 0; i < targets->nr; i++) {
		if (i && targets->target[i].tid == targets->target[i - 1].tid)
			continue;
		while (!interrupted() && stat_now_ns() < until_ns &&
		       wait_for_process(targets->target[i].tid, until_ns))
			;
		if (interrupted() || stat_now_ns() >= until_ns)
			return false;
	}
	return true;
}

static bool wait_for_program(const struct stat_job *stat, uint64_t until_ns)
{
	int pidfd = -1;
	bool ended;

	if (!program_ended(stat))
		pidfd = syscall(SYS_pidfd_open, stat->program.pid, 0);
	for (;;) {
		ended = program_ended(stat);
		if (ended || interrupted() || stat_now_ns() >= until_ns)
			break;
		sleep_until(pidfd < 0 ? next_poll(until_ns) : until_ns, pidfd);
	}
	if (pidfd >= 0)
		close(pidfd);
	return ended;
}

bool stat_has_command(void)
{
	return has_command;
}

bool stat_wait(const struct stat_job *stat, uint64_t until_ns)
{
	bool wide = cli_target_system_wide(&stat->options.target) || !stat->nr_parts;

	control_fd = cli_control_fd(&stat->control);
	has_command = false;
	if (stat->argv)
		return wait_for_program(stat, until_ns);
	/* --per-thread -a has no end either: some threads always run */
	if (!wide)
		return wait_for_targets(&stat->part[0].targets, until_ns);
	while (!interrupted() && stat_now_ns() < until_ns)
		sleep_until(until_ns, -1);
	return false;
}

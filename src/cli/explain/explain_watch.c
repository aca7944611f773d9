/* SPDX-License-Identifier: MIT */
/*
 * Watching a program by ptrace. A seccomp filter of the program's stops the calls of interest
 * alone; all others run as if nobody watched. Where there can be no filter, every call stops.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "explain_watch.h"
#include "options.h"

static volatile sig_atomic_t stopped; /* by a signal, after the program's end */
static volatile sig_atomic_t late;    /* it is time to say what is waited for */
static volatile sig_atomic_t watched; /* the program, while it runs */

/* What comes from the terminal reaches the program by itself; what somebody sent to us was meant
 * for it. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (number == SIGALRM) {
		late = 1;
	} else if (!watched) {
		stopped = number;
		alarm(1); /* in case it came just before waitpid(2), which sleeps on then */
	} else if (info->si_code <= 0 || number == SIGTERM) {
		kill(watched, number);
	}
}

/*
 * Also where they were ignored: the program, which ignores them then too, decides. Nobody to read
 * what is printed is no reason to end, for that would end the program.
 */
void watch_catch_signals(void)
{
	static const int numbers[] = {
		SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM
	};
	const struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < CLI_NR(numbers); i++)
		sigaction(numbers[i], &action, NULL);
}

/* The flag spares the program the mitigations that older kernels (before 5.16) switch on with a
 * filter: they cost. */
static int put_under_filter(struct sock_fprog *program)
{
	if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, program))
		return 0;
	if (errno == EINVAL && !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program))
		return 0;
	return errno;
}

static void prepare(void *context)
{
	struct watch_preparation *preparation = context;
	struct sock_fprog program = { preparation->filter.length, preparation->filter.code };
	int error = put_under_filter(&program);

	if (error == EACCES && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) {
		preparation->restricted = true;
		error = put_under_filter(&program);
	}
	preparation->error = error;
}

/* A filter that was there before us may answer the call, and then ours is not asked. */
static bool answered_before(void)
{
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER)
		return false;
	return syscall(SYS_perf_event_open, NULL, 0, 0, -1, 0UL) >= 0 || errno != EFAULT;
}

static void first_exec(struct watch *watch)
{
	const struct watch_preparation *preparation = watch->preparation;
	struct perch_error err;

	cli_program_finish_release(&watch->program, &err); /* end of file: it has become itself */
	if (preparation->error && !watch->every) {
		watch->every = true;
		cli_note(
			EXPLAIN_COMMAND,
			"every system call of the program stops, which is slow: the kernel takes no seccomp "
			"filter (%s)",
			strerror(preparation->error));
	}
}

static void on_exec(struct watch *watch, pid_t tid)
{
	unsigned long before = tid;
	struct watch_thread *thread;

	ptrace(PTRACE_GETEVENTMSG, tid, NULL, &before);
	thread = watch_became(watch, before, tid);
	if (!thread)
		return;
	thread->running = false;
	explain_executed(watch->job, thread->group->pid);
	watch_check_set_uid(watch, tid);
	watch_resume(watch, thread, 0);
}

/* The new thread or process stops by itself, before or after this. */
static void on_fork(struct watch *watch, struct watch_thread *thread)
{
	unsigned long child;

	if (!ptrace(PTRACE_GETEVENTMSG, thread->tid, NULL, &child))
		watch_meet(watch, child, thread->group->pid);
	watch_resume(watch, thread, 0);
}

static void on_call(struct watch *watch, struct watch_thread *thread)
{
	int end = watch_is_end(watch, thread->tid);

	if (end > 0 || (end < 0 && thread->entered))
		watch_exit(watch, thread);
	else
		watch_entry(watch, thread);
}

static bool stops_process(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

static void on_stop(struct watch *watch, struct watch_thread *thread, int event, int signal)
{
	thread->running = false;
	if (event == PTRACE_EVENT_SECCOMP) {
		watch_entry(watch, thread);
	} else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
		   event == PTRACE_EVENT_CLONE) {
		on_fork(watch, thread);
	} else if (event == PTRACE_EVENT_STOP && stops_process(signal)) {
		/* it stays stopped until SIGCONT, and tells when that comes */
		thread->running = true;
		ptrace(PTRACE_LISTEN, thread->tid, NULL, NULL);
	} else if (event) {
		watch_resume(watch, thread, 0);
	} else if (signal == WATCH_CALL_STOP) {
		on_call(watch, thread);
	} else {
		watch_resume(watch, thread, signal);
	}
}

static void on_end(struct watch *watch, pid_t tid, int status)
{
	struct watch_thread *thread = watch_find(watch, tid);

	if (tid == watch->program.pid) {
		watch->program_ended = true;
		watch->program_status = status;
		watched = 0;
	}
	if (thread)
		watch_leave(watch, thread);
}

static void on_status(struct watch *watch, pid_t tid, int status)
{
	struct watch_thread *thread;

	if (!WIFSTOPPED(status)) {
		on_end(watch, tid, status);
		return;
	}
	if (status >> 16 == PTRACE_EVENT_EXEC) {
		if (tid == watch->program.pid && watch->program.failure >= 0)
			first_exec(watch);
		on_exec(watch, tid);
		return;
	}
	thread = watch_meet(watch, tid, 0);
	if (!thread) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL); /* no memory for it */
		return;
	}
	on_stop(watch, thread, status >> 16, WSTOPSIG(status));
	/* what came while calls were made in its place */
	thread = watch_find(watch, tid);
	if (thread && thread->has_status) {
		thread->has_status = false;
		on_status(watch, tid, thread->status);
	}
}

/* What a program leaves behind is watched to its end: perf_event_open would fail (ENOSYS) under a
 * filter without us. */
static void say_late(struct watch *watch)
{
	late = 0;
	if (watch->program_ended && watch->nr_threads)
		cli_note(
			EXPLAIN_COMMAND,
			"the program has ended; waiting for the processes it left behind (Ctrl-C: leave them, "
			"but then perf_event_open will not work in them)");
}

void watch_loop(struct watch *watch)
{
	int status;
	pid_t tid;

	while (!stopped) {
		if (late)
			say_late(watch);
		tid = watch_wait(watch, &status);
		if (tid < 0 && errno == EINTR)
			continue;
		if (tid < 0)
			break; /* none is left */
		on_status(watch, tid, status);
		if (tid == watch->program.pid && watch->program_ended)
			alarm(1);
	}
	alarm(0);
	if (watch->nr_threads)
		watch_detach(watch);
}

/* -p: nobody is to get them instead of us. */
int explain_watch_process(struct explain_job *job, pid_t pid)
{
	struct watch watch = { .job = job,
			       .every = true,
			       .attached = true,
			       .program = { .pid = -1, .go = -1, .failure = -1 } };
	struct perch_error err;
	int rc;

	rc = watch_inject_new(&watch, &err);
	watch_catch_signals();
	if (!rc)
		rc = watch_attach(&watch, pid, &err);
	if (!rc)
		watch_loop(&watch);
	else
		cli_error(EXPLAIN_COMMAND, &err);
	watch_free(&watch);
	return rc ? CLI_EXIT_FAILURE : 0;
}

/* Starts the program under watch; it runs when this returns 0. */
static int start(struct watch *watch, char **arguments, struct perch_error *err)
{
	int rc = watch_inject_new(watch, err);

	if (rc)
		return rc;
	watch_filter_calls(&watch->preparation->filter);
	watch->every = answered_before();
	if (watch->every)
		cli_note(
			EXPLAIN_COMMAND,
			"every system call of the program stops, which is slow: a seccomp filter that is in "
			"force here answers perf_event_open before that of perch sees it");
	rc = cli_program_start_prepared(&watch->program, arguments, watch->every ? NULL : prepare,
					watch->preparation, err);
	if (rc)
		return rc;
	if (ptrace(PTRACE_SEIZE, watch->program.pid, NULL,
		   (void *)(WATCH_OPTIONS | PTRACE_O_EXITKILL))) {
		rc = watch_refused(watch, 0, errno, err);
		cli_program_cancel(&watch->program);
		return rc;
	}
	watch_meet(watch, watch->program.pid, 0);
	watched = watch->program.pid;
	watch_catch_signals();
	cli_program_begin_release(&watch->program);
	return 0;
}

/* How the command ends when the program does not run any more. */
static int outcome(struct watch *watch)
{
	struct perch_error err;
	int rc;

	if (watch->program.failure < 0)
		return cli_program_status(watch->program_status);
	rc = cli_program_finish_release(&watch->program, &err); /* it never executed */
	if (!rc)
		return cli_program_status(watch->program_status);
	cli_error(EXPLAIN_COMMAND, &err);
	return cli_program_exit_status(-rc);
}

int explain_watch_program(struct explain_job *job, char **arguments)
{
	struct watch watch = { .job = job, .program = { .pid = -1, .go = -1, .failure = -1 } };
	struct perch_error err;
	int status = CLI_EXIT_FAILURE;

	watch.preparation = mmap(NULL, sizeof(*watch.preparation), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (watch.preparation == MAP_FAILED) {
		perch_error_set(&err, errno, PERCH_ERROR_NO_MEMORY, "no memory to watch with: %s",
				strerror(errno));
		return cli_error(EXPLAIN_COMMAND, &err);
	}
	if (start(&watch, arguments, &err)) {
		cli_error(EXPLAIN_COMMAND, &err);
	} else {
		watch_loop(&watch);
		status = outcome(&watch);
	}
	watch_free(&watch);
	munmap(watch.preparation, sizeof(*watch.preparation));
	return status;
}

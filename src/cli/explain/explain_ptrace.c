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

#include "explain_ptrace.h"
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
void catch_signals(void)
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
	struct tracer_child_setup *setup = context;
	struct sock_fprog program = { setup->filter.length, setup->filter.code };
	int error = put_under_filter(&program);

	if (error == EACCES && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) {
		setup->no_new_privs = true;
		error = put_under_filter(&program);
	}
	setup->error = error;
}

/* A filter that was there before us may answer the call, and then ours is not asked. */
static bool answered_before(void)
{
	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER)
		return false;
	return syscall(SYS_perf_event_open, NULL, 0, 0, -1, 0UL) >= 0 || errno != EFAULT;
}

static void first_exec(struct tracer *tracer)
{
	const struct tracer_child_setup *setup = tracer->setup;
	struct perch_error err;

	cli_program_finish_release(&tracer->program, &err); /* end of file: it has become itself */
	if (setup->error && !tracer->every) {
		tracer->every = true;
		cli_note(
			EXPLAIN_COMMAND,
			"every system call of the program stops, which is slow: the kernel takes no seccomp "
			"filter (%s)",
			strerror(setup->error));
	}
}

static void on_exec(struct tracer *tracer, pid_t tid)
{
	unsigned long before = tid;
	struct tracee *thread;

	ptrace(PTRACE_GETEVENTMSG, tid, NULL, &before);
	thread = tracer_replace_leader(tracer, before, tid);
	if (!thread)
		return;
	thread->running = false;
	explain_handle_exec(tracer->job, thread->group->pid);
	tracer_check_set_uid(tracer, tid);
	tracer_resume(tracer, thread, 0);
}

/* The new thread or process stops by itself, before or after this. */
static void on_fork(struct tracer *tracer, struct tracee *thread)
{
	unsigned long child;

	if (!ptrace(PTRACE_GETEVENTMSG, thread->tid, NULL, &child))
		tracer_add(tracer, child, thread->group->pid);
	tracer_resume(tracer, thread, 0);
}

static void on_call(struct tracer *tracer, struct tracee *thread)
{
	int end = tracee_at_syscall_exit(tracer, thread->tid);

	if (end > 0 || (end < 0 && thread->entered))
		tracer_handle_syscall_exit(tracer, thread);
	else
		tracer_handle_syscall_entry(tracer, thread);
}

static bool stops_process(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

static void on_stop(struct tracer *tracer, struct tracee *thread, int event, int signal)
{
	thread->running = false;
	if (event == PTRACE_EVENT_SECCOMP) {
		tracer_handle_syscall_entry(tracer, thread);
	} else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
		   event == PTRACE_EVENT_CLONE) {
		on_fork(tracer, thread);
	} else if (event == PTRACE_EVENT_STOP && stops_process(signal)) {
		/* it stays stopped until SIGCONT, and tells when that comes */
		thread->running = true;
		ptrace(PTRACE_LISTEN, thread->tid, NULL, NULL);
	} else if (event) {
		tracer_resume(tracer, thread, 0);
	} else if (signal == TRACEE_SYSCALL_STOP) {
		on_call(tracer, thread);
	} else {
		tracer_resume(tracer, thread, signal);
	}
}

static void on_end(struct tracer *tracer, pid_t tid, int status)
{
	struct tracee *thread = tracer_find(tracer, tid);

	if (tid == tracer->program.pid) {
		tracer->program_ended = true;
		tracer->program_status = status;
		watched = 0;
	}
	if (thread)
		tracer_remove(tracer, thread);
}

static void on_status(struct tracer *tracer, pid_t tid, int status)
{
	struct tracee *thread;

	if (!WIFSTOPPED(status)) {
		on_end(tracer, tid, status);
		return;
	}
	if (status >> 16 == PTRACE_EVENT_EXEC) {
		if (tid == tracer->program.pid && tracer->program.failure >= 0)
			first_exec(tracer);
		on_exec(tracer, tid);
		return;
	}
	thread = tracer_add(tracer, tid, 0);
	if (!thread) {
		ptrace(PTRACE_DETACH, tid, NULL, NULL); /* no memory for it */
		return;
	}
	on_stop(tracer, thread, status >> 16, WSTOPSIG(status));
	/* what came while calls were made in its place */
	thread = tracer_find(tracer, tid);
	if (thread && thread->has_status) {
		thread->has_status = false;
		on_status(tracer, tid, thread->status);
	}
}

/* What a program leaves behind is watched to its end: perf_event_open would fail (ENOSYS) under a
 * filter without us. */
static void say_late(struct tracer *tracer)
{
	late = 0;
	if (tracer->program_ended && tracer->nr_threads)
		cli_note(
			EXPLAIN_COMMAND,
			"the program has ended; waiting for the processes it left behind (Ctrl-C: leave them, "
			"but then perf_event_open will not work in them)");
}

void tracer_loop(struct tracer *tracer)
{
	int status;
	pid_t tid;

	while (!stopped) {
		if (late)
			say_late(tracer);
		tid = tracer_wait(tracer, &status);
		if (tid < 0 && errno == EINTR)
			continue;
		if (tid < 0)
			break; /* none is left */
		on_status(tracer, tid, status);
		if (tid == tracer->program.pid && tracer->program_ended)
			alarm(1);
	}
	alarm(0);
	if (tracer->nr_threads)
		tracer_detach(tracer);
}

/* -p: nobody is to get them instead of us. */
int explain_trace_process(struct explain_job *job, pid_t pid)
{
	struct tracer tracer = { .job = job,
				 .every = true,
				 .attached = true,
				 .program = { .pid = -1, .go = -1, .failure = -1 } };
	struct perch_error err;
	int rc;

	rc = tracer_init_injection(&tracer, &err);
	catch_signals();
	if (!rc)
		rc = tracer_attach(&tracer, pid, &err);
	if (!rc)
		tracer_loop(&tracer);
	else
		cli_error(EXPLAIN_COMMAND, &err);
	tracer_free(&tracer);
	return rc ? CLI_EXIT_FAILURE : 0;
}

/* Starts the program under watch; it runs when this returns 0. */
static int start(struct tracer *tracer, char **arguments, struct perch_error *err)
{
	int rc = tracer_init_injection(tracer, err);

	if (rc)
		return rc;
	tracer_filter_syscalls(&tracer->setup->filter);
	tracer->every = answered_before();
	if (tracer->every)
		cli_note(
			EXPLAIN_COMMAND,
			"every system call of the program stops, which is slow: a seccomp filter that is in "
			"force here answers perf_event_open before that of perch sees it");
	rc = cli_program_start_prepared(&tracer->program, arguments, tracer->every ? NULL : prepare,
					tracer->setup, err);
	if (rc)
		return rc;
	if (ptrace(PTRACE_SEIZE, tracer->program.pid, NULL,
		   (void *)(TRACER_OPTIONS | PTRACE_O_EXITKILL))) {
		rc = tracer_ptrace_error(tracer, 0, errno, err);
		cli_program_cancel(&tracer->program);
		return rc;
	}
	tracer_add(tracer, tracer->program.pid, 0);
	watched = tracer->program.pid;
	catch_signals();
	cli_program_begin_release(&tracer->program);
	return 0;
}

/* How the command ends when the program does not run any more. */
static int outcome(struct tracer *tracer)
{
	struct perch_error err;
	int rc;

	if (tracer->program.failure < 0)
		return cli_program_status(tracer->program_status);
	rc = cli_program_finish_release(&tracer->program, &err); /* it never executed */
	if (!rc)
		return cli_program_status(tracer->program_status);
	cli_error(EXPLAIN_COMMAND, &err);
	return cli_program_exit_status(-rc);
}

int explain_trace_program(struct explain_job *job, char **arguments)
{
	struct tracer tracer = { .job = job, .program = { .pid = -1, .go = -1, .failure = -1 } };
	struct perch_error err;
	int status = CLI_EXIT_FAILURE;

	tracer.setup = mmap(NULL, sizeof(*tracer.setup), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tracer.setup == MAP_FAILED) {
		perch_error_set(&err, errno, PERCH_ERROR_NO_MEMORY, "no memory to watch with: %s",
				strerror(errno));
		return cli_error(EXPLAIN_COMMAND, &err);
	}
	if (start(&tracer, arguments, &err)) {
		cli_error(EXPLAIN_COMMAND, &err);
	} else {
		tracer_loop(&tracer);
		status = outcome(&tracer);
	}
	tracer_free(&tracer);
	munmap(tracer.setup, sizeof(*tracer.setup));
	return status;
}

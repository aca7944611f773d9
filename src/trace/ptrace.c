/* SPDX-License-Identifier: MIT */
/*
 * Tracing a program. A seccomp filter stops only the relevant system calls; others run at full
 * speed. Where a filter cannot be used, every system call stops.
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
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "ptrace.h"

static volatile sig_atomic_t stopped;	    /* by a signal after the end of the program */
static volatile sig_atomic_t alarm_expired; /* print a note about remaining processes */
static volatile sig_atomic_t program_pid;   /* 0 when the program has ended */

/* The program gets signals of the terminal itself. Signals sent to this process are passed on. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (number == SIGALRM) {
		alarm_expired = 1;
	} else if (!program_pid) {
		stopped = number;
		alarm(1); /* interrupts a waitpid(2) that starts just after this */
	} else if (info->si_code <= 0 || number == SIGTERM) {
		kill(program_pid, number);
	}
}

/*
 * Also signals that are ignored: the program ignores them too, and decides. SIGPIPE is ignored,
 * because the end of this process would end the program.
 */
static void catch_signals(void)
{
	static const int numbers[] = {
		SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM
	};
	const struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };

	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < TRACE_NR(numbers); i++)
		sigaction(numbers[i], &action, NULL);
}

/* SPEC_ALLOW: before 5.16, the kernel enables slow mitigations for a process with a filter. */
static int install_filter(struct sock_fprog *program)
{
	if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, program))
		return 0;
	if (errno == EINVAL && !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program))
		return 0;
	return errno;
}

void trace_program_prepare(void *context)
{
	const struct tracer *tracer = context;
	struct tracer_child_setup *setup = tracer->setup;
	struct sock_fprog program = { setup->filter.length, setup->filter.code };
	int error;

	if (tracer->every_syscall)
		return;
	error = install_filter(&program);
	if (error == EACCES && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) {
		setup->no_new_privs = true;
		error = install_filter(&program);
	}
	setup->error = error;
}

/*
 * True if a filter of this process refuses perf_event_open: the filter of perch would not run. A
 * child tries it, because the filter may kill the caller.
 */
static bool is_refused_by_filter(void)
{
	const struct rlimit no_core = { 0, 0 };
	int status;
	pid_t pid;

	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != SECCOMP_MODE_FILTER)
		return false;
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGSYS, SIG_DFL);
		_exit(syscall(SYS_perf_event_open, NULL, 0, 0, -1, 0UL) >= 0 || errno != EFAULT);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	return pid < 0 || status;
}

static void handle_first_exec(struct tracer *tracer)
{
	const struct tracer_child_setup *setup = tracer->setup;

	tracer->program_executed = true;
	if (setup->error && !tracer->every_syscall) {
		tracer->every_syscall = true;
		trace_note(
			tracer->job,
			"every system call of the program stops, which is slow: a seccomp filter cannot be "
			"installed (%s)",
			strerror(setup->error));
	}
}

static bool is_stop_signal(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/*
 * There is no memory for a thread. It must not stay in its stop: the program would wait for it, and
 * this process for the program. Its system calls are not explained until it can be added, in a
 * later stop. It is not detached, because without a tracer the filter refuses perf_event_open.
 */
static void resume_unknown(struct tracer *tracer, pid_t tid, int status)
{
	const int event = status >> 16, signal = WSTOPSIG(status);
	const bool deliver = !event && signal != TRACEE_SYSCALL_STOP;

	if (!tracer->memory_noted)
		trace_note(tracer->job,
			   "no memory to trace thread %d: its system calls are not explained", tid);
	tracer->memory_noted = true;
	if (event == PTRACE_EVENT_STOP && is_stop_signal(signal))
		ptrace(PTRACE_LISTEN, tid, NULL, NULL);
	else
		ptrace(PTRACE_CONT, tid, NULL, (void *)(long)(deliver ? signal : 0));
}

static void handle_exec(struct tracer *tracer, pid_t tid, int status)
{
	unsigned long before = tid;
	struct tracee *thread;

	ptrace(PTRACE_GETEVENTMSG, tid, NULL, &before);
	thread = tracer_replace_leader(tracer, before, tid);
	if (!thread) {
		resume_unknown(tracer, tid, status);
		return;
	}
	thread->running = false;
	trace_handle_exec(tracer->job, thread->process->pid);
	tracer_check_set_uid(tracer, tid);
	tracer_resume(tracer, thread, 0);
}

/* The new thread or process has a stop of its own, before or after this one. */
static void handle_fork(struct tracer *tracer, struct tracee *thread)
{
	unsigned long child;

	if (!ptrace(PTRACE_GETEVENTMSG, thread->tid, NULL, &child))
		tracer_add(tracer, child, thread->process->pid);
	tracer_resume(tracer, thread, 0);
}

static void handle_syscall_stop(struct tracer *tracer, struct tracee *thread)
{
	int64_t result;
	int end = tracee_at_syscall_exit(tracer, thread->tid, &result);

	if (end > 0 || (end < 0 && thread->in_syscall))
		tracer_handle_syscall_exit(tracer, thread,
					   end > 0 || tracee_read_result(thread, &result) ? &result
											  : NULL);
	else
		tracer_handle_syscall_entry(tracer, thread, false);
}

static void handle_stop(struct tracer *tracer, struct tracee *thread, int event, int signal)
{
	thread->running = false;
	if (event == PTRACE_EVENT_SECCOMP) {
		tracer_handle_syscall_entry(tracer, thread, true);
	} else if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
		   event == PTRACE_EVENT_CLONE) {
		handle_fork(tracer, thread);
	} else if (event == PTRACE_EVENT_STOP && is_stop_signal(signal)) {
		/* group-stop: the thread stays stopped and reports SIGCONT */
		thread->running = true;
		ptrace(PTRACE_LISTEN, thread->tid, NULL, NULL);
	} else if (event) {
		tracer_resume(tracer, thread, 0);
	} else if (signal == TRACEE_SYSCALL_STOP) {
		handle_syscall_stop(tracer, thread);
	} else {
		if (thread->trapped && signal == SIGSYS)
			tracer_handle_killed_open(tracer, thread, false);
		tracer_resume(tracer, thread, signal);
	}
}

/*
 * True if a filter refused the open call that the thread was in when SIGSYS ended it. All threads
 * of a process end by SIGSYS, also one that was not in the call yet, or that no filter refuses.
 */
static bool was_killed_in_open(const struct tracee *thread, int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS &&
	       (thread->trapped ||
		(thread->in_syscall && thread->syscall.kind == TRACEE_SYSCALL_OPEN &&
		 !thread->waiting && !thread->allowed));
}

static void handle_end(struct tracer *tracer, pid_t tid, int status)
{
	struct tracee *thread = tracer_find(tracer, tid);

	if (thread && was_killed_in_open(thread, status))
		tracer_handle_killed_open(tracer, thread, true);
	if (tid == tracer->program) {
		tracer->program_ended = true;
		tracer->program_status = status;
		program_pid = 0;
	}
	if (thread)
		tracer_remove(tracer, thread);
}

static void handle_status(struct tracer *tracer, pid_t tid, int status)
{
	struct tracee *thread;

	if (!WIFSTOPPED(status)) {
		handle_end(tracer, tid, status);
		return;
	}
	if (status >> 16 == PTRACE_EVENT_EXEC) {
		if (tid == tracer->program && !tracer->program_executed)
			handle_first_exec(tracer);
		handle_exec(tracer, tid, status);
		return;
	}
	thread = tracer_add(tracer, tid, 0);
	if (!thread) {
		resume_unknown(tracer, tid, status);
		return;
	}
	handle_stop(tracer, thread, status >> 16, WSTOPSIG(status));
	/* a status that was received during injected system calls */
	thread = tracer_find(tracer, tid);
	if (thread && thread->has_status) {
		thread->has_status = false;
		handle_status(tracer, tid, thread->status);
	}
}

/* Processes that outlive the program are traced to their end: without a tracer, the filter would
 * make perf_event_open fail with ENOSYS. */
static void print_remaining(struct tracer *tracer)
{
	alarm_expired = 0;
	if (tracer->program_ended && tracer->nr_threads)
		trace_note(
			tracer->job,
			"the program has ended, waiting for its child processes; Ctrl-C detaches them, and "
			"perf_event_open then fails in them (ENOSYS)");
}

static void run_loop(struct tracer *tracer)
{
	int status;
	pid_t tid;

	while (!stopped) {
		if (alarm_expired)
			print_remaining(tracer);
		tid = tracer_wait(tracer, &status);
		if (tid < 0 && errno == EINTR)
			continue;
		if (tid < 0)
			break; /* no tracee is left */
		handle_status(tracer, tid, status);
		if (tid == tracer->program && tracer->program_ended)
			alarm(1);
	}
	alarm(0);
	if (tracer->nr_threads)
		tracer_detach(tracer);
}

int trace_process(struct trace_job *job, pid_t pid, struct perch_error *err)
{
	struct tracer tracer = { .job = job, .every_syscall = true, .program = -1 };
	int rc = tracer_init_injection(&tracer, err);

	catch_signals();
	if (!rc)
		rc = tracer_attach(&tracer, pid, err);
	if (!rc)
		run_loop(&tracer);
	tracer_free(&tracer);
	return rc;
}

static int set_up_program(struct tracer *tracer, struct perch_error *err)
{
	int rc;

	tracer->setup = mmap(NULL, sizeof(*tracer->setup), PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tracer->setup == MAP_FAILED) {
		tracer->setup = NULL;
		return perch_error_set(err, errno, PERCH_ERROR_NO_MEMORY,
				       "no memory to trace the program: %s", strerror(errno));
	}
	rc = tracer_init_injection(tracer, err);
	if (rc)
		return rc;
	tracer_filter_syscalls(&tracer->setup->filter);
	tracer->every_syscall = is_refused_by_filter();
	if (tracer->every_syscall)
		trace_note(
			tracer->job,
			"every system call of the program stops, which is slow: a seccomp filter of this "
			"process refuses perf_event_open before the filter of perch runs");
	return 0;
}

int trace_program_new(struct trace_job *job, struct tracer **out, struct perch_error *err)
{
	struct tracer *tracer = calloc(1, sizeof(*tracer));
	int rc;

	*out = NULL;
	if (!tracer)
		return PERCH__NO_MEMORY(err, "to trace the program");
	tracer->job = job;
	tracer->program = -1;
	rc = set_up_program(tracer, err);
	if (rc)
		trace_program_free(tracer);
	else
		*out = tracer;
	return rc;
}

int trace_program_seize(struct tracer *tracer, pid_t pid, struct perch_error *err)
{
	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)(TRACER_OPTIONS | PTRACE_O_EXITKILL)))
		return tracer_ptrace_error(tracer, 0, errno, err);
	if (!tracer_add(tracer, pid, 0))
		return PERCH__NO_MEMORY(err, "to trace the program");
	tracer->program = program_pid = pid;
	catch_signals();
	return 0;
}

int trace_program_run(struct tracer *tracer)
{
	run_loop(tracer);
	return tracer->program_status;
}

void trace_program_free(struct tracer *tracer)
{
	if (!tracer)
		return;
	tracer_free(tracer);
	if (tracer->setup)
		munmap(tracer->setup, sizeof(*tracer->setup));
	free(tracer);
}

/* SPDX-License-Identifier: MIT */
/*
 * Attaching to a running process (-p), detaching, and the reasons of ptrace errors. -p uses no
 * seccomp filter: it could not be removed, and without a tracer the system calls that it stops
 * would fail.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "ptrace.h"

/* Returns the number after a word in /proc/PID/status, or -1 if it cannot be read. */
static long status_field(pid_t pid, const char *word, const char *format)
{
	char path[32], line[256];
	long value = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return -1;
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, word, strlen(word)) &&
		    sscanf(line + strlen(word), format, &value) == 1)
			break;
	fclose(file);
	return value;
}

static bool has_capability(int capability)
{
	const long long held = status_field(getpid(), "CapEff:", "%lx");

	return held >= 0 && held >> capability & 1;
}

/* Reasons that are the same for any process. Returns false if none applies. */
static bool refused_by_policy(const struct perch_sandbox *sandbox, int error,
			      struct perch_error *err)
{
	if (sandbox->yama > 1 && !(sandbox->yama == 2 && has_capability(PERCH_CAP_SYS_PTRACE))) {
		perch_error_set(err, error, PERCH_ERROR_PRIVILEGE,
				"ptrace needs kernel.yama.ptrace_scope <= 1%s (currently %d)",
				sandbox->yama == 2 ? " or CAP_SYS_PTRACE" : "", sandbox->yama);
		perch_error_remedy(
			err,
			sandbox->yama == 2
				? "run perch as root, or run: sysctl kernel.yama.ptrace_scope=1"
				: "reboot with another value: 3 cannot be changed at run time");
		return true;
	}
	if (sandbox->seccomp == 2) {
		perch_error_set(err, error, PERCH_ERROR_PRIVILEGE,
				"ptrace is refused (%s), probably by the seccomp filter of %s%s%s",
				strerror(error), sandbox->container[0] ? "the " : "this process",
				sandbox->container, sandbox->container[0] ? " container" : "");
		perch_error_remedy(
			err, sandbox->container[0]
				     ? "start the container with --cap-add SYS_PTRACE or "
				       "--security-opt seccomp=unconfined"
				     : "run perch outside the sandbox that installed the filter");
		return true;
	}
	return false;
}

static bool refused_by_process(const struct perch_sandbox *sandbox, pid_t pid, int error,
			       struct perch_error *err)
{
	const long tracer = status_field(pid, "TracerPid:", "%ld");
	const long uid = status_field(pid, "Uid:", "%*d %ld");

	if (tracer > 0) {
		perch_error_set(err, error, PERCH_ERROR_PRIVILEGE,
				"process %d is already traced by process %ld", pid, tracer);
		perch_error_remedy(err,
				   "end that debugger or tracer first: a process has one tracer");
	} else if (pid == getpid()) {
		perch_error_set(err, error, PERCH_ERROR_USAGE, "process %d is perch itself", pid);
		perch_error_remedy(err, "give the pid of another process");
	} else if (uid >= 0 && uid != (long)geteuid() && !has_capability(PERCH_CAP_SYS_PTRACE)) {
		perch_error_set(
			err, error, PERCH_ERROR_PRIVILEGE,
			"process %d belongs to user %ld, and perch runs as user %u without CAP_SYS_PTRACE",
			pid, uid, (unsigned)geteuid());
		perch_error_remedy(err, "run perch as that user or as root");
	} else if (sandbox->yama == 1 && !has_capability(PERCH_CAP_SYS_PTRACE)) {
		perch_error_set(err, error, PERCH_ERROR_PRIVILEGE,
				"tracing a process that is not a child needs "
				"kernel.yama.ptrace_scope = 0 (currently 1)");
		perch_error_remedy(
			err,
			"start the program with perch explain -- PROGRAM, run perch as root, or run: "
			"sysctl kernel.yama.ptrace_scope=0");
	} else {
		return false;
	}
	return true;
}

int tracer_ptrace_error(struct tracer *tracer, pid_t tid, int error, struct perch_error *err)
{
	struct perch_sandbox sandbox = { .yama = -1 };

	if (error == ESRCH) {
		perch_error_set(err, error, PERCH_ERROR_NO_PROCESS, "no process %d", tid);
		perch_error_remedy(err, "check the pid with ps: the process may have ended");
		return -error;
	}
	/* if this fails, the reasons of the process can still be found */
	perch_machine_sandbox(tracer->job->machine, &sandbox, NULL);
	if (tid && refused_by_process(&sandbox, tid, error, err))
		return -error;
	if (refused_by_policy(&sandbox, error, err))
		return -error;
	perch_error_set(
		err, error, PERCH_ERROR_PRIVILEGE, "ptrace is refused (%s)%s", strerror(error),
		tid ? ": the process is not dumpable, or has more capabilities than perch" : "");
	perch_error_remedy(err,
			   tid ? "run perch as root" : "check the log of the security modules");
	return -error;
}

/*
 * A thread has one tracer. A program that traces others, such as a debugger, therefore fails while
 * it is traced itself.
 */
void tracer_check_ptrace(struct tracer *tracer, const struct tracee *thread, int64_t result)
{
	const uint64_t *argument = thread->syscall.argument;
	const bool is_own = argument[0] == PTRACE_TRACEME;
	const pid_t target = is_own ? thread->tid : (pid_t)argument[1];
	struct perch_process_state state;
	char name[sizeof(state.name) + 1] = "", clean[64];

	if (result != -EPERM || tracer->ptrace_noted ||
	    status_field(target, "TracerPid:", "%ld") != getpid())
		return;
	if (tracer->job->machine &&
	    !perch_machine_process(tracer->job->machine, thread->tid, &state, NULL))
		memcpy(name, state.name, sizeof(state.name));
	perch_clean_text(name, clean, sizeof(clean));
	tracer->ptrace_noted = true;
	trace_note(
		tracer->job,
		"%s of process %d (%s) fails with EPERM because perch explain traces process %d, and a "
		"process has one tracer: further ptrace requests fail with ESRCH; start the program "
		"without perch explain, and give its pid to -p when it traces its processes",
		is_own			      ? "ptrace(PTRACE_TRACEME)"
		: argument[0] == PTRACE_SEIZE ? "ptrace(PTRACE_SEIZE)"
					      : "ptrace(PTRACE_ATTACH)",
		thread->process->pid, clean, target);
}

/* exec ignores set-uid and file capabilities unless the tracer has CAP_SYS_PTRACE. */
void tracer_check_set_uid(struct tracer *tracer, pid_t tid)
{
	char path[32], target[256], clean[256];
	const bool no_new_privs = tracer->setup && tracer->setup->no_new_privs;
	struct statvfs mount;
	struct stat file;
	ssize_t length;
	bool by_mode, by_capability;

	if (tracer->set_uid_noted || (!no_new_privs && has_capability(PERCH_CAP_SYS_PTRACE)))
		return;
	snprintf(path, sizeof(path), "/proc/%d/exe", tid);
	if (stat(path, &file) || statvfs(path, &mount) || mount.f_flag & ST_NOSUID)
		return;
	by_mode = (file.st_mode & S_ISUID && file.st_uid != geteuid()) ||
		  ((file.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
		   file.st_gid != getegid());
	by_capability = getxattr(path, "security.capability", NULL, 0) > 0;
	if (!by_mode && !by_capability)
		return;
	length = readlink(path, target, sizeof(target) - 1);
	target[length < 0 ? 0 : length] = 0;
	perch_clean_text(target, clean, sizeof(clean));
	tracer->set_uid_noted = true;
	trace_note(tracer->job,
		   "'%s' runs without the privileges of its %s while it is traced: run perch as "
		   "root",
		   clean, by_mode ? "set-uid or set-gid bit" : "file capabilities");
}

/* Seizes the threads that are not traced yet. Returns their number, or a negative errno if none of
 * the process can be traced. */
static int seize_threads(struct tracer *tracer, pid_t pid)
{
	char path[32];
	struct dirent *entry;
	int seized = 0, error = 0;
	pid_t tid;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	directory = opendir(path);
	if (!directory)
		return errno == ENOENT ? -ESRCH : -errno;
	while ((entry = readdir(directory))) {
		tid = atoi(entry->d_name);
		if (tid <= 0 || tracer_find(tracer, tid))
			continue;
		if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)TRACER_OPTIONS)) {
			error = errno; /* ESRCH if the thread has ended */
			continue;
		}
		if (tracer_add(tracer, tid, 0))
			seized++;
		ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	}
	closedir(directory);
	return tracer->nr_threads ? seized : -(error ? error : ESRCH);
}

int tracer_attach(struct tracer *tracer, pid_t pid, struct perch_error *err)
{
	int rc;

	/* a thread that was not seized yet may have created others: repeat until there are no more
	 */
	do
		rc = seize_threads(tracer, pid);
	while (rc > 0);
	if (rc < 0)
		return tracer_ptrace_error(tracer, pid, -rc, err);
	trace_note(
		tracer->job,
		"tracing process %d: every system call stops, which is slow; events opened before are "
		"unknown; Ctrl-C ends the trace",
		pid);
	return 0;
}

static void interrupt_all(struct tracer *tracer)
{
	for (size_t i = 0; i < tracer->nr_threads; i++)
		if (tracer->threads[i]->running)
			ptrace(PTRACE_INTERRUPT, tracer->threads[i]->tid, NULL, NULL);
}

/* Threads in a stop can be detached at once. tracer_remove() moves the last thread, so the loop
 * runs backward.
 */
static void detach_stopped(struct tracer *tracer)
{
	for (size_t i = tracer->nr_threads; i-- > 0;) {
		struct tracee *thread = tracer->threads[i];

		if (thread->running)
			continue;
		thread->waiting = false;
		ptrace(PTRACE_DETACH, thread->tid, NULL, NULL);
		tracer_remove(tracer, thread);
	}
}

/* A thread can be detached only in a stop. A signal that stopped it is delivered. */
void tracer_detach(struct tracer *tracer)
{
	struct tracee *thread;
	int status, signal;
	pid_t tid;

	interrupt_all(tracer);
	detach_stopped(tracer);
	while (tracer->nr_threads) {
		tid = tracer_wait(tracer, &status);
		if (tid < 0 && errno == EINTR)
			continue;
		if (tid < 0)
			return;
		if (WIFSTOPPED(status)) {
			signal = status >> 16 || WSTOPSIG(status) == TRACEE_SYSCALL_STOP
					 ? 0
					 : WSTOPSIG(status);
			ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)signal);
		}
		thread = tracer_find(tracer, tid);
		if (thread)
			tracer_remove(tracer, thread);
	}
}

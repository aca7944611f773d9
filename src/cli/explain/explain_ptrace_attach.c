/* SPDX-License-Identifier: MIT */
/*
 * A running process: its threads are seized one by one. A seccomp filter cannot be taken away
 * again, and without us the calls that it stops would fail: so each call of the process stops, and
 * afterwards it is as it was.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "explain_ptrace.h"
#include "options.h"

/* Those that are not watched yet. Returns how many were seized, or a negative errno when the whole
 * process is refused. */
static int seize_threads(struct tracer *tracer, pid_t pid)
{
	char path[32];
	struct dirent *entry;
	int seized = 0, error = 0;
	pid_t tid;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	folder = opendir(path);
	if (!folder)
		return errno == ENOENT ? -ESRCH : -errno;
	while ((entry = readdir(folder))) {
		tid = atoi(entry->d_name);
		if (tid <= 0 || tracer_find(tracer, tid))
			continue;
		if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)TRACER_OPTIONS)) {
			error = errno; /* ESRCH: that thread has ended meanwhile */
			continue;
		}
		if (tracer_add(tracer, tid, 0))
			seized++;
		ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	}
	closedir(folder);
	return tracer->nr_threads ? seized : -(error ? error : ESRCH);
}

int tracer_attach(struct tracer *tracer, pid_t pid, struct perch_error *err)
{
	int rc;

	/* a thread that was not watched yet may have made others: until none is new */
	do
		rc = seize_threads(tracer, pid);
	while (rc > 0);
	if (rc < 0)
		return tracer_ptrace_error(tracer, pid, -rc, err);
	cli_note(
		EXPLAIN_COMMAND,
		"process %d is watched from now on, which is slow, for each of its system calls stops; events "
		"that it has open already are not known; Ctrl-C ends this",
		pid);
	return 0;
}

static void interrupt_all(struct tracer *tracer)
{
	for (size_t i = 0; i < TRACER_BUCKETS; i++)
		for (struct tracee *thread = tracer->thread[i]; thread; thread = thread->next)
			if (thread->running)
				ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
}

/* Threads that wait for us need no new stop. */
static void detach_waiting(struct tracer *tracer)
{
	for (size_t i = 0; i < TRACER_BUCKETS; i++) {
		struct tracee *thread = tracer->thread[i], *next;

		for (; thread; thread = next) {
			next = thread->next;
			if (thread->running)
				continue;
			thread->waiting = false;
			ptrace(PTRACE_DETACH, thread->tid, NULL, NULL);
			tracer_remove(tracer, thread);
		}
	}
}

/* Only a stopped thread can be left; a signal that stopped it is given to it. */
void tracer_detach(struct tracer *tracer)
{
	struct tracee *thread;
	int status, signal;
	pid_t tid;

	interrupt_all(tracer);
	detach_waiting(tracer);
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

/* SPDX-License-Identifier: MIT */
/* Starts threads of the libraries. */
#ifndef PERCH_BASE_THREAD_H
#define PERCH_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/*
 * Starts a thread with all signals blocked: those of the program are for its own threads. But what
 * the kernel sends because of what a thread does, it gets, unless the program blocks it: SIGBUS, of
 * a mapped file that became shorter, and if it writes, the signals of a failed write.
 */
static inline bool perch__start_thread(pthread_t *thread, void *(*run)(void *), void *context,
				       bool writes)
{
	static const int own[] = { SIGBUS, SIGPIPE, SIGXFSZ };
	size_t nr = writes ? sizeof(own) / sizeof(*own) : 1;
	sigset_t blocked, saved;
	int error;

	if (pthread_sigmask(SIG_SETMASK, NULL, &saved))
		return false;
	sigfillset(&blocked);
	for (size_t i = 0; i < nr; i++)
		if (!sigismember(&saved, own[i]))
			sigdelset(&blocked, own[i]);
	if (pthread_sigmask(SIG_SETMASK, &blocked, NULL))
		return false;
	error = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	return !error;
}

#endif

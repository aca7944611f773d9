/* SPDX-License-Identifier: MIT */
/* Starts threads of the libraries. */
#ifndef PERCH_BASE_THREAD_H
#define PERCH_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/*
 * Starts a thread with all signals blocked: those of the program are for its own threads. A thread
 * that writes gets the signals that the kernel sends to the writer, unless the program blocks them.
 */
static inline bool perch__start_thread(pthread_t *thread, void *(*run)(void *), void *context,
				       bool writes)
{
	static const int of_writes[] = { SIGPIPE, SIGXFSZ };
	sigset_t blocked, saved;
	int error;

	if (pthread_sigmask(SIG_SETMASK, NULL, &saved))
		return false;
	sigfillset(&blocked);
	for (size_t i = 0; writes && i < sizeof(of_writes) / sizeof(*of_writes); i++)
		if (!sigismember(&saved, of_writes[i]))
			sigdelset(&blocked, of_writes[i]);
	if (pthread_sigmask(SIG_SETMASK, &blocked, NULL))
		return false;
	error = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	return !error;
}

#endif

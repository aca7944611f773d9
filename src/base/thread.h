/* SPDX-License-Identifier: MIT */
/* Starts threads of the libraries. */
#ifndef PERCH_BASE_THREAD_H
#define PERCH_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

/* Starts a thread with all signals blocked: those of the program are for its own threads. */
static inline bool perch__start_thread(pthread_t *thread, void *(*run)(void *), void *context)
{
	sigset_t all, saved;
	int error;

	sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &saved))
		return false;
	error = pthread_create(thread, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	return !error;
}

#endif

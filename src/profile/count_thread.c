/* SPDX-License-Identifier: MIT */
/*
 * Batches that wait for the thread are in a ring. The thread and the program wake each other only
 * when half of the ring is full or empty: a system call for each batch would take as long as the
 * counting of some samples.
 */
#include <stdlib.h>

#include "base/fork.h"
#include "base/thread.h"
#include "internal.h"

enum { RING = 4, HALF = RING / 2 };

struct count_thread {
	struct perch_profile *profile;
	uint32_t process; /* that has the thread: its generation */
	pthread_t thread;
	pthread_mutex_t mutex; /* of the members below */
	pthread_cond_t passed, counted;
	struct batch *batch[RING];
	size_t first, nr; /* the batches that are passed and not counted, in batch[] */
	bool flush;	  /* the program waits for all batches */
	bool stop;
	int rc; /* of counting batch[first]; -ENOMEM: the thread waits until it is 0 again */
};

static bool has_work(const struct count_thread *thread)
{
	return !thread->rc && (thread->nr >= HALF || (thread->flush && thread->nr));
}

static void *run(void *context)
{
	struct count_thread *thread = context;

	pthread_mutex_lock(&thread->mutex);
	while (!thread->stop) {
		int rc;

		if (!has_work(thread)) {
			pthread_cond_wait(&thread->passed, &thread->mutex);
			continue;
		}
		pthread_mutex_unlock(&thread->mutex);
		rc = perch__batch_count(thread->profile, thread->batch[thread->first]);
		pthread_mutex_lock(&thread->mutex);
		thread->rc = rc;
		if (!rc) {
			thread->first = (thread->first + 1) % RING;
			thread->nr--;
		}
		if (rc || thread->nr <= HALF)
			pthread_cond_signal(&thread->counted);
	}
	pthread_mutex_unlock(&thread->mutex);
	return NULL;
}

static void free_batches(struct count_thread *thread)
{
	for (size_t i = 0; i < RING; i++)
		free(thread->batch[i]);
	free(thread);
}

struct count_thread *perch__count_thread_new(struct perch_profile *profile)
{
	struct count_thread *thread = calloc(1, sizeof(*thread));
	bool failed = false;

	if (!thread)
		return NULL;
	thread->profile = profile;
	thread->process = perch__fork_generation();
	pthread_mutex_init(&thread->mutex, NULL);
	pthread_cond_init(&thread->passed, NULL);
	pthread_cond_init(&thread->counted, NULL);
	for (size_t i = 0; i < RING; i++) {
		thread->batch[i] = calloc(1, sizeof(*thread->batch[i]));
		failed |= !thread->batch[i];
	}
	if (!failed && perch__start_thread(&thread->thread, run, thread))
		return thread;
	free_batches(thread);
	return NULL;
}

bool perch__count_thread_is_forked(const struct count_thread *thread)
{
	return thread && perch__is_forked(thread->process);
}

void perch__count_thread_free(struct count_thread *thread)
{
	if (thread && !perch__is_forked(thread->process)) {
		pthread_mutex_lock(&thread->mutex);
		thread->stop = true;
		pthread_cond_signal(&thread->passed);
		pthread_mutex_unlock(&thread->mutex);
		pthread_join(thread->thread, NULL);
		pthread_mutex_destroy(&thread->mutex);
		pthread_cond_destroy(&thread->passed);
		pthread_cond_destroy(&thread->counted);
	}
	if (thread)
		free_batches(thread);
}

/* Returns the error of the thread, which tries again. The mutex is locked. */
static int take_error(struct count_thread *thread)
{
	int rc = thread->rc;

	thread->rc = 0;
	return rc;
}

int perch__count_thread_pass(struct count_thread *thread, struct batch **batch)
{
	struct batch *empty;
	size_t at;
	int rc;

	pthread_mutex_lock(&thread->mutex);
	while (thread->nr == RING && !thread->rc)
		pthread_cond_wait(&thread->counted, &thread->mutex);
	rc = take_error(thread);
	if (!rc) {
		at = (thread->first + thread->nr++) % RING;
		empty = thread->batch[at];
		thread->batch[at] = *batch;
		*batch = empty;
	}
	if (rc || thread->nr >= HALF)
		pthread_cond_signal(&thread->passed);
	pthread_mutex_unlock(&thread->mutex);
	return rc;
}

int perch__count_thread_wait(struct count_thread *thread)
{
	int rc;

	pthread_mutex_lock(&thread->mutex);
	thread->flush = true;
	thread->rc = 0; /* of an earlier batch: there may be memory now */
	pthread_cond_signal(&thread->passed);
	while (thread->nr && !thread->rc)
		pthread_cond_wait(&thread->counted, &thread->mutex);
	rc = take_error(thread);
	thread->flush = false;
	pthread_mutex_unlock(&thread->mutex);
	return rc;
}

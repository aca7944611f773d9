/* SPDX-License-Identifier: MIT */
/*
 * Batches that wait for the thread are in a ring. The thread starts to work when half of the
 * ring is full, and the program goes on when half of it is empty: a system call for each batch
 * would take as long as the work for some samples.
 */
#define _GNU_SOURCE /* sched_getaffinity */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/batch_thread.h"
#include "base/fork.h"
#include "base/thread.h"

struct perch__batch_thread {
	struct perch__batch_job job;
	uint32_t process; /* that has the thread: its generation */
	pthread_t thread;
	pthread_mutex_t mutex; /* of the members below */
	pthread_cond_t passed, done;
	size_t first, nr; /* the batches that are passed and not done, in batch[] */
	bool flush;	  /* the program waits for all batches */
	bool stop;
	int rc;	       /* of batch[first]; an error: the thread waits until it is 0 again */
	void *batch[]; /* job.nr_batches */
};

/* working: it has had work, and goes on until there is none. */
static bool has_work(const struct perch__batch_thread *thread, bool working)
{
	return !thread->rc && thread->nr &&
	       (working || thread->flush || thread->nr >= thread->job.nr_batches / 2);
}

/* Returns true if there may be something to do. The mutex is locked. */
static bool use_idle_time(struct perch__batch_thread *thread)
{
	bool worked;

	if (!thread->job.idle)
		return false;
	pthread_mutex_unlock(&thread->mutex);
	worked = thread->job.idle(thread->job.context);
	pthread_mutex_lock(&thread->mutex);
	return worked || thread->stop || has_work(thread, false);
}

static void *run_thread(void *context)
{
	struct perch__batch_thread *thread = context;
	bool working = false;

	pthread_mutex_lock(&thread->mutex);
	while (!thread->stop) {
		int rc;

		working = has_work(thread, working);
		if (!working) {
			if (!use_idle_time(thread))
				pthread_cond_wait(&thread->passed, &thread->mutex);
			continue;
		}
		pthread_mutex_unlock(&thread->mutex);
		rc = thread->job.run(thread->job.context, thread->batch[thread->first]);
		pthread_mutex_lock(&thread->mutex);
		thread->rc = rc;
		if (!rc) {
			thread->first = (thread->first + 1) % thread->job.nr_batches;
			thread->nr--;
		}
		if (rc || thread->nr <= thread->job.nr_batches / 2)
			pthread_cond_signal(&thread->done);
	}
	pthread_mutex_unlock(&thread->mutex);
	return NULL;
}

static void free_batches(struct perch__batch_thread *thread)
{
	for (size_t i = 0; i < thread->job.nr_batches; i++)
		(thread->job.free ? thread->job.free : free)(thread->batch[i]);
	free(thread);
}

struct perch__batch_thread *perch__batch_thread_new(const struct perch__batch_job *job)
{
	struct perch__batch_thread *thread =
		calloc(1, sizeof(*thread) + job->nr_batches * sizeof(*thread->batch));
	bool failed = false;

	if (!thread)
		return NULL;
	thread->job = *job;
	thread->process = perch__fork_generation();
	pthread_mutex_init(&thread->mutex, NULL);
	pthread_cond_init(&thread->passed, NULL);
	pthread_cond_init(&thread->done, NULL);
	for (size_t i = 0; i < thread->job.nr_batches; i++) {
		thread->batch[i] = calloc(1, job->batch_size);
		failed |= !thread->batch[i];
	}
	if (!failed && perch__start_thread(&thread->thread, run_thread, thread, job->writes))
		return thread;
	free_batches(thread);
	return NULL;
}

bool perch__batch_thread_is_forked(const struct perch__batch_thread *thread)
{
	return thread && perch__is_forked(thread->process);
}

void perch__batch_thread_free(struct perch__batch_thread *thread)
{
	if (thread && !perch__is_forked(thread->process)) {
		pthread_mutex_lock(&thread->mutex);
		thread->stop = true;
		pthread_cond_signal(&thread->passed);
		pthread_mutex_unlock(&thread->mutex);
		pthread_join(thread->thread, NULL);
		pthread_mutex_destroy(&thread->mutex);
		pthread_cond_destroy(&thread->passed);
		pthread_cond_destroy(&thread->done);
	}
	if (thread)
		free_batches(thread);
}

/* Returns the error of the thread, which tries again. The mutex is locked. */
static int take_error(struct perch__batch_thread *thread)
{
	int rc = thread->rc;

	thread->rc = 0;
	return rc;
}

int perch__batch_thread_pass(struct perch__batch_thread *thread, void **batch)
{
	void *empty;
	size_t at;
	int rc;

	pthread_mutex_lock(&thread->mutex);
	while (thread->nr == thread->job.nr_batches && !thread->rc)
		pthread_cond_wait(&thread->done, &thread->mutex);
	rc = take_error(thread);
	if (!rc) {
		at = (thread->first + thread->nr++) % thread->job.nr_batches;
		empty = thread->batch[at];
		thread->batch[at] = *batch;
		*batch = empty;
	}
	if (rc || thread->nr >= thread->job.nr_batches / 2)
		pthread_cond_signal(&thread->passed);
	pthread_mutex_unlock(&thread->mutex);
	return rc;
}

int perch__batch_thread_wait(struct perch__batch_thread *thread)
{
	int rc;

	pthread_mutex_lock(&thread->mutex);
	thread->flush = true;
	thread->rc = 0; /* of an earlier batch: there may be memory now */
	pthread_cond_signal(&thread->passed);
	while (thread->nr && !thread->rc)
		pthread_cond_wait(&thread->done, &thread->mutex);
	rc = take_error(thread);
	thread->flush = false;
	pthread_mutex_unlock(&thread->mutex);
	return rc;
}

unsigned perch__usable_cpus(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	/* it fails on machines with more CPUs than the set has */
	return sched_getaffinity(0, sizeof(cpus), &cpus) ? CPU_SETSIZE : (unsigned)CPU_COUNT(&cpus);
}

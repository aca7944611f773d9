/* SPDX-License-Identifier: MIT */
/*
 * A queue of parts of files, and a thread that decompresses them in their order. A caller that
 * waits for a part decompresses others in the meantime: it needs them soon.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/fork.h"
#include "base/thread.h"
#include "decompress_thread.h"

enum { LEAST_BYTES = 1 << 19 }; /* of a part for which the thread starts: takes about 1 ms */

enum state { WAITING, RUNNING, DONE };

struct decompress_job {
	struct decompress_thread *thread;
	struct decompress_job *next; /* that waits */
	struct compressed_part part;
	enum state state;
	int rc;
};

struct decompress_thread {
	uint32_t process; /* that has the thread: its generation */
	bool started, stop;
	pthread_t thread;
	pthread_mutex_t mutex; /* of what follows, and of the states of jobs */
	pthread_cond_t added, done;
	struct decompress_job *first, *last; /* that wait */
};

/* Takes the first job that waits, or returns NULL. The mutex is locked. */
static struct decompress_job *take_first(struct decompress_thread *thread)
{
	struct decompress_job *job = thread->first;

	if (job) {
		thread->first = job->next;
		job->state = RUNNING;
	}
	return job;
}

/* Takes a job that waits. The mutex is locked. */
static void take_job(struct decompress_thread *thread, struct decompress_job *job)
{
	struct decompress_job **at = &thread->first, *before = NULL;

	while (*at != job) {
		before = *at;
		at = &before->next;
	}
	*at = job->next;
	if (thread->last == job)
		thread->last = before;
	job->state = RUNNING;
}

/* Does a job that was taken. The mutex is locked, but not meanwhile. */
static void work(struct decompress_thread *thread, struct decompress_job *job)
{
	int rc;

	pthread_mutex_unlock(&thread->mutex);
	rc = perch__decompress_part(&job->part);
	pthread_mutex_lock(&thread->mutex);
	job->rc = rc;
	job->state = DONE;
	pthread_cond_signal(&thread->done);
}

static void *decompress_all(void *context)
{
	struct decompress_thread *thread = context;

	pthread_mutex_lock(&thread->mutex);
	while (!thread->stop) {
		struct decompress_job *job = take_first(thread);

		if (job)
			work(thread, job);
		else
			pthread_cond_wait(&thread->added, &thread->mutex);
	}
	pthread_mutex_unlock(&thread->mutex);
	return NULL;
}

struct decompress_thread *perch__decompress_thread_new(void)
{
	struct decompress_thread *thread = perch__calloc(1, sizeof(*thread));

	if (!thread)
		return NULL;
	thread->process = perch__fork_generation();
	pthread_mutex_init(&thread->mutex, NULL);
	pthread_cond_init(&thread->added, NULL);
	pthread_cond_init(&thread->done, NULL);
	return thread;
}

void perch__decompress_thread_free(struct decompress_thread *thread)
{
	if (thread && !perch__is_forked(thread->process)) {
		pthread_mutex_lock(&thread->mutex);
		thread->stop = true;
		pthread_cond_signal(&thread->added);
		pthread_mutex_unlock(&thread->mutex);
		if (thread->started)
			pthread_join(thread->thread, NULL);
		pthread_mutex_destroy(&thread->mutex);
		pthread_cond_destroy(&thread->added);
		pthread_cond_destroy(&thread->done);
	}
	free(thread);
}

struct decompress_job *perch__decompress_start(struct decompress_thread *thread,
					       const struct compressed_part *part)
{
	struct decompress_job *job;

	if (perch__is_forked(thread->process))
		return NULL;
	if (!thread->started)
		thread->started =
			part->to_size >= LEAST_BYTES &&
			perch__start_thread(&thread->thread, decompress_all, thread, false);
	job = thread->started ? perch__calloc(1, sizeof(*job)) : NULL;
	if (!job)
		return NULL;
	job->thread = thread;
	job->part = *part;
	pthread_mutex_lock(&thread->mutex);
	if (thread->first)
		thread->last->next = job;
	else
		thread->first = job;
	thread->last = job;
	pthread_cond_signal(&thread->added);
	pthread_mutex_unlock(&thread->mutex);
	return job;
}

int perch__decompress_finish(struct decompress_job *job)
{
	struct decompress_thread *thread = job->thread;
	struct decompress_job *other;
	int rc;

	if (perch__is_forked(thread->process)) { /* what the parent's thread did is not certain */
		rc = perch__decompress_part(&job->part);
		free(job);
		return rc;
	}
	pthread_mutex_lock(&thread->mutex);
	if (job->state == WAITING) {
		take_job(thread, job);
		work(thread, job);
	}
	while (job->state != DONE) {
		other = take_first(thread);
		if (other)
			work(thread, other);
		else
			pthread_cond_wait(&thread->done, &thread->mutex);
	}
	rc = job->rc;
	pthread_mutex_unlock(&thread->mutex);
	free(job);
	return rc;
}

void perch__decompress_drop(struct decompress_job *job)
{
	struct decompress_thread *thread = job->thread;

	if (!perch__is_forked(thread->process)) {
		pthread_mutex_lock(&thread->mutex);
		if (job->state == WAITING)
			take_job(thread, job);
		else
			while (job->state != DONE)
				pthread_cond_wait(&thread->done, &thread->mutex);
		pthread_mutex_unlock(&thread->mutex);
	}
	free(job);
}

/* SPDX-License-Identifier: MIT */
/*
 * Writes a file to its disk while it grows. A thread calls fdatasync(2), because that can take
 * seconds, in which nothing would read the rings. It has descriptors of its own.
 */
#define _GNU_SOURCE /* O_PATH */
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/no_memory.h"
#include "internal.h"

#define SYNC_MS 500 /* with the time between rounds, a second has space for the writing itself */

struct recorder_durable {
	int directory;
	int file; /* of the functions that are called; -1 if no file is open */
	pthread_t thread;
	bool runs;
	pthread_mutex_t mutex; /* of the members below */
	pthread_cond_t changed;
	int next; /* the file of the thread from now on; -1 if it does not change */
	bool stop;
	int error; /* errno of the first failed fdatasync(2) of this file */
};

/* Waits for a change or for the time of the next fdatasync(2). The mutex is locked. */
static void wait_for_time(struct recorder_durable *durable)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += SYNC_MS * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&durable->changed, &durable->mutex, &until);
}

static void *run_thread(void *context)
{
	struct recorder_durable *durable = context;
	int file = -1;

	pthread_mutex_lock(&durable->mutex);
	while (!durable->stop) {
		bool changes = durable->next >= 0;
		int error;

		if (changes && file >= 0)
			close(file);
		if (changes)
			file = durable->next;
		durable->next = -1;
		pthread_mutex_unlock(&durable->mutex);
		error = fdatasync(file) ? errno : 0;
		if (changes && !error) /* its name */
			error = fsync(durable->directory) ? errno : 0;
		pthread_mutex_lock(&durable->mutex);
		if (!durable->error && durable->next < 0)
			durable->error = error;
		if (!durable->stop && durable->next < 0)
			wait_for_time(durable);
	}
	pthread_mutex_unlock(&durable->mutex);
	close(file);
	return NULL;
}

static int failed(const char *path, int errnum, struct perch_error *err)
{
	return perch_error_set(err, errnum, PERCH_ERROR_FILE,
			       "'%s' is not known to be on its disk: %s", path, strerror(errnum));
}

static struct recorder_durable *make(const char *path)
{
	struct recorder_durable *durable = calloc(1, sizeof(*durable));
	pthread_condattr_t attributes;
	char *copy = strdup(path);

	if (!durable || !copy) {
		free(durable);
		free(copy);
		return NULL;
	}
	durable->next = durable->file = -1;
	durable->directory = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	free(copy);
	pthread_mutex_init(&durable->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&durable->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	return durable;
}

int perch__recorder_durable_begin(struct recorder_durable **result, const char *path,
				  struct perch_error *err)
{
	struct recorder_durable *durable = *result ? *result : make(path);
	int next;

	if (!durable)
		return PERCH__NO_MEMORY(err, "to record with");
	*result = durable;
	if (durable->file >= 0) /* of a snapshot that could not be written */
		close(durable->file);
	durable->file = durable->directory < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	/* not a duplicate: the kernel reports a failed write once to each open(2) */
	next = durable->file < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (next < 0)
		return failed(path, errno, err);
	pthread_mutex_lock(&durable->mutex);
	if (durable->next >= 0)
		close(durable->next);
	durable->next = next;
	durable->error = 0;
	pthread_cond_signal(&durable->changed);
	pthread_mutex_unlock(&durable->mutex);
	if (durable->runs)
		return 0;
	durable->runs = perch__start_thread(&durable->thread, run_thread, durable, false);
	return durable->runs ? 0
			     : perch_error_set(err, EAGAIN, PERCH_ERROR_SYSTEM,
					       "cannot start the thread that writes '%s' to its "
					       "disk",
					       path);
}

int perch__recorder_durable_end(struct recorder_durable *durable, const char *path,
				struct perch_error *err)
{
	int error;

	if (!durable || durable->file < 0)
		return 0;
	error = fsync(durable->file) ? errno : 0;
	close(durable->file);
	durable->file = -1;
	pthread_mutex_lock(&durable->mutex);
	error = durable->error ? durable->error : error;
	pthread_mutex_unlock(&durable->mutex);
	return error ? failed(path, error, err) : 0;
}

int perch__recorder_durable_name(struct recorder_durable *durable, const char *path,
				 struct perch_error *err)
{
	return durable && fsync(durable->directory) ? failed(path, errno, err) : 0;
}

void perch__recorder_durable_free(struct recorder_durable *durable)
{
	if (!durable)
		return;
	if (durable->runs) {
		pthread_mutex_lock(&durable->mutex);
		durable->stop = true;
		pthread_cond_signal(&durable->changed);
		pthread_mutex_unlock(&durable->mutex);
		pthread_join(durable->thread, NULL);
	}
	if (durable->next >= 0)
		close(durable->next);
	if (durable->file >= 0)
		close(durable->file);
	if (durable->directory >= 0)
		close(durable->directory);
	pthread_mutex_destroy(&durable->mutex);
	pthread_cond_destroy(&durable->changed);
	free(durable);
}

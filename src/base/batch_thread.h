/* SPDX-License-Identifier: MIT */
/* A thread that works on batches, in their order, while the program fills the next ones. */
#ifndef PERCH_BASE_BATCH_THREAD_H
#define PERCH_BASE_BATCH_THREAD_H

#include <stdbool.h>
#include <stddef.h>

struct perch__batch_job {
	/* Works on a batch in the thread, and empties it. After an error it is called again for
	 * the same batch. */
	int (*run)(void *context, void *batch);
	/* Works for something else in the thread, while there are no batches. Returns false if
	 * there is nothing to do; then it is called again after the next batch. NULL: none. */
	bool (*idle)(void *context);
	void *context;
	size_t batch_size;
	size_t nr_batches;	   /* that are filled or wait at most */
	void (*free)(void *batch); /* NULL: free() */
	bool writes;		   /* the signals of a failed write are not blocked in the thread */
};

struct perch__batch_thread;
/* Returns NULL if there cannot be a thread. Its batches are zeroed. */
struct perch__batch_thread *perch__batch_thread_new(const struct perch__batch_job *job);
/* True in a child of fork(2): the thread is in the parent, and may have changed what it has for
 * itself while it was copied. */
bool perch__batch_thread_is_forked(const struct perch__batch_thread *thread);
/* Ends the thread. Batches that are not done are lost. */
void perch__batch_thread_free(struct perch__batch_thread *thread);
/*
 * Passes a full batch to the thread, and replaces it by an empty one. Batches are memory of
 * malloc(3). May wait until one is done. After an error of run() the batch is not passed.
 */
int perch__batch_thread_pass(struct perch__batch_thread *thread, void **batch);
/* Waits until all batches are done. Returns 0, or an error of run(): the rest is kept. */
int perch__batch_thread_wait(struct perch__batch_thread *thread);

/* How many threads of this process can run at the same time. */
unsigned perch__usable_cpus(void);

#endif

/* SPDX-License-Identifier: MIT */
/* Decompresses parts of files in a second thread. */
#ifndef PERCH_SYMBOL_DECOMPRESS_THREAD_H
#define PERCH_SYMBOL_DECOMPRESS_THREAD_H

#include "base/files/decompress.h"

struct decompress_thread;
/* Returns NULL if out of memory. The thread starts with the first large part. */
struct decompress_thread *perch__decompress_thread_new(void);
/* All parts are finished or dropped. */
void perch__decompress_thread_free(struct decompress_thread *thread);

struct decompress_job;
/*
 * Adds a part: as perch__decompress_part(), whose arguments must stay valid. Returns NULL if the
 * thread does not decompress it.
 */
struct decompress_job *perch__decompress_start(struct decompress_thread *thread,
					       const struct compressed_part *part);
/*
 * Waits until a part is decompressed; does it here if the thread has not begun. Frees the job.
 * Returns what perch__decompress_part() does.
 */
int perch__decompress_finish(struct decompress_job *job);
/* The same for a part that is not needed. */
void perch__decompress_drop(struct decompress_job *job);

#endif

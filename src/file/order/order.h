/* SPDX-License-Identifier: MIT */
/* Blocks of records in the order of time: struct perch__block. */
#ifndef PERCH_FILE_ORDER_ORDER_H
#define PERCH_FILE_ORDER_ORDER_H

#include "base/search.h"
#include "file/internal.h"

#define PERCH__INDEX_BLOCK   8192u
#define PERCH__BATCH_RECORDS 32768u
#define PERCH__BATCH_BYTES   (16u << 20)

/* Returns how many of the first n entries have this time or a lower one. */
static inline size_t perch__count_upto(const struct perch__index_entry *entries, size_t n,
				       uint64_t time)
{
	return PERCH__SEARCH(n, i, entries[i].time <= time);
}

/* Returns how many of the first n entries have a lower time. */
static inline size_t perch__count_before(const struct perch__index_entry *entries, size_t n,
					 uint64_t time)
{
	return time ? perch__count_upto(entries, n, time - 1) : 0;
}

/* sort.c: entries of equal time keep their order. *copy: memory for later calls. Returns 0 or
 * -ENOMEM. */
int perch__index_sort(struct perch__index_entry *entries, size_t nr,
		      struct perch__index_entry **copy, size_t *copy_capacity);

/* ---- order.c ---- */

/*
 * Makes the block that follows the last one. `block` may be that one; then what it had is lost. Its
 * .ended or .err is set if there is none after it.
 */
void perch__block_make(struct perch_reader *reader, struct perch__block *block);
/* The next block is the first one. */
void perch__sorter_restart(struct perch_reader *reader);
void perch__sorter_free(struct perch_reader *reader);

/* ---- streams.c: the files of a directory, side by side ---- */

/* Makes the streams of a directory in which nothing is compressed. Returns 0 or a negative errno.
 */
int perch__streams_begin(struct perch_reader *reader, struct perch_error *err);
void perch__streams_free(struct perch_reader *reader);
/* Adds records to the block. Sets .ended after the last one. Returns 0 or a negative errno. */
int perch__streams_collect(struct perch_reader *reader, struct perch__block *block,
			   struct perch_error *err);
/* The lowest time that a record can have which is not in a block. */
uint64_t perch__streams_limit(const struct perch_reader *reader);
/* Fills in the offset in each file from which on the blocks after this one need its pages. Returns
 * 0 or -ENOMEM. */
int perch__streams_plan_release(struct perch_reader *reader, struct perch__block *block);
/* Releases the pages that the blocks after this one do not need. */
void perch__streams_release(struct perch_reader *reader, const struct perch__block *block);

#endif

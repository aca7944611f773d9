/* SPDX-License-Identifier: MIT */
/*
 * The blocks of a reader. One has the records that are delivered. The next ones are made when they
 * are needed, or before that by threads that have nothing else to do (perch__reader_read_ahead()).
 * One thread at a time makes a block, because each depends on the one before; which thread it is
 * changes nothing else. A block that is ready does not change until it is delivered.
 */
#include "base/fork.h"
#include "base/no_memory.h"
#include "file/ahead.h"
#include "order.h"

#define RELEASE_LEAST (4u << 20) /* bytes: each call interrupts the other threads */

/* ---- making blocks ---- */

/* Makes the next block, and puts it behind the blocks that are ready. The mutex is locked, and
 * there is an unused block. */
static void make_block(struct perch_reader *reader)
{
	struct perch__blocks *blocks = &reader->blocks;
	struct perch__block *block = blocks->unused[--blocks->nr_unused];

	blocks->making = true;
	pthread_mutex_unlock(&blocks->mutex);
	perch__block_make(reader, block);
	pthread_mutex_lock(&blocks->mutex);
	blocks->making = false;
	blocks->ended = block->ended || block->err.errnum;
	blocks->ready[blocks->nr_ready++] = block;
	pthread_cond_broadcast(&blocks->made);
}

bool perch__reader_read_ahead(struct perch_reader *reader)
{
	struct perch__blocks *blocks = &reader->blocks;
	bool make;

	pthread_mutex_lock(&blocks->mutex);
	/* small files have one block, which needs no other thread */
	make = blocks->block && !blocks->making && !blocks->ended && blocks->nr_unused;
	if (make) {
		__atomic_store_n(&blocks->process, perch__fork_generation(), __ATOMIC_RELAXED);
		make_block(reader);
	}
	pthread_mutex_unlock(&blocks->mutex);
	return make;
}

/* ---- delivering them ---- */

/* Takes the next block, in place of the one that was delivered. */
static void take_block(struct perch_reader *reader)
{
	struct perch__blocks *blocks = &reader->blocks;

	if (blocks->block && blocks->sorter.stream)
		perch__streams_release(reader, blocks->block);
	pthread_mutex_lock(&blocks->mutex);
	if (blocks->block)
		blocks->unused[blocks->nr_unused++] = blocks->block;
	while (!blocks->nr_ready && blocks->making)
		pthread_cond_wait(&blocks->made, &blocks->mutex);
	if (!blocks->nr_ready)
		make_block(reader);
	blocks->block = blocks->ready[0];
	blocks->nr_ready--;
	memmove(blocks->ready, blocks->ready + 1, blocks->nr_ready * sizeof(*blocks->ready));
	blocks->next = 0;
	reader->output = &blocks->block->output;
	pthread_mutex_unlock(&blocks->mutex);
}

/* Returns the error of a block that could not be made: its own for the first time. */
static int block_error(struct perch__block *block, struct perch_error *err)
{
	int errnum = block->err.errnum;

	if (err)
		*err = block->err;
	perch_error_set(&block->err, errnum, PERCH_ERROR_FILE,
			"reading the file has failed before");
	return -errnum;
}

int perch__blocks_next(struct perch_reader *reader, uint64_t *offset, struct perch_error *err)
{
	struct perch__blocks *blocks = &reader->blocks;
	struct perch__block *block = blocks->block;
	size_t at;

	while (__builtin_expect(!block || blocks->next == block->ready, 0)) {
		if (perch__blocks_are_forked(reader))
			return PERCH__FORK_ERROR(err, "the recording");
		if (block && block->err.errnum)
			return block_error(block, err);
		if (block && block->ended)
			return 0;
		take_block(reader);
		block = blocks->block;
	}
	at = blocks->next++;
	if (at % PERCH__INDEX_BLOCK == 0 && !blocks->sorter.stream &&
	    block->needed_from[at / PERCH__INDEX_BLOCK] > reader->released + RELEASE_LEAST)
		perch__release(reader, &reader->released,
			       block->needed_from[at / PERCH__INDEX_BLOCK]);
	*offset = block->entries[at].offset;
	return 1;
}

/* ---- the start and the end ---- */

bool perch__blocks_are_forked(const struct perch_reader *reader)
{
	return perch__is_forked(__atomic_load_n(&reader->blocks.process, __ATOMIC_RELAXED));
}

void perch__blocks_init(struct perch_reader *reader)
{
	struct perch__blocks *blocks = &reader->blocks;

	pthread_mutex_init(&blocks->mutex, NULL);
	pthread_cond_init(&blocks->made, NULL);
	blocks->batch = PERCH__BATCH_RECORDS;
}

static void clear_block(struct perch__block *block)
{
	block->nr = block->ready = 0;
	block->ended = block->whole = false;
	block->err.errnum = 0;
	block->output.discarded = block->output.at = block->output.end = 0;
	block->output.nr_compressed = 0;
}

void perch__blocks_rewind(struct perch_reader *reader)
{
	struct perch__blocks *blocks = &reader->blocks;

	blocks->next = 0;
	if (perch__blocks_are_forked(reader) || (blocks->block && blocks->block->whole))
		return;
	pthread_mutex_lock(&blocks->mutex);
	while (blocks->making)
		pthread_cond_wait(&blocks->made, &blocks->mutex);
	blocks->block = NULL;
	blocks->nr_ready = 0;
	blocks->ended = false;
	for (blocks->nr_unused = 0; blocks->nr_unused < PERCH__BLOCKS; blocks->nr_unused++) {
		struct perch__block *block = &blocks->all[PERCH__BLOCKS - 1 - blocks->nr_unused];

		clear_block(block);
		blocks->unused[blocks->nr_unused] = block;
	}
	perch__sorter_restart(reader);
	pthread_mutex_unlock(&blocks->mutex);
}

void perch__blocks_free(struct perch_reader *reader)
{
	struct perch__blocks *blocks = &reader->blocks;

	pthread_cond_destroy(&blocks->made);
	pthread_mutex_destroy(&blocks->mutex);
	for (size_t i = 0; i < PERCH__BLOCKS; i++) {
		free(blocks->all[i].entries);
		free(blocks->all[i].needed_from);
		perch__output_free(&blocks->all[i].output);
	}
	perch__sorter_free(reader);
}

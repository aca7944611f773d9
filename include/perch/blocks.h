/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Basic blocks with their cycles, from branch stacks whose branches have cycles, as
 * `perch report --total-cycles` prints them.
 *
 * A block is the code between the target of a branch and the next branch. Blocks differ by their
 * last instruction; of blocks with the same one the longest is kept.
 *
 * In all functions err may be NULL. Functions without err cannot fail.
 *
 * Threads: one thread per object at a time, together with its processes and symbols.
 *
 * Fork: a child has a copy of the blocks, and can use and free it.
 *
 * Signals: no function is async-signal-safe. They allocate memory.
 */
#ifndef PERCH_BLOCKS_H
#define PERCH_BLOCKS_H

#include <perch/error.h>
#include <perch/process.h>
#include <perch/record.h>
#include <perch/symbol.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The start of a block that is unknown, or in another function. */
#define PERCH_BLOCK_NO_START UINT64_MAX

/** A basic block. */
struct perch_block {
	const struct perch_dso *dso;
	const struct perch_symbol *symbol; /**< the function of its last instruction */
	uint64_t start;			   /**< offset in the DSO, or PERCH_BLOCK_NO_START */
	uint64_t end;			   /**< offset of the last instruction, the branch */
	uint64_t count;			   /**< how often it was sampled */
	uint64_t cycles;		   /**< of all times */
	uint64_t reserved[2];		   /**< for members of later versions */
};

/** The blocks of a recording. */
struct perch_blocks;

/**
 * Creates an object without blocks.
 *
 * @param[out] blocks  the new object; NULL after a failure
 * @param processes    must outlive the object
 * @param symbols      must outlive the object
 * @param[out] err     the reason of a failure
 * @return 0 or -ENOMEM
 */
PERCH_API int perch_blocks_new(struct perch_blocks **blocks, struct perch_processes *processes,
			       struct perch_symbols *symbols, struct perch_error *err);

/** Frees the blocks. NULL is allowed. */
PERCH_API void perch_blocks_free(struct perch_blocks *blocks);

/**
 * Adds the branches of a SAMPLE record, unless the CPU does not count their cycles.
 *
 * @param blocks    the blocks
 * @param record    the record; earlier records must have been applied to the processes
 * @param[out] err  the reason of a failure
 * @return 0 or -ENOMEM
 */
PERCH_API int perch_blocks_add(struct perch_blocks *blocks, const struct perch_record *record,
			       struct perch_error *err);

/**
 * Returns the blocks of an event, those with the most cycles first.
 *
 * @param blocks     the blocks
 * @param event      index of the event (perch_record.event)
 * @param[out] rows  an array, valid until the next call
 * @param[out] nr    the number of blocks
 * @param[out] err   the reason of a failure
 * @return 0 or -ENOMEM
 */
PERCH_API int perch_blocks_rows(struct perch_blocks *blocks, unsigned event,
				const struct perch_block **rows, size_t *nr,
				struct perch_error *err);

/** Returns the cycles of all branches, also of those without a block. */
PERCH_API uint64_t perch_blocks_total(const struct perch_blocks *blocks);

#ifdef __cplusplus
}
#endif
#endif

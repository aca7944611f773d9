/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Pairs of events: a begin and an end with the same key are an interval. The key is what waits, or
 * what is waited for: a thread and a lock, an interrupt and its CPU, a block of a disk.
 *
 * The caller passes begins and ends in the order of time:
 *
 *     perch_pairs_begin(pairs, &begin, err);
 *     ...
 *     if (perch_pairs_end(pairs, &key, time, &pair))
 *             use(pair.end - pair.start);
 *
 * Begins without an end take memory, up to a limit. Where events were lost, an interval may be too
 * long: perch_pairs_add_loss() says when that was, and intervals around it are marked.
 *
 * Threads: one thread per object at a time. Different objects are independent.
 *
 * Fork: an object is plain memory. A child can use and free its copy.
 *
 * Signals: no function is async-signal-safe. They allocate memory.
 */
#ifndef PERCH_PAIRS_H
#define PERCH_PAIRS_H

#include <stdbool.h>
#include <stdint.h>
#include <perch/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The begins that have no end yet. */
struct perch_pairs;

/** What a begin and its end have in common. Not trusted; all values are allowed. It does not grow.
 */
struct perch_pair_key {
	uint64_t word[3]; /**< what the caller chooses */
};

/** An interval. */
struct perch_pair {
	struct perch_pair_key key; /**< of both events */
	uint64_t start;		   /**< time of the begin, in ns */
	uint64_t end;		   /**< time of the end, in ns; not before start */
	uint64_t value[4];	   /**< what the caller has stored with the begin */
	/** Events were lost while it lasted, or its end was before its start: it may be wrong. */
	bool uncertain;
	uint64_t reserved[2]; /**< for members of later versions; 0 */
};

/** How pairs are made. All members may be 0. */
struct perch_pairs_options {
	/** Of two begins without an end between them the first one counts. Otherwise it is the
	 * second one, and the first one is discarded. */
	unsigned keep_first : 1;
	uint32_t max_open;    /**< most begins without an end; 0: 1048576 */
	uint64_t reserved[2]; /**< must be 0 */
};

/** What was found so far. */
struct perch_pairs_stats {
	uint64_t pairs;		/**< begins with their end */
	uint64_t uncertain;	/**< of them, pairs that may be wrong */
	uint64_t open;		/**< begins that have no end yet */
	uint64_t without_begin; /**< ends without a begin */
	uint64_t repeated;	/**< begins during an open one of the same key */
	uint64_t left_out;	/**< begins that were one too many */
	uint64_t reserved[2];	/**< for members of later versions; 0 */
};

/**
 * Creates an object without begins.
 *
 * @param[out] pairs  the new object; NULL after a failure
 * @param options     NULL is all 0
 * @param[out] err    the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -ENOMEM  out of memory
 * @retval -EINVAL  a reserved member is not 0
 */
PERCH_API int perch_pairs_new(struct perch_pairs **pairs, const struct perch_pairs_options *options,
			      struct perch_error *err);

/** Frees the object. NULL is allowed. */
PERCH_API void perch_pairs_free(struct perch_pairs *pairs);

/**
 * Adds a begin.
 *
 * @param pairs     the object
 * @param begin     its .key, .start and .value; other members are ignored
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0; 1 if the key has an open begin, see keep_first; 2 if it is one too many, and is left
 *         out; or -ENOMEM
 */
PERCH_API int perch_pairs_begin(struct perch_pairs *pairs, const struct perch_pair *begin,
				struct perch_error *err);

/**
 * Finds an open begin.
 *
 * @param pairs  the object
 * @param key    its key
 * @return the begin, whose .value may be changed; valid until the next begin; NULL if there is none
 */
PERCH_API struct perch_pair *perch_pairs_find(struct perch_pairs *pairs,
					      const struct perch_pair_key *key);

/**
 * Adds an end.
 *
 * @param pairs      the object
 * @param key        that of its begin
 * @param time       of the end, in ns
 * @param[out] pair  the interval; unchanged without one
 * @return true; false if there is no open begin with the key
 */
PERCH_API bool perch_pairs_end(struct perch_pairs *pairs, const struct perch_pair_key *key,
			       uint64_t time, struct perch_pair *pair);

/**
 * Declares that events may have been lost. Intervals that end later are uncertain if they overlap
 * this time. It needs no err: its only failure is a lack of memory.
 *
 * A program that can read its events twice finds all intervals that may be wrong: it adds what was
 * lost at first, then calls perch_pairs_restart().
 *
 * @param pairs  the object
 * @param from   time of the last event before the loss, in ns; 0 if unknown
 * @param to     time of the first event after it, in ns. Of two calls the later one should have the
 *               larger time; otherwise too many intervals may be marked.
 * @return 0, or -ENOMEM
 */
PERCH_API int perch_pairs_add_loss(struct perch_pairs *pairs, uint64_t from, uint64_t to);

/** Discards all begins and sets the statistics to 0. What was lost stays. */
PERCH_API void perch_pairs_restart(struct perch_pairs *pairs);

/** Returns what was found so far, in *stats. */
PERCH_API void perch_pairs_get_stats(const struct perch_pairs *pairs,
				     struct perch_pairs_stats *stats);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Ring buffers: one mapped ring, and a merge of rings by time. perch/sampler.h opens events
 * together with their rings.
 *
 * In all functions err may be NULL. Functions without err cannot fail, or their description lists
 * what they return and why.
 *
 * Threads: one thread per object at a time. Different objects may be used at the same time. The
 * rings of a merge are used by the merge.
 *
 * Fork: the kernel does not copy the mapping of a ring into a child of fork(2). A function on a
 * ring or merge that was opened before the fork returns -ESTALE (PERCH_ERROR_FORK) in the child.
 * Functions that return a number of bytes, a record or nothing return 0 or NULL there, and do
 * nothing. Closing is allowed: it frees the memory of the child and does not change the ring of the
 * parent. The child can map rings of events that it opens itself. Rings in the caller's memory do
 * not have this restriction. The check makes no system call. A child of vfork(2), or of clone(2)
 * with CLONE_VM, uses the memory of its parent, and must leave the objects of the parent alone.
 *
 * Signals: a function is async-signal-safe only if its description says so, and only with err NULL.
 * The signal handler must not interrupt a call that uses the same object. errno may change.
 */
#ifndef PERCH_RING_H
#define PERCH_RING_H

#include <stdbool.h>
#include <sys/uio.h>
#include <perch/abi.h>
#include <perch/error.h>
#include <perch/machine.h>
#include <perch/record.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @name One ring */
/** @{ */

/** A mapped ring buffer. */
struct perch_ring;

/** The behavior of the kernel when a ring is full. */
enum perch_ring_mode {
	/** It discards new records and counts them; the ring is read and consumed. */
	PERCH_RING_FORWARD,
	/** It overwrites the oldest records; the ring is mapped read-only and read by snapshots. */
	PERCH_RING_OVERWRITE,
};

/**
 * Maps the ring of an event: a control page and the data pages.
 *
 * In mode OVERWRITE the event must have write_backward, and the ring must be larger than the
 * largest record: the kernel does not check this when it overwrites. In mode FORWARD the event must
 * not have write_backward. The mode is not checked here, because a descriptor does not show it:
 * with the wrong mode, the ring delivers no records or reports damage.
 *
 * An event has one ring, because each of two readers of one buffer loses the records that the other
 * consumes. A second ring of the event is refused in any process, also by a copy of the descriptor.
 * After perch_ring_close() it is possible again. A mapping that another function made is not
 * recognized. The same holds for an event that writes into the ring of another event
 * (perch_event_set_output()): new kernels refuse its ring with -EBUSY.
 *
 * @param[out] ring  the new ring; NULL after a failure
 * @param fd         of the event; it must stay open as long as the ring, which does not close it
 * @param pages      number of data pages, a power of two
 * @param mode       the mode of the event
 * @param machine    must outlive the ring; NULL is this machine
 * @param[out] err   the reason of a failure, explained; NULL is allowed
 * @return 0, or a negative errno
 * @retval -EEXIST  the event has a ring already
 * @retval -EINVAL  pages is not a power of two, or the mode is unknown
 * @since Linux 4.7 for mode OVERWRITE
 */
PERCH_API int perch_ring_open(struct perch_ring **ring, int fd, size_t pages,
			      enum perch_ring_mode mode, struct perch_machine *machine,
			      struct perch_error *err);

/**
 * Makes a ring over memory with the layout of a mapped ring, for tests and replay.
 *
 * @param[out] ring  the new ring; NULL after a failure
 * @param control    the control page; must outlive the ring
 * @param data       aligned to 8 bytes; must outlive the ring
 * @param size       of data in bytes, a power of two
 * @param mode       the mode
 * @param[out] err   the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 */
PERCH_API int perch_ring_from_memory(struct perch_ring **ring, struct perch_mmap_page *control,
				     void *data, size_t size, enum perch_ring_mode mode,
				     struct perch_error *err);

/**
 * Unmaps a ring and its AUX area. In a child of the process that opened the ring, it only frees
 * memory.
 *
 * @param ring  NULL is allowed
 */
PERCH_API void perch_ring_close(struct perch_ring *ring);

/**
 * Returns the complete records that the kernel has written and the caller has not consumed.
 *
 * Async-signal-safe.
 *
 * @param ring         in mode FORWARD; other rings return 0
 * @param[out] pieces  one or two pieces, the second if the records wrap around the end of the ring;
 *                     valid until perch_ring_consume()
 * @return the number of bytes; 0 in a child of the process that opened the ring
 */
PERCH_API size_t perch_ring_peek(struct perch_ring *ring, struct iovec pieces[2]);

/**
 * Consumes bytes: advances data_tail, so the kernel may overwrite them.
 *
 * Async-signal-safe.
 *
 * @param ring   the ring
 * @param bytes  of complete records, at most what perch_ring_peek() returned
 */
PERCH_API void perch_ring_consume(struct perch_ring *ring, size_t bytes);

/**
 * Returns the next record.
 *
 * In mode FORWARD the records come in rounds: the first call finds the end of what the kernel has
 * written, the calls return the records up to there, and a call that returns NULL ends the round.
 * So a loop until NULL ends also if the kernel writes as fast as the program reads; what was
 * written meanwhile belongs to the next round. After a round that the program left before its end,
 * a loop until NULL reads only the rest of it. data_tail is advanced at the end of a round.
 *
 * In mode OVERWRITE it is the next record of the current snapshot.
 *
 * Async-signal-safe.
 *
 * @param ring  the ring
 * @return a complete record, valid until the next call; a record that wraps is copied into a buffer
 *         of the ring. NULL at the end of a round, and in a child of the process that opened the
 *         ring
 */
PERCH_API const struct perch_record_header *perch_ring_next(struct perch_ring *ring);

/**
 * Pauses a ring: the kernel writes no records into it, and counts them as lost.
 *
 * A ring in memory only changes its state. Async-signal-safe if err is NULL.
 *
 * @param ring      the ring
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -ESTALE  the ring was opened before a fork; the ring of the parent is not paused
 * @since Linux 4.7
 */
PERCH_API int perch_ring_pause(struct perch_ring *ring, struct perch_error *err);

/**
 * Resumes a paused ring. This ends its current snapshot. Async-signal-safe if err is NULL.
 *
 * @param ring      the ring
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -ESTALE  the ring was opened before a fork
 * @since Linux 4.7
 */
PERCH_API int perch_ring_resume(struct perch_ring *ring, struct perch_error *err);

/** Statistics of a ring. */
struct perch_ring_stats {
	uint64_t bytes;	  /**< bytes of returned and consumed records */
	uint64_t damaged; /**< batches that were dropped because of invalid headers */
	/** OVERWRITE: bytes written since the previous snapshot that are not in the last one. */
	uint64_t overwritten;
	uint64_t cut;	      /**< OVERWRITE: records of snapshots that were overwritten in part */
	bool paused;	      /**< by perch_ring_pause() or a snapshot */
	uint64_t reserved[4]; /**< for members of later versions */
};

/**
 * Reads the statistics of a ring. In a child they are those at the fork. Async-signal-safe.
 *
 * @param ring        the ring
 * @param[out] stats  since it was opened
 */
PERCH_API void perch_ring_get_stats(const struct perch_ring *ring, struct perch_ring_stats *stats);

/** @} */
/** @name Snapshots of rings of mode OVERWRITE */
/** @{ */

/** The order of the records of a snapshot. */
enum perch_snapshot_order {
	PERCH_SNAPSHOT_NEWEST_FIRST, /**< as they are in memory: needs no index */
	PERCH_SNAPSHOT_OLDEST_FIRST, /**< needs an index of 4 bytes per record, owned by the ring */
};

/**
 * Takes a snapshot: perch_ring_next() then returns the records that the ring has now.
 *
 * Pauses the ring, if it is not paused; perch_ring_resume() resumes it. If the ring is in memory,
 * the caller ensures that nothing writes to it. A second snapshot of a paused ring has the same
 * records; a snapshot after resuming has the records that are not overwritten.
 *
 * The oldest record is left out and counted as cut if newer records overwrite a part of it.
 *
 * If a record is being written at the pause, the function waits for it, up to 50 microseconds. If a
 * record is completed even later, perch_ring_next() leaves out the records that it overwrites.
 *
 * During a pause the kernel writes no records but counts them. It writes a LOST record with the
 * count before the first record after the pause.
 *
 * Async-signal-safe with PERCH_SNAPSHOT_NEWEST_FIRST if err is NULL: the other order allocates
 * memory.
 *
 * @param ring      of mode OVERWRITE
 * @param order     the order of the records
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return the number of records, or a negative errno
 * @retval -EINVAL  the mode is not OVERWRITE, or the event has no write_backward
 * @retval -ENOMEM  no memory for the index
 * @retval -ESTALE  the ring was opened before a fork
 */
PERCH_API ssize_t perch_ring_snapshot(struct perch_ring *ring, enum perch_snapshot_order order,
				      struct perch_error *err);

/**
 * Leaves the records of the last snapshot out of later ones.
 *
 * data_tail does not change, so the kernel overwrites the same records as before.
 * Async-signal-safe.
 *
 * @param ring  of mode OVERWRITE
 */
PERCH_API void perch_ring_snapshot_advance(struct perch_ring *ring);

/** @} */
/** @name The AUX area: trace data of a PMU (Intel PT, Arm SPE, CoreSight...) */
/** @{ */

/**
 * Maps the AUX area of a ring.
 *
 * @param ring      of mode FORWARD
 * @param pages     size, a power of two
 * @param mode      FORWARD: the PMU stops when the area is full; OVERWRITE: it overwrites the
 *                  oldest data, and the area is mapped read-only
 * @param machine   must outlive the ring; NULL is that of the ring
 * @param[out] err  the reason of a failure, explained; NULL is allowed
 * @return 0, or a negative errno
 * @retval -EBUSY   the ring has an AUX area already
 * @retval -EINVAL  pages is not a power of two, or the ring has not the mode FORWARD
 * @retval -ESTALE  the ring was opened before a fork
 * @since Linux 4.1
 */
PERCH_API int perch_ring_open_aux(struct perch_ring *ring, size_t pages, enum perch_ring_mode mode,
				  struct perch_machine *machine, struct perch_error *err);

/**
 * Uses memory as the AUX area of a ring, for tests and replay.
 *
 * @param ring      the ring
 * @param area      must outlive the ring
 * @param size      of area in bytes, a power of two
 * @param mode      as in perch_ring_open_aux()
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 */
PERCH_API int perch_ring_aux_from_memory(struct perch_ring *ring, void *area, size_t size,
					 enum perch_ring_mode mode, struct perch_error *err);

/**
 * Returns the bytes of an AUX area of mode FORWARD that are not consumed. Async-signal-safe.
 *
 * @param ring         the ring
 * @param[out] pieces  one or two pieces; valid until perch_ring_aux_consume()
 * @return the number of bytes; 0 without an area of this mode, and in a child
 */
PERCH_API size_t perch_ring_aux_peek(struct perch_ring *ring, struct iovec pieces[2]);

/**
 * Consumes the oldest bytes of an AUX area: advances aux_tail, so the PMU may overwrite them.
 * Async-signal-safe.
 *
 * @param ring   the ring
 * @param bytes  at most up to the end of what perch_ring_aux_peek() or perch_ring_aux_data()
 *               returned; SIZE_MAX is all of it
 */
PERCH_API void perch_ring_aux_consume(struct perch_ring *ring, size_t bytes);

/**
 * Returns the data that an AUX record reports.
 *
 * If some of the data was overwritten or consumed, the rest of it, up to the end, is returned. The
 * flags of the record (truncated, partial, collision) are counted. There is no err, because each
 * errno has one cause. Async-signal-safe.
 *
 * @param ring         the ring with the area
 * @param record       an AUX record of this ring
 * @param[out] pieces  one or two pieces
 * @return the number of bytes, or a negative errno
 * @retval -ENODATA  all of the data was overwritten or consumed
 * @retval -EINVAL   not an AUX record, or the ring has no area
 * @retval -ESTALE   the ring was opened before a fork
 */
PERCH_API ssize_t perch_ring_aux_data(struct perch_ring *ring, const struct perch_record *record,
				      struct iovec pieces[2]);

/**
 * Returns the contents of an AUX area of mode OVERWRITE, oldest first.
 *
 * The event must be disabled or paused. Some PMUs set aux_head to the offset in the area instead of
 * a running count. Their area counts as full if its last bytes are not all zero. Async-signal-safe.
 *
 * @param ring         the ring
 * @param[out] pieces  one or two pieces
 * @return the number of bytes; 0 without an area of this mode, and in a child
 */
PERCH_API size_t perch_ring_aux_snapshot(struct perch_ring *ring, struct iovec pieces[2]);

/** Statistics of an AUX area: of the records that were passed to perch_ring_aux_data(). */
struct perch_aux_stats {
	uint64_t bytes;	      /**< bytes that the records report */
	uint64_t missing;     /**< of these, bytes that were overwritten or consumed */
	uint64_t truncated;   /**< records with PERCH_AUX_FLAG_TRUNCATED */
	uint64_t partial;     /**< records with PERCH_AUX_FLAG_PARTIAL */
	uint64_t collision;   /**< records with PERCH_AUX_FLAG_COLLISION */
	uint64_t overwrite;   /**< records with PERCH_AUX_FLAG_OVERWRITE */
	uint64_t reserved[4]; /**< for members of later versions */
};

/**
 * Reads the statistics of an AUX area. Async-signal-safe.
 *
 * @param ring        the ring
 * @param[out] stats  since the area was opened
 */
PERCH_API void perch_ring_get_aux_stats(const struct perch_ring *ring,
					struct perch_aux_stats *stats);

/** @} */
/** @name Many rings as one stream in order of time */
/** @{ */

/**
 * Merges rings by the times of their records.
 *
 * A merge works in rounds. A round starts with the first perch_merge_next() after one that returned
 * 0. It delivers the records up to its limit, which is the latest time that the round before has
 * found, and holds later records in their rings for the next round. So a record is delivered out of
 * order only if the kernel takes longer to write it than the time between the starts of two rounds.
 * Therefore start a round when there is new data, and not in a busy loop. A ring without new data
 * does not delay the others.
 *
 * Records of one ring keep their order. If records of a round have equal times, those of the ring
 * with the lower index come first.
 *
 * If a ring is more than half full at the start of a round, the round delivers its records until it
 * is half full, and those of the other rings up to the same time. This avoids lost records, but
 * such records may be out of order. perch_merge_out_of_order() counts them.
 *
 * Records are not copied. Each record is delivered once, also if its time is wrong.
 */
struct perch_merge;

/**
 * Makes a merge.
 *
 * @param[out] merge  the new merge; NULL after a failure
 * @param rings       of mode FORWARD; they must outlive the merge, and nothing else may read them;
 *                    the array is copied
 * @param nr          number of rings; 0 is allowed, see perch_merge_add()
 * @param decoder     must outlive the merge
 * @param[out] err    the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -EINVAL  no decoder, or a ring has not the mode FORWARD
 * @retval -ENOMEM  no memory
 * @retval -ESTALE  a ring was opened before a fork
 */
PERCH_API int perch_merge_new(struct perch_merge **merge, struct perch_ring *const *rings,
			      size_t nr, struct perch_decoder *decoder, struct perch_error *err);

/**
 * Adds a ring to a merge. It takes part from the next round on.
 *
 * Add the ring before its event is enabled: records that it has already may be earlier than those
 * that the merge has delivered. They are delivered, and counted by perch_merge_out_of_order().
 *
 * @param merge       the merge
 * @param ring        of mode FORWARD; it must stay open until perch_merge_remove() returns 0, and
 *                    nothing else may read it
 * @param[out] index  its index for perch_merge_next(): the lowest that no ring of the merge has
 * @param[out] err    the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -EEXIST  the ring is already in the merge
 * @retval -EINVAL  the mode is not FORWARD
 * @retval -ENOMEM  no memory; the merge is unchanged
 * @retval -ESTALE  the ring, or a ring of the merge, was opened before a fork
 */
PERCH_API int perch_merge_add(struct perch_merge *merge, struct perch_ring *ring, size_t *index,
			      struct perch_error *err);

/**
 * Removes a ring from a merge, after its records are delivered.
 *
 * The first call ends the ring: records that the kernel writes afterwards stay in it. If the ring
 * has records that are not delivered, the function returns 1. Then the ring must stay open,
 * perch_merge_next() delivers these records in order, as before, and the ring is removed by the
 * first later call of this function that returns 0. The call may be made during a round.
 *
 * With discard the ring is removed at once. perch_merge_discarded() counts its records that are not
 * delivered.
 *
 * When the function returns 0, the ring may be closed and its index may be given to another ring.
 * The record that perch_merge_next() returned last becomes invalid.
 *
 * @param merge     the merge
 * @param ring      index of the ring
 * @param discard   remove the ring now
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0 if the ring is removed; 1 if it has records that are not delivered; or a negative errno
 * @retval -EINVAL  there is no such ring
 * @retval -ESTALE  a ring of the merge was opened before a fork
 */
PERCH_API int perch_merge_remove(struct perch_merge *merge, size_t ring, bool discard,
				 struct perch_error *err);

/**
 * Returns the number of records that perch_merge_remove() has discarded. Async-signal-safe.
 *
 * @param merge  the merge
 * @return the number since the merge was made
 */
PERCH_API uint64_t perch_merge_discarded(const struct perch_merge *merge);

/**
 * Frees a merge. The rings stay open.
 *
 * @param merge  NULL is allowed
 */
PERCH_API void perch_merge_free(struct perch_merge *merge);

/**
 * Returns the next record.
 *
 * Records come in rounds. A round begins with a look at the heads of all rings, and has records
 * before these only: it ends also if the kernel writes as fast as the program reads.
 *
 * A record without a time is delivered with the next record of its ring; the last ones with the
 * record before them. Async-signal-safe if err is NULL.
 *
 * @param merge        the merge
 * @param flush        deliver all records that are in the rings at the first such call, without a
 *                     limit: for the end
 * @param[out] record  valid until the next call
 * @param[out] ring    index of its ring
 * @param[out] err     the reason of a failure; NULL is allowed
 * @return 1 with a record; 0 at the end of a round; or a negative errno
 * @retval -EBADMSG  a record cannot be decoded; the next call continues after it
 * @retval -ESTALE   a ring of the merge was opened before a fork
 */
PERCH_API int perch_merge_next(struct perch_merge *merge, bool flush, struct perch_record *record,
			       size_t *ring, struct perch_error *err);

/**
 * Returns the number of records that were delivered after a record with a later time.
 * Async-signal-safe.
 *
 * @param merge  the merge
 * @return the number since the merge was made
 */
PERCH_API uint64_t perch_merge_out_of_order(const struct perch_merge *merge);

/** @} */

#ifdef __cplusplus
}
#endif
#endif

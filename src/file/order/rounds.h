/* SPDX-License-Identifier: MIT */
/*
 * The rounds of a recorder. A recorder ends each round with FINISHED_ROUND. All records after one
 * are newer than the newest record of the round before.
 */
#ifndef PERCH_FILE_ORDER_ROUNDS_H
#define PERCH_FILE_ORDER_ROUNDS_H

#include "file/internal.h"

/*
 * Returns true for a round whose records are all older than one that was delivered. The times of
 * earlier rounds were wrong then, and are not compared with later ones.
 */
static inline bool perch__restart_rounds(struct perch__rounds *rounds)
{
	if (rounds->any_in_order || !rounds->round_latest)
		return false;
	rounds->latest = rounds->last_round = rounds->round_latest;
	rounds->limit = 0;
	rounds->delivered = 0;
	return true;
}

static inline void perch__end_round(struct perch__rounds *rounds)
{
	if (!perch__restart_rounds(rounds)) {
		rounds->limit = rounds->last_round;
		rounds->last_round = rounds->latest;
	}
	rounds->round_latest = 0;
	rounds->any_in_order = false;
	rounds->ended = true;
}

/*
 * The time of a record. Records without one get the position that they have in a reader that sorts
 * round by round: it delivers them at once, before all records that wait for the end of the round.
 * The limit does not fall, so these records keep their order. output: has nothing if no record of
 * the cursor is decompressed.
 */
static inline uint64_t perch__rounds_time(const struct perch_reader *reader,
					  const struct perch__output *output,
					  struct perch__rounds *rounds, uint64_t offset)
{
	const uint8_t *record = perch__record_at(reader, output, offset);
	uint64_t time, available = perch__record_available(reader, output, offset);

	/* the CPU prefetches no more than a page */
	__builtin_prefetch(record + 1024);
	if (perch_decoder_time(reader->decoder, record, available, &time) && time &&
	    time != UINT64_MAX) {
		if (time > rounds->latest)
			rounds->latest = time;
		if (time > rounds->round_latest)
			rounds->round_latest = time;
		if (time >= rounds->delivered)
			rounds->any_in_order = true;
		else
			rounds->late++;
		return time;
	}
	if (perch__file_u32(reader, record) == PERCH_RECORD_FINISHED_ROUND)
		perch__end_round(rounds);
	return rounds->limit;
}

#endif

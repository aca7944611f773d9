/* SPDX-License-Identifier: MIT */
/*
 * Records of one event with a ring of its own, taken from the kernel, decoded and kept. For tests
 * with cmocka and for those in an emulated machine: whatever goes wrong is told as an error.
 */
#ifndef PERCH_TESTS_LIVE_H
#define PERCH_TESTS_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include <perch/open.h>
#include <perch/record.h>
#include <perch/ring.h>

/* Fields that say whose a record is: all of them in each record, unless a test wants fewer. */
#define LIVE_IDENTITY                                                                      \
	(PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_ID | PERCH_SAMPLE_STREAM_ID | \
	 PERCH_SAMPLE_CPU | PERCH_SAMPLE_IDENTIFIER)

struct live {
	struct perch_attr attr;
	struct perch_target target;
	int fd;
	uint64_t id; /* as the ioctl tells it */
	struct perch_ring *ring;
	struct perch_parse_info parse_info;
	uint64_t from, to; /* the attr's clock, around all that was recorded */
	size_t nr, room;
	/* in the order of the ring; each one's bytes are an allocation of just their size */
	struct perch_record *record;
};

/*
 * The software event that counts nothing: it carries records alone. Disabled, of CLOCK_MONOTONIC,
 * with LIVE_IDENTITY, and without the kernel's side where this user may not have it.
 */
struct perch_attr live_attr(void);
/* live_attr() of another event that samples each occurrence, with fields beside those of identity.
 */
struct perch_attr live_sampling(uint32_t type, uint64_t config, uint64_t fields);
/* pages 0: 64 of them. Nothing is left open after an error. */
int live_open(struct live *live, const struct perch_attr *attr, const struct perch_target *target,
	      size_t pages, struct perch_error *err);
void live_close(struct live *live);
int live_enable(struct live *live);
int live_disable(struct live *live);
/*
 * Takes what is in the ring, behind what was taken before. -EBADMSG, and why: a record that does
 * not decode, or has bytes that no field explains, or an identity that cannot be.
 */
int live_take(struct live *live, struct perch_error *err);
/* Record of a type, the first behind `after` (NULL: of all); NULL when there is none. */
const struct perch_record *live_next(const struct live *live, uint32_t type,
				     const struct perch_record *after);
size_t live_count(const struct live *live, uint32_t type);

/* ns of the clock that the attr asks for. */
uint64_t live_clock(const struct perch_attr *attr);
bool live_is_root(void);

#endif

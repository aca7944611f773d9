/* SPDX-License-Identifier: MIT */
/*
 * One event with its own ring: the tests let the kernel write records, decode them and store them.
 * Functions report errors by perch_error, not by cmocka: the emulated machine has no cmocka.
 */
#ifndef PERCH_TESTS_LIVE_H
#define PERCH_TESTS_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include <perch/open.h>
#include <perch/record.h>
#include <perch/ring.h>

/* The fields of the sample id. All records have them, unless a test sets fewer. */
#define LIVE_SAMPLE_ID                                                                     \
	(PERCH_SAMPLE_TID | PERCH_SAMPLE_TIME | PERCH_SAMPLE_ID | PERCH_SAMPLE_STREAM_ID | \
	 PERCH_SAMPLE_CPU | PERCH_SAMPLE_IDENTIFIER)

struct live {
	struct perch_attr attr;
	struct perch_target target;
	int fd;
	uint64_t id; /* of PERF_EVENT_IOC_ID */
	struct perch_ring *ring;
	struct perch_parse_info parse_info;
	uint64_t from, to; /* times of the attr's clock before and after all records */
	size_t nr, capacity;
	/* in the order of the ring; the bytes of each are one allocation of their size */
	struct perch_record *record;
};

/*
 * The dummy event, which has no samples of its own: disabled, with CLOCK_MONOTONIC and
 * LIVE_SAMPLE_ID, without the kernel if this user is not root.
 */
struct perch_attr live_attr(void);
/* live_attr() with another event, which samples each occurrence with further fields. */
struct perch_attr live_sampling(uint32_t type, uint64_t config, uint64_t fields);
/* pages: data pages of the ring, 0 is 64. After an error nothing is left open. */
int live_open(struct live *live, const struct perch_attr *attr, const struct perch_target *target,
	      size_t pages, struct perch_error *err);
void live_close(struct live *live);
int live_enable(struct live *live);
int live_disable(struct live *live);
/*
 * Decodes the new records of the ring and appends them. Returns -EBADMSG for a record that cannot
 * be decoded, has trailing bytes, or has a wrong sample id.
 */
int live_take(struct live *live, struct perch_error *err);
/* The first record of the type after `after`, or of all if that is NULL. NULL if there is none. */
const struct perch_record *live_next(const struct live *live, uint32_t type,
				     const struct perch_record *after);
size_t live_count(const struct live *live, uint32_t type);

/* The time of the attr's clock in ns. */
uint64_t live_clock(const struct perch_attr *attr);
bool live_is_root(void);

#endif

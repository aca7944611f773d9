/* SPDX-License-Identifier: MIT */
#ifndef PERCH_COUNT_INTERNAL_H
#define PERCH_COUNT_INTERNAL_H

#include <perch/count.h>

/* What read(2) gave for one event, before it is made sense of. */
struct raw_count {
	uint64_t value, enabled, running, id, lost;
};

/* The times at the last reset: the kernel's own go on, see perch_counter_reset(). */
struct reset_times {
	uint64_t enabled, running;
};

/* Bytes that read(2) gives for a group of nr events (nr 1 without PERCH_FORMAT_GROUP). */
size_t perch__read_size(uint64_t format, size_t nr);
/*
 * Reads nr events in one read(2) into words (which hold perch__read_size() bytes) and takes them apart. 0, -ENODATA for a
 * pinned event in error state, -EIO for a short read, or the errno of read(2).
 */
int perch__read_counts(const struct perch_calls *calls, int fd, const char *name, uint64_t format, uint64_t *words,
		       struct raw_count *counts, size_t nr, struct perch_error *err);
/* The count since the reset, scaled, with its state. */
void perch__make_count(struct perch_count *count, const struct raw_count *raw, const struct reset_times *reset);

#endif

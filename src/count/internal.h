/* SPDX-License-Identifier: MIT */
#ifndef PERCH_COUNT_INTERNAL_H
#define PERCH_COUNT_INTERNAL_H

#include <perch/count.h>

#define PERCH__TIMES (PERCH_FORMAT_TOTAL_TIME_ENABLED | PERCH_FORMAT_TOTAL_TIME_RUNNING)

/* The times at the last reset, which the kernel does not reset. */
struct perch__base {
	uint64_t enabled_ns;
	uint64_t running_ns;
};

/* 64-bit words that read(2) gives for events of that read_format; members counts for PERCH_FORMAT_GROUP alone. */
size_t perch__read_words(uint64_t read_format, size_t members);
/*
 * One read(2) of exactly that many words. A pinned event without a counter, a short read and a refused one are errors
 * that tell the event's name.
 */
int perch__read(const struct perch_calls *calls, int fd, uint64_t *words, size_t nr, const char *name,
		struct perch_error *err);
/* Fills in the times since base, the scaled value and the state; count->value is there already. */
void perch__judge(struct perch_count *count, uint64_t enabled, uint64_t running, const struct perch__base *base);
/* A count from what read(2) gave for a single event; read_format has PERCH__TIMES and no GROUP. */
void perch__take_counts(struct perch_count *count, const uint64_t *words, uint64_t read_format,
		   const struct perch__base *base);
/* ioctl(2) on an event; 0 or -errno. */
int perch__control(const struct perch_calls *calls, int fd, unsigned long request, unsigned long argument);

#endif

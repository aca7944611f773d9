/* SPDX-License-Identifier: MIT */
/* Comparison of records: each function returns true and keeps a text if there is a difference. */
#ifndef BUILD_COMPARE_H
#define BUILD_COMPARE_H

#include "build.h"

struct perch_read_values;

#define UNLIKE(what, decoded, described) build_unlike(what, decoded, described)

bool build_differs(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool build_unlike(const char *what, uint64_t decoded, uint64_t described);
bool build_unlike_values(const struct perch_read_values *decoded,
			 const struct build_values *described, uint64_t format);
/* Compares the words, and the walk by perch_chain_next(). */
bool build_unlike_chain(const struct perch_record *decoded, const uint64_t *ip, uint64_t nr,
			const struct build_words *described);
bool build_unlike_sample(const struct perch_record *decoded, const struct build_record *record);

#endif

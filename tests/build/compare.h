/* SPDX-License-Identifier: MIT */
/* What the comparing files share: each function says whether there is a difference, and notes it.
 */
#ifndef BUILD_COMPARE_H
#define BUILD_COMPARE_H

#include "build.h"

struct perch_read_values;

#define UNLIKE(what, decoded, described) build_unlike(what, decoded, described)

bool build_differs(const char *format, ...) __attribute__((format(printf, 1, 2)));
bool build_unlike(const char *what, uint64_t decoded, uint64_t described);
bool build_unlike_values(const struct perch_read_values *decoded,
			 const struct build_values *described, uint64_t format);
/* Word by word, and as perch_chain_next() goes through it. */
bool build_unlike_chain(const struct perch_record *decoded, const uint64_t *ip, uint64_t nr,
			const struct build_words *described);
bool build_unlike_sample(const struct perch_record *decoded, const struct build_record *record);

#endif

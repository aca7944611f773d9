/* SPDX-License-Identifier: MIT */
/*
 * A decoder of events in groups. If one event of a group requests counters of branches, x86
 * writes them into the samples of every event of the group that has branches (Linux 6.8), so all of
 * their attrs are decoded as if all requested them.
 *
 * This is a header because both libraries need it and neither exports it.
 */
#ifndef PERCH_RECORD_GROUP_DECODER_H
#define PERCH_RECORD_GROUP_DECODER_H

#include <errno.h>
#include <stdlib.h>
#include <perch/record.h>

#include "base/no_memory.h"

/* A leader may get the bit without PERCH_SAMPLE_BRANCH_STACK, where it has no effect. */
static inline void perch__share_branch_counters(struct perch_attr *attrs, const uint32_t *leader,
						size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		attrs[leader[i]].branch_sample_type |= attrs[i].branch_sample_type &
						       PERCH_SAMPLE_BRANCH_COUNTERS;
	for (size_t i = 0; i < nr; i++) {
		if (attrs[i].sample_type & PERCH_SAMPLE_BRANCH_STACK)
			attrs[i].branch_sample_type |= attrs[leader[i]].branch_sample_type &
						       PERCH_SAMPLE_BRANCH_COUNTERS;
	}
}

/*
 * perch_decoder_new() for events in groups: leader[i] is the index of the leader of events[i]. Each
 * attr of events is replaced by a copy that is freed before the return.
 */
static inline int perch__group_decoder_new(struct perch_decoder **decoder,
					   struct perch_decoder_event *events,
					   const uint32_t *leader, size_t nr,
					   enum perch_byte_order order, struct perch_error *err)
{
	struct perch_attr *attrs = calloc(nr ? nr : 1, sizeof(*attrs));
	int rc;

	if (!attrs)
		return PERCH__NO_MEMORY(err, "for the attrs of %zu events", nr);
	for (size_t i = 0; i < nr; i++) {
		attrs[i] = *events[i].attr;
		events[i].attr = &attrs[i];
	}
	perch__share_branch_counters(attrs, leader, nr);
	rc = perch_decoder_new(decoder, events, nr, order, err);
	free(attrs);
	return rc;
}

#endif

/* SPDX-License-Identifier: MIT */
/* Columns that are sums of the samples of a row. */
#include "profile/internal.h"

static const char *share_text(struct perch_profile *profile, const struct cell *cell, char *buffer,
			      size_t size)
{
	struct perch_profile_total total;

	perch_profile_get_total(profile, cell->row->event, &total);
	snprintf(buffer, size, "%.2f%%", total.period ? 100.0 * cell->value / total.period : 0);
	return buffer;
}

static const char *latency_text(struct perch_profile *profile, const struct cell *cell,
				char *buffer, size_t size)
{
	struct perch_profile_total total;

	perch_profile_get_total(profile, cell->row->event, &total);
	if (profile->latency.word)
		snprintf(buffer, size, "%.2f%%",
			 total.latency ? 100.0 * cell->value / total.latency : 0);
	return buffer;
}

#define SUM(column, member, text_)                                                        \
	static uint64_t sum_##column(const struct perch_row *row)                         \
	{                                                                                 \
		return row->member;                                                       \
	}                                                                                 \
	const struct perch_column_methods perch__column_##column = { .sum = sum_##column, \
								     .text = (text_) }

SUM(overhead, self, share_text);
SUM(overhead_children, children, share_text);
SUM(overhead_sys, system, share_text);
SUM(overhead_us, user, share_text);
SUM(overhead_guest_sys, guest_system, share_text);
SUM(overhead_guest_us, guest_user, share_text);
SUM(latency, latency ? row->latency->self : 0, latency_text);
SUM(latency_children, latency ? row->latency->children : 0, latency_text);
SUM(sample, samples, NULL);
SUM(period, self, NULL);

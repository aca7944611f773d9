/* SPDX-License-Identifier: MIT */
/* The function of the program that sees, and may end, the work of a profile. */
#include <errno.h>

#include "internal.h"

void perch_profile_set_progress(struct perch_profile *profile, perch_profile_progress *progress,
				void *context)
{
	profile->progress = progress;
	profile->progress_context = context;
}

int perch__profile_call_progress(const struct perch_profile *profile, enum profile_work work,
				 size_t at, size_t nr)
{
	static const struct {
		double before, share;
	} works[] = {
		[WORK_SYMBOLS] = { 0, 0.6 },
		[WORK_FOLD] = { 0.6, 0.2 },
		[WORK_ROWS] = { 0.8, 0.2 },
	};
	double done = works[work].before + works[work].share * (double)at / (double)nr;

	return profile->progress(profile->progress_context, done) ? 0 : -ECANCELED;
}

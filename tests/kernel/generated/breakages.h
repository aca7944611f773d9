/* SPDX-License-Identifier: MIT */
/* Macros for the tables of breakages. */
#ifndef PERCH_BREAKAGES_H
#define PERCH_BREAKAGES_H

#include "generated.h"

#define CHANGE(name)                                                        \
	static bool name(__attribute__((unused)) const struct world *world, \
			 __attribute__((unused)) struct build_rng *rng,     \
			 struct generated_call *call)

#define ATTR (&call->attr)

#endif

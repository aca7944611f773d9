/* SPDX-License-Identifier: MIT */
/* Macros for the tables of mutations. */
#ifndef PERCH_MUTATIONS_H
#define PERCH_MUTATIONS_H

#include "generated.h"

#define CHANGE(name)                                                            \
	static bool name(__attribute__((unused)) const struct environment *env, \
			 __attribute__((unused)) struct build_rng *rng,         \
			 struct generated_call *call)

#define ATTR (&call->attr)

#endif

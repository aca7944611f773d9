/* SPDX-License-Identifier: MIT */
/* The error of an allocation that a result cannot do without. */
#ifndef PERCH_BASE_NO_MEMORY_H
#define PERCH_BASE_NO_MEMORY_H

#include <errno.h>

#include <perch/error.h>

/* Sets it. what: "for a list", "to read %s"; a literal, as for printf(3). Returns -ENOMEM. */
#define PERCH__NO_MEMORY(err, ...) \
	perch_error_set((err), ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory " __VA_ARGS__)

#endif

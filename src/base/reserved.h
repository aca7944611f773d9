/* SPDX-License-Identifier: MIT */
/*
 * The reserved members of public structs. A later version may give them a meaning, so a program
 * that sets one is refused: it was built for a version that this one does not know.
 */
#ifndef PERCH_BASE_RESERVED_H
#define PERCH_BASE_RESERVED_H

#include <errno.h>

#include <perch/error.h>

/* Returns -EINVAL if one of nr words is not 0. name is that of the struct. */
static inline int perch__check_reserved(const uint64_t *reserved, size_t nr, const char *name,
					struct perch_error *err)
{
	uint64_t all = 0;

	for (size_t i = 0; i < nr; i++)
		all |= reserved[i];
	if (!all)
		return 0;
	perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "%s.reserved must be 0", name);
	perch_error_field(err, "reserved", NULL);
	perch_error_remedy(err,
			   "initialize the struct with { 0 }, or use the version of the library "
			   "that the program was built for");
	return -EINVAL;
}

/* For a struct that may be NULL. */
#define PERCH__CHECK_RESERVED(object, name, err)                                                   \
	((object) ? perch__check_reserved(                                                         \
			    (object)->reserved,                                                    \
			    sizeof((object)->reserved) / sizeof((object)->reserved[0]), name, err) \
		  : 0)

#endif

/* SPDX-License-Identifier: MIT */
/* The table of controllers in /proc/cgroups. */
#ifndef PERCH_BASE_CGROUPS_H
#define PERCH_BASE_CGROUPS_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/*
 * True if a hierarchy of cgroup v1 has a controller. The second column is the hierarchy, which is 0
 * for cgroup2. text is the file, or NULL.
 */
static inline bool perch__has_v1_hierarchy(const char *text)
{
	while (text && (text = strchr(text, '\n'))) {
		text++;
		if (strtol(text + strcspn(text, "\t\n"), NULL, 10) > 0)
			return true;
	}
	return false;
}

#endif

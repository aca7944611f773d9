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
	const char *line = text ? strchr(text, '\n') : NULL;

	for (; line; line = strchr(line, '\n')) {
		line++;
		if (strtol(line + strcspn(line, "\t\n"), NULL, 10) > 0)
			return true;
	}
	return false;
}

#endif

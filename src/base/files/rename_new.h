/* SPDX-License-Identifier: MIT */
/* rename(2) that does not replace a file. */
#ifndef PERCH_BASE_RENAME_NEW_H
#define PERCH_BASE_RENAME_NEW_H

#include <sys/syscall.h>
#include <unistd.h>

/* renameat2(2) with RENAME_NOREPLACE by its number: not all C libraries have a function. */
static inline int perch__rename_new(int from_dir, const char *from, int to_dir, const char *to)
{
	return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 1u);
}

#endif

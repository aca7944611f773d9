/* SPDX-License-Identifier: MIT */
/* The cache of /proc/kallsyms (kallsyms_cache.c), for kallsyms.c. */
#ifndef PERCH_SYMBOL_KALLSYMS_H
#define PERCH_SYMBOL_KALLSYMS_H

#include "internal.h"

/*
 * Returns the lines of the functions of the kernel and its modules, with a NUL after them, if a
 * cache has them. The caller frees them. Generated code is not among them.
 */
char *perch__kallsyms_cached(size_t *size);
/* Stores the functions of the text of /proc/kallsyms. A failure has no effect. */
void perch__kallsyms_store(const char *text, size_t size);

#endif

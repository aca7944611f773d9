/* SPDX-License-Identifier: MIT */
/* The cache of /proc/kallsyms (kallsyms_cache.c), for kallsyms.c. */
#ifndef PERCH_SYMBOL_KALLSYMS_H
#define PERCH_SYMBOL_KALLSYMS_H

#include "symbol/internal.h"

struct kallsyms_cache;
/*
 * Opens the cache. Returns NULL if there is none that can be used now. *text_start and *stext are
 * the addresses of _text and _stext, or 0.
 */
struct kallsyms_cache *perch__kallsyms_cache_open(uint64_t *text_start, uint64_t *stext);
/*
 * Sets what is added to the addresses of the file. Returns false if another number was set before:
 * the functions that were found have it.
 */
bool perch__kallsyms_cache_set_shift(struct kallsyms_cache *cache, uint64_t shift);
/* The names of functions that were found live until then. */
void perch__kallsyms_cache_close(struct kallsyms_cache *cache);
/*
 * Returns the lines of the functions of modules, with a NUL after them, or NULL if they are damaged
 * or cannot be read. The caller frees them.
 */
char *perch__kallsyms_cache_modules(const struct kallsyms_cache *cache, size_t *size);

struct kallsyms_head;
/*
 * Describes this moment, before /proc/kallsyms is read. Returns NULL if there is to be no cache.
 * The caller frees it.
 */
struct kallsyms_head *perch__kallsyms_cache_start(void);
/* True if the text is that of /proc/kallsyms, and no module was loaded or unloaded meanwhile. */
bool perch__kallsyms_cache_is_of(const struct kallsyms_head *head, const char *text, size_t size);

struct kallsyms_content {
	const struct table *kernel; /* finished, without generated code */
	uint64_t text_start, stext;
	const char *lines; /* of modules */
	size_t lines_size;
};
/* Writes the cache. A failure has no effect. */
void perch__kallsyms_cache_store(struct kallsyms_head *head,
				 const struct kallsyms_content *content);

#endif

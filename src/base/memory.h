/* SPDX-License-Identifier: MIT */
/*
 * Allocations of what a result can do without: symbols, debug information, unwinding information.
 * Names are missing in a result if memory runs out, so each failure is counted, wherever the caller
 * goes on. perch_symbols_failed_allocations() has the number. Thread-safe.
 */
#ifndef PERCH_BASE_MEMORY_H
#define PERCH_BASE_MEMORY_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Only memory.c writes it. */
extern uint64_t perch__failed_allocations __attribute__((visibility("hidden")));

/* Counts an allocation that failed, and returns NULL. */
void *perch__allocation_failed(void);

/* The result of a function that allocates, such as strdup(3). */
static inline void *perch__counted(void *memory)
{
	return memory ? memory : perch__allocation_failed();
}

static inline void *perch__malloc(size_t size)
{
	return perch__counted(malloc(size));
}

static inline void *perch__calloc(size_t nr, size_t size)
{
	return perch__counted(calloc(nr, size));
}

static inline void *perch__realloc(void *old, size_t size)
{
	return perch__counted(realloc(old, size));
}

static inline void *perch__reallocarray(void *old, size_t nr, size_t size)
{
	return perch__counted(reallocarray(old, nr, size));
}

static inline char *perch__strdup(const char *text)
{
	return perch__counted(strdup(text));
}

static inline char *perch__strndup(const char *text, size_t length)
{
	return perch__counted(strndup(text, length));
}

/*
 * The result of a function of another library that returns NULL for a lack of memory and for
 * damage. errno, which its allocator sets, has the difference.
 */
#define PERCH__COUNTED_CALL(call)                                                  \
	({                                                                         \
		errno = 0;                                                         \
		__auto_type result_ = (call);                                      \
		result_ || errno != ENOMEM ? result_ : perch__allocation_failed(); \
	})

/* As asprintf(3); *text is NULL if it fails. */
__attribute__((format(printf, 2, 3))) int perch__asprintf(char **text, const char *format, ...);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Recognizes objects that were opened before fork(2). The kernel does not copy the mappings of
 * events into a child, and parent and child share the events behind the descriptors. So an object
 * of the parent must not be used in the child.
 *
 * Each process has a generation, a number that none of its ancestors has. An object remembers the
 * generation of the process that opened it. The generation is in a page that the kernel fills with
 * zeros in the child (MADV_WIPEONFORK, Linux 4.14), so the check is one load and one compare. The
 * child gets its own generation when it opens its first object. Threads, and a child of vfork(2),
 * share the memory of the process and its generation.
 *
 * Before Linux 4.14 a handler of pthread_atfork(3) clears the generation. It runs in fork(3), and
 * not after a system call clone(2) that the program makes itself.
 */
#ifndef PERCH_BASE_FORK_H
#define PERCH_BASE_FORK_H

#include <stdbool.h>
#include <stdint.h>

/* The generation of this process; 0 if it has opened nothing. Only fork.c writes it. */
extern const uint32_t *perch__fork_word __attribute__((visibility("hidden")));

/* Returns the generation of this process, never 0. Thread-safe. */
uint32_t perch__fork_generation(void);

/*
 * True if an object of that generation was opened before a fork. Objects that need no process, such
 * as a ring in the caller's memory, have generation 0. Async-signal-safe.
 */
static inline bool perch__is_forked(uint32_t generation)
{
	const uint32_t *word = __atomic_load_n(&perch__fork_word, __ATOMIC_RELAXED);

	return __builtin_expect(__atomic_load_n(word, __ATOMIC_RELAXED) != generation, 0) &&
	       generation;
}

/*
 * Fills *err (which may be NULL) for an object of the parent, and evaluates to -ESTALE. The object
 * is named by a string literal, which may have conversions of printf(3) for the arguments that
 * follow. A macro, because base includes no header of a module.
 */
#define PERCH__FORK_ERROR(err, object, ...)                                          \
	(perch_error_set((err), ESTALE, PERCH_ERROR_FORK,                            \
			 object " was opened before fork(2), in the parent process", \
			 ##__VA_ARGS__),                                             \
	 perch_error_remedy((err), "close it here and open it again in this process"), -ESTALE)

#endif

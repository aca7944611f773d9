/* SPDX-License-Identifier: MIT */
/* Loads a shared library when a rare job needs it, so that nothing else pays for its start. */
#ifndef PERCH_BASE_LIBRARY_H
#define PERCH_BASE_LIBRARY_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "memory.h"

struct perch__function {
	const char *name;
	void *pointer; /* to a pointer to the function, which is set */
};

/*
 * Loads the library and finds the functions in it. The library stays loaded. Returns false if the
 * library or a function is missing; then dlerror() has the reason. A static program loads none.
 */
static inline bool perch__load_library(const char *name, const struct perch__function *functions,
				       size_t nr)
{
#ifdef PERCH_STATIC
	(void)name, (void)functions, (void)nr;
	return false;
#else
	void *handle = PERCH__COUNTED_CALL(dlopen(name, RTLD_NOW | RTLD_LOCAL));

	for (size_t i = 0; handle && i < nr; i++) {
		void *function = dlsym(handle, functions[i].name);

		if (!function)
			return false;
		memcpy(functions[i].pointer, &function, sizeof(function));
	}
	return handle;
#endif
}

#endif

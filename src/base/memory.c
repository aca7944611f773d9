/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>

#include "memory.h"

uint64_t perch__failed_allocations;

void *perch__allocation_failed(void)
{
	__atomic_fetch_add(&perch__failed_allocations, 1, __ATOMIC_RELAXED);
	return NULL;
}

int perch__asprintf(char **text, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vasprintf(text, format, arguments);
	va_end(arguments);
	if (length < 0)
		*text = perch__allocation_failed();
	return length;
}

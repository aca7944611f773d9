/* SPDX-License-Identifier: MIT */
/* Names of errnos. They are literal numbers: recordings come from other machines. */
#include <stddef.h>

#include "internal.h"

static const struct {
	int errnum;
	const char *name;
} errnos[] = {
#define ERRNO(errnum, name) { errnum, #name },
#include "errnos.def"
#undef ERRNO
	/* other names of the same */
	{ 11, "EWOULDBLOCK" },
	{ 35, "EDEADLOCK" },
	{ 95, "ENOTSUP" },
};

enum { NR_ERRNOS = sizeof(errnos) / sizeof(errnos[0]) };

const char *perch_errno_name(int errnum)
{
	for (size_t i = 0; i < NR_ERRNOS; i++)
		if (errnos[i].errnum == errnum)
			return errnos[i].name;
	return NULL;
}

int perch_errno_find(const char *name, size_t length)
{
	for (size_t i = 0; i < NR_ERRNOS; i++)
		if (strlen(errnos[i].name) == length && !memcmp(errnos[i].name, name, length))
			return errnos[i].errnum;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* The mode of code by its character, see struct perch_address. */
#ifndef PERCH_BASE_USER_MODE_H
#define PERCH_BASE_USER_MODE_H

#include <stdbool.h>

/* True for user space, of a guest too. */
static inline bool perch__is_user_mode(char cpumode_char)
{
	return cpumode_char == '.' || cpumode_char == 'u';
}

#endif

/* SPDX-License-Identifier: MIT */
#include <perch/version.h>

const char *perch_version(void)
{
	return PERCH_VERSION_STRING;
}

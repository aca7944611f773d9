/* SPDX-License-Identifier: MIT */
/**
 * @file
 * The version of the libraries. libperch and libperch-profile have the same version.
 *
 * Threads: any number of threads may call the function at the same time, after fork(2) and in
 * signal handlers too.
 */
#ifndef PERCH_VERSION_H
#define PERCH_VERSION_H

#include <perch/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of these headers, as numbers. */
#define PERCH_VERSION_MAJOR 0
#define PERCH_VERSION_MINOR 1
#define PERCH_VERSION_PATCH 0

/** The version of these headers, as text. */
#define PERCH_VERSION_STRING "0.1.0"

/** Whether these headers are at least of this version; for the preprocessor too. */
#define PERCH_VERSION_AT_LEAST(major, minor, patch) \
	(PERCH_VERSION_MAJOR > (major) ||           \
	 (PERCH_VERSION_MAJOR == (major) &&         \
	  (PERCH_VERSION_MINOR > (minor) ||         \
	   (PERCH_VERSION_MINOR == (minor) && PERCH_VERSION_PATCH >= (patch)))))

/**
 * Returns the version of the library that the program runs with. It differs from
 * PERCH_VERSION_STRING if the program was built with another version.
 *
 * @return a static string, such as "0.1.0"
 */
PERCH_API const char *perch_version(void);

#ifdef __cplusplus
}
#endif
#endif

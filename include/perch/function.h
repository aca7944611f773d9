/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Functions of files as sites of probes. Part of libperch-profile.
 *
 * Threads: thread-safe.
 *
 * Errors: a function that can fail fills err.
 *
 * Fork: there are no objects.
 *
 * Signals: no function is async-signal-safe.
 */
#ifndef PERCH_FUNCTION_H
#define PERCH_FUNCTION_H

#include <perch/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Finds the sites of a probe by debug information: for perch_machine_set_probe_finder().
 *
 * A probe at the first instruction of a function that was compiled without optimization moves to
 * the end of its first line if it has arguments, because the function stores its parameters before.
 *
 * @param request    the probe
 * @param[out] site the sites
 * @param most       elements of site
 * @param[out] err   the reason of a failure; NULL is allowed
 * @return the number of sites, or a negative errno
 * @retval -ENOENT  there is no such function, line or variable, or no debug information
 * @retval -EINVAL  wrong syntax of an argument
 * @retval -ENODATA a variable has no value there
 * @retval -ENOTSUP the kernel cannot read an argument
 */
PERCH_API int perch_find_probe(const struct perch_probe_request *request,
			       struct perch_probe_site *site, size_t most, struct perch_error *err);

#ifdef __cplusplus
}
#endif
#endif

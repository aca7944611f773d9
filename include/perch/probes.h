/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Definitions of probes in tracefs, for programs with several threads or children.
 *
 * The kernel cannot inherit an event whose attr points to a path or a function, as the attr of a
 * probe does. A probe that is defined in tracefs is a tracepoint, which has no path and can be
 * inherited. The definition stays in the kernel until it is removed.
 *
 * Errors: a function that can fail fills err.
 *
 * Threads: one thread at a time calls perch_probes_define(), and one uses an object.
 *
 * Fork: a child can free its copy, which then removes no definition.
 *
 * Signals: no function is async-signal-safe.
 */
#ifndef PERCH_PROBES_H
#define PERCH_PROBES_H

#include <perch/event.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Probes that are defined in tracefs. */
struct perch_probes;

/**
 * Defines the probes of a list in tracefs. Each event with a path or function (perch_event.path)
 * becomes the tracepoint of its definition, with the same name, and its group can be inherited.
 * Other events stay as they are.
 *
 * First it removes what programs of this pid namespace have left that were killed
 * (perch_probes_find_stale()).
 *
 * @param[out] probes    the definitions; NULL after a failure, or if the list has no probe
 * @param[in,out] events the events; after a failure only fit for perch_events_clear()
 * @param machine        the machine that has the events; NULL is this machine
 * @param[out] err       the reason of a failure; NULL is allowed
 * @return 0, or a negative errno
 * @retval -ENOENT  there is no tracefs, or no PMU of the event's type
 * @retval -EACCES  this user may not write to tracefs
 */
PERCH_API int perch_probes_define(struct perch_probes **probes, struct perch_events *events,
				  struct perch_machine *machine, struct perch_error *err);

/**
 * Removes the definitions and frees the object. Close the events before: the kernel keeps a
 * definition that is in use.
 *
 * @param probes  NULL is allowed
 */
PERCH_API void perch_probes_free(struct perch_probes *probes);

/** Definitions that programs have left. */
struct perch_stale_probes {
	size_t nr;	      /**< how many there are */
	char name[256];	      /**< one of them, in the group "perch": "p_4026531836_7_0" */
	uint64_t reserved[2]; /**< for members of later versions */
};

/**
 * Finds the definitions of programs of this pid namespace that were killed.
 *
 * @param tracefs     the directory where tracefs is mounted, see perch_machine_tracefs()
 * @param[out] stale  what was found; .nr is 0 if the directory cannot be read
 */
PERCH_API void perch_probes_find_stale(const char *tracefs, struct perch_stale_probes *stale);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Probes of files, and definitions of probes in tracefs, for their arguments, and for programs with
 * several threads or children.
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
 * becomes the tracepoint of its definition, with the same name, and its group can be inherited. Its
 * arguments (perch_event.arguments) become fields of the tracepoint. Other events stay as they are.
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

/**
 * Finds the file that a name in the text of a probe means: a path, or without a slash a program in
 * the environment variable PATH or a library in the usual directories ("libc").
 *
 * @param name         the name
 * @param[out] path    an absolute path below the root of the machine
 * @param size         bytes of path
 * @param machine      NULL is this machine
 * @param[out] err     the reason of a failure; NULL is allowed
 * @return 0, -ENOENT or -ENAMETOOLONG
 */
PERCH_API int perch_probe_file(const char *name, char *path, size_t size,
			       const struct perch_machine *machine, struct perch_error *err);

/** A site of a USDT probe: a static probe in a program or library. */
struct perch_usdt_probe {
	const char *provider; /**< "shop" of "usdt:./server:shop:sold" */
	const char *name;     /**< "sold" */
	uint64_t offset;      /**< of its instruction in the file */
	uint64_t counter;     /**< offset of its 16-bit reference counter in the file; 0 is none */
	const char *text; /**< the arguments as the file has them: "-4@%edi 8@16(%rbp)"; or "" */
	const char *arguments; /**< what the kernel can read of them, as in struct perch_event; or
				  NULL */
	const char *unread;    /**< the others, as in struct perch_event; or NULL */
	uint64_t reserved[4];  /**< for members of later versions */
};
/** Called for each site, with texts that live until it returns. Another result than 0 ends the
 * list. */
typedef int perch_usdt_visit(void *context, const struct perch_usdt_probe *probe);

/**
 * Lists the USDT probes of a file, in its order.
 *
 * @param path      of the file, below the root of the machine
 * @param machine   NULL is this machine
 * @param visit     is called for each site of each probe
 * @param context   its first argument
 * @param[out] err  the reason of a failure; NULL is allowed
 * @return 0, what visit returned, or a negative errno
 * @retval -EBADMSG the file is not an ELF file, or corrupt
 */
PERCH_API int perch_usdt_list(const char *path, const struct perch_machine *machine,
			      perch_usdt_visit *visit, void *context, struct perch_error *err);

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

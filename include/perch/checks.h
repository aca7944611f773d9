/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Checks of a machine: what this user can measure on it, and which changes permit more, as
 * perch-doctor(1) prints them.
 *
 * A check opens the events that it is about, disabled, and closes them at once; one loads a BPF
 * program and unloads it. Only a breakpoint on a variable of the library is enabled, to see whether
 * it fires. No check changes the system, or creates a kprobe or uprobe. All take some milliseconds.
 *
 * Threads: one thread per object and per machine at a time.
 *
 * Fork: the results are plain memory. A child can use and free its copy.
 *
 * Signals: no function is async-signal-safe.
 */
#ifndef PERCH_CHECKS_H
#define PERCH_CHECKS_H

#include <perch/machine.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a check has found. */
enum perch_check_status {
	PERCH_CHECK_OK,
	PERCH_CHECK_LIMITED, /**< a part works, or less than usual */
	PERCH_CHECK_NO,
	PERCH_CHECK_UNKNOWN, /**< the check could not find out */
	PERCH_CHECK_STATUSES /**< the number of values */
};

/** The result of a check. Its texts have no control characters. */
struct perch_check {
	const char *id;	   /**< stable: "count-user" */
	const char *group; /**< title of the checks that belong together: "Your own programs" */
	const char *title; /**< "count in user space" */
	enum perch_check_status status; /**< what the check has found */
	const char *cause;		/**< a slug of perch-causes(7), or NULL */
	char value[256];		/**< details of what was found; may be empty */
	char reason[640];		/**< why the status is not PERCH_CHECK_OK */
	char change[640];     /**< the smallest change that would help; empty if there is none */
	uint64_t reserved[4]; /**< for members of later versions */
};

/** Checks that were run. */
struct perch_checks;

/** How to run the checks. Zeros are the defaults. */
struct perch_checks_options {
	struct perch_machine *machine; /**< NULL is this machine */
	/** The program for which the changes are meant, as in "setcap cap_perfmon+ep
	 * $(command -v PROGRAM)"; NULL is perch. */
	const char *program;
	/** Loads a BPF program for events and unloads it, and returns 0 or a negative errno. NULL
	 * is perch_checks_load_program(). */
	int (*load_program)(void *context);
	void *context; /**< passed to load_program */
	/** A seccomp filter ends the process at perf_event_open(2), and the machine refuses the
	 * call in its place. */
	bool filter_kills;
	uint64_t reserved[4]; /**< must be 0 */
};

/**
 * Runs all checks.
 *
 * @param[out] checks  the results; NULL after a failure. Free it with perch_checks_free().
 * @param options      NULL is the defaults; not needed after the return
 * @param[out] err     the reason of a failure; NULL is allowed
 * @return 0, -ENOMEM, or -EINVAL for members of a later version. What the kernel refuses is a
 *         result.
 */
PERCH_API int perch_checks_run(struct perch_checks **checks,
			       const struct perch_checks_options *options, struct perch_error *err);

/**
 * Frees the results.
 *
 * @param checks  NULL is allowed
 */
PERCH_API void perch_checks_free(struct perch_checks *checks);

/**
 * Returns the results, those of a group one after the other.
 *
 * @param checks        the results
 * @param[out] results  an array, valid until perch_checks_free()
 * @return the number of results
 */
PERCH_API size_t perch_checks_results(const struct perch_checks *checks,
				      const struct perch_check **results);

/** Returns the result with an id, or NULL. It is valid until perch_checks_free(). */
PERCH_API const struct perch_check *perch_checks_find(const struct perch_checks *checks,
						      const char *id);

/** Returns true if this user can sample programs of their own, at least by a software clock. */
PERCH_API bool perch_checks_usable(const struct perch_checks *checks);

/** Returns "ok", "limited", "no" or "unknown". */
PERCH_API const char *perch_check_status_name(enum perch_check_status status);

/**
 * Loads the smallest BPF program for events and unloads it.
 *
 * @return 0 or a negative errno
 */
PERCH_API int perch_checks_load_program(void);

#ifdef __cplusplus
}
#endif
#endif

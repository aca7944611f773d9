/* SPDX-License-Identifier: MIT */
/**
 * @file
 * A program that is started to be measured: a child process that waits before its exec until the
 * events on it are open. With perch_options.enable_on_exec they start with the program itself.
 *
 *	struct perch_program program;
 *
 *	if (perch_program_start(&program, argv, NULL, NULL, &err) < 0)
 *		return -1;
 *	target.tid = program.pid;
 *	if (perch_counter_open(&counter, "cycles:u", &target, &options, &err) < 0)
 *		return perch_program_cancel(&program), -1;
 *	if (perch_program_release(&program, &err) < 0)
 *		return -1;
 *	waitpid(program.pid, &status, 0);
 *
 * In all functions err may be NULL.
 *
 * Threads: one thread per program at a time. A process with several threads can start programs. The
 * only process that the library makes is this child; if its exec fails, it ends by _exit(2).
 *
 * Signals: no function is async-signal-safe. No handler is changed: where SIGCHLD is ignored, the
 * program cannot be waited for. Nothing raises SIGPIPE.
 */
#ifndef PERCH_PROGRAM_H
#define PERCH_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <perch/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A program. All zeros: none, for perch_program_cancel(). */
struct perch_program {
	pid_t pid;	      /**< of its process, which the caller waits for */
	bool waits;	      /**< it was not released */
	int fd;		      /**< private */
	const char *name;     /**< private */
	uint64_t reserved[4]; /**< for members of later versions */
};

/** Called in the child after its release, before exec: only async-signal-safe functions. */
typedef void perch_program_prepare(void *context);

/**
 * Makes the child process, which waits for its release.
 *
 * @param[out] program  the program
 * @param argv          its name or path, its arguments, and NULL; must outlive the program
 * @param prepare       NULL: nothing
 * @param context       passed to prepare
 * @param[out] err      the reason of a failure
 * @return 0, or a negative errno
 */
PERCH_API int perch_program_start(struct perch_program *program, char *const *argv,
				  perch_program_prepare *prepare, void *context,
				  struct perch_error *err);

/**
 * Releases the program, and waits for its exec.
 *
 * @param program   the program
 * @param[out] err  the reason of a failure
 * @return 0, or a negative errno, with PERCH_ERROR_PROGRAM: it cannot be executed, and the child
 *         was waited for
 */
PERCH_API int perch_program_release(struct perch_program *program, struct perch_error *err);

/**
 * The first part of perch_program_release(). Waiting for the exec wakes the caller, which may take
 * the CPU from the program: the second part can follow when the program has ended.
 */
PERCH_API void perch_program_begin_release(struct perch_program *program);

/**
 * The second part. It waits for a child whose exec has failed, unless that was waited for: its exit
 * status is 127 if there is no program of the name, else 126.
 *
 * @param program   the program
 * @param[out] err  the reason of a failure
 * @return as perch_program_release()
 */
PERCH_API int perch_program_finish_release(struct perch_program *program, struct perch_error *err);

/** Ends a child that was not released, and waits for it. Other programs are left alone. */
PERCH_API void perch_program_cancel(struct perch_program *program);

#ifdef __cplusplus
}
#endif
#endif

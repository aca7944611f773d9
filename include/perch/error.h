/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Errors as values in the caller's memory.
 *
 * A function that can fail returns 0 (or a count) on success and a negative errno on failure. It
 * takes a struct perch_error as its last parameter, which may be NULL. Success leaves the error
 * unchanged.
 *
 * Threads: any number of threads may call these functions, for different errors. They allocate
 * nothing.
 *
 * Errors: these functions cannot fail; perch_error_print() returns what fprintf(3) returns.
 *
 * Fork: an error is plain memory. PERCH_ERROR_FORK (-ESTALE) is the error of functions on an object
 * that was opened before fork(2), in the parent process.
 *
 * Signals: a function is async-signal-safe only if its description says so: the others format text
 * by the functions of the C library.
 */
#ifndef PERCH_ERROR_H
#define PERCH_ERROR_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <perch/causes.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Marks functions and data that the shared objects export. */
#define PERCH_API __attribute__((visibility("default")))

/**
 * The kinds of errors, one per line: X(NAME, "slug", "meaning"). Programs decide by the kind. The
 * cause (perch/causes.h) is the exact reason of a refusal. Slugs are stable, so scripts may
 * match them.
 */
#define PERCH_ERROR_KINDS(X)                                                                       \
	X(NONE, "none", "no error")                                                                \
	X(SYSTEM, "system", "the kernel refused, and only its errno is known")                     \
	X(NO_MEMORY, "no-memory", "out of memory")                                                 \
	X(USAGE, "usage", "the arguments of the function are invalid")                             \
	X(SYNTAX, "syntax", "the event string cannot be parsed")                                   \
	X(UNKNOWN_EVENT, "unknown-event", "there is no event with this name")                      \
	X(UNKNOWN_PMU, "unknown-pmu", "this machine has no PMU with this name")                    \
	X(UNKNOWN_TERM, "unknown-term", "the PMU has no such term")                                \
	X(NOT_SUPPORTED, "not-supported", "this machine does not support the event")               \
	X(PARANOID, "paranoid", "kernel.perf_event_paranoid is too high for this user")            \
	X(PRIVILEGE, "privilege", "this process lacks a capability")                               \
	X(NO_PROCESS, "no-process", "the target process or thread does not exist")                 \
	X(NO_CPU, "no-cpu", "the CPU does not exist or is offline")                                \
	X(BAD_TARGET, "bad-target", "pid and cpu are no valid target")                             \
	X(FREQUENCY, "frequency", "the frequency is above kernel.perf_event_max_sample_rate")      \
	X(PERIOD, "period", "the sample period is out of range")                                   \
	X(BAD_FIELD, "bad-field", "an attr field has a value that the kernel does not support")    \
	X(CONFLICT, "conflict", "two attr fields exclude each other")                              \
	X(TOO_NEW, "too-new", "this kernel is older than the requested feature")                   \
	X(BAD_GROUP, "bad-group", "the event cannot join that group")                              \
	X(DESCRIPTORS, "descriptors", "no file descriptor is left")                                \
	X(MLOCK, "mlock", "the ring exceeds the memory that this user may lock")                   \
	X(STACK_DEPTH, "stack-depth", "the call chain is deeper than kernel.perf_event_max_stack") \
	X(BREAKPOINTS, "breakpoints", "all debug registers are in use")                            \
	X(BUSY, "busy", "the resource is in use: the same call may succeed later")                 \
	X(BLOCKED, "blocked", "a seccomp filter or security module blocks the call")               \
	X(NO_SYSCALL, "no-syscall", "the kernel has no perf_event_open")                           \
	X(SCHEDULE, "schedule", "a pinned event could not be scheduled")                           \
	X(SHORT_READ, "short-read", "read(2) returned fewer bytes than the read format has")       \
	X(FILE, "file", "a file cannot be opened, read or written")                                \
	X(FORMAT, "format", "the bytes are not in the expected format")                            \
	X(TRUNCATED, "truncated", "the file ends before its data")                                 \
	X(UNSUPPORTED_FILE, "unsupported-file", "this version does not read this kind of file")    \
	X(PROGRAM, "program", "the program cannot be started")                                     \
	X(FORK, "fork", "the object was opened before fork(2), in the parent process")

/** The kind of an error; see PERCH_ERROR_KINDS. */
enum perch_error_kind {
#define PERCH_ERROR_ENUM(name, slug, meaning) PERCH_ERROR_##name,
	PERCH_ERROR_KINDS(PERCH_ERROR_ENUM)
#undef PERCH_ERROR_ENUM
		PERCH_ERROR_MAX
};

/** An error. All strings are clean for a terminal: valid UTF-8 without control characters. */
struct perch_error {
	enum perch_error_kind kind; /**< for decisions of programs */
	enum perch_cause cause; /**< why the kernel refused; PERCH_CAUSE_NONE for other errors */
	int errnum;		/**< a positive errno; 0 when there is no error */
	/** byte offset of the error in the event string, the record or the text; -1 for none */
	int column;
	/** the wrong attr field, or pid, cpu, group_fd, flags; of a record, the field of
	 * perch-records(7); "" if unknown */
	char field[32];
	char since[8]; /**< first kernel release with the requested feature, such as "6.13"; or ""
			*/
	char message[512];    /**< what failed and why: one sentence in one line */
	char remedy[384];     /**< what to do: one sentence, or "" */
	char next[256];	      /**< what fails next after the remedy: one sentence, or "" */
	uint64_t reserved[8]; /**< for members of later versions */
};

/**
 * Fills an error. It clears cause, field, since, remedy and next; EMFILE has a remedy.
 *
 * @param[out] err  NULL is allowed
 * @param errnum    a positive errno
 * @param kind      the kind
 * @param format    the message as for printf(3); '?' replaces control characters and invalid UTF-8
 * in the result, so arguments may be untrusted
 * @return -errnum
 */
PERCH_API int perch_error_set(struct perch_error *err, int errnum, enum perch_error_kind kind,
			      const char *format, ...) __attribute__((format(printf, 4, 5)));
/**
 * Sets the wrong attr field.
 *
 * Async-signal-safe.
 *
 * @param err    NULL is allowed
 * @param field  the name of the field
 * @param since  first kernel release with the field, or NULL
 */
PERCH_API void perch_error_field(struct perch_error *err, const char *field, const char *since);
/**
 * Sets the remedy.
 *
 * @param err     NULL is allowed
 * @param format  as for perch_error_set()
 */
PERCH_API void perch_error_remedy(struct perch_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/**
 * Sets the cause of a refusal.
 *
 * Async-signal-safe.
 *
 * @param err    NULL is allowed
 * @param cause  the cause
 */
PERCH_API void perch_error_cause(struct perch_error *err, enum perch_cause cause);
/**
 * Sets what fails next.
 *
 * @param err     NULL is allowed
 * @param format  as for perch_error_set()
 */
PERCH_API void perch_error_next(struct perch_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/**
 * Inserts a text before the message: "a.data: " + message.
 *
 * @param err     NULL is allowed
 * @param format  as for perch_error_set()
 */
PERCH_API void perch_error_prefix(struct perch_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/**
 * Prints "message. remedy. Then: next.", without the empty parts, and a newline.
 *
 * @param stream  where to print
 * @param err     the error, not NULL
 * @return the number of bytes, or a negative number as fprintf(3)
 */
PERCH_API int perch_error_print(FILE *stream, const struct perch_error *err);

/** Returns the slug of a kind, such as "paranoid". Never NULL. Async-signal-safe. */
PERCH_API const char *perch_error_kind_slug(enum perch_error_kind kind);
/** Returns the meaning of a kind: a sentence without a period. Never NULL. Async-signal-safe. */
PERCH_API const char *perch_error_kind_meaning(enum perch_error_kind kind);

/** Returns the slug of a cause, such as "kernel-profiling". Never NULL. Async-signal-safe. */
PERCH_API const char *perch_cause_slug(enum perch_cause cause);
/** Returns the meaning of a cause: a sentence without a period. Never NULL. Async-signal-safe. */
PERCH_API const char *perch_cause_meaning(enum perch_cause cause);
/** Returns the kind of the errors with a cause. Async-signal-safe. */
PERCH_API enum perch_error_kind perch_cause_kind(enum perch_cause cause);

/**
 * Copies a string so that it is safe on a terminal: '?' replaces each control character, DEL, C1
 * control, line or paragraph separator, bidirectional control and byte of invalid UTF-8.
 *
 * Async-signal-safe.
 *
 * @param src       the untrusted string
 * @param[out] dst  the copy; it may be src
 * @param size      bytes of dst, with the final NUL
 * @return the length of the copy
 */
PERCH_API size_t perch_clean_text(const char *src, char *dst, size_t size);

#ifdef __cplusplus
}
#endif
#endif

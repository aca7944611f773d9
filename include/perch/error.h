/* SPDX-License-Identifier: MIT */
/*
 * What went wrong, as a value in the caller's memory.
 *
 * Every perch function that can fail returns 0 (or a count) on success and a negative errno on
 * failure, and takes as its last parameter a `struct perch_error *` which may be NULL. On success
 * the error is left untouched.
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

#define PERCH_API __attribute__((visibility("default")))

/*
 * The kinds of errors: one line each, `X(NAME, "slug", "meaning")`. Slugs are stable: scripts may
 * match them. A kind is what a program decides by; why exactly the kernel refused is the cause
 * (perch/causes.h).
 */
/* clang-format off */
#define PERCH_ERROR_KINDS(X)                                                                            \
	X(NONE, "none", "no error")                                                                \
	X(SYSTEM, "system", "the kernel said no, and nothing more is known than its errno")        \
	X(NO_MEMORY, "no-memory", "out of memory")                                                 \
	X(USAGE, "usage", "the caller asked for something that makes no sense")                    \
	X(SYNTAX, "syntax", "an event string that cannot be parsed")                               \
	X(UNKNOWN_EVENT, "unknown-event", "no event of that name")                                 \
	X(UNKNOWN_PMU, "unknown-pmu", "no PMU of that name on this machine")                       \
	X(UNKNOWN_TERM, "unknown-term", "a PMU term that the PMU's format does not have")          \
	X(NOT_SUPPORTED, "not-supported", "this machine has no hardware for the event")            \
	X(PARANOID, "paranoid", "kernel.perf_event_paranoid forbids it to this user")              \
	X(PRIVILEGE, "privilege", "it needs a capability that this process has not")               \
	X(NO_PROCESS, "no-process", "the target process or thread is gone")                        \
	X(NO_CPU, "no-cpu", "the CPU does not exist or is offline")                                \
	X(BAD_TARGET, "bad-target", "pid and CPU do not make a target")                            \
	X(FREQUENCY, "frequency", "above kernel.perf_event_max_sample_rate")                       \
	X(PERIOD, "period", "the sample period is out of range")                                   \
	X(BAD_FIELD, "bad-field", "an attr field has a value the kernel does not know")            \
	X(CONFLICT, "conflict", "two attr fields contradict each other")                           \
	X(TOO_NEW, "too-new", "this kernel is older than the feature asked for")                   \
	X(BAD_GROUP, "bad-group", "the event cannot join that group")                              \
	X(DESCRIPTORS, "descriptors", "no file descriptor left")                                   \
	X(MLOCK, "mlock", "more ring memory than this user may lock")                              \
	X(STACK_DEPTH, "stack-depth", "deeper callchains than kernel.perf_event_max_stack")        \
	X(BREAKPOINTS, "breakpoints", "all debug registers are in use")                            \
	X(BLOCKED, "blocked", "a seccomp filter or security module blocks the call")               \
	X(NO_SYSCALL, "no-syscall", "the kernel has no perf_event_open")                           \
	X(SCHEDULE, "schedule", "a pinned event lost its counter")                                 \
	X(SHORT_READ, "short-read", "the kernel gave fewer bytes than the read format has")        \
	X(FILE, "file", "a file cannot be opened, read or written")                                \
	X(FORMAT, "format", "the bytes are not what they claim to be")                             \
	X(TRUNCATED, "truncated", "the file ends before the data does")                            \
	X(UNSUPPORTED_FILE, "unsupported-file", "a file of a kind that this version does not read") \
	X(PROGRAM, "program", "the program cannot be started")
/* clang-format on */

enum perch_error_kind {
#define PERCH_ERROR_ENUM(name, slug, meaning) PERCH_ERROR_##name,
	PERCH_ERROR_KINDS(PERCH_ERROR_ENUM)
#undef PERCH_ERROR_ENUM
		PERCH_ERROR_MAX
};

struct perch_error {
	enum perch_error_kind kind;
	/* why the kernel refused; PERCH_CAUSE_NONE for errors that are not the kernel's */
	enum perch_cause cause;
	int errnum; /* positive errno; 0 when there is no error */
	/* byte offset into the event string at fault; -1 when there is none */
	int column;
	/* the attr field at fault, or pid, cpu, group_fd, flags; "" when unknown */
	char field[32];
	/* first kernel release that has what was asked, as "6.13"; "" when it does not matter */
	char since[8];
	/* what failed and why: one sentence, no newline, no control characters */
	char message[512];
	char remedy[384]; /* what to do: one sentence; "" when there is nothing to advise */
	/* what would fail next once that is mended: one sentence; "" when nothing is known to */
	char next[256];
};

/*
 * Fills *err (when not NULL) and returns -errnum. The message is formatted like printf, then
 * control characters and invalid UTF-8 in it are replaced by '?': it may hold names from outside.
 * cause, field, since, remedy and next are cleared.
 */
PERCH_API int perch_error_set(struct perch_error *err, int errnum, enum perch_error_kind kind,
			      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Adds the attr field at fault and, when not NULL, the kernel release that has it. NULL err is
 * fine. */
PERCH_API void perch_error_field(struct perch_error *err, const char *field, const char *since);

/* Adds the remedy, formatted like printf and cleaned as the message is. NULL err is fine. */
PERCH_API void perch_error_remedy(struct perch_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds the cause of a refusal. NULL err is fine. */
PERCH_API void perch_error_cause(struct perch_error *err, enum perch_cause cause);

/* Adds what would fail next, formatted like printf and cleaned as the message is. NULL err is fine.
 */
PERCH_API void perch_error_next(struct perch_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Puts text in front of the message: "a.data: " + message. NULL err is fine. */
PERCH_API void perch_error_prefix(struct perch_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Writes "message. remedy. Then: next.\n" to the stream, without what is empty. Returns what
 * fprintf returns. */
PERCH_API int perch_error_print(FILE *stream, const struct perch_error *err);

/* The stable slug of a kind, as "paranoid"; and what it means. Never NULL. */
PERCH_API const char *perch_error_kind_slug(enum perch_error_kind kind);
PERCH_API const char *perch_error_kind_meaning(enum perch_error_kind kind);

/* The stable slug of a cause, as "kernel-profiling", what it means, and its kind. Never NULL. */
PERCH_API const char *perch_cause_slug(enum perch_cause cause);
PERCH_API const char *perch_cause_meaning(enum perch_cause cause);
PERCH_API enum perch_error_kind perch_cause_kind(enum perch_cause cause);

/*
 * Copies src into dst (size bytes with the final NUL) for a terminal: each control character, each
 * separator of lines, each character that reorders text and each byte that is not UTF-8 becomes
 * '?'. Returns the length written.
 */
PERCH_API size_t perch_clean_text(char *dst, size_t size, const char *src);

#ifdef __cplusplus
}
#endif
#endif

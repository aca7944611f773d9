/* SPDX-License-Identifier: MIT */
/*
 * Logs of strace 4 and later. A log is untrusted input: the parsers work on a range of text with an
 * end, only move forward, and return false for text that they do not understand. A file calls only
 * files below its own:
 *
 *   strace.c          reads lines, joins system calls that strace split
 *   strace_calls.c    the system calls about events and their descriptors
 *   strace_attr.c     struct perf_event_attr
 *   strace_text.c     numbers, strings
 *   strace_names.c    constants of kernel headers
 *   strace_threads.c  threads of a log, and their unfinished system calls
 */
#ifndef PERCH_TRACE_STRACE_H
#define PERCH_TRACE_STRACE_H

#include "base/hash_table.h"
#include "trace.h"

/* The text that is not parsed yet. */
struct strace_text {
	const char *at, *end;
};

/* A part of the text. */
struct strace_token {
	const char *at;
	size_t length;
};

void strace_skip_spaces(struct strace_text *text);
/* Skips the word and returns true if the text begins with it. */
bool strace_accept(struct strace_text *text, const char *word);
/* Reads an identifier. Returns length 0 if there is none. */
struct strace_token strace_read_identifier(struct strace_text *text);
/* Reads a number with an optional sign: decimal, 0x hexadecimal, 0 octal. */
bool strace_read_number(struct strace_text *text, uint64_t *value);
/*
 * Reads a value, "PERF_SAMPLE_IP|0x40" or "1<<16|3", and its annotations: comments, and "<...>"
 * after descriptors and pids. note is the last annotation, and may be NULL. Returns false if there
 * is no value, or a name is unknown.
 */
bool strace_read_value(struct strace_text *text, uint64_t *value, struct strace_token *note);
/*
 * Reads a quoted string without its escapes, truncated to the buffer. Returns false if there is
 * none, or strace truncated it ("...").
 */
bool strace_read_string(struct strace_text *text, char *buffer, size_t size);
/* Skips a value of any kind, up to the ',' '}' ']' or ')' that ends it. */
void strace_skip_value(struct strace_text *text);
/* Skips ", ". */
bool strace_accept_comma(struct strace_text *text);

bool strace_token_is(const struct strace_token *token, const char *name);
/* Looks up a constant of the kernel's headers. Returns false if it is unknown. */
bool strace_lookup_constant(const struct strace_token *token, uint64_t *value);

/* As many bytes as the kernel reads at most. */
union strace_attr {
	struct perch_attr attr;
	char bytes[4096];
};

/* "{type=..., }": sets the attr, and attr, attr_is_partial and kernel_size of the call. */
bool strace_read_attr(struct strace_text *text, union strace_attr *attr,
		      struct perch_open_call *call);

#define STRACE_TEXT_MAX 65536 /* longer lines are truncated */

struct strace_thread {
	pid_t tid;
	pid_t process;
	char *unfinished; /* the first part of a system call, "name(arguments"; NULL if none */
	bool open_held;	  /* unfinished is "arguments) = result" of perf_event_open instead */
	bool adopted;	  /* strace_adopt_thread() found its parent */
};

struct strace_log {
	struct trace_job *job;
	struct strace_thread *thread;
	size_t nr_threads, capacity;
	struct perch__hash_table by_tid;
	size_t unfinished_bytes; /* of all threads */
	bool is_strace;		 /* at least one line has the form of strace's output */
	bool has_calls;		 /* or events of a process: not only a summary (-c) */
	bool has_summary;
	enum {
		STRACE_NO_SUMMARY,
		STRACE_HEADER,
		STRACE_ROWS,
		STRACE_TOTAL
	} summary;	  /* next line */
	bool without_pid; /* lines without a pid exist: they are of the first thread */
	pid_t first_tid;  /* the pid of that thread; 0 until it is known */
	char *cut_line;	  /* the start of a line that a message of strace interrupted */
};

/*
 * Handles a system call; text begins after "name(". Returns false if the system call is relevant
 * and could not be parsed.
 */
bool strace_parse_syscall(struct strace_log *log, pid_t thread, const struct strace_token *name,
			  struct strace_text text);

/* What the line after perf_event_open shows: a seccomp filter may have answered the call. */
enum strace_open_end {
	STRACE_OPEN_RETURNED,
	STRACE_OPEN_TRAPPED, /* SIGSYS was sent; the result is not one of the kernel */
	STRACE_OPEN_KILLED   /* no signal was sent: the kernel ended the process */
};
/* Handles an open call that was held until the next line of its thread, if there is one. */
void strace_end_open(struct strace_log *log, pid_t thread, enum strace_open_end end);
/* The same for all threads at the end of the log. */
void strace_end_opens(struct strace_log *log);

/* True if strace_parse_syscall() handles a system call of this name. */
bool strace_is_relevant(const struct strace_token *name);

/* Returns the process of a thread. A thread that no clone reported is its own process. */
pid_t strace_thread_process(const struct strace_log *log, pid_t thread);
void strace_add_thread(struct strace_log *log, pid_t thread, pid_t process);
bool strace_has_thread(const struct strace_log *log, pid_t thread);
/*
 * Adds a new thread. A child may have lines before the clone, fork or vfork that made it returns:
 * if one thread is in one of these, the new thread is its child.
 */
void strace_adopt_thread(struct strace_log *log, pid_t thread);
/* Returns true once if strace_adopt_thread() has handled the fork. */
bool strace_was_adopted(struct strace_log *log, pid_t thread);
void strace_remove_thread(struct strace_log *log, pid_t thread);
/* Saves the first part of a system call. Returns false if out of memory, or above a limit. */
bool strace_save_unfinished(struct strace_log *log, pid_t thread, const char *text, size_t length);
/* Returns the saved part, which the caller frees, or NULL. */
char *strace_take_unfinished(struct strace_log *log, pid_t thread);
/* The same for the text of an open call, which is held until the next line of its thread. */
bool strace_hold_open(struct strace_log *log, pid_t thread, const char *text, size_t length);
char *strace_take_open(struct strace_log *log, pid_t thread);
void strace_log_clear(struct strace_log *log);

/* Parses one line without its newline. */
void strace_parse_line(struct strace_log *log, const char *line, size_t length);

#endif

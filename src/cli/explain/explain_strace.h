/* SPDX-License-Identifier: MIT */
/*
 * Logs of strace, from its version 4 on. They come from anywhere: everything here works on a
 * stretch of text with an end, reads forward alone, and says when it cannot make sense of
 * something.
 */
#ifndef PERCH_CLI_EXPLAIN_STRACE_H
#define PERCH_CLI_EXPLAIN_STRACE_H

#include "explain.h"

struct strace_text {
	const char *at, *end;
};

/* A stretch of the text itself. */
struct strace_token {
	const char *at;
	size_t length;
};

void strace_skip_spaces(struct strace_text *text);
/* Goes past the word when the text begins with it. */
bool strace_accept(struct strace_text *text, const char *word);
/* An identifier; length 0 when there is none. */
struct strace_token strace_read_identifier(struct strace_text *text);
/* A plain number: decimal, 0x hex, 0 octal, with a sign. */
bool strace_read_number(struct strace_text *text, uint64_t *value);
/*
 * A value and what annotates it: "PERF_SAMPLE_IP|0x40", "1<<16|3", then comments and, of
 * descriptors and processes,
 * "<...>". note, when not NULL, is the last of these annotations. False when a name in it is not
 * known, or it is none.
 */
bool strace_read_value(struct strace_text *text, uint64_t *value, struct strace_token *note);
/* A quoted string with its escapes undone, cut to the buffer. False when it is none, or strace cut
 * it ("..."). */
bool strace_read_string(struct strace_text *text, char *buffer, size_t size);
/* Goes past a value of any kind, up to the ',' '}' ']' or ')' that ends it. */
void strace_skip_value(struct strace_text *text);
/* Goes past ", ". */
bool strace_accept_comma(struct strace_text *text);

bool strace_token_is(const struct strace_token *word, const char *name);
/* The number behind a name of the kernel's headers. */
bool strace_lookup_constant(const struct strace_token *word, uint64_t *value);

/* As long as the kernel reads at most. */
union strace_attr {
	struct perch_attr attr;
	char bytes[4096];
};

/* "{type=..., }": fills the attr and, of the call, attr, attr_is_partial and kernel_size. */
bool strace_attr(struct strace_text *text, union strace_attr *attr, struct perch_open_call *call);

/* A whole call: text is what stands behind "name(". False when it cannot be understood and should
 * be. */
struct strace_log;
bool strace_parse_syscall(struct strace_log *log, pid_t thread, const struct strace_token *name,
			  struct strace_text text);
/*
 * What the rules could not know, and what their order is without facts: the size of a partly known
 * attr that the kernel wrote back tells the two E2BIG apart, and a type of no known PMU need not be
 * a probe's.
 */
void strace_answer(const struct perch_open_call *call, const struct perch_machine *machine,
		   struct perch_explanation *explanation);
/* Whether a call of that name is of interest, so that it is kept while it is unfinished. */
bool strace_is_relevant(const struct strace_token *name);

/* Threads and unfinished calls; explain_strace_threads.c. */
#define STRACE_TEXT_MAX 65536 /* of a line: what is longer is cut */
struct strace_thread {
	struct strace_thread *next;
	pid_t tid;
	pid_t process;
	char *unfinished; /* "name(arguments" so far; NULL: none */
};

struct strace_log {
	struct explain_job *job;
	struct strace_thread *bucket[256];
	size_t threads;
	size_t kept; /* bytes of unfinished calls */
	bool any;    /* a line that strace may have written was seen */
	/* lines without a pid were seen: those of the first process */
	bool nameless;
	pid_t main; /* which it turned out to be; 0: not known yet */
	/* the beginning of a line that a message of strace's own came into */
	char *broken;
};

/* The process of a thread: itself, unless it was cloned as a thread of another. */
pid_t strace_thread_process(const struct strace_log *log, pid_t thread);
void strace_add_thread(struct strace_log *log, pid_t thread, pid_t process);
bool strace_has_thread(const struct strace_log *log, pid_t thread);
void strace_remove_thread(struct strace_log *log, pid_t thread);
/* Keeps the beginning of a call; gives it back, to be freed, or NULL. */
bool strace_save_unfinished(struct strace_log *log, pid_t thread, const char *text, size_t length);
char *strace_take_unfinished(struct strace_log *log, pid_t thread);
void strace_log_clear(struct strace_log *log);
/* One line, of any content, without its newline. */
void strace_parse_line(struct strace_log *log, const char *line, size_t length);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * perch explain --strace: the lines of a log. A line has a pid, a time and a system call; a system
 * call that strace split into two lines is joined.
 */
#define _GNU_SOURCE /* memmem */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "strace.h"

#define PID_MAX 4194304 /* the limit of Linux; a larger number is a time */

/* "[pid 12] ", "[pid 12<perf>] ", "12 ", "12<perf> " */
static bool accept_pid(struct strace_text *text, pid_t *pid)
{
	struct strace_text ahead = *text;
	bool brackets = strace_accept(&ahead, "[pid");
	uint64_t value;

	strace_skip_spaces(&ahead);
	if (ahead.at == ahead.end || !isdigit((unsigned char)*ahead.at) ||
	    !strace_read_value(&ahead, &value, NULL) || !value || value > PID_MAX)
		return false;
	if (brackets && !strace_accept(&ahead, "]"))
		return false;
	if (ahead.at == ahead.end || *ahead.at != ' ')
		return false;
	strace_skip_spaces(&ahead);
	*text = ahead;
	*pid = (pid_t)value;
	return true;
}

/* "12:30:59.123456 ", "1700000000.123 ", "     0.000123 (+     0.000123) ", "[ 298] ",
 * "[00007f1234567890] " */
static void skip_time(struct strace_text *text)
{
	for (;;) {
		struct strace_text ahead = *text;
		char close = '\0';

		strace_skip_spaces(&ahead);
		if (strace_accept(&ahead, "(+"))
			close = ')';
		else if (strace_accept(&ahead, "["))
			close = ']';
		strace_skip_spaces(&ahead);
		if (ahead.at == ahead.end || !isdigit((unsigned char)*ahead.at))
			return;
		while (ahead.at < ahead.end &&
		       (isxdigit((unsigned char)*ahead.at) || strchr(".:T+-", *ahead.at)) &&
		       *ahead.at)
			ahead.at++;
		if (close && (ahead.at == ahead.end || *ahead.at++ != close))
			return;
		if (ahead.at == ahead.end || *ahead.at != ' ')
			return;
		strace_skip_spaces(&ahead);
		*text = ahead;
	}
}

/*
 * Returns the thread of a line. strace -f writes no pid until there is a second process: the first
 * pid that is new then is that of the first thread, which has number 0 here.
 */
static pid_t line_thread(struct strace_log *log, bool has_pid, pid_t pid)
{
	if (!has_pid) {
		log->without_pid = true;
		return 0;
	}
	if (log->without_pid && !log->first_tid && !strace_has_thread(log, pid))
		log->first_tid = pid;
	return pid == log->first_tid ? 0 : pid;
}

/* "+++ exited with 0 +++", "--- SIGCHLD {...} ---", " > /lib/libc.so.6(read+0x12) [0x123]", and
 * messages of strace. */
static bool is_not_syscall(const struct strace_text *text)
{
	static const char *const beginnings[] = { "---", "+++", "strace: ", ">", "Process ", "%" };

	for (size_t i = 0; i < TRACE_NR(beginnings); i++) {
		struct strace_text ahead = *text;

		if (strace_accept(&ahead, beginnings[i]))
			return true;
	}
	return text->at == text->end;
}

/* "strace: Process 12 attached" comes before the first line of a thread. */
static void handle_attached(struct strace_log *log, struct strace_text text)
{
	uint64_t pid;

	strace_accept(&text, "strace: ");
	if (strace_accept(&text, "Process ") && strace_read_number(&text, &pid) &&
	    strace_accept(&text, " attached") && pid && pid <= PID_MAX &&
	    !strace_has_thread(log, (pid_t)pid) && log->without_pid)
		strace_adopt_thread(log, (pid_t)pid);
}

/* Ends an open call that a seccomp filter may have answered: the next line of its thread shows it.
 */
static void end_open(struct strace_log *log, pid_t thread, struct strace_text text)
{
	const bool is_signal = strace_accept(&text, "---"), is_end = strace_accept(&text, "+++");

	if (!is_signal && !is_end && is_not_syscall(&text))
		return; /* part of the open call, as its stack (-k), or of no thread */
	strace_skip_spaces(&text);
	if (is_end && strace_accept(&text, "killed by SIGSYS"))
		strace_end_open(log, thread, STRACE_OPEN_KILLED);
	else if (is_signal && strace_accept(&text, "SIGSYS"))
		strace_end_open(log, thread, STRACE_OPEN_TRAPPED);
	else
		strace_end_open(log, thread, STRACE_OPEN_RETURNED);
}

static void handle_exit(struct strace_log *log, pid_t thread, struct strace_text text)
{
	struct strace_text ahead = text;

	log->has_calls |= strace_accept(&ahead, "--- ") || strace_accept(&ahead, "+++");
	log->is_strace |= log->has_calls || strace_accept(&ahead, "strace: ");
	if (strace_accept(&text, "+++ exited") || strace_accept(&text, "+++ killed"))
		strace_remove_thread(log, thread);
}

static bool ends_with(const struct strace_text *text, const char *word)
{
	size_t length = strlen(word);

	return (size_t)(text->end - text->at) >= length &&
	       !memcmp(text->end - length, word, length);
}

/* Whether a ')' and spaces are before a "= ": other texts have names and parentheses, too. */
static bool has_result(struct strace_text text)
{
	while (text.at < text.end)
		if (*text.at++ == ')' && text.at < text.end && *text.at == ' ') {
			strace_skip_spaces(&text);
			if (strace_accept(&text, "= "))
				return true;
		}
	return false;
}

/* "name(arguments) = result" */
static bool parse_whole(struct strace_log *log, pid_t thread, struct strace_text text)
{
	struct strace_token name = strace_read_identifier(&text);
	bool relevant = strace_is_relevant(&name);

	if (!name.length || !strace_accept(&text, "(") || (!relevant && !has_result(text)))
		return false;
	log->is_strace = log->has_calls = true;
	return strace_parse_syscall(log, thread, &name, text);
}

/* "name(arguments <unfinished ...>" */
static bool parse_unfinished(struct strace_log *log, pid_t thread, struct strace_text text)
{
	struct strace_text ahead = text;
	struct strace_token name = strace_read_identifier(&ahead);

	if (!name.length || !strace_accept(&ahead, "("))
		return false;
	log->is_strace = log->has_calls = true;
	text.end -= strlen("<unfinished ...>");
	while (text.end > text.at && text.end[-1] == ' ')
		text.end--;
	return !strace_is_relevant(&name) ||
	       strace_save_unfinished(log, thread, text.at, text.end - text.at);
}

/* "<... name resumed>rest"; up to strace 5 with a space before the '>' */
static bool parse_resumed(struct strace_log *log, pid_t thread, struct strace_text text)
{
	struct strace_token name;
	size_t before, after;
	char *first, *joined;
	bool parsed;

	strace_skip_spaces(&text);
	name = strace_read_identifier(&text);
	strace_skip_spaces(&text);
	if (!name.length || !strace_accept(&text, "resumed"))
		return false;
	strace_skip_spaces(&text);
	if (!strace_accept(&text, ">"))
		return false;
	log->is_strace = log->has_calls = true;
	if (!strace_is_relevant(&name))
		return true;
	first = strace_take_unfinished(log, thread);
	before = first ? strlen(first) : 0;
	after = text.end - text.at;
	if (before <= name.length || memcmp(first, name.at, name.length) ||
	    first[name.length] != '(') {
		free(first);
		return false;
	}
	joined = realloc(first, before + after + 1);
	if (!joined) {
		free(first);
		return false;
	}
	memcpy(joined + before, text.at, after);
	parsed = parse_whole(log, thread, (struct strace_text){ joined, joined + before + after });
	free(joined);
	return parsed;
}

/*
 * strace may write a message in the middle of a line. The start of the line is saved; the rest is
 * the next line.
 */
static bool save_cut_line(struct strace_log *log, const char *line, size_t length)
{
	const char *message = memmem(line, length, "strace: Process ", strlen("strace: Process "));
	struct strace_text text = { message, line + length };

	if (!message || message == line || !ends_with(&text, " attached"))
		return false;
	handle_attached(log, text);
	free(log->cut_line);
	/* without memory, the rest of the line is unreadable */
	log->cut_line = strndup(line, message - line);
	return true;
}

/* "------ ----------- ---------" */
static bool is_rule(struct strace_text text)
{
	if (!strace_accept(&text, "---"))
		return false;
	while (text.at < text.end && (*text.at == '-' || *text.at == ' '))
		text.at++;
	return text.at == text.end;
}

/* "% time     seconds  usecs/call     calls    errors syscall"; -U selects the columns */
static bool is_header(struct strace_text text)
{
	static const char *const columns[] = { "% time",   "seconds", "usecs/call", "calls",
					       "errors",   "syscall", "shortest",   "longest",
					       "min time", "max time" };

	for (size_t i = 0; i < TRACE_NR(columns); i++) {
		struct strace_text ahead = text;

		if (strace_accept(&ahead, columns[i]) &&
		    (ahead.at == ahead.end || *ahead.at == ' '))
			return true;
	}
	return false;
}

/*
 * True for a line of the summary that strace -c and -C print: a header, rows between two rules, and
 * the total.
 */
static bool is_summary(struct strace_log *log, const struct strace_text *text)
{
	if (memchr(text->at, '(', text->end - text->at)) {
		log->summary = STRACE_NO_SUMMARY; /* a system call, or the end is missing */
		return false;
	}
	switch (log->summary) {
	case STRACE_HEADER:
		log->summary = is_rule(*text) ? STRACE_ROWS : STRACE_NO_SUMMARY;
		log->has_summary |= log->summary == STRACE_ROWS;
		return log->summary == STRACE_ROWS;
	case STRACE_ROWS:
		if (is_rule(*text))
			log->summary = STRACE_TOTAL;
		return true;
	case STRACE_TOTAL:
		log->summary = STRACE_NO_SUMMARY;
		return true;
	default:
		if (is_header(*text))
			log->summary = STRACE_HEADER;
		return log->summary == STRACE_HEADER;
	}
}

static bool parse_joined_line(struct strace_log *log, const char *line, size_t length)
{
	struct strace_text text = { line, line + length };
	bool has_pid;
	pid_t pid = 0, thread;

	strace_skip_spaces(&text);
	if (is_summary(log, &text))
		return true;
	if (is_not_syscall(&text)) {
		handle_attached(log, text);
		end_open(log, 0, text);
		handle_exit(log, 0, text);
		return true;
	}
	has_pid = accept_pid(&text, &pid);
	skip_time(&text);
	thread = line_thread(log, has_pid, pid);
	if (has_pid)
		strace_adopt_thread(log, thread);
	end_open(log, thread, text);
	if (is_not_syscall(&text)) {
		handle_exit(log, thread, text);
		return true;
	}
	if (strace_accept(&text, "<..."))
		return parse_resumed(log, thread, text);
	if (ends_with(&text, "<unfinished ...>"))
		return parse_unfinished(log, thread, text);
	return parse_whole(log, thread, text);
}

void strace_parse_line(struct strace_log *log, const char *line, size_t length)
{
	bool was_cut = log->cut_line != NULL;
	char *before, *joined = NULL;
	size_t used;

	if (save_cut_line(log, line, length)) {
		log->job->unreadable += was_cut;
		return;
	}
	before = log->cut_line;
	if (before) {
		used = strlen(before);
		joined = realloc(before, used + length + 1);
		if (!joined)
			free(before);
		else
			memcpy(joined + used, line, length);
		log->cut_line = NULL;
		line = joined;
		length = joined ? length + used : 0;
	}
	if (!line || !parse_joined_line(log, line, length))
		log->job->unreadable++;
	free(joined);
}

/* Reads a line and truncates it to STRACE_TEXT_MAX. Returns false at the end of the file. */
static bool read_line(FILE *file, char *line, size_t *length)
{
	int c = getc(file);

	*length = 0;
	if (c == EOF)
		return false;
	for (; c != EOF && c != '\n'; c = getc(file))
		if (*length < STRACE_TEXT_MAX)
			line[(*length)++] = (char)c;
	if (*length && line[*length - 1] == '\r')
		(*length)--;
	return true;
}

static int read_lines(struct strace_log *log, FILE *file)
{
	char *line = malloc(STRACE_TEXT_MAX);
	size_t length;

	if (!line)
		return ENOMEM;
	errno = 0;
	while (read_line(file, line, &length))
		strace_parse_line(log, line, length);
	strace_end_opens(log);
	free(line);
	return ferror(file) ? errno ? errno : EIO : 0;
}

static int check_log(const struct strace_log *log, const char *name, int error,
		     struct perch_error *err)
{
	if (error) {
		perch_error_set(err, error, PERCH_ERROR_FILE, "cannot read %s: %s", name,
				strerror(error));
		if (error == ENOENT)
			perch_error_remedy(err, "Check the path");
	} else if (log->has_calls || (log->is_strace && !log->has_summary)) {
		return 0;
	} else {
		if (log->has_summary)
			perch_error_set(err, EINVAL, PERCH_ERROR_FILE,
					"%s is a summary of strace (-c), which has no system calls",
					name);
		else
			perch_error_set(err, EINVAL, PERCH_ERROR_FILE,
					"%s is not a log of strace: %s", name,
					log->job->unreadable ? "it has no line with a system call"
							     : "it has no lines");
		perch_error_remedy(
			err,
			"record one with strace -f -v -e trace=perf_event_open,ioctl,mmap,read,readv,close,clone,"
			"clone3,fork,vfork,execve -o log PROGRAM");
	}
	return -err->errnum;
}

int trace_read_strace(struct trace_job *job, const char *path, struct perch_error *err)
{
	struct strace_log log = { .job = job };
	bool standard = !strcmp(path, "-");
	FILE *file = standard ? stdin : fopen(path, "re");
	int error = file ? read_lines(&log, file) : errno;

	if (file && !standard)
		fclose(file);
	strace_log_clear(&log);
	return check_log(&log, standard ? "stdin" : path, error, err);
}

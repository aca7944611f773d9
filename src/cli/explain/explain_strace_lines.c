/* SPDX-License-Identifier: MIT */
/* Lines of a log: whose they are, when it was, and which call; calls that were told in two halves
 * are put together. */
#define _GNU_SOURCE /* memmem */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "explain_strace.h"
#include "options.h"

#define PID_MAX 4194304 /* of Linux; a higher number is a time */

/* "[pid 12] ", "[pid 12<perf>] ", "12 ", "12<perf> " */
static bool take_pid(struct strace_text *text, pid_t *pid)
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

/* Which thread the line is of. Until a second one comes the first has no number. */
static pid_t thread_of(struct strace_log *log, bool numbered, pid_t pid)
{
	if (!numbered) {
		log->nameless = true;
		return 0;
	}
	if (log->nameless && !log->main && !strace_has_thread(log, pid))
		log->main = pid;
	return pid == log->main ? 0 : pid;
}

/* "+++ exited with 0 +++", "--- SIGCHLD {...} ---", " > /lib/libc.so.6(read+0x12) [0x123]", notes
 * of strace's own. */
static bool is_other(const struct strace_text *text)
{
	static const char *const beginnings[] = { "---", "+++", "strace: ", ">", "Process ", "%" };

	for (size_t i = 0; i < CLI_NR(beginnings); i++) {
		struct strace_text ahead = *text;

		if (strace_accept(&ahead, beginnings[i]))
			return true;
	}
	return text->at == text->end;
}

/* "strace: Process 12 attached" tells of a thread before its own lines do. */
static void note_attached(struct strace_log *log, struct strace_text text)
{
	uint64_t pid;

	strace_accept(&text, "strace: ");
	if (strace_accept(&text, "Process ") && strace_read_number(&text, &pid) &&
	    strace_accept(&text, " attached") && pid && pid <= PID_MAX &&
	    !strace_has_thread(log, (pid_t)pid) && log->nameless)
		strace_add_thread(log, (pid_t)pid, (pid_t)pid);
}

static void ended(struct strace_log *log, pid_t thread, struct strace_text text)
{
	struct strace_text ahead = text;

	log->any |= strace_accept(&ahead, "---") || strace_accept(&ahead, "+++") ||
		    strace_accept(&ahead, "strace: ");
	if (strace_accept(&text, "+++ exited") || strace_accept(&text, "+++ killed"))
		strace_remove_thread(log, thread);
}

static bool ends(const struct strace_text *text, const char *word)
{
	size_t length = strlen(word);

	return (size_t)(text->end - text->at) >= length &&
	       !memcmp(text->end - length, word, length);
}

/* "name(arguments) = result" */
static bool whole(struct strace_log *log, pid_t thread, struct strace_text text)
{
	struct strace_token name = strace_read_identifier(&text);

	if (!name.length || !strace_accept(&text, "("))
		return false;
	log->any = true;
	return strace_parse_syscall(log, thread, &name, text);
}

/* "name(arguments <unfinished ...>" */
static bool begun(struct strace_log *log, pid_t thread, struct strace_text text)
{
	struct strace_text ahead = text;
	struct strace_token name = strace_read_identifier(&ahead);

	if (!name.length || !strace_accept(&ahead, "("))
		return false;
	log->any = true;
	text.end -= strlen("<unfinished ...>");
	while (text.end > text.at && text.end[-1] == ' ')
		text.end--;
	return !strace_is_relevant(&name) ||
	       strace_save_unfinished(log, thread, text.at, text.end - text.at);
}

/* "<... name resumed>rest", with a space before the '>' up to version 5 */
static bool resumed(struct strace_log *log, pid_t thread, struct strace_text text)
{
	struct strace_token name;
	size_t before, after;
	char *kept, *joined;
	bool good;

	strace_skip_spaces(&text);
	name = strace_read_identifier(&text);
	strace_skip_spaces(&text);
	if (!name.length || !strace_accept(&text, "resumed"))
		return false;
	strace_skip_spaces(&text);
	if (!strace_accept(&text, ">"))
		return false;
	log->any = true;
	if (!strace_is_relevant(&name))
		return true;
	kept = strace_take_unfinished(log, thread);
	before = kept ? strlen(kept) : 0;
	after = text.end - text.at;
	if (before <= name.length || memcmp(kept, name.at, name.length) ||
	    kept[name.length] != '(') {
		free(kept);
		return false;
	}
	joined = realloc(kept, before + after + 1);
	if (!joined) {
		free(kept);
		return false;
	}
	memcpy(joined + before, text.at, after);
	good = whole(log, thread, (struct strace_text){ joined, joined + before + after });
	free(joined);
	return good;
}

/* A message of strace's own, put where the line was just being written: the rest comes with the
 * next. */
static bool is_broken(struct strace_log *log, const char *line, size_t length)
{
	const char *message = memmem(line, length, "strace: Process ", strlen("strace: Process "));
	struct strace_text text = { message, line + length };

	if (!message || message == line || !ends(&text, " attached"))
		return false;
	note_attached(log, text);
	free(log->broken);
	/* for want of memory the rest will be unreadable */
	log->broken = strndup(line, message - line);
	return true;
}

static bool understood(struct strace_log *log, const char *line, size_t length)
{
	struct strace_text text = { line, line + length };
	bool numbered;
	pid_t pid = 0, thread;

	strace_skip_spaces(&text);
	if (is_other(&text)) {
		note_attached(log, text);
		ended(log, 0, text);
		return true;
	}
	numbered = take_pid(&text, &pid);
	skip_time(&text);
	thread = thread_of(log, numbered, pid);
	if (is_other(&text)) {
		ended(log, thread, text);
		return true;
	}
	if (strace_accept(&text, "<..."))
		return resumed(log, thread, text);
	if (ends(&text, "<unfinished ...>"))
		return begun(log, thread, text);
	return whole(log, thread, text);
}

void strace_parse_line(struct strace_log *log, const char *line, size_t length)
{
	bool cut = log->broken != NULL;
	char *before, *joined = NULL;
	size_t used;

	if (is_broken(log, line, length)) {
		log->job->unreadable += cut;
		return;
	}
	before = log->broken;
	if (before) {
		used = strlen(before);
		joined = realloc(before, used + length + 1);
		if (!joined)
			free(before);
		else
			memcpy(joined + used, line, length);
		log->broken = NULL;
		line = joined;
		length = joined ? length + used : 0;
	}
	if (!line || !understood(log, line, length))
		log->job->unreadable++;
	free(joined);
}

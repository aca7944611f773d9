/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <perch/version.h>

#include "messages.h"

#define CARET_MAX 120 /* bytes printed before the wrong character */

const char cli_version[] = PERCH_VERSION_STRING;

static void (*shows)(const char *text); /* of cli_show_messages_by() */

enum { MOST_MESSAGE = 4096 };

static void clean_message(char clean[MOST_MESSAGE], const char *format, va_list list)
{
	char text[MOST_MESSAGE];

	vsnprintf(text, sizeof(text), format, list);
	perch_clean_text(text, clean, MOST_MESSAGE);
}

static struct {
	const char *path;
	unsigned line;
} position;

void cli_set_position(const char *path, unsigned line)
{
	position.path = path;
	position.line = line;
}

/* Begins a message to stderr. */
static void put_command(const char *command)
{
	fprintf(stderr, "perch %s: ", command);
	if (!position.path)
		return;
	cli_put_clean(stderr, position.path);
	fprintf(stderr, ":%u: ", position.line);
}

int cli_usage_error(const char *command, const char *format, ...)
{
	char clean[MOST_MESSAGE];
	va_list list;

	va_start(list, format);
	clean_message(clean, format, list);
	va_end(list);
	/* a text that ends with a question needs no period */
	put_command(command);
	fprintf(stderr, "%s%s 'perch help %s' shows the options.\n", clean,
		clean[0] && clean[strlen(clean) - 1] == '?' ? "" : ".", command);
	return CLI_EXIT_USAGE;
}

int cli_refuse_both(const char *command, const char *one, const char *other)
{
	return cli_usage_error(command, "%s and %s exclude each other: choose one", one, other);
}

int cli_no_memory(const char *command)
{
	cli_note(command, "out of memory");
	return CLI_EXIT_FAILURE;
}

int cli_error(const char *command, const struct perch_error *err)
{
	put_command(command);
	perch_error_print(stderr, err);
	return CLI_EXIT_FAILURE;
}

/* Terminal columns of the first bytes of the text, with one column per character. */
static int columns(const char *text, int bytes)
{
	int nr = 0;

	for (int i = 0; i < bytes && text[i]; i++)
		nr += ((unsigned char)text[i] & 0xc0) != 0x80;
	return nr;
}

/* The library names the directories of the names; the command has a subcommand that lists them.
 * Other remedies stay: names of functions, of libpfm4 and of terms are in other lists. */
static void print_event_error(const char *command, const struct perch_error *err)
{
	struct perch_error advised = *err;
	bool unknown = err->kind == PERCH_ERROR_UNKNOWN_EVENT ||
		       err->kind == PERCH_ERROR_UNKNOWN_PMU ||
		       err->kind == PERCH_ERROR_UNKNOWN_TERM;

	if (unknown && (strstr(err->remedy, "/sys/bus/event_source/devices") ||
			strstr(err->remedy, "tracefs has a directory")))
		perch_error_remedy(&advised, "'perch list' shows the events of this machine");
	cli_error(command, &advised);
}

/* Prints the part of the text around the error, in one line. */
int cli_event_error(const char *command, const char *events, const struct perch_error *err)
{
	char before[256], part[256], clean[256];
	const char *from = events;
	int column = err->column;

	print_event_error(command, err);
	if (column < 0 || (size_t)column > strlen(events) || !events[strspn(events, " \t\n")])
		return CLI_EXIT_USAGE;
	if (column > CARET_MAX) {
		from = events + column - CARET_MAX / 2;
		while (((unsigned char)*from & 0xc0) == 0x80)
			from++;
		column -= (int)(from - events);
	}
	snprintf(part, sizeof(part), "%.*s", column, from);
	perch_clean_text(part, before, sizeof(before));
	perch_clean_text(from, clean, sizeof(clean));
	fprintf(stderr, "  %s%s\n  %*s%s^\n", from > events ? "..." : "", clean,
		columns(before, sizeof(before)), "", from > events ? "   " : "");
	return CLI_EXIT_USAGE;
}

void cli_note(const char *command, const char *format, ...)
{
	char clean[MOST_MESSAGE];
	va_list list;

	va_start(list, format);
	clean_message(clean, format, list);
	va_end(list);
	if (shows)
		shows(clean);
	else
		fprintf(stderr, "perch %s: %s\n", command, clean);
}

void cli_show_messages_by(void (*show)(const char *text))
{
	shows = show;
}

void cli_put_progress(const char *command, const char *text)
{
	static bool is_shown;

	if (shows)
		shows(text);
	else if (text[0])
		fprintf(stderr, "\r\033[Kperch %s: %s", command, text);
	else if (is_shown)
		fputs("\r\033[K", stderr);
	is_shown = text[0];
}

static bool pipe_ignored;

/* True if nothing reads the pipe that is stdout any more. */
static bool is_pipe_closed(void)
{
	struct pollfd output = { STDOUT_FILENO, POLLOUT, 0 };

	return poll(&output, 1, 0) > 0 && output.revents & POLLERR;
}

void cli_survive_closed_pipe(void)
{
	struct sigaction action;

	/* the pager has a handler */
	if (sigaction(SIGPIPE, NULL, &action) || action.sa_handler != SIG_DFL)
		return;
	signal(SIGPIPE, SIG_IGN);
	pipe_ignored = true;
}

void cli_end_by_closed_pipe(void)
{
	if (!pipe_ignored || !ferror(stdout) || !is_pipe_closed())
		return;
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
}

int cli_check_stdout(const char *command, int error)
{
	static bool reported;

	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	if (pipe_ignored && is_pipe_closed())
		return CLI_EXIT_FAILURE;
	if (!error)
		error = errno ? errno : EIO;
	if (!reported)
		cli_note(command, "the output is incomplete: standard output cannot be written: %s",
			 strerror(error));
	reported = true;
	return CLI_EXIT_FAILURE;
}

void cli_put_clean(FILE *stream, const char *text)
{
	char clean[4096];

	perch_clean_text(text, clean, sizeof(clean));
	fputs(clean, stream);
}

void cli_make_field(char *text, const char *separator)
{
	for (; *text; text++)
		*text = cli_field_character(*text, separator);
}

void cli_progress(const char *what, uint64_t done, uint64_t total)
{
	static int shown = -1;
	int percent = total ? (int)(done * 100 / total) : 100;

	/* a pager may have replaced stderr since the last call */
	if ((percent == shown && done < total) || !isatty(STDERR_FILENO))
		return;
	shown = percent;
	if (done >= total)
		fprintf(stderr, "\r%*s\r", (int)strlen(what) + 6, "");
	else
		fprintf(stderr, "\r%s %3d%%", what, percent);
	fflush(stderr);
}

/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files/io.h"
#include "pager.h"

#define HELD_MAX (64u << 10) /* more text does not fit on any screen; the capacity of a pipe */

bool cli_no_pager;

static pid_t child; /* holds the text; 0 when output is not paged */
static unsigned columns;

/* Text that is held until it is known whether it fits, and then whether the pager exists. */
struct held {
	char text[2 * HELD_MAX];
	size_t used;
	unsigned rows, column;
};

static bool terminal_size(struct winsize *size)
{
	if (!isatty(STDOUT_FILENO))
		return false;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, size) || !size->ws_col || !size->ws_row)
		*size = (struct winsize){ .ws_col = 80, .ws_row = 24 };
	return true;
}

unsigned cli_terminal_columns(void)
{
	struct winsize size;

	if (!child)
		columns = terminal_size(&size) ? size.ws_col : 0;
	return columns;
}

/* The pager as a command of the shell; NULL for none. */
static const char *pager_command(void)
{
	const char *term = getenv("TERM"), *pager = getenv("PERCH_PAGER");

	if (cli_no_pager || !term || !strcmp(term, "dumb"))
		return NULL;
	if (!pager)
		pager = getenv("PAGER");
	if (!pager)
		return "less 2>/dev/null || more";
	return pager[0] && strcmp(pager, "cat") ? pager : NULL;
}

static ssize_t read_some(int fd, char *text, size_t size)
{
	ssize_t got;

	do
		got = read(fd, text, size);
	while (got < 0 && errno == EINTR);
	return got;
}

/* Counts the rows that new text takes on the screen. A character is taken as one column. */
static void count_rows(struct held *held, size_t from, unsigned width)
{
	for (size_t i = from; i < held->used; i++) {
		if (held->text[i] == '\n') {
			held->rows++;
			held->column = 0;
		} else if (((unsigned char)held->text[i] & 0xc0) != 0x80 &&
			   ++held->column > width) {
			held->rows++;
			held->column = 1;
		}
	}
}

/* Starts the pager. Returns the descriptor of its input, or -1. */
static int start_pager(const char *command, pid_t *pid)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	*pid = fork();
	if (*pid == 0) {
		signal(SIGINT, SIG_DFL);
		signal(SIGQUIT, SIG_DFL);
		signal(SIGPIPE, SIG_DFL);
		dup2(ends[0], STDIN_FILENO);
		setenv("LESS", "FRX", 0);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	close(ends[0]);
	if (*pid > 0)
		return ends[1];
	close(ends[1]);
	return -1;
}

/* Copies the rest of the input. Returns false if the output cannot be written. */
static bool copy_output(int input, int output, struct held *held)
{
	ssize_t got;

	while ((got = read_some(input, held->text, sizeof(held->text))) > 0)
		if (perch__write_all(output, held->text, got))
			return false;
	return true;
}

/*
 * Passes the held text and the rest of the input to the pager. Text is added to the held one as
 * long as the pipe may have all of it, so that it is not lost if the shell does not find the pager.
 * Returns false then.
 */
static bool pass_to_pager(int input, struct held *held, int pager, pid_t pid)
{
	bool ok = !perch__write_all(pager, held->text, held->used);
	bool found = false;
	ssize_t got = 1;
	int status = 0;

	while (ok && got > 0 && !found) {
		got = read_some(input, held->text + held->used, HELD_MAX);
		if (got <= 0)
			break;
		ok = !perch__write_all(pager, held->text + held->used, got);
		held->used += got;
		found = ok && held->used > HELD_MAX; /* it has read */
	}
	if (found)
		copy_output(input, pager, held);
	close(pager);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return found || !WIFEXITED(status) ||
	       (WEXITSTATUS(status) != 126 && WEXITSTATUS(status) != 127);
}

/* Shows the held text and the rest of the input in the pager, or on the terminal without one. */
static void page(int input, struct held *held, const char *command)
{
	pid_t pid = -1;
	int pager = start_pager(command, &pid);

	if ((pager < 0 || !pass_to_pager(input, held, pager, pid)) &&
	    !perch__write_all(STDOUT_FILENO, held->text, held->used))
		copy_output(input, STDOUT_FILENO, held);
	/* when the pager has ended, the closed pipe ends the command, too */
	close(input);
}

/* The child process: holds the text until it is known whether it fits on the screen. */
static void hold(int input, const struct winsize *size, const char *command)
{
	static struct held held;
	ssize_t got;

	/* Ctrl-C is for the command and for the pager */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	while ((got = read_some(input, held.text + held.used, HELD_MAX - held.used)) > 0) {
		size_t from = held.used;

		held.used += got;
		count_rows(&held, from, size->ws_col);
		/* the last row is for the shell's prompt */
		if (held.rows >= size->ws_row || held.used == HELD_MAX) {
			page(input, &held, command);
			return;
		}
	}
	perch__write_all(STDOUT_FILENO, held.text, held.used);
}

/* Ends the output and waits for the pager. It is safe in a signal handler. */
static void wait_for_child(void)
{
	int error = errno;

	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	errno = error;
}

static void at_exit(void)
{
	fflush(stdout);
	wait_for_child();
}

/* Without this the shell would print its prompt while the pager is on the terminal. */
static void at_signal(int number)
{
	wait_for_child();
	signal(number, SIG_DFL);
	raise(number);
}

void cli_start_pager(void)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };
	const char *command = pager_command();
	struct winsize size;
	int ends[2];

	if (child || !command || !terminal_size(&size) || pipe2(ends, O_CLOEXEC))
		return;
	fflush(stdout);
	child = fork();
	if (child == 0) {
		close(ends[1]);
		hold(ends[0], &size, command);
		_exit(0);
	}
	close(ends[0]);
	if (child < 0) {
		child = 0;
		close(ends[1]);
		return;
	}
	columns = size.ws_col;
	dup2(ends[1], STDOUT_FILENO);
	if (isatty(STDERR_FILENO))
		dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	atexit(at_exit);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		/* as nohup(1) ignores SIGHUP; the end of the pager ends the command in any case */
		if (signal(signals[i], at_signal) == SIG_IGN && signals[i] != SIGPIPE)
			signal(signals[i], SIG_IGN);
}

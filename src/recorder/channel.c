/* SPDX-License-Identifier: MIT */
/* A channel of commands. Descriptors may be shared with other processes, so their flags are not
 * changed: poll(2) says whether a call would block. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <perch/channel.h>

#include "base/no_memory.h"

#define ACK	    "ack\n" /* perf writes the zero byte, too, and clients read 5 bytes */
#define NR(array)   (sizeof(array) / sizeof((array)[0]))
#define IS_DRAINED  0
#define IS_COMPLETE 1
#define IS_ENOUGH   2

/* A client may write faster than its commands are carried out, and bytes that are none. From one
 * answer "there is none" to the next: */
#define MOST_COMMANDS 100 /* after which nothing is read; what was read is taken */
#define MOST_READS    16  /* for one command */

struct perch_channel {
	int fd, answers; /* -1: none */
	bool owned;	 /* the channel closes them */
	char bytes[512];
	size_t at, nr; /* bytes[at..nr] were read, but not taken */
	char command[512];
	size_t length; /* of the beginning of a command; up to the size of the buffer */
	unsigned commands, reads;
};

/* ---- opening ---- */

static int bad_text(const char *text, struct perch_error *err)
{
	return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
			       "'%s': expected fd:CTL[,ACK], fifo:CTL[,ACK] or a path CTL[,ACK]",
			       text);
}

/* Returns 7 for "7"; -1 if the text is not a number or the descriptor is not open. */
static int parse_descriptor(const char *text)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (errno || !isdigit((unsigned char)*text) || *end || number > INT32_MAX)
		return -1;
	return fcntl((int)number, F_GETFD) < 0 ? -1 : (int)number;
}

static int open_end(bool is_path, const char *name, int *fd, struct perch_error *err)
{
	struct stat status;
	int rc;

	/* O_RDWR: without waiting for a writer, and without end of file after the first writer */
	*fd = is_path ? open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
		      : parse_descriptor(name);
	/* a regular file is always ready, and answers would overwrite it */
	if (*fd >= 0 && is_path && !fstat(*fd, &status) && S_ISREG(status.st_mode))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "'%s' is a regular file: use a named pipe (mkfifo)", name);
	if (*fd >= 0)
		return 0;
	if (is_path) {
		rc = perch_error_set(err, errno, PERCH_ERROR_FILE, "cannot open '%s': %s", name,
				     strerror(errno));
		if (rc == -ENOENT)
			perch_error_remedy(err, "make it first: mkfifo %s", name);
		return rc;
	}
	return perch_error_set(err, EBADF, PERCH_ERROR_FILE, "descriptor '%s' is not open", name);
}

/* names: CTL[,ACK], which is changed. */
static int open_ends(struct perch_channel *channel, char *names, const char *text,
		     struct perch_error *err)
{
	char *second = strchr(names, ',');
	int rc;

	if (second)
		*second++ = '\0';
	if (!*names || (second && !*second))
		return bad_text(text, err);
	rc = open_end(channel->owned, names, &channel->fd, err);
	return rc || !second ? rc : open_end(channel->owned, second, &channel->answers, err);
}

int perch_channel_open(struct perch_channel **result, const char *text, struct perch_error *err)
{
	bool is_fd = !strncmp(text, "fd:", 3), is_fifo = !strncmp(text, "fifo:", 5);
	struct perch_channel *channel;
	char *names;
	int rc;

	*result = NULL;
	if (!is_fd && !is_fifo && !strchr(text, '/'))
		return bad_text(text, err);
	channel = calloc(1, sizeof(*channel));
	names = strdup(is_fd || is_fifo ? strchr(text, ':') + 1 : text);
	if (!channel || !names) {
		free(channel);
		free(names);
		return PERCH__NO_MEMORY(err, "for a channel of commands");
	}
	channel->owned = !is_fd;
	channel->fd = channel->answers = -1;
	rc = open_ends(channel, names, text, err);
	free(names);
	if (rc)
		perch_channel_close(channel);
	else
		*result = channel;
	return rc;
}

void perch_channel_close(struct perch_channel *channel)
{
	if (!channel)
		return;
	if (channel->owned && channel->fd >= 0)
		close(channel->fd);
	if (channel->owned && channel->answers >= 0)
		close(channel->answers);
	free(channel);
}

int perch_channel_fd(const struct perch_channel *channel)
{
	return channel->fd;
}

/* ---- answers ---- */

static bool is_ready(int fd, short events)
{
	struct pollfd end = { fd, events, 0 };

	return poll(&end, 1, 0) > 0;
}

/* As write(2), without SIGPIPE. Returns 0 or a negative errno. */
static int write_quietly(int fd, const char *text, size_t size)
{
	const struct timespec none = { 0 };
	sigset_t pipe, pending, before;
	ssize_t wrote;
	int error;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	wrote = write(fd, text, size);
	error = wrote < 0 ? errno : 0;
	if (error == EPIPE && !sigismember(&pending, SIGPIPE))
		sigtimedwait(&pipe, NULL, &none);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return wrote == (ssize_t)size ? 0 : error ? -error : -EAGAIN;
}

int perch_channel_answer(struct perch_channel *channel, const struct perch_error *why)
{
	char text[1024];
	int length = snprintf(text, sizeof(text), "error: %s\n", why ? why->message : "");

	if (channel->answers < 0)
		return 0;
	if (!is_ready(channel->answers, POLLOUT))
		return -EAGAIN;
	if (!why)
		return write_quietly(channel->answers, ACK, sizeof(ACK));
	if ((size_t)length >= sizeof(text)) {
		length = sizeof(text) - 1;
		text[length - 1] = '\n';
	}
	return write_quietly(channel->answers, text, (size_t)length + 1);
}

/* ---- commands ---- */

static const struct {
	const char *name;
	enum perch_channel_command command;
	bool has_event;
} commands[] = {
	{ "enable", PERCH_CHANNEL_ENABLE, true },  { "disable", PERCH_CHANNEL_DISABLE, true },
	{ "evlist", PERCH_CHANNEL_EVLIST, false }, { "snapshot", PERCH_CHANNEL_SNAPSHOT, false },
	{ "ping", PERCH_CHANNEL_PING, false },	   { "stop", PERCH_CHANNEL_STOP, false },
};

static bool is_command_word(const struct perch_channel *channel)
{
	for (size_t i = 0; i < NR(commands); i++)
		if (strlen(commands[i].name) == channel->length &&
		    !memcmp(commands[i].name, channel->command, channel->length))
			return true;
	return false;
}

/* Reads what there is. Returns IS_DRAINED if there is nothing, IS_ENOUGH if the caller is to do
 * other things first, or a negative errno. */
static int fill(struct perch_channel *channel)
{
	ssize_t got;
	int error;

	channel->at = channel->nr = 0;
	if (channel->fd < 0 || !is_ready(channel->fd, POLLIN))
		return IS_DRAINED;
	if (channel->commands >= MOST_COMMANDS || channel->reads++ >= MOST_READS)
		return IS_ENOUGH;
	got = read(channel->fd, channel->bytes, sizeof(channel->bytes));
	error = got < 0 ? errno : 0;
	if (error == EAGAIN || error == EINTR)
		return IS_DRAINED;
	if (got <= 0) { /* all writers have closed it, or it would be ready and fail each time */
		if (channel->owned)
			close(channel->fd);
		channel->fd = -1;
		return error ? -error : IS_DRAINED;
	}
	channel->nr = (size_t)got;
	return IS_COMPLETE;
}

/* Takes bytes up to the end of a command. Returns as fill(). */
static int take_command(struct perch_channel *channel)
{
	for (;;) {
		char byte;

		if (channel->at == channel->nr) {
			int rc = fill(channel);

			/* as in perf, the newline may be missing */
			if (rc == IS_DRAINED && is_command_word(channel))
				return IS_COMPLETE;
			if (rc != IS_COMPLETE)
				return rc;
		}
		byte = channel->bytes[channel->at++];
		if (byte && byte != '\n') {
			channel->command[channel->length] = byte;
			channel->length += channel->length < sizeof(channel->command) - 1;
		} else if (channel->length) {
			return IS_COMPLETE;
		}
	}
}

static bool take_flags(struct perch_channel_request *request, const char *flags)
{
	while (*flags) {
		while (isspace((unsigned char)*flags))
			flags++;
		if (!strncmp(flags, "-v", 2))
			request->verbose = true;
		else if (!strncmp(flags, "-g", 2))
			request->groups = true;
		else if (!strncmp(flags, "-F", 2))
			request->frequency = true;
		else
			return !*flags;
		flags += 2;
	}
	return true;
}

static int parse(struct perch_channel_request *request, const char *text, struct perch_error *err)
{
	size_t length = strcspn(text, " ");
	const char *argument = text + length + strspn(text + length, " ");
	char clean[80];
	size_t i = 0;

	while (i < NR(commands) &&
	       (strlen(commands[i].name) != length || strncmp(commands[i].name, text, length) != 0))
		i++;
	perch_clean_text(text, clean, sizeof(clean));
	if (i == NR(commands))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "unknown command '%s'; commands are enable, disable, "
				       "evlist, snapshot, ping and stop",
				       clean);
	*request = (struct perch_channel_request){ .command = commands[i].command };
	if (commands[i].has_event && *argument)
		request->event = argument;
	else if (request->command == PERCH_CHANNEL_EVLIST
			 ? !take_flags(request, argument) ||
				   (request->groups && (request->verbose || request->frequency))
			 : *argument && !commands[i].has_event)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "'%s': %s takes %s after it",
				       clean, commands[i].name,
				       request->command == PERCH_CHANNEL_EVLIST ? "-v and -F, or -g"
										: "nothing");
	return 1;
}

int perch_channel_next(struct perch_channel *channel, struct perch_channel_request *request,
		       struct perch_error *err)
{
	struct perch_error own;
	int rc = take_command(channel);

	channel->reads = 0;
	channel->commands = rc == IS_COMPLETE ? channel->commands + 1 : 0;
	if (rc == IS_DRAINED || rc == IS_ENOUGH)
		return 0;
	if (rc < 0)
		return perch_error_set(err, -rc, PERCH_ERROR_FILE, "cannot read commands: %s",
				       strerror(-rc));
	channel->command[channel->length] = '\0';
	channel->length = 0;
	rc = parse(request, channel->command, &own);
	if (rc < 0) {
		perch_channel_answer(channel, &own);
		if (err)
			*err = own;
	}
	return rc;
}

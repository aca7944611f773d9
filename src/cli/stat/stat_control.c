/* SPDX-License-Identifier: MIT */
/* --control: perf's commands enable, disable, ping and stop while counting. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stat.h"

static int bad_option(const struct stat_job *stat)
{
	return cli_usage_error(STAT_COMMAND,
			       "--control %s: expected fd:CTL[,ACK] or fifo:CTL[,ACK]",
			       stat->options.control);
}

/* Returns 7 for "7"; -1 if the text is not a number or the descriptor is not open. */
static int parse_descriptor(const char *text)
{
	uint64_t number;

	if (!cli_parse_number(text, &number) || number > INT32_MAX)
		return -1;
	return fcntl((int)number, F_GETFD) < 0 ? -1 : (int)number;
}

static int open_end(bool fifo, const char *name, int *fd)
{
	struct perch_error err;

	/* O_RDWR: without waiting for a writer, and without end of file after the first writer */
	*fd = fifo ? open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC) : parse_descriptor(name);
	if (*fd >= 0)
		return 0;
	if (fifo)
		perch_error_set(&err, errno, PERCH_ERROR_FILE, "--control: cannot open '%s': %s",
				name, strerror(errno));
	else
		perch_error_set(&err, EBADF, PERCH_ERROR_FILE,
				"--control: descriptor '%s' is not open", name);
	return cli_error(STAT_COMMAND, &err);
}

int stat_open_control(struct stat_job *stat)
{
	bool fifo = stat->options.control && !strncmp(stat->options.control, "fifo:", 5);
	char *names, *second;
	int status;

	if (!stat->options.control)
		return 0;
	if (!fifo && strncmp(stat->options.control, "fd:", 3))
		return bad_option(stat);
	names = strdup(strchr(stat->options.control, ':') + 1);
	if (!names)
		return cli_no_memory(STAT_COMMAND);
	second = strchr(names, ',');
	if (second)
		*second++ = '\0';
	if (!*names || (second && !*second))
		status = bad_option(stat);
	else
		status = open_end(fifo, names, &stat->control_fd);
	if (!status && second)
		status = open_end(fifo, second, &stat->ack_fd);
	free(names);
	return status;
}

int stat_for_each_set(struct stat_job *stat, stat_set_call *call)
{
	struct perch_error err;

	for (size_t i = 0; i < stat->nr_parts; i++)
		if (call(stat->part[i].set, &err))
			return cli_error(STAT_COMMAND, &err);
	return 0;
}

/* The interval ends while events are disabled: before they are enabled, after they are disabled. */
static int enable_or_disable(struct stat_job *stat, const char *command,
			     stat_end_interval *end_interval, void *context)
{
	bool enable = *command == 'e';
	int status = enable && end_interval ? end_interval(stat, context) : 0;

	if (!status)
		status = stat_for_each_set(stat, enable ? perch_set_enable : perch_set_disable);
	return !status && !enable && end_interval ? end_interval(stat, context) : status;
}

static int run_command(struct stat_job *stat, const char *command, stat_end_interval *end_interval,
		       void *context)
{
	int status = 0;

	if (!strcmp(command, "enable") || !strcmp(command, "disable")) {
		status = enable_or_disable(stat, command, end_interval, context);
	} else if (!strcmp(command, "stop")) {
		stat->stop_requested = true;
	} else if (strcmp(command, "ping")) {
		char clean[80];

		perch_clean_text(command, clean, sizeof(clean));
		cli_note(
			STAT_COMMAND,
			"--control: unknown command '%s'; commands are enable, disable, ping and stop",
			clean);
		return 0;
	}
	if (!status && stat->ack_fd >= 0 && write(stat->ack_fd, "ack\n", 4) != 4)
		cli_note(STAT_COMMAND, "--control: cannot write the acknowledgement: %s",
			 strerror(errno));
	return status;
}

/* A command ends with a newline or a zero byte. The start of a command is stored until the rest
 * arrives; bytes beyond its buffer are dropped. */
int stat_read_control(struct stat_job *stat, stat_end_interval *end_interval, void *context)
{
	char bytes[256];
	ssize_t got = read(stat->control_fd, bytes, sizeof(bytes));
	int status = 0;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got <= 0) {
		stat->control_fd = -1; /* all writers have closed it */
		return 0;
	}
	for (ssize_t i = 0; i < got && !status; i++) {
		if (bytes[i] && bytes[i] != '\n') {
			if (stat->command_length < sizeof(stat->command) - 1)
				stat->command[stat->command_length++] = bytes[i];
			continue;
		}
		stat->command[stat->command_length] = '\0';
		if (stat->command_length)
			status = run_command(stat, stat->command, end_interval, context);
		stat->command_length = 0;
	}
	return status;
}

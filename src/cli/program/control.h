/* SPDX-License-Identifier: MIT */
/* --control: commands that another program gives while events are measured (perch/channel.h). */
#ifndef PERCH_CLI_CONTROL_H
#define PERCH_CLI_CONTROL_H

#include <perch/channel.h>
#include <perch/file.h>

/* Begins with zeros. */
struct cli_control {
	const char *command;
	struct perch_channel *channel; /* NULL: without the option */
	/* a client that reads no answers causes one message, not one for each command */
	bool answer_lost;
};

/* Opens the channel; text: the argument, NULL opens none. Returns 0, or the exit status after it
 * printed the error. */
int cli_control_open(struct cli_control *control, const char *command, const char *text);
/* A descriptor that can be read if commands have arrived, or -1. */
int cli_control_fd(const struct cli_control *control);
void cli_control_close(struct cli_control *control);
/* Carries out a command. Returns 0, or a negative errno and the reason in *err. */
typedef int cli_control_call(void *context, const struct perch_channel_request *request,
			     struct perch_error *err);
/* The command evlist: lists the events. */
void cli_control_list(const struct perch_channel_request *request,
		      const struct perch_file_event *events, size_t nr);
/* Takes the commands that have arrived, and answers them. Prints which have failed. */
void cli_control_read(struct cli_control *control, cli_control_call *call, void *context);

#endif

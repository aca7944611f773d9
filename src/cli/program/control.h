/* SPDX-License-Identifier: MIT */
/* --control: commands that another program gives while events are measured (perch/channel.h). */
#ifndef PERCH_CLI_CONTROL_H
#define PERCH_CLI_CONTROL_H

#include <perch/channel.h>
#include <perch/recorder.h>

/* Opens the channel; text: the argument, NULL opens none. Returns 0, or the exit status after it
 * printed the error. */
int cli_control_open(const char *command, const char *text, struct perch_channel **channel);
/* Carries out a command. Returns 0, or a negative errno and the reason in *err. */
typedef int cli_control_call(void *context, const struct perch_channel_request *request,
			     struct perch_error *err);
/* The command evlist: lists the events of a recorder. */
void cli_control_list(const struct perch_recorder *recorder,
		      const struct perch_channel_request *request);
/* Takes the commands that have arrived, and answers them. Prints which have failed. */
void cli_control_read(const char *command, struct perch_channel *channel, cli_control_call *call,
		      void *context);

#endif

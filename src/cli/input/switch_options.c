/* SPDX-License-Identifier: MIT */
#include "messages.h"
#include "switch_options.h"

int cli_switch_open(struct cli_switch *given, const struct cli_input *input)
{
	struct perch_error err;

	if (!given->options.on && !given->options.off)
		return given->options.show
			       ? cli_usage_error(
					 input->command,
					 "--show-on-off-events shows the samples of --switch-on and "
					 "--switch-off: add one of them")
			       : 0;
	return perch_switch_new(&given->by_events, input->session, &given->options, &err)
		       ? cli_usage_error(input->command, "--switch-%s: %s", err.field, err.message)
		       : 0;
}

void cli_switch_print_note(const struct cli_switch *given, const char *command)
{
	if (given->by_events && !perch_switch_was_on(given->by_events))
		cli_note(command, "no sample is of the event '%s' (--switch-on): all are left out",
			 given->options.on);
}

/* SPDX-License-Identifier: MIT */
#include "live_session.h"

#include "agent/live_session.h"
#include "messages.h"

int cli_live_open(struct cli_input *input, const struct perch_recorder *recorder)
{
	struct perch_error err;

	if (agent_live_session(&input->session, recorder, &input->options, &err) < 0)
		return cli_error(input->command, &err);
	/* as a message of the session says which files it used */
	input->options.symbols.recorded_at = INT64_MAX;
	return 0;
}

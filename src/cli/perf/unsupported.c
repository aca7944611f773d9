/* SPDX-License-Identifier: MIT */
#include "messages.h"
#include "unsupported.h"

static bool has_call_stacks(const struct cli_input *input)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(input->session), &events);

	for (size_t i = 0; i < nr; i++)
		if (events[i].attr.sample_type & PERCH_SAMPLE_BRANCH_STACK &&
		    events[i].attr.branch_sample_type & PERCH_SAMPLE_BRANCH_CALL_STACK)
			return true;
	return false;
}

static bool has_traces(const struct cli_input *input)
{
	const void *data;
	size_t size;

	return !perch_reader_feature(perch_session_reader(input->session), PERCH_FEATURE_AUXTRACE,
				     &data, &size);
}

int cli_check_unsupported(const struct cli_unsupported *options, const struct cli_input *input)
{
	if (options->stitch_lbr && has_call_stacks(input))
		return cli_usage_error(input->command,
				       "--stitch-lbr: call stacks of branch records are shown as "
				       "they are, and are not joined; omit the option");
	if (options->itrace && has_traces(input))
		return cli_usage_error(input->command,
				       "--itrace: instruction traces are not decoded; omit the "
				       "option to read the other records");
	return 0;
}

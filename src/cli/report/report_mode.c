/* SPDX-License-Identifier: MIT */
/* What the rows of a report count: samples, the branches of samples, or accesses to memory. */
#include <errno.h>

#include "options.h"
#include "report.h"

int report_option_branches(void *value, const char *argument, bool negated)
{
	struct report *report = value;

	(void)argument;
	report->branches = !negated;
	report->branches_set = true;
	return 0;
}

/*
 * True if an event has branches, other than calls that have not returned. *stacks: an event has
 * copies of user stacks, whose call chains are then wanted.
 */
static bool has_branches(const struct report *report, bool *stacks)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(report->input.session), &events);
	bool found = false;

	*stacks = false;
	for (size_t i = 0; i < nr; i++) {
		const struct perch_attr *attr = &events[i].attr;

		found |= (attr->sample_type & PERCH_SAMPLE_BRANCH_STACK) &&
			 !(attr->branch_sample_type & PERCH_SAMPLE_BRANCH_CALL_STACK);
		*stacks |= attr->sample_type & PERCH_SAMPLE_STACK_USER;
	}
	return found;
}

const char *report_default_keys(const struct report *report)
{
	return report->branches ? "comm,dso_from,symbol_from,symbol_to,cycles" : "comm,dso,sym";
}

int report_set_mode(struct report *report)
{
	bool with_stacks, with_branches = has_branches(report, &with_stacks);
	struct perch_error err;

	if (!report->branches_set)
		report->branches = with_branches && !with_stacks;
	if (!report->branches || with_branches)
		return 0;
	perch_error_set(&err, ENODATA, PERCH_ERROR_USAGE, "-b needs branch stacks, and %s has none",
			report->input.path);
	perch_error_remedy(&err, "record with -b");
	return cli_error(REPORT_COMMAND, &err);
}

/* SPDX-License-Identifier: MIT */
/* Columns of which no sample of the file has the value. */
#include "options.h"
#include "report.h"

void report_note_lacking(const struct report *report, uint64_t sample_type)
{
	char list[1024] = "";
	size_t used = 0;

	/* columns of branches have values of branches; default columns are not the user's choice */
	if (report->branches || (!report->sort && !report->output))
		return;
	for (size_t i = 0; i < report->keys.nr; i++) {
		const struct perch_column *column = report->keys.column[i];

		if (!column->sample_type || sample_type & column->sample_type)
			continue;
		used += snprintf(list + used, sizeof(list) - used, "%s%s (record with %s)",
				 used ? ", " : "", column->name, column->record_option);
	}
	if (used)
		cli_note(report->input.command,
			 "no sample has what these columns show, which are empty or 0: %s", list);
}

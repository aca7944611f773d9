/* SPDX-License-Identifier: MIT */
/* What the table, its call graphs and JSON have in common. */
#include <inttypes.h>

#include "terminal/color.h"
#include "options.h"
#include "report.h"

void report_put_value(FILE *out, const struct report *report, uint64_t period, uint64_t samples,
		      uint64_t total)
{
	double percent = total ? 100.0 * period / total : 0;
	char text[32];

	if (report->graph.value != VALUE_PERCENT) {
		fprintf(out, "%" PRIu64, report->graph.value == VALUE_COUNT ? samples : period);
		return;
	}
	snprintf(text, sizeof(text), "%.2f%%", percent);
	cli_put_colored(out, report->color, percent, text);
}

const char *report_function(struct perch_profile *profile, const struct perch_frame *frame,
			    char *buffer)
{
	/* without a function, and without an offset that stands for it */
	if (frame->symbol || frame->offset == UINT64_MAX)
		return perch_profile_frame_name(profile, frame, buffer, PERCH_CELL_BYTES);
	snprintf(buffer, PERCH_CELL_BYTES, "%#" PRIx64, frame->offset);
	return buffer;
}

/* The function and its line, as in perf before the mark of inlined functions. */
static const char *frame_at_line(const struct report *report, struct perch_profile *profile,
				 const struct perch_frame *frame, char *buffer)
{
	struct perch_symbols *symbols = perch_session_symbols(report->input.session);
	char line[PERCH_CELL_BYTES];

	perch_profile_frame_line(profile, frame, line, sizeof(line));
	snprintf(buffer, REPORT_FRAME_BYTES, "%s%s%s%s", perch_symbols_name(symbols, frame->symbol),
		 *line ? " " : "", line, frame->symbol->inlined ? " (inlined)" : "");
	return buffer;
}

const char *report_frame(const struct report *report, struct perch_profile *profile,
			 const struct perch_frame *frame, char *buffer)
{
	return frame->symbol && report->graph.key != PERCH_CALL_GRAPH_FUNCTION
		       ? frame_at_line(report, profile, frame, buffer)
		       : report_function(profile, frame, buffer);
}

int report_make_graph(const struct report *report, struct perch_profile *profile,
		      const struct perch_row *row, uint64_t least, struct perch_call_graph *graph)
{
	struct perch_error err;

	return perch_profile_call_graph(profile, row, report->graph.order, report->children, least,
					graph, &err)
		       ? cli_error(report->input.command, &err)
		       : 0;
}

struct report_total report_total(const struct report *report, const struct perch_profile *profile,
				 unsigned event)
{
	struct perch_profile_total total;

	perch_profile_get_total(profile, event, &total);
	return report->relative ? (struct report_total){ total.period, total.latency }
				: (struct report_total){ total.all_period, total.all_latency };
}

bool report_is_small(const struct report *report, const struct perch_row *row, uint64_t total)
{
	uint64_t period = report->children ? row->children : row->self;

	if (row->samples < report->least)
		return true;
	return report->percent_limit > 0 &&
	       (total ? 100.0 * period / total : 0) < report->percent_limit;
}

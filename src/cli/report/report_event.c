/* SPDX-License-Identifier: MIT */
/* The comment above the rows of an event, and its rows. */
#include <inttypes.h>

#include "options.h"
#include "report_group.h"

char report_scale(uint64_t *nr)
{
	static const char units[] = " KMG";
	int unit = 0;

	while (*nr > 1000 && unit < 3) {
		*nr /= 1000;
		unit++;
	}
	return units[unit];
}

/* The names of events, as perf prints those of a group. */
static void put_names(FILE *out, const struct perch_file_event *events, size_t nr)
{
	bool is_group = nr > 1 && events->members > 1; /* not if --group made it */

	fprintf(out, " of event%s '", nr > 1 ? "s" : "");
	fputs(is_group ? "anon group { " : "", out);
	for (size_t i = 0; i < nr; i++) {
		fputs(i ? ", " : "", out);
		cli_put_clean(out, events[i].name);
	}
	fputs(is_group ? " }'" : "'", out);
}

/* The comment above the rows of events. */
static void put_events(FILE *out, const struct report *report, const struct perch_profile *profile,
		       const struct perch_file_event *events, unsigned event, size_t nr)
{
	uint64_t samples = 0, period = 0;
	char unit;

	for (size_t i = 0; i < nr; i++) {
		struct perch_profile_total total;

		perch_profile_get_total(profile, event + i, &total);
		samples += report->relative ? total.samples : total.all_samples;
		period += report_total(report, profile, event + i).period;
	}
	fputs("#\n", out);
	unit = report_scale(&samples);
	fprintf(out, "# Samples: %" PRIu64 "%c", samples, unit);
	put_names(out, &events[event], nr);
	if (report->filter.options.time) {
		fputs(" (time slices: ", out);
		cli_put_clean(out, report->filter.options.time);
		putc(')', out);
	}
	report_put_total(out, report, period);
}

int report_print_event(FILE *out, const struct report *report, struct perch_profile *profile,
		       const struct perch_file_event *events, unsigned event, size_t nr)
{
	struct report_table table = { .out = out, .report = report, .profile = profile };
	struct report_group group;
	int status = 0;

	table.whole = report_total(report, profile, event);
	table.total = table.whole.period;
	if (nr > 1) {
		status = report_group_open(&group, report, profile, event, nr);
		table.group = &group;
	}
	if (!status && !report->quiet)
		put_events(out, report, profile, events, event, nr);
	if (!status)
		status = report->blocks	     ? report_print_blocks(&table, event)
			 : report->hierarchy ? report_print_hierarchy(&table, event)
					     : report_print_rows(&table, event);
	if (nr > 1)
		report_group_close(&group);
	fputs("\n\n", out);
	return status;
}

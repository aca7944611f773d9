/* SPDX-License-Identifier: MIT */
/* The comment above the rows of an event, and its rows. */
#include <inttypes.h>

#include "options.h"
#include "report.h"

/* 1234 as it is, 804133 as 804K, as perf does. */
static void put_samples(FILE *out, uint64_t nr)
{
	static const char units[] = " KMG";
	int unit = 0;

	while (nr / 1000 && unit < 3 && nr >= 10000) {
		nr /= 1000;
		unit++;
	}
	fprintf(out, "# Samples: %" PRIu64 "%c", nr, units[unit]);
}

static void put_event(const struct report_table *table, unsigned event, const char *name)
{
	const struct report *report = table->report;
	struct perch_profile_total total;

	perch_profile_get_total(table->profile, event, &total);
	fputs("#\n", table->out);
	put_samples(table->out, report->relative ? total.samples : total.all_samples);
	fputs(" of event '", table->out);
	cli_put_clean(table->out, name);
	putc('\'', table->out);
	if (report->filter.options.time) {
		fputs(" (time slices: ", table->out);
		cli_put_clean(table->out, report->filter.options.time);
		putc(')', table->out);
	}
	report_put_total(table->out, report, table->total);
}

int report_print_event(FILE *out, const struct report *report, struct perch_profile *profile,
		       unsigned event, const char *name)
{
	struct report_table table = { .out = out, .report = report, .profile = profile };
	int status;

	table.total = report_total(report, profile, event);
	if (!report->quiet)
		put_event(&table, event, name);
	status = report->blocks	     ? report_print_blocks(&table, event)
		 : report->hierarchy ? report_print_hierarchy(&table, event)
				     : report_print_rows(&table, event);
	fputs("\n\n", out);
	return status;
}

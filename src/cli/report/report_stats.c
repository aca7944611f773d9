/* SPDX-License-Identifier: MIT */
/* --stats: the number of records of each type. */
#include <inttypes.h>
#include <stdlib.h>

#include "options.h"
#include "terminal/pager.h"
#include "report.h"

#define TYPES 256 /* types from here on are counted together */

/* Prints the number of records of each type. */
static void put_counts(FILE *out, const uint64_t *counts, bool show_empty)
{
	uint64_t total = 0;

	for (size_t type = 0; type <= TYPES; type++)
		total += counts[type];
	fprintf(out, "%20s events: %10" PRIu64 "\n", "TOTAL", total);
	for (size_t type = 0; type <= TYPES; type++) {
		const char *name = type < TYPES ? perch_record_name(type) : NULL;

		if (counts[type] || (show_empty && name))
			fprintf(out, "%20s events: %10" PRIu64 "  (%4.1f%%)\n",
				name ? name : "UNKNOWN", counts[type],
				total ? 100.0 * counts[type] / total : 0);
	}
}

int report_print_stats(FILE *out, struct report *report)
{
	static uint64_t counts[TYPES + 1];
	struct perch_reader *reader = perch_session_reader(report->input.session);
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(reader, &events);
	uint64_t *samples = calloc(nr + 1, sizeof(*samples));
	struct perch_record record;
	int rc;

	if (!samples) {
		cli_note(report->input.command, "no memory for %zu events", nr);
		return CLI_EXIT_FAILURE;
	}
	while ((rc = cli_input_next(&report->input, &record)) > 0) {
		counts[record.type < TYPES ? record.type : TYPES]++;
		if (record.type == PERCH_RECORD_SAMPLE && record.event < nr)
			samples[record.event]++;
	}
	cli_start_pager();
	if (report->header)
		cli_input_print_header(&report->input, out, report->long_header);
	fputs("\nAggregated stats:\n", out);
	put_counts(out, counts, report->show_empty);
	for (size_t i = 0; i < nr; i++) {
		cli_put_clean(out, events[i].name);
		fputs(" stats:\n", out);
		if (samples[i])
			fprintf(out, "%20s events: %10" PRIu64 "\n", "SAMPLE", samples[i]);
	}
	free(samples);
	return rc < 0 ? CLI_EXIT_FAILURE : 0;
}

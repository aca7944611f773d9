/* SPDX-License-Identifier: MIT */
/* How many records of which type a file has. */
#include <inttypes.h>
#include <stdlib.h>

#include "options.h"
#include "report.h"

#define TYPES 256 /* those above are counted together */

static void put_counts(FILE *out, const uint64_t *counts)
{
	uint64_t total = 0;

	for (size_t type = 0; type <= TYPES; type++)
		total += counts[type];
	fprintf(out, "%20s events: %10" PRIu64 "\n", "TOTAL", total);
	for (size_t type = 0; type <= TYPES; type++) {
		const char *name = type < TYPES ? perch_record_name(type) : NULL;

		if (counts[type])
			fprintf(out, "%20s events: %10" PRIu64 "  (%4.1f%%)\n",
				name ? name : "UNKNOWN", counts[type],
				100.0 * counts[type] / total);
	}
}

int report_stats(FILE *out, struct cli_recording *recording)
{
	static uint64_t counts[TYPES + 1];
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(recording->reader, &events);
	uint64_t *samples = calloc(nr + 1, sizeof(*samples));
	struct perch_record record;
	int rc;

	if (!samples) {
		cli_note("report", "out of memory for %zu events", nr);
		return CLI_EXIT_FAILURE;
	}
	while ((rc = cli_recording_next(recording, &record)) > 0) {
		counts[record.type < TYPES ? record.type : TYPES]++;
		if (record.type == PERCH_RECORD_SAMPLE && record.event < nr)
			samples[record.event]++;
	}
	fputs("\nAggregated stats:\n", out);
	put_counts(out, counts);
	for (size_t i = 0; i < nr; i++) {
		cli_put_clean(out, events[i].name);
		fputs(" stats:\n", out);
		if (samples[i])
			fprintf(out, "%20s events: %10" PRIu64 "\n", "SAMPLE", samples[i]);
	}
	free(samples);
	return rc < 0 ? CLI_EXIT_FAILURE : 0;
}

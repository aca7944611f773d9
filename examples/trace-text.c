/* SPDX-License-Identifier: MIT */
/*
 * Prints the samples of tracepoints in a perf.data file as the kernel prints them in tracefs:
 *
 *	perch record -e sched:sched_switch,irq:softirq_raise -a -- sleep 1
 *	trace-text perf.data
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <perch/session.h>

static int print_samples(struct perch_session *session, struct perch_error *err)
{
	struct perch_record record;
	char text[4096];
	int rc;

	while ((rc = perch_session_next(session, &record, err)) > 0) {
		const struct perch_file_event *event = perch_session_record_event(session, &record);
		int length;

		if (record.type != PERCH_RECORD_SAMPLE || event->attr.type != PERCH_TYPE_TRACEPOINT)
			continue;
		length = perch_session_tracepoint_text(session, &record, text, sizeof(text), err);
		if (length < 0)
			return length;
		printf("%" PRIu64 " %s: %s%s\n", record.sample.time, event->name, text,
		       length < (int)sizeof(text) ? "" : "...");
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct perch_session *session = NULL;
	struct perch_session_stats stats;
	struct perch_error err;
	int rc = perch_session_open(&session, argc > 1 ? argv[1] : "perf.data", NULL, &err);

	if (!rc)
		rc = print_samples(session, &err);
	if (rc) {
		perch_error_print(stderr, &err);
	} else {
		perch_session_get_stats(session, &stats);
		if (stats.plain_tracepoints)
			fprintf(stderr, "%" PRIu64 " samples are printed as their fields\n",
				stats.plain_tracepoints);
	}
	perch_session_close(session);
	return rc ? EXIT_FAILURE : EXIT_SUCCESS;
}

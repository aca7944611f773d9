/* SPDX-License-Identifier: MIT */
/* The records of the rings become a profile. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "input/live_session.h"
#include "top.h"

/* As in perf top: at each refresh older samples lose an eighth of their weight. */
enum { DECAY_NUMERATOR = 7, DECAY_DENOMINATOR = 8 };

/* Adds what runs before the events. Returns 0 or the exit status. What cannot be read is noted. */
static int add_running(struct top *top)
{
	struct perch_processes *processes = perch_session_processes(top->report.input.session);
	struct perch_error err;
	int rc = perch_recorder_synthesize(top->recorder, perch_processes_apply_synthesized,
					   processes, &err);

	record_print_lacking(top->recorder, &top->record);
	return rc < 0 ? cli_error(TOP_COMMAND, &err) : 0;
}

/* ---- samples ---- */

static int new_profile(struct top *top)
{
	struct perch_session *session = top->report.input.session;
	struct perch_profile_options options = report_profile_options(&top->report);
	struct perch_error err;
	int rc;

	options.inlined = 0; /* each refresh would look them up */
	options.max_stack = top->report.filter.max_stack < PERCH_MAX_CALL_CHAIN
				    ? top->report.filter.max_stack
				    : 0;
	rc = perch_profile_new(&top->profile, perch_session_processes(session),
			       perch_session_symbols(session), &options, &err);
	if (rc == -EINVAL)
		return cli_usage_error(TOP_COMMAND, "%s", err.message);
	if (!rc)
		rc = cli_input_set_calls(&top->report.input, top->profile, &err);
	return rc ? cli_error(TOP_COMMAND, &err) : 0;
}

int top_start(struct top *top)
{
	struct report *report = &top->report;
	struct perch_error err;
	int status = cli_live_open(&report->input, top->recorder);

	if (!status && perch_trace_columns_new(&report->trace_columns, report->input.session, &err))
		status = cli_error(TOP_COMMAND, &err);
	if (!status)
		status = report_set_latencies(report);
	if (!status)
		status = report_set_keys(report);
	if (!status)
		status = report_set_columns(report);
	if (!status)
		status = cli_filter_open(&report->filter, &report->input);
	if (!status)
		status = new_profile(top);
	if (status)
		return status;
	top->starts++;
	perch_session_put(report->input.session, NULL);
	return add_running(top);
}

void top_stop(struct top *top)
{
	perch_annotation_free(top->annotation);
	perch_annotation_free(top->annotation_before);
	top->annotation = top->annotation_before = NULL;
	perch_profile_free(top->profile);
	top->profile = NULL;
	perch_trace_columns_free(top->report.trace_columns);
	top->report.trace_columns = NULL;
	cli_filter_close(&top->report.filter);
	perch_session_close(top->report.input.session);
	top->report.input.session = NULL;
}

#define MOST_ANNOTATED 250000 /* samples, and as many before */

/* Returns 0 or a negative errno. */
static int add_sample(struct top *top, struct perch_record *record, struct perch_error *err)
{
	struct cli_filter *filter = &top->report.filter;
	unsigned mode = record->misc & PERCH_MISC_CPUMODE_MASK;
	bool kernel = mode == PERCH_MISC_KERNEL || mode == PERCH_MISC_GUEST_KERNEL ||
		      mode == PERCH_MISC_HYPERVISOR;
	int match;

	top->now.samples++;
	top->now.kernel += kernel;
	if (kernel ? top->hide_kernel : top->hide_user)
		return 0;
	match = cli_filter_match(filter, record);
	if (match < 0)
		return PERCH__NO_MEMORY(err, "for a filter");
	if (!match)
		return cli_filter_counts(filter) ? perch_profile_skip(top->profile, record, err)
						 : 0;
	if (top->annotation) {
		/* without a limit, the addresses of a long time would use much memory */
		if (!top->zero && top->annotated++ == MOST_ANNOTATED &&
		    top_count_addresses(top, err))
			return -ENOMEM;
		if (perch_annotation_add(top->annotation, record, err))
			return -ENOMEM;
	}
	return perch_session_is_truncated(top->report.input.session, record)
		       ? perch_profile_add_truncated(top->profile, record, err)
		       : perch_profile_add(top->profile, record, err);
}

int top_count_addresses(struct top *top, struct perch_error *err)
{
	struct perch_session *session = top->report.input.session;

	perch_annotation_free(top->annotation_before);
	top->annotation_before = top->annotation;
	top->annotated = 0;
	return perch_annotation_new(&top->annotation, perch_session_processes(session),
				    perch_session_symbols(session), err);
}

int top_annotate(const struct top *top, struct perch_annotation **annotation,
		 struct perch_error *err)
{
	struct perch_session *session = top->report.input.session;
	int rc = perch_annotation_new(annotation, perch_session_processes(session),
				      perch_session_symbols(session), err);

	if (!rc && top->annotation_before)
		rc = perch_annotation_merge(*annotation, top->annotation_before, err);
	/* with -z the rows are those up to the last refresh */
	if (!rc && !top->zero)
		rc = perch_annotation_merge(*annotation, top->annotation, err);
	if (!rc)
		rc = perch_annotation_finish(*annotation, err);
	if (rc) {
		perch_annotation_free(*annotation);
		*annotation = NULL;
	}
	return rc;
}

/* Passes a record through the session. Returns 0 or a negative errno. */
static int take_record(struct top *top, const struct perch_record *record, struct perch_error *err)
{
	struct perch_session *session = top->report.input.session;
	struct perch_record next;
	int rc;

	perch_session_put(session, record);
	while ((rc = perch_session_next(session, &next, err)) > 0) {
		if (next.type == PERCH_RECORD_SAMPLE)
			rc = add_sample(top, &next, err);
		if (rc < 0)
			return rc;
	}
	return rc;
}

double top_seconds(const struct top *top)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - top->last.tv_sec) +
	       (double)(now.tv_nsec - top->last.tv_nsec) / 1e9;
}

/*
 * Signals, keys and refreshes wait while a round is read. A round of full rings is long where other
 * processes leave this one little time, so the next call continues it. After the end of the targets
 * nothing is written, and all is read.
 */
#define READ_SECONDS 0.1
#define READ_RECORDS 64 /* between two looks at the clock */

static int read_round(struct top *top)
{
	double end = top_seconds(top) + READ_SECONDS;
	struct perch_record record;
	struct perch_error err;
	unsigned nr = 0;
	int rc;

	while ((rc = perch_sampler_next_ordered(top->sampler, false, &record, &err)) > 0) {
		rc = take_record(top, &record, &err);
		if (rc < 0 || (++nr % READ_RECORDS == 0 && !top->ended && top_seconds(top) >= end))
			break;
	}
	return rc < 0 ? cli_error(TOP_COMMAND, &err) : 0;
}

/* Times between rounds. A round of a ring that is nearly full comes late. */
enum { LEAST_MS = 5, MOST_MS = 100 };

/* The next round comes before a ring of 16 pages, or of -m, has got a quarter of its size. */
static void choose_next_round(struct top *top)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE) *
		      (top->record.ring_pages ? top->record.ring_pages : 16);
	struct perch_sampler_stats stats;
	uint64_t most = 0, bytes;

	for (size_t i = 0; !perch_sampler_get_ring_stats(top->sampler, i, &stats); i++)
		most = stats.bytes > most ? stats.bytes : most;
	bytes = most - top->bytes;
	top->bytes = most;
	if (!top->ms)
		top->ms = MOST_MS;
	else if (bytes > size / 4)
		top->ms = top->ms / 2 > LEAST_MS ? top->ms / 2 : LEAST_MS;
	else if (bytes < size / 16 && top->ms * 2 <= MOST_MS)
		top->ms *= 2;
}

int top_read(struct top *top)
{
	int status = read_round(top);

	choose_next_round(top);
	return status;
}

/* ---- refreshes ---- */

/* Bytes of writable memory of this process; 0 if unknown. */
static uint64_t used_memory(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
		pages = 0;
	fclose(file);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void count_lost(struct top *top)
{
	struct perch_sampler_stats stats;

	perch_sampler_get_stats(top->sampler, &stats);
	top->shown.lost = stats.lost - top->lost;
	top->lost = stats.lost;
	top->throttled = stats.throttled;
}

int top_refresh(struct top *top, struct perch_profile **profile)
{
	struct perch_error err;
	/* a round holds the records after the last ones of all rings for the next round */
	int status = top_read(top);

	*profile = NULL;
	if (!status)
		status = read_round(top);
	if (!status && top->annotation && top->zero && top_count_addresses(top, &err))
		status = cli_error(TOP_COMMAND, &err);
	if (status)
		return status;
	top->shown = top->now;
	top->shown.seconds = top_seconds(top);
	top->now = (struct top_interval){ .samples = 0 };
	clock_gettime(CLOCK_MONOTONIC, &top->last);
	count_lost(top);
	if (perch_processes_discard_ended(perch_session_processes(top->report.input.session)) < 0) {
		cli_note(TOP_COMMAND, "no memory");
		return CLI_EXIT_FAILURE;
	}
	if (perch_profile_snapshot(top->profile, profile, &err) ||
	    perch_profile_decay(top->profile, top->zero ? 0 : DECAY_NUMERATOR, DECAY_DENOMINATOR,
				&err)) {
		perch_profile_free(*profile);
		*profile = NULL;
		return cli_error(TOP_COMMAND, &err);
	}
	if (!top->memory)
		top->memory = used_memory();
	return 0;
}

/* ---- memory ---- */

/*
 * Samples decay and ended processes are freed, but names, mapped files and their symbols stay. A
 * system on which new programs are built and run all the time would let them grow for ever.
 */
#define MOST_GROWTH (128u << 20)

bool top_is_full(const struct top *top)
{
	return top->memory && used_memory() > top->memory + MOST_GROWTH;
}

int top_restart(struct top *top)
{
	bool annotated = top->annotation;
	struct perch_error err;
	int status;

	top_stop(top);
	top->memory = 0;
	status = top_start(top);
	if (!status && annotated && top_count_addresses(top, &err))
		status = cli_error(TOP_COMMAND, &err);
	return status;
}

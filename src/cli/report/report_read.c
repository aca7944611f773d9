/* SPDX-License-Identifier: MIT */
/* Reads the samples that the options select. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "options.h"
#include "report.h"
#include "report_threads.h"
#include "base/kernel/dummy_event.h"
#include "base/no_memory.h"

#define BUSY_SECONDS  0.05 /* between two calls of reading->busy */
#define FIRST_SAMPLES 64   /* for which a thread begins to decompress debug information */
#define LEAST_MERGED  0.02 /* the part from which on the time that is left is estimated */

/* Begins to open the debug information of a sample's DSO before all samples are read. Those of
 * later samples are opened when the profile is finished. */
static void start_debug_info(struct report_reading *reading, const struct perch_record *record)
{
	struct perch_session *session = reading->report->input.session;
	struct perch_processes *processes = perch_session_processes(session);
	const struct perch_sample *sample = &record->sample;
	struct perch_thread *thread = perch_processes_thread(processes, sample->pid, sample->tid);
	struct perch_location location;

	reading->left_starts--;
	if (!thread || !sample->ip)
		return;
	perch_processes_resolve(processes, thread, record->misc & PERCH_MISC_CPUMODE_MASK,
				sample->ip, &location);
	perch_symbols_start_debug_info(perch_session_symbols(session), location.dso);
}

/* Adds one sample, if it is selected. 0 or a negative errno. */
static int add_sample(struct report_reading *reading, struct perch_record *record)
{
	struct report *report = reading->report;
	struct perch_profile *profile = reading->profile;
	struct perch_error *err = &reading->err;
	int match = cli_filter_match(&report->filter, record);
	int result = match < 0 ? match
			       : cli_filter_test_function(&report->filter, &report->input, record);
	bool truncated = perch_session_is_truncated(report->input.session, record);

	report_weigh(report, record);
	if (result < 0)
		return PERCH__NO_MEMORY(err, "for a filter");
	if (!match && !cli_filter_counts(&report->filter))
		return 0;
	if (__builtin_expect(report->latencies, 0) && report_count_parallel(report, err))
		return -ENODATA;
	if (cli_switch_is_off(&report->switching, record))
		return 0;
	if (result == CLI_FUNCTION_UNRESOLVED)
		return 0;
	/* as in perf of all samples, also of branches without names, unless they are left out */
	if (report->branches && !report->filter.resolved)
		report_add_branch_types(report, record);
	if (!match || result == CLI_FUNCTION_OTHER)
		return perch_profile_skip(profile, record, err);
	if (reading->left_starts)
		start_debug_info(reading, record);
	if (reading->shows_chains)
		cli_input_count_chain(&report->input, record);
	if (cli_filter_cut_chain(&report->filter, record))
		truncated = false;
	if (report->blocks && perch_blocks_add(report->blocks, record, err))
		return -ENOMEM;
	return truncated ? perch_profile_add_truncated(profile, record, err)
			 : perch_profile_add(profile, record, err);
}

bool report_read_has_chains(const struct report *report)
{
	return !report->branches &&
	       (report->exact_chains ||
		cli_input_sample_types(&report->input) & PERCH_SAMPLE_CALLCHAIN);
}

/* Parents and callees are in call chains. */
static int check_chains(const struct report *report)
{
	if (report_has_column(&report->keys, perch_column_find("parent", 6)))
		return cli_input_require_chains(
			&report->input, report->parent ? "-p (--parent; --pid selects processes)"
						       : "the column parent");
	return report->ignore_callees ? cli_input_require_chains(&report->input, "--ignore-callees")
				      : 0;
}

/* As in perf: the outermost parent if call graphs start with the caller. */
static bool outermost_parent(const struct report *report)
{
	return report->graph.order_set ? report->graph.order == PERCH_CALL_GRAPH_CALLER
				       : !report->children_set || report->children;
}

/* True if neither children nor call graphs are printed, or no event has call chains. */
static bool is_flat(const struct report *report)
{
	return !(cli_input_sample_types(&report->input) &
		 (PERCH_SAMPLE_CALLCHAIN | PERCH_SAMPLE_STACK_USER | PERCH_SAMPLE_BRANCH_STACK)) ||
	       (report->children_set && !report->children && report->graph.shape == SHAPE_NONE);
}

struct perch_profile_options report_profile_options(const struct report *report)
{
	return (struct perch_profile_options){
		.columns = report->keys.column,
		.nr_columns = report->keys.nr,
		.time_quantum = report->time_quantum,
		.reader = perch_session_reader(report->input.session),
		.inlined = !report->no_inline,
		.parent = report->parent,
		.ignore_callees = report->ignore_callees,
		.flat = is_flat(report),
		.outermost_parent = outermost_parent(report),
		.graph_key = report->graph.key,
		.graph_samples = report->graph.value == VALUE_COUNT,
		.full_paths = report->full_paths,
		.nanoseconds = report->ns,
		.latencies = report->latencies,
		.branches = report->branches,
		.exact_chains = report->exact_chains,
		.resolved_branches = report->branches && report->filter.resolved,
	};
}

/* -e: an event of the file has this name. Returns 0 or the exit status. */
static int check_event(const struct report *report)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(report->input.session), &events);
	char names[512] = "";

	for (size_t i = 0; i < nr && report->event; i++) {
		size_t used = strlen(names);

		if (!strcmp(events[i].name, report->event))
			return 0;
		if (!perch__is_dummy(&events[i].attr))
			snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
				 events[i].name);
	}
	return report->event ? cli_usage_error(report->input.command,
					       "the recording has no event '%s'; it has %s",
					       report->event, names)
			     : 0;
}

static bool is_selected(const struct report *report, const struct perch_record *record)
{
	const struct perch_file_event *event;

	if (!report->event)
		return true;
	event = perch_session_record_event(report->input.session, record);
	return event && !strcmp(event->name, report->event);
}

/* Returns 0, or a negative errno with reading->err. */
static int add_record(struct report_reading *reading, struct perch_record *record)
{
	struct report *report = reading->report;

	if (record->type == PERCH_RECORD_SAMPLE && !is_selected(report, record))
		return 0;
	if (record->type == PERCH_RECORD_SAMPLE) {
		reading->chains |= record->sample.callchain.nr > 0 && !report->branches;
		return add_sample(reading, record);
	}
	if (report->threads && report_threads_add(report->threads, record))
		return PERCH__NO_MEMORY(&reading->err, "for the counts of threads");
	return 0;
}

double report_read_seconds(const struct report_reading *reading)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - reading->start.tv_sec) +
	       (double)(now.tv_nsec - reading->start.tv_nsec) / 1e9;
}

/* Bytes that were read, and all bytes; 0 if unknown. */
static void get_progress(const struct report_reading *reading, uint64_t *done, uint64_t *total)
{
	perch_reader_progress(perch_session_reader(reading->report->input.session), done, total);
}

double report_read_seconds_left(const struct report_reading *reading)
{
	uint64_t done, total;

	get_progress(reading, &done, &total);
	return done && total ? report_read_seconds(reading) * (double)(total - done) / (double)done
			     : INFINITY;
}

void report_read_put_done(const struct report_reading *reading, char *text, size_t size)
{
	uint64_t done, total;

	get_progress(reading, &done, &total);
	if (total)
		snprintf(text, size, "%u%%", (unsigned)(100.0 * (double)done / (double)total));
	else
		snprintf(text, size, "%" PRIu64 " MiB", done >> 20);
}

void report_read_describe(const struct report_reading *reading, char *text, size_t size)
{
	double left = report_read_seconds_left(reading), merged = reading->merged;
	char done[32], seconds[40] = "";

	if (reading->merging) {
		left = merged > LEAST_MERGED
			       ? (report_read_seconds(reading) - reading->merge_start) *
					 (1 - merged) / merged
			       : INFINITY;
		snprintf(done, sizeof(done), "%u%%", (unsigned)(100 * merged));
	} else {
		report_read_put_done(reading, done, sizeof(done));
	}
	if (isfinite(left))
		snprintf(seconds, sizeof(seconds), ", about %.0f s left", left);
	snprintf(text, size, "%s samples: %s%s", reading->merging ? "merging" : "reading", done,
		 seconds);
}

static bool goes_on(struct report_reading *reading, double seconds)
{
	if (!reading->busy || seconds < reading->next_busy)
		return true;
	reading->next_busy = seconds + BUSY_SECONDS;
	return reading->busy(reading->busy_context, reading);
}

static bool merge_progress(void *context, double done)
{
	struct report_reading *reading = context;

	reading->merged = done;
	return goes_on(reading, report_read_seconds(reading));
}

int report_read_start(struct report_reading *reading, struct report *report)
{
	struct perch_session *session = report->input.session;
	struct perch_profile_options options = report_profile_options(report);
	struct perch_error err;
	int rc = check_event(report);

	reading->report = report;
	cli_input_set_threads(&report->input, &options);
	options.read_ahead = options.threads;
	reading->shows_chains = !options.flat;
	if (options.threads && options.inlined && !options.flat && !options.branches)
		reading->left_starts = FIRST_SAMPLES;
	clock_gettime(CLOCK_MONOTONIC, &reading->start);
	if (!rc)
		rc = check_chains(report);
	if (rc)
		return rc;
	rc = perch_profile_new(&reading->profile, perch_session_processes(session),
			       perch_session_symbols(session), &options, &err);
	if (rc == -EINVAL)
		return cli_usage_error(report->input.command, "%s", err.message);
	if (!rc)
		rc = cli_input_set_calls(&report->input, reading->profile, &err);
	if (rc)
		return cli_error(report->input.command, &err);
	perch_profile_set_progress(reading->profile, merge_progress, reading);
	return 0;
}

static void start_merging(struct report_reading *reading)
{
	reading->merging = true;
	reading->merge_start = report_read_seconds(reading);
	reading->merged = 0;
}

static void finish(struct report_reading *reading)
{
	reading->ended = true;
	start_merging(reading);
	if (!reading->rc)
		reading->rc = perch_profile_finish(reading->profile, &reading->err);
	reading->merging = false;
}

int report_read_snapshot(struct report_reading *reading, struct perch_profile **profile)
{
	int rc;

	start_merging(reading);
	rc = perch_profile_snapshot(reading->profile, profile, &reading->err);
	reading->merging = false;
	return rc;
}

void report_read_stop(struct report_reading *reading)
{
	if (reading->ended)
		return;
	report_read_put_done(reading, reading->stopped, sizeof(reading->stopped));
	finish(reading);
}

void report_read_until(struct report_reading *reading, double until)
{
	struct perch_session *session = reading->report->input.session;
	struct perch_record record;
	unsigned counter = 0;

	while (!reading->ended) {
		/* the clock is not read for each record */
		if (++counter % 64 == 0) {
			double seconds = report_read_seconds(reading);

			if (!goes_on(reading, seconds))
				report_read_stop(reading);
			if (reading->ended || seconds >= until)
				return;
		}
		reading->rc = perch_session_next(session, &record, &reading->err);
		if (reading->rc > 0)
			reading->rc = add_record(reading, &record);
		else
			reading->ended = true;
		if (reading->rc < 0)
			reading->ended = true;
		if (reading->ended)
			finish(reading);
	}
}

void report_read_close(struct report_reading *reading)
{
	perch_profile_free(reading->profile);
	reading->profile = NULL;
}

/* SPDX-License-Identifier: MIT */
/* Reads the samples that the options select. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "options.h"
#include "report.h"
#include "report_threads.h"

enum result { WANTED, OTHER, UNRESOLVED };

/* The tests of the sampled function are made once per address. */
static int open_test(struct report_reading *reading)
{
	const struct report *report = reading->report;
	struct perch_session *session = report->input.session;
	struct perch_error err;

	if (!report->resolved && !report->symbol_part)
		return 0;
	return perch_addresses_new(&reading->by_symbol, perch_session_processes(session),
				   perch_session_symbols(session), &err)
		       ? cli_error(REPORT_COMMAND, &err)
		       : 0;
}

static bool has_part(const struct report *report, const struct perch_symbol *symbol)
{
	struct perch_symbols *symbols = perch_session_symbols(report->input.session);

	return symbol && strstr(perch_symbols_name(symbols, symbol), report->symbol_part);
}

/* Returns enum result, or -ENOMEM: by the functions that are inlined at an address. */
static int test_inlined(const struct report *report, const struct perch_address *address)
{
	struct perch_symbols *symbols = perch_session_symbols(report->input.session);
	const struct perch_symbol_frame *frames;
	int nr;

	if (report->no_inline || !perch_symbols_has_debug_info(symbols, address->dso))
		return OTHER;
	nr = perch_symbols_frames(symbols, address->dso, address->offset, &frames);
	for (int i = 0; i < nr - 1; i++)
		if (has_part(report, frames[i].symbol))
			return WANTED;
	return nr < 0 ? nr : OTHER;
}

/* Returns enum result, or -ENOMEM. */
static int test_symbol(struct perch_addresses *addresses, const struct report *report,
		       const struct perch_record *record)
{
	struct perch_session *session = report->input.session;
	const struct perch_address *address;
	const struct perch_dso *dso;
	struct perch_thread *thread;
	uint32_t number;
	int rc;

	if (!addresses)
		return WANTED;
	thread = perch_processes_thread(perch_session_processes(session), record->sample.pid,
					record->sample.tid);
	rc = thread ? perch_addresses_sampled(addresses, thread, record, &number, &dso) : -ENOMEM;
	if (rc)
		return rc;
	address = perch_addresses_at(addresses, number);
	if (!address->symbol)
		return report->resolved ? UNRESOLVED : OTHER;
	return !report->symbol_part || has_part(report, address->symbol)
		       ? WANTED
		       : test_inlined(report, address);
}

/* Leaves out the outer addresses of a call chain from --max-stack on. Returns true if there are
 * some. */
static bool cut_chain(struct perch_record *record, uint64_t max)
{
	uint64_t nr = 0;

	for (uint64_t i = 0; i < record->sample.callchain.nr; i++) {
		uint64_t ip = perch_word(record, &record->sample.callchain.ip[i]);

		if (ip == PERCH_CONTEXT_USER_DEFERRED) /* a cookie follows, not an address */
			return false;
		if (ip < PERCH_CONTEXT_MAX && ++nr > max) {
			record->sample.callchain.nr = i;
			return true;
		}
	}
	return false;
}

/* Adds one sample, if it is selected. 0 or a negative errno. */
static int add_sample(struct report_reading *reading, struct perch_record *record)
{
	struct report *report = reading->report;
	struct perch_profile *profile = reading->profile;
	struct perch_error *err = &reading->err;
	int match = cli_filter_match(&report->filter, record);
	int result = match < 0 ? match : test_symbol(reading->by_symbol, report, record);
	bool truncated = perch_session_is_truncated(report->input.session, record);

	report_weigh(report, record);
	if (result < 0)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY, "no memory");
	if (!match && !cli_filter_counts(&report->filter))
		return 0;
	if (cli_switch_is_off(&report->switching, record->event))
		return 0;
	if (result == UNRESOLVED)
		return 0;
	/* as in perf of all samples, also of branches without names, unless they are left out */
	if (report->branches && !report->resolved)
		report_add_branch_types(report, record);
	if (!match || result == OTHER)
		return perch_profile_skip(profile, record, err);
	if (reading->shows_chains)
		cli_input_count_chain(&report->input, record);
	if (report->max_stack && cut_chain(record, report->max_stack))
		truncated = false;
	if (report->blocks && report_blocks_add(report->blocks, record, err))
		return -ENOMEM;
	return truncated ? perch_profile_add_truncated(profile, record, err)
			 : perch_profile_add(profile, record, err);
}

/* The bits of all events. */
static uint64_t sample_types(const struct report *report)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(report->input.session), &events);
	uint64_t sample_type = 0;

	for (size_t i = 0; i < nr; i++)
		sample_type |= events[i].attr.sample_type;
	return sample_type;
}

bool report_read_has_chains(const struct report *report)
{
	return !report->branches && sample_types(report) & PERCH_SAMPLE_CALLCHAIN;
}

/* Parents and callees are in call chains. */
static int check_chains(const struct report *report)
{
	bool with_parent = report_has_column(&report->keys, perch_column_find("parent", 6));
	struct perch_error err;

	if ((!with_parent && !report->ignore_callees) ||
	    sample_types(report) & PERCH_SAMPLE_CALLCHAIN)
		return 0;
	perch_error_set(&err, ENODATA, PERCH_ERROR_USAGE, "%s needs call chains, and %s has none",
			with_parent ? "the column parent" : "--ignore-callees", report->input.path);
	perch_error_remedy(&err, "record with -g");
	return cli_error(REPORT_COMMAND, &err);
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
	return !(sample_types(report) &
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
		.branches = report->branches,
		.resolved_branches = report->branches && report->resolved,
	};
}

int report_read_start(struct report_reading *reading, struct report *report)
{
	struct perch_session *session = report->input.session;
	const struct perch_profile_options options = report_profile_options(report);
	struct perch_error err;
	int rc = check_chains(report);

	*reading = (struct report_reading){ .report = report, .shows_chains = !options.flat };
	clock_gettime(CLOCK_MONOTONIC, &reading->start);
	if (rc)
		return rc;
	rc = perch_profile_new(&reading->profile, perch_session_processes(session),
			       perch_session_symbols(session), &options, &err);
	if (rc == -EINVAL)
		return cli_usage_error(REPORT_COMMAND, "%s", err.message);
	if (rc)
		return cli_error(REPORT_COMMAND, &err);
	return open_test(reading);
}

/* Returns 0, or a negative errno with reading->err. */
static int add_record(struct report_reading *reading, struct perch_record *record)
{
	struct report *report = reading->report;

	if (record->type == PERCH_RECORD_SAMPLE) {
		reading->chains |= record->sample.callchain.nr > 0 && !report->branches;
		return add_sample(reading, record);
	}
	if (report->threads && report_threads_add(report->threads, record))
		return perch_error_set(&reading->err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for the counts of threads");
	return 0;
}

static void finish(struct report_reading *reading)
{
	perch_addresses_free(reading->by_symbol);
	reading->by_symbol = NULL;
	reading->ended = true;
	if (!reading->rc)
		reading->rc = perch_profile_finish(reading->profile, &reading->err);
}

double report_read_seconds(const struct report_reading *reading)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - reading->start.tv_sec) +
	       (double)(now.tv_nsec - reading->start.tv_nsec) / 1e9;
}

void report_read_until(struct report_reading *reading, double seconds,
		       void (*progress)(const struct report_reading *reading))
{
	struct perch_session *session = reading->report->input.session;
	struct perch_record record;
	unsigned counter = 0;

	while (!reading->ended) {
		/* the clock is not read for each record */
		if (++counter % 64 == 0) {
			if (progress && counter % 65536 == 0)
				progress(reading);
			if (report_read_seconds(reading) >= seconds)
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

void report_read_stop(struct report_reading *reading)
{
	if (!reading->ended)
		finish(reading);
}

void report_read_progress(const struct report_reading *reading, uint64_t *done, uint64_t *total)
{
	perch_reader_progress(perch_session_reader(reading->report->input.session), done, total);
}

double report_read_seconds_left(const struct report_reading *reading)
{
	uint64_t done, total;

	report_read_progress(reading, &done, &total);
	return done && total ? report_read_seconds(reading) * (double)(total - done) / (double)done
			     : INFINITY;
}

void report_read_show_progress(const struct report_reading *reading)
{
	uint64_t done, total;

	report_read_progress(reading, &done, &total);
	cli_progress("reading samples", done, total + 1);
}

void report_read_close(struct report_reading *reading)
{
	perch_addresses_free(reading->by_symbol);
	perch_profile_free(reading->profile);
	reading->by_symbol = NULL;
	reading->profile = NULL;
}

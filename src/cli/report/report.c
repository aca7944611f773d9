/* SPDX-License-Identifier: MIT */
/* perch report: options, session, profile, rows, and what is printed. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "terminal/pager.h"
#include "terminal/quit_key.h"
#include "report/browser/report_browser.h"
#include "report_group.h"
#include "report_threads.h"
#include "stat/stat_report.h"

#define COMMAND "report"

/*
 * Sets perf's defaults: with call chains --children and caller graphs; with --no-children callee
 * graphs.
 */
void report_set_default_graph(struct report *report, bool chains)
{
	if (!report->children_set)
		report->children = chains;
	if (!chains) {
		report->children = false;
		report->graph.shape = SHAPE_NONE;
	}
	if (!report->graph.order_set)
		report->graph.order = report->children ? PERCH_CALL_GRAPH_CALLER
						       : PERCH_CALL_GRAPH_CALLEE;
	/* as in perf: the graph is that of --children, the rows are not */
	if (report->hierarchy)
		report->children = false;
}

static bool has_samples(const struct perch_profile *profile, unsigned event, size_t nr)
{
	bool found = false;

	for (size_t i = 0; i < nr; i++) {
		struct perch_profile_total total;

		perch_profile_get_total(profile, event + i, &total);
		found |= total.all_samples > 0;
	}
	return found;
}

/* Prints the table of each event. */
static int print_events(FILE *out, struct report *report, struct perch_profile *profile)
{
	struct perch_reader *reader = perch_session_reader(report->input.session);
	const struct perch_file_event *events;
	struct perch_session_stats stats;
	size_t nr = perch_reader_events(reader, &events);
	int status = 0;

	if (!report->quiet)
		report_put_hidden(out, report);
	if (report->header)
		cli_input_print_header(&report->input, out, report->long_header);
	else if (!report->quiet)
		fputs("# To display the perf.data header info, please use --header/--header-only options.\n#\n",
		      out);
	perch_session_get_stats(report->input.session, &stats);
	if (!report->quiet)
		fprintf(out, "#\n# Total Lost Samples: %" PRIu64 "\n", stats.lost);
	for (size_t event = 0, members; event < nr && !status; event += members) {
		members = report_group_events(report, events, event, nr - event);
		if (has_samples(profile, event, members)) {
			struct report of_events = report_of_events(report, event, members);

			status = report_print_event(out, &of_events, profile, events, event,
						    members);
		}
	}
	if (report->threads && !status)
		status = report_threads_put(out, report->threads, events);
	if (!status)
		report_put_branch_types(out, report);
	return status;
}

/* Prints why no row has a call graph. */
static void note_graphs(const struct report *report)
{
	static const char *const shapes[] = {
		[SHAPE_FLAT] = "flat,",
		[SHAPE_FOLDED] = "folded,",
		[SHAPE_FRACTAL] = "fractal,",
	};
	const char *shape = report->graph.shape < CLI_NR(shapes) ? shapes[report->graph.shape]
								 : NULL;

	if (report->graphs && report->graphs->left_out && !report->graphs->printed)
		cli_note(
			COMMAND,
			"no row has a call graph: all branches are below %g%%; -g %s%s,0 prints them",
			report->graph.limit, shape ? shape : "",
			report->graph.order == PERCH_CALL_GRAPH_CALLER ? "caller" : "callee");
}

/* True if perch record, or perf, has sampled CPUs (-a). */
static bool is_of_cpus(const struct perch_attr *attr)
{
	return !attr->enable_on_exec && attr->sample_type & PERCH_SAMPLE_CPU;
}

/* Prints what the samples of the file lack. */
static void print_notes(const struct report *report, const struct perch_profile *profile)
{
	struct perch_reader *reader = perch_session_reader(report->input.session);
	const struct perch_file_event *events;
	struct perch_session_stats stats;
	const char *without_cpu = NULL;
	size_t nr = perch_reader_events(reader, &events), present = 0;

	for (size_t event = 0; event < nr; event++) {
		struct perch_profile_total total;

		perch_profile_get_total(profile, event, &total);
		if (!total.all_samples)
			continue;
		present++;
		if (report_has_column(&report->keys, perch_column_find("cpu", 3)) &&
		    !(events[event].attr.sample_type & PERCH_SAMPLE_CPU))
			without_cpu = events[event].name;
	}
	if (without_cpu)
		cli_note(COMMAND,
			 "the samples of %s have no CPU, which is shown as -001; record with "
			 "--sample-cpu, -a or -C",
			 without_cpu);
	if (present)
		report_note_lacking(report, cli_input_sample_types(&report->input));
	perch_session_get_stats(report->input.session, &stats);
	if (!present && !report->event && !report->filter.filter && !report->filter.resolved &&
	    !stats.damage.missing_bytes && !stats.damage.corrupt_bytes)
		cli_note(COMMAND, "%s has no samples: %s", report->input.path,
			 nr && is_of_cpus(&events[0].attr)
				 ? "on no CPU did an event occur as often as its sampling period; "
				   "sample more often (-F, -c), or choose another event"
				 : "threads and processes that end within a period have none, "
				   "because each has a timer of its own; sample by CPU "
				   "(--descendants, or -a for all), or more often (-F)");
}

static size_t count_events(const struct report *report)
{
	const struct perch_file_event *events;

	return perch_reader_events(perch_session_reader(report->input.session), &events);
}

/* The browser shows the first rows after this time, unless the rest takes only a few seconds more.
 */
#define FIRST_SECONDS  1.0
#define REST_SECONDS   2.0

#define SILENT_SECONDS 0.3 /* before the progress is shown */

/* On a terminal: shows the progress, and the key q stops. */
static bool show_progress(void *context, const struct report_reading *reading)
{
	const bool *has_keys = context;
	char text[160];

	if (report_read_seconds(reading) >= SILENT_SECONDS && isatty(STDERR_FILENO)) {
		report_read_describe(reading, text, sizeof(text));
		if (*has_keys)
			strcat(text, " (q stops)");
		cli_put_progress(COMMAND, text);
	}
	return !cli_is_quit_key();
}

static void end_progress(struct report_reading *reading)
{
	reading->busy = NULL;
	cli_end_quit_key();
	if (isatty(STDERR_FILENO))
		cli_put_progress(COMMAND, "");
}

/* The user has ended the command. */
#define STOPPED (-1)

static int end_stopped(void)
{
	cli_note(COMMAND, "stopped by the key q before there were rows");
	return STOPPED;
}

/* Shows the samples so far while the others are read. */
static int browse_reading(struct report *report, struct report_reading *reading)
{
	struct perch_profile *profile;
	int rc = report_read_snapshot(reading, &profile);

	end_progress(reading);
	if (rc == -ECANCELED)
		return end_stopped();
	return rc ? cli_error(COMMAND, &reading->err)
		  : report_browse_reading(report, reading, profile);
}

/* Prints the rows of the profile. */
static int print_profile(FILE *out, struct report *report, struct report_reading *reading)
{
	const bool browsed = report_can_be_browsed(report);
	struct report_graphs graphs = { .printed = false };
	int status;

	if (reading->ended && reading->stopped[0] &&
	    !has_samples(reading->profile, 0, count_events(report)))
		return end_stopped();
	report->graphs = &graphs;
	if (browsed && !reading->ended) {
		status = browse_reading(report, reading);
	} else if (browsed && has_samples(reading->profile, 0, count_events(report))) {
		status = report_browse(report, reading->profile);
	} else {
		cli_start_pager();
		status = report->json ? report_print_json(out, report, reading->profile)
				      : print_events(out, report, reading->profile);
	}
	if (!status && reading->stopped[0])
		cli_note(COMMAND, "reading was stopped: the rows are of the first %s of %s",
			 reading->stopped, report->input.path);
	if (!status && !report->quiet) {
		print_notes(report, reading->profile);
		note_graphs(report);
		report_note_lost_switches(report);
		cli_filter_print_notes(&report->filter, &report->input);
		cli_switch_print_note(&report->switching, COMMAND);
	}
	report->graphs = NULL;
	return status;
}

static int new_threads(struct report *report)
{
	report->threads = report_threads_new();
	if (report->threads)
		return 0;
	cli_note(COMMAND, "no memory for the counts of threads");
	return CLI_EXIT_FAILURE;
}

/* True if rows have functions that are inlined into the one that the filter selects, or that
 * contain it. */
static bool has_other_functions(const struct report *report, struct perch_profile *profile)
{
	struct perch_filter_stats stats;
	const struct perch_row *rows;
	size_t nr_events = count_events(report), nr;

	if (!report->filter.options.symbols)
		return false;
	perch_filter_get_stats(report->filter.filter, &stats);
	for (unsigned event = 0; event < nr_events && !stats.inlined; event++) {
		if (perch_profile_rows(profile, event, NULL, &rows, &nr, NULL))
			continue;
		for (size_t i = 0; i < nr; i++)
			if (rows[i].frame.symbol && rows[i].frame.symbol->inlined)
				return true;
	}
	return stats.inlined;
}

/* Makes the profile of the samples that the options select. For a browser it stops after the first
 * second if the rest takes long. */
static int make_profile(struct report *report, struct report_reading *reading)
{
	bool *has_keys = reading->busy_context;
	int status = report_set_mode(report);

	if (!status)
		status = report_set_latencies(report);
	if (!status)
		status = report_set_keys(report);
	report->filter.options.no_inline = report->no_inline;
	if (!status)
		status = cli_filter_open(&report->filter, &report->input);
	if (!status)
		status = cli_switch_open(&report->switching, &report->input);
	if (!status && report->show_threads)
		status = new_threads(report);
	if (!status)
		status = report_read_start(reading, report);
	if (status)
		return status;
	reading->busy = show_progress;
	if (report_can_be_browsed(report)) {
		*has_keys = cli_start_quit_key();
		report_read_until(reading, FIRST_SECONDS);
	}
	if (!report_can_be_browsed(report) || report_read_seconds_left(reading) <= REST_SECONDS)
		report_read_until(reading, INFINITY);
	if (reading->ended)
		end_progress(reading);
	if (reading->rc == -ECANCELED)
		return end_stopped();
	if (reading->rc)
		return cli_error(COMMAND, &reading->err);
	/* what the rest of the file has is not known yet */
	if (!reading->ended && report_read_has_chains(report))
		reading->chains = true;
	report_set_default_graph(report, reading->chains);
	report->other_functions = !reading->ended || has_other_functions(report, reading->profile);
	return report_set_columns(report);
}

/* Prints what the options ask for. */
static int print_file(FILE *out, struct report *report)
{
	bool has_keys = false;
	struct report_reading reading = { .busy_context = &has_keys };
	int status;

	if (report->header_only) {
		cli_start_pager();
		cli_input_print_header(&report->input, out, report->long_header);
		return 0;
	}
	if (report->stats)
		return report_print_stats(out, report);
	if (report->tasks || report->mmaps)
		return report_print_tasks(out, report);
	if (cli_input_has_counts(&report->input))
		return cli_print_counts(out, &report->input);
	status = make_profile(report, &reading);
	if (!status)
		status = print_profile(out, report, &reading);
	cli_end_quit_key();
	report_read_close(&reading);
	return status == STOPPED ? 0 : status;
}

static void print_file_notes(const struct report *report)
{
	if (report->header_only || report->quiet)
		return;
	cli_input_print_notes(&report->input);
	if (!report->stats && !report->tasks && !report->mmaps)
		cli_input_print_chain_notes(&report->input);
}

static void close_report(struct report *report)
{
	report_threads_free(report->threads);
	report->threads = NULL;
	cli_config_clear(&report->config);
	perch_trace_columns_free(report->trace_columns);
	perch_blocks_free(report->blocks);
	perch_switch_free(report->switching.by_events);
	cli_filter_close(&report->filter);
	cli_input_close(&report->input);
}

int perch_cmd_report(int argc, char **argv)
{
	struct report *report;
	int status = report_parse(&report, argc, argv);

	if (!status)
		status = cli_input_open(&report->input);
	if (!status)
		status = cli_check_unsupported(&report->unsupported, &report->input);
	if (status)
		return status;
	__fsetlocking(stdout, FSETLOCKING_BYCALLER); /* there is one thread */
	cli_survive_closed_pipe();
	status = print_file(stdout, report);
	if (cli_check_stdout(COMMAND, 0))
		status = CLI_EXIT_FAILURE;
	print_file_notes(report);
	close_report(report);
	return status;
}

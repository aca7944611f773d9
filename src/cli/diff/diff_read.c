/* SPDX-License-Identifier: MIT */
/* Reads the files of perch diff, one after the other. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/kernel/dummy_event.h"
#include "diff.h"

/* A file that is being read. */
struct reading {
	struct diff *diff;
	size_t file;
	struct cli_input input;
	struct cli_filter filter;
	struct perch_profile *profile;
	char *time; /* the part of --time that is for this file */
	const struct perch_column
		*key[DIFF_MAX_KEYS]; /* diff->key, or those of this file; NULL: a sum */
	const struct perch_column *column[DIFF_MAX_KEYS]; /* keys other than sums */
	size_t nr_columns;
	struct perch_trace_columns *trace_columns; /* NULL: there is no key "trace" */
};

/* ---- events ---- */

static int new_comparison(const struct diff *diff, struct diff_event *event)
{
	const struct perch_comparison_options options = { .nr_profiles = diff->nr_files,
							  .keys = diff->key,
							  .nr_keys = diff->nr_keys,
							  .method = diff->method,
							  .base_weight = diff->base_weight,
							  .weight = diff->weight,
							  .order = diff->order,
							  .baseline_only = diff->baseline_only,
							  .relative = diff->relative,
							  .branches = diff->graph };
	struct perch_error err;

	return perch_comparison_new(&event->comparison, &options, &err)
		       ? cli_error(DIFF_COMMAND, &err)
		       : 0;
}

static int add_base_events(struct diff *diff, const struct perch_file_event *events, size_t nr)
{
	diff->event = calloc(nr + 1, sizeof(*diff->event));
	if (!diff->event)
		return cli_no_memory(DIFF_COMMAND);
	for (size_t i = 0; i < nr; i++) {
		struct diff_event *event = &diff->event[i];

		event->name = strdup(events[i].name);
		event->type = events[i].attr.type;
		event->config = events[i].attr.config;
		event->is_dummy = perch__is_dummy(&events[i].attr);
		diff->nr_events++;
		if (!event->name || new_comparison(diff, event))
			return cli_no_memory(DIFF_COMMAND);
	}
	return 0;
}

/* True if events with different names are the same, as cpu-clock and cpu-clock:u. The numbers of
 * other types differ between machines. */
static bool same_config(const struct diff_event *event, const struct perch_attr *attr)
{
	return event->type == attr->type && event->config == attr->config &&
	       attr->type < PERCH_TYPE_BREAKPOINT && attr->type != PERCH_TYPE_TRACEPOINT;
}

/* Returns the event of the first file that is compared with this one, or NULL. */
static struct diff_event *match_event(struct diff *diff, size_t file,
				      const struct perch_file_event *event)
{
	for (int by_name = 1; by_name >= 0; by_name--)
		for (size_t i = 0; i < diff->nr_events; i++) {
			struct diff_event *other = &diff->event[i];

			if (!other->found[file] && (by_name ? !strcmp(other->name, event->name)
							    : same_config(other, &event->attr)))
				return other;
		}
	return NULL;
}

/* ---- samples ---- */

/* The times of several files are separated by colons. Shares of the time are for each file. */
static int choose_time(struct reading *reading)
{
	const char *at = reading->diff->filter.time;

	if (!at || !strchr(at, ':'))
		return 0;
	for (size_t i = 0; i < reading->file; i++) {
		at = strchr(at, ':');
		if (!at)
			return cli_usage_error(DIFF_COMMAND,
					       "--time has no time for file %zu: separate those of "
					       "the files by colons",
					       reading->file);
		at++;
	}
	reading->time = strndup(at, strcspn(at, ":"));
	reading->filter.options.time = reading->time;
	return reading->time ? 0 : cli_no_memory(DIFF_COMMAND);
}

static int read_samples(struct reading *reading)
{
	struct perch_record record;
	struct perch_error err;
	int rc;

	while ((rc = cli_input_next(&reading->input, &record)) > 0) {
		int matches;

		if (record.type != PERCH_RECORD_SAMPLE)
			continue;
		matches = cli_filter_match(&reading->filter, &record);
		if (matches < 0)
			return cli_no_memory(DIFF_COMMAND);
		if (matches)
			rc = perch_profile_add(reading->profile, &record, &err);
		else if (cli_filter_counts(&reading->filter))
			rc = perch_profile_skip(reading->profile, &record, &err);
		if (rc < 0)
			return cli_error(DIFF_COMMAND, &err);
	}
	if (rc < 0)
		return CLI_EXIT_FAILURE;
	if (perch_profile_finish(reading->profile, &err))
		return cli_error(DIFF_COMMAND, &err);
	return 0;
}

static void note_left_out(const struct reading *reading, const struct perch_file_event *event)
{
	char name[128];

	if (perch__is_dummy(&event->attr))
		return;
	perch_clean_text(event->name, name, sizeof(name));
	cli_note(DIFF_COMMAND, "only %s has the event %s, which is left out", reading->input.path,
		 name);
}

static int read_events(struct reading *reading)
{
	struct diff *diff = reading->diff;
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(reading->input.session), &events);
	struct perch_error err;
	int status = reading->file ? 0 : add_base_events(diff, events, nr);

	for (size_t i = 0; i < nr && !status; i++) {
		struct diff_event *event = reading->file
						   ? match_event(diff, reading->file, &events[i])
						   : &diff->event[i];

		if (!event) {
			note_left_out(reading, &events[i]);
			continue;
		}
		event->found[reading->file] = true;
		event->freq[reading->file] = events[i].attr.freq;
		event->rate[reading->file] = events[i].attr.sample_period;
		if (perch_comparison_add(event->comparison, reading->file, reading->profile,
					 (unsigned)i, reading->key, &err))
			status = cli_error(DIFF_COMMAND, &err);
	}
	return status;
}

/* ---- the file ---- */

const struct diff_machine_feature diff_machine_features[5] = {
	{ PERCH_FEATURE_HOSTNAME, "machine" },	    { PERCH_FEATURE_OSRELEASE, "kernel" },
	{ PERCH_FEATURE_ARCH, "architecture" },	    { PERCH_FEATURE_CPUDESC, "CPU" },
	{ PERCH_FEATURE_NRCPUS, "number of CPUs" },
};

static void read_machine(struct reading *reading)
{
	struct perch_reader *reader = perch_session_reader(reading->input.session);
	struct diff_file *file = &reading->diff->file[reading->file];

	for (size_t i = 0; i < CLI_NR(diff_machine_features); i++) {
		enum perch_feature feature = diff_machine_features[i].feature;
		const char *text = perch_reader_text(reader, feature);
		char clean[256];
		const void *bytes;
		uint32_t online;
		size_t size;

		/* u32 available, u32 online */
		if (feature == PERCH_FEATURE_NRCPUS &&
		    !perch_reader_feature(reader, feature, &bytes, &size) && size >= 8 &&
		    perch_reader_byte_order(reader) == PERCH_BYTES_NATIVE) {
			memcpy(&online, (const char *)bytes + 4, sizeof(online));
			snprintf(clean, sizeof(clean), "%u", online);
		} else if (text) {
			perch_clean_text(text, clean, sizeof(clean));
		} else {
			continue;
		}
		file->texts[i] = strdup(clean);
	}
}

/* Each message has the name of its file. */
static void print_notes(struct reading *reading)
{
	char command[CLI_INPUT_COMMAND];

	reading->input.command = cli_input_command(&reading->input, command);
	cli_input_print_notes(&reading->input);
	cli_filter_print_notes(&reading->filter, &reading->input);
	reading->input.command = DIFF_COMMAND;
}

const struct perch_column diff_trace_key = { .name = "trace", .header = "Trace output" };

/* Sets the columns of this file. */
static int set_columns(struct reading *reading)
{
	const struct diff *diff = reading->diff;
	struct perch_error err;

	for (size_t i = 0; i < diff->nr_keys; i++) {
		const struct perch_column *const *found;
		size_t nr;

		reading->key[i] = diff_is_sum(diff->key[i]) ? NULL : diff->key[i];
		if (diff->key[i] == &diff_trace_key &&
		    (perch_trace_columns_new(&reading->trace_columns, reading->input.session,
					     &err) ||
		     perch_trace_columns_find(reading->trace_columns, diff_trace_key.name,
					      strlen(diff_trace_key.name), &found, &nr, &err)))
			return cli_error(DIFF_COMMAND, &err);
		if (diff->key[i] == &diff_trace_key)
			reading->key[i] = found[0];
		if (reading->key[i])
			reading->column[reading->nr_columns++] = reading->key[i];
	}
	return 0;
}

static int read_file(struct reading *reading)
{
	const struct diff *diff = reading->diff;
	struct perch_session *session = reading->input.session;
	struct perch_profile_options options = { .columns = reading->column,
						 .flat = !diff->graph,
						 .graph_samples = diff->graph };
	struct perch_error err;
	int status;

	read_machine(reading);
	status = set_columns(reading);
	if (status)
		return status;
	options.nr_columns = reading->nr_columns;
	cli_input_set_threads(&reading->input, &options);
	if (perch_profile_new(&reading->profile, perch_session_processes(session),
			      perch_session_symbols(session), &options, &err) ||
	    cli_input_set_calls(&reading->input, reading->profile, &err))
		return cli_error(DIFF_COMMAND, &err);
	status = read_samples(reading);
	if (!status)
		status = read_events(reading);
	print_notes(reading);
	if (reading->filter.filter) {
		struct perch_filter_stats stats;

		perch_filter_get_stats(reading->filter.filter, &stats);
		reading->diff->inlined |= stats.inlined > 0;
	}
	return status;
}

int diff_read_file(struct diff *diff, size_t file)
{
	struct reading reading = {
		.diff = diff, .file = file, .input = diff->input, .filter.options = diff->filter
	};
	int status;

	reading.input.path = diff->file[file].path;
	reading.input.verbose = diff->verbose;
	status = choose_time(&reading);
	if (!status)
		status = cli_input_open(&reading.input);
	if (!status) {
		status = cli_filter_open(&reading.filter, &reading.input);
		if (!status)
			status = read_file(&reading);
		perch_profile_free(reading.profile);
		perch_trace_columns_free(reading.trace_columns);
		cli_filter_close(&reading.filter);
		cli_input_close(&reading.input);
	}
	free(reading.time);
	return status;
}

void diff_free(struct diff *diff)
{
	for (size_t i = 0; i < diff->nr_events; i++) {
		free(diff->event[i].name);
		perch_comparison_free(diff->event[i].comparison);
	}
	free(diff->event);
	for (size_t i = 0; i < diff->nr_files; i++)
		for (size_t k = 0; k < CLI_NR(diff->file[i].texts); k++)
			free(diff->file[i].texts[k]);
}

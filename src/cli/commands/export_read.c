/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/no_memory.h"
#include "export_read.h"
#include "options.h"
#include "output_file.h"

/* Addresses of whole call chains are numbered many at a time. */
static bool adds_chains(const struct cli_input *input)
{
	return !input->options.ignore_callees;
}

/* Adds the last record of the session if it is a sample that the filter selects. */
static int add_record(struct cli_input *input, struct cli_filter *filter,
		      struct perch_record *record, struct perch_export *to, struct perch_error *err)
{
	struct perch_session_sample sample;
	struct perch_off_cpu off_cpu;
	int rc, function = CLI_FUNCTION_WANTED;

	if (record->type != PERCH_RECORD_SAMPLE)
		return perch_export_add_record(to, record, err);
	rc = cli_filter_match(filter, record);
	if (rc > 0)
		function = cli_filter_test_function(filter, input, record);
	if (rc < 0 || function < 0)
		return PERCH__NO_MEMORY(err, "for a filter");
	if (!rc || function != CLI_FUNCTION_WANTED)
		return 0;
	if (input->wakers && perch_session_off_cpu(input->session, record, &off_cpu))
		input->any_wakers |= off_cpu.flags & PERCH_OFF_CPU_WOKEN;
	cli_input_count_chain(input, record);
	cli_filter_cut_chain(filter, record);
	rc = adds_chains(input) ? perch_session_add_chain(input->session, record, &sample, err)
				: perch_session_resolve(input->session, record, &sample, err);
	return rc ? rc : perch_export_add(to, &sample, err);
}

int cli_export_open(struct cli_input *input, struct cli_filter *filter)
{
	int status;

	input->options.wakers = input->wakers;
	input->options.off_cpu_states = input->states;
	cli_filter_exclude_other(filter, filter->options.parent);
	status = cli_input_open(input);
	if (!status && input->options.ignore_callees)
		status = cli_input_require_chains(input, "--ignore-callees");
	return status ? status : cli_filter_open(filter, input);
}

int cli_export_new(struct perch_export **to, const struct cli_input *input,
		   const struct cli_filter *filter, enum perch_export_format format,
		   const struct perch_export_options *options)
{
	struct perch_export_options all = *options;
	struct perch_error err;

	all.add_chain = adds_chains(input);
	all.threads = cli_input_threads(input) > 1;
	all.selected = cli_filter_is_given(filter);
	if (!perch_export_new(to, input->session, format, &all, &err))
		return 0;
	return err.kind == PERCH_ERROR_USAGE ? cli_usage_error(input->command, "%s", err.message)
					     : cli_error(input->command, &err);
}

int cli_export_add_samples(struct cli_input *input, struct cli_filter *filter,
			   struct perch_export *to)
{
	struct perch_record record;
	struct perch_error err;
	unsigned counter = 0;
	int rc;

	while ((rc = cli_input_next(input, &record)) > 0) {
		if (add_record(input, filter, &record, to, &err))
			return cli_error(input->command, &err);
		if (++counter % 65536 == 0) {
			uint64_t done, total;

			perch_reader_progress(perch_session_reader(input->session), &done, &total);
			cli_progress("reading samples", done, total + 1);
		}
	}
	cli_progress("reading samples", 1, 1);
	if (!rc && input->wakers && !input->any_wakers)
		cli_note(input->command, "no sample of %s has a waker; record with --off-cpu=waker",
			 input->path);
	return rc ? CLI_EXIT_FAILURE : 0;
}

int cli_export_check_output(const struct cli_input *input, const char *path)
{
	struct stat in, out;

	if (!input->path || stat(input->path, &in) || stat(path, &out) || !S_ISREG(out.st_mode) ||
	    in.st_dev != out.st_dev || in.st_ino != out.st_ino)
		return 0;
	return cli_usage_error(
		input->command,
		"%s is the input: the output would replace it; name another file (-o)", path);
}

bool cli_export_has_content(const struct perch_export *from, bool markers, const char *path)
{
	struct perch_export_stats stats;

	perch_export_get_stats(from, &stats);
	/* mappings are markers, and all recordings have them */
	return stats.samples || markers || !strcmp(path, "-");
}

void cli_export_print_refusal(const char *command, const char *path)
{
	cli_note(command,
		 "%s is not written: it would have no samples; '-o -' writes it to standard output",
		 path);
}

static int write_to_stdout(const char *command, struct perch_export *from)
{
	struct perch_error err;

	if (!perch_export_write(from, stdout, &err))
		return 0;
	clearerr(stdout); /* this is the message about it */
	if (err.kind == PERCH_ERROR_FILE)
		perch_error_set(&err, err.errnum, PERCH_ERROR_FILE,
				"standard output cannot be written: %s", strerror(err.errnum));
	return cli_error(command, &err);
}

int cli_export_write(const char *command, struct perch_export *from, const char *path, bool own)
{
	struct cli_output_file out;
	struct perch_error err;
	int rc;

	if (!strcmp(path, "-"))
		return write_to_stdout(command, from);
	rc = cli_output_open(&out, path, own ? CLI_OUTPUT_OWN_NAME : 0, &err);
	if (rc)
		return cli_error(command, &err);
	rc = perch_export_write(from, out.stream, &err);
	if (!rc || err.kind == PERCH_ERROR_FILE)
		rc = cli_output_close(&out, rc ? err.errnum : 0, &err);
	cli_output_discard(&out);
	return rc ? cli_error(command, &err) : 0;
}

void cli_export_print_other(const struct cli_input *input, bool markers,
			    const struct perch_export *from)
{
	struct perch_export_stats stats;

	perch_export_get_stats(from, &stats);
	if (stats.other)
		cli_note(input->command,
			 "%" PRIu64 " %s of other events %s: --event EVENT selects another event",
			 stats.other, cli_word(stats.other, "sample", "samples"),
			 markers ? cli_word(stats.other, "is a marker", "are markers")
				 : cli_word(stats.other, "is left out", "are left out"));
}

/* A sample of a switch is no time: it does not know how long the thread will wait. */
void cli_export_note_switches(const struct cli_input *input)
{
	const struct perch_file_event *events;
	size_t nr = perch_reader_events(perch_session_reader(input->session), &events);
	bool switches = false;

	for (size_t i = 0; i < nr; i++) {
		const char *name = events[i].name ? events[i].name : "";

		if (!strncmp(name, "offcpu-time", strlen("offcpu-time")))
			return;
		switches |= !strcmp(name, "sched:sched_switch") &&
			    events[i].attr.sample_type & PERCH_SAMPLE_CALLCHAIN;
	}
	if (switches)
		cli_note(input->command, "samples of sched:sched_switch count switches; 'perch "
					 "record --off-cpu' has the time of waits by call chain");
}

void cli_export_print_notes(struct cli_input *input, const struct cli_filter *filter,
			    const struct perch_export *from)
{
	struct perch_export_stats stats;
	uint64_t uncertain;

	perch_export_get_stats(from, &stats);
	cli_filter_print_notes(filter, input);
	uncertain = perch_export_uncertain(from);
	if (uncertain)
		cli_note(input->command,
			 "%" PRIu64 " %s of threads may be wrong, because switches are missing",
			 uncertain, cli_word(uncertain, "interval", "intervals"));
	if (!stats.samples && !cli_filter_is_given(filter))
		cli_note(input->command, "the recording has no samples");
	cli_input_print_notes(input);
	cli_input_print_chain_notes(input);
}

/* SPDX-License-Identifier: MIT */
/* The sections after the data of a file: the machine, the clock, times; others call this. */
#include <time.h>
#include <perch/version.h>

#include "internal.h"

/*
 * Writes the resolution of a clock that was chosen, and a moment by the clock of the samples and by
 * the wall clock, so that readers can convert times of samples. Of a pipe it is its start, of a
 * file its end: files that are written until then belong to the recording. But the rings may have
 * left no locked memory for the question.
 */
static int write_clock(const struct perch_recorder *recorder, struct perch_writer *writer,
		       struct perch_error *err)
{
	const struct perch_options *event = &recorder->options.sampler.event;
	struct recorder_moment moment = recorder->moment;
	struct timespec resolution;
	uint64_t ns;
	int rc = 0;

	if (recorder->options.path)
		perch__recorder_take_moment(&moment, event, recorder->machine);
	if (event->use_clockid && !clock_getres(event->clockid, &resolution)) {
		ns = recorder_ns(resolution);
		rc = perch_writer_set_feature(writer, PERCH_FEATURE_CLOCKID, &ns, sizeof(ns), err);
	}
	return rc < 0 || !moment.wall ? rc : perch__recorder_write_moment(writer, &moment, err);
}

int perch__recorder_write_first_features(const struct perch_recorder *recorder,
					 struct perch_writer *writer, struct perch_error *err)
{
	const struct perch_recorder_options *options = &recorder->options;
	int rc = perch_writer_describe(writer,
				       options->version ? options->version : perch_version(),
				       options->argc, options->argv, recorder->machine, err);

	if (rc >= 0)
		rc = write_clock(recorder, writer, err);
	return rc < 0 ? rc
		      : perch__recorder_write_tracing_data(writer, recorder->events,
							   recorder->nr_events, recorder->machine,
							   err);
}

int perch__recorder_write_features(const struct perch_recorder *recorder, struct perch_error *err)
{
	const struct recorder_scan *scan = &recorder->scan;
	struct perch_writer *writer = recorder->output.writer;
	/* a pipe has them before its records */
	int rc = recorder->options.path
			 ? perch__recorder_write_first_features(recorder, writer, err)
			 : 0;

	if (rc >= 0 && scan->last_time)
		rc = perch_writer_set_sample_time(writer, scan->first_time, scan->last_time, err);
	if (rc >= 0 && perch__recorder_has_bpf(recorder))
		rc = perch_writer_add_bpf_programs(writer, recorder->machine, err);
	if (rc >= 0 && recorder->options.path)
		rc = perch__recorder_write_cost(recorder, writer, err);
	return rc < 0 ? rc : perch__recorder_write_build_ids(recorder, err);
}

/* SPDX-License-Identifier: MIT */
/* The sections after the data of a file: the machine, the clock, times; others call this. */
#include <time.h>
#include <perch/version.h>

#include "internal.h"

static uint64_t ns_of(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

/*
 * Writes the resolution of the clock of -k, and one point in time by it and by the wall clock, so
 * that readers can convert times of samples.
 */
static int write_clock(struct perch_writer *writer, int32_t clock, struct perch_error *err)
{
	struct {
		uint32_t version, clock;
		uint64_t wall, time;
	} data = { 1, (uint32_t)clock, 0, 0 };
	struct timespec resolution, wall, time;
	uint64_t ns;
	int rc;

	if (clock_getres(clock, &resolution) || clock_gettime(clock, &time) ||
	    clock_gettime(CLOCK_REALTIME, &wall))
		return 0;
	ns = ns_of(&resolution);
	data.wall = ns_of(&wall);
	data.time = ns_of(&time);
	rc = perch_writer_set_feature(writer, PERCH_FEATURE_CLOCKID, &ns, sizeof(ns), err);
	return rc < 0 ? rc
		      : perch_writer_set_feature(writer, PERCH_FEATURE_CLOCK_DATA, &data,
						 sizeof(data), err);
}

int perch__recorder_write_first_features(const struct perch_recorder *recorder,
					 struct perch_writer *writer, struct perch_error *err)
{
	const struct perch_recorder_options *options = &recorder->options;
	const struct perch_options *event = &options->sampler.event;
	int rc = perch_writer_describe(writer,
				       options->version ? options->version : perch_version(),
				       options->argc, options->argv, recorder->machine, err);

	if (rc >= 0 && event->use_clockid)
		rc = write_clock(writer, event->clockid, err);
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
	return rc < 0 ? rc : perch__recorder_write_build_ids(recorder, err);
}

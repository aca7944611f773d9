/* SPDX-License-Identifier: MIT */
/* The sections after the data of a file: the machine, the clock, times; others call this. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "record.h"

/*
 * Writes the machine and the command line. As in perf, the command line has the path of the command
 * first.
 */
static int write_description(struct perch_writer *writer, const struct record_options *options,
			     struct perch_error *err)
{
	char **argv = calloc(options->argc + 1, sizeof(*argv));
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int rc;

	if (!argv)
		return perch_error_set(err, ENOMEM, PERCH_ERROR_NO_MEMORY,
				       "no memory for the command line");
	if (length < 0)
		length = snprintf(self, sizeof(self), "perch");
	self[length] = 0;
	argv[0] = self;
	memcpy(argv + 1, options->argv, options->argc * sizeof(*argv));
	rc = perch_writer_describe(writer, cli_version, options->argc + 1, argv, options->machine,
				   err);
	free(argv);
	return rc;
}

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

int record_write_first_features(const struct record *record, struct perch_error *err)
{
	const struct record_options *options = record->options;
	struct perch_writer *writer = record->files.writer;
	int rc = write_description(writer, options, err);

	if (rc >= 0 && options->use_clock)
		rc = write_clock(writer, options->clock, err);
	return rc < 0 ? rc
		      : perch__recorder_write_tracing_data(writer, &record->plan->events,
							   options->machine, err);
}

int record_write_features(const struct record *record, struct perch_error *err)
{
	const struct record_options *options = record->options;
	const struct recorder_scan *scan = &record->scan;
	struct perch_writer *writer = record->files.writer;
	/* a pipe has them before its records */
	int rc = record_to_pipe(options) ? 0 : record_write_first_features(record, err);

	if (rc >= 0 && scan->last_time)
		rc = perch_writer_set_sample_time(writer, scan->first_time, scan->last_time, err);
	if (rc >= 0 && !record->plan->user_only && !options->flag[RECORD_NO_BPF])
		rc = perch_writer_add_bpf_programs(writer, options->machine, err);
	return rc < 0 ? rc : record_write_build_ids(record, err);
}

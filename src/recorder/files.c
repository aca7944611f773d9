/* SPDX-License-Identifier: MIT */
/*
 * The files of a recording: one, several in sequence, or snapshots (overwrite). Each of several
 * starts with the side-band records before it, so each file is complete. Their names are those of
 * perf: PATH.YYYYMMDDHHMMSSNN, the time of their end to hundredths of a second.
 */
#define _GNU_SOURCE /* asprintf */
#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/no_memory.h"
#include "file/writer.h"
#include "internal.h"
#include "workers.h"

#define STEP_NS 10000000 /* the last digit of a name */

uint64_t perch__recorder_now_ms(void)
{
	return recorder_clock(CLOCK_MONOTONIC) / 1000000;
}

/* ---- events ---- */

static int gather_events(struct perch_recorder *recorder)
{
	const struct perch_sampler *sampler = recorder->sampler;
	const size_t nr = recorder->nr_own_events;
	struct perch_file_event *events = calloc(nr + 1, sizeof(*events));
	size_t i;

	if (!events)
		return -ENOMEM;
	recorder->events = events;
	for (i = 0; i <= nr; i++) {
		struct perch_file_event *event = &events[i];
		const uint64_t *ids;
		size_t nr_ids;
		const struct perch_attr *attr =
			perch_sampler_event(sampler, i, &event->name, &ids, &nr_ids);
		uint64_t *copy = attr ? calloc(nr_ids + 1, sizeof(*copy)) : NULL;

		if (!attr)
			break;
		if (!copy)
			return -ENOMEM;
		/* those of the sampler move if the program adds threads */
		memcpy(copy, ids, nr_ids * sizeof(*copy));
		event->ids = copy;
		event->nr_ids = nr_ids;
		event->attr = *attr;
		events[perch_sampler_leader(sampler, i)].members++;
		recorder->nr_events = i + 1;
	}
	return 0;
}

/* Sets the positions of times and names in the records of these events. */
static void init_scan(struct recorder_scan *scan, const struct perch_recorder *recorder)
{
	const struct perch_file_event *events = recorder->events;

	perch_parse_info_init(&scan->parse_info, &events[0].attr, PERCH_BYTES_NATIVE);
	scan->mmap_parse_info = scan->parse_info;
	scan->same_time_word = true;
	for (size_t i = 0; i < recorder->nr_events; i++) {
		struct perch_parse_info parse_info;

		perch_parse_info_init(&parse_info, &events[i].attr, PERCH_BYTES_NATIVE);
		if (events[i].attr.mmap)
			scan->mmap_parse_info = parse_info;
		if (parse_info.sample_time_word != scan->parse_info.sample_time_word)
			scan->same_time_word = false;
	}
}

static int make_decoder(struct perch_recorder *recorder, struct perch_error *err)
{
	const struct perch_file_event *from = recorder->events;
	struct perch_decoder_event *events = calloc(recorder->nr_events, sizeof(*events));
	int rc;

	if (!events)
		return PERCH__NO_MEMORY(err, "to record with");
	for (size_t i = 0; i < recorder->nr_events; i++)
		events[i] = (struct perch_decoder_event){ .attr = &from[i].attr,
							  .ids = from[i].ids,
							  .nr_ids = from[i].nr_ids };
	rc = perch_decoder_new(&recorder->decoder, events, recorder->nr_events, PERCH_BYTES_NATIVE,
			       err);
	free(events);
	return rc;
}

int perch__recorder_prepare_files(struct perch_recorder *recorder, struct perch_error *err)
{
	const bool overwrite = recorder->options.sampler.overwrite;

	recorder->names = calloc(recorder->options.max_files + 1, sizeof(*recorder->names));
	if (!recorder->names || gather_events(recorder) < 0 ||
	    perch__recorder_lost_init(&recorder->lost, recorder->events, recorder->nr_events,
				      recorder->rings.nr,
				      overwrite ? recorder->nr_own_events : SIZE_MAX) < 0)
		return PERCH__NO_MEMORY(err, "to record with");
	init_scan(&recorder->scan, recorder);
	recorder->scan.lost = perch__recorder_lost_records(&recorder->lost);
	recorder->scan.sideband = perch__recorder_keeps_sideband(recorder) ? &recorder->sideband
									   : NULL;
	return overwrite ? make_decoder(recorder, err) : 0;
}

void perch__recorder_clear_files(struct perch_recorder *recorder)
{
	for (size_t i = 0; recorder->names && i <= recorder->options.max_files; i++)
		free(recorder->names[i]);
	free(recorder->names);
	free(recorder->last);
	for (size_t i = 0; i < recorder->nr_events; i++)
		free((uint64_t *)recorder->events[i].ids);
	free(recorder->events);
	perch_decoder_free(recorder->decoder);
}

/* ---- opening and ending ---- */

/* Before the first record. */
static int start_compression(struct perch_recorder *recorder, struct perch_error *err)
{
	const struct perch_recorder_options *options = &recorder->options;

	if (!options->compression_level)
		return 0;
	return perch_writer_compress(
		recorder->output.writer, options->compression_level,
		options->compressed2 ? PERCH_RECORD_COMPRESSED2 : PERCH_RECORD_COMPRESSED, err);
}

/* The first file of a recording is opened while the cache is empty. The cache gets these records in
 * their own order. */
static int open_file(struct perch_recorder *recorder, const char *path, struct perch_error *err)
{
	struct iovec piece = { recorder->sideband.bytes, recorder->sideband.used };
	const struct recorder_moment *moment = &recorder->moment;
	struct recorder_output *output = &recorder->output;
	int rc;

	perch__recorder_scan_reset(&recorder->scan);
	rc = recorder->workers
		     ? perch_writer_open_directory(&output->writer, path, recorder->events,
						   recorder->nr_events, err)
		     : perch_writer_open(&output->writer, path, recorder->events,
					 recorder->nr_events, err);
	if (rc >= 0 && moment->wall)
		rc = perch__writer_set_start(output->writer, moment->clock, moment->wall,
					     moment->time, err);
	if (rc >= 0 && recorder->options.durable)
		rc = perch__recorder_durable_begin(&recorder->durable, path, err);
	if (rc >= 0)
		rc = start_compression(recorder, err);
	if (rc >= 0 && piece.iov_len)
		rc = perch__recorder_append(output, &piece, 1, err);
	recorder->file_start = perch__recorder_output_size(output);
	perch__recorder_users_repeat(&recorder->scan.users);
	return rc < 0 ? rc
		      : perch__recorder_append_users(&recorder->output, &recorder->scan.users, err);
}

int perch__recorder_open_file(struct perch_recorder *recorder, struct perch_error *err)
{
	const struct perch_recorder_options *options = &recorder->options;
	struct recorder_output *output = &recorder->output;
	int rc = 0;

	if (options->path)
		return open_file(recorder, options->path, err);
	if (options->fd)
		rc = perch_writer_open_fd(&output->writer, options->fd, recorder->events,
					  recorder->nr_events, err);
	else
		*output = (struct recorder_output){ .sink = options->sink,
						    .context = options->context };
	if (rc < 0 || !output->writer)
		return rc;
	rc = start_compression(recorder, err);
	return rc < 0 ? rc : perch__recorder_write_first_features(recorder, output->writer, err);
}

/* Writes the sections after the data. Closes the file, also after a failure. */
static int finish_file(struct perch_recorder *recorder, struct perch_error *err)
{
	int rc, closed;

	perch__recorder_users_update(&recorder->scan.users);
	rc = perch__recorder_append_users(&recorder->output, &recorder->scan.users, err);
	if (rc >= 0)
		rc = perch__recorder_write_features(recorder, err);
	recorder->last_record_bytes =
		perch_writer_record_bytes(recorder->output.writer) + recorder->parts_bytes;
	/* only the first error is reported */
	closed = perch_writer_close(recorder->output.writer, rc < 0 ? NULL : err);
	recorder->output.writer = NULL;
	return rc < 0 ? rc : closed;
}

/*
 * Makes a file name that does not exist. Two files in one hundredth of a second get different names
 * by a pause. Returns NULL if out of memory.
 */
static char *new_name(const char *path)
{
	struct timespec step = { 0, STEP_NS };
	char *name = NULL;

	do {
		struct timeval now;
		struct tm tm;
		char text[32];

		if (name)
			nanosleep(&step, NULL);
		free(name);
		gettimeofday(&now, NULL);
		localtime_r(&now.tv_sec, &tm);
		strftime(text, sizeof(text), "%Y%m%d%H%M%S", &tm);
		if (asprintf(&name, "%s.%s%02u", path, text,
			     (unsigned)(now.tv_usec / (STEP_NS / 1000))) < 0)
			return NULL;
	} while (!access(name, F_OK));
	return name;
}

/* Counts a file that has ended, and removes the oldest one if there are too many. */
static void add_name(struct perch_recorder *recorder, const char *name)
{
	const uint64_t max = recorder->options.max_files;
	char **slot = &recorder->names[max ? recorder->nr_files % max : 0];

	if (max && *slot)
		unlink(*slot);
	free(*slot);
	*slot = strdup(name);
}

static void set_last(struct perch_recorder *recorder, const char *path)
{
	free(recorder->last);
	recorder->last = path ? strdup(path) : NULL;
}

int perch__recorder_stop_workers(struct perch_recorder *recorder, struct perch_error *err)
{
	int rc;

	if (!recorder->workers || recorder->workers_stopped)
		return 0;
	recorder->workers_stopped = true;
	rc = perch__recorder_workers_stop(recorder->workers, &recorder->scan,
					  &recorder->parts_bytes, &recorder->busy_ns, err);
	recorder->failed |= rc < 0;
	return rc;
}

/* Ends the open file and renames it to name. If name is NULL, it keeps its name. */
static int end_file(struct perch_recorder *recorder, const char *name, struct perch_error *err)
{
	const char *path = recorder->options.path;
	int rc = perch__recorder_stop_workers(recorder, err), finished, synced, named;

	/* after a failure, writing is not repeated; a snapshot has its records already */
	if (!recorder->failed && !recorder->options.sampler.overwrite)
		rc = perch__recorder_write_lost(&recorder->lost, &recorder->rings,
						&recorder->output, err);
	finished = recorder->output.writer ? finish_file(recorder, rc < 0 ? NULL : err) : 0;
	synced = perch__recorder_durable_end(recorder->durable, path,
					     rc < 0 || finished < 0 ? NULL : err);
	finished = finished < 0 ? finished : synced;
	perch__recorder_lost_add_records(&recorder->lost);
	rc = rc < 0 ? rc : finished;
	/* a file that the disk has no space to complete has its records */
	if (name && (rc >= 0 || recorder->failed) && !rename(path, name))
		path = name;
	else if (name && rc >= 0)
		rc = perch_error_set(err, errno, PERCH_ERROR_FILE,
				     "'%s' cannot be renamed to '%s': %s", path, name,
				     strerror(errno));
	named = perch__recorder_durable_name(recorder->durable, path, rc < 0 ? NULL : err);
	set_last(recorder, path);
	return rc < 0 ? rc : named;
}

/*
 * An incomplete snapshot is removed, because it takes disk space that the next one needs. A device
 * is not removed.
 */
static void remove_incomplete(const char *path)
{
	struct stat status;

	if (!lstat(path, &status) && S_ISREG(status.st_mode))
		unlink(path);
}

/* Writes the records of the rings since the last complete snapshot, as perf does. name: as of
 * end_file(). */
static int dump_snapshot(struct perch_recorder *recorder, const char *name, struct perch_error *err)
{
	struct recorder_output *output = &recorder->output;
	/* with this option, the name is that of a complete file */
	bool renamed = name && recorder->options.durable;
	const char *path = renamed || !name ? recorder->options.path : name;
	int rc = open_file(recorder, path, err);

	if (rc >= 0)
		rc = perch__recorder_write_lost(&recorder->lost, &recorder->rings, output, err);
	if (rc >= 0)
		rc = perch__recorder_write_snapshot(&recorder->rings, &recorder->scan,
						    recorder->decoder, output, err);
	if (rc >= 0)
		rc = end_file(recorder, renamed ? name : NULL, err);
	else if (output->writer)
		finish_file(recorder, NULL);
	if (rc < 0) {
		remove_incomplete(path);
		return rc;
	}
	set_last(recorder, name ? name : path);
	perch_sampler_snapshot_advance(recorder->sampler);
	recorder->overwritten_since = recorder->overwritten;
	recorder->overwritten = perch__recorder_rings_overwritten(&recorder->rings);
	return 0;
}

int perch_recorder_end_file(struct perch_recorder *recorder, struct perch_error *err)
{
	const struct perch_recorder_options *options = &recorder->options;
	char *name = NULL;
	int rc = perch__recorder_check_fork(recorder, err);

	if (rc < 0)
		return rc;
	if (!recorder->started ||
	    (!options->sampler.overwrite && !recorder->output.writer && !recorder->output.sink))
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE, "no file is open");
	if (options->several && !(name = new_name(options->path)))
		return PERCH__NO_MEMORY(err, "for a file name");
	perch__recorder_end_cost(recorder);
	recorder->file_start_ms = perch__recorder_now_ms();
	rc = options->sampler.overwrite ? dump_snapshot(recorder, name, err)
					: end_file(recorder, name, err);
	if (rc >= 0 && name)
		add_name(recorder, name);
	recorder->nr_files += rc >= 0;
	recorder->failed |= rc < 0 && !options->sampler.overwrite;
	recorder->output.sink = NULL; /* it has all records */
	free(name);
	return rc < 0 ? rc : 0;
}

int perch_recorder_next_file(struct perch_recorder *recorder, struct perch_error *err)
{
	int rc = perch__recorder_check_fork(recorder, err);

	if (rc < 0)
		return rc;
	if (!recorder->options.several || !recorder->started || recorder->output.writer)
		return perch_error_set(err, EINVAL, PERCH_ERROR_USAGE,
				       "the recording is one file, or its file is open");
	perch__recorder_lost_next_file(&recorder->lost);
	return recorder->options.sampler.overwrite
		       ? 0
		       : open_file(recorder, recorder->options.path, err);
}

bool perch_recorder_file_due(const struct perch_recorder *recorder, int *wait_ms)
{
	const struct perch_recorder_options *options = &recorder->options;
	uint64_t passed;

	if (options->switch_bytes && recorder->output.writer &&
	    perch__recorder_output_size(&recorder->output) >=
		    recorder->file_start + options->switch_bytes)
		return true;
	if (!options->switch_ms)
		return false;
	passed = perch__recorder_now_ms() - recorder->file_start_ms;
	if (passed >= options->switch_ms)
		return true;
	passed = options->switch_ms - passed; /* what is left */
	if (*wait_ms < 0 || passed < (uint64_t)*wait_ms)
		*wait_ms = passed < INT_MAX ? (int)passed : INT_MAX;
	return false;
}

int perch_recorder_write_events(const struct perch_recorder *recorder, const char *path,
				struct perch_error *err)
{
	struct perch_writer *writer;
	int rc = perch_writer_open(&writer, path, recorder->events, recorder->nr_events, err),
	    closed;

	if (rc < 0)
		return rc;
	rc = perch__recorder_write_first_features(recorder, writer, err);
	closed = perch_writer_close(writer, rc < 0 ? NULL : err);
	return rc < 0 ? rc : closed;
}
